// Scenarios of the pages of calls.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ask, button, checkAccess, close, fits, heading, signedIn, tabTo, until, waitFor } from "./browser.mjs";

const { RINGBACK_URL: service } = process.env;
const HOSTILE = "<img src=x onerror=alert(1)> Cal";
// Of this run alone, as the service may have calls of another.
export const TAG = `calls${Date.now()}`;

/** An agent that is recorded, made when it is first needed. */
let made;
const recorded = () => (made ??= ask("POST", "/agents/create", {
  name: HOSTILE, tags: [TAG],
  conversationConfig: { agent: { greetingMessage: "Hello, this is Cal. Which weekday do you prefer?",
    prompt: { prompt: "You are Cal.", builtInTools: { endCall: { enabled: true } } } } },
  platformSettings: { privacy: { recordVoice: true }, dataCollection: { entities: { weekday: { type: "string", description: "preferred weekday" } } } },
}));

let last = 5550400000;
async function place(persona) {
  const { agentId } = await recorded();
  const { conversationId } = await ask("POST", "/calls", { agentId, phoneNumber: `+1${last += 10}`, name: "Robin", dynamicVariables: { persona } });
  return conversationId;
}

const isOver = (call) => call.status !== "in_progress" && call.status !== "scheduled" && (call.status !== "completed" || call.analysedBy);
const over = (id) => until(async () => isOver(await ask("GET", `/conversations/${id}`)), "the end of the call and its analysis", 1200);

/** A conversation, a busy line and one in which the agent is interrupted, made once. */
let finished;
export const threeCalls = () => (finished ??= (async () => {
  const ids = await Promise.all(["cooperative", "busy", "interrupts"].map(place));
  await Promise.all(ids.map(over));
  return { talked: ids[0], busy: ids[1], interrupted: ids[2] };
})());

const rowsOf = (page) => page.getByRole("table", { name: "Calls" }).locator("tbody tr[aria-rowindex]");

export const calls = {
  async "find a call, save the filters, export"(browser) {
    const { talked, busy } = await threeCalls();
    const page = await signedIn(browser, "/calls");
    await rowsOf(page).first().waitFor();
    assert.match(await rowsOf(page).first().textContent(), /<img src=x onerror=alert\(1\)> Cal/);
    await button(page, "More filters").click();
    await page.getByLabel("Tag of the agent").fill(TAG);
    await page.keyboard.press("Enter");
    await until(async () => (await rowsOf(page).count()) === 3, "the calls of the tag");
    await page.getByRole("combobox", { name: "Outcome" }).selectOption("busy");
    await until(async () => (await rowsOf(page).count()) === 1, "the busy call");
    assert.equal(new URL(page.url()).search, `?tag=${TAG}&outcome=busy`);
    await page.getByText("Saved filters").click();
    await button(page, "Save these filters …").click();
    await page.getByRole("dialog").getByLabel("Name").fill("Busy ones");
    await page.keyboard.press("Enter");
    await page.getByText("Export", { exact: true }).click();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "JSON Lines" }).click()]);
    const exported = readFileSync(await file.path(), "utf8").trim().split("\n").map((line) => JSON.parse(line).conversationId);
    assert.deepEqual(exported, [busy]);
    await button(page, "Clear filters").click();
    await until(() => new URL(page.url()).search === "", "an address without filters");
    await page.reload();
    await page.getByText("Saved filters").click();
    await button(page, "Busy ones").click();
    await until(async () => (await rowsOf(page).count()) === 1 && new URL(page.url()).search.includes("outcome=busy"), "the saved filters");
    await button(page, "Clear filters").click();
    await page.getByLabel("Words, names or a number").fill('"which weekday do you prefer"');
    const row = rowsOf(page).filter({ has: page.locator(`a[href^="/calls/${talked}?turn="]`) });
    await row.locator("mark").first().waitFor();
    await row.getByRole("link").click();
    await page.locator(".turn.found").getByText("Which weekday do you prefer?").waitFor();
    await close(page);
  },

  async "days of a filter begin at midnight of the reader's zone"(browser) {
    const page = await signedIn(browser, "/profile", { timezoneId: "America/New_York" });
    const starts = await page.evaluate(async () => {
      const base = document.querySelector("script[src]").src.replace(/app\.js$/, "");
      const { dayEnd, dayStart } = await import(`${base}lib/zoned.js`);
      return [dayStart("2026-06-01"), dayStart("2026-03-08"), dayEnd("2026-03-08"), dayStart("nonsense")].map((at) => at && new Date(at).toISOString());
    });
    assert.deepEqual(starts, ["2026-06-01T04:00:00.000Z", "2026-03-08T05:00:00.000Z", "2026-03-09T04:00:00.000Z", undefined]);
    await close(page);
  },

  async "read a call and hear it by mouse"(browser) {
    const { interrupted } = await threeCalls();
    const turns = await ask("GET", `/conversations/${interrupted}/turns?pageSize=100`);
    const cut = turns.find(({ speaker }) => speaker === "agent");
    const page = await signedIn(browser);
    // The simulated contacts break in before a whole word is heard, which leaves no turn. This one is said to be broken off.
    await page.route(`**/conversations/${interrupted}/turns?*`, async (route) => {
      const answer = await (await route.fetch()).json();
      Object.assign(answer.data[turns.indexOf(cut)], { interrupted: true, intended: `${cut.words} Or <i>another</i> day?` });
      await route.fulfill({ json: answer });
    });
    await page.goto(`${service}/calls/${interrupted}`);
    await button(page, "Play").waitFor();
    const turn = page.locator(".turn").nth(turns.indexOf(cut));
    assert.equal(await turn.locator("del").textContent(), " Or <i>another</i> day?");
    await turn.getByText("Interrupted here").waitFor();
    await turn.locator("p").first().click();
    await button(page, "Pause").waitFor();
    await until(() => turn.evaluate((element) => element.classList.contains("heard")), "the mark on the turn that is heard");
    const at = await page.evaluate(() => document.querySelector("audio").currentTime);
    assert.ok(at >= cut.startMs / 1000 && at < cut.endMs / 1000 + 2, `${at} s, but the turn begins at ${cut.startMs} ms`);
    await button(page, "Pause").click();
    await page.locator("svg path.lane").nth(3).waitFor({ state: "attached" });
    const box = await page.getByRole("slider").boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    const [now, all] = await page.evaluate(() => { const { currentTime, duration } = document.querySelector("audio"); return [currentTime, duration]; });
    assert.ok(Math.abs(now - all / 2) < 0.5, `${now} of ${all} s`);
    await waitFor(page, /^Answered after \d+ ms/);
    await waitFor(page, "A person answered");
    await close(page);
  },

  async "find and hear a call by keyboard alone"(browser) {
    const { interrupted } = await threeCalls();
    const page = await signedIn(browser, `/calls?tag=${TAG}`);
    await until(async () => (await rowsOf(page).count()) >= 3, "the calls");
    const wanted = `/calls/${interrupted}`, present = () => page.evaluate(() => document.activeElement?.getAttribute("href"));
    await tabTo(page, "Robin");
    for (let n = 0; n < 10 && (await present()) !== wanted; n++) {
      const before = await present();
      await page.keyboard.press("j");
      await until(async () => (await present()) !== before, "the next row");
    }
    await page.keyboard.press("Enter");
    await page.waitForURL(`**${wanted}`);
    await button(page, "Play").waitFor();
    await tabTo(page, "Position in the recording");
    await page.keyboard.press("ArrowRight");
    assert.match(await page.getByRole("slider").getAttribute("aria-valuetext"), /^0:05 of \d+:\d\d$/);
    await page.keyboard.press("Home");
    await tabTo(page, "Play");
    await page.keyboard.press("Space");
    await until(() => page.evaluate(() => document.querySelector("audio").currentTime > 0.2), "the recording heard");
    await tabTo(page, "Hear from");
    await page.keyboard.press("Enter");
    await page.locator(".turn.heard").waitFor();
    await close(page);
  },

  async "follow a live call with few requests, and at once after a command"(browser) {
    const id = await place("cooperative");
    const page = await signedIn(browser, `/calls/${id}`);
    await page.locator(".turn").first().waitFor({ timeout: 20_000 });
    const asked = { turns: 0, events: 0, call: 0 };
    page.on("request", (request) => {
      const [, kind = "/call"] = new RegExp(`/conversations/${id}(/turns|/events)?(\\?|$)`).exec(request.url()) ?? ["", ""];
      if (kind) asked[kind.slice(1)]++;
    });
    await page.waitForTimeout(8000);
    assert.ok(asked.turns >= 2 && asked.turns + asked.events <= 10 && asked.call <= 2, JSON.stringify(asked));
    const before = asked.events;
    await button(page, "Note to the agent").click();
    await page.getByRole("dialog").getByLabel("Note").fill("Be brief.");
    await page.getByRole("dialog").getByRole("button", { name: "Note to the agent" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.waitForTimeout(500);
    assert.ok(asked.events > before, "the events are read after a command");
    await ask("POST", `/conversations/${id}/end`);
    await waitFor(page, "Ended – ended on request");
    await over(id);
    await close(page);
  },

  async "steer a live call, then delete it"(browser) {
    const id = await place("cooperative");
    const page = await signedIn(browser, `/calls/${id}`);
    await page.locator(".turn").first().waitFor({ timeout: 20_000 });
    await page.getByLabel("The agent says").fill("A <b>word</b> from the desk.");
    await page.getByLabel("At once").check();
    await button(page, "Say").click();
    await page.locator(".turn.agent").getByText("from the desk").first().waitFor();
    await button(page, "Press keys").click();
    await page.getByRole("dialog").getByLabel("Keys").fill("no keys");
    await page.getByRole("dialog").getByRole("button", { name: "Press keys" }).click();
    await page.locator("[aria-invalid]").waitFor();
    await page.keyboard.press("Escape");
    await button(page, "Note to the agent").click();
    await page.getByRole("dialog").getByLabel("Note").fill("Offer Friday.");
    await page.getByRole("dialog").getByRole("button", { name: "Note to the agent" }).click();
    await waitFor(page, /noted: Offer Friday\./);
    await button(page, "End call").click();
    await page.getByRole("dialog").getByRole("button", { name: "End call" }).click();
    await waitFor(page, "Ended – ended on request");
    await page.getByText("Completed").first().waitFor();
    await over(id);
    await button(page, "Play").waitFor({ timeout: 20_000 });
    await new Promise((resolve) => setTimeout(resolve, 10_500));
    await button(page, "Delete").click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.waitForURL(/\/calls$/);
    await assert.rejects(ask("GET", `/conversations/${id}`), /not_found/);
    await close(page);
  },

  async "no violation on the pages of calls, and none is too wide"(browser) {
    const { interrupted, busy } = await threeCalls();
    for (const colorScheme of ["light", "dark"]) {
      const page = await signedIn(browser, "/calls", { colorScheme });
      for (const path of ["/calls", "/calls?direction=outbound", `/calls/${interrupted}`, `/calls/${busy}`]) {
        await page.goto(service + path);
        await heading(page).waitFor();
        await page.waitForTimeout(600);
        for (const details of await page.locator("main details:not(.menu)").all()) await details.evaluate((element) => { element.open = true; });
        await checkAccess(page, `${path}, ${colorScheme}`);
        await fits(page, path);
      }
      await close(page);
    }
  },
};
