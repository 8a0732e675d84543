// Copies for elsewhere, and a word on whether it worked.

import { byId, element } from "./dom.js";
import { say } from "./words.js";

// What was said of another text is not true of this one.
export const forgetCopy = () => (byId("copied").textContent = "");

export async function copy(text, spoken) {
  const done = (await offered(text)) || selected(text);
  byId("copied").textContent = say(done ? spoken : "notCopied");
}

async function offered(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // not there without https, and not always allowed
    return false;
  }
}

// The old way, which asks nobody: select a text and copy the selection.
function selected(text) {
  const focused = document.activeElement;
  const holder = element("textarea", { class: "unseen", readonly: true, "aria-hidden": "true" });
  holder.value = text;
  document.body.append(holder);
  holder.select();
  const done = document.execCommand("copy");
  holder.remove();
  focused?.focus();
  return done;
}
