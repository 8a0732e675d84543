// Everything that this page says, in English and in Chinese.
//
// A text is a string or, where something is put into it, a function. In the HTML, `data-word` names the
// text of an element, `data-word-label` its label and `data-word-placeholder` its placeholder.

const ENGLISH = {
  tagline: "Sequences to sequences, and where the model looked.",
  model: "Model",
  beam: "Beam",
  otherLanguage: "中文",
  dark: "Dark colors",
  yourText: "Your text",
  placeholder: "Type or paste; each line is translated",
  lines: "Your lines and their translations",
  translation: "Translation",
  translated: (text) => `Translation: ${text}`,
  emptyOutput: "(nothing)",
  working: "Translating …",
  nothingYet: "The translation appears here while you type.",
  score: (score, share) => `log probability ${score}, ${share} in all`,
  scoreBefore: (score) => `before ${score}`,
  changes: "Your changes",
  undo: "Undo",
  redo: "Redo",
  before: "Before:",
  sourceTokens: "What the model read",
  targetTokens: "What it wrote, and how sure it was",
  tokenLabel: (token, share) => `${token}, ${share}`,
  changedToken: (label) => `${label}, changed`,
  end: "end",
  where: "Where it looked",
  moved: "What moved it",
  view: "View",
  attention: "Attention",
  influence: "Influence",
  both: "Both",
  aboutAttention: "Attention: how much of each source token the model took in when it wrote a token; each row adds up to 1.",
  aboutInfluence:
    "Influence, by gradient: how strongly a small change of each source token would move the probability of what was written; each row is divided by its sum. It is not attention.",
  noAttention: (name) =>
    `${name} has no attention: it reads the whole source into a state of fixed size and looks nowhere afterwards. What is shown is the influence by gradient.`,
  influenceFree: "Pinned looks are not part of it.",
  layer: "Layer",
  head: "Head",
  average: "average",
  hintPin: "A click on a cell, or Enter, pins where a step looks.",
  readout: "Point at a cell, or move there with the arrow keys, to read its weight.",
  cell: (target, source, weight) => `${target} from ${source}: ${weight}`,
  pinnedCell: (label) => `${label}, pinned`,
  sourceHeader: (token) => `source ${token}`,
  targetHeader: (token, share) => `${token}, ${share}, Enter opens alternatives`,
  attentionGrid: "Attention: rows are what was written, columns what was read",
  influenceGrid: "Influence by gradient: rows are what was written, columns what was read",
  nbest: "Best outputs",
  ranking: (power) => `log probability${power ? `; ranked by it ÷ length${power === 1 ? "" : `^${power}`}` : ""}`,
  tree: "The search as a tree",
  treeHint: "Every branch that the search ever kept; the one it chose is the strongest.",
  treeImage: (count, text) => `${count} branches; the chosen one reads ${text}`,
  chosenBranch: (label) => `${label}, chosen`,
  droppedBranch: (label) => `${label}, dropped`,
  copy: "Copy",
  asText: "Text",
  copiedText: "The text is copied.",
  copiedSvg: "The picture is copied as SVG.",
  copiedJson: "The answer is copied as JSON.",
  notCopied: "The browser did not let the page copy.",
  menu: (token) => `Instead of ${token}`,
  instead: "Instead of it",
  lookAt: "Let it look at",
  lookFreely: "wherever it wants",
  endHere: "end here",
  neverWritten: "not a symbol of its own",
  changeChip: (at, from, to) => `${at}: ${from} → ${to}`,
  pinChip: (at, target, source) => `${at}: ${target} looks at ${source}`,
  wholeChip: (text) => `whole: ${text}`,
  remove: (what) => `Remove ${what}`,
  removed: "The change is removed.",
  facts: ({ attention, parameters, source, target }) =>
    `${attention ? `attention: ${count(attention.layers, "layer")}, ${count(attention.heads, "head")}` : "no attention"} · ` +
    `${parameters.toLocaleString("en")} parameters · ` +
    `${source.symbols.toLocaleString("en")} symbols read (${source.tokenizer}), ` +
    `${target.symbols.toLocaleString("en")} written (${target.tokenizer})`,
  again: "Try again",
  busy: (seconds) => `The server is busy; the page asks again in ${seconds} s.`,
  unreachable: "The server cannot be reached; it may have been stopped.",
  stopping: "The server is stopping.",
  late: "The server took too long; a shorter text would do.",
  refused: (detail, status) => detail || `The server refused, with status ${status}.`,
  undone: (problem) => `${problem.replace(/\.$/, "")}. The change was taken back.`,
};

const CHINESE = {
  tagline: "从序列到序列，并展示模型看向了哪里。",
  model: "模型",
  beam: "束宽",
  otherLanguage: "English",
  dark: "深色",
  yourText: "输入文本",
  placeholder: "输入或粘贴文本，每行分别翻译",
  lines: "各行及其译文",
  translation: "译文",
  translated: (text) => `译文：${text}`,
  emptyOutput: "（空）",
  working: "正在翻译……",
  nothingYet: "输入时，译文会显示在这里。",
  score: (score, share) => `对数概率 ${score}，整体概率 ${share}`,
  scoreBefore: (score) => `原为 ${score}`,
  changes: "您的改动",
  undo: "撤销",
  redo: "重做",
  before: "改动前：",
  sourceTokens: "模型读到的",
  targetTokens: "模型写出的，以及它的把握",
  tokenLabel: (token, share) => `${token}，${share}`,
  changedToken: (label) => `${label}，已变`,
  end: "结束",
  where: "它看向哪里",
  moved: "什么影响了它",
  view: "视图",
  attention: "注意力",
  influence: "影响",
  both: "并排",
  aboutAttention: "注意力：模型写每个符号时，从各个源符号取了多少；每行之和为 1。",
  aboutInfluence:
    "影响（按梯度）：各个源符号的微小变化会在多大程度上改变所写符号的概率；每行除以其总和。这不是注意力。",
  noAttention: (name) =>
    `${name} 没有注意力：它把整个源序列读成一个固定大小的状态，之后不再回看。这里显示的是按梯度计算的影响。`,
  influenceFree: "其中不包含固定的注意力。",
  layer: "层",
  head: "头",
  average: "平均",
  hintPin: "点击单元格或按回车键，可固定该步看向的位置。",
  readout: "将指针移到单元格上，或用方向键移动，即可读出权重。",
  cell: (target, source, weight) => `${target} 来自 ${source}：${weight}`,
  pinnedCell: (label) => `${label}，已固定`,
  sourceHeader: (token) => `源 ${token}`,
  targetHeader: (token, share) => `${token}，${share}，按回车键查看备选`,
  attentionGrid: "注意力：行是写出的，列是读到的",
  influenceGrid: "按梯度的影响：行是写出的，列是读到的",
  nbest: "最佳输出",
  ranking: (power) => `对数概率${power ? `；按其 ÷ 长度${power === 1 ? "" : `^${power}`} 排序` : ""}`,
  tree: "搜索树",
  treeHint: "搜索曾保留的所有分支；最粗的是最终选中的。",
  treeImage: (number, text) => `共 ${number} 个分支；选中的是 ${text}`,
  chosenBranch: (label) => `${label}，选中`,
  droppedBranch: (label) => `${label}，舍弃`,
  copy: "复制",
  asText: "文本",
  copiedText: "已复制文本。",
  copiedSvg: "已将图复制为 SVG。",
  copiedJson: "已将结果复制为 JSON。",
  notCopied: "浏览器不允许本页复制。",
  menu: (token) => `替换 ${token}`,
  instead: "改成",
  lookAt: "让它看向",
  lookFreely: "任其自由",
  endHere: "到此结束",
  neverWritten: "不是它自己的符号",
  changeChip: (at, from, to) => `${at}：${from} → ${to}`,
  pinChip: (at, target, source) => `${at}：${target} 看向 ${source}`,
  wholeChip: (text) => `整句：${text}`,
  remove: (what) => `移除 ${what}`,
  removed: "已移除改动。",
  facts: ({ attention, parameters, source, target }) =>
    `${attention ? `注意力：${attention.layers} 层，${attention.heads} 头` : "没有注意力"} · ` +
    `${parameters.toLocaleString("zh")} 个参数 · ` +
    `读 ${source.symbols.toLocaleString("zh")} 个符号（${source.tokenizer}），` +
    `写 ${target.symbols.toLocaleString("zh")} 个符号（${target.tokenizer}）`,
  again: "重试",
  busy: (seconds) => `服务器繁忙，本页将在 ${seconds} 秒后重试。`,
  unreachable: "无法连接服务器，它可能已停止。",
  stopping: "服务器正在停止。",
  late: "服务器用时过长，请换较短的文本。",
  refused: (detail, status) => (detail ? `服务器没有接受：${detail}` : `服务器拒绝了请求（状态 ${status}）。`),
  undone: (problem) => `${problem.replace(/。$/, "")}。该改动已撤回。`,
};

const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

const LANGUAGES = { en: ENGLISH, zh: CHINESE };
let language = "en";

export const speaks = () => language;

export function say(name, ...parts) {
  const text = LANGUAGES[language][name];
  return typeof text === "function" ? text(...parts) : text;
}

export function preferred() {
  return (navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en";
}

// Change the language of everything that stands in the HTML; what is drawn later asks for itself.
export function speak(name) {
  language = name in LANGUAGES ? name : "en";
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  for (const node of document.querySelectorAll("[data-word]")) node.textContent = say(node.dataset.word);
  for (const node of document.querySelectorAll("[data-word-label]")) {
    node.setAttribute("aria-label", say(node.dataset.wordLabel));
  }
  for (const node of document.querySelectorAll("[data-word-placeholder]")) {
    node.placeholder = say(node.dataset.wordPlaceholder);
  }
}
