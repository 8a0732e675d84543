// What the page shows: the model, the lines, their edits and the translations received so far.

import * as edits from "./edit_history.js";
import { LineCache } from "./line_list.js";

export const DEFAULT_BEAM_SIZE = 5; // for a model whose own is 1, which has no alternatives to compare

export const state = {
  models: [],
  limits: null,
  model: null,
  beamSize: DEFAULT_BEAM_SIZE,
  lines: [""],
  lineIndex: 0,
  ...initialOutput(),
  uneditedKey: "",
};

const histories = new Map();
export const translatedLines = new LineCache();
export const refusedLines = new LineCache();

export const currentLine = () => state.lines[state.lineIndex] ?? "";
// whether the output belongs to the current line
export const isCurrent = () => state.translation?.source === currentLine();
export const settingsKey = () => `${state.model.name}\n${state.model.version}\n${state.beamSize}`;

// `edits` are those of the displayed translation; the history may hold newer ones.
export function initialOutput() {
  return { translation: null, edits: edits.NO_EDITS, uneditedTranslation: null, request: null };
}

// Each line has its own edits for each model, which persist while another line or model is shown.
export function history() {
  const key = `${state.model.name}\n${currentLine()}`;
  if (!histories.has(key)) histories.set(key, new edits.EditHistory());
  return histories.get(key);
}

// The list shows the model's own translation of a line that is no longer current.
export function cacheCurrentLine() {
  if (isCurrent()) translatedLines.set(settingsKey(), currentLine(), state.uneditedTranslation);
}

// The translation of a line as the page displays it, edits included; undefined if there is none yet.
export function displayedTranslation(line) {
  if (isCurrent() && line === currentLine()) return state.translation;
  return translatedLines.get(settingsKey(), line);
}

export const refusalOf = (line) => refusedLines.get(settingsKey(), line);
