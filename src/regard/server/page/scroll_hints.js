// Scroll hints: a box that is wider than its place fades at the edge behind which there is more.

const resized = new ResizeObserver((entries) => entries.forEach(({ target }) => update(target)));

export function showScrollHints(scroller) {
  scroller.addEventListener("scroll", () => update(scroller), { passive: true });
  resized.observe(scroller);
  update(scroller);
}

function update(scroller) {
  const hidden = scroller.scrollWidth - scroller.clientWidth;
  const position = Math.abs(scroller.scrollLeft);
  const before = hidden > 1 && position > 1;
  const after = hidden > 1 && position < hidden - 1;
  scroller.classList.toggle("more-before", before);
  scroller.classList.toggle("more-after", after);
  const hint = scroller.parentNode.querySelector(".scroll-hint");
  if (hint) hint.hidden = hidden <= 1;
}
