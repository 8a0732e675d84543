// The page's requests: the current line with everything that is drawn, and the other lines as text.

import { translate } from "./api_client.js";
import * as edits from "./edit_history.js";
import * as banner from "./error_banner.js";
import * as heads from "./heads_panel.js";
import * as heatmapPanel from "./heatmap_panel.js";
import { translateLines } from "./line_list.js";
import { message } from "./messages.js";
import { currentLine, displayedTranslation, history, refusalOf, refusedLines, settingsKey, state, translatedLines } from "./page_state.js";

const CANDIDATES = 8;
const NBEST = 5;

const requestOptions = (signal) => ({ signal, onWait: (seconds) => banner.showNotice(message("busy", seconds)) });

function requestBody(text, currentEdits) {
  return {
    model: state.model.name,
    text,
    attention: true,
    ...(heatmapPanel.needsLayers(state.model) && { layers: true }),
    ...heads.requestFields(state.model),
    influence: heatmapPanel.needsInfluence(state.model),
    candidates: CANDIDATES,
    tree: true,
    beam_size: state.beamSize,
    nbest: Math.min(NBEST, state.beamSize),
    ...edits.requestFields(currentEdits),
  };
}

export async function translateCurrentLine(signal) {
  const { current } = history();
  const request = requestBody(currentLine(), current);
  try {
    const { translations, version } = await translate(request, requestOptions(signal));
    return { output: { request, translation: translations[0], edits: current }, version };
  } catch (error) {
    // only this request's refusal may revert an edit
    error.causedByEdit = error.status === 422 && !edits.isEmpty(current);
    throw error;
  }
}

// The model's own translation, for comparison; null if there are no edits.
export async function translateUnedited(signal) {
  if (edits.isEmpty(history().current)) return null;
  const isKnown = state.uneditedTranslation && state.uneditedKey === `${settingsKey()}\n${currentLine()}`;
  if (isKnown) return state.uneditedTranslation;
  const request = { model: state.model.name, text: currentLine(), beam_size: state.beamSize };
  const { translations } = await translate(request, requestOptions(signal));
  return translations[0];
}

// Lines without a translation or a refusal. `displayedTranslation` also knows the current line's.
export function missingLines() {
  const missing = state.lines.filter(
    (line) => line.trim() && displayedTranslation(line) === undefined && refusalOf(line) === undefined,
  );
  return [...new Set(missing)];
}

// The other lines need only their text and scores; a request holds as many as the server allows.
export async function translateOtherLines(signal, onChange) {
  const key = settingsKey();
  const missing = missingLines().filter((line) => line !== currentLine());
  await translateLines(missing, state.limits.lines, {
    translate: async (lines) => {
      const request = { model: state.model.name, text: lines, beam_size: state.beamSize };
      const { translations } = await translate(request, requestOptions(signal));
      for (const [index, one] of translations.entries()) translatedLines.set(key, lines[index], one);
      onChange();
    },
    isInputError: banner.isInputError,
    refuse: (line, error) => {
      refusedLines.set(key, line, error.message || message("refused", "", error.status));
      onChange();
    },
  });
}
