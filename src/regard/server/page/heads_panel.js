// The panel of all layers and heads: a grid of small maps, and the selected one as a heatmap or as lines.
//
// It shows the attention from output to source, and the self-attention of encoder and decoder. These weights
// are large; the page requests them only while the panel is open.

import { drawLines } from "./attention_lines.js";
import { byId, element } from "./dom.js";
import { enableNavigation } from "./grid_navigation.js";
import { drawThumbnail } from "./head_thumbnails.js";
import { drawHeatmap, highlightRowAndColumn } from "./heatmap_svg.js";
import { message } from "./messages.js";
import { enableRovingTabindex, focusEntry, setTabStop } from "./roving_tabindex.js";
import { showScrollHints } from "./scroll_hints.js";
import { END, START, isolate, visible } from "./token_labels.js";

const VIEWS = ["heatmap", "lines"];
const selection = { part: "encoder", view: "heatmap", layer: 0, head: 0 };

const details = byId("heads-details");

// The attentions of a model by name, in the order of the computation: { encoder, cross, decoder } → { layers, heads }.
function partsOf({ attention, self_attention: self }) {
  const parts = { encoder: self?.encoder, decoder: self?.decoder, cross: attention };
  return Object.fromEntries(Object.entries(parts).filter(([, shape]) => shape));
}

const hasSeveral = ({ layers, heads }) => layers * heads > 1;

// The fields of a request that the open panel needs.
export function requestFields(model) {
  if (!details.open) return {};
  const { encoder, decoder, cross } = partsOf(model);
  return { ...(cross && hasSeveral(cross) && { layers: true }), ...((encoder || decoder) && { self_attention: true }) };
}

// Whether the panel is open and the translation lacks what it shows.
export function lacksFields(translation, model) {
  return details.open && Object.keys(partsOf(model)).some((part) => !weightsOf(translation, part));
}

// The weights of a part as [query, layer, head, key]; undefined if the response lacks them.
function weightsOf(translation, part) {
  if (part === "encoder") return translation.encoder_self_attention;
  if (part === "decoder") return translation.decoder_self_attention;
  return translation.layers ?? (translation.attention_shape ? undefined : translation.attention?.map((row) => [[row]]));
}

// The tokens that look, and those that are looked at. A decoder step is fed the token before its own.
function tokensOf(translation, part) {
  const { source_tokens: source, tokens } = translation;
  if (part === "encoder") return { queries: source, keys: source };
  return { queries: [...tokens, END], keys: part === "cross" ? source : [START, ...tokens] };
}

// onOpen() is called when the panel is opened.
export function prepareHeads(onOpen) {
  details.addEventListener("toggle", () => details.open && onOpen());
  enableRovingTabindex(byId("head-grid"), thumbnails);
}

const thumbnails = () => [...byId("head-grid").querySelectorAll("button")];

export function drawHeads(model, translation) {
  const parts = partsOf(model);
  details.hidden = !Object.keys(parts).length;
  if (details.hidden || !details.open) return;
  if (!(selection.part in parts)) selection.part = Object.keys(parts)[0];
  const { layers, heads } = parts[selection.part];
  selection.layer = Math.min(selection.layer, layers - 1);
  selection.head = Math.min(selection.head, heads - 1);
  const redraw = () => drawHeads(model, translation);
  drawRadios("head-parts", "part", Object.keys(parts), redraw);
  drawRadios("head-views", "view", VIEWS, redraw);
  byId("about-heads").textContent = message("aboutHeads")[selection.part];
  const weights = weightsOf(translation, selection.part);
  byId("heads").hidden = !weights;
  if (!weights) return;
  drawGrid(weights, parts[selection.part], redraw);
  drawSelected(translation, weights);
}

function drawRadios(id, name, choices, redraw) {
  const focused = byId(id).contains(document.activeElement);
  byId(id).hidden = choices.length < 2;
  byId(id).replaceChildren(
    ...choices.map((choice) => {
      const checked = choice === selection[name];
      const radio = element("input", { type: "radio", name: id, value: choice, checked });
      radio.addEventListener("change", () => {
        selection[name] = choice;
        redraw();
      });
      return element("label", {}, radio, element("span", {}, message("headChoices")[choice]));
    }),
  );
  if (focused) byId(id).querySelector(":checked").focus();
}

// One row of small maps for each layer, one column for each head.
function drawGrid(weights, shape, redraw) {
  const grid = byId("head-grid");
  const focused = thumbnails().indexOf(document.activeElement);
  byId("head-grid-scroller").hidden = !hasSeveral(shape);
  const numbers = (count) => Array.from({ length: count }, (_, index) => index);
  const header = numbers(shape.heads).map((head) => element("th", { scope: "col" }, `${message("head")} ${head + 1}`));
  const rows = numbers(shape.layers).map((layer) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, `${message("layer")} ${layer + 1}`),
      ...numbers(shape.heads).map((head) => element("td", {}, thumbnail(weights, layer, head, redraw))),
    ),
  );
  grid.replaceChildren(element("tr", {}, element("td"), ...header), ...rows);
  setTabStop(thumbnails(), selection.layer * shape.heads + selection.head);
  if (focused >= 0) focusEntry(thumbnails(), focused);
  showScrollHints(byId("head-grid-scroller"));
}

function thumbnail(weights, layer, head, redraw) {
  const current = layer === selection.layer && head === selection.head;
  const canvas = element("canvas", { "aria-hidden": "true" });
  drawThumbnail(canvas, weights.map((step) => step[layer][head]), selection.view);
  const label = `${message("layer")} ${layer + 1}, ${message("head")} ${head + 1}`;
  const attributes = { "aria-label": label, "aria-pressed": String(current), "data-layer": layer, "data-head": head };
  const node = element("button", { type: "button", ...attributes }, canvas);
  node.addEventListener("click", () => {
    Object.assign(selection, { layer, head });
    redraw();
  });
  return node;
}

function drawSelected(translation, weights) {
  const { part, view, layer, head } = selection;
  const map = weights.map((step) => step[layer][head]);
  const { queries, keys } = tokensOf(translation, part);
  const scroller = byId("head-map");
  scroller.replaceChildren();
  const several = weights[0].length * weights[0][0].length > 1;
  const name = message("headChoices")[part];
  const place = several ? message("headPlace", name, layer + 1, head + 1) : name;
  const read = (text) => (byId("head-readout").textContent = text ? `${place} · ${text}` : place);
  if (view === "lines") scroller.append(drawLines({ queries, keys, map, label: place, read }));
  else drawMap({ queries, keys, map, part, place, scroller, read });
  read("");
  showScrollHints(scroller);
}

function drawMap({ queries, keys, map, part, place, scroller, read }) {
  const none = new Set();
  const marks = { pins: {}, changed: none, unsure: none, unknown: none };
  const space = { availableWidth: scroller.clientWidth, availableHeight: window.innerHeight * 0.7 };
  const describeRow = (name) => name;
  const svg = drawHeatmap({ kind: part, label: place, source: keys, target: queries, weights: map, describeRow, ...marks, ...space });
  // a container of its own, since the listeners of a navigation go with it
  const container = element("div", {}, svg);
  scroller.append(container);
  const point = (cell) => {
    highlightRowAndColumn(svg, cell?.target ?? null, cell?.source ?? null);
    const isCell = cell && cell.target !== null && cell.source !== null;
    if (!isCell) return read("");
    const [query, key] = [isolate(visible(queries[cell.target])), isolate(visible(keys[cell.source]))];
    read(message("cell", query, key, map[cell.target][cell.source].toFixed(6)));
  };
  enableNavigation(svg, { point, pin: () => {}, open: () => {} });
}
