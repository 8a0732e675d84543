// The beam as a tree: from left to right, each token that the search ever kept; and the same as a list.

import { chance } from "./colors.js";
import { drawn, element } from "./dom.js";
import { END, fit, isolated, visible, widthOf } from "./labels.js";
import { say } from "./words.js";

const LABEL = "13px ui-sans-serif, system-ui, sans-serif";
const [ROW, GAP, WIDEST, LEFT] = [24, 30, 120, 24];
const EOS = "</s>";

// Each branch with its depth and its children, in the order in which they grew.
function grown(translation) {
  const branches = translation.tree ?? [];
  const nodes = branches.map((branch) => ({ ...branch, children: [], depth: 0, best: false }));
  const roots = [];
  for (const node of nodes) {
    const parent = node.parent === null ? null : nodes[node.parent];
    node.depth = parent ? parent.depth + 1 : 0;
    (parent ? parent.children : roots).push(node);
  }
  follow(nodes, translation);
  return { nodes, roots };
}

// The way of the output that is shown. A copied token is not called what the search called it, so that the
// end with the output's own score decides.
function follow(nodes, translation) {
  const length = translation.tokens.length;
  const ends = nodes.filter((node) => node.kept && node.token === EOS && node.depth === length);
  const apart = (node) => Math.abs(node.total - translation.score);
  let node = ends.sort((a, b) => apart(a) - apart(b))[0];
  while (node) {
    node.best = true;
    node = node.parent === null ? null : nodes[node.parent];
  }
}

const fate = (node) => (node.best ? "best" : node.kept ? "kept" : "");

// Leaves one under the other, each parent in the middle of its children; without recursion, since a tree
// may be hundreds of tokens deep. Children stand after their parents in the list.
function settle(nodes, roots) {
  const waiting = [...roots].reverse();
  let leaves = 0;
  while (waiting.length) {
    const node = waiting.pop();
    if (!node.children.length) node.y = (leaves++ + 0.5) * ROW;
    waiting.push(...[...node.children].reverse());
  }
  for (const node of [...nodes].reverse()) {
    if (node.children.length) node.y = (node.children[0].y + node.children.at(-1).y) / 2;
  }
  const widths = [];
  for (const node of nodes) {
    node.label = node.token === EOS ? END : fit(visible(node.token), WIDEST, LABEL);
    widths[node.depth] = Math.max(widths[node.depth] ?? 0, widthOf(node.label, LABEL));
  }
  const starts = widths.reduce((xs, width) => [...xs, xs.at(-1) + width + GAP + 14], [LEFT]);
  for (const node of nodes) node.x = starts[node.depth];
  return { wide: starts.at(-1), high: Math.max(leaves, 1) * ROW };
}

export function drawTree(translation) {
  const { nodes, roots } = grown(translation);
  const { wide, high } = settle(nodes, roots);
  const root = roots.length ? (roots[0].y + roots.at(-1).y) / 2 : 0;
  const edges = drawn("g", { fill: "none", stroke: "currentColor" });
  const labels = drawn("g", { fill: "currentColor", "font-size": 13 });
  for (const node of nodes) {
    const name = `branch ${fate(node)}`;
    const from = node.parent === null ? { y: root } : nodes[node.parent];
    const start = node.parent === null ? 4 : from.x + widthOf(from.label, LABEL) + 6;
    const middle = (start + node.x - 6) / 2;
    const path = `M${start} ${from.y}C${middle} ${from.y} ${middle} ${node.y} ${node.x - 6} ${node.y}`;
    edges.append(drawn("path", { class: name, d: path, "stroke-width": 1 + 2 * Math.exp(node.score) }));
    labels.append(
      drawn(
        "text",
        { class: name, x: node.x, y: node.y + 4.5, "data-score": node.score, "data-total": node.total },
        isolated(node.label),
        drawn("title", {}, `${isolated(node.label)} ${chance(Math.exp(node.score))}`),
      ),
    );
  }
  return drawn(
    "svg",
    {
      class: "tree",
      width: wide,
      height: high,
      viewBox: `0 0 ${wide} ${high}`,
      role: "img",
      "aria-label": say("treeImage", nodes.length, translation.text),
    },
    edges,
    labels,
  );
}

// The branches for the ear, nested where they fork: a way without forks is one item, however long.
export function listTree(translation) {
  const { nodes } = grown(translation);
  const list = element("ul", { class: "unseen" });
  for (const node of nodes) {
    const parent = node.parent === null ? null : nodes[node.parent];
    if (parent && parent.children.length === 1 && fate(parent) === fate(node)) node.way = parent.way;
    else node.way = { labels: [], fate: fate(node), item: element("li", {}, element("span")), list: null };
    const { way } = node;
    if (!way.labels.length) (parent ? (parent.way.list ??= sublist(parent.way.item)) : list).append(way.item);
    const name = node.token === EOS ? say("end") : visible(node.token);
    way.labels.push(say("tokenLabel", name, chance(Math.exp(node.score))));
  }
  for (const { labels, fate: end, item } of new Set(nodes.map((node) => node.way))) {
    const told = labels.join("; ");
    item.firstChild.textContent = end === "kept" ? told : say(end ? "chosenBranch" : "droppedBranch", told);
  }
  return list;
}

function sublist(item) {
  const list = element("ul");
  item.append(list);
  return list;
}
