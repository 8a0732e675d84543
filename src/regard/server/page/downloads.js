// All lines and their translations as files: TSV for spreadsheets, JSON for programs.

import { showCopyStatus } from "./clipboard.js";
import { element } from "./dom.js";
import { message } from "./messages.js";
import { copiedSteps, lowestProbability, unknownSources } from "./token_marks.js";

const COLUMNS = ["line", "source", "output", "log_probability", "lowest_token_probability", "unknown_tokens", "error"];

// rows = [{ line, source, translation | undefined, error | undefined }]
export function asTsv(rows) {
  const cells = rows.map(({ line, source, translation, error }) => [
    line,
    source,
    translation?.text ?? "",
    translation?.score ?? "",
    translation?.token_scores.length ? lowestProbability(translation).toPrecision(4) : "",
    translation ? unknownTokens(translation).join(" ") : "",
    error ?? "",
  ]);
  return [COLUMNS, ...cells].map((row) => row.map(tsvCell).join("\t") + "\n").join("");
}

export function asJson(rows, settings) {
  const results = rows.map(({ line, source, translation, error }) => ({ line, ...(translation ?? { source }), ...(error && { error }) }));
  return JSON.stringify({ ...settings, results }, null, 1) + "\n";
}

// What the model does not know of a line; otherwise what was copied for an unknown token of the output.
function unknownTokens(translation) {
  const unknown = unknownSources(translation).map(({ token }) => token);
  return unknown.length ? unknown : copiedSteps(translation).map((step) => translation.tokens[step]);
}

// A TSV cell can hold neither a tab nor a line break.
const tsvCell = (content) => String(content).replace(/[\t\r\n]/g, " ");

export function download(text, name, type) {
  // spreadsheets take a file without the mark for a legacy code page
  const mark = type === "text/tab-separated-values" ? "\ufeff" : "";
  const url = URL.createObjectURL(new Blob([mark, text], { type: `${type};charset=utf-8` }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  showCopyStatus(message("downloaded", name));
}
