// Copies text to the clipboard and reports whether it worked.

import { byId, element } from "./dom.js";
import { message } from "./messages.js";

// The status of one copy does not apply to the next text.
export const clearCopyStatus = () => showCopyStatus("");
export const showCopyStatus = (text) => (byId("copy-status").textContent = text);

export async function copy(text, successMessage) {
  const success = (await copyByApi(text)) || copyBySelection(text);
  showCopyStatus(message(success ? successMessage : "notCopied"));
}

async function copyByApi(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // missing without https, and not always allowed
    return false;
  }
}

// The older way needs no permission: select a text and copy the selection.
function copyBySelection(text) {
  const focused = document.activeElement;
  const field = element("textarea", { class: "visually-hidden", readonly: true, "aria-hidden": "true" });
  field.value = text;
  document.body.append(field);
  field.select();
  const success = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return success;
}
