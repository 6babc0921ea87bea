// Holds the console to what everybody needs: names, focus, contrast, a keyboard alone, a phone, and no host but its own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BASE_URL, MEDIA_URL, OUT, WITHOUT_LIVE, create, land, lift, open, playing } from "./console.mjs";

test("it is usable with the keyboard, in the dark, on a phone and without motion", async () => {
  await create({ prompt: "Low flight over snowy ridges at dawn", num_frames: 1 });
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


/** faint answers the texts and the borders of controls that do not stand out enough from what lies behind them: 4.5 to 1, for large text and borders 3. */
const faint = (page) =>
  page.evaluate(() => {
    const paint = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    const rgba = (colour) => {
      paint.clearRect(0, 0, 1, 1);
      paint.fillStyle = colour;
      paint.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
      return [r, g, b, a / 255];
    };
    const over = ([r, g, b, a], under) => [r, g, b].map((value, i) => value * a + under[i] * (1 - a));
    const behind = (element) => {
      const layers = [];
      for (let e = element; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
      return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]);
    };
    const light = (colour) => {
      const [r, g, b] = colour.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    const wrong = [];
    for (const element of document.querySelectorAll("body *")) {
      const style = getComputedStyle(element);
      if (!element.checkVisibility({ visibilityProperty: true }) || element.closest("svg, .skip, .visually-hidden, .stage-box") || element.disabled) continue;
      const ground = behind(element);
      const text = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (text) {
        const found = ratio(over(rgba(style.color), ground), ground);
        if (found < (large ? 3 : 4.5)) wrong.push(`${found.toFixed(2)} "${element.textContent.trim().slice(0, 40)}"`);
      }
      if (element.matches("input:not(.visually-hidden), select, textarea")) {
        const found = ratio(over(rgba(style.borderTopColor), ground), behind(element.parentElement));
        if (found < 3) wrong.push(`${found.toFixed(2)} border of ${element.name}`);
      }
      if (element.placeholder) {
        const found = ratio(over(rgba(getComputedStyle(element, "::placeholder").color), ground), ground);
        if (found < 4.5) wrong.push(`${found.toFixed(2)} placeholder of ${element.name}`);
      }
    }
    return wrong;
  });

for (const colorScheme of ["light", "dark"]) {
  test(`what is written can be read, ${colorScheme}`, async () => {
    await create({ prompt: "Hills", size: "64x64", num_frames: 1 });
    const { page, close } = await open(`${BASE_URL}/`, { colorScheme, reducedMotion: "reduce" });
    await page.locator(".card").first().waitFor();
    await page.click("summary");
    await page.click("form button[type=submit]"); // with its complaint
    await page.locator(".problem:visible").waitFor();
    assert.deepEqual(await faint(page), []);
    await page.locator(".card").first().getByRole("button", { name: "Delete" }).click();
    await page.locator("dialog").waitFor();
    assert.deepEqual(await faint(page), []);
    await page.keyboard.press("Escape");
    await page.click("nav a[data-view=live]");
    await page.locator(".start-panel form, #streaming-off").waitFor();
    assert.deepEqual(await faint(page), []);
    await close();
  });
}

/** focused is what has the focus, in the words of whoever cannot see it, and whether a ring shows it. */
const focused = (page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    return { tag: element.tagName, name: element.name ?? "", label: element.labels?.[0]?.textContent ?? element.getAttribute("aria-label") ?? element.textContent.trim(), ring: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 };
  });

/** tabTo presses Tab until what is wanted has the focus; everything on the way has a name and a ring. */
async function tabTo(page, wanted) {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    const now = await focused(page);
    assert.ok(now.label, `nameless: ${JSON.stringify(now)}`);
    const inside = now.tag === "VIDEO" || now.label === "Choose a picture"; // what has the focus there shows it
    assert.ok(now.ring || inside, `no ring: ${JSON.stringify(now)}`);
    if (wanted(now)) return;
  }
  assert.fail("Tab does not come there");
}

test("a video is made, played and deleted with the keyboard alone", async () => {
  const { page, close } = await open(`${BASE_URL}/`);
  await page.locator("textarea[name=prompt]").waitFor();
  await tabTo(page, (now) => now.name === "prompt");
  await page.keyboard.type("Keys alone");
  await tabTo(page, (now) => now.name === "unit");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.type("5");
  await tabTo(page, (now) => now.label === "Make the video");
  await page.keyboard.press("Enter");
  const card = page.locator(".card", { hasText: "Keys alone" });
  await card.waitFor();
  await page.waitForFunction(() => document.querySelector(".card").dataset.status === "completed");
  await tabTo(page, (now) => now.label === "Play: Keys alone");
  await page.keyboard.press("Enter");
  await playing(page);
  await tabTo(page, (now) => now.label === "Delete");
  await page.keyboard.press("Enter");
  await page.locator("dialog").waitFor();
  await tabTo(page, (now) => now.label === "Delete");
  await page.keyboard.press("Enter");
  await card.waitFor({ state: "detached" });
  await close();
});

test("no request leaves the server and its media server", { skip: WITHOUT_LIVE || false }, async () => {
  const { page, asked, complaints, close } = await open(`${BASE_URL}/`);
  await page.locator(".card").first().waitFor();
  await page.locator("textarea[name=prompt]").waitFor();
  assert.deepEqual([...asked], [new URL(BASE_URL).host]);
  await page.goto(`${BASE_URL}/#live`);
  await lift(page);
  await land(page);
  assert.deepEqual([...asked].sort(), [new URL(BASE_URL).host, new URL(MEDIA_URL).host].sort());
  assert.deepEqual(complaints, []);
  // What the page may do is bound as well as what it does.
  const policy = (await page.request.get(BASE_URL)).headers()["content-security-policy"];
  assert.match(policy, /default-src 'none'|default-src 'self'/);
  await close();
});
