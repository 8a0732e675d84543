// The n-best list: the outputs in their order with the scores that order them, each a button that forces it.

import { button, byId, element } from "./dom.js";
import { message } from "./messages.js";
import { formatLogProbability } from "./number_format.js";

// options = { translation, outputs, lengthPenalty, select(index) }
export function drawNbest({ translation, outputs, lengthPenalty, select }) {
  const list = byId("nbest");
  const focused = [...list.querySelectorAll("button")].indexOf(document.activeElement);
  list.replaceChildren(
    ...outputs.map((output, index) => {
      const current = output.text === translation.text;
      // the score by which the list is ordered
      const rankScore = lengthPenalty ? (output.rank_score ?? output.score) : output.score;
      const [rank, text] = [index + 1, output.text || message("emptyOutput")];
      const score = formatLogProbability(rankScore, 2);
      const node = button(
        { "aria-current": current ? "true" : null, disabled: !output.tokens.length, "data-score": output.score, "aria-label": message("ranked", rank, text, score) },
        () => current || select(index),
        element("span", { class: "rank" }, String(rank)),
        element("span", { dir: "auto", class: "to" }, text),
        element("span", { class: "number" }, score),
      );
      return element("li", {}, node);
    }),
  );
  if (focused >= 0) list.querySelectorAll("button")[focused]?.focus();
}
