// The text as lines: which one is shown in detail, and what came of the others.

import { logarithm } from "./colors.js";
import { button, byId, element } from "./dom.js";
import { say } from "./words.js";

const KEPT = 20_000;

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
    // the oldest goes first
    if (this.#texts.size >= KEPT) this.#texts.delete(this.#texts.keys().next().value);
    this.#texts.set(`${key}\n${line}`, text);
  }
}

// Ask for lines, at most `most` at once. A portion that is declined is halved, until the lines are found
// that were meant: the others are answered all the same.
// how = { ask(lines), declined(problem), refuse(line, problem) }
export async function askAll(lines, most, how) {
  for (let at = 0; at < lines.length; at += most) await askSome(lines.slice(at, at + most), how);
}

async function askSome(lines, how) {
  try {
    await how.ask(lines);
  } catch (problem) {
    if (!how.declined(problem)) throw problem;
    if (lines.length === 1) how.refuse(lines[0], problem);
    else await askAll(lines, Math.ceil(lines.length / 2), how);
  }
}

// about = { lines, chosen, textOf(line), refusalOf(line), choose(index) }
export function drawLines({ lines, chosen, textOf, refusalOf, choose }) {
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
      outcome(lines[index]),
    );
    return element("li", { value: index + 1 }, node);
  }

  function outcome(line) {
    const [text, refusal] = [textOf(line), refusalOf(line)];
    if (text === undefined && refusal) return element("span", { class: "to refused", lang: "en" }, refusal);
    return element("span", { dir: "auto", class: "to" }, text ?? "…");
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
