// What could stand here instead, and where this step could look: one menu for a target token.

import { chance, hex, ramp } from "./colors.js";
import { button, byId, element } from "./dom.js";
import { END, visible, spelled } from "./labels.js";
import { focusOn, rove } from "./roving.js";
import { say } from "./words.js";

const EOS = "</s>";
const UNKNOWN = "<unk>";

const menu = byId("menu");
const items = () => [...menu.querySelectorAll("button:not([aria-disabled])")];
let opener = null;

rove(menu, items);
menu.addEventListener("keydown", (event) => {
  if (event.key === "Tab" || event.key === "Escape") {
    event.preventDefault();
    close();
  }
});
menu.addEventListener("toggle", ({ newState }) => {
  if (opener?.hasAttribute("aria-haspopup")) opener.setAttribute("aria-expanded", newState === "open");
});

export function close() {
  if (!menu.matches(":popover-open")) return;
  menu.hidePopover();
  // what opened it may have been drawn anew in the meantime
  const heir = opener?.isConnected ? opener : document.querySelector(`#words [data-target="${opener?.dataset.target}"]`);
  heir?.focus();
}

// about = { at, token, copied, score, candidates, endable, sources, weights, pinned, take(token | null), pin(s | null) }
export function open(about, node) {
  opener = node;
  menu.setAttribute("aria-label", say("menu", about.token === null ? say("end") : visible(about.token)));
  menu.replaceChildren(instead(about), ...(about.weights ? [looks(about)] : []));
  menu.showPopover();
  settle(node);
  focusOn(items(), Math.max(0, items().findIndex((item) => item.getAttribute("aria-checked") === "true")));
}

// Under what was clicked, or wherever there is room for it on a small screen.
function settle(node) {
  menu.style.maxHeight = "";
  const [at, box] = [node.getBoundingClientRect(), menu.getBoundingClientRect()];
  const [width, height] = [document.documentElement.clientWidth, window.innerHeight];
  const [above, below] = [at.top - 14, height - at.bottom - 14];
  const under = below >= Math.min(box.height, 240) || below >= above;
  const tall = Math.max(120, Math.min(box.height, under ? below : above));
  const top = under ? Math.min(at.bottom + 6, height - tall - 8) : at.top - tall - 6;
  menu.style.maxHeight = `${tall}px`;
  menu.style.top = `${Math.max(8, top)}px`;
  menu.style.left = `${Math.max(8, Math.min(at.left, width - box.width - 8))}px`;
}

function instead({ token, copied, score, candidates, endable, take }) {
  // what was copied stands for the unknown symbol; a word that is spelled so is another
  const standing = copied ? UNKNOWN : (token ?? EOS);
  const known = candidates.some(([candidate]) => candidate === standing);
  const all = known ? candidates : [...candidates, [standing, score]];
  const rows = all.map(([candidate, scored]) => {
    const ends = candidate === EOS;
    const current = candidate === standing;
    const barred = !current && (candidate === UNKNOWN || (ends && !endable));
    return item({
      label: ends ? say("endHere") : visible(current ? token : candidate),
      sign: ends ? `${END} ` : "",
      note: barred && !ends ? say("neverWritten") : "",
      share: Math.exp(scored),
      checked: current,
      barred,
      data: { "data-token": candidate, "data-score": scored },
      act: () => current || take(ends ? null : candidate),
    });
  });
  return group(say("instead"), rows);
}

function looks({ sources, weights, pinned, pin }) {
  const rows = sources.map((token, s) =>
    item({
      label: visible(token),
      share: weights[s],
      checked: pinned === s,
      data: { "data-pin": s },
      act: () => pin(pinned === s ? null : s),
    }),
  );
  const free = { label: say("lookFreely"), checked: pinned === null, data: { "data-pin": "free" } };
  rows.unshift(item({ ...free, act: () => pinned === null || pin(null) }));
  return group(say("lookAt"), rows);
}

function group(label, rows) {
  const title = element("p", { class: "small", "aria-hidden": "true" }, label);
  return element("div", { role: "group", "aria-label": label }, title, ...rows);
}

function item({ label, sign = "", note = "", share, checked, barred, data, act }) {
  const bar = element("span", { class: "share", "aria-hidden": "true" });
  if (share !== undefined) {
    bar.style.setProperty("--share", share);
    bar.style.setProperty("--color", hex(ramp(share)));
  }
  return button(
    { role: "menuitemradio", "aria-checked": String(checked), "aria-disabled": barred ? "true" : null, tabindex: -1, ...data },
    () => {
      if (barred) return;
      close();
      act();
    },
    element("span", { dir: "auto", class: "word" }, sign && element("span", { "aria-hidden": "true" }, sign), ...spelled(label)),
    note ? element("span", { class: "note" }, note) : bar,
    element("span", { class: "number" }, share === undefined ? "" : chance(share)),
  );
}
