// Tools of the text field: the character counter, clearing, and reading a file.

import { byId } from "./dom.js";
import { splitLines } from "./line_list.js";
import { message, touchScreen } from "./messages.js";

const MAX_FILE_MEGABYTES = 1;
const MAX_FILE_LINES = 5000;
const MAX_UNDOABLE_CHARACTERS = 10_000;

const textField = byId("text");

// Characters as the server counts them: code points.
const countCharacters = (line) => [...line].length;

export function drawCounter(lines, lineIndex, limit) {
  const number = countCharacters(lines[lineIndex] ?? "");
  const parts = [message("characters", number, limit)];
  if (lines.length > 1) parts.unshift(message("lineOf", lineIndex + 1, lines.length));
  byId("counter").textContent = parts.join(" · ");
  byId("counter").classList.toggle("exceeded", number > limit);
  byId("clear").disabled = lines.length === 1 && !lines[0];
}

// Replace the whole text as if it were typed, so that the browser's undo restores the old one.
export function replaceText(text) {
  // on a phone, the focus would open the keyboard
  if (!touchScreen.matches || !text) textField.focus();
  if (document.activeElement === textField && text.length < MAX_UNDOABLE_CHARACTERS) {
    textField.select();
    if (document.execCommand(text ? "insertText" : "delete", false, text)) return;
  }
  textField.value = text;
  textField.dispatchEvent(new Event("input"));
}

// report(text) shows a sentence about a file that cannot be read.
export function prepareTextTools(report) {
  const open = async (file) => {
    if (!file) return;
    try {
      replaceText(await readTextFile(file));
    } catch (error) {
      report(error.message);
    }
  };
  byId("clear").addEventListener("click", () => replaceText(""));
  byId("open-file").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", async ({ target }) => {
    await open(target.files[0]);
    // the same file can be opened again
    target.value = "";
  });
  textField.addEventListener("dragover", (event) => {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault();
  });
  textField.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    open(event.dataTransfer.files[0]);
  });
}

async function readTextFile(file) {
  if (file.size > MAX_FILE_MEGABYTES * 1e6) throw new Error(message("fileTooLarge", file.name, MAX_FILE_MEGABYTES));
  const text = decode(new Uint8Array(await file.arrayBuffer()));
  // no text has a NUL; a picture or a workbook does
  if (text === null || text.includes("\0")) throw new Error(message("notText", file.name));
  const lines = splitLines(text.replace(/[\r\n]+$/, ""));
  if (lines.length > MAX_FILE_LINES) throw new Error(message("tooManyLines", file.name, lines.length, MAX_FILE_LINES));
  return lines.join("\n");
}

function decode(bytes) {
  const mark = (bytes[0] << 8) | bytes[1];
  const encoding = { 0xfffe: "utf-16le", 0xfeff: "utf-16be" }[mark] ?? "utf-8";
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
