// A pad of four keys on the picture: a joystick for fingers, buttons for everything else, and the place where applied controls are shown.
import { h } from "../dom.js";

const dead = 0.22;

/** pad makes one; keys are those of up, left, down and right. Without set it only shows. */
export function pad(name, keys, labels, set) {
  const [up, left, down, right] = keys;
  const buttons = new Map();
  const pressed = new Set();
  for (const [index, key] of [...keys].entries()) {
    const cap = h(set ? "button" : "span", { type: set ? "button" : undefined, class: `cap cap-${index}`, "data-key": key, "aria-label": set ? labels[index] : undefined, tabIndex: set ? 0 : undefined },
      h("b", {}, key.toUpperCase()), h("small", { "aria-hidden": "true" }, labels[index].replace("Turn l", "L").replace("Turn r", "R")));
    buttons.set(key, cap);
  }
  const element = h("div", { class: "pad", role: "group", "aria-label": name }, ...buttons.values());
  if (set) {
    const tell = () => set([...pressed].join(""));
    let pointer = null;
    const steer = (event) => {
      const box = element.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * 2 - 1;
      const y = ((event.clientY - box.top) / box.height) * 2 - 1;
      pressed.clear();
      if (Math.hypot(x, y) >= dead) {
        const angle = Math.atan2(-y, x);
        if (Math.sin(angle) > 0.38) pressed.add(up);
        if (Math.sin(angle) < -0.38) pressed.add(down);
        if (Math.cos(angle) > 0.38) pressed.add(right);
        if (Math.cos(angle) < -0.38) pressed.add(left);
      }
      tell();
    };
    const end = (event) => {
      if (event.pointerId !== pointer) return;
      pointer = null;
      pressed.clear();
      tell();
    };
    element.addEventListener("pointerdown", (event) => {
      if (pointer !== null || event.button !== 0) return;
      event.preventDefault();
      pointer = event.pointerId;
      element.setPointerCapture(pointer);
      steer(event);
    });
    element.addEventListener("pointermove", (event) => event.pointerId === pointer && steer(event));
    for (const type of ["pointerup", "pointercancel", "lostpointercapture"]) element.addEventListener(type, end);
    element.addEventListener("contextmenu", (event) => event.preventDefault());
    for (const [key, cap] of buttons) {
      const tap = (event) => event.key === "Enter" || event.key === " ";
      cap.addEventListener("keydown", (event) => tap(event) && (event.preventDefault(), pressed.add(key), tell()));
      cap.addEventListener("keyup", (event) => tap(event) && (pressed.delete(key), tell()));
      cap.addEventListener("blur", () => pressed.delete(key) && tell());
    }
  }
  return {
    element,
    show(kind, held) {
      for (const [key, cap] of buttons) cap.classList.toggle(kind, held.includes(key));
    },
  };
}

/** pads are the two of a flight. */
export function pads(set) {
  const move = pad("Move", "wasd", ["Forward", "Left", "Back", "Right"], set && ((keys) => set("move pad", keys)));
  const look = pad("Look", "ijkl", ["Up", "Turn left", "Down", "Turn right"], set && ((keys) => set("look pad", keys)));
  return {
    element: h("div", { class: "pads" }, move.element, look.element),
    show(kind, held) {
      move.show(kind, held);
      look.show(kind, held);
    },
  };
}
