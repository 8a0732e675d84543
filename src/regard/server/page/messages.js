// Every text of the page, in English and in Chinese.
//
// A text is a string, or a function of what it contains. In the HTML, `data-message` names the text of an
// element, `data-message-label` its aria-label and `data-message-placeholder` its placeholder.

const ENGLISH = {
  tagline: "Sequence-to-sequence models, and where they look.",
  model: "Model",
  beamSize: "Beam size",
  otherLanguage: "中文",
  darkColors: "Dark colors",
  yourText: "Your text",
  placeholder: "Type or paste; each line is translated",
  lines: "Your lines and their translations",
  translation: "Translation",
  translated: (text) => `Translation: ${text}`,
  emptyOutput: "(empty)",
  inProgress: "Translating …",
  nothingYet: "The translation appears here while you type.",
  score: (score, probability) => `log probability ${score} (${probability})`,
  scoreBefore: (score) => `before: ${score}`,
  edits: "Your edits",
  undo: "Undo",
  redo: "Redo",
  before: "Before:",
  sourceTokens: "Source tokens",
  targetTokens: "Output tokens and their probabilities",
  tokenLabel: (token, probability) => `${token}, ${probability}`,
  changedToken: (label) => `${label}, changed`,
  end: "end",
  attentionTitle: "Where it looked",
  influenceTitle: "What influenced it",
  view: "View",
  attention: "Attention",
  influence: "Influence",
  both: "Both",
  aboutAttention: "Attention: how much of each source token the model used for an output token. Each row adds up to 1.",
  aboutInfluence:
    "Influence by gradient: how strongly a small change of each source token changes the probability of the output token. Each row is divided by its sum. It is not attention.",
  noAttention: (name) =>
    `${name} has no attention: it encodes the whole source as one state of fixed size. The heatmap shows the influence by gradient instead.`,
  influenceIgnoresPins: "Pinned attention is ignored here.",
  layer: "Layer",
  head: "Head",
  average: "average",
  pinHint: "Click a cell, or press Enter on it, to pin the attention of a step.",
  readoutHint: "Point at a cell, or move there with the arrow keys, to read its weight.",
  cell: (target, source, weight) => `${target} from ${source}: ${weight}`,
  pinnedCell: (label) => `${label}, pinned`,
  sourceHeader: (token) => `source ${token}`,
  targetHeader: (token, probability) => `${token}, ${probability}, press Enter for alternatives`,
  attentionGrid: "Attention: rows are output tokens, columns are source tokens",
  influenceGrid: "Influence by gradient: rows are output tokens, columns are source tokens",
  nbest: "Best outputs",
  ranking: (power) => `log probability${power ? `; ranked by log probability ÷ length${power === 1 ? "" : `^${power}`}` : ""}`,
  tree: "Beam search tree",
  treeHint: "All hypotheses of the beam search. The output is highlighted.",
  treeImage: (number, text) => `${number} hypotheses; the output is ${text}`,
  chosenBranch: (label) => `${label}, chosen`,
  droppedBranch: (label) => `${label}, dropped`,
  copy: "Copy",
  asText: "Text",
  copiedText: "The text was copied.",
  copiedSvg: "The picture was copied as SVG.",
  copiedJson: "The response was copied as JSON.",
  notCopied: "The browser did not allow copying.",
  menu: (token) => `Alternatives to ${token}`,
  alternatives: "Alternatives",
  pinTo: "Pin the attention to",
  notPinned: "not pinned",
  endHere: "end here",
  unknownToken: "unknown token",
  changeChip: (number, from, to) => `${number}: ${from} → ${to}`,
  pinChip: (number, target, source) => `${number}: ${target} attends to ${source}`,
  outputChip: (text) => `whole output: ${text}`,
  remove: (label) => `Remove ${label}`,
  removed: "The edit was removed.",
  facts: ({ attention, parameters, source, target }) =>
    `${attention ? `attention: ${count(attention.layers, "layer")}, ${count(attention.heads, "head")}` : "no attention"} · ` +
    `${parameters.toLocaleString("en")} parameters · ` +
    `vocabulary: ${source.symbols.toLocaleString("en")} source tokens (${source.tokenizer}), ` +
    `${target.symbols.toLocaleString("en")} target tokens (${target.tokenizer})`,
  retry: "Try again",
  busy: (seconds) => `The server is busy. The page tries again in ${seconds} s.`,
  unreachable: "The server cannot be reached. It may have been stopped.",
  stopping: "The server is stopping.",
  timeout: "The server took too long. Try a shorter text.",
  refused: (detail, status) => detail || `The server refused the request (status ${status}).`,
  reverted: (refusal) => `${refusal.replace(/\.$/, "")}. The edit was undone.`,
};

const CHINESE = {
  tagline: "序列到序列模型，以及它们的注意力。",
  model: "模型",
  beamSize: "束宽",
  otherLanguage: "English",
  darkColors: "深色",
  yourText: "输入文本",
  placeholder: "输入或粘贴文本，逐行翻译",
  lines: "各行及其译文",
  translation: "译文",
  translated: (text) => `译文：${text}`,
  emptyOutput: "（空）",
  inProgress: "正在翻译……",
  nothingYet: "输入时，译文会显示在这里。",
  score: (score, probability) => `对数概率 ${score}（${probability}）`,
  scoreBefore: (score) => `修改前：${score}`,
  edits: "您的修改",
  undo: "撤销",
  redo: "重做",
  before: "修改前：",
  sourceTokens: "源词元",
  targetTokens: "输出词元及其概率",
  tokenLabel: (token, probability) => `${token}，${probability}`,
  changedToken: (label) => `${label}，已修改`,
  end: "结束",
  attentionTitle: "模型看向哪里",
  influenceTitle: "什么影响了输出",
  view: "视图",
  attention: "注意力",
  influence: "影响",
  both: "并排",
  aboutAttention: "注意力：生成每个输出词元时，模型使用各个源词元的比例。每行之和为 1。",
  aboutInfluence:
    "梯度影响：各个源词元的微小变化会在多大程度上改变输出词元的概率。每行除以该行之和。它不是注意力。",
  noAttention: (name) =>
    `${name} 没有注意力：它把整个源序列编码成一个固定大小的状态。热力图改为显示梯度影响。`,
  influenceIgnoresPins: "不计入固定的注意力。",
  layer: "层",
  head: "头",
  average: "平均",
  pinHint: "点击单元格，或在其上按回车键，可固定该步的注意力。",
  readoutHint: "将指针移到单元格上，或用方向键移动，即可读出权重。",
  cell: (target, source, weight) => `${target} 来自 ${source}：${weight}`,
  pinnedCell: (label) => `${label}，已固定`,
  sourceHeader: (token) => `源词元 ${token}`,
  targetHeader: (token, probability) => `${token}，${probability}，按回车键查看候选`,
  attentionGrid: "注意力：行是输出词元，列是源词元",
  influenceGrid: "梯度影响：行是输出词元，列是源词元",
  nbest: "最佳输出",
  ranking: (power) => `对数概率${power ? `；按对数概率 ÷ 长度${power === 1 ? "" : `^${power}`} 排序` : ""}`,
  tree: "束搜索树",
  treeHint: "束搜索保留过的所有假设，输出已突出显示。",
  treeImage: (number, text) => `共 ${number} 个假设；输出是 ${text}`,
  chosenBranch: (label) => `${label}，选中`,
  droppedBranch: (label) => `${label}，舍弃`,
  copy: "复制",
  asText: "文本",
  copiedText: "已复制文本。",
  copiedSvg: "已将图复制为 SVG。",
  copiedJson: "已将响应复制为 JSON。",
  notCopied: "浏览器不允许本页复制。",
  menu: (token) => `${token} 的候选`,
  alternatives: "候选",
  pinTo: "将注意力固定在",
  notPinned: "不固定",
  endHere: "到此结束",
  unknownToken: "未知词元",
  changeChip: (number, from, to) => `${number}：${from} → ${to}`,
  pinChip: (number, target, source) => `${number}：${target} 看向 ${source}`,
  outputChip: (text) => `整个输出：${text}`,
  remove: (label) => `移除 ${label}`,
  removed: "已移除修改。",
  facts: ({ attention, parameters, source, target }) =>
    `${attention ? `注意力：${attention.layers} 层，${attention.heads} 头` : "无注意力"} · ` +
    `${parameters.toLocaleString("zh")} 个参数 · ` +
    `词表：源端 ${source.symbols.toLocaleString("zh")} 个词元（${source.tokenizer}），` +
    `目标端 ${target.symbols.toLocaleString("zh")} 个词元（${target.tokenizer}）`,
  retry: "重试",
  busy: (seconds) => `服务器繁忙，本页将在 ${seconds} 秒后重试。`,
  unreachable: "无法连接服务器，它可能已停止。",
  stopping: "服务器正在停止。",
  timeout: "服务器超时，请尝试较短的文本。",
  refused: (detail, status) => (detail ? `服务器拒绝了请求：${detail}` : `服务器拒绝了请求（状态 ${status}）。`),
  reverted: (refusal) => `${refusal.replace(/。$/, "")}。该修改已撤销。`,
};

const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

const LANGUAGES = { en: ENGLISH, zh: CHINESE };
let language = "en";

export const currentLanguage = () => language;

export function message(name, ...parts) {
  const text = LANGUAGES[language][name];
  return typeof text === "function" ? text(...parts) : text;
}

export function browserLanguage() {
  return (navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en";
}

// Translate everything in the HTML; what scripts draw must be drawn again.
export function setLanguage(name) {
  language = name in LANGUAGES ? name : "en";
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  for (const node of document.querySelectorAll("[data-message]")) node.textContent = message(node.dataset.message);
  for (const node of document.querySelectorAll("[data-message-label]")) {
    node.setAttribute("aria-label", message(node.dataset.messageLabel));
  }
  for (const node of document.querySelectorAll("[data-message-placeholder]")) {
    node.placeholder = message(node.dataset.messagePlaceholder);
  }
}
