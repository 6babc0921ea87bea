// The API as this page uses it: a key where one is asked for, errors as sentences, server-sent events through fetch.
import { dialog, field, h } from "./dom.js";

const KEY = "telefuser.key";

/** Problem is an answer that is not a success, or none at all. */
export class Problem extends Error {
  constructor(status, body) {
    super(body?.message ?? "The server cannot be reached.");
    this.status = status;
    this.code = body?.code ?? null;
    this.param = body?.param ?? null;
  }
}

/** key is what the tab keeps until it closes. */
export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

let asking = null;

/** askKey asks once, however many requests wait for it. It answers whether there is a new key. */
export function askKey(text = "This server wants an API key. It is kept in this tab only, until you close it.") {
  asking ??= (async () => {
    const input = h("input", { type: "password", name: "key", required: true, autocomplete: "off", spellcheck: false, maxLength: 512 });
    const values = await dialog({ title: "API key", text, fields: [field("Key", input, "Made with: telefuser keys create")], confirm: "Use it" });
    asking = null;
    if (!values) return false;
    key.set(values.key.trim());
    document.dispatchEvent(new CustomEvent("telefuser:key"));
    return true;
  })();
  return asking;
}

async function send(path, options) {
  const headers = new Headers(options.headers);
  const used = key.get();
  if (used) headers.set("Authorization", `Bearer ${used}`);
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, null);
  }
  if (response.status !== 401 || options.quiet) return response;
  if (key.get() !== used && key.get()) return send(path, options);
  const text = used ? "The key is not one of this server, or no longer. Enter another." : undefined;
  return (await askKey(text)) ? send(path, options) : response;
}

/** request answers the response of a success, and throws a Problem otherwise. */
export async function request(path, options = {}) {
  const response = await send(path, options);
  if (response.ok) return response;
  let body = null;
  try {
    body = (await response.json()).error;
  } catch {
    body = { message: `The server answered ${response.status}.` };
  }
  throw new Problem(response.status, body);
}

/** json sends an object, where there is one, and answers one. */
export async function json(method, path, body, options = {}) {
  const headers = { ...options.headers };
  let payload = body;
  if (body !== undefined && !(body instanceof FormData)) {
    headers["Content-Type"] = "application/json";
    payload = JSON.stringify(body);
  }
  const response = await request(path, { ...options, method, headers, body: payload });
  return response.json();
}

/** blobURL fetches bytes with the key and gives them an address of this page. The caller revokes it. */
export async function blobURL(path, signal) {
  const response = await request(path, { signal });
  return URL.createObjectURL(await response.blob());
}

/** events reads a stream of server-sent events until it ends. */
export async function* events(path, signal) {
  const response = await request(path, { signal, headers: { Accept: "text/event-stream" } });
  if (!response.body || response.status === 204) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value.replaceAll("\r\n", "\n");
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      const event = { type: "message", data: "" };
      for (const line of text.slice(0, end).split("\n")) {
        if (line.startsWith("event:")) event.type = line.slice(6).trim();
        else if (line.startsWith("data:")) event.data += line.slice(5).trimStart();
      }
      text = text.slice(end + 2);
      if (event.data) yield event;
    }
  }
}

/** pause waits, or ends early with the signal. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
