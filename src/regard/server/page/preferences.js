// Language and color theme: the browser's preference, unless the reader selected another one here.

import { byId } from "./dom.js";
import { browserLanguage, currentLanguage, message, setLanguage } from "./messages.js";

// without permission to store, a selection lasts until the page is closed
function load(name) {
  try {
    return localStorage.getItem(`regard.${name}`);
  } catch {
    return null;
  }
}

function store(name, preference) {
  try {
    localStorage.setItem(`regard.${name}`, preference);
  } catch {
    // only the next visit is affected
  }
}

export function preparePreferences(onLanguageChange) {
  const darkSchemeQuery = window.matchMedia("(prefers-color-scheme: dark)");
  const applyTheme = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    const isDark = (theme ?? (darkSchemeQuery.matches ? "dark" : "light")) === "dark";
    byId("theme").setAttribute("aria-pressed", String(isDark));
  };
  darkSchemeQuery.addEventListener("change", () => applyTheme(load("theme")));
  byId("theme").addEventListener("click", () => {
    const theme = byId("theme").getAttribute("aria-pressed") === "true" ? "light" : "dark";
    store("theme", theme);
    applyTheme(theme);
  });
  applyTheme(load("theme"));

  const applyLanguage = (language) => {
    setLanguage(language);
    byId("language").textContent = message("otherLanguage");
    byId("language").lang = language === "zh" ? "en" : "zh-Hans";
  };
  byId("language").addEventListener("click", () => {
    const language = currentLanguage() === "zh" ? "en" : "zh";
    store("language", language);
    applyLanguage(language);
    onLanguageChange();
  });
  applyLanguage(load("language") ?? browserLanguage());
}
