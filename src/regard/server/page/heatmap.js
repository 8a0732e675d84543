// The heatmap: rows are what was written, with its end, columns are what was read.
//
// Everything that a copy of the picture needs stands in attributes of the SVG; the style sheet adds only
// what answers to the pointer. A cell is one <rect>, so that long lines stay quick.

import { hex, ink, percent, ramp } from "./colors.js";
import { drawn } from "./dom.js";
import { fit, isolated, spelled, visible, widthOf } from "./labels.js";
import { say } from "./words.js";

const FONT = 'ui-sans-serif, system-ui, "Noto Sans", "Noto Sans CJK SC", sans-serif';
const LABEL = `15px ${FONT}`;
const [SMALLEST, USUAL, ROOMY, WIDEST] = [26, 44, 64, 96];
const LONGEST_LABEL = 150;
const TURN = 50;
const ASIDE = 24; // pixels between pictures

// Sizes in pixels, so that the labels fit and the whole fits `room` if it can.
function measure(source, target, room) {
  const rows = target.map((token) => fit(visible(token), LONGEST_LABEL, LABEL));
  const columns = source.map((token) => fit(visible(token), LONGEST_LABEL, LABEL));
  const widest = Math.max(0, ...columns.map((label) => widthOf(label, LABEL)));
  const left = Math.ceil(Math.max(24, ...rows.map((label) => widthOf(label, LABEL)))) + 14;
  const share = (room - left - 2) / Math.max(1, source.length);
  const upright = widest + 12 <= clamp(share, SMALLEST, WIDEST);
  const width = Math.floor(clamp(share, SMALLEST, upright ? Math.max(ROOMY, widest + 12) : USUAL));
  const lean = (TURN * Math.PI) / 180;
  const top = upright ? 32 : Math.ceil(widest * Math.sin(lean)) + 26;
  // a leaning label reaches beyond its column
  const right = upright ? 2 : Math.ceil(widest * Math.cos(lean));
  return { rows, columns, left, top, right, upright, width, height: target.length > 16 ? 30 : 38 };
}

// Direction kept inside, since SVG knows no dir="auto".
const tokenIn = (label) => ["\u2068", ...spelled(label, drawn, "tspan"), "\u2069"];

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// what = { kind, source, target, weights, shares, pins, changed, room }
export function drawHeatmap(what) {
  const { kind, source, target, weights } = what;
  const size = measure(source, target, what.room);
  const wide = size.left + size.width * source.length + size.right;
  const high = size.top + size.height * target.length + 2;
  const svg = drawn("svg", {
    class: "heatmap",
    width: wide,
    height: high,
    viewBox: `0 0 ${wide} ${high}`,
    "font-family": FONT,
    "font-size": 15,
    role: "grid",
    "aria-label": say(`${kind}Grid`),
    "data-kind": kind,
  });
  const numbers = drawn("g", { "aria-hidden": "true", class: "numbers", "font-size": 12, "text-anchor": "middle" });
  svg.append(header(source, size));
  for (const t of target.keys()) svg.append(row(what, t, size, numbers));
  svg.append(numbers, overlay(size));
  svg.geometry = { ...size, across: source.length, down: target.length };
  if (weights.length !== target.length) throw new RangeError(`${weights.length} rows for ${target.length} tokens`);
  return svg;
}

function header(source, size) {
  const cells = source.map((token, s) => {
    const x = size.left + (s + 0.5) * size.width;
    const y = size.top - 10;
    const turned = size.upright
      ? { "text-anchor": "middle" }
      : { "text-anchor": "start", transform: `rotate(${-TURN} ${x} ${y})` };
    return drawn(
      "g",
      {
        class: "label",
        role: "columnheader",
        tabindex: -1,
        "aria-colindex": s + 2,
        "aria-label": say("sourceHeader", isolated(visible(token))),
        "data-source": s,
      },
      drawn("text", { x, y, fill: "currentColor", ...turned }, ...tokenIn(size.columns[s])),
    );
  });
  return drawn("g", { role: "row" }, ...cells);
}

function row({ kind, source, target, weights, shares, pins, changed }, t, size, numbers) {
  const y = size.top + t * size.height;
  // the last row is the end, whose sign is not to be heard
  const name = isolated(t === target.length - 1 ? say("end") : visible(target[t]));
  const label = drawn(
    "g",
    {
      class: `label${changed.has(t) ? " changed" : ""}`,
      role: "rowheader",
      tabindex: -1,
      "aria-colindex": 1,
      "aria-label": say("targetHeader", name, shares[t]),
      "data-target": t,
    },
    drawn(
      "text",
      { x: size.left - 8, y: y + size.height / 2 + 5, fill: "currentColor", "text-anchor": "end" },
      ...tokenIn(size.rows[t]),
    ),
  );
  const cells = source.map((token, s) => {
    const weight = weights[t][s];
    const color = ramp(weight);
    const x = size.left + s * size.width;
    const pinned = kind === "attention" && pins[t] === s;
    const words = say("cell", name, isolated(visible(token)), weight.toFixed(6));
    if (size.width >= SMALLEST && percent(weight)) {
      const place = { x: x + size.width / 2, y: y + size.height / 2 + 4, fill: hex(ink(color)) };
      numbers.append(drawn("text", place, percent(weight)));
    }
    if (pinned) numbers.append(pinMark(x, y, size, color));
    return drawn("rect", {
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
      "aria-label": pinned ? say("pinnedCell", words) : words,
      "aria-selected": pinned ? "true" : null,
      "data-row": t,
      "data-column": s,
      "data-weight": weight,
    });
  });
  return drawn("g", { role: "row" }, label, ...cells);
}

function pinMark(x, y, size, color) {
  return drawn("circle", { class: "pin", cx: x + size.width - 8, cy: y + 7, r: 3, fill: hex(ink(color)) });
}

// What moves with the pointer and the focus; a copy is taken without it.
function overlay(size) {
  const band = (name) => drawn("rect", { class: name, fill: "none", rx: 3, width: 0, height: 0 });
  return drawn("g", { class: "overlay", "aria-hidden": "true" }, band("band across"), band("band down"), band("cursor"));
}

function place(rect, x, y, width, height) {
  for (const [name, value] of Object.entries({ x, y, width, height })) rect.setAttribute(name, Math.max(0, value));
}

// Draw the bands through a row and a column, either of which may be null.
export function mark(svg, target, source) {
  const { left, top, width, height, across, down } = svg.geometry;
  const [row, column] = [svg.querySelector(".across"), svg.querySelector(".down")];
  if (target === null) place(row, 0, 0, 0, 0);
  else place(row, 1, top + target * height - 1, left + across * width - 1, height + 1);
  if (source === null) place(column, 0, 0, 0, 0);
  else place(column, left + source * width - 1, top - 1, width + 1, down * height + 1);
}

// Put the cursor of the keyboard around a cell or a label.
export function cursor(svg, target, source) {
  const { left, top, width, height, upright, right } = svg.geometry;
  const rect = svg.querySelector(".cursor");
  if (target === null && source === null) return place(rect, 0, 0, 0, 0);
  if (source === null) return place(rect, 2, top + target * height, left - 4, height - 1);
  const reach = upright ? width : Math.min(width + right, width * 2);
  if (target === null) return place(rect, left + source * width, 2, reach, top - 6);
  return place(rect, left + source * width - 1, top + target * height - 1, width + 1, height + 1);
}

// The picture by itself: on white, in black, without what only a page can use.
function standalone(svg) {
  const copy = svg.cloneNode(true);
  copy.querySelector(".overlay").remove();
  for (const node of [copy, ...copy.querySelectorAll("*")]) {
    for (const name of ["tabindex", "role", "class", "aria-colindex", "aria-selected", "aria-hidden"]) {
      node.removeAttribute(name);
    }
  }
  for (const cell of copy.querySelectorAll("[data-weight]")) {
    cell.append(drawn("title", {}, cell.getAttribute("aria-label")));
    cell.removeAttribute("aria-label");
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("color", "#111111");
  copy.setAttribute("role", "img");
  copy.prepend(drawn("rect", { width: "100%", height: "100%", fill: "#ffffff" }));
  return copy;
}

// One picture of one map, or of several side by side.
export function pictured(maps) {
  const copies = maps.map(standalone);
  const whole = copies.length === 1 ? copies[0] : beside(copies);
  return new XMLSerializer().serializeToString(whole);
}

function beside(copies) {
  const size = (name) => copies.map((copy) => Number(copy.getAttribute(name)));
  const [widths, height] = [size("width"), Math.max(...size("height"))];
  for (const [index, copy] of copies.entries()) {
    copy.setAttribute("x", widths.slice(0, index).reduce((sum, width) => sum + width + ASIDE, 0));
  }
  const width = widths.reduce((sum, one) => sum + one + ASIDE, -ASIDE);
  const ground = drawn("rect", { width: "100%", height: "100%", fill: "#ffffff" });
  return drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, ground, ...copies);
}
