// The lines of the text field: which one is shown in detail, and the translations of the others.

import { button, byId, element } from "./dom.js";
import { message } from "./messages.js";
import { formatProbability } from "./number_format.js";
import { copiedSteps, lowestProbability, unknownSources, unsureSteps } from "./token_marks.js";

const MAX_CACHED_LINES = 20_000;

export const splitLines = (text) => text.replace(/\r\n?/g, "\n").split("\n");

// The index of the caret's line, or of the nearest line with text.
export function lineAt(text, caret) {
  const lines = splitLines(text);
  const caretLine = splitLines(text.slice(0, caret)).length - 1;
  const withText = [...lines.keys()].filter((index) => lines[index].trim());
  return withText.findLast((index) => index <= caretLine) ?? withText[0] ?? 0;
}

// Translations by line and settings, so that typing in one line does not translate all others again.
export class LineCache {
  #translations = new Map();

  get(settings, line) {
    return this.#translations.get(`${settings}\n${line}`);
  }

  set(settings, line, translation) {
    // evict the oldest
    if (this.#translations.size >= MAX_CACHED_LINES) this.#translations.delete(this.#translations.keys().next().value);
    this.#translations.set(`${settings}\n${line}`, translation);
  }
}

// Translate lines, at most `batchSize` in one request. A refused batch is halved until the wrong lines are
// isolated, so that all others are translated.
// handlers = { translate(lines), isInputError(error), refuse(line, error) }
export async function translateLines(lines, batchSize, handlers) {
  for (let start = 0; start < lines.length; start += batchSize) {
    await translateBatch(lines.slice(start, start + batchSize), handlers);
  }
}

async function translateBatch(lines, handlers) {
  try {
    await handlers.translate(lines);
  } catch (error) {
    if (!handlers.isInputError(error)) throw error;
    if (lines.length === 1) handlers.refuse(lines[0], error);
    else await translateLines(lines, Math.ceil(lines.length / 2), handlers);
  }
}

// options = { lines, current, translationOf(line), refusalOf(line), select(index) }
export function drawLines({ lines, current, translationOf, refusalOf, select }) {
  const list = byId("lines");
  const focused = [...list.querySelectorAll("button")].indexOf(document.activeElement);
  const withText = [...lines.keys()].filter((index) => lines[index].trim());
  list.hidden = withText.length < 2;
  list.replaceChildren(...(list.hidden ? [] : withText.map((index) => entry(index))));
  if (focused >= 0) list.querySelectorAll("button")[focused]?.focus();
  showEntry(list, list.querySelector("[aria-current]"));

  function entry(index) {
    const node = button(
      { "aria-current": index === current ? "true" : null, "data-line": index },
      () => select(index),
      element("span", { dir: "auto", class: "from" }, lines[index]),
      ...output(lines[index]),
    );
    return element("li", { value: index + 1 }, node);
  }

  function output(line) {
    const [translation, refusal] = [translationOf(line), refusalOf(line)];
    if (!translation && refusal) return [element("span", { class: "to refused", lang: "en" }, refusal)];
    const text = element("span", { dir: "auto", class: "to" }, translation?.text ?? "…");
    return translation ? [text, ...marks(translation)] : [text];
  }
}

// Scroll the list, and nothing else, to an entry.
function showEntry(list, entry) {
  if (!entry) return;
  const [box, place] = [list.getBoundingClientRect(), entry.getBoundingClientRect()];
  if (place.top < box.top) list.scrollTop -= box.top - place.top;
  else if (place.bottom > box.bottom) list.scrollTop += place.bottom - box.bottom;
}

// A sign that a line deserves a look: unsure or unknown tokens.
function marks(translation) {
  const unsure = unsureSteps(translation).length;
  const unknown = unknownSources(translation).length || copiedSteps(translation).length;
  if (!unsure && !unknown) return [];
  const lowest = unsure ? formatProbability(lowestProbability(translation)) : "";
  return [element("span", { class: "line-marks" }, message("lineMarks", lowest, unknown))];
}
