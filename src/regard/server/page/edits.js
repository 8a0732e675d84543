// What if: words taken and looks pinned by hand, and every state of them that there ever was.
//
// The server decodes anew after a prefix. A change at one position fixes all words before it as they
// stood; those after it are the model's again. `to: null` is an end, `whole` a complete output. In a
// prefix, null is the model's unknown symbol: what is printed there was copied, and is another word.

export const NONE = Object.freeze({ changes: [], prefix: [], pins: {}, end: null });

export const untouched = (edits) => !edits.changes.length && !Object.keys(edits.pins).length;

// What the server takes for an answer's tokens.
const symbols = ({ tokens, unknown }) => tokens.map((token, at) => (unknown?.[at] ? null : token));

export function take(edits, answer, at, to) {
  const already = edits.changes.find((change) => change.at === at && change.whole === undefined);
  const from = already ? already.from : (answer.tokens[at] ?? null);
  const unknown = already ? already.unknown : Boolean(answer.unknown?.[at]);
  // a word that is spelled as a copy is not what stood there
  if (already && to === from && !unknown) return drop(edits, already);
  const earlier = edits.changes.filter((change) => change.at < at && change.to !== null);
  const changes = [...earlier, { at, from, to, unknown }];
  const begun = symbols(answer).slice(0, at);
  return { ...edits, changes, prefix: to === null ? begun : [...begun, to], end: to === null ? at : null };
}

// One of the best outputs as it is; `among` are those it was chosen from, which stay in view.
export function whole(edits, answer, among) {
  const changes = edits.changes.filter((change) => change.to !== null);
  const at = answer.tokens.length;
  changes.push({ at, from: null, to: null, whole: answer.text, among });
  return { ...edits, changes, prefix: symbols(answer), end: at };
}

export const wholeOf = (edits) => edits.changes.find((change) => change.whole !== undefined);

// Put one word back; what was changed after it stays as it was taken.
export function drop(edits, change) {
  const stranded = change.from === null;
  const changes = edits.changes.filter((one) => one !== change && !(stranded && one.at > change.at));
  const last = changes.at(-1);
  if (!last) return { ...edits, changes, prefix: [], end: null };
  const prefix = edits.prefix.slice(0, last.to === null ? last.at : last.at + 1);
  if (change.at < last.at) prefix[change.at] = change.unknown ? null : change.from;
  return { ...edits, changes, prefix, end: last.to === null ? last.at : null };
}

export const pin = (edits, step, source) => ({ ...edits, pins: { ...edits.pins, [step]: source } });

export function unpin(edits, step) {
  const { [step]: _, ...pins } = edits.pins;
  return { ...edits, pins };
}

// The fields of a request that these edits make.
export function asked({ prefix, pins, end }) {
  return {
    ...(prefix.length && { prefix }),
    ...(Object.keys(pins).length && { pin: pins }),
    ...(end !== null && { max_length: end }),
  };
}

export class History {
  #states = [NONE];
  #at = 0;

  get now() {
    return this.#states[this.#at];
  }

  get undoable() {
    return this.#at > 0;
  }

  get redoable() {
    return this.#at < this.#states.length - 1;
  }

  record(edits) {
    this.#states = [...this.#states.slice(0, this.#at + 1), edits];
    this.#at += 1;
  }

  undo() {
    this.#at -= this.undoable ? 1 : 0;
  }

  redo() {
    this.#at += this.redoable ? 1 : 0;
  }

  // Take the last edit back as if it had never been: the server refused it.
  forget() {
    this.undo();
    this.#states = this.#states.slice(0, this.#at + 1);
  }
}
