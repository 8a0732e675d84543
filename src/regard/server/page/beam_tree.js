// The beam search as a tree: from left to right, each hypothesis by its last token; also as a list.

import { element, svgElement } from "./dom.js";
import { message } from "./messages.js";
import { formatProbability } from "./number_format.js";
import { END, isolate, textWidth, truncate, visible } from "./token_labels.js";

const LABEL_FONT = "13px ui-sans-serif, system-ui, sans-serif";
const [ROW_HEIGHT, COLUMN_GAP, MAX_LABEL_WIDTH, LEFT_MARGIN] = [24, 30, 120, 24];
const EOS = "</s>";

// Each branch with its depth and children, in the order of the search.
function buildTree(translation) {
  const branches = translation.tree ?? [];
  const nodes = branches.map((branch) => ({ ...branch, children: [], depth: 0, best: false }));
  const roots = [];
  for (const node of nodes) {
    const parent = node.parent === null ? null : nodes[node.parent];
    node.depth = parent ? parent.depth + 1 : 0;
    (parent ? parent.children : roots).push(node);
  }
  markBestPath(nodes, translation);
  return { nodes, roots };
}

// Mark the path of the current output. A copied token has another name in the search, so the path is
// identified by an end of the same length with the score of the output.
function markBestPath(nodes, translation) {
  const length = translation.tokens.length;
  const ends = nodes.filter((node) => node.in_nbest && node.token === EOS && node.depth === length);
  const distance = (node) => Math.abs(node.total - translation.score);
  let node = ends.sort((a, b) => distance(a) - distance(b))[0];
  while (node) {
    node.best = true;
    node = node.parent === null ? null : nodes[node.parent];
  }
}

const statusOf = (node) => (node.best ? "best" : node.in_nbest ? "finished" : "");

// Leaves one below the other, each parent in the middle of its children. It does not recurse, since a tree
// may be hundreds of tokens deep. Children come after their parents in the list.
function layOut(nodes, roots) {
  const stack = [...roots].reverse();
  let leaves = 0;
  while (stack.length) {
    const node = stack.pop();
    if (!node.children.length) node.y = (leaves++ + 0.5) * ROW_HEIGHT;
    stack.push(...[...node.children].reverse());
  }
  for (const node of [...nodes].reverse()) {
    if (node.children.length) node.y = (node.children[0].y + node.children.at(-1).y) / 2;
  }
  const widths = [];
  for (const node of nodes) {
    node.label = node.token === EOS ? END : truncate(visible(node.token), MAX_LABEL_WIDTH, LABEL_FONT);
    widths[node.depth] = Math.max(widths[node.depth] ?? 0, textWidth(node.label, LABEL_FONT));
  }
  const columnStarts = widths.reduce((xs, width) => [...xs, xs.at(-1) + width + COLUMN_GAP + 14], [LEFT_MARGIN]);
  for (const node of nodes) node.x = columnStarts[node.depth];
  return { width: columnStarts.at(-1), height: Math.max(leaves, 1) * ROW_HEIGHT };
}

export function drawBeamTree(translation) {
  const { nodes, roots } = buildTree(translation);
  const { width, height } = layOut(nodes, roots);
  const rootY = roots.length ? (roots[0].y + roots.at(-1).y) / 2 : 0;
  const edges = svgElement("g", { fill: "none", stroke: "currentColor" });
  const labels = svgElement("g", { fill: "currentColor", "font-size": 13 });
  for (const node of nodes) {
    const name = `branch ${statusOf(node)}`;
    const from = node.parent === null ? { y: rootY } : nodes[node.parent];
    const start = node.parent === null ? 4 : from.x + textWidth(from.label, LABEL_FONT) + 6;
    const middle = (start + node.x - 6) / 2;
    const path = `M${start} ${from.y}C${middle} ${from.y} ${middle} ${node.y} ${node.x - 6} ${node.y}`;
    edges.append(svgElement("path", { class: name, d: path, "stroke-width": 1 + 2 * Math.exp(node.score) }));
    labels.append(
      svgElement(
        "text",
        { class: name, x: node.x, y: node.y + 4.5, "data-score": node.score, "data-total": node.total },
        isolate(node.label),
        svgElement("title", {}, `${isolate(node.label)} ${formatProbability(Math.exp(node.score))}`),
      ),
    );
  }
  return svgElement(
    "svg",
    {
      class: "tree",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": message("treeImage", nodes.length, translation.text),
    },
    edges,
    labels,
  );
}

// The tree as a list for screen readers, nested at forks only: a chain without forks is one entry.
export function listBeamTree(translation) {
  const { nodes } = buildTree(translation);
  const list = element("ul", { class: "visually-hidden" });
  for (const node of nodes) {
    const parent = node.parent === null ? null : nodes[node.parent];
    if (parent && parent.children.length === 1 && statusOf(parent) === statusOf(node)) node.chain = parent.chain;
    else node.chain = { labels: [], status: statusOf(node), entry: element("li", {}, element("span")), sublist: null };
    const { chain } = node;
    if (!chain.labels.length) (parent ? (parent.chain.sublist ??= appendList(parent.chain.entry)) : list).append(chain.entry);
    const name = node.token === EOS ? message("end") : visible(node.token);
    chain.labels.push(message("tokenLabel", name, formatProbability(Math.exp(node.score))));
  }
  for (const { labels, status, entry } of new Set(nodes.map((node) => node.chain))) {
    const text = labels.join("; ");
    entry.firstChild.textContent =
      status === "finished" ? text : message(status ? "chosenBranch" : "droppedBranch", text);
  }
  return list;
}

function appendList(entry) {
  const list = element("ul");
  entry.append(list);
  return list;
}
