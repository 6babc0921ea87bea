// Flies through a live world in a headless Chromium. Its pictures are kept in OUT.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BASE_URL, FPS_MIN, FPS_SECONDS, OUT, WITHOUT_LIVE, applied, differs, difference, glimpse, land, lift, lit, open, overhear, playing, said } from "./console.mjs";

test("a world is flown through, watched, changed, left and found again, and ended", { skip: WITHOUT_LIVE || false }, async () => {
  const { page, complaints, close } = await open(`${BASE_URL}/#live`);
  await lift(page);
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

  await land(page);
  await guest.page.getByText("The session is over").waitFor();
  assert.deepEqual(complaints, []);
  assert.deepEqual(guest.complaints, []);
  await guest.close();
  await close();
});

/** sentKeys are the controls of the last snapshot that the page sent. */
const sentKeys = async (page) => (await said(page)).filter((message) => message.type === "control_state").at(-1).controls;

test("a gamepad flies: sticks and cross move and look, start resets", { skip: WITHOUT_LIVE || false }, async () => {
  const { page, complaints, close } = await open(`${BASE_URL}/#live`, {}, async (page) => {
    await overhear(page);
    await page.addInitScript(() => {
      const button = (pressed) => ({ pressed, touched: pressed, value: Number(pressed) });
      globalThis.pad = { axes: [0, 0, 0, 0], down: [] };
      const pads = () => [null, globalThis.pad && { connected: true, mapping: "standard", index: 1, axes: globalThis.pad.axes, buttons: Array.from({ length: 17 }, (_, i) => button(globalThis.pad.down.includes(i))) }];
      Object.defineProperty(navigator, "getGamepads", { value: pads });
      globalThis.plug = () => dispatchEvent(new Event("gamepadconnected"));
    });
  });
  const hold = (axes, down = []) => page.evaluate(([axes, down]) => Object.assign(globalThis.pad, { axes, down }), [axes, down]);
  await lift(page);
  await hold([0, -1, -0.9, 0]);
  await page.evaluate(() => globalThis.plug());
  await applied(page, "w j");
  assert.deepEqual(await sentKeys(page), ["w", "j"]);
  await hold([0.2, 0.2, 0.3, -0.3]); // a stick at rest is never quite at its middle
  await applied(page, "none");
  await hold([0, 0, 0, 1], [15]); // the cross moves as well
  await applied(page, "d k");
  await hold([0, 0, 0, 0], [9]);
  await applied(page, "none");
  await page.waitForFunction(() => globalThis.overheard.some((message) => message.type === "reset"));
  await page.evaluate(() => (globalThis.pad = null)); // pulled out while it is held
  assert.equal((await said(page)).filter((message) => message.type === "reset").length, 1);
  assert.equal(await page.locator(".toast.error").count(), 0);
  await land(page);
  assert.deepEqual(complaints, []);
  await close();
});

test("two thumbs fly on a phone, and what is applied is what was sent", { skip: WITHOUT_LIVE || false }, async () => {
  const { page, context, complaints, close } = await open(`${BASE_URL}/#live`, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2, colorScheme: "dark" }, overhear);
  await lift(page);
  const touch = await context.newCDPSession(page);
  /** thumb is a place on a pad: x and y from -1 to 1. */
  const thumb = async (name, x, y, id) => {
    const box = await page.getByRole("group", { name, exact: true }).boundingBox();
    return { x: box.x + (box.width * (1 + x)) / 2, y: box.y + (box.height * (1 + y)) / 2, id };
  };
  const send = (type, ...touchPoints) => touch.send("Input.dispatchTouchEvent", { type, touchPoints });
  const forward = await thumb("Move", 0, -0.8, 1);
  await send("touchStart", forward);
  await applied(page, "w");
  await send("touchStart", forward, await thumb("Look", -0.8, 0, 2));
  await applied(page, "w j");
  assert.equal(await lit(page, "held"), "jw");
  assert.equal(await lit(page, "applied"), "jw");
  assert.deepEqual(await sentKeys(page), ["w", "j"]);
  await page.screenshot({ path: `${OUT}/live-phone.png` });
  await send("touchMove", await thumb("Move", 0.7, 0.7, 1), await thumb("Look", -0.8, 0, 2)); // a thumb that slides, to two keys at once
  await applied(page, "s d j");
  assert.deepEqual(await sentKeys(page), ["s", "d", "j"]);
  await send("touchEnd");
  await applied(page, "none");
  for (const name of ["Reset", "Share", "End"]) assert.ok(await page.getByRole("button", { name, exact: true }).isVisible(), name);
  // Nothing on the picture lies on something else that can be touched.
  const overlaps = await page.evaluate(() => {
    const boxes = [...document.querySelectorAll(".pad, .stage-bar > *, .hud")].map((element) => [element.className, element.getBoundingClientRect()]);
    return boxes.flatMap(([a, x], i) => boxes.slice(i + 1).filter(([, y]) => x.left < y.right && y.left < x.right && x.top < y.bottom && y.top < x.bottom).map(([b]) => `${a} on ${b}`));
  });
  assert.deepEqual(overlaps, []);
  await land(page);
  assert.deepEqual(complaints, []);
  await close();
});

test("a world is heard when somebody asks for it", { skip: WITHOUT_LIVE || false }, async () => {
  const { page, complaints, close } = await open(`${BASE_URL}/#live`, {}, async (page) => {
    await page.addInitScript(() => {
      const { play } = HTMLMediaElement.prototype;
      globalThis.heard = [];
      HTMLMediaElement.prototype.play = function () {
        if (this instanceof HTMLAudioElement) globalThis.heard.push(this);
        return play.call(this);
      };
    });
  });
  await lift(page, { sound: "true" });
  const button = page.getByRole("button", { name: "Sound on" });
  await button.waitFor();
  assert.equal(await page.evaluate(() => globalThis.heard.length), 0);
  await button.click();
  // What plays is looked at, for a browser without speakers hears all the same.
  const loudness = () =>
    page.evaluate(async () => {
      const stream = globalThis.heard.at(-1)?.srcObject;
      if (!stream) return 0;
      globalThis.meter ??= new AudioContext();
      await globalThis.meter.resume();
      const source = globalThis.meter.createMediaStreamSource(stream);
      const analyser = source.connect(globalThis.meter.createAnalyser());
      await new Promise((resolve) => setTimeout(resolve, 300));
      const samples = new Float32Array(analyser.fftSize);
      analyser.getFloatTimeDomainData(samples);
      source.disconnect();
      return Math.hypot(...samples) / Math.sqrt(samples.length);
    });
  let loudest = 0;
  for (let tries = 0; loudest < 0.002; tries++) {
    assert.ok(tries < 80, `the loudest that is heard is ${loudest}`);
    loudest = Math.max(loudest, await loudness());
    await page.waitForTimeout(200);
  }
  await page.getByRole("button", { name: "Sound off" }).click();
  await page.getByRole("button", { name: "Sound on" }).waitFor();
  await land(page);
  assert.deepEqual(complaints, []);
  await close();
});
