// The form that makes a video.
import { Problem, json } from "../api.js";
import { field, h, icon, randomID } from "../dom.js";
import { loadContract, own, sizes } from "./contract.js";
import { control } from "./parameters.js";
import { picture } from "./picture.js";

/** createForm makes the form; onCreated takes each new video. */
export function createForm(models, onCreated) {
  let contract = models.standard;
  const shot = picture(() => showSizes());
  const prompt = h("textarea", { name: "prompt", rows: 4, required: true, maxLength: 32000, placeholder: "Low flight over snowy ridges at dawn" });
  const model = h("select", { name: "model", onchange: changeModel }, ...models.names.map((name) => h("option", { value: name }, name)));
  const size = h("select", { name: "size", onchange: () => showOther() });
  const other = h("input", { name: "other", type: "text", pattern: "[0-9]{2,4}x[0-9]{2,4}", placeholder: "960x540", title: "WIDTHxHEIGHT, such as 960x540" });
  const otherField = field("Width x height", other);
  const length = h("input", { name: "duration", type: "number", min: "1", step: "1", inputMode: "numeric" });
  const unit = h("select", { name: "unit", "aria-label": "Unit of the length", onchange: () => showLength() }, h("option", { value: "seconds" }, "seconds"), h("option", { value: "num_frames" }, "frames"));
  const fps = h("input", { name: "fps", type: "number", step: "1", inputMode: "numeric" });
  const seed = h("input", { name: "seed", type: "number", step: "1", min: "0", inputMode: "numeric", placeholder: "random" });
  const roll = h("button", { type: "button", class: "quiet square", "aria-label": "Draw a seed", title: "Draw a seed", onclick: () => (seed.value = crypto.getRandomValues(new Uint32Array(1))[0] >>> 1) }, icon("dice"));
  const more = h("div", { class: "stack" });
  const details = h("details", {}, h("summary", {}, "Parameters of the model"), more);
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const submit = h("button", { type: "submit", class: "primary large" }, "Make the video");
  const fpsField = field("Frames a second", fps);
  const seedField = field("Seed", seed);
  seedField.append(roll);
  seedField.classList.add("with-button");

  const form = h(
    "form",
    { class: "panel stack", "aria-labelledby": "make", noValidate: true, onsubmit: create },
    h("h1", { id: "make" }, "New video"),
    field("Prompt", prompt),
    shot.element,
    field("Model", model),
    h("div", { class: "grid two" }, field("Size", size), otherField, h("div", { class: "field" }, h("label", { for: "duration" }, "Length"), h("div", { class: "joined" }, length, unit)), fpsField, seedField),
    details,
    problem,
    submit,
  );
  length.id = "duration";
  prompt.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });

  function showSizes() {
    const before = size.value;
    const usual = shot.size ? `As the picture, ${shot.size.replace("x", " × ")}` : "Default";
    size.replaceChildren(h("option", { value: "" }, usual), ...sizes(contract).map((one) => h("option", { value: one }, one.replace("x", " × "))), h("option", { value: "other" }, "Other…"));
    if ([...size.options].some((option) => option.value === before)) size.value = before;
    showOther();
  }

  function showOther() {
    otherField.hidden = size.value !== "other";
    other.required = size.value === "other";
  }

  function showLength() {
    const rule = contract.parameters[unit.value];
    length.min = rule?.minimum ?? 1;
    length.max = rule?.maximum ?? "";
    length.placeholder = unit.value === "seconds" ? `${rule?.default ?? "default"}` : "49, 65, …";
  }

  function showContract() {
    const p = contract.parameters;
    fpsField.hidden = !p.fps;
    [fps.min, fps.max, fps.placeholder] = [p.fps?.minimum ?? 1, p.fps?.maximum ?? "", `${p.fps?.default ?? "default"}`];
    seedField.hidden = !p.seed;
    shot.element.hidden = !contract.takesPicture;
    const parameters = own(contract);
    details.hidden = parameters.length === 0;
    more.replaceChildren(...parameters.map(([name, rule]) => control(name, rule)));
    showSizes();
    showLength();
  }

  async function changeModel() {
    try {
      contract = await loadContract(model.value);
      showContract();
    } catch (error) {
      complain(error);
    }
  }

  function complain(error) {
    problem.textContent = error.message;
    problem.hidden = false;
    const names = { num_frames: "duration", seconds: "duration", width: "other", height: "other" };
    const control = error.param && form.elements[names[error.param] ?? error.param.split(/[.[]/)[0]];
    if (control instanceof HTMLElement) {
      control.setAttribute("aria-invalid", "true");
      if (details.contains(control)) details.open = true;
      control.focus();
    }
  }

  async function create(event) {
    event.preventDefault();
    problem.hidden = true;
    for (const element of form.elements) element.removeAttribute("aria-invalid");
    const wrong = [...form.elements].find((element) => element.willValidate && !element.closest("[hidden]") && !element.checkValidity());
    if (wrong) {
      const label = form.querySelector(`label[for="${wrong.id}"]`)?.textContent ?? wrong.name;
      return complain(Object.assign(new Problem(400, { message: `${label}: ${wrong.validationMessage}`, param: wrong.name })));
    }
    submit.disabled = true;
    try {
      const video = await json("POST", "/v1/videos", await body(), { headers: { "Idempotency-Key": `console-${randomID()}` } });
      onCreated(video);
    } catch (error) {
      complain(error);
    } finally {
      submit.disabled = false;
    }
  }

  async function body() {
    const data = new FormData();
    const set = (name, value) => value !== "" && data.set(name, value);
    const asked = size.value === "other" ? other.value : size.value;
    data.set("prompt", prompt.value);
    data.set("model", model.value);
    set("size", asked);
    set(unit.value, length.value);
    if (!fpsField.hidden) set("fps", fps.value);
    if (!seedField.hidden) set("seed", seed.value);
    for (const element of more.querySelectorAll("[data-parameter]")) set(element.name, element.value);
    const file = contract.takesPicture ? await shot.file(asked) : null;
    if (file) data.set("input_reference", file);
    return data;
  }

  showContract();
  return form;
}
