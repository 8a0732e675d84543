// The n-best list: the outputs with their scores, each a button that forces it.

import { button, byId, element } from "./dom.js";
import { message } from "./messages.js";
import { formatLogProbability } from "./number_format.js";

// options = { translation, outputs, select(index) }
export function drawNbest({ translation, outputs, select }) {
  const list = byId("nbest");
  const focused = [...list.querySelectorAll("button")].indexOf(document.activeElement);
  list.replaceChildren(
    ...outputs.map((output, index) => {
      const current = output.text === translation.text;
      const node = button(
        { "aria-current": current ? "true" : null, disabled: !output.tokens.length, "data-score": output.score },
        () => current || select(index),
        element("span", { dir: "auto", class: "to" }, output.text || message("emptyOutput")),
        element("span", { class: "number" }, formatLogProbability(output.score, 2)),
      );
      return element("li", {}, node);
    }),
  );
  if (focused >= 0) list.querySelectorAll("button")[focused]?.focus();
}
