// Tokens as labels: invisible characters become visible, by the rules of the terminal and the files.

import { element } from "./dom.js";

export const END = "■";
export const START = "▷";

const SPACE = "▁";

const JOINERS = new Set(["\u200c", "\u200d"]);
const INVISIBLE_CHARACTER = /[\p{Cc}\p{Cf}\p{Cs}\p{Zs}\p{Zl}\p{Zp}]/u;
const COMBINING_MARK = /^[\p{Mn}\p{Me}]/u;

export function visible(token) {
  if (!token) return "∅";
  const characters = [...token];
  const label = characters
    .map((character, index) =>
      // inside a word, joiners shape its letters
      JOINERS.has(character) && 0 < index && index < characters.length - 1 ? character : visibleCharacter(character),
    )
    .join("");
  // a combining mark alone would attach to its neighbor
  return COMBINING_MARK.test(label) ? `◌${label}` : label;
}

function visibleCharacter(character) {
  const code = character.codePointAt(0);
  if (code <= 0x20) return character === " " ? "␣" : String.fromCodePoint(0x2400 + code);
  return INVISIBLE_CHARACTER.test(character) ? `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩` : character;
}

// A label as nodes; the sign of a subword's space is paler than the letters.
export function labelNodes(label, create = element, name = "span") {
  if (!label.startsWith(SPACE) || label === SPACE) return [label];
  return [create(name, { class: "space", opacity: name === "tspan" ? 0.4 : null }, SPACE), label.slice(1)];
}

// Isolate a label's text direction in attributes and SVG, which have no dir="auto".
export const isolate = (label) => `\u2068${label}\u2069`;

const canvas = document.createElement("canvas").getContext("2d");

export function textWidth(label, font) {
  canvas.font = font;
  return canvas.measureText(label).width;
}

const graphemeSegmenter = new Intl.Segmenter();

// Cut a label to a width, with an ellipsis, between graphemes.
export function truncate(label, width, font) {
  if (textWidth(label, font) <= width) return label;
  const parts = [...graphemeSegmenter.segment(label)].map((part) => part.segment);
  while (parts.length > 1 && textWidth(parts.join("") + "…", font) > width) parts.pop();
  return parts.join("") + "…";
}
