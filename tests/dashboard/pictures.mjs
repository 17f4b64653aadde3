// Makes the pictures of docs/dashboard.md and README.md anew: each page at three widths, and a short film of a campaign.
// Nothing in them depends on the machine but times, ids and the webhook's port.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { addWebhook, call, CONTACTS_FILE, furnish, isOver, limit } from "./demo.mjs";
import { ask, button, close, drop, heading, open, signedIn, startBrowser, until, waitFor } from "./browser.mjs";
import { animated } from "./webp.mjs";

const { RINGBACK_URL: service, RINGBACK_ROOT: root } = process.env;
const folder = `${root}/docs/images/dashboard`;
const SIZES = [[320, 640], [1280, 800], [1920, 1080]];
const MOST_BYTES = 3 * 1024 * 1024, QUALITY = 55;
const LOOK = { timezoneId: "Europe/Lisbon", viewport: { width: 1280, height: 800 } };
/** @type {Map<string, Buffer>} */
const made = new Map();

async function shot(page) {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
  await session.detach();
  return Buffer.from(data, "base64");
}

/** The page as it is now, at each width. */
async function picture(page, name) {
  await page.evaluate(() => document.activeElement?.blur());
  for (const [width, height] of SIZES) {
    await page.setViewportSize({ width, height });
    await page.evaluate(() => scrollTo(0, 0));
    await page.waitForTimeout(300);
    made.set(`${name}-${width}.webp`, await shot(page));
  }
  await page.setViewportSize(LOOK.viewport);
}

/** Waits until the lists of the page are read, and takes its picture. */
async function visit(page, path, name, ready = async () => {}) {
  await page.goto(service + path);
  await heading(page).waitFor();
  await page.waitForTimeout(1500);
  await ready();
  await picture(page, name);
  console.log(name);
}

const film = [];
const frame = async (page, ms) => film.push({ ms, webp: await shot(page) });

/** From the file to the campaign that dials; returns its id and leaves the page there. */
async function launch(page) {
  await page.goto(`${service}/campaigns/new`);
  await heading(page).waitFor();
  await page.waitForTimeout(500);
  await frame(page, 1500);
  await drop(page, ".drop", "Spring check-ups.csv", CONTACTS_FILE);
  await waitFor(page, "1 row cannot be used");
  await page.waitForTimeout(400);
  await frame(page, 2500);
  await picture(page, "new-campaign");
  await button(page, "Leave this row out").click();
  await waitFor(page, "all can be used");
  await page.getByLabel("Calls at once").fill("6");
  await button(page, "Launch").click();
  await page.getByRole("dialog").waitFor();
  await frame(page, 2000);
  await page.getByRole("dialog").getByRole("button", { name: "Launch" }).click();
  await page.waitForURL(/\/campaigns\/[0-9a-f-]{36}$/);
  return page.url().split("/").at(-1);
}

/** Frames and pictures while the campaign dials, and of one of its calls. */
async function follow(page, campaignId) {
  for (const done of [/^[1-9]\d* of 16 done/, /^[6-9]\d* of 16 done/]) {
    await page.getByText(done).waitFor({ timeout: 60_000 });
    await frame(page, 2000);
  }
  await picture(page, "campaign");
  await until(async () => (await ask("GET", `/campaigns/${campaignId}`)).status === "completed", "the end of the campaign", 1800);
  await page.goto(`${service}/campaigns/${campaignId}`);
  await page.getByText("16 of 16 done").waitFor();
  await page.waitForTimeout(800);
  await frame(page, 2500);
}

async function oneCall(page, agentId) {
  const id = await call(agentId);
  await page.goto(`${service}/calls/${id}`);
  await page.locator(".turn.user").nth(1).waitFor({ timeout: 60_000 });
  await page.waitForTimeout(300);
  await frame(page, 2500);
  await picture(page, "live-call");
  await visit(page, "/live", "live");
  await until(() => isOver(id), "the end of the call", 600);
  await page.goto(`${service}/calls/${id}`);
  await page.locator("svg path.lane").first().waitFor({ state: "attached" });
  await page.waitForTimeout(500);
  await frame(page, 4000);
  await picture(page, "call");
}

const browser = await startBrowser();
try {
  const outside = await open(browser, LOOK);
  await heading(outside).waitFor();
  await picture(outside, "sign-in");
  await close(outside);

  const { agentId } = await furnish();
  const webhook = await addWebhook();
  const page = await signedIn(browser, "/", LOOK);
  const campaignId = await launch(page);
  await follow(page, campaignId);
  await oneCall(page, agentId);
  await limit();

  const pages = [
    ["/", "overview"], ["/campaigns", "campaigns"], ["/calls", "calls"], ["/agents", "agents"], [`/agents/${agentId}`, "agent"],
    [`/agents/${agentId}/versions`, "agent-versions"], ["/knowledge", "knowledge"], ["/tools", "tools"], ["/contacts", "contacts"],
    ["/do-not-call", "do-not-call"], ["/numbers", "numbers"], ["/safeguards", "safeguards"], ["/settings", "settings"], ["/profile", "profile"],
    ["/appointments", "appointments"],
  ];
  for (const [path, name] of pages) await visit(page, path, name);
  await visit(page, "/knowledge?tab=question", "question", async () => {
    await page.getByLabel("Question", { exact: true }).fill("What does a cleaning cost?");
    await page.getByLabel("Prices").check();
    await button(page, "Search").click();
    await page.locator(".passages li").first().waitFor();
  });
  await visit(page, `/settings/webhooks/${webhook.webhookId}`, "webhook", async () => {
    await button(page, "Send a test event").click();
    await page.getByText("500").waitFor();
    await button(page, "Dismiss").click();
  });
  await close(page);
  webhook.close();
  const dark = await signedIn(browser, "/", { ...LOOK, colorScheme: "dark" });
  await visit(dark, "/", "overview-dark");
  await close(dark);
  made.set("film.webp", animated(film));
} finally {
  await browser.close();
}

const bytes = [...made.values()].reduce((all, { length }) => all + length, 0);
console.log(`${made.size} pictures, ${Math.round(bytes / 1024)} KiB`);
assert.ok(bytes <= MOST_BYTES, `${bytes} bytes are more than ${MOST_BYTES}`);
const text = ["README.md", "docs/dashboard.md"].map((file) => readFileSync(`${root}/${file}`, "utf8")).join("\n");
assert.deepEqual([...made.keys()].filter((name) => !text.includes(`images/dashboard/${name}`)), [], "pictures that no document shows");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [name, picture] of made) writeFileSync(`${folder}/${name}`, picture);
