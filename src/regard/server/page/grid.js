// A heatmap under the pointer and the keyboard: one stop of the Tab key, arrow keys inside.

import { cursor } from "./heatmap.js";

const MOVES = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

// actions = { point(place | null), pin(target, source), open(target, node) }
export function liven(svg, actions, begin = { target: 0, source: 0 }) {
  const { across, down } = svg.geometry;
  const cells = new Map([...svg.querySelectorAll("[tabindex]")].map((node) => [keyOf(placeOf(node)), node]));
  let active = cells.get(keyOf(begin)) ?? cells.values().next().value;
  let touched = null;
  // not on the picture itself: one that listens to focus is a stop of the Tab key in some browsers
  const stage = svg.parentNode;
  active?.setAttribute("tabindex", 0);

  const { point } = actions;
  const go = (place) => cells.get(keyOf(place))?.focus();
  const act = (node) => {
    const { target, source } = placeOf(node);
    if (target !== null && source !== null) actions.pin(target, source);
    else if (target !== null) actions.open(target, node);
  };

  stage.addEventListener("focusin", ({ target: node }) => {
    const place = placeOf(node);
    if (!place) return;
    active?.setAttribute("tabindex", -1);
    active = node;
    active.setAttribute("tabindex", 0);
    if (node.matches(":focus-visible")) cursor(svg, place.target, place.source);
    point(place);
  });
  stage.addEventListener("focusout", () => {
    cursor(svg, null, null);
    point(null);
  });
  stage.addEventListener("pointerover", ({ target: node }) => {
    const place = placeOf(node.closest("[tabindex]"));
    if (place) point(place);
  });
  stage.addEventListener("pointerleave", () => point(svg.contains(document.activeElement) ? placeOf(active) : null));
  stage.addEventListener("pointerdown", (event) => {
    // a finger cannot hover: its first tap only points, the second one acts
    const pointed = event.target.closest("[tabindex]") === document.activeElement;
    touched = event.pointerType === "touch" && !pointed ? event.target : null;
  });
  stage.addEventListener("click", ({ target }) => {
    const node = target.closest("[tabindex]");
    if (!node) return;
    node.focus();
    if (touched === target) touched = null;
    else act(node);
  });
  stage.addEventListener("keydown", (event) => {
    const place = placeOf(active);
    if (!place) return;
    const [row, column] = [place.target ?? -1, place.source ?? -1];
    let next = null;
    if (event.key in MOVES) next = [row + MOVES[event.key][0], column + MOVES[event.key][1]];
    else if (event.key === "Home") next = [event.ctrlKey ? -1 : row, event.ctrlKey || row < 0 ? 0 : -1];
    else if (event.key === "End") next = [event.ctrlKey ? down - 1 : row, across - 1];
    else if (event.key === "Enter" || event.key === " ") act(active);
    else return;
    event.preventDefault();
    if (next) go({ target: next[0] < 0 ? null : next[0], source: next[1] < 0 ? null : next[1] });
  });
  return { place: () => placeOf(active), focus: () => active?.focus() };
}

export function placeOf(node) {
  if (!node) return null;
  const { row, column, target, source } = node.dataset;
  if (row !== undefined) return { target: Number(row), source: Number(column) };
  if (target !== undefined) return { target: Number(target), source: null };
  return source === undefined ? null : { target: null, source: Number(source) };
}

const keyOf = ({ target, source }) => `${target},${source}`;
