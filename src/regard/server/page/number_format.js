// Numbers as text.

// Round halves to the even number, as Python does.
export function roundHalfEven(number) {
  const low = Math.floor(number);
  return number - low === 0.5 ? low + (low % 2) : Math.round(number);
}

// A weight in percent; empty if it rounds to 0.
export function percent(weight) {
  const rounded = roundHalfEven(100 * weight);
  return rounded ? String(rounded) : "";
}

// A log probability, with a true minus sign.
export function formatLogProbability(score, digits) {
  const tiny = score !== 0 && Math.abs(score) < 0.5 * 10 ** -digits;
  return (tiny ? score.toPrecision(2) : score.toFixed(digits)).replaceAll("-", "−");
}

// A probability in percent, with more digits if it is small.
export function formatProbability(probability) {
  const percentage = 100 * probability;
  if (percentage >= 9.95) return `${Math.round(percentage)} %`;
  return percentage >= 0.095 ? `${percentage.toFixed(1)} %` : "< 0.1 %";
}
