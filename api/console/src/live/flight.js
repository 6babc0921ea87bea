// One session, steered from here.
import { json, pause } from "../api.js";
import { dialog, h, icon, randomID, toast } from "../dom.js";
import { controls, gamepad, keyboard } from "./held.js";
import { share } from "./share.js";
import { stage } from "./stage.js";

const ended = new Set(["closed", "failed", "expired"]);
const waiting = { queued: "Waiting for a worker", assigned: "A worker takes it", joining_room: "A worker joins", starting_pipeline: "The world is being prepared" };

/** flight joins a session as its controller, and answers how to leave. onOver is told why it ended, and is called once. */
export function flight(main, ticket, onOver) {
  const path = `/v1/stream/sessions/${encodeURIComponent(ticket.session_id)}`;
  const stop = new AbortController();
  let over = false;
  let joined = false;

  const held = controls((message) => joined && picture.send({ ...message, session_id: ticket.session_id }));
  const picture = stage((device, keys) => held.set(device, keys));
  held.onHeld((keys) => picture.keys.show("held", keys));
  const quit = [held.stop, keyboard(document, (keys) => held.set("keyboard", keys)), gamepad((keys) => held.set("gamepad", keys), reset)];

  const prompt = h("input", { type: "text", "aria-label": "New prompt", placeholder: "Change the world…", maxLength: 8000, autocomplete: "off" });
  const promptForm = h("form", { class: "glass prompt-bar", onsubmit: changePrompt }, prompt, h("button", { type: "submit", "aria-label": "Send the prompt", class: "square" }, icon("up")));
  const button = (sign, label, onclick, extra = "") => h("button", { type: "button", class: `glass ${extra}`, onclick }, icon(sign), h("span", {}, label));
  picture.bar.append(
    promptForm,
    button("remix", "Reset", reset),
    button("share", "Share", () => share(ticket.session_id).catch((error) => toast(error.message, "error"))),
    button("stop", "End", end, "ending"),
  );
  main.append(picture.element);
  picture.element.focus({ preventScroll: true });

  function tell(type, fields = {}) {
    const id = `${type}-${randomID()}`;
    held.note(id);
    picture.send({ version: 1, session_id: ticket.session_id, type, id, ...fields });
  }

  function reset() {
    tell("reset");
  }

  function changePrompt(event) {
    event.preventDefault();
    if (!prompt.value.trim()) return;
    tell("prompt", { prompt: prompt.value.trim() });
    prompt.value = "";
    picture.element.focus({ preventScroll: true });
  }

  async function end() {
    if (!(await dialog({ title: "End the session?", text: "The world is gone for everybody who watches it.", confirm: "End it", danger: true }))) return;
    try {
      await json("DELETE", path);
      finish("The session is over.");
    } catch (error) {
      toast(error.message, "error");
    }
  }

  function finish(note) {
    if (over) return;
    over = true;
    onOver(note);
  }

  function hear(topic, message) {
    if (topic !== "tf.status") return;
    if (message.type === "done") return void refresh(true);
    const data = message.data ?? {};
    if (data.type === "error") return finish(`The session failed: ${message.error ?? data.error}`);
    if (data.stage === "control_applied") {
      const took = held.took(data.control_id);
      if (took !== null && !data.superseded) picture.facts.latency(took);
    }
    if (data.stage === "control_rejected") toast(data.message ?? data.code, "error");
    if (data.stage === "runtime_ready") picture.facts.say("World ready");
  }

  function onState(state) {
    if (state === "reconnecting") picture.facts.say("Connection lost, trying again");
    if (state === "reconnected") picture.facts.say("Connected again");
    if (state === "disconnected") {
      joined = false;
      comeBack();
    }
  }

  /** comeBack enters again with a fresh token, for as long as the session lives. */
  async function comeBack() {
    while (!over && !stop.signal.aborted) {
      if (await refresh(false)) return;
      try {
        const token = await json("POST", `${path}/tokens`, { identity: ticket.controller ?? controller, role: "controller" });
        return await enter(token);
      } catch (error) {
        picture.facts.say(`Not connected: ${error.message}`);
      }
      await pause(2000, stop.signal);
    }
  }

  let controller = ticket.controller;

  /** refresh reads the record, and answers whether the session is over. */
  async function refresh(expected) {
    let session;
    try {
      session = await json("GET", path, undefined, { signal: stop.signal });
    } catch (error) {
      if (error.status === 404) finish("The session is over.");
      return over || stop.signal.aborted;
    }
    controller = session.controller;
    if (ended.has(session.status)) finish(session.message ?? "The session is over.");
    else if (waiting[session.status]) {
      const place = session.queue_position ? `, place ${session.queue_position}` : "";
      picture.facts.say(`${waiting[session.status]}${place}`);
    } else if (expected) picture.facts.say("The last frame was sent");
    picture.element.dataset.status = session.status;
    return over;
  }

  async function watchRecord() {
    while (!over && !stop.signal.aborted) {
      if (await refresh(false)) return;
      await pause(picture.element.dataset.status === "running" ? 10000 : 1000, stop.signal);
    }
  }

  async function enter(token) {
    await picture.enter({ url: token.livekit_url, token: token.token, onMessage: hear, onState });
    joined = true;
  }

  enter(ticket).catch(() => !over && comeBack());
  watchRecord();
  return () => {
    over = true;
    stop.abort();
    for (const one of quit) one();
    picture.leave();
  };
}
