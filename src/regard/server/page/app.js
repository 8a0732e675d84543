// The page as a whole: what its controls do, and when it sends requests.

import { fetchModels } from "./api_client.js";
import { copy, showCopyStatus } from "./clipboard.js";
import { byId, fillSelect } from "./dom.js";
import { asJson, asTsv, download } from "./downloads.js";
import * as edits from "./edit_history.js";
import * as banner from "./error_banner.js";
import { drawExamples } from "./examples.js";
import { lacksFields as lacksHeads, prepareHeads } from "./heads_panel.js";
import * as heatmapPanel from "./heatmap_panel.js";
import { lineAt, splitLines } from "./line_list.js";
import { message, touchScreen } from "./messages.js";
import * as output from "./output_panel.js";
import { hasChanged, readAddress, writeAddress } from "./page_address.js";
import * as page from "./page_state.js";
import { currentLine, history, isCurrent, settingsKey, state } from "./page_state.js";
import { preparePreferences } from "./preferences.js";
import { drawCounter, prepareTextTools, replaceText } from "./text_tools.js";
import { openMenu } from "./token_menu.js";
import * as requests from "./translation_requests.js";

const TYPING_DELAY = 250; // milliseconds without a key before the page sends a request
const PROGRESS_DELAY_MS = 300; // milliseconds before the page shows that it waits
const BEAM_SIZES = [1, 2, 3, 4, 5, 8, 10];

let pendingRequest = null;
let typingTimer = 0;
let composing = false;

const textField = byId("text");

// Translate the current line, and the other lines that are not cached; abort the previous request.
// `refusal` is the error of an edit that was just reverted, `notice` a sentence about the address; either
// is shown together with the response.
async function refresh(refusal = null, notice = "") {
  clearTimeout(typingTimer);
  pendingRequest?.abort();
  if (!state.model) return start();
  output.drawLineList();
  drawCounter(state.lines, state.lineIndex, state.limits.characters);
  saveAddress();
  if (!currentLine().trim()) return clear(notice);
  pendingRequest = new AbortController();
  const { signal } = pendingRequest;
  const progressTimer = setTimeout(() => output.showProgress(true), PROGRESS_DELAY_MS);
  try {
    const translateOthers = () => requests.translateOtherLines(signal, output.drawLineList).catch((error) => error);
    const otherLines = translateOthers();
    const [received, uneditedTranslation] = await Promise.all([
      requests.translateCurrentLine(signal),
      requests.translateUnedited(signal),
    ]);
    if (signal.aborted) return;
    const isReloaded = received.version !== (state.model.version ?? undefined);
    if (isReloaded) await updateModels();
    const uneditedKey = `${settingsKey()}\n${currentLine()}`;
    Object.assign(state, received.output, {
      uneditedTranslation: uneditedTranslation ?? received.output.translation,
      uneditedKey,
    });
    if (refusal) banner.showError(refusal, true);
    else banner.showNotice(notice);
    output.draw();
    // tests wait for this counter
    byId("output").dataset.responses = Number(byId("output").dataset.responses ?? 0) + 1;
    output.announce(message("translated", state.translation.text || message("emptyOutput")));
    // a reloaded model translates the other lines again
    const error = (await otherLines) ?? (isReloaded ? await translateOthers() : null);
    if (error) throw error;
  } catch (error) {
    if (!signal.aborted && error.name !== "AbortError") handleError(error);
  } finally {
    clearTimeout(progressTimer);
    if (!signal.aborted) output.showProgress(false);
  }
}

function handleError(error) {
  if (error.status === undefined) throw error;
  if (error.causedByEdit) return revertEdit(error);
  if (!isCurrent()) output.keepLastResult();
  banner.showError(error);
}

// Undo an edit that the server refused; translate the state before it unless that is still displayed.
function revertEdit(error) {
  history().discard();
  saveAddress();
  if (!isCurrent() || state.edits !== history().current) return refresh(error);
  output.draw();
  banner.showError(error, true);
}

function clear(notice = "") {
  output.clear();
  output.showProgress(false);
  banner.showNotice(notice);
}

// The address

function saveAddress() {
  const { model, beamSize, lines, lineIndex } = state;
  return writeAddress({ model: model.name, beamSize, text: lines.join("\n"), lineIndex, edits: history().current });
}

// Apply the address; return a sentence about what it names and this server does not have.
function applyAddress() {
  const address = readAddress();
  const isServed = state.models.some(({ name }) => name === address.model);
  selectModel(address.model);
  const beamSizes = [...byId("beam-size").options].map(({ value }) => Number(value));
  if (beamSizes.includes(address.beamSize)) setBeamSize(address.beamSize);
  textField.value = address.text;
  state.lines = splitLines(address.text);
  state.lineIndex = Math.min(address.lineIndex, state.lines.length - 1);
  if (address.model && !isServed) return message("notServed", address.model);
  if (address.edits === null) return message("wrongEdits");
  if (!edits.isEmpty(address.edits)) history().record(address.edits);
  return "";
}

// The text, its lines and the edits

function selectLine(index) {
  page.cacheCurrentLine();
  state.lineIndex = index;
  refresh();
}

function changeEdits(newEdits, announcement) {
  if (!isCurrent()) return;
  history().record(newEdits);
  if (announcement) output.announce(message(announcement));
  refresh();
}

function togglePin(target, source) {
  const { current } = history();
  changeEdits(current.pins[target] === source ? edits.unpin(current, target) : edits.pin(current, target, source));
}

function openTokenMenu(step, node) {
  if (!isCurrent()) return;
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
      weights: model.attention ? heatmapPanel.selectedAttention(translation)?.[step] : null,
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
  page.cacheCurrentLine();
  state.lines = splitLines(textField.value);
  state.lineIndex = lineAt(textField.value, textField.selectionStart);
  if (state.limits) drawCounter(state.lines, state.lineIndex, state.limits.characters);
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

// The model and its settings

function selectModel(name) {
  state.model = state.models.find((one) => one.name === name) ?? state.models[0];
  byId("model").value = state.model.name;
  heatmapPanel.resetSelection();
  const ownBeamSize = state.model.search.beam_size;
  // the server accepts a model's own beam size even if it exceeds the limit
  const maxBeamSize = Math.max(state.limits.beam_size, ownBeamSize);
  const beamSizes = [...new Set([...BEAM_SIZES, ownBeamSize])].filter((size) => size <= maxBeamSize);
  const options = beamSizes.sort((a, b) => a - b).map((size) => [String(size), String(size)]);
  fillSelect(byId("beam-size"), options, "");
  setBeamSize(ownBeamSize > 1 ? ownBeamSize : Math.min(page.DEFAULT_BEAM_SIZE, maxBeamSize));
  redrawTexts();
}

function setBeamSize(size) {
  state.beamSize = size;
  byId("beam-size").value = String(size);
}

// Describe the models anew, after the server has reloaded one.
async function updateModels() {
  const { models } = await fetchModels();
  state.models = models;
  state.model = models.find(({ name }) => name === state.model.name) ?? state.model;
  redrawTexts();
}

// Redraw all texts that scripts draw, after a change of language or model.
function redrawTexts() {
  banner.redrawError();
  if (!state.model) return;
  const { name, version } = state.model;
  const parts = [name, ...(version ? [message("version", version)] : []), message("facts", state.model)];
  byId("model-facts").textContent = parts.join(" · ");
  drawExamples(state.model, replaceText);
  drawCounter(state.lines, state.lineIndex, state.limits.characters);
  heatmapPanel.prepareControls(state.model, redrawOrRefresh);
  output.draw();
}

// Draw another view, after a request if the response lacks its weights.
function redrawOrRefresh() {
  const { translation, model } = state;
  const lacking = !translation || heatmapPanel.lacksFields(translation, model) || lacksHeads(translation, model);
  if (lacking && currentLine().trim()) refresh();
  else output.draw();
}

// Copies and downloads

function copyAs(format) {
  if (!state.translation) return;
  const { request, translation } = state;
  if (format === "Link" && !saveAddress()) return showCopyStatus(message("linkTooLong"));
  const formatters = {
    Text: () => splitLines(textField.value.trimEnd()).map((line) => page.displayedTranslation(line)?.text ?? "").join("\n"),
    Svg: () => heatmapPanel.visibleHeatmapsAsSvg(),
    Json: () => JSON.stringify({ request, model: state.model.name, translation }, null, 1),
    Link: () => location.href,
  };
  copy(formatters[format](), `copied${format}`);
}

function downloadAs(format) {
  const missing = requests.missingLines().length;
  if (missing) return showCopyStatus(message("stillTranslating", missing));
  const rows = [...state.lines.entries()].map(([index, source]) => {
    const translation = page.displayedTranslation(source);
    return { line: index + 1, source, translation, error: translation ? undefined : page.refusalOf(source) };
  });
  while (rows.length && !rows.at(-1).source.trim()) rows.pop();
  const settings = { model: state.model.name, beam_size: state.beamSize };
  if (format === "tsv") download(asTsv(rows), `${state.model.name}.tsv`, "text/tab-separated-values");
  else download(asJson(rows, settings), `${state.model.name}.json`, "application/json");
}

async function start() {
  try {
    const { models, limits } = await fetchModels();
    Object.assign(state, { models, limits });
  } catch (error) {
    return handleError(error);
  }
  const typed = textField.value;
  const names = state.models.map(({ name }) => [name, name]);
  byId("model-field").hidden = names.length < 2;
  fillSelect(byId("model"), names, names[0][0]);
  const notice = applyAddress();
  if (!typed) return refresh(null, notice);
  // text that was typed before the server answered is newer than the address
  textField.value = typed;
  banner.showNotice(notice);
  onInput();
}

function addListeners() {
  textField.addEventListener("input", onInput);
  textField.addEventListener("compositionstart", () => setComposing(true));
  textField.addEventListener("compositionend", () => setComposing(false));
  document.addEventListener("selectionchange", onSelectionChange);
  prepareTextTools((text) => banner.showNotice(text));
  byId("model").addEventListener("change", (event) => {
    output.clear();
    selectModel(event.target.value);
    refresh();
  });
  byId("beam-size").addEventListener("change", (event) => {
    setBeamSize(Number(event.target.value));
    refresh();
  });
  byId("undo").addEventListener("click", undo);
  byId("redo").addEventListener("click", redo);
  byId("retry").addEventListener("click", () => refresh());
  for (const format of ["Text", "Svg", "Json", "Link"]) {
    byId(`copy-${format.toLowerCase()}`).addEventListener("click", () => copyAs(format));
  }
  for (const format of ["tsv", "json"]) {
    byId(`download-${format}`).addEventListener("click", () => downloadAs(format));
  }
  prepareHeads(() => {
    output.draw();
    if (state.model && state.translation && lacksHeads(state.translation, state.model)) refresh();
  });
  touchScreen.addEventListener("change", redrawTexts);
  window.addEventListener("online", () => banner.hasError() && refresh());
  window.addEventListener("hashchange", () => {
    if (state.model && hasChanged()) refresh(null, applyAddress());
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.target === textField) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) redo();
    else undo();
  });
}

output.prepareOutput({ changeEdits, togglePin, openTokenMenu, selectLine });
preparePreferences(redrawTexts);
addListeners();
start();
