// What-if edits (replaced tokens, pinned attention) and their undo history.
//
// The server decodes again after a forced prefix. A replaced token fixes all tokens before it as they are;
// those after it are the model's again. A change is { step, from, to, unknown }; `to: null` ends the output.
// A change with `output` forces a whole n-best output. In a prefix, null is the model's unknown token:
// what the page shows there was copied from the source, and is another token.

export const NO_EDITS = Object.freeze({ changes: [], prefix: [], pins: {}, end: null });

export const isEmpty = (edits) => !edits.changes.length && !Object.keys(edits.pins).length;

// The tokens of a translation, as the server takes them in a prefix.
const prefixTokens = ({ tokens, unknown }) => tokens.map((token, step) => (unknown?.[step] ? null : token));

export function replaceToken(edits, translation, step, to) {
  const earlierChange = edits.changes.find((change) => change.step === step && change.output === undefined);
  const from = earlierChange ? earlierChange.from : (translation.tokens[step] ?? null);
  const unknown = earlierChange ? earlierChange.unknown : Boolean(translation.unknown?.[step]);
  // the token that is spelled like the copy does not restore the copy
  if (earlierChange && to === from && !unknown) return removeChange(edits, earlierChange);
  const changesBefore = edits.changes.filter((change) => change.step < step && change.to !== null);
  const changes = [...changesBefore, { step, from, to, unknown }];
  const tokensBefore = prefixTokens(translation).slice(0, step);
  const prefix = to === null ? tokensBefore : [...tokensBefore, to];
  return { ...edits, changes, prefix, end: to === null ? step : null };
}

// Force one of the best outputs; the page goes on listing `outputs`, from which it comes.
export function forceOutput(edits, translation, outputs) {
  const changes = edits.changes.filter((change) => change.to !== null);
  const step = translation.tokens.length;
  changes.push({ step, from: null, to: null, output: translation.text, outputs });
  return { ...edits, changes, prefix: prefixTokens(translation), end: step };
}

export const forcedOutput = (edits) => edits.changes.find((change) => change.output !== undefined);

// Restore one token; later changes stay.
export function removeChange(edits, change) {
  const afterEnd = change.from === null;
  const changes = edits.changes.filter((one) => one !== change && !(afterEnd && one.step > change.step));
  const last = changes.at(-1);
  if (!last) return { ...edits, changes, prefix: [], end: null };
  const prefix = edits.prefix.slice(0, last.to === null ? last.step : last.step + 1);
  if (change.step < last.step) prefix[change.step] = change.unknown ? null : change.from;
  return { ...edits, changes, prefix, end: last.to === null ? last.step : null };
}

export const pin = (edits, step, source) => ({ ...edits, pins: { ...edits.pins, [step]: source } });

export function unpin(edits, step) {
  const { [step]: _, ...pins } = edits.pins;
  return { ...edits, pins };
}

// The fields of a request that apply these edits.
export function requestFields({ prefix, pins, end }) {
  return {
    ...(prefix.length && { prefix }),
    ...(Object.keys(pins).length && { pin: pins }),
    ...(end !== null && { max_length: end }),
  };
}

export class EditHistory {
  #states = [NO_EDITS];
  #index = 0;

  get current() {
    return this.#states[this.#index];
  }

  get canUndo() {
    return this.#index > 0;
  }

  get canRedo() {
    return this.#index < this.#states.length - 1;
  }

  record(edits) {
    this.#states = [...this.#states.slice(0, this.#index + 1), edits];
    this.#index += 1;
  }

  undo() {
    this.#index -= this.canUndo ? 1 : 0;
  }

  redo() {
    this.#index += this.canRedo ? 1 : 0;
  }

  // Remove the last edits, which the server refused: redo must not bring them back.
  discard() {
    this.undo();
    this.#states = this.#states.slice(0, this.#index + 1);
  }
}
