// The two rows of tokens below the translation: the source, and the output with its probabilities.

import { hex, ramp } from "./colors.js";
import { button, element } from "./dom.js";
import { message } from "./messages.js";
import { formatProbability } from "./number_format.js";
import { enableRovingTabindex, focusEntry, setTabStop } from "./roving_tabindex.js";
import { END, labelNodes, visible } from "./token_labels.js";
import { copiedSteps, isUnsure, unknownSources } from "./token_marks.js";

// panelData = { translation, changed, point(place | null), open(step, node) }
export function drawTokenRows(container, panelData) {
  const focused = focusedStep(container);
  const { translation, changed } = panelData;
  const sourceRow = element("ul", { class: "token-row", dir: "auto" });
  const unknown = new Set(unknownSources(translation).map(({ position }) => position));
  sourceRow.append(...translation.source_tokens.map((token, s) => sourceToken(token, s, unknown.has(s))));
  const targetRow = element("div", {
    class: "token-row",
    dir: "auto",
    role: "toolbar",
    "aria-label": message("targetTokens"),
  });
  targetRow.append(...translation.token_scores.map((score, t) => targetToken(panelData, t, score, changed.has(t))));
  const targetTokens = [...targetRow.children];
  enableRovingTabindex(targetRow, () => targetTokens);
  setTabStop(targetTokens, focused ?? 0);
  reportPointer(sourceRow, "source", panelData.point);
  reportPointer(targetRow, "target", panelData.point);
  container.replaceChildren(
    element("p", { class: "small" }, message("sourceTokens")),
    sourceRow,
    element("p", { class: "small" }, message("targetTokens")),
    targetRow,
  );
  if (focused !== null) focusEntry(targetTokens, focused);
}

// The output token that has the focus, which its redrawn successor gets.
function focusedStep(container) {
  const node = document.activeElement;
  return container.contains(node) && node.dataset.target !== undefined ? Number(node.dataset.target) : null;
}

function sourceToken(token, s, unknown) {
  const label = visible(token);
  const hint = unknown ? message("unknownSource", label) : null;
  return element(
    "li",
    { class: `token${unknown ? " unknown" : ""}`, "data-source": s, title: hint },
    element("span", { class: "word" }, ...labelNodes(label)),
    unknown ? element("span", { class: "visually-hidden" }, message("unknownSource", "")) : null,
  );
}

function targetToken({ translation, open }, t, score, changed) {
  const ends = t === translation.tokens.length;
  const label = ends ? END : visible(translation.tokens[t]);
  const probability = Math.exp(score);
  const unsure = isUnsure(score);
  const copied = copiedSteps(translation).includes(t);
  let ariaLabel = message("tokenLabel", ends ? message("end") : label, formatProbability(probability));
  if (unsure) ariaLabel = message("unsureToken", ariaLabel);
  if (copied) ariaLabel = message("copiedToken", ariaLabel);
  const bar = element("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--fraction", probability);
  bar.style.setProperty("--color", hex(ramp(probability)));
  const node = button(
    {
      class: `token${changed ? " changed" : ""}${unsure ? " unsure" : ""}${copied ? " copied" : ""}`,
      "data-target": t,
      "data-score": score,
      "data-probability": probability,
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      "aria-label": changed ? message("changedToken", ariaLabel) : ariaLabel,
    },
    () => open(t, node),
    element("span", { class: "word" }, ...labelNodes(label)),
    bar,
    element("span", { class: "number" }, formatProbability(probability)),
  );
  return node;
}

function reportPointer(row, side, point) {
  const report = ({ target }) => {
    const index = target.closest(`[data-${side}]`)?.dataset[side];
    if (index !== undefined) point({ target: null, source: null, [side]: Number(index) });
  };
  row.addEventListener("pointerover", report);
  row.addEventListener("focusin", report);
  row.addEventListener("pointerleave", () => point(null));
  row.addEventListener("focusout", () => point(null));
}
