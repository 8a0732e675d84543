// The state of the page in its address, so that it can be shared and reloaded.
//
// It stands after the #, which browsers do not send: neither the server nor a proxy logs the text. Whatever
// stands there comes from a stranger: it is checked here, and inserted as text only.

import { NO_EDITS, isEmpty } from "./edit_history.js";

// longer addresses are cut by mail programs and chats
const MAX_LENGTH = 8000;
const MAX_STEPS = 10_000;

let written = "";

export const hasChanged = () => location.hash !== written;

// Return whether the address holds everything; if it is too long, it holds the settings only.
export function writeAddress(parts) {
  const whole = encode(parts);
  const fits = whole.length <= MAX_LENGTH;
  written = fits ? whole : encode({ ...parts, text: "", lineIndex: 0, edits: NO_EDITS });
  try {
    window.history.replaceState(null, "", written || location.pathname + location.search);
  } catch {
    // Safari limits how often a page may do so; the next change tries again
  }
  return fits;
}

function encode({ model, beamSize, text, lineIndex, edits }) {
  const fields = new URLSearchParams();
  if (model) fields.set("model", model);
  if (beamSize) fields.set("beam", beamSize);
  if (text) fields.set("text", text);
  if (lineIndex) fields.set("line", lineIndex + 1);
  if (!isEmpty(edits)) fields.set("edits", JSON.stringify(withoutOutputs(edits)));
  const encoded = fields.toString();
  return encoded && `#${encoded}`;
}

// The other n-best outputs, from which one was selected, come from the server again.
const withoutOutputs = (edits) => ({ ...edits, changes: edits.changes.map(({ outputs: _, ...change }) => change) });

// The parts that the address gives; `edits` is null if they are malformed.
export function readAddress() {
  written = location.hash;
  const fields = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (/^[0-9]{1,6}$/.test(fields.get(name) ?? "") ? Number(fields.get(name)) : null);
  return {
    model: fields.get("model"),
    beamSize: number("beam"),
    text: fields.get("text") ?? "",
    lineIndex: Math.max(0, (number("line") ?? 1) - 1),
    edits: fields.has("edits") ? readEdits(fields.get("edits")) : NO_EDITS,
  };
}

const isStep = (number) => Number.isInteger(number) && 0 <= number && number < MAX_STEPS;
const isToken = (token) => token === null || typeof token === "string";
const isList = (list, accepts) => Array.isArray(list) && list.length < MAX_STEPS && list.every(accepts);
const isChange = (change) =>
  change !== null &&
  typeof change === "object" &&
  isStep(change.step) &&
  isToken(change.from) &&
  isToken(change.to) &&
  [undefined, true, false].includes(change.unknown) &&
  ["undefined", "string"].includes(typeof change.output);

function readEdits(json) {
  try {
    const { changes, prefix, pins, end } = JSON.parse(json);
    const pairs = Object.entries(pins).map(([step, source]) => [Number(step), source]);
    const valid = isList(changes, isChange) && isList(prefix, isToken) && isList(pairs.flat(), isStep);
    if (!valid || !(end === null || isStep(end))) return null;
    return { changes, prefix, pins: Object.fromEntries(pairs), end };
  } catch {
    return null;
  }
}
