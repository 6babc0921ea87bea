// One video of the list.
import { blobURL, json } from "../api.js";
import { dialog, field, h, icon, toast } from "../dom.js";

const words = { queued: "Waiting", in_progress: "Running", completed: "Done", failed: "Failed" };

// Where a video's shape differs from its card's by no more than this, it fills the card and loses its edge.
const cropMax = 1.28;
const cardShape = 16 / 9;

/** card shows a video. act is told of new videos and of deleted ones. */
export function card(video, act) {
  const stop = new AbortController();
  const urls = [];
  let drawn = "";
  const frame = h("div", { class: "frame" });
  const status = h("span", { class: "chip" });
  const bar = h("progress", { max: 100, "aria-label": "Progress" });
  const prompt = h("p", { class: "prompt" });
  const facts = h("p", { class: "facts mono soft" });
  const buttons = h("div", { class: "row actions" });
  const element = h("article", { class: "card", "data-id": video.id }, frame, h("div", { class: "card-body" }, prompt, facts, bar, buttons));

  function update(next) {
    video = next;
    element.dataset.status = video.status;
    status.className = `chip ${video.status}`;
    status.textContent = words[video.status] + (video.status === "queued" && video.queue_position ? `, place ${video.queue_position}` : "") + (video.status === "in_progress" ? ` ${video.progress} %` : "");
    bar.hidden = video.status === "completed" || video.status === "failed";
    if (video.status === "queued") bar.removeAttribute("value");
    else bar.value = video.progress;
    prompt.textContent = video.error ? `${video.error.message}` : video.prompt ?? "";
    prompt.title = video.prompt ?? "";
    facts.textContent = [video.size.replace("x", "×"), `${Number(Number(video.seconds).toFixed(2))} s`, video.fps && `${video.fps} fps`, video.seed !== undefined && `seed ${video.seed}`].filter(Boolean).join(" · ");
    if (drawn === video.status) return;
    drawn = video.status;
    draw();
  }

  function draw() {
    const [width, height] = video.size.split("x").map(Number);
    const shape = width / height;
    frame.classList.toggle("fill", Math.max(shape / cardShape, cardShape / shape) <= cropMax);
    frame.replaceChildren(status);
    buttons.replaceChildren();
    if (video.status === "completed") {
      const image = h("img", { alt: "", loading: "lazy" });
      frame.append(image, h("button", { type: "button", class: "play", "aria-label": `Play: ${video.prompt ?? video.id}`, onclick: play }, icon("play")));
      watchVisible(() => thumbnail(image));
      buttons.append(
        button("down", "Download", download),
        button("remix", "Remix", remix),
        button("extend", "Extend", extend),
      );
    }
    const bin = button("bin", "", remove, "push square");
    bin.setAttribute("aria-label", "Delete");
    bin.title = "Delete";
    buttons.append(bin);
  }

  function button(sign, label, onclick, extra = "") {
    return h("button", { type: "button", class: `quiet small ${extra}`, onclick: () => onclick().catch(report) }, icon(sign), label);
  }

  const report = (error) => error.name !== "AbortError" && toast(error.message, "error");
  const path = `/v1/videos/${encodeURIComponent(video.id)}`;

  function watchVisible(then) {
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      then();
    }, { rootMargin: "200px" });
    observer.observe(element);
    stop.signal.addEventListener("abort", () => observer.disconnect());
  }

  async function fetched(query = "") {
    const url = await blobURL(`${path}/content${query}`, stop.signal);
    urls.push(url);
    return url;
  }

  async function thumbnail(image) {
    try {
      image.src = await fetched("?variant=thumbnail");
    } catch {
      image.remove(); // the picture is a courtesy
    }
  }

  async function play() {
    const label = frame.querySelector(".play");
    label.disabled = true;
    try {
      const player = h("video", { src: await fetched(), controls: true, loop: true, playsInline: true, autoplay: true, muted: true, "aria-label": video.prompt ?? "Video" });
      frame.replaceChildren(player);
      player.focus();
    } catch (error) {
      label.disabled = false;
      report(error);
    }
  }

  async function download() {
    const link = h("a", { href: await fetched(), download: `${video.id}.mp4` });
    document.body.append(link);
    link.click();
    link.remove();
  }

  async function remix() {
    const text = h("textarea", { name: "prompt", rows: 4, required: true, maxLength: 32000, value: video.prompt ?? "" });
    const values = await dialog({ title: "Remix", text: "The same video again, with another prompt.", fields: [field("Prompt", text)], confirm: "Remix" });
    if (values) act.created(await json("POST", `${path}/remix`, { prompt: values.prompt }));
  }

  async function extend() {
    const text = h("textarea", { name: "prompt", rows: 3, required: true, maxLength: 32000, value: video.prompt ?? "" });
    const seconds = h("input", { name: "seconds", type: "number", min: "1", max: "120", step: "1", required: true, value: "4" });
    const values = await dialog({ title: "Extend", text: "The video goes on after its last frame.", fields: [field("Prompt", text), field("Seconds to add", seconds)], confirm: "Extend" });
    if (values) act.created(await json("POST", "/v1/videos/extensions", { prompt: values.prompt, seconds: values.seconds, video: { id: video.id } }));
  }

  async function remove() {
    const running = video.status === "queued" || video.status === "in_progress";
    if (!(await dialog({ title: running ? "Stop and delete?" : "Delete?", text: "The video and its files are gone then.", confirm: "Delete", danger: true }))) return;
    await json("DELETE", path);
    act.deleted(video.id);
  }

  update(video);
  return {
    element,
    update,
    get video() {
      return video;
    },
    dispose() {
      stop.abort();
      for (const url of urls) URL.revokeObjectURL(url);
      element.remove();
    },
  };
}
