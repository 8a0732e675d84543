// What went wrong, in one sentence that changes its language with the page.

import { byId, element } from "./dom.js";
import { say } from "./words.js";

const KNOWN_PROBLEMS = { 0: "unreachable", 503: "stopping", 504: "late" };
const HOPELESS = new Set([413, 422]);

let told = null;

export const standing = () => told !== null;

// Whether it was what was asked that the server did not take.
export const declined = ({ status }) => HOPELESS.has(status);

// A sentence that is no trouble, or none at all.
export function note(text) {
  told = null;
  byId("problem").textContent = text;
  byId("again").hidden = true;
}

// `undone` says that the change which was refused has been taken back.
export function report(problem, undone = false) {
  told = { problem, undone };
  retell();
  byId("again").hidden = undone || declined(problem);
}

export function retell() {
  if (told) byId("problem").replaceChildren(...sentence(told));
}

function sentence({ problem: { status, message }, undone }) {
  if (status in KNOWN_PROBLEMS) return [say(KNOWN_PROBLEMS[status])];
  const refused = say("refused", message, status);
  return inEnglish(undone ? say("undone", refused) : refused, message);
}

// A server speaks English, whatever the page speaks.
function inEnglish(text, message) {
  if (!message) return [text];
  const at = text.indexOf(message);
  return [text.slice(0, at), element("span", { lang: "en" }, message), text.slice(at + message.length)];
}
