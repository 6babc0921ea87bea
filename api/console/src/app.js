// The page: which view is shown, the theme, the key, the load of the server.
import { askKey, json, key } from "./api.js";
import { h, icon, toast } from "./dom.js";
import { videosView } from "./batch/view.js";
import { liveView } from "./live/view.js";
import { watchView } from "./live/watch.js";

const main = document.getElementById("main");
let leave = () => {};
let shown = "";

function route() {
  const hash = location.hash.slice(1);
  const name = hash.startsWith("watch=") ? hash : hash === "live" ? "live" : "videos";
  if (name === shown || hash === "main") return;
  shown = name;
  leave();
  main.replaceChildren();
  document.body.dataset.view = name.startsWith("watch=") ? "watch" : name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (name.startsWith("watch=")) leave = watchView(main, name.slice("watch=".length));
  else leave = name === "live" ? liveView(main) : videosView(main);
}

const themes = ["auto", "light", "dark"];
const themeButton = document.getElementById("theme");

function showTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  themeButton.replaceChildren(icon({ auto: "half", light: "sun", dark: "moon" }[theme]));
  themeButton.setAttribute("aria-label", `Colours: ${theme}. Change.`);
  themeButton.title = `Colours: ${theme}`;
}

function storedTheme() {
  const stored = localStorage.getItem("telefuser.theme");
  return themes.includes(stored) ? stored : "auto";
}

themeButton.addEventListener("click", () => {
  const next = themes[(themes.indexOf(storedTheme()) + 1) % themes.length];
  localStorage.setItem("telefuser.theme", next);
  showTheme(next);
});

const keyButton = document.getElementById("key");
const showKey = () => (keyButton.hidden = !key.get());
keyButton.addEventListener("click", async () => {
  key.set("");
  showKey();
  if (await askKey("The old key is forgotten. Enter another, or close this.")) toast("The new key is in use.");
});
document.addEventListener("telefuser:key", () => {
  showKey();
  shown = "";
  route();
});

// The load is a courtesy: where it cannot be had, nothing is shown and nothing is said.
async function showLoad() {
  const load = document.getElementById("load");
  try {
    if (document.hidden || document.body.dataset.view === "watch") return;
    const status = await json("GET", "/v1/service/status", undefined, { quiet: true });
    const parts = [`${status.processing_count} running`, `${status.pending_tasks} waiting`];
    load.replaceChildren(h("i", { class: `dot ${status.service_status}` }), parts.join(" · "));
  } catch {
    load.replaceChildren();
  } finally {
    setTimeout(showLoad, 5000);
  }
}

showTheme(storedTheme());
showKey();
window.addEventListener("hashchange", route);
route();
showLoad();
