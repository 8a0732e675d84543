// Tokens as labels: the unseen made visible, by the rules of the terminal and the files.

import { element } from "./dom.js";

export const END = "■";

const SPACE = "▁";

const JOINERS = new Set(["\u200c", "\u200d"]);
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zs}\p{Zl}\p{Zp}]/u;
const MARK = /^[\p{Mn}\p{Me}]/u;

export function visible(token) {
  if (!token) return "∅";
  const characters = [...token];
  const shown = characters
    .map((character, at) =>
      // inside a word joiners shape its letters
      JOINERS.has(character) && 0 < at && at < characters.length - 1 ? character : seen(character),
    )
    .join("");
  // a mark alone would sit on its neighbour
  return MARK.test(shown) ? `◌${shown}` : shown;
}

function seen(character) {
  const code = character.codePointAt(0);
  if (code <= 0x20) return character === " " ? "␣" : String.fromCodePoint(0x2400 + code);
  return UNSEEN.test(character) ? `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩` : character;
}

// The sign of a subword's space is kept, but paler than the letters.
export function spelled(label, make = element, name = "span") {
  if (!label.startsWith(SPACE) || label === SPACE) return [label];
  return [make(name, { class: "space", opacity: name === "tspan" ? 0.4 : null }, SPACE), label.slice(1)];
}

// Keep a label's direction to itself where no element can: in an attribute, or in SVG.
export const isolated = (label) => `\u2068${label}\u2069`;

const canvas = document.createElement("canvas").getContext("2d");

export function widthOf(label, font) {
  canvas.font = font;
  return canvas.measureText(label).width;
}

const letters = new Intl.Segmenter();

// Cut a label to a width, with an ellipsis, and never between a letter and its marks.
export function fit(label, width, font) {
  if (widthOf(label, font) <= width) return label;
  const parts = [...letters.segment(label)].map((part) => part.segment);
  while (parts.length > 1 && widthOf(parts.join("") + "…", font) > width) parts.pop();
  return parts.join("") + "…";
}
