// The two rows of tokens under the translation: what was read, and what was written with its confidence.

import { chance, hex, ramp } from "./colors.js";
import { button, element } from "./dom.js";
import { END, spelled, visible } from "./labels.js";
import { focusOn, makeStop, rove } from "./roving.js";
import { say } from "./words.js";

// about = { translation, changed, point(place | null), open(at, node) }
export function drawStrips(container, about) {
  const before = focusedAt(container);
  const { translation, changed } = about;
  const read = element("ul", { class: "strip", dir: "auto" });
  read.append(
    ...translation.source_tokens.map((token, s) =>
      element("li", { class: "token", "data-source": s }, element("span", { class: "word" }, ...spelled(visible(token)))),
    ),
  );
  const written = element("div", { class: "strip", dir: "auto", role: "toolbar", "aria-label": say("targetTokens") });
  written.append(...translation.token_scores.map((score, t) => token(about, t, score, changed.has(t))));
  const tokens = [...written.children];
  rove(written, () => tokens);
  makeStop(tokens, before ?? 0);
  watch(read, "source", about.point);
  watch(written, "target", about.point);
  container.replaceChildren(
    element("p", { class: "small" }, say("sourceTokens")),
    read,
    element("p", { class: "small" }, say("targetTokens")),
    written,
  );
  if (before !== null) focusOn(tokens, before);
}

// What was drawn anew keeps the focus of what it replaces.
function focusedAt(container) {
  const node = document.activeElement;
  return container.contains(node) && node.dataset.target !== undefined ? Number(node.dataset.target) : null;
}

function token({ translation, open }, t, score, changed) {
  const ends = t === translation.tokens.length;
  const label = ends ? END : visible(translation.tokens[t]);
  const probability = Math.exp(score);
  const spoken = say("tokenLabel", ends ? say("end") : label, chance(probability));
  const bar = element("span", { class: "share", "aria-hidden": "true" });
  bar.style.setProperty("--share", probability);
  bar.style.setProperty("--color", hex(ramp(probability)));
  const node = button(
    {
      class: `token${changed ? " changed" : ""}`,
      "data-target": t,
      "data-score": score,
      "data-probability": probability,
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      "aria-label": changed ? say("changedToken", spoken) : spoken,
    },
    () => open(t, node),
    element("span", { class: "word" }, ...spelled(label)),
    bar,
    element("span", { class: "number" }, chance(probability)),
  );
  return node;
}

function watch(strip, side, point) {
  const tell = ({ target }) => {
    const at = target.closest(`[data-${side}]`)?.dataset[side];
    if (at !== undefined) point({ target: null, source: null, [side]: Number(at) });
  };
  strip.addEventListener("pointerover", tell);
  strip.addEventListener("focusin", tell);
  strip.addEventListener("pointerleave", () => point(null));
  strip.addEventListener("focusout", () => point(null));
}
