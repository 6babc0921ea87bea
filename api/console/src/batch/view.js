// The view of videos: the form, and the list with its pages.
import { json } from "../api.js";
import { h } from "../dom.js";
import { card } from "./card.js";
import { loadModels } from "./contract.js";
import { follower } from "./follow.js";
import { createForm } from "./form.js";

const pageSize = 12;

const examples = ["Low flight over snowy ridges at dawn", "Islands in a warm evening sea", "Red desert canyon at noon", "Autumn forest hills in the mist"];

/** videosView fills main and answers how to leave. */
export function videosView(main) {
  const cards = new Map();
  let last = null;
  let gone = false;
  const aside = h("div", { class: "aside" });
  const list = h("div", { class: "cards", role: "feed", "aria-label": "Videos" });
  const empty = h("div", { class: "empty stack", hidden: true }, h("h2", {}, "Nothing here yet"), h("p", { class: "soft" }, "Describe a video and it appears here while it is made. Or begin with one of these:"),
    h("div", { class: "row examples" }, ...examples.map((text) => h("button", { type: "button", class: "example", onclick: () => begin(text) }, text))));
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const more = h("button", { type: "button", class: "wide", hidden: true, onclick: () => page().catch(complain) }, "Older videos");
  main.append(h("div", { class: "videos" }, aside, h("section", { "aria-label": "Videos" }, problem, empty, list, more)));

  const follow = follower((video) => cards.get(video.id)?.update(video), removed);
  const act = {
    created(video) {
      add(video, true);
      list.firstElementChild?.scrollIntoView({ block: "nearest" });
      follow.follow(video);
    },
    deleted: removed,
  };

  function begin(text) {
    const prompt = aside.querySelector("[name=prompt]");
    if (!prompt) return;
    prompt.value = text;
    prompt.focus();
  }

  function complain(error) {
    problem.textContent = error.message;
    problem.hidden = false;
  }

  function removed(id) {
    cards.get(id)?.dispose();
    cards.delete(id);
    empty.hidden = cards.size > 0;
  }

  function add(video, first) {
    if (gone || cards.has(video.id)) return;
    const one = card(video, act);
    cards.set(video.id, one);
    if (first) list.prepend(one.element);
    else list.append(one.element);
    empty.hidden = true;
  }

  async function page() {
    more.disabled = true;
    try {
      const query = new URLSearchParams({ limit: pageSize, ...(last && { after: last }) });
      const answer = await json("GET", `/v1/videos?${query}`);
      problem.hidden = true;
      for (const video of answer.data) {
        add(video, false);
        follow.follow(video);
      }
      last = answer.last_id ?? last;
      more.hidden = !answer.has_more;
      empty.hidden = cards.size > 0;
    } finally {
      more.disabled = false;
    }
  }

  async function load() {
    const models = await loadModels();
    if (gone) return;
    aside.append(createForm(models, act.created));
    await page();
  }

  load().catch(complain);
  return () => {
    gone = true;
    follow.stop();
    for (const one of cards.values()) one.dispose();
  };
}
