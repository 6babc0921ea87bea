// Drives the videos of the console in a headless Chromium. Its pictures are kept in OUT.
import assert from "node:assert/strict";
import { test } from "node:test";
import { API_KEY, BASE_URL, KEYS_URL, OUT, PICTURE, create, open, playing } from "./console.mjs";

test("a video is made with a reference picture, followed, played, downloaded and deleted", async () => {
  const { page, complaints, close } = await open(`${BASE_URL}/`, { colorScheme: "light", acceptDownloads: true });
  await page.setInputFiles("#picture", PICTURE);
  await page.locator(".drop img").waitFor();
  await page.fill("textarea[name=prompt]", "Low flight over snowy ridges at dawn");
  await page.selectOption("select[name=size]", "640x360"); // the picture is cut to it
  await page.selectOption("select[name=unit]", "num_frames");
  await page.fill("input[name=duration]", "17");
  await page.fill("input[name=seed]", "7");
  await page.click("summary");
  await page.fill("[name=time_of_day]", "7");
  await page.click("form button[type=submit]");
  const card = page.locator(".card").first();
  await card.waitFor();
  assert.match(await card.locator(".chip").textContent(), /Waiting|Running|Done/);
  await page.locator(".card[data-status=completed]").waitFor();
  assert.match(await card.locator(".facts").textContent(), /640×360.*seed 7/);
  await page.waitForFunction(() => document.querySelector(".frame img")?.naturalWidth > 0);
  await page.locator("details").evaluate((details) => (details.open = false));
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: `${OUT}/console-light.png` });
  await card.locator(".play").click();
  await playing(page);
  assert.equal(await page.evaluate(() => document.querySelector("video").videoWidth), 640);
  const [download] = await Promise.all([page.waitForEvent("download"), card.getByText("Download").click()]);
  assert.match(download.suggestedFilename(), /^video_.*\.mp4$/);
  await card.getByText("Remix").click();
  await page.fill("dialog textarea", "The same at night");
  await page.click("dialog button.primary");
  await page.waitForFunction(() => document.querySelectorAll(".card[data-status=completed]").length === 2);
  await page.locator(".card").first().getByRole("button", { name: "Delete" }).click();
  await page.click("dialog button.danger");
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 1);
  assert.deepEqual(complaints, []);
  await close();
});

test("what is wrong is said at the field that is wrong", async () => {
  const { page, close } = await open(`${BASE_URL}/`);
  await page.click("form button[type=submit]");
  assert.match(await page.locator(".problem:visible").textContent(), /^Prompt/);
  assert.equal(await page.evaluate(() => document.activeElement.name), "prompt");
  await page.fill("textarea[name=prompt]", "a");
  await page.selectOption("select[name=unit]", "num_frames");
  await page.fill("input[name=duration]", "18"); // not 4n+1, which only the server knows
  await page.click("form button[type=submit]");
  await page.locator("input[name=duration][aria-invalid]").waitFor();
  await close();
});

test("a key is asked for, kept in the tab and used", { skip: KEYS_URL ? false : "no server with keys" }, async () => {
  const { page, close } = await open(`${KEYS_URL}/`);
  await page.fill("dialog input[name=key]", "tf-not-a-key-of-this-server");
  await page.click("dialog button.primary");
  await page.getByText("Enter another").waitFor();
  await page.fill("dialog input[name=key]", API_KEY);
  await page.click("dialog button.primary");
  await page.locator("textarea[name=prompt]").waitFor();
  await page.reload();
  await page.locator("textarea[name=prompt]").waitFor();
  assert.equal(await page.evaluate(() => localStorage.length), 0);
  await page.click("nav a[data-view=live]");
  await page.locator("#streaming-off").waitFor();
  await close();
});


test("a video is followed by polling where the server refuses its events", async () => {
  const seen = { refused: 0, polled: 0 };
  const { page, close } = await open(`${BASE_URL}/`, {}, async (page) => {
    await page.route("**/v1/videos/*/events", (route) => (seen.refused++, route.fulfill({ status: 503, contentType: "application/json", body: "{}" })));
    page.on("request", (request) => request.method() === "GET" && /\/v1\/videos\/video_[^/?]+$/.test(request.url()) && seen.polled++);
  });
  await page.fill("textarea[name=prompt]", "Hills");
  await page.selectOption("select[name=size]", "640x360");
  await page.selectOption("select[name=unit]", "num_frames");
  await page.fill("input[name=duration]", "17");
  await page.click("form button[type=submit]");
  await page.locator(".card").first().waitFor();
  await page.waitForFunction(() => document.querySelector(".card").dataset.status === "completed");
  assert.ok(seen.refused > 0 && seen.polled > 0, JSON.stringify(seen));
  await close();
});

test("older videos come by pages, each once", async () => {
  const made = [];
  for (let i = 0; i < 14; i++) made.push((await create({ prompt: `page ${i}`, size: "64x64", num_frames: 1 })).id);
  const { page, close } = await open(`${BASE_URL}/`);
  await page.locator(".card").nth(11).waitFor();
  assert.equal(await page.locator(".card").count(), 12);
  const more = page.getByRole("button", { name: "Older videos" });
  while (await more.isVisible()) {
    const before = await page.locator(".card").count();
    await more.click();
    await page.waitForFunction((n) => document.querySelectorAll(".card").length > n || document.querySelector(".wide").hidden, before);
  }
  const ids = await page.locator(".card").evaluateAll((cards) => cards.map((card) => card.dataset.id));
  assert.equal(new Set(ids).size, ids.length);
  const shown = ids.filter((id) => made.includes(id));
  assert.deepEqual(shown, made.toReversed());
  await page.waitForFunction(() => document.querySelectorAll(".card[data-status=queued], .card[data-status=in_progress]").length === 0);
  await close();
});

/** contract is one with a parameter of every type, beside what the server has. */
const parameters = {
  steps: { type: "integer", required: false, default: 4, minimum: 1, maximum: 50, description: "Steps of the sampler.", exposed: true },
  scale: { type: "number", required: false, default: null, description: "Strength of the prompt.", exposed: true },
  loop: { type: "boolean", required: false, default: false, description: "Ends where it began.", exposed: true },
  mode: { type: "string", required: false, default: "fast", enum: ["fast", "fine"], description: "How carefully it is made.", exposed: true },
  negative_prompt: { type: "string", required: true, default: null, max_length: 20, description: "What must not be seen.", exposed: true },
  camera: { type: "object", required: false, default: null, description: "Scripted flight.", exposed: true },
  hidden: { type: "integer", required: false, default: null, description: "Not for people.", exposed: false },
};

test("the form is made from the contract, for a parameter of every type", async () => {
  let sent = null;
  const { page, close } = await open(`${BASE_URL}/`, {}, async (page) => {
    await page.route("**/v1/service/metadata*", async (route) => {
      const response = await route.fetch();
      const metadata = await response.json();
      for (const task of Object.values(metadata.task_contracts)) task.parameters = { ...task.parameters, ...parameters, fps: { ...task.parameters.fps, minimum: 8, maximum: 24, default: 12 } };
      await route.fulfill({ response, json: metadata });
    });
    await page.route("**/v1/videos", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      sent = route.request().postDataBuffer().toString();
      await route.fulfill({ status: 400, contentType: "application/json", body: JSON.stringify({ error: { message: "steps must be less.", param: "steps", code: "invalid_value" } }) });
    });
  });
  await page.locator("[name=steps]").waitFor({ state: "attached" });
  const controls = await page.locator("[data-parameter]").evaluateAll((all) => Object.fromEntries(all.map((e) => [e.name, {
    tag: e.tagName, type: e.type, min: e.min ?? "", max: e.max ?? "", step: e.step ?? "", length: e.maxLength ?? -1, required: e.required,
    options: [...(e.options ?? [])].map((o) => o.value), label: e.labels[0].textContent, help: document.getElementById(e.getAttribute("aria-describedby"))?.textContent }])));
  const holds = (name, want) => assert.deepEqual(Object.fromEntries(Object.keys(want).map((key) => [key, controls[name]?.[key]])), want, name);
  holds("steps", { tag: "INPUT", type: "number", min: "1", max: "50", step: "1", label: "Steps", help: "Steps of the sampler.", required: false });
  holds("scale", { tag: "INPUT", type: "number", min: "", max: "", step: "any", label: "Scale" });
  holds("loop", { tag: "SELECT", options: ["", "true", "false"], help: "Ends where it began." });
  holds("mode", { tag: "SELECT", options: ["", "fast", "fine"] });
  holds("negative_prompt", { tag: "INPUT", type: "text", length: 20, required: true, label: "Negative prompt" });
  holds("camera", { tag: "TEXTAREA", label: "Camera" });
  assert.equal(controls.hidden, undefined);
  assert.equal(controls.sound, undefined); // live sessions' alone
  assert.deepEqual(await page.locator("[name=fps]").evaluate((e) => [e.min, e.max, e.placeholder]), ["8", "24", "12"]);

  await page.fill("textarea[name=prompt]", "Hills");
  await page.click("form button[type=submit]"); // a required parameter is missing, and its part of the form closed
  assert.equal(await page.evaluate(() => document.activeElement.name), "negative_prompt");
  await page.fill("[name=steps]", "9");
  await page.fill("[name=scale]", "1.5");
  await page.selectOption("[name=loop]", "true");
  await page.selectOption("[name=mode]", "fine");
  await page.fill("[name=negative_prompt]", "rain");
  await page.fill("[name=camera]", '[{"at": 0, "keys": "w"}]');
  await page.fill("[name=fps]", "10");
  await page.click("form button[type=submit]");
  await page.locator("[name=steps][aria-invalid]").waitFor();
  assert.match(await page.locator(".problem:visible").textContent(), /steps must be less/);
  assert.equal(await page.evaluate(() => document.activeElement.name), "steps");
  for (const [name, value] of Object.entries({ prompt: "Hills", steps: "9", scale: "1.5", loop: "true", mode: "fine", negative_prompt: "rain", camera: '[{"at": 0, "keys": "w"}]', fps: "10" }))
    assert.ok(sent.includes(`name="${name}"\r\n\r\n${value}\r\n`), `${name} is not in the body`);
  await close();
});
