// Words light up: whatever is pointed at, its words glow wherever they stand, and the words that it has
// to do with are tinted by their weight.

import { byId } from "./dom.js";

// place = { target, source }, either of which may be null; null turns the light off
export function light(place, weights) {
  const result = byId("result");
  for (const node of result.querySelectorAll(".lit")) node.classList.remove("lit");
  for (const node of result.querySelectorAll(".tinted")) node.classList.remove("tinted");
  if (!place) return;
  for (const side of ["target", "source"]) {
    if (place[side] === null) continue;
    for (const node of result.querySelectorAll(`[data-${side}="${place[side]}"]`)) node.classList.add("lit");
  }
  if (!weights) return;
  if (place.target !== null && place.source === null) tint("source", weights[place.target]);
  if (place.source !== null && place.target === null) tint("target", weights.map((row) => row[place.source]));
}

function tint(side, shares) {
  for (const node of byId("words").querySelectorAll(`[data-${side}]`)) {
    node.classList.add("tinted");
    node.style.setProperty("--share", shares[node.dataset[side]] ?? 0);
  }
}
