// The menu of an output token: the alternatives to it, and the source tokens to pin its attention to.

import { hex, ramp } from "./colors.js";
import { button, byId, element } from "./dom.js";
import { message } from "./messages.js";
import { formatProbability } from "./number_format.js";
import { enableRovingTabindex, focusEntry } from "./roving_tabindex.js";
import { END, labelNodes, visible } from "./token_labels.js";

const EOS = "</s>";
const UNKNOWN = "<unk>";

const menu = byId("menu");
const enabledEntries = () => [...menu.querySelectorAll("button:not([aria-disabled])")];
let opener = null;

enableRovingTabindex(menu, enabledEntries);
menu.addEventListener("keydown", (event) => {
  if (event.key === "Tab" || event.key === "Escape") {
    event.preventDefault();
    close();
  }
});
menu.addEventListener("toggle", ({ newState }) => {
  if (opener?.hasAttribute("aria-haspopup")) opener.setAttribute("aria-expanded", newState === "open");
});

function close() {
  if (!menu.matches(":popover-open")) return;
  menu.hidePopover();
  // the opener may have been redrawn in the meantime
  const redrawn = () => document.querySelector(`#tokens [data-target="${opener?.dataset.target}"]`);
  (opener?.isConnected ? opener : redrawn())?.focus();
}

// options = { token, copied, score, candidates, canEnd, source, weights, pinned, replace(token | null), pin(s | null) }
export function openMenu(options, node) {
  opener = node;
  menu.setAttribute("aria-label", message("menu", options.token === null ? message("end") : visible(options.token)));
  menu.replaceChildren(alternatives(options), ...(options.weights ? [pinChoices(options)] : []));
  menu.showPopover();
  position(node);
  const checked = enabledEntries().findIndex((entry) => entry.getAttribute("aria-checked") === "true");
  focusEntry(enabledEntries(), Math.max(0, checked));
}

// Place the menu below the opener, or above it if there is more space.
function position(node) {
  menu.style.maxHeight = "";
  const [anchor, box] = [node.getBoundingClientRect(), menu.getBoundingClientRect()];
  const [width, height] = [document.documentElement.clientWidth, window.innerHeight];
  const [spaceAbove, spaceBelow] = [anchor.top - 14, height - anchor.bottom - 14];
  const below = spaceBelow >= Math.min(box.height, 240) || spaceBelow >= spaceAbove;
  const menuHeight = Math.max(120, Math.min(box.height, below ? spaceBelow : spaceAbove));
  const top = below ? Math.min(anchor.bottom + 6, height - menuHeight - 8) : anchor.top - menuHeight - 6;
  menu.style.maxHeight = `${menuHeight}px`;
  menu.style.top = `${Math.max(8, top)}px`;
  menu.style.left = `${Math.max(8, Math.min(anchor.left, width - box.width - 8))}px`;
}

function alternatives({ token, copied, score, candidates, canEnd, replace }) {
  // a copied token stands for the unknown token; a token with the same spelling is another one
  const currentToken = copied ? UNKNOWN : (token ?? EOS);
  const listed = candidates.some(([candidate]) => candidate === currentToken);
  const all = listed ? candidates : [...candidates, [currentToken, score]];
  const entries = all.map(([candidate, logProbability]) => {
    const ends = candidate === EOS;
    const current = candidate === currentToken;
    const disabled = !current && (candidate === UNKNOWN || (ends && !canEnd));
    return entry({
      label: ends ? message("endHere") : visible(current ? token : candidate),
      sign: ends ? `${END} ` : "",
      note: disabled && !ends ? message("unknownToken") : "",
      probability: Math.exp(logProbability),
      checked: current,
      disabled,
      attributes: { "data-token": candidate, "data-score": logProbability },
      onSelect: () => current || replace(ends ? null : candidate),
    });
  });
  return group(message("alternatives"), entries);
}

function pinChoices({ source, weights, pinned, pin }) {
  const entries = source.map((token, s) =>
    entry({
      label: visible(token),
      probability: weights[s],
      checked: pinned === s,
      attributes: { "data-pin": s },
      onSelect: () => pin(pinned === s ? null : s),
    }),
  );
  const free = { label: message("notPinned"), checked: pinned === null, attributes: { "data-pin": "free" } };
  entries.unshift(entry({ ...free, onSelect: () => pinned === null || pin(null) }));
  return group(message("pinTo"), entries);
}

function group(label, entries) {
  const title = element("p", { class: "small", "aria-hidden": "true" }, label);
  return element("div", { role: "group", "aria-label": label }, title, ...entries);
}

function entry({ label, sign = "", note = "", probability, checked, disabled, attributes, onSelect }) {
  const bar = element("span", { class: "bar", "aria-hidden": "true" });
  if (probability !== undefined) {
    bar.style.setProperty("--fraction", probability);
    bar.style.setProperty("--color", hex(ramp(probability)));
  }
  return button(
    { role: "menuitemradio", "aria-checked": String(checked), "aria-disabled": disabled ? "true" : null, tabindex: -1, ...attributes },
    () => {
      if (disabled) return;
      close();
      onSelect();
    },
    element("span", { dir: "auto", class: "word" }, sign && element("span", { "aria-hidden": "true" }, sign), ...labelNodes(label)),
    note ? element("span", { class: "note" }, note) : bar,
    element("span", { class: "number" }, probability === undefined ? "" : formatProbability(probability)),
  );
}
