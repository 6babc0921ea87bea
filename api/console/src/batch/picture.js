// The reference picture: chosen, dropped or pasted, shown, and cut to the video's size where one is asked for.
import { h } from "../dom.js";

const types = ["image/png", "image/jpeg", "image/webp"];
const bytesMax = 20 * 1024 * 1024;

/** picture makes the chooser. Its file() answers what is to be sent, or null. */
export function picture(onChange) {
  let chosen = null;
  let url = "";
  const preview = h("img", { alt: "", hidden: true });
  const note = h("span", { class: "soft" }, "PNG, JPEG or WebP; drop one here");
  const input = h("input", { type: "file", accept: types.join(","), class: "visually-hidden", id: "picture", onchange: () => take(input.files[0]) });
  const remove = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => take(null) }, "Remove");
  const zone = h("div", { class: "drop" }, preview, h("div", { class: "drop-text" }, h("label", { for: "picture", class: "pick" }, "Choose a picture"), input, note), remove);
  const error = h("p", { class: "problem", role: "alert", hidden: true });

  for (const type of ["dragover", "dragenter"]) zone.addEventListener(type, (event) => (event.preventDefault(), zone.classList.add("over")));
  for (const type of ["dragleave", "drop"]) zone.addEventListener(type, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => (event.preventDefault(), take(event.dataTransfer.files[0])));

  async function take(file) {
    input.value = "";
    if (url) URL.revokeObjectURL(url);
    [chosen, url] = [null, ""];
    error.hidden = true;
    if (file) {
      try {
        if (!types.includes(file.type)) throw new Error("That is no PNG, JPEG or WebP.");
        if (file.size > bytesMax) throw new Error("The picture has more than 20 MB.");
        const bitmap = await createImageBitmap(file).catch(() => Promise.reject(new Error("The picture cannot be read.")));
        chosen = { file, width: bitmap.width, height: bitmap.height };
        bitmap.close();
        url = URL.createObjectURL(file);
      } catch (problem) {
        error.textContent = problem.message;
        error.hidden = false;
      }
    }
    preview.hidden = remove.hidden = !chosen;
    preview.src = url;
    preview.alt = chosen ? `Reference picture ${chosen.file.name}` : "";
    note.textContent = chosen ? `${chosen.width} × ${chosen.height}` : "PNG, JPEG or WebP; drop one here";
    onChange?.();
  }

  return {
    element: h("div", { class: "field" }, h("span", { class: "label" }, "Reference picture"), zone, error),
    get size() {
      return chosen && `${chosen.width}x${chosen.height}`;
    },
    clear: () => take(null),
    async file(size) {
      if (!chosen) return null;
      if (!size || size === `${chosen.width}x${chosen.height}`) return chosen.file;
      return cut(chosen.file, ...size.split("x").map(Number));
    },
  };
}

/** cut scales a picture so that it covers the size, and takes the middle. */
async function cut(file, width, height) {
  const bitmap = await createImageBitmap(file);
  const canvas = h("canvas", { width, height });
  const scale = Math.max(width / bitmap.width, height / bitmap.height);
  const [w, t] = [bitmap.width * scale, bitmap.height * scale];
  canvas.getContext("2d").drawImage(bitmap, (width - w) / 2, (height - t) / 2, w, t);
  bitmap.close();
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(new File([blob], "reference.png", { type: "image/png" })), "image/png"));
}
