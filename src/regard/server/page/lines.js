// The text as lines: which one is shown in detail, and what came of the others.

import { logarithm } from "./colors.js";
import { button, byId, element } from "./dom.js";
import { say } from "./words.js";

const KEPT = 2000;

export const split = (text) => text.replace(/\r\n?/g, "\n").split("\n");

// The line of the caret, or the nearest one that holds something.
export function lineAt(text, caret) {
  const lines = split(text);
  const at = split(text.slice(0, caret)).length - 1;
  const filled = [...lines.keys()].filter((index) => lines[index].trim());
  return filled.findLast((index) => index <= at) ?? filled[0] ?? 0;
}

// What is known of lines, so that typing in one does not ask for all the others again.
export class Known {
  #texts = new Map();

  get(key, line) {
    return this.#texts.get(`${key}\n${line}`);
  }

  set(key, line, text) {
    if (this.#texts.size >= KEPT) this.#texts.clear();
    this.#texts.set(`${key}\n${line}`, text);
  }
}

// about = { lines, chosen, textOf(line), choose(index) }
export function drawLines({ lines, chosen, textOf, choose }) {
  const list = byId("lines");
  const focused = [...list.querySelectorAll("button")].indexOf(document.activeElement);
  const filled = [...lines.keys()].filter((index) => lines[index].trim());
  list.hidden = filled.length < 2;
  list.replaceChildren(...(list.hidden ? [] : filled.map((index) => entry(index))));
  if (focused >= 0) list.querySelectorAll("button")[focused]?.focus();

  function entry(index) {
    const node = button(
      { "aria-current": index === chosen ? "true" : null, "data-line": index },
      () => choose(index),
      element("span", { dir: "auto", class: "from" }, lines[index]),
      element("span", { dir: "auto", class: "to" }, textOf(lines[index]) ?? "…"),
    );
    return element("li", { value: index + 1 }, node);
  }
}

// about = { translation, among, choose(index) }
export function drawNbest({ translation, among, choose }) {
  const list = byId("nbest");
  const focused = [...list.querySelectorAll("button")].indexOf(document.activeElement);
  list.replaceChildren(
    ...among.map((one, index) => {
      const current = one.text === translation.text;
      const node = button(
        { "aria-current": current ? "true" : null, disabled: !one.tokens.length, "data-score": one.score },
        () => current || choose(index),
        element("span", { dir: "auto", class: "to" }, one.text || say("emptyOutput")),
        element("span", { class: "number" }, logarithm(one.score, 2)),
      );
      return element("li", {}, node);
    }),
  );
  if (focused >= 0) list.querySelectorAll("button")[focused]?.focus();
}
