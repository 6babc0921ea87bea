// What the suites of the console share: a browser, pages that note what goes wrong, and looks at the picture.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, afterEach, before } from "node:test";

export const { BASE_URL, KEYS_URL, API_KEY, MEDIA_URL, SDK_DIR, OUT, CHROMIUM, WITHOUT_LIVE, PICTURE, FPS_MIN = "0.1", FPS_SECONDS = "3" } = process.env;
const { chromium } = createRequire(`${SDK_DIR}/`)("playwright-core");
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--autoplay-policy=no-user-gesture-required"];
const patience = 60000;

let browser;
before(async () => (browser = await chromium.launch({ executablePath: CHROMIUM, args: flags })));
after(() => browser?.close());

// What a test that failed leaves open is not the next one's trouble.
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  const response = await fetch(`${BASE_URL}/v1/stream/sessions?limit=100`);
  if (!response.ok) return; // no live sessions here
  for (const session of (await response.json()).data) if (!session.ended_at) await fetch(`${BASE_URL}/v1/stream/sessions/${session.session_id}`, { method: "DELETE" });
});

/** hosts are the only ones that a page may speak to: its own, and the media server's once it flies. */
const hosts = new Set([BASE_URL, KEYS_URL, MEDIA_URL].filter(Boolean).map((url) => new URL(url).host));

/** open answers a page, the complaints that it made and the hosts that it asked. prepare gets the page before it has loaded anything. */
export async function open(url, options = {}, prepare = async () => {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  const complaints = [];
  const asked = new Set();
  const ask = (target) => {
    const { protocol, host } = new URL(target);
    if (!/^(http|ws)/.test(protocol)) return; // blob: and data: leave nothing
    asked.add(host);
    if (!hosts.has(host)) complaints.push(`asked ${target}`);
  };
  // The media server's client looks every 4 s whether all its connections are up, and finds one on a busy machine that is still being made. Only the second time
  // is it trouble: then it connects anew.
  const early = (text) => /connection state mismatch .*numFailures: 1\}/.test(text);
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && !early(message.text()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => ask(request.url()));
  page.on("websocket", (socket) => ask(socket.url()));
  await prepare(page);
  await page.goto(url);
  return { page, context, complaints, asked, close: () => context.close() };
}

/** create makes a video without the page. */
export async function create(fields) {
  const response = await fetch(`${BASE_URL}/v1/videos`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ model: "terrain", ...fields }) });
  assert.equal(response.status, 200);
  return response.json();
}

/** glimpse answers the brightness of a grid of places of the picture. */
export const glimpse = (page) =>
  page.evaluate(() => {
    const video = document.querySelector("video");
    const canvas = Object.assign(document.createElement("canvas"), { width: 32, height: 18 });
    const paint = canvas.getContext("2d");
    paint.drawImage(video, 0, 0, 32, 18);
    const { data } = paint.getImageData(0, 0, 32, 18);
    return Array.from({ length: 32 * 18 }, (_, i) => (data[4 * i] + data[4 * i + 1] + data[4 * i + 2]) / 3);
  });

export const difference = (a, b) => a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / a.length;
/** differs waits until the picture is far enough from a glimpse of it. */
export async function differs(page, from, least, cause) {
  let most = 0;
  for (let tries = 0; most < least; tries++) {
    assert.ok(tries < 80, `${cause} changed the picture by ${most}, not by ${least}`);
    await page.waitForTimeout(250);
    most = Math.max(most, difference(from, await glimpse(page)));
  }
}

export const playing = (page) => page.waitForFunction(() => document.querySelector("video")?.videoWidth > 0 && document.querySelector("video").currentTime > 0.2);
export const applied = (page, keys) => page.waitForFunction((text) => document.querySelector("[data-fact=applied]").textContent === text, keys);
export const lit = (page, kind) => page.locator(`.cap.${kind}`).evaluateAll((caps) => caps.map((cap) => cap.dataset.key).sort().join(""));


/** overhear notes what a page sends on its data channel; said() answers the messages. Call it before the page loads. */
export async function overhear(page) {
  await page.addInitScript(() => {
    globalThis.overheard = [];
    const { send } = RTCDataChannel.prototype;
    RTCDataChannel.prototype.send = function (data) {
      const text = typeof data === "string" ? data : new TextDecoder("utf-8", { fatal: false }).decode(data);
      const found = text.match(/\{"version":1.*\}/);
      if (found) globalThis.overheard.push(JSON.parse(found[0]));
      return send.call(this, data);
    };
  });
}
export const said = (page) => page.evaluate(() => globalThis.overheard);

/** lift begins a flight on the live page and waits for its picture. */
export async function lift(page, fields = {}) {
  await page.fill("textarea[name=prompt]", "Islands in a warm evening sea");
  await page.click("summary");
  for (const [name, value] of Object.entries({ seed: "7", ...fields })) {
    const control = page.locator(`form [name=${name}]`);
    if ((await control.evaluate((element) => element.tagName)) === "SELECT") await control.selectOption(value);
    else await control.fill(value);
  }
  await page.click("form button[type=submit]");
  await playing(page);
  await applied(page, "none");
}

/** land ends the flight of a page. */
export async function land(page) {
  await page.getByRole("button", { name: "End", exact: true }).click();
  await page.click("dialog button.danger");
  await page.locator(".notice").waitFor();
}
