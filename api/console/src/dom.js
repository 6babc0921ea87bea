// Small hands for the document: no text ever becomes markup here.

/** h makes an element. Properties that begin with "on" are listeners, "class", "data-*" and "aria-*" are attributes, the rest are properties. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class" || name.includes("-") || name === "for" || name === "list" || name === "role") element.setAttribute(name, value === true ? "" : value);
    else element[name] = value;
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** svg makes an element of a drawing. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** icon draws one of the few signs that buttons have; the button's text says what it means. */
export function icon(name) {
  const shapes = {
    play: "M8 5l11 7-11 7z",
    down: "M12 4v11m-5-5l5 5 5-5M5 20h14",
    remix: "M4 12a8 8 0 0 1 14-5l2 2m0-5v5h-5M20 12a8 8 0 0 1-14 5l-2-2m0 5v-5h5",
    extend: "M4 12h12m-5-5l5 5-5 5M20 5v14",
    bin: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
    dice: "M5 5h14v14H5zM9 9h.01M15 15h.01M15 9h.01M9 15h.01",
    up: "M12 19V6m-6 6l6-6 6 6",
    share: "M12 15V4m-4 4l4-4 4 4M5 13v7h14v-7",
    stop: "M6 6h12v12H6z",
    sound: "M4 9v6h4l5 4V5L8 9zM16 8.5a5 5 0 0 1 0 7M18.5 6a8.5 8.5 0 0 1 0 12",
    half: "M12 3a9 9 0 0 0 0 18zM12 3a9 9 0 0 1 0 18",
    sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2m0 16v2M2 12h2m16 0h2M5 5l1.4 1.4m11.2 11.2L19 19M5 19l1.4-1.4M17.6 6.4L19 5",
    moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  };
  return svg("svg", { viewBox: "0 0 24 24", class: `icon icon-${name}`, "aria-hidden": "true" }, svg("path", { d: shapes[name] }));
}

/** toast says something in passing; kind is "info" or "error". */
export function toast(text, kind = "info") {
  const element = h("p", { class: `toast ${kind}` }, text);
  const box = document.getElementById("toasts");
  while (box.children.length > 3) box.firstChild.remove();
  box.append(element);
  setTimeout(() => element.remove(), kind === "error" ? 9000 : 4000);
}

/** dialog shows a modal form and answers its values, or null when it was left. fields are elements; the form is valid when it closes. */
export function dialog({ title, text, fields = [], confirm = "OK", danger = false }) {
  return new Promise((resolve) => {
    const id = `dialog-${randomID()}`;
    const form = h(
      "form",
      { method: "dialog", class: "stack" },
      h("h2", { id }, title),
      text && h("p", { class: "soft" }, text),
      ...fields,
      h("div", { class: "row end" }, h("button", { type: "button", class: "quiet", onclick: () => box.close("") }, "Cancel"),
        h("button", { type: "submit", value: "yes", class: danger ? "danger" : "primary" }, confirm)),
    );
    const box = h("dialog", { "aria-labelledby": id }, form);
    box.addEventListener("close", () => {
      const values = Object.fromEntries(new FormData(form));
      box.remove();
      resolve(box.returnValue === "yes" ? values : null);
    });
    document.body.append(box);
    box.showModal();
  });
}

/** field puts a label above a control. */
export function field(label, control, hint) {
  control.id ||= `f-${randomID()}`;
  const children = [h("label", { for: control.id }, label), control];
  if (hint) {
    const help = h("small", { id: `${control.id}-hint` }, hint);
    control.setAttribute("aria-describedby", help.id);
    children.push(help);
  }
  return h("div", { class: "field" }, ...children);
}

/** randomID works on pages that are no secure context too. */
export function randomID() {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
