// The centre of the page: attention, influence, or one beside the other; which layer and which head.

import { chance } from "./colors.js";
import { byId, element, fill } from "./dom.js";
import { liven } from "./grid.js";
import { drawHeatmap, mark, pictured } from "./heatmap.js";
import { END, isolated, visible } from "./labels.js";
import { light } from "./light.js";
import { say } from "./words.js";

const MEAN = "mean";
const drawnMaps = new Map();
const chosen = { view: "attention", layer: MEAN, head: MEAN };

// What has to be asked of the server for what is in view.
export const needsInfluence = (model) => !model.attention || chosen.view !== "attention";

const several = ({ attention }) => attention !== null && attention.layers * attention.heads > 1;

// All layers and heads are many numbers: they come when one of them is chosen.
export const needsLayers = (model) => several(model) && (chosen.layer !== MEAN || chosen.head !== MEAN);

// Whether an answer has not what is in view.
export const lacks = (answer, model) =>
  (needsInfluence(model) && !answer?.influence) || (needsLayers(model) && !answer?.layers);

// Another model has other layers and heads.
export const reset = () => Object.assign(chosen, { layer: MEAN, head: MEAN });

export function prepare(model, onChange) {
  byId("views").hidden = !model.attention;
  byId("views").replaceChildren(
    ...["attention", "influence", "both"].map((view) => {
      const radio = element("input", { type: "radio", name: "view", value: view, checked: view === chosen.view });
      radio.addEventListener("change", () => {
        chosen.view = view;
        onChange();
      });
      return element("label", {}, radio, element("span", {}, say(view)));
    }),
  );
  const { layers, heads } = model.attention ?? { layers: 1, heads: 1 };
  offer("layer", layers, onChange);
  offer("head", heads, onChange);
}

function offer(name, count, onChange) {
  const select = byId(name);
  const numbers = Array.from({ length: count }, (_, index) => String(index + 1));
  fill(select, [[MEAN, say("average")], ...numbers.map((number) => [number, number])], chosen[name]);
  select.closest("label").hidden = count < 2;
  select.onchange = () => {
    chosen[name] = select.value;
    onChange();
  };
}

// [T,S] of the layer and the head that are chosen, or their average; null where they have not come.
export function looked(translation) {
  const { attention, layers } = translation;
  if (chosen.layer === MEAN && chosen.head === MEAN) return attention ?? null;
  if (!layers) return null;
  const picked = (all, which) => (which === MEAN ? all : [all[Number(which) - 1]]);
  return layers.map((step) => {
    const rows = picked(step, chosen.layer).flatMap((heads) => picked(heads, chosen.head));
    return rows[0].map((_, s) => rows.reduce((sum, row) => sum + row[s], 0) / rows.length);
  });
}

function kindsFor(model) {
  if (!model.attention) return ["influence"];
  return chosen.view === "both" ? ["attention", "influence"] : [chosen.view];
}

// about = { model, translation, pins, changed, pin(target, source), open(target, node) }
export function drawHeat(about) {
  const { model, translation } = about;
  const kinds = kindsFor(model);
  byId("heat-title").textContent = say(kinds[0] === "attention" ? "where" : "moved");
  // one beside the other needs the width of the page
  document.querySelector(".centre").classList.toggle("wide", kinds.length > 1);
  byId("looks").hidden = !kinds.includes("attention") || !several(model);
  byId("hint").textContent = kinds.includes("attention") ? say("hintPin") : "";
  const focused = [...drawnMaps].find(([, { svg }]) => svg.contains(document.activeElement))?.[0];
  const places = new Map([...drawnMaps].map(([kind, { grid }]) => [kind, grid.place()]));
  drawnMaps.clear();
  const figures = kinds.map((kind) => figure(kind, about));
  byId("maps").replaceChildren(...figures.map(({ node }) => node));
  for (const { kind, node, weights } of figures) {
    if (!weights) continue;
    const scroller = node.firstElementChild;
    const svg = drawHeatmap(described(kind, weights, about, scroller.clientWidth));
    scroller.replaceChildren(svg);
    const grid = liven(svg, actionsFor(kind, weights, about), places.get(kind) ?? undefined);
    drawnMaps.set(kind, { svg, grid, weights });
  }
  read(null);
  if (focused) drawnMaps.get(focused)?.grid.focus();
}

function figure(kind, { model, translation, pins }) {
  const weights = kind === "attention" ? looked(translation) : (translation.influence ?? null);
  const about = [kind === "attention" ? say("aboutAttention") : say("aboutInfluence")];
  if (!model.attention) about.unshift(say("noAttention", model.name));
  else if (kind === "influence" && Object.keys(pins).length) about.push(say("influenceFree"));
  const caption = element("figcaption", { class: "small" }, about.join(" "));
  return { kind, weights, node: element("figure", { "data-kind": kind }, element("div", { class: "scroller" }), caption) };
}

function described(kind, weights, { translation, pins, changed }, room) {
  const { source_tokens: source, tokens, token_scores: scores } = translation;
  const shares = scores.map((score) => chance(Math.exp(score)));
  return { kind, source, target: [...tokens, END], weights, shares, pins, changed, room };
}

function actionsFor(kind, weights, { translation, pin, open }) {
  return {
    point: (place) => pointAt(place, kind, weights, translation),
    pin: (target, source) => kind === "attention" && pin(target, source),
    open,
  };
}

// Light up the words of a place, in every map that is in view, and read out its weight.
export function pointAt(place, kind, weights, translation) {
  light(place, weights ?? drawnMaps.values().next().value?.weights);
  for (const { svg } of drawnMaps.values()) mark(svg, place?.target ?? null, place?.source ?? null);
  const cell = kind && place && place.target !== null && place.source !== null;
  if (!cell) return read(null);
  const weight = weights[place.target][place.source];
  const [target, source] = [translation.tokens[place.target], translation.source_tokens[place.source]];
  const name = isolated(target === undefined ? END : visible(target));
  read(`${say(kind)} · ${say("cell", name, isolated(visible(source)), weight.toFixed(6))}`, weight);
  tip(drawnMaps.get(kind).svg.querySelector(`[data-row="${place.target}"][data-column="${place.source}"]`));
}

function read(text, weight) {
  const readout = byId("readout");
  readout.classList.toggle("told", text !== null);
  readout.textContent = text ?? say("readout");
  if (text === null) delete readout.dataset.weight;
  else readout.dataset.weight = weight;
  byId("tip").hidden = true;
}

// The same words above the cell, where the line above the map is out of sight.
function tip(cell) {
  const line = byId("readout").getBoundingClientRect();
  if (line.top >= 0 && line.bottom <= window.innerHeight) return;
  const [node, at] = [byId("tip"), cell.getBoundingClientRect()];
  node.hidden = false;
  node.textContent = byId("readout").textContent;
  const { width, height } = node.getBoundingClientRect();
  const left = at.left + at.width / 2 - width / 2;
  node.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - width - 4))}px`;
  node.style.top = `${at.top > height + 10 ? at.top - height - 8 : at.bottom + 8}px`;
}

export function pictures() {
  return pictured([...drawnMaps.values()].map(({ svg }) => svg));
}
