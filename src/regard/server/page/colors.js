// A weight as a color: dark violet for 0, yellow for 1, lighter all the way, as in viridis.
// The anchors are those of the terminal and of the files, so that one weight has one color.

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
  const share = position - below;
  return ANCHORS[below].map((low, part) => even(low + share * (ANCHORS[below + 1][part] - low)));
}

// Black or white, whichever stands out more (the contrasts of WCAG 2 are equal at 0.1791).
export function ink(color) {
  return luminance(color) > 0.1791 ? [0, 0, 0] : [255, 255, 255];
}

function luminance(color) {
  const [red, green, blue] = color
    .map((part) => part / 255)
    .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export const hex = (color) => "#" + color.map((part) => part.toString(16).padStart(2, "0")).join("");

// Halves go to the even number, as they do in Python.
function even(exact) {
  const low = Math.floor(exact);
  return exact - low === 0.5 ? low + (low % 2) : Math.round(exact);
}

// Nothing where it would be 0.
export function percent(weight) {
  const rounded = even(100 * weight);
  return rounded ? String(rounded) : "";
}

// A logarithm for reading, with a true minus.
export function logarithm(score, digits) {
  const tiny = score !== 0 && Math.abs(score) < 0.5 * 10 ** -digits;
  return (tiny ? score.toPrecision(2) : score.toFixed(digits)).replaceAll("-", "−");
}

// A probability for reading: more digits where it is small.
export function chance(probability) {
  const exact = 100 * probability;
  if (exact >= 9.95) return `${Math.round(exact)} %`;
  return exact >= 0.095 ? `${exact.toFixed(1)} %` : "< 0.1 %";
}
