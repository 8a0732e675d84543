// The changes made by hand as chips that can be taken away one by one, and what they did.

import { button, byId, element } from "./dom.js";
import * as edits from "./edits.js";
import { END, isolated, visible } from "./labels.js";
import { say } from "./words.js";

// about = { history, now, translation, own, lost, change(edits) }; `now` are the changes that the translation holds
export function drawWhatIf(about) {
  const { history, now, translation, change } = about;
  byId("what-if").hidden = edits.untouched(now) && !history.undoable && !history.redoable;
  const chips = byId("chips");
  const held = document.activeElement;
  const focused = [...chips.querySelectorAll("button")].indexOf(held);
  chips.replaceChildren(...listed(now, translation).map((one) => chip(one, change)));
  byId("undo").disabled = !history.undoable;
  byId("redo").disabled = !history.redoable;
  if (focused >= 0) ([...chips.querySelectorAll("button")].at(focused) ?? heir()).focus();
  else if (held === byId("undo") || held === byId("redo")) (held.disabled ? heir() : held).focus();
  drawBefore(about);
}

// Who gets the focus of what went away: a neighbour that can be pressed.
const heir = () => [byId("undo"), byId("redo")].find((one) => !one.disabled) ?? byId("text");

function listed(now, translation) {
  const words = now.changes.map((one) => ({
    told: (end) =>
      one.whole !== undefined ? say("wholeChip", one.whole) : say("changeChip", one.at + 1, named(one.from, end), named(one.to, end)),
    without: edits.drop(now, one),
  }));
  const pins = Object.entries(now.pins).map(([step, source]) => ({
    told: (end) =>
      say("pinChip", Number(step) + 1, named(translation.tokens[step], end), named(translation.source_tokens[source], end)),
    without: edits.unpin(now, step),
  }));
  return [...words, ...pins];
}

const named = (token, end) => isolated(token === null || token === undefined ? end : visible(token));

function chip({ told, without }, change) {
  const [text, spoken] = [told(END), told(say("end"))];
  const remove = button({ "aria-label": say("remove", spoken), class: "remove" }, () => change(without, "removed"), "×");
  // the button says it all where the text holds a sign
  const shown = element("span", { dir: "auto", "aria-hidden": text === spoken ? null : "true" }, text);
  return element("li", { class: "chip" }, shown, remove);
}

// The model's own output, with what is gone struck out.
function drawBefore({ now, own, lost }) {
  const before = byId("before");
  before.replaceChildren();
  if (edits.untouched(now) || !own) return;
  before.append(say("before"), " ");
  const row = element("span", { class: "own", dir: "auto" });
  for (const [t, token] of own.tokens.entries()) {
    row.append(element(lost.has(t) ? "del" : "span", { dir: "auto" }, visible(token)), " ");
  }
  before.append(row);
}
