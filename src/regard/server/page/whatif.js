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
  const focused = [...chips.querySelectorAll("button")].indexOf(document.activeElement);
  chips.replaceChildren(...listed(now, translation).map((one) => chip(one, change)));
  byId("undo").disabled = !history.undoable;
  byId("redo").disabled = !history.redoable;
  if (focused >= 0) ([...chips.querySelectorAll("button")].at(focused) ?? enabled()).focus();
  drawBefore(about);
}

const enabled = () => (byId("undo").disabled ? byId("redo") : byId("undo"));

function listed(now, translation) {
  const words = now.changes.map((one) => ({
    text: one.whole !== undefined ? say("wholeChip", one.whole) : say("changeChip", one.at + 1, named(one.from), named(one.to)),
    without: edits.drop(now, one),
  }));
  const pins = Object.entries(now.pins).map(([step, source]) => ({
    text: say("pinChip", Number(step) + 1, named(translation.tokens[step]), named(translation.source_tokens[source])),
    without: edits.unpin(now, step),
  }));
  return [...words, ...pins];
}

const named = (token) => isolated(token === null || token === undefined ? END : visible(token));

function chip({ text, without }, change) {
  const remove = button({ "aria-label": say("remove", text), class: "remove" }, () => change(without, "removed"), "×");
  return element("li", { class: "chip" }, element("span", { dir: "auto" }, text), remove);
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
