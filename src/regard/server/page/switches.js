// Language and colors: what the browser prefers, unless somebody chose otherwise here.

import { byId } from "./dom.js";
import { preferred, say, speak, speaks } from "./words.js";

// a browser may forbid keeping things; the choice then lasts as long as the page
function kept(name) {
  try {
    return localStorage.getItem(`regard.${name}`);
  } catch {
    return null;
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(`regard.${name}`, value);
  } catch {
    // nothing is lost but the memory of it
  }
}

export function prepareSwitches(onLanguage) {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const shine = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    byId("theme").setAttribute("aria-pressed", String((theme ?? (dark.matches ? "dark" : "light")) === "dark"));
  };
  dark.addEventListener("change", () => shine(kept("theme")));
  byId("theme").addEventListener("click", () => {
    const theme = byId("theme").getAttribute("aria-pressed") === "true" ? "light" : "dark";
    keep("theme", theme);
    shine(theme);
  });
  shine(kept("theme"));

  const talk = (language) => {
    speak(language);
    byId("language").textContent = say("otherLanguage");
    byId("language").lang = language === "zh" ? "en" : "zh-Hans";
  };
  byId("language").addEventListener("click", () => {
    const language = speaks() === "zh" ? "en" : "zh";
    keep("language", language);
    talk(language);
    onLanguage();
  });
  talk(kept("language") ?? preferred());
}
