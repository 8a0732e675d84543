// The edits as chips with a remove button each, and the model's own output for comparison.

import { button, byId, element } from "./dom.js";
import * as edits from "./edit_history.js";
import { message } from "./messages.js";
import { END, isolate, visible } from "./token_labels.js";

// context = { history, current, translation, uneditedTranslation, removed, change(edits) }; `current` are the edits of
// the translation, `uneditedTranslation` is the model's own translation, `removed` its tokens that are gone
export function drawEdits(context) {
  const { history, current, translation, change } = context;
  byId("edits").hidden = edits.isEmpty(current) && !history.canUndo && !history.canRedo;
  const list = byId("chips");
  const active = document.activeElement;
  const focused = [...list.querySelectorAll("button")].indexOf(active);
  list.replaceChildren(...chipsFor(current, translation).map((one) => chip(one, change)));
  byId("undo").disabled = !history.canUndo;
  byId("redo").disabled = !history.canRedo;
  if (focused >= 0) ([...list.querySelectorAll("button")].at(focused) ?? enabledNeighbor()).focus();
  else if (active === byId("undo") || active === byId("redo")) (active.disabled ? enabledNeighbor() : active).focus();
  drawUnedited(context);
}

// The element that gets the focus of a removed or disabled one.
const enabledNeighbor = () => [byId("undo"), byId("redo")].find((one) => !one.disabled) ?? byId("text");

function chipsFor(current, translation) {
  const changes = current.changes.map((one) => ({
    describe: (end) =>
      one.output !== undefined
        ? message("outputChip", one.output)
        : message("changeChip", one.step + 1, tokenName(one.from, end), tokenName(one.to, end)),
    without: edits.removeChange(current, one),
  }));
  const pins = Object.entries(current.pins).map(([step, source]) => ({
    describe: (end) =>
      message(
        "pinChip",
        Number(step) + 1,
        tokenName(translation.tokens[step], end),
        tokenName(translation.source_tokens[source], end),
      ),
    without: edits.unpin(current, step),
  }));
  return [...changes, ...pins];
}

const tokenName = (token, end) => isolate(token === null || token === undefined ? end : visible(token));

function chip({ describe, without }, change) {
  const [text, spokenText] = [describe(END), describe(message("end"))];
  const remove = button({ "aria-label": message("remove", spokenText), class: "remove" }, () => change(without, "removed"), "×");
  // if the text holds a sign, screen readers get the button's label instead
  const label = element("span", { dir: "auto", "aria-hidden": text === spokenText ? null : "true" }, text);
  return element("li", { class: "chip" }, label, remove);
}

// The model's own output, its removed tokens struck out.
function drawUnedited({ current, uneditedTranslation, removed }) {
  const line = byId("before");
  line.replaceChildren();
  if (edits.isEmpty(current) || !uneditedTranslation) return;
  line.append(message("before"), " ");
  const tokens = element("span", { class: "unedited", dir: "auto" });
  for (const [t, token] of uneditedTranslation.tokens.entries()) {
    tokens.append(element(removed.has(t) ? "del" : "span", { dir: "auto" }, visible(token)), " ");
  }
  line.append(tokens);
}
