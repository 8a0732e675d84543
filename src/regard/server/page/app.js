// The page as a whole: its state, its requests, and what is drawn from the responses.

import { drawBeamTree, listBeamTree } from "./beam_tree.js";
import { fetchModels, translate } from "./api_client.js";
import { clearCopyStatus, copy } from "./clipboard.js";
import { byId, element, fillSelect } from "./dom.js";
import { drawEdits } from "./edit_chips.js";
import * as edits from "./edit_history.js";
import * as banner from "./error_banner.js";
import * as heatmaps from "./heatmap_panel.js";
import { LineCache, drawLines, lineAt, splitLines, translateLines } from "./line_list.js";
import { message } from "./messages.js";
import { drawNbest } from "./nbest_list.js";
import { formatLogProbability, formatProbability } from "./number_format.js";
import { preparePreferences } from "./preferences.js";
import { tokenDiff } from "./token_diff.js";
import { openMenu } from "./token_menu.js";
import { drawTokenRows } from "./token_rows.js";

const TYPING_DELAY = 250; // milliseconds without a key before the page sends a request
const PROGRESS_DELAY = 300; // milliseconds before the page shows that it waits
const CANDIDATES = 8;
const NBEST = 5;
const BEAM_SIZES = [1, 2, 3, 4, 5, 8, 10];
const DEFAULT_BEAM_SIZE = 5; // for a model whose own is 1, which has no alternatives to compare

const state = {
  models: [],
  limits: null,
  model: null,
  beamSize: DEFAULT_BEAM_SIZE,
  lines: [""],
  lineIndex: 0,
  ...emptyOutput(),
  uneditedKey: "",
};
const histories = new Map();
const translatedLines = new LineCache();
const refusedLines = new LineCache();
let pendingRequest = null;
let typingTimer = 0;
let composing = false;

const textField = byId("text");
const currentLine = () => state.lines[state.lineIndex] ?? "";
// whether the output belongs to the current line
const isCurrent = () => state.translation?.source === currentLine();
const settingsKey = () => `${state.model.name}\n${state.beamSize}`;

// `edits` are those of the displayed translation; the history may hold newer ones.
function emptyOutput() {
  return { translation: null, edits: edits.NO_EDITS, unedited: null, request: null };
}

// Each line has its own edits for each model, which persist while another line or model is shown.
function history() {
  const key = `${state.model.name}\n${currentLine()}`;
  if (!histories.has(key)) histories.set(key, new edits.EditHistory());
  return histories.get(key);
}

function requestBody(text, currentEdits) {
  return {
    model: state.model.name,
    text,
    attention: true,
    ...(heatmaps.needsLayers(state.model) && { layers: true }),
    influence: heatmaps.needsInfluence(state.model),
    candidates: CANDIDATES,
    tree: true,
    beam_size: state.beamSize,
    nbest: Math.min(NBEST, state.beamSize),
    ...edits.requestFields(currentEdits),
  };
}

// Translate the current line, and the other lines that are not cached; abort the previous request.
// `refusal` is the error of an edit that was just reverted; it is shown together with the response.
async function refresh(refusal = null) {
  clearTimeout(typingTimer);
  pendingRequest?.abort();
  if (!state.model) return start();
  drawLineList();
  if (!currentLine().trim()) return clear();
  pendingRequest = new AbortController();
  const { signal } = pendingRequest;
  const progressTimer = setTimeout(() => showProgress(true), PROGRESS_DELAY);
  try {
    const otherLines = translateOtherLines(signal).catch((error) => error);
    const [output, unedited] = await Promise.all([translateCurrentLine(signal), translateUnedited(signal)]);
    if (signal.aborted) return;
    const uneditedKey = `${settingsKey()}\n${currentLine()}`;
    Object.assign(state, output, { unedited: unedited ?? output.translation, uneditedKey });
    if (refusal) banner.showError(refusal, true);
    else banner.showNotice("");
    draw();
    // tests wait for this counter
    byId("output").dataset.responses = Number(byId("output").dataset.responses ?? 0) + 1;
    announce(message("translated", state.translation.text || message("emptyOutput")));
    const error = await otherLines;
    if (error) throw error;
  } catch (error) {
    if (!signal.aborted && error.name !== "AbortError") handleError(error);
  } finally {
    clearTimeout(progressTimer);
    if (!signal.aborted) showProgress(false);
  }
}

const requestOptions = (signal) => ({ signal, onWait: (seconds) => banner.showNotice(message("busy", seconds)) });

async function translateCurrentLine(signal) {
  const { current } = history();
  const request = requestBody(currentLine(), current);
  try {
    const { translations } = await translate(request, requestOptions(signal));
    return { request, translation: translations[0], edits: current };
  } catch (error) {
    // only this request's refusal may revert an edit
    error.causedByEdit = error.status === 422 && !edits.isEmpty(current);
    throw error;
  }
}

// The model's own translation, for comparison; null if there are no edits.
async function translateUnedited(signal) {
  if (edits.isEmpty(history().current)) return null;
  if (state.unedited && state.uneditedKey === `${settingsKey()}\n${currentLine()}`) return state.unedited;
  const request = { model: state.model.name, text: currentLine(), beam_size: state.beamSize };
  const { translations } = await translate(request, requestOptions(signal));
  return translations[0];
}

// The other lines need only their text; a request holds as many as the server allows.
async function translateOtherLines(signal) {
  const key = settingsKey();
  const cached = (line) => translatedLines.get(key, line) ?? refusedLines.get(key, line);
  const missing = state.lines.filter(
    (line, index) => line.trim() && index !== state.lineIndex && cached(line) === undefined,
  );
  await translateLines([...new Set(missing)], state.limits.lines, {
    translate: async (lines) => {
      const request = { model: state.model.name, text: lines, beam_size: state.beamSize };
      const { translations } = await translate(request, requestOptions(signal));
      for (const [index, one] of translations.entries()) translatedLines.set(key, lines[index], one.text);
      drawLineList();
    },
    isInputError: banner.isInputError,
    refuse: (line, error) => {
      refusedLines.set(key, line, error.message || message("refused", "", error.status));
      drawLineList();
    },
  });
}

function showProgress(visible) {
  byId("progress").hidden = !visible;
  byId("output").setAttribute("aria-busy", String(visible));
}

const announce = (text) => (byId("announcer").textContent = text);

function handleError(error) {
  if (error.status === undefined) throw error;
  if (error.causedByEdit) return revertEdit(error);
  // do not show the translation of another text next to the error
  if (!isCurrent()) clear();
  banner.showError(error);
}

// Undo an edit that the server refused; translate the state before it unless that is still displayed.
function revertEdit(error) {
  history().discard();
  if (!isCurrent() || state.edits !== history().current) return refresh(error);
  draw();
  banner.showError(error, true);
}

function clear() {
  Object.assign(state, emptyOutput());
  showProgress(false);
  banner.showNotice("");
  byId("details").hidden = true;
  byId("empty").hidden = false;
}

// What the token rows, the heatmaps and the edits have in common.
function outputData() {
  const { removed, added } = tokenDiff(state.unedited.tokens, state.translation.tokens);
  const changed = edits.isEmpty(state.edits) ? new Set() : added;
  return { translation: state.translation, changed, removed, open: openTokenMenu };
}

function drawHeatmaps() {
  if (isCurrent()) heatmaps.drawPanel({ ...outputData(), model: state.model, pins: state.edits.pins, pin: togglePin });
}

function draw() {
  const { translation, unedited } = state;
  if (!translation || !isCurrent()) return;
  byId("empty").hidden = true;
  byId("details").hidden = false;
  byId("translation").textContent = translation.text || message("emptyOutput");
  byId("score").textContent = scoreText(translation, unedited, state.edits);
  byId("notes").replaceChildren(...(translation.notes ?? []).map((note) => element("li", { lang: "en" }, note)));
  drawEdits({ history: history(), current: state.edits, unedited, change: changeEdits, ...outputData() });
  drawTokenRows(byId("tokens"), { ...outputData(), point: (place) => heatmaps.pointAt(place) });
  drawHeatmaps();
  drawNbestOutputs();
  drawSearchTree();
  drawLineList();
  clearCopyStatus();
}

function scoreText(translation, unedited, currentEdits) {
  const score = (one) => formatLogProbability(one.score, 3);
  const text = message("score", score(translation), formatProbability(Math.exp(translation.score)));
  return edits.isEmpty(currentEdits) ? text : `${text} · ${message("scoreBefore", score(unedited))}`;
}

function drawNbestOutputs() {
  const { translation, edits: current } = state;
  const forced = edits.forcedOutput(current);
  const outputs = forced?.outputs ?? (translation.alternatives?.length ? translation.alternatives : [translation]);
  const select = (index) => {
    const unforced = forced ? edits.removeChange(current, forced) : current;
    changeEdits(index === 0 ? unforced : edits.forceOutput(unforced, outputs[index], outputs));
  };
  byId("ranking").textContent = message("ranking", state.model.search.length_penalty);
  drawNbest({ translation, outputs, select });
}

function drawSearchTree() {
  const { translation } = state;
  if (byId("search-details").open && translation) {
    byId("tree").replaceChildren(listBeamTree(translation), drawBeamTree(translation));
  }
}

function drawLineList() {
  const textOf = (line) =>
    isCurrent() && line === currentLine() ? state.translation.text : translatedLines.get(settingsKey(), line);
  const refusalOf = (line) => refusedLines.get(settingsKey(), line);
  drawLines({ lines: state.lines, current: state.lineIndex, textOf, refusalOf, select: selectLine });
}

// The list shows the model's own translation of a line that is no longer current.
function cacheCurrentLine() {
  if (isCurrent()) translatedLines.set(settingsKey(), currentLine(), state.unedited.text);
}

function selectLine(index) {
  cacheCurrentLine();
  state.lineIndex = index;
  refresh();
}

function changeEdits(newEdits, announcement) {
  if (!isCurrent()) return;
  history().record(newEdits);
  if (announcement) announce(message(announcement));
  refresh();
}

function togglePin(target, source) {
  const { current } = history();
  changeEdits(current.pins[target] === source ? edits.unpin(current, target) : edits.pin(current, target, source));
}

function openTokenMenu(step, node) {
  const { translation, model } = state;
  const { current } = history();
  openMenu(
    {
      token: translation.tokens[step] ?? null,
      copied: Boolean(translation.unknown?.[step]),
      score: translation.token_scores[step],
      candidates: translation.candidates?.[step] ?? [],
      // the server accepts no max_length of 0, and a model with same_length accepts none at all
      canEnd: step > 0 && !model.search.same_length,
      source: translation.source_tokens,
      weights: model.attention ? heatmaps.selectedAttention(translation)?.[step] : null,
      pinned: current.pins[step] ?? null,
      replace: (token) => changeEdits(edits.replaceToken(current, translation, step, token)),
      pin: (source) => changeEdits(source === null ? edits.unpin(current, step) : edits.pin(current, step, source)),
    },
    node,
  );
}

function undo() {
  if (!state.model || !history().canUndo) return;
  history().undo();
  refresh();
}

function redo() {
  if (!state.model || !history().canRedo) return;
  history().redo();
  refresh();
}

function onInput() {
  clearTimeout(typingTimer);
  // text that an input method still composes is not final
  if (composing) return;
  cacheCurrentLine();
  state.lines = splitLines(textField.value);
  state.lineIndex = lineAt(textField.value, textField.selectionStart);
  typingTimer = setTimeout(() => refresh(), TYPING_DELAY);
}

function setComposing(active) {
  composing = active;
  onInput();
}

// Show the line of the caret. While an input event is pending, `state.lines` is out of date.
function onSelectionChange() {
  const { value: text, selectionStart: caret, selectionEnd } = textField;
  if (document.activeElement !== textField || caret !== selectionEnd || text !== state.lines.join("\n")) return;
  if (lineAt(text, caret) !== state.lineIndex) onInput();
}

function selectModel(name) {
  state.model = state.models.find((one) => one.name === name) ?? state.models[0];
  heatmaps.resetSelection();
  const ownBeamSize = state.model.search.beam_size;
  // the server accepts a model's own beam size even if it exceeds the limit
  const maxBeamSize = Math.max(state.limits.beam_size, ownBeamSize);
  state.beamSize = ownBeamSize > 1 ? ownBeamSize : Math.min(DEFAULT_BEAM_SIZE, maxBeamSize);
  const beamSizes = [...new Set([...BEAM_SIZES, ownBeamSize])].filter((size) => size <= maxBeamSize);
  const options = beamSizes.sort((a, b) => a - b).map((size) => [String(size), String(size)]);
  fillSelect(byId("beam-size"), options, String(state.beamSize));
  redrawTexts();
}

// Redraw all texts that scripts draw, after a change of language or model.
function redrawTexts() {
  banner.redrawError();
  if (!state.model) return;
  byId("model-facts").textContent = `${state.model.name} · ${message("facts", state.model)}`;
  heatmaps.prepareControls(state.model, () =>
    heatmaps.lacksFields(state.translation, state.model) ? refresh() : draw(),
  );
  draw();
}

function copyAs(format) {
  if (!state.translation) return;
  const { request, translation } = state;
  const textOf = (line) =>
    line === translation.source ? translation.text : (translatedLines.get(settingsKey(), line) ?? "");
  const formatters = {
    Text: () => splitLines(textField.value.trimEnd()).map(textOf).join("\n"),
    Svg: () => heatmaps.visibleHeatmapsAsSvg(),
    Json: () => JSON.stringify({ request, model: state.model.name, translation }, null, 1),
  };
  copy(formatters[format](), `copied${format}`);
}

async function start() {
  try {
    const { models, limits } = await fetchModels();
    Object.assign(state, { models, limits });
  } catch (error) {
    return handleError(error);
  }
  banner.showNotice("");
  const names = state.models.map(({ name }) => [name, name]);
  byId("model-field").hidden = names.length < 2;
  fillSelect(byId("model"), names, names[0][0]);
  selectModel(names[0][0]);
  if (textField.value) onInput();
}

function addListeners() {
  textField.addEventListener("input", onInput);
  textField.addEventListener("compositionstart", () => setComposing(true));
  textField.addEventListener("compositionend", () => setComposing(false));
  document.addEventListener("selectionchange", onSelectionChange);
  byId("model").addEventListener("change", (event) => {
    clear();
    selectModel(event.target.value);
    refresh();
  });
  byId("beam-size").addEventListener("change", (event) => {
    state.beamSize = Number(event.target.value);
    refresh();
  });
  byId("undo").addEventListener("click", undo);
  byId("redo").addEventListener("click", redo);
  byId("retry").addEventListener("click", () => refresh());
  byId("search-details").addEventListener("toggle", drawSearchTree);
  for (const format of ["Text", "Svg", "Json"]) {
    byId(`copy-${format.toLowerCase()}`).addEventListener("click", () => copyAs(format));
  }
  window.addEventListener("online", () => banner.hasError() && refresh());
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.target === textField) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) redo();
    else undo();
  });
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (Math.abs(contentRect.width - width) < 8) return;
    width = contentRect.width;
    drawHeatmaps();
  }).observe(byId("output"));
}

preparePreferences(redrawTexts);
addListeners();
start();
