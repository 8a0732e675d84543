// Small maps on a canvas: one pixel per weight, or a line per weight.

import { ramp } from "./colors.js";

const LINES_SIZE = 64;
const LINES_MARGIN = 4;
const LINE_COLOR = "#6a83cf"; // visible on light and on dark, since a canvas does not follow the theme

// The style sheet enlarges the pixels without smoothing them.
export function drawThumbnail(canvas, map, view) {
  if (view === "lines") drawSmallLines(canvas, map);
  else drawPixels(canvas, map);
}

function drawPixels(canvas, map) {
  [canvas.width, canvas.height] = [Math.max(1, map[0].length), Math.max(1, map.length)];
  const context = canvas.getContext("2d");
  const picture = context.createImageData(canvas.width, canvas.height);
  for (const [index, weight] of map.flat().entries()) picture.data.set([...ramp(weight), 255], 4 * index);
  context.putImageData(picture, 0, 0);
}

function drawSmallLines(canvas, map) {
  [canvas.width, canvas.height] = [LINES_SIZE, LINES_SIZE];
  const context = canvas.getContext("2d");
  context.strokeStyle = LINE_COLOR;
  const place = (index, count) => LINES_MARGIN + ((index + 0.5) * (LINES_SIZE - 2 * LINES_MARGIN)) / count;
  for (const [query, row] of map.entries()) {
    for (const [key, weight] of row.entries()) {
      context.globalAlpha = Math.min(1, weight);
      context.beginPath();
      context.moveTo(LINES_MARGIN, place(query, map.length));
      context.lineTo(LINES_SIZE - LINES_MARGIN, place(key, row.length));
      context.stroke();
    }
  }
}
