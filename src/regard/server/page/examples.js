// The empty state: what the model expects, and lines to try.

import { button, byId, element } from "./dom.js";
import { message } from "./messages.js";
import { isolate } from "./token_labels.js";

const MAX_EXAMPLES = 10;

// A model file may come from anywhere: take only pairs of texts from its summary.
export function examplesOf({ summary }) {
  const listed = Array.isArray(summary?.examples) ? summary.examples : [];
  const isPair = (one) => typeof one?.source === "string" && typeof one?.target === "string" && one.source.trim();
  return listed.filter(isPair).slice(0, MAX_EXAMPLES);
}

export function drawExamples(model, select) {
  const examples = examplesOf(model);
  const middle = examples[Math.floor(examples.length / 2)];
  const unit = message("units")[model.source.tokenizer] ?? message("unitOf", model.source.tokenizer);
  const sentences = [message("expects", unit, model.max_source_length)];
  if (middle) sentences.unshift(message("expectsExample", isolate(middle.source), isolate(middle.target)));
  byId("expectation").textContent = sentences.join(message("sentenceGap"));
  byId("examples").hidden = !examples.length;
  byId("example-list").replaceChildren(
    ...examples.map(({ source }) =>
      element("li", {}, button({}, () => select(source), element("span", { dir: "auto" }, source))),
    ),
  );
}
