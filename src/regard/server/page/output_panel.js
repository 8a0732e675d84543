// Everything that is drawn from a translation: text, tokens, heatmaps, best outputs, search tree, lines.

import { drawBeamTree, listBeamTree } from "./beam_tree.js";
import { clearCopyStatus } from "./clipboard.js";
import { byId, element } from "./dom.js";
import { drawEdits } from "./edit_chips.js";
import * as edits from "./edit_history.js";
import { drawHeads } from "./heads_panel.js";
import * as heatmapPanel from "./heatmap_panel.js";
import { drawLines } from "./line_list.js";
import { message } from "./messages.js";
import { drawNbest } from "./nbest_list.js";
import { formatLogProbability, formatProbability } from "./number_format.js";
import { displayedTranslation, history, initialOutput, isCurrent, refusalOf, state } from "./page_state.js";
import { showScrollHints } from "./scroll_hints.js";
import { tokenDiff } from "./token_diff.js";
import { isolate } from "./token_labels.js";
import { drawLegend, markedText } from "./token_marks.js";
import { drawTokenRows } from "./token_rows.js";

// actions = { changeEdits(edits, announcement), togglePin(target, source), openTokenMenu(step, node), selectLine(index) }
let actions = null;

export function prepareOutput(pageActions) {
  actions = pageActions;
  showScrollHints(byId("tree"));
  byId("search-details").addEventListener("toggle", drawSearchTree);
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (Math.abs(contentRect.width - width) < 8) return;
    width = contentRect.width;
    drawHeatmaps();
  }).observe(byId("output"));
}

export function showProgress(visible) {
  byId("progress").hidden = !visible;
  byId("output").setAttribute("aria-busy", String(visible));
}

export const announce = (text) => (byId("announcer").textContent = text);

function showResult(visible) {
  for (const id of ["details", "side", "heads-details", "search-details"]) byId(id).hidden = !visible;
  // examples belong to an empty text field; a text whose translation is awaited needs none
  byId("empty").hidden = visible || state.lines.some((line) => line.trim());
  byId("output").classList.remove("stale");
  byId("stale").hidden = true;
}

export function clear() {
  Object.assign(state, initialOutput());
  showResult(false);
}

// After an error, the last result stays, marked as that of another text.
export function keepLastResult() {
  if (!state.translation) return clear();
  byId("output").classList.add("stale");
  byId("stale").hidden = false;
  byId("stale").textContent = message("lastResult", isolate(state.translation.source));
}

// What the token rows, the heatmaps and the edits have in common.
function outputData() {
  const { removed, added } = tokenDiff(state.uneditedTranslation.tokens, state.translation.tokens);
  const changed = edits.isEmpty(state.edits) ? new Set() : added;
  return { translation: state.translation, changed, removed, open: actions.openTokenMenu };
}

function drawHeatmaps() {
  if (!isCurrent()) return;
  heatmapPanel.drawPanel({ ...outputData(), model: state.model, pins: state.edits.pins, pin: actions.togglePin });
}

export function draw() {
  const { translation, uneditedTranslation } = state;
  if (!translation) return;
  if (!isCurrent()) {
    if (!byId("stale").hidden) keepLastResult();
    return;
  }
  showResult(true);
  byId("translation").replaceChildren(...(translation.text ? markedText(translation) : [message("emptyOutput")]));
  byId("score").textContent = scoreText(translation, uneditedTranslation, state.edits);
  byId("notes").replaceChildren(...(translation.notes ?? []).map((note) => element("li", { lang: "en" }, note)));
  const current = state.edits;
  drawEdits({ history: history(), current, uneditedTranslation, change: actions.changeEdits, ...outputData() });
  drawTokenRows(byId("tokens"), { ...outputData(), point: (place) => heatmapPanel.pointAt(place) });
  drawLegend(byId("legend"), translation);
  drawHeatmaps();
  drawHeads(state.model, translation);
  drawNbestOutputs();
  drawSearchTree();
  drawLineList();
  clearCopyStatus();
}

function scoreText(translation, uneditedTranslation, currentEdits) {
  const score = (one) => formatLogProbability(one.score, 3);
  const text = message("score", score(translation), formatProbability(Math.exp(translation.score)));
  return edits.isEmpty(currentEdits) ? text : `${text} · ${message("scoreBefore", score(uneditedTranslation))}`;
}

function drawNbestOutputs() {
  const { translation, edits: current } = state;
  const forced = edits.forcedOutput(current);
  const outputs = forced?.outputs ?? (translation.alternatives?.length ? translation.alternatives : [translation]);
  const select = (index) => {
    const unforced = forced ? edits.removeChange(current, forced) : current;
    actions.changeEdits(index === 0 ? unforced : edits.forceOutput(unforced, outputs[index], outputs));
  };
  const lengthPenalty = state.model.search.length_penalty;
  byId("ranking").textContent = `${message("ranking", lengthPenalty)}${message("sentenceGap")}${message("selectOutput")}`;
  drawNbest({ translation, outputs, lengthPenalty, select });
}

function drawSearchTree() {
  const { translation } = state;
  if (byId("search-details").open && translation) {
    byId("tree").replaceChildren(listBeamTree(translation), drawBeamTree(translation));
  }
}

export function drawLineList() {
  const { lines, lineIndex: current } = state;
  drawLines({ lines, current, translationOf: displayedTranslation, refusalOf, select: actions.selectLine });
}
