// Roving tabindex: a list of entries is one Tab stop; the arrow keys move inside.

const ARROWS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

// `entries()` is called for each event, since the list may have been redrawn
export function enableRovingTabindex(container, entries) {
  container.addEventListener("keydown", (event) => {
    const all = entries();
    const index = all.indexOf(document.activeElement);
    if (index < 0) return;
    let next = event.key in ARROWS ? index + ARROWS[event.key] * direction(container, event.key) : null;
    if (event.key === "Home") next = 0;
    if (event.key === "End") next = all.length - 1;
    if (next === null) return;
    event.preventDefault();
    focusEntry(all, (next + all.length) % all.length);
  });
  container.addEventListener("focusin", (event) => {
    const all = entries();
    if (all.includes(event.target)) setTabStop(all, all.indexOf(event.target));
  });
}

export function setTabStop(entries, stop) {
  for (const [index, entry] of entries.entries()) entry.tabIndex = index === stop ? 0 : -1;
}

export function focusEntry(entries, position) {
  if (!entries.length) return;
  const index = Math.min(Math.max(position, 0), entries.length - 1);
  setTabStop(entries, index);
  entries[index].focus();
}

// From right to left, as in Arabic, the next entry is on the left.
function direction(container, key) {
  const horizontal = key === "ArrowLeft" || key === "ArrowRight";
  return horizontal && getComputedStyle(container).direction === "rtl" ? -1 : 1;
}
