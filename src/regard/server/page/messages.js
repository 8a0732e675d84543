// Every text of the page, in English and in Chinese.
//
// A text is a string, or a function of what it contains. In the HTML, `data-message` names the text of an
// element, `data-message-label` its aria-label and `data-message-placeholder` its placeholder. A name that ends
// with Touch replaces the name before it where there is no mouse.

import { ENGLISH } from "./messages_en.js";
import { CHINESE } from "./messages_zh.js";

const LANGUAGES = { en: ENGLISH, zh: CHINESE };
let language = "en";

export const currentLanguage = () => language;

export const touchScreen = window.matchMedia("(pointer: coarse)");

export function message(name, ...parts) {
  const texts = LANGUAGES[language];
  const text = (touchScreen.matches && texts[`${name}Touch`]) || texts[name];
  return typeof text === "function" ? text(...parts) : text;
}

export function browserLanguage() {
  return (navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en";
}

// Translate everything in the HTML; what scripts draw must be drawn again.
export function setLanguage(name) {
  language = name in LANGUAGES ? name : "en";
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  for (const node of document.querySelectorAll("[data-message]")) node.textContent = message(node.dataset.message);
  for (const node of document.querySelectorAll("[data-message-label]")) {
    node.setAttribute("aria-label", message(node.dataset.messageLabel));
  }
  for (const node of document.querySelectorAll("[data-message-placeholder]")) {
    node.placeholder = message(node.dataset.messagePlaceholder);
  }
}
