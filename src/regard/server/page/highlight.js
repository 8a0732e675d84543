// Highlights the tokens under the pointer, and tints the tokens of the other side by their weights.

import { byId } from "./dom.js";

// place = { target, source }, either of which may be null; null removes all highlights
export function highlightTokens(place, weights) {
  const panel = byId("output");
  for (const node of panel.querySelectorAll(".highlighted")) node.classList.remove("highlighted");
  for (const node of panel.querySelectorAll(".tinted")) node.classList.remove("tinted");
  if (!place) return;
  for (const side of ["target", "source"]) {
    if (place[side] === null) continue;
    for (const node of panel.querySelectorAll(`[data-${side}="${place[side]}"]`)) node.classList.add("highlighted");
  }
  if (!weights) return;
  if (place.target !== null && place.source === null) tint("source", weights[place.target]);
  if (place.source !== null && place.target === null) tint("target", weights.map((row) => row[place.source]));
}

function tint(side, weights) {
  for (const node of byId("tokens").querySelectorAll(`[data-${side}]`)) {
    node.classList.add("tinted");
    node.style.setProperty("--fraction", weights[node.dataset[side]] ?? 0);
  }
}
