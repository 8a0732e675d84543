// The page as a whole: what is asked, what came back, and who draws it.

import { models as fetchModels, translate } from "./api.js";
import { chance, logarithm } from "./colors.js";
import { copy, forgetCopy } from "./copy.js";
import { difference } from "./difference.js";
import { byId, element, fill } from "./dom.js";
import * as edits from "./edits.js";
import * as heat from "./heat.js";
import { Known, askAll, drawLines, drawNbest, lineAt, split } from "./lines.js";
import * as menu from "./menu.js";
import { prepareSwitches } from "./switches.js";
import { drawStrips } from "./strips.js";
import { drawTree, listTree } from "./tree.js";
import * as trouble from "./trouble.js";
import { drawWhatIf } from "./whatif.js";
import { say } from "./words.js";

const PAUSE = 250; // milliseconds without a key before the server is asked
const PATIENCE = 300; // milliseconds before the page says that it works
const CANDIDATES = 8;
const NBEST = 5;
const BEAMS = [1, 2, 3, 4, 5, 8, 10];
const BEAM = 5; // of a model whose own is 1, by which nothing could be compared

const state = { models: [], limits: null, model: null, beam: BEAM, lines: [""], chosen: 0, ...nothing(), ownKey: "" };
const histories = new Map();
const known = new Known();
const refused = new Known();
let question = null;
let typing = 0;
let composing = false;

const textField = byId("text");
const line = () => state.lines[state.chosen] ?? "";
// whether what is shown came of what stands in the field
const fresh = () => state.answer?.source === line();
const setting = () => `${state.model.name}\n${state.beam}`;

// `edits` are the changes that the answer holds; those of the history may still be asked for.
function nothing() {
  return { answer: null, edits: edits.NONE, own: null, request: null };
}

// Changes belong to a line as one model reads it, and wait there for its return.
function history() {
  const key = `${state.model.name}\n${line()}`;
  if (!histories.has(key)) histories.set(key, new edits.History());
  return histories.get(key);
}

function body(text, changes) {
  return {
    model: state.model.name,
    text,
    attention: true,
    ...(heat.needsLayers(state.model) && { layers: true }),
    influence: heat.needsInfluence(state.model),
    candidates: CANDIDATES,
    tree: true,
    beam_size: state.beam,
    nbest: Math.min(NBEST, state.beam),
    ...edits.asked(changes),
  };
}

const refresh = () => ask();

// Ask for what is in view; whatever was asked before is no longer waited for. After a change that had to
// be taken back, the answer comes with the word of its refusal.
async function ask(refusal = null) {
  clearTimeout(typing);
  question?.abort();
  if (!state.model) return start();
  drawList();
  if (!line().trim()) return clear();
  question = new AbortController();
  const { signal } = question;
  const slow = setTimeout(() => working(true), PATIENCE);
  try {
    const rest = others(signal).catch((problem) => problem);
    const [answer, own] = await Promise.all([detail(signal), ownAnswer(signal)]);
    if (signal.aborted) return;
    Object.assign(state, answer, { own: own ?? answer.answer, ownKey: `${setting()}\n${line()}` });
    if (refusal) trouble.report(refusal, true);
    else trouble.note("");
    draw();
    // for whoever drives the page: one more answer is drawn
    byId("result").dataset.answers = Number(byId("result").dataset.answers ?? 0) + 1;
    announce(say("translated", state.answer.text || say("emptyOutput")));
    const problem = await rest;
    if (problem) throw problem;
  } catch (problem) {
    if (!signal.aborted && problem.name !== "AbortError") refuse(problem);
  } finally {
    clearTimeout(slow);
    if (!signal.aborted) working(false);
  }
}

const patience = (signal) => ({ signal, onWait: (seconds) => trouble.note(say("busy", seconds)) });

async function detail(signal) {
  const { now } = history();
  const request = body(line(), now);
  try {
    const { translations } = await translate(request, patience(signal));
    return { request, answer: translations[0], edits: now };
  } catch (problem) {
    // nobody else's refusal takes a change back
    problem.ofChange = problem.status === 422 && !edits.untouched(now);
    throw problem;
  }
}

// What the model says by itself, to compare with.
async function ownAnswer(signal) {
  if (edits.untouched(history().now)) return null;
  if (state.own && state.ownKey === `${setting()}\n${line()}`) return state.own;
  const request = { model: state.model.name, text: line(), beam_size: state.beam };
  const { translations } = await translate(request, patience(signal));
  return translations[0];
}

// The other lines get their text alone, as many in one request as the server takes.
async function others(signal) {
  const key = setting();
  const told = (one) => known.get(key, one) ?? refused.get(key, one);
  const missing = state.lines.filter((one, index) => one.trim() && index !== state.chosen && told(one) === undefined);
  await askAll([...new Set(missing)], state.limits.lines, {
    ask: async (lines) => {
      const request = { model: state.model.name, text: lines, beam_size: state.beam };
      const { translations } = await translate(request, patience(signal));
      for (const [index, one] of translations.entries()) known.set(key, lines[index], one.text);
      drawList();
    },
    declined: trouble.declined,
    refuse: (one, problem) => {
      refused.set(key, one, problem.message || say("refused", "", problem.status));
      drawList();
    },
  });
}

function working(now) {
  byId("working").hidden = !now;
  byId("result").setAttribute("aria-busy", String(now));
}

const announce = (text) => (byId("announcer").textContent = text);

function refuse(problem) {
  if (problem.status === undefined) throw problem;
  if (problem.ofChange) return takeBack(problem);
  // an answer to another text must not stand beside this one
  if (!fresh()) clear();
  trouble.report(problem);
}

// A change that cannot be is taken back; what it was made to is shown, and asked for where it never was.
function takeBack(problem) {
  history().forget();
  if (!fresh() || state.edits !== history().now) return ask(problem);
  draw();
  trouble.report(problem, true);
}

function clear() {
  Object.assign(state, nothing());
  working(false);
  trouble.note("");
  byId("answer").hidden = true;
  byId("waiting").hidden = false;
}

// What the words and the maps have in common.
function shared() {
  const { lost, gained } = difference(state.own.tokens, state.answer.tokens);
  const changed = edits.untouched(state.edits) ? new Set() : gained;
  return { translation: state.answer, changed, lost, open: openMenu };
}

function drawMaps() {
  if (fresh()) heat.drawHeat({ ...shared(), model: state.model, pins: state.edits.pins, pin });
}

function draw() {
  const { answer, own } = state;
  if (!answer || !fresh()) return;
  byId("waiting").hidden = true;
  byId("answer").hidden = false;
  byId("translation").textContent = answer.text || say("emptyOutput");
  byId("figures").textContent = figures(answer, own, state.edits);
  byId("notes").replaceChildren(...(answer.notes ?? []).map((note) => element("li", { lang: "en" }, note)));
  drawWhatIf({ history: history(), now: state.edits, own, change, ...shared() });
  drawStrips(byId("words"), { ...shared(), point: (place) => heat.pointAt(place) });
  drawMaps();
  drawAlternatives();
  drawSearch();
  drawList();
  forgetCopy();
}

function figures(answer, own, now) {
  const score = (one) => logarithm(one.score, 3);
  const told = say("score", score(answer), chance(Math.exp(answer.score)));
  return edits.untouched(now) ? told : `${told} · ${say("scoreBefore", score(own))}`;
}

function drawAlternatives() {
  const now = state.edits;
  const picked = edits.wholeOf(now);
  const among = picked?.among ?? (state.answer.alternatives?.length ? state.answer.alternatives : [state.answer]);
  const choose = (index) => {
    const before = picked ? edits.drop(now, picked) : now;
    change(index === 0 ? before : edits.whole(before, among[index], among));
  };
  byId("ranking").textContent = say("ranking", state.model.search.length_penalty);
  drawNbest({ translation: state.answer, among, choose });
}

function drawSearch() {
  if (byId("beam-details").open && state.answer) byId("tree").replaceChildren(listTree(state.answer), drawTree(state.answer));
}

function drawList() {
  const textOf = (one) => (fresh() && one === line() ? state.answer.text : known.get(setting(), one));
  const refusalOf = (one) => refused.get(setting(), one);
  drawLines({ lines: state.lines, chosen: state.chosen, textOf, refusalOf, choose });
}

// What the model by itself made of a line stays in the list when another one is shown.
function leave() {
  if (fresh()) known.set(setting(), line(), state.own.text);
}

function choose(index) {
  leave();
  state.chosen = index;
  refresh();
}

function change(now, spoken) {
  if (!fresh()) return;
  history().record(now);
  if (spoken) announce(say(spoken));
  refresh();
}

function pin(target, source) {
  const now = history().now;
  change(now.pins[target] === source ? edits.unpin(now, target) : edits.pin(now, target, source));
}

function openMenu(at, node) {
  const { answer, model } = state;
  const now = history().now;
  menu.open(
    {
      token: answer.tokens[at] ?? null,
      copied: Boolean(answer.unknown?.[at]),
      score: answer.token_scores[at],
      candidates: answer.candidates?.[at] ?? [],
      // the server takes no length of 0, and a model bound to the source's length takes none at all
      endable: at > 0 && !model.search.same_length,
      sources: answer.source_tokens,
      weights: model.attention ? heat.looked(answer)?.[at] : null,
      pinned: now.pins[at] ?? null,
      take: (token) => change(edits.take(now, answer, at, token)),
      pin: (source) => change(source === null ? edits.unpin(now, at) : edits.pin(now, at, source)),
    },
    node,
  );
}

function undo(again) {
  if (!state.model || !(again ? history().redoable : history().undoable)) return;
  if (again) history().redo();
  else history().undo();
  refresh();
}

function typed() {
  clearTimeout(typing);
  // letters that an input method has not yet written are no text
  if (composing) return;
  leave();
  state.lines = split(textField.value);
  state.chosen = lineAt(textField.value, textField.selectionStart);
  typing = setTimeout(refresh, PAUSE);
}

function compose(now) {
  composing = now;
  typed();
}

// The line with the cursor is shown. Before a text has been taken in, its lines are not yet these.
function moved() {
  const { value, selectionStart: at, selectionEnd } = textField;
  if (document.activeElement !== textField || at !== selectionEnd || value !== state.lines.join("\n")) return;
  if (lineAt(value, at) !== state.chosen) typed();
}

function use(name) {
  state.model = state.models.find((one) => one.name === name) ?? state.models[0];
  heat.reset();
  const own = state.model.search.beam_size;
  // the server takes a model's own beam, though it were larger
  const most = Math.max(state.limits.beam_size, own);
  state.beam = own > 1 ? own : Math.min(BEAM, most);
  const beams = [...new Set([...BEAMS, own])].filter((beam) => beam <= most).sort((a, b) => a - b);
  fill(byId("beam"), beams.map((beam) => [String(beam), String(beam)]), String(state.beam));
  relabel();
}

// Whatever is not in the HTML is said again when the language or the model changes.
function relabel() {
  trouble.retell();
  if (!state.model) return;
  byId("model-facts").textContent = `${state.model.name} · ${say("facts", state.model)}`;
  heat.prepare(state.model, () => (heat.lacks(state.answer, state.model) ? refresh() : draw()));
  draw();
}

function copyAll(kind) {
  if (!state.answer) return;
  const { request, answer } = state;
  const textOf = (one) => (one === answer.source ? answer.text : (known.get(setting(), one) ?? ""));
  const makers = {
    Text: () => split(textField.value.trimEnd()).map(textOf).join("\n"),
    Svg: () => heat.pictures(),
    Json: () => JSON.stringify({ request, model: state.model.name, translation: answer }, null, 1),
  };
  copy(makers[kind](), `copied${kind}`);
}

async function start() {
  try {
    const { models, limits } = await fetchModels();
    Object.assign(state, { models, limits });
  } catch (problem) {
    return refuse(problem);
  }
  trouble.note("");
  const names = state.models.map(({ name }) => [name, name]);
  byId("model-field").hidden = names.length < 2;
  fill(byId("model"), names, names[0][0]);
  use(names[0][0]);
  if (textField.value) typed();
}

function listen() {
  textField.addEventListener("input", typed);
  textField.addEventListener("compositionstart", () => compose(true));
  textField.addEventListener("compositionend", () => compose(false));
  document.addEventListener("selectionchange", moved);
  byId("model").addEventListener("change", (event) => {
    clear();
    use(event.target.value);
    refresh();
  });
  byId("beam").addEventListener("change", (event) => {
    state.beam = Number(event.target.value);
    refresh();
  });
  byId("undo").addEventListener("click", () => undo(false));
  byId("redo").addEventListener("click", () => undo(true));
  byId("again").addEventListener("click", refresh);
  byId("beam-details").addEventListener("toggle", drawSearch);
  for (const kind of ["Text", "Svg", "Json"]) byId(`copy-${kind.toLowerCase()}`).addEventListener("click", () => copyAll(kind));
  window.addEventListener("online", () => trouble.standing() && refresh());
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.target === textField) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    undo(key === "y" || event.shiftKey);
  });
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (Math.abs(contentRect.width - width) < 8) return;
    width = contentRect.width;
    drawMaps();
  }).observe(byId("result"));
}

prepareSwitches(relabel);
listen();
start();
