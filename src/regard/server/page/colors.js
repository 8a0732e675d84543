// The color of a weight: dark violet for 0, yellow for 1, monotonically lighter, as in viridis.
// The terminal and the picture files use the same anchors.

import { roundHalfEven } from "./number_format.js";

const ANCHORS = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];

export function ramp(weight) {
  const position = Math.min(Math.max(weight, 0), 1) * (ANCHORS.length - 1);
  const below = Math.min(Math.trunc(position), ANCHORS.length - 2);
  const fraction = position - below;
  return ANCHORS[below].map((low, channel) => roundHalfEven(low + fraction * (ANCHORS[below + 1][channel] - low)));
}

// Black or white, whichever has more contrast (by WCAG 2, the contrasts are equal at luminance 0.1791).
export function ink(color) {
  return luminance(color) > 0.1791 ? [0, 0, 0] : [255, 255, 255];
}

function luminance(color) {
  const [red, green, blue] = color
    .map((channel) => channel / 255)
    .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export const hex = (color) => "#" + color.map((channel) => channel.toString(16).padStart(2, "0")).join("");
