// One stop of the Tab key for a row of things; the arrow keys go on from there.

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

// `items()` is asked anew each time: what is listed may have been drawn anew
export function rove(container, items) {
  container.addEventListener("keydown", (event) => {
    const all = items();
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    let next = event.key in STEPS ? at + STEPS[event.key] * direction(container, event.key) : null;
    if (event.key === "Home") next = 0;
    if (event.key === "End") next = all.length - 1;
    if (next === null) return;
    event.preventDefault();
    focusOn(all, (next + all.length) % all.length);
  });
  container.addEventListener("focusin", (event) => {
    const all = items();
    if (all.includes(event.target)) makeStop(all, all.indexOf(event.target));
  });
}

export function makeStop(all, at) {
  for (const [index, item] of all.entries()) item.tabIndex = index === at ? 0 : -1;
}

export function focusOn(all, at) {
  if (!all.length) return;
  const index = Math.min(Math.max(at, 0), all.length - 1);
  makeStop(all, index);
  all[index].focus();
}

// In Arabic the next word stands to the left.
function direction(container, key) {
  const sideways = key === "ArrowLeft" || key === "ArrowRight";
  return sideways && getComputedStyle(container).direction === "rtl" ? -1 : 1;
}
