// Attention as lines between words: on the left the tokens that look, on the right those looked at.
//
// The stronger a line, the larger its weight. The lines of the token under the pointer, or with the keyboard
// focus, stand out.

import { element, svgElement } from "./dom.js";
import { message } from "./messages.js";
import { formatProbability } from "./number_format.js";
import { enableRovingTabindex, setTabStop } from "./roving_tabindex.js";
import { isolate, labelNodes, textWidth, truncate, visible } from "./token_labels.js";

const FONT = "15px ui-sans-serif, system-ui, sans-serif";
const [ROW_HEIGHT, MAX_LABEL_WIDTH, MARGIN, GAP] = [26, 150, 8, 220];
const MIN_WEIGHT = 0.01;
const NUM_NAMED = 3;

// options = { queries, keys, map, label, read(text) }
export function drawLines({ queries, keys, map, label, read }) {
  const shorten = (token) => truncate(visible(token), MAX_LABEL_WIDTH, FONT);
  const width = (tokens) => Math.max(0, ...tokens.map((token) => textWidth(shorten(token), FONT)));
  const left = MARGIN + Math.ceil(width(queries)) + MARGIN;
  const right = left + GAP;
  const total = [right + Math.ceil(width(keys)) + 2 * MARGIN, ROW_HEIGHT * Math.max(queries.length, keys.length)];
  const y = (index) => (index + 0.5) * ROW_HEIGHT;
  const lines = svgElement("g", { class: "lines", "aria-hidden": "true", "stroke-width": 3 });
  for (const [query, row] of map.entries()) {
    for (const [key, weight] of row.entries()) {
      if (weight < MIN_WEIGHT) continue;
      const ends = { x1: left, y1: y(query), x2: right, y2: y(key) };
      lines.append(svgElement("line", { ...ends, "stroke-opacity": weight, "data-query": query, "data-key": key, "data-weight": weight }));
    }
  }
  const word = (token, attributes) =>
    svgElement("text", { fill: "currentColor", ...attributes }, "\u2068", ...labelNodes(shorten(token), svgElement, "tspan"), "\u2069");
  const words = queries.map((token, query) =>
    svgElement(
      "g",
      { class: "query", role: "img", tabindex: -1, "aria-label": described(token, map[query], keys), "data-query": query },
      svgElement("rect", { x: 0, y: query * ROW_HEIGHT, width: left, height: ROW_HEIGHT, fill: "transparent" }),
      word(token, { x: left - MARGIN, y: y(query) + 5, "text-anchor": "end" }),
    ),
  );
  const targets = keys.map((token, key) => word(token, { x: right + MARGIN, y: y(key) + 5, "aria-hidden": "true" }));
  const [svgWidth, height] = total;
  const svg = svgElement(
    "svg",
    { class: "attention-lines", width: svgWidth, height, viewBox: `0 0 ${svgWidth} ${height}`, role: "group", "aria-label": label },
    lines,
    ...words,
    ...targets,
  );
  return listen(element("div", {}, svg), words, lines, read);
}

// What a token looks at most, as text.
function described(token, row, keys) {
  const order = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, NUM_NAMED);
  const parts = order.map((key) => `${isolate(visible(keys[key]))} ${formatProbability(row[key])}`);
  return message("looksAt", isolate(visible(token)), parts.join(message("listGap")));
}

function listen(container, words, lines, read) {
  const select = (node) => {
    const word = node?.closest?.(".query") ?? null;
    for (const one of words) one.classList.toggle("highlighted", one === word);
    lines.classList.toggle("selected", word !== null);
    for (const line of lines.children) line.classList.toggle("highlighted", line.dataset.query === word?.dataset.query);
    read(word?.getAttribute("aria-label") ?? "");
  };
  container.addEventListener("pointerover", ({ target }) => select(target));
  container.addEventListener("pointerleave", () => select(document.activeElement));
  container.addEventListener("focusin", ({ target }) => select(target));
  container.addEventListener("focusout", () => select(null));
  container.addEventListener("click", ({ target }) => target.closest(".query")?.focus());
  enableRovingTabindex(container, () => words);
  setTabStop(words, 0);
  return container;
}
