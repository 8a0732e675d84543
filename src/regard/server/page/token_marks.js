// Which tokens are marked: those that the model does not know, and those of which it is unsure.

import { element } from "./dom.js";
import { message } from "./messages.js";
import { END, isolate, visible } from "./token_labels.js";

// A token with less than half of the probability: all others together are likelier.
const UNSURE_BELOW = 0.5;
const MAX_NAMED = 5;

export const isUnsure = (score) => Math.exp(score) < UNSURE_BELOW;

export const unsureSteps = ({ token_scores: scores }) => [...scores.keys()].filter((step) => isUnsure(scores[step]));

export const lowestProbability = ({ token_scores: scores }) => Math.exp(Math.min(0, ...scores));

// The source tokens that the model does not know: [{ position, token, similar, difference }].
export const unknownSources = ({ unknown_source: unknown = [] }) => unknown;

export const copiedSteps = ({ unknown = [] }) => [...unknown.keys()].filter((step) => unknown[step]);

// The key to the signs at the tokens; each entry appears only if its sign does.
export function drawLegend(container, translation) {
  const unsure = unsureSteps(translation).length;
  const unknown = unknownSources(translation);
  const copied = copiedSteps(translation).map((step) => translation.tokens[step]);
  container.replaceChildren(
    entry("sign", END, message("endLegend")),
    ...(unsure ? [entry("sign unsure", "▂", message("unsureLegend", unsure))] : []),
    ...(unknown.length ? [entry("sign unknown", "?", unknownText(unknown))] : []),
    ...(copied.length ? [entry("sign copied", "⧉", message("copiedLegend", listed(copied)))] : []),
  );
}

function entry(name, sign, text) {
  return element("li", {}, element("span", { class: name, "aria-hidden": "true" }, sign), ` ${text}`);
}

// Which tokens are unknown, and how those differ from what the model knows that have a relative there.
function unknownText(unknown) {
  const related = unknown.find(({ similar, difference }) => similar && difference);
  const text = message("unknownLegend", listed(unknown.map(({ token }) => token)));
  if (!related) return text;
  const [known, difference] = [isolate(visible(related.similar)), message("differences")[related.difference]];
  return `${text}${message("sentenceGap")}${message("knownInstead", known, difference)}`;
}

function listed(tokens) {
  const names = [...new Set(tokens)].map((token) => isolate(visible(token)));
  return names.slice(0, MAX_NAMED).join(message("listGap")) + (names.length > MAX_NAMED ? " …" : "");
}

// The output with the unsure parts marked, if its tokens spell it; otherwise as it is.
export function markedText({ text, tokens, token_scores: scores }) {
  const parts = spelling(text, tokens);
  if (!parts || !tokens.some((_, step) => isUnsure(scores[step]))) return [text];
  const runs = [];
  for (const [step, part] of parts.entries()) {
    const unsure = isUnsure(scores[step]);
    if (runs.at(-1)?.unsure === unsure) runs.at(-1).text += part;
    else runs.push({ unsure, text: part });
  }
  return runs.map((run) => (run.unsure ? element("span", { class: "unsure-text" }, run.text) : run.text));
}

// The part of the text that each token spells; null if they do not spell it.
function spelling(text, tokens) {
  const spaced = tokens.map((token, step) => (step ? ` ${token}` : token));
  const subwords = tokens.map((token) => token.replaceAll("▁", " "));
  if (subwords[0]?.startsWith(" ")) subwords[0] = subwords[0].slice(1);
  return [tokens, spaced, subwords].find((parts) => parts.join("") === text) ?? null;
}
