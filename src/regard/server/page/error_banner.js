// The error banner: one sentence, which follows the language of the page, and the retry button.

import { byId, element } from "./dom.js";
import { message } from "./messages.js";

const MESSAGES_BY_STATUS = { 0: "unreachable", 503: "stopping", 504: "timeout" };
const INPUT_ERRORS = new Set([413, 422]);

let current = null;

export const hasError = () => current !== null;

// Whether the request itself is wrong; retrying cannot help then.
export const isInputError = ({ status }) => INPUT_ERRORS.has(status);

// Show a notice that is no error; an empty text clears the banner.
export function showNotice(text) {
  current = null;
  byId("error").textContent = text;
  byId("retry").hidden = true;
}

// `reverted`: the refused change has been undone.
export function showError(error, reverted = false) {
  current = { error, reverted };
  redrawError();
  byId("retry").hidden = reverted || isInputError(error);
}

export function redrawError() {
  if (current) byId("error").replaceChildren(...errorNodes(current));
}

function errorNodes({ error: { status, message: detail }, reverted }) {
  if (status in MESSAGES_BY_STATUS) return [message(MESSAGES_BY_STATUS[status])];
  if (!reverted) return markEnglish(message("refused", detail, status), detail);
  // the page adds a second sentence, with the full stop of its language between the two
  const unpunctuated = detail.replace(/\.$/, "");
  return markEnglish(message("reverted", message("refused", unpunctuated, status)), unpunctuated);
}

// The server's own sentence is English, whatever the language of the page.
function markEnglish(text, detail) {
  if (!detail) return [text];
  const start = text.indexOf(detail);
  return [text.slice(0, start), element("span", { lang: "en" }, detail), text.slice(start + detail.length)];
}
