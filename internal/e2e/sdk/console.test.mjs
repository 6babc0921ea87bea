// Drives the console in a headless Chromium. Its pictures are kept in OUT.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

const { BASE_URL, KEYS_URL, API_KEY, SDK_DIR, OUT, CHROMIUM, WITHOUT_LIVE, PICTURE, FPS_MIN = "1", FPS_SECONDS = "3" } = process.env;
const { chromium } = createRequire(`${SDK_DIR}/`)("playwright-core");
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--autoplay-policy=no-user-gesture-required"];
const patience = { timeout: 60000 };

let browser;
before(async () => (browser = await chromium.launch({ executablePath: CHROMIUM, args: flags })));
after(() => browser?.close());

/** open answers a page and the complaints that it made. */
async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(patience.timeout);
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (/^(http|ws)/.test(protocol) && hostname !== "127.0.0.1") complaints.push(`asked ${request.url()}`);
  });
  await page.goto(url);
  return { page, complaints, close: () => context.close() };
}

/** glimpse answers the brightness of a grid of places of the picture. */
const glimpse = (page) =>
  page.evaluate(() => {
    const video = document.querySelector("video");
    const canvas = Object.assign(document.createElement("canvas"), { width: 32, height: 18 });
    const paint = canvas.getContext("2d");
    paint.drawImage(video, 0, 0, 32, 18);
    const { data } = paint.getImageData(0, 0, 32, 18);
    return Array.from({ length: 32 * 18 }, (_, i) => (data[4 * i] + data[4 * i + 1] + data[4 * i + 2]) / 3);
  });

const difference = (a, b) => a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / a.length;
/** differs waits until the picture is far enough from a glimpse of it. */
async function differs(page, from, least, cause) {
  let most = 0;
  for (let tries = 0; most < least; tries++) {
    assert.ok(tries < 80, `${cause} changed the picture by ${most}, not by ${least}`);
    await page.waitForTimeout(250);
    most = Math.max(most, difference(from, await glimpse(page)));
  }
}

const playing = (page) => page.waitForFunction(() => document.querySelector("video")?.videoWidth > 0 && document.querySelector("video").currentTime > 0.2);
const applied = (page, keys) => page.waitForFunction((text) => document.querySelector("[data-fact=applied]").textContent === text, keys);
const lit = (page, kind) => page.locator(`.cap.${kind}`).evaluateAll((caps) => caps.map((cap) => cap.dataset.key).sort().join(""));

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
  await page.locator(".card").first().getByText("Delete").click();
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

test("it is usable with the keyboard, in the dark, on a phone and without motion", async () => {
  const { page, complaints, close } = await open(`${BASE_URL}/`, { colorScheme: "dark", reducedMotion: "reduce" });
  await page.locator("textarea[name=prompt]").waitFor();
  await page.locator(".card").first().waitFor();
  await page.screenshot({ path: `${OUT}/console-dark.png` });
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, input, select, textarea, a")]
      .filter((element) => !element.labels?.length && !element.getAttribute("aria-label") && !element.textContent.trim())
      .map((element) => element.outerHTML));
  assert.deepEqual(nameless, []);
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than a phone");
  await page.screenshot({ path: `${OUT}/console-phone.png` });
  await page.getByRole("button", { name: /Colours/ }).click();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
  assert.deepEqual(complaints, []);
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

test("a world is flown through, watched, changed, left and found again, and ended", { skip: WITHOUT_LIVE || false }, async () => {
  const { page, complaints, close } = await open(`${BASE_URL}/#live`);
  await page.fill("textarea[name=prompt]", "Islands in a warm evening sea");
  await page.click("summary");
  await page.fill("input[name=seed]", "7");
  await page.click("form button[type=submit]");
  await playing(page);
  await applied(page, "none");
  const still = [await glimpse(page), await (await page.waitForTimeout(1500), glimpse(page))];
  await page.keyboard.down("w");
  await page.keyboard.down("j");
  await applied(page, "w j");
  assert.equal(await lit(page, "held"), "jw");
  assert.equal(await lit(page, "applied"), "jw");
  await differs(page, still[1], Math.max(4, 2 * difference(...still)), "w and j");
  await page.waitForFunction(() => /^\d+ ms$/.test(document.querySelector("[data-fact=latency]").textContent));

  const frames = await page.evaluate((seconds) => new Promise((resolve) => {
    const video = document.querySelector("video");
    let count = 0;
    let first = 0;
    const step = (now) => {
      first ||= now;
      if (now - first >= seconds * 1000) return resolve((count * 1000) / (now - first));
      count++;
      video.requestVideoFrameCallback(step);
    };
    video.requestVideoFrameCallback(step);
  }), Number(FPS_SECONDS));
  console.log(`${frames.toFixed(2)} FPS over ${FPS_SECONDS} s`);
  await page.screenshot({ path: `${OUT}/live.png` });
  assert.ok(frames >= Number(FPS_MIN), `${frames} FPS over ${FPS_SECONDS} s`);

  await page.keyboard.up("w");
  await page.keyboard.up("j");
  await applied(page, "none");
  await page.locator(".cap[data-key=d]").hover();
  await page.mouse.down();
  await applied(page, "d");
  await page.mouse.up();
  await applied(page, "none");

  await page.getByRole("button", { name: "Share", exact: true }).click();
  const link = await page.inputValue("#viewer-link");
  await page.getByRole("button", { name: "Cancel" }).click();
  const guest = await open(link, { viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true, isMobile: true });
  await playing(guest.page);
  await guest.page.waitForFunction(() => document.querySelector("[data-fact=chunk]").textContent !== "–");
  assert.equal(await guest.page.locator(".stage-bar button, .pad button").count(), 0);
  await guest.page.screenshot({ path: `${OUT}/live-viewer.png` });

  await page.reload();
  await playing(page);
  await page.fill(".prompt-bar input", "A frozen moon");
  const warm = await glimpse(page);
  await page.keyboard.press("Enter");
  await differs(page, warm, 4, "the prompt");
  assert.equal(await page.locator(".toast.error").count(), 0);

  await page.getByRole("button", { name: "End", exact: true }).click();
  await page.click("dialog button.danger");
  await page.locator(".notice").waitFor();
  await guest.page.getByText("The session is over").waitFor();
  assert.deepEqual(complaints, []);
  assert.deepEqual(guest.complaints, []);
  await guest.close();
  await close();
});
