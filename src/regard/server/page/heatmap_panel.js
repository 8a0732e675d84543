// The panel of heatmaps: attention, influence or both; the selected layer and head; the readout.

import { byId, element, fillSelect } from "./dom.js";
import { enableNavigation } from "./grid_navigation.js";
import { drawHeatmap, highlightRowAndColumn, serializeHeatmaps } from "./heatmap_svg.js";
import { highlightTokens } from "./highlight.js";
import { message } from "./messages.js";
import { formatProbability } from "./number_format.js";
import { showScrollHints } from "./scroll_hints.js";
import { END, isolate, visible } from "./token_labels.js";
import { unknownSources, unsureSteps } from "./token_marks.js";

const MEAN = "mean";
const BOTTOM_MARGIN = 12; // pixels between a heatmap and the bottom of the window
const heatmaps = new Map(); // by kind: { svg, navigation, weights }
const selection = { view: "attention", layer: MEAN, head: MEAN };

// Which fields the current view needs from the server.
export const needsInfluence = (model) => !model.attention || selection.view !== "attention";

const hasSeveralMaps = ({ attention }) => attention !== null && attention.layers * attention.heads > 1;

// The weights of all layers and heads are large: request them only when one is selected.
export const needsLayers = (model) => hasSeveralMaps(model) && (selection.layer !== MEAN || selection.head !== MEAN);

// Whether a translation lacks a field that the current view needs.
export const lacksFields = (translation, model) =>
  (needsInfluence(model) && !translation?.influence) || (needsLayers(model) && !translation?.layers);

// Another model has other layers and heads.
export const resetSelection = () => Object.assign(selection, { layer: MEAN, head: MEAN });

export function prepareControls(model, onChange) {
  byId("views").hidden = !model.attention;
  byId("views").replaceChildren(
    ...["attention", "influence", "both"].map((view) => {
      const radio = element("input", { type: "radio", name: "view", value: view, checked: view === selection.view });
      radio.addEventListener("change", () => {
        selection.view = view;
        onChange();
      });
      return element("label", {}, radio, element("span", {}, message(view)));
    }),
  );
  const { layers, heads } = model.attention ?? { layers: 1, heads: 1 };
  prepareSelect("layer", layers, onChange);
  prepareSelect("head", heads, onChange);
}

function prepareSelect(name, count, onChange) {
  const select = byId(name);
  const numbers = Array.from({ length: count }, (_, index) => String(index + 1));
  fillSelect(select, [[MEAN, message("average")], ...numbers.map((number) => [number, number])], selection[name]);
  select.closest("label").hidden = count < 2;
  select.onchange = () => {
    selection[name] = select.value;
    onChange();
  };
}

// The [T,S] weights of the selected layer and head, or their average; null if the response lacks them.
export function selectedAttention(translation) {
  const { attention, layers } = translation;
  if (selection.layer === MEAN && selection.head === MEAN) return attention ?? null;
  if (!layers) return null;
  const pick = (all, number) => (number === MEAN ? all : [all[Number(number) - 1]]);
  return layers.map((step) => {
    const rows = pick(step, selection.layer).flatMap((heads) => pick(heads, selection.head));
    return rows[0].map((_, s) => rows.reduce((sum, row) => sum + row[s], 0) / rows.length);
  });
}

function visibleHeatmapKinds(model) {
  if (!model.attention) return ["influence"];
  return selection.view === "both" ? ["attention", "influence"] : [selection.view];
}

// panelData = { model, translation, pins, changed, pin(target, source), open(target, node) }
export function drawPanel(panelData) {
  const { model, translation } = panelData;
  const kinds = visibleHeatmapKinds(model);
  byId("heatmap-title").textContent = message(kinds[0] === "attention" ? "attentionTitle" : "influenceTitle");
  byId("layer-head").hidden = !kinds.includes("attention") || !hasSeveralMaps(model);
  byId("hint").textContent = kinds.includes("attention") ? message("pinHint") : "";
  const focusedKind = [...heatmaps].find(([, { svg }]) => svg.contains(document.activeElement))?.[0];
  const places = new Map([...heatmaps].map(([kind, { navigation }]) => [kind, navigation.place()]));
  heatmaps.clear();
  const figures = kinds.map((kind) => figure(kind, panelData));
  byId("heatmaps").replaceChildren(...figures.map(({ node }) => node));
  for (const { kind, node, weights } of figures) {
    if (!weights) continue;
    const scroller = node.firstElementChild;
    const svg = drawHeatmap(heatmapOptions(kind, weights, panelData, availableSpace(scroller)));
    scroller.replaceChildren(svg);
    showScrollHints(scroller);
    const navigation = enableNavigation(svg, actionsFor(kind, weights, panelData), places.get(kind) ?? undefined);
    heatmaps.set(kind, { svg, navigation, weights });
  }
  setReadout(null);
  if (focusedKind) heatmaps.get(focusedKind)?.navigation.focus();
}

function figure(kind, { model, translation, pins }) {
  const weights = kind === "attention" ? selectedAttention(translation) : (translation.influence ?? null);
  const sentences = [message(kind === "attention" ? "aboutAttention" : "aboutInfluence")];
  if (!model.attention) sentences.unshift(message("noAttention", model.name));
  else if (kind === "influence" && Object.keys(pins).length) sentences.push(message("influenceIgnoresPins"));
  const scrollHint = element("p", { class: "scroll-hint small", hidden: true }, message("scrollHint"));
  const caption = element("figcaption", { class: "small" }, sentences.join(" "));
  return { kind, weights, node: element("figure", { "data-kind": kind }, element("div", { class: "scroller" }), scrollHint, caption) };
}

function heatmapOptions(kind, weights, { translation, pins, changed }, space) {
  const { source_tokens: source, tokens, token_scores: scores } = translation;
  const describeRow = (name, t) => message("targetHeader", name, formatProbability(Math.exp(scores[t])));
  const unsure = new Set(unsureSteps(translation));
  const unknown = new Set(unknownSources(translation).map(({ position }) => position));
  return { kind, source, target: [...tokens, END], weights, describeRow, pins, changed, unsure, unknown, ...space };
}

// The space for a heatmap: the width of its place, and the rest of the window's height if it starts there.
function availableSpace(scroller) {
  const top = scroller.getBoundingClientRect().top + window.scrollY;
  return { availableWidth: scroller.clientWidth, availableHeight: window.innerHeight - top - BOTTOM_MARGIN };
}

function actionsFor(kind, weights, { translation, pin, open }) {
  return {
    point: (place) => pointAt(place, kind, weights, translation),
    pin: (target, source) => kind === "attention" && pin(target, source),
    open,
  };
}

// Highlight the tokens of a place in all heatmaps and show its weight.
export function pointAt(place, kind, weights, translation) {
  highlightTokens(place, weights ?? heatmaps.values().next().value?.weights);
  for (const { svg } of heatmaps.values()) highlightRowAndColumn(svg, place?.target ?? null, place?.source ?? null);
  const isCell = kind && place && place.target !== null && place.source !== null;
  if (!isCell) return setReadout(null);
  const weight = weights[place.target][place.source];
  const [target, source] = [translation.tokens[place.target], translation.source_tokens[place.source]];
  const name = isolate(target === undefined ? END : visible(target));
  setReadout(`${message(kind)} · ${message("cell", name, isolate(visible(source)), weight.toFixed(6))}`, weight);
  showTooltip(heatmaps.get(kind).svg.querySelector(`[data-row="${place.target}"][data-column="${place.source}"]`));
}

function setReadout(text, weight) {
  const readout = byId("readout");
  readout.classList.toggle("active", text !== null);
  readout.textContent = text ?? message("readoutHint");
  if (text === null) delete readout.dataset.weight;
  else readout.dataset.weight = weight;
  byId("tooltip").hidden = true;
}

// Repeat the readout above the cell if the readout is scrolled out of view.
function showTooltip(cell) {
  const readoutRect = byId("readout").getBoundingClientRect();
  if (readoutRect.top >= 0 && readoutRect.bottom <= window.innerHeight) return;
  const [node, cellRect] = [byId("tooltip"), cell.getBoundingClientRect()];
  node.hidden = false;
  node.textContent = byId("readout").textContent;
  const { width, height } = node.getBoundingClientRect();
  const left = cellRect.left + cellRect.width / 2 - width / 2;
  node.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - width - 4))}px`;
  node.style.top = `${cellRect.top > height + 10 ? cellRect.top - height - 8 : cellRect.bottom + 8}px`;
}

export function visibleHeatmapsAsSvg() {
  return serializeHeatmaps([...heatmaps.values()].map(({ svg }) => svg));
}
