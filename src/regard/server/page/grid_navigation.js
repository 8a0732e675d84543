// Pointer and keyboard on a heatmap (ARIA grid): one Tab stop, arrow keys inside.

import { drawCursor } from "./heatmap_svg.js";

const ARROW_KEY_MOVES = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

// actions = { point(place | null), pin(target, source), open(target, node) }
// A place is { target, source }: a cell, or a label if one of them is null.
export function enableNavigation(svg, actions, start = { target: 0, source: 0 }) {
  const { columnCount, rowCount } = svg.geometry;
  const nodes = new Map([...svg.querySelectorAll("[tabindex]")].map((node) => [keyOf(placeOf(node)), node]));
  let active = nodes.get(keyOf(start)) ?? nodes.values().next().value;
  let firstTap = null;
  // not on the SVG itself: some browsers make an SVG with focus listeners a Tab stop
  const container = svg.parentNode;
  active?.setAttribute("tabindex", 0);

  const { point } = actions;
  const focusPlace = (place) => nodes.get(keyOf(place))?.focus();
  const activate = (node) => {
    const { target, source } = placeOf(node);
    if (target !== null && source !== null) actions.pin(target, source);
    else if (target !== null) actions.open(target, node);
  };

  container.addEventListener("focusin", ({ target: node }) => {
    const place = placeOf(node);
    if (!place) return;
    active?.setAttribute("tabindex", -1);
    active = node;
    active.setAttribute("tabindex", 0);
    if (node.matches(":focus-visible")) drawCursor(svg, place.target, place.source);
    point(place);
  });
  container.addEventListener("focusout", () => {
    drawCursor(svg, null, null);
    point(null);
  });
  container.addEventListener("pointerover", ({ target: node }) => {
    const place = placeOf(node.closest("[tabindex]"));
    if (place) point(place);
  });
  container.addEventListener("pointerleave", () => point(svg.contains(document.activeElement) ? placeOf(active) : null));
  container.addEventListener("pointerdown", (event) => {
    // a finger cannot hover: its first tap only points, the second one activates
    const focused = event.target.closest("[tabindex]") === document.activeElement;
    firstTap = event.pointerType === "touch" && !focused ? event.target : null;
  });
  container.addEventListener("click", ({ target }) => {
    const node = target.closest("[tabindex]");
    if (!node) return;
    node.focus();
    if (firstTap === target) firstTap = null;
    else activate(node);
  });
  container.addEventListener("keydown", (event) => {
    const place = placeOf(active);
    if (!place) return;
    const [row, column] = [place.target ?? -1, place.source ?? -1];
    let next = null;
    const move = ARROW_KEY_MOVES[event.key];
    if (move) next = [row + move[0], column + move[1]];
    else if (event.key === "Home") next = [event.ctrlKey ? -1 : row, event.ctrlKey || row < 0 ? 0 : -1];
    else if (event.key === "End") next = [event.ctrlKey ? rowCount - 1 : row, columnCount - 1];
    else if (event.key === "Enter" || event.key === " ") activate(active);
    else return;
    event.preventDefault();
    if (next) focusPlace({ target: next[0] < 0 ? null : next[0], source: next[1] < 0 ? null : next[1] });
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
