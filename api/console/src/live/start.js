// What is shown before a flight: how many workers there are, and the form that starts one.
import { json, pause } from "../api.js";
import { field, h } from "../dom.js";
import { loadContract, loadModels, own, sizes } from "../batch/contract.js";
import { control } from "../batch/parameters.js";

/** startPanel makes the form; onStart takes what is to be sent. */
export function startPanel(onStart) {
  const stop = new AbortController();
  const workers = h("p", { class: "soft", role: "status" }, "Looking for workers…");
  const slot = h("div", {});
  const element = h("div", { class: "start" }, h("div", { class: "panel stack start-panel" }, h("h1", {}, "Fly through a world"), h("p", { class: "soft" }, "It is generated while you steer, with W A S D or the arrows to move and I J K L to look, with the pads on the picture, or with a gamepad."), workers, slot));

  async function watch() {
    while (!stop.signal.aborted) {
      try {
        const health = await json("GET", "/v1/stream/health", undefined, { signal: stop.signal });
        workers.replaceChildren(h("i", { class: `dot ${health.workers_idle ? "" : "busy"}` }), describe(health));
      } catch (error) {
        if (error.code === "streaming_off") return slot.replaceChildren(off());
        workers.textContent = error.message;
      }
      await pause(3000, stop.signal);
    }
  }

  async function load() {
    try {
      await json("GET", "/v1/stream/health", undefined, { signal: stop.signal });
    } catch (error) {
      if (error.code === "streaming_off") {
        workers.remove();
        return slot.replaceChildren(off());
      }
    }
    slot.replaceChildren(form(await loadModels(), onStart));
    await watch();
  }

  load().catch((error) => (workers.textContent = error.message));
  return { element, stop: () => stop.abort() };
}

function describe(health) {
  if (health.workers_total === 0) return "No worker is up; a session would wait for one.";
  const parts = [`${health.workers_idle} of ${health.workers_total} workers idle`];
  if (health.queued_sessions) parts.push(`${health.queued_sessions} sessions waiting`);
  if (health.workers_failed) parts.push(`${health.workers_failed} failed`);
  return parts.join(" · ");
}

function off() {
  return h("div", { class: "stack", id: "streaming-off" }, h("h2", {}, "This server has no live sessions"), h("p", {}, "They need a LiveKit server. On this machine:"), h("pre", {}, "make live"),
    h("p", {}, "starts one, with everything else, and opens this page. In a deployment, give the API the address and the keys of your LiveKit server, and run ", h("code", {}, "telefuser stream-serve"), " beside it; docs/configuration.md has the settings."));
}

function form(models, onStart) {
  let contract = models.standard;
  const prompt = h("textarea", { name: "prompt", rows: 3, maxLength: 32000, placeholder: "Islands in a warm evening sea" });
  const model = h("select", { name: "pipeline", onchange: change }, ...models.names.map((name) => h("option", { value: name }, name)));
  const size = h("select", { name: "size" });
  const fps = h("input", { name: "fps", type: "number", step: "1", inputMode: "numeric" });
  const seed = h("input", { name: "seed", type: "number", min: "0", step: "1", inputMode: "numeric", placeholder: "random" });
  const more = h("div", { class: "stack" });
  const details = h("details", {}, h("summary", {}, "More"), h("div", { class: "grid two" }, field("Size", size), field("Frames a second", fps), field("Seed", seed)), more);
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const submit = h("button", { type: "submit", class: "primary large" }, "Start");

  function show() {
    size.replaceChildren(h("option", { value: "" }, "Default"), ...sizes(contract).map((one) => h("option", { value: one }, one.replace("x", " × "))));
    const rule = contract.parameters.fps;
    [fps.min, fps.max, fps.placeholder] = [rule?.minimum ?? 1, rule?.maximum ?? "", `${rule?.default ?? "default"}`];
    more.replaceChildren(...own(contract, true).filter(([, rule]) => rule.type !== "object").map(([name, rule]) => control(name, rule)));
  }

  async function change() {
    contract = await loadContract(model.value);
    show();
  }

  show();
  return h(
    "form",
    {
      class: "stack",
      async onsubmit(event) {
        event.preventDefault();
        problem.hidden = true;
        submit.disabled = true;
        const values = Object.fromEntries([...new FormData(event.target)].filter(([, value]) => value !== ""));
        try {
          await onStart(values);
        } catch (error) {
          problem.textContent = { no_idle_worker: "No worker is free, and this server keeps no queue.", queue_full: "Too many sessions wait already." }[error.code] ?? error.message;
          problem.hidden = false;
        } finally {
          submit.disabled = false;
        }
      },
    },
    field("Prompt", prompt),
    models.names.length > 1 && field("Model", model),
    details,
    problem,
    submit,
  );
}
