// A heatmap as SVG: rows are the output tokens and the end, columns the source tokens.
//
// Everything that a copied picture needs is in attributes of the SVG; the style sheet adds only hover and
// focus. A cell is a single <rect>, so that long lines stay fast.

import { hex, ink, ramp } from "./colors.js";
import { svgElement } from "./dom.js";
import { message, touchScreen } from "./messages.js";
import { percent } from "./number_format.js";
import { END, isolate, labelNodes, textWidth, truncate, visible } from "./token_labels.js";

const FONT_FAMILY = 'ui-sans-serif, system-ui, "Noto Sans", "Noto Sans CJK SC", sans-serif';
const LABEL_FONT = `15px ${FONT_FAMILY}`;
const [MIN_CELL_WIDTH, ROTATED_CELL_WIDTH, UPRIGHT_CELL_WIDTH, MAX_CELL_WIDTH] = [26, 44, 64, 96];
const MAX_LABEL_WIDTH = 150;
const [MIN_CELL_HEIGHT, MAX_CELL_HEIGHT, TOUCH_CELL_HEIGHT] = [26, 38, 34];
const LABEL_ANGLE = 50;
const PICTURE_GAP = 24; // pixels between pictures

// Sizes in pixels: the labels fit, and the heatmap fits the available width if possible.
function computeLayout(source, target, { availableWidth, availableHeight }) {
  const rows = target.map((token) => truncate(visible(token), MAX_LABEL_WIDTH, LABEL_FONT));
  const columns = source.map((token) => truncate(visible(token), MAX_LABEL_WIDTH, LABEL_FONT));
  const widest = Math.max(0, ...columns.map((label) => textWidth(label, LABEL_FONT)));
  const left = Math.ceil(Math.max(24, ...rows.map((label) => textWidth(label, LABEL_FONT)))) + 14;
  const columnWidth = (availableWidth - left - 2) / Math.max(1, source.length);
  const upright = widest + 12 <= clamp(columnWidth, MIN_CELL_WIDTH, MAX_CELL_WIDTH);
  const maxWidth = upright ? Math.max(UPRIGHT_CELL_WIDTH, widest + 12) : ROTATED_CELL_WIDTH;
  const width = Math.floor(clamp(columnWidth, MIN_CELL_WIDTH, maxWidth));
  const radians = (LABEL_ANGLE * Math.PI) / 180;
  const top = upright ? 32 : Math.ceil(widest * Math.sin(radians)) + 26;
  // a rotated label reaches beyond its column
  const right = upright ? 2 : Math.ceil(widest * Math.cos(radians));
  const minHeight = touchScreen.matches ? TOUCH_CELL_HEIGHT : MIN_CELL_HEIGHT;
  const height = Math.floor(clamp((availableHeight - top) / target.length, minHeight, MAX_CELL_HEIGHT));
  return { rows, columns, left, top, right, upright, width, height };
}

// Isolate the text direction by characters, since SVG has no dir="auto".
const isolatedLabel = (label) => ["\u2068", ...labelNodes(label, svgElement, "tspan"), "\u2069"];

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// options = { kind, label, source, target, weights, describeRow(name, t), pins, changed, unsure, unknown, availableWidth,
// availableHeight }
export function drawHeatmap(options) {
  const { kind, source, target, weights } = options;
  const size = computeLayout(source, target, options);
  const width = size.left + size.width * source.length + size.right;
  const height = size.top + size.height * target.length + 2;
  const svg = svgElement("svg", {
    class: "heatmap",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    "font-family": FONT_FAMILY,
    "font-size": 15,
    role: "grid",
    "aria-label": options.label ?? message(`${kind}Grid`),
    "data-kind": kind,
  });
  const numbers = svgElement("g", { "aria-hidden": "true", class: "numbers", "font-size": 12, "text-anchor": "middle" });
  svg.append(header(options, size));
  for (const t of target.keys()) svg.append(row(options, t, size, numbers));
  svg.append(numbers, overlay());
  svg.geometry = { ...size, columnCount: source.length, rowCount: target.length };
  if (weights.length !== target.length) throw new RangeError(`${weights.length} rows for ${target.length} tokens`);
  return svg;
}

function header({ source, unknown }, size) {
  const cells = source.map((token, s) => {
    const name = message("sourceHeader", isolate(visible(token)));
    const x = size.left + (s + 0.5) * size.width;
    const y = size.top - 10;
    const labelAttributes = size.upright
      ? { "text-anchor": "middle" }
      : { "text-anchor": "start", transform: `rotate(${-LABEL_ANGLE} ${x} ${y})` };
    return svgElement(
      "g",
      {
        class: `label${unknown.has(s) ? " unknown" : ""}`,
        role: "columnheader",
        tabindex: -1,
        "aria-colindex": s + 2,
        "aria-label": unknown.has(s) ? message("unknownSource", name) : name,
        "data-source": s,
      },
      svgElement("text", { x, y, fill: "currentColor", ...labelAttributes }, ...isolatedLabel(size.columns[s])),
    );
  });
  return svgElement("g", { role: "row" }, ...cells);
}

function row(options, t, size, numbers) {
  const { kind, source, target, weights, pins, changed, unsure } = options;
  const y = size.top + t * size.height;
  // the last row is the end; a screen reader should read a word, not its sign
  const name = isolate(target[t] === END && t === target.length - 1 ? message("end") : visible(target[t]));
  const label = svgElement(
    "g",
    {
      class: `label${changed.has(t) ? " changed" : ""}${unsure.has(t) ? " unsure" : ""}`,
      role: "rowheader",
      tabindex: -1,
      "aria-colindex": 1,
      "aria-label": options.describeRow(unsure.has(t) ? message("unsureToken", name) : name, t),
      "data-target": t,
    },
    svgElement(
      "text",
      { x: size.left - 8, y: y + size.height / 2 + 5, fill: "currentColor", "text-anchor": "end" },
      ...isolatedLabel(size.rows[t]),
    ),
  );
  const cells = source.map((token, s) => {
    const weight = weights[t][s];
    const color = ramp(weight);
    const x = size.left + s * size.width;
    const pinned = kind === "attention" && pins[t] === s;
    const cellLabel = message("cell", name, isolate(visible(token)), weight.toFixed(6));
    if (size.width >= MIN_CELL_WIDTH && percent(weight)) {
      const textAttributes = { x: x + size.width / 2, y: y + size.height / 2 + 4, fill: hex(ink(color)) };
      numbers.append(svgElement("text", textAttributes, percent(weight)));
    }
    if (pinned) numbers.append(pinMark(x, y, size, color));
    return svgElement("rect", {
      class: "cell",
      x,
      y,
      width: size.width - 1,
      height: size.height - 1,
      rx: 2,
      fill: hex(color),
      role: "gridcell",
      tabindex: -1,
      "aria-colindex": s + 2,
      "aria-label": pinned ? message("pinnedCell", cellLabel) : cellLabel,
      "aria-selected": pinned ? "true" : null,
      "data-row": t,
      "data-column": s,
      "data-weight": weight,
    });
  });
  return svgElement("g", { role: "row" }, label, ...cells);
}

function pinMark(x, y, size, color) {
  return svgElement("circle", { class: "pin", cx: x + size.width - 8, cy: y + 7, r: 3, fill: hex(ink(color)) });
}

// The parts that follow pointer and focus; copied pictures leave them out.
function overlay() {
  const band = (name) => svgElement("rect", { class: name, fill: "none", rx: 3, width: 0, height: 0 });
  const bands = [band("band row-band"), band("band column-band"), band("cursor")];
  return svgElement("g", { class: "overlay", "aria-hidden": "true" }, ...bands);
}

function setRect(rect, x, y, width, height) {
  for (const [name, pixels] of Object.entries({ x, y, width, height })) rect.setAttribute(name, Math.max(0, pixels));
}

// Outline a row and a column; null hides either.
export function highlightRowAndColumn(svg, target, source) {
  const { left, top, width, height, columnCount, rowCount } = svg.geometry;
  const [row, column] = [svg.querySelector(".row-band"), svg.querySelector(".column-band")];
  if (target === null) setRect(row, 0, 0, 0, 0);
  else setRect(row, 1, top + target * height - 1, left + columnCount * width - 1, height + 1);
  if (source === null) setRect(column, 0, 0, 0, 0);
  else setRect(column, left + source * width - 1, top - 1, width + 1, rowCount * height + 1);
}

// Outline the cell or label that has the keyboard focus.
export function drawCursor(svg, target, source) {
  const { left, top, width, height, upright, right } = svg.geometry;
  const rect = svg.querySelector(".cursor");
  if (target === null && source === null) return setRect(rect, 0, 0, 0, 0);
  if (source === null) return setRect(rect, 2, top + target * height, left - 4, height - 1);
  const labelWidth = upright ? width : Math.min(width + right, width * 2);
  if (target === null) return setRect(rect, left + source * width, 2, labelWidth, top - 6);
  return setRect(rect, left + source * width - 1, top + target * height - 1, width + 1, height + 1);
}

// A copy that works outside of the page: black on white, without attributes that only the page needs.
function standalone(svg) {
  const copy = svg.cloneNode(true);
  copy.querySelector(".overlay").remove();
  for (const node of [copy, ...copy.querySelectorAll("*")]) {
    for (const name of ["tabindex", "role", "class", "aria-colindex", "aria-selected", "aria-hidden"]) {
      node.removeAttribute(name);
    }
  }
  for (const cell of copy.querySelectorAll("[data-weight]")) {
    cell.append(svgElement("title", {}, cell.getAttribute("aria-label")));
    cell.removeAttribute("aria-label");
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("color", "#111111");
  copy.setAttribute("role", "img");
  copy.prepend(svgElement("rect", { width: "100%", height: "100%", fill: "#ffffff" }));
  return copy;
}

// One SVG of one heatmap, or of several side by side.
export function serializeHeatmaps(heatmaps) {
  const copies = heatmaps.map(standalone);
  return new XMLSerializer().serializeToString(copies.length === 1 ? copies[0] : sideBySide(copies));
}

function sideBySide(copies) {
  const sizes = (name) => copies.map((copy) => Number(copy.getAttribute(name)));
  const [widths, height] = [sizes("width"), Math.max(...sizes("height"))];
  for (const [index, copy] of copies.entries()) {
    copy.setAttribute("x", widths.slice(0, index).reduce((sum, width) => sum + width + PICTURE_GAP, 0));
  }
  const width = widths.reduce((sum, one) => sum + one + PICTURE_GAP, -PICTURE_GAP);
  const background = svgElement("rect", { width: "100%", height: "100%", fill: "#ffffff" });
  return svgElement("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, background, ...copies);
}
