// The facts on the picture. Unknown is a dash, never a zero.
import { h, svg } from "../dom.js";

const chunksShown = 48;

const stages = {
  worker_running: "Worker ready",
  runtime_ready: "World ready",
  runtime_created: "Preparing",
  preparing_image: "Preparing the picture",
  encoding_prompt: "Reading the prompt",
  lease_queued: "Waiting for the model",
  lease_granted: "Flying",
  lease_parked: "Parked: another session has the model",
  generating_chunk: "Flying",
  chunk_sent: "Flying",
  reassigning: "Moving to another worker",
  stopping: "Stopping",
};

/** hud makes the facts. They change through its methods. */
export function hud() {
  const values = {};
  const fact = (name, label, title) => {
    values[name] = h("dd", { "data-fact": name }, "–");
    return h("div", { title }, h("dt", {}, label), values[name]);
  };
  const stage = h("span", { class: "stage", role: "status", "data-fact": "stage" }, "Connecting");
  const line = svg("polyline", { class: "spark-line" });
  const budget = svg("line", { class: "spark-budget", x1: 0, x2: 100 });
  const spark = svg("svg", { class: "spark", viewBox: "0 0 100 28", preserveAspectRatio: "none", role: "img", "aria-label": "Time that each chunk took; the dashed line is how long it plays" }, budget, line);
  const made = [];
  const element = h(
    "details",
    { class: "hud", open: true, "aria-label": "Facts" },
    h("summary", { title: "Show or hide the facts" }, stage),
    h("dl", { class: "mono" },
      fact("fps", "FPS", "Frames shown in this browser, over two seconds"),
      fact("latency", "Control", "From sending a control to the answer that a chunk was made with it"),
      fact("chunk", "Chunk", "Number of the last chunk, and its frames"),
      fact("made", "Made in", "Time that the last chunk took, and how long it plays"),
      fact("dropped", "Dropped", "Frames dropped by the server, and by this browser"),
      fact("applied", "Applied", "Controls that the last chunk was made with"),
    ),
    spark,
  );
  let dropped = { server: null, here: null };

  const set = (name, text) => values[name].textContent !== text && (values[name].textContent = text);
  const showDropped = () => set("dropped", dropped.server === null && dropped.here === null ? "–" : `${dropped.server ?? "–"} + ${dropped.here ?? "–"}`);

  function say(text) {
    if (stage.textContent !== text) stage.textContent = text;
  }

  function chunk(data) {
    const seconds = data.pipeline_residence_seconds;
    const frames = data.measurement?.frames ?? data.frames + (data.dropped_frames ?? 0);
    const length = frames && data.output_cadence_seconds ? frames * data.output_cadence_seconds : null;
    set("chunk", `${data.index} · ${frames} f`);
    set("made", `${ms(seconds)} / ${ms(length)}`);
    set("applied", data.controls?.length ? data.controls.join(" ") : "none");
    const server = data.runtime_metrics?.dropped_video_payloads;
    if (Number.isFinite(server)) dropped.server = server;
    showDropped();
    if (!Number.isFinite(seconds) || !length) return;
    made.push(seconds / length);
    if (made.length > chunksShown) made.shift();
    const scale = Math.max(1.1, ...made);
    const y = (share) => (27 - (share / scale) * 26).toFixed(1);
    line.setAttribute("points", made.map((share, i) => `${((i / (chunksShown - 1)) * 100).toFixed(1)},${y(share)}`).join(" "));
    budget.setAttribute("y1", y(1));
    budget.setAttribute("y2", y(1));
  }

  return {
    element,
    say,
    chunk,
    /** status takes the stage of a message on tf.status. */
    status(data) {
      const text = stages[data.stage];
      if (text) say(data.stage === "lease_queued" && data.queue_position ? `${text}, place ${data.queue_position}` : text);
    },
    fps: (value) => set("fps", value === null ? "–" : value.toFixed(1)),
    latency: (value) => set("latency", value === null ? "–" : `${Math.round(value)} ms`),
    droppedHere(value) {
      dropped.here = value;
      showDropped();
    },
  };
}

const ms = (seconds) => (Number.isFinite(seconds) ? `${Math.round(seconds * 1000)} ms` : "–");

const windowMS = 2000;

/** meter counts the frames that a video element shows, and tells once in a while. It answers how to stop. */
export function meter(video, tell) {
  const times = [];
  let stopped = false;
  let total = null;
  let before = null;
  if (video.requestVideoFrameCallback) {
    const count = (now) => {
      if (stopped) return;
      times.push(now);
      video.requestVideoFrameCallback(count);
    };
    video.requestVideoFrameCallback(count);
  }
  const timer = setInterval(() => {
    const now = performance.now();
    while (times.length && times[0] < now - windowMS) times.shift();
    const quality = video.getVideoPlaybackQuality?.();
    let fps = null;
    if (video.requestVideoFrameCallback) fps = times.length < 2 ? 0 : ((times.length - 1) * 1000) / (times.at(-1) - times[0]);
    else if (quality) {
      fps = total === null ? null : ((quality.totalVideoFrames - total) * 1000) / (now - before);
      [total, before] = [quality.totalVideoFrames, now];
    }
    if (times.length && now - times.at(-1) > windowMS / 2) fps = 0;
    tell({ fps, dropped: quality?.droppedVideoFrames ?? null });
  }, 500);
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}
