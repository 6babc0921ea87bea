// What is held, over all devices, and the snapshots that say so.

/** keyOrder are the keys that a camera knows, in the order in which they are sent. */
export const keyOrder = "wasdijkl";

const heartbeatMS = 1000;
const sentMax = 256;

/** controls keeps what each device holds, sends a snapshot at each change and once a second, and measures how long an answer takes. */
export function controls(send) {
  const devices = new Map();
  const sent = new Map();
  let held = "";
  let count = 0;

  function snapshot() {
    const id = `c${++count}`;
    sent.set(id, performance.now());
    if (sent.size > sentMax) sent.delete(sent.keys().next().value);
    send({ version: 1, type: "control_state", id, controls: [...held] });
  }

  const timer = setInterval(snapshot, heartbeatMS);
  const listeners = new Set();

  return {
    /** set says what a device holds now: letters of keyOrder. */
    set(device, keys) {
      devices.set(device, keys);
      const all = [...devices.values()].join("");
      const next = [...keyOrder].filter((key) => all.includes(key)).join("");
      if (next === held) return;
      held = next;
      snapshot();
      for (const listener of listeners) listener(held);
    },
    onHeld: (listener) => listeners.add(listener),
    get held() {
      return held;
    },
    /** note remembers when another message was sent, so that its answer can be timed. */
    note: (id) => sent.set(id, performance.now()),
    /** took is the time since a message was sent, in milliseconds, or null for one that is not ours. */
    took(id) {
      const at = sent.get(id);
      sent.delete(id);
      return at === undefined ? null : performance.now() - at;
    },
    stop: () => clearInterval(timer),
  };
}

const codes = { KeyW: "w", KeyA: "a", KeyS: "s", KeyD: "d", KeyI: "i", KeyJ: "j", KeyK: "k", KeyL: "l", ArrowUp: "w", ArrowDown: "s", ArrowLeft: "a", ArrowRight: "d" };

/** keyboard holds keys by their place, so that it works with every layout; what is typed into a field is not a flight. */
export function keyboard(target, set) {
  const down = new Set();
  const tell = () => set([...down].map((code) => codes[code]).join(""));
  const typing = (event) => event.target.closest?.("input, textarea, select, dialog, [contenteditable]");
  function press(event) {
    if (!codes[event.code] || event.ctrlKey || event.metaKey || event.altKey || typing(event)) return;
    event.preventDefault();
    if (!event.repeat) (down.add(event.code), tell());
  }
  const release = (event) => down.delete(event.code) && tell();
  const clear = () => (down.clear(), tell());
  const hidden = () => document.hidden && clear();
  const away = (event) => typing(event) && clear();
  target.addEventListener("keydown", press);
  target.addEventListener("keyup", release);
  target.addEventListener("focusin", away);
  window.addEventListener("blur", clear);
  document.addEventListener("visibilitychange", hidden);
  return () => {
    target.removeEventListener("keydown", press);
    target.removeEventListener("keyup", release);
    target.removeEventListener("focusin", away);
    window.removeEventListener("blur", clear);
    document.removeEventListener("visibilitychange", hidden);
  };
}

const stickDead = 0.4;

/** gamepad reads the first standard gamepad: the left stick and the cross move, the right stick looks, start resets. */
export function gamepad(set, reset) {
  let frame = 0;
  let started = false;
  function look() {
    frame = 0;
    const pad = [...navigator.getGamepads()].find((one) => one?.connected && one.mapping === "standard");
    if (!pad) return set("");
    const [x, y, u, v] = pad.axes;
    const on = (index) => pad.buttons[index]?.pressed;
    const held = { w: y < -stickDead || on(12), s: y > stickDead || on(13), a: x < -stickDead || on(14), d: x > stickDead || on(15), i: v < -stickDead, k: v > stickDead, j: u < -stickDead, l: u > stickDead };
    set(Object.keys(held).filter((key) => held[key]).join(""));
    if (on(9) && !started) reset();
    started = Boolean(on(9));
    frame = requestAnimationFrame(look);
  }
  const wake = () => (frame ||= requestAnimationFrame(look));
  window.addEventListener("gamepadconnected", wake);
  if ([...(navigator.getGamepads?.() ?? [])].some(Boolean)) wake();
  return () => {
    cancelAnimationFrame(frame);
    window.removeEventListener("gamepadconnected", wake);
  };
}
