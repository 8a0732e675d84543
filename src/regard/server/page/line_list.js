// The lines of the text field: which one is shown in detail, and the translations of the others.

import { button, byId, element } from "./dom.js";

const MAX_CACHED_LINES = 20_000;

export const splitLines = (text) => text.replace(/\r\n?/g, "\n").split("\n");

// The index of the caret's line, or of the nearest line with text.
export function lineAt(text, caret) {
  const lines = splitLines(text);
  const caretLine = splitLines(text.slice(0, caret)).length - 1;
  const withText = [...lines.keys()].filter((index) => lines[index].trim());
  return withText.findLast((index) => index <= caretLine) ?? withText[0] ?? 0;
}

// Texts by line and settings, so that typing in one line does not translate all others again.
export class LineCache {
  #texts = new Map();

  get(settings, line) {
    return this.#texts.get(`${settings}\n${line}`);
  }

  set(settings, line, text) {
    // evict the oldest
    if (this.#texts.size >= MAX_CACHED_LINES) this.#texts.delete(this.#texts.keys().next().value);
    this.#texts.set(`${settings}\n${line}`, text);
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

// options = { lines, current, textOf(line), refusalOf(line), select(index) }
export function drawLines({ lines, current, textOf, refusalOf, select }) {
  const list = byId("lines");
  const focused = [...list.querySelectorAll("button")].indexOf(document.activeElement);
  const withText = [...lines.keys()].filter((index) => lines[index].trim());
  list.hidden = withText.length < 2;
  list.replaceChildren(...(list.hidden ? [] : withText.map((index) => entry(index))));
  if (focused >= 0) list.querySelectorAll("button")[focused]?.focus();

  function entry(index) {
    const node = button(
      { "aria-current": index === current ? "true" : null, "data-line": index },
      () => select(index),
      element("span", { dir: "auto", class: "from" }, lines[index]),
      translationOf(lines[index]),
    );
    return element("li", { value: index + 1 }, node);
  }

  function translationOf(line) {
    const [text, refusal] = [textOf(line), refusalOf(line)];
    if (text === undefined && refusal) return element("span", { class: "to refused", lang: "en" }, refusal);
    return element("span", { dir: "auto", class: "to" }, text ?? "…");
  }
}
