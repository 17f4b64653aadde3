// Scenarios of reading results: the way through a list of calls, columns, figures over days, what came out of a campaign.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ask, button, checkAccess, close, fits, heading, row, signedIn, tabTo, until, waitFor } from "./browser.mjs";
import { TAG, threeCalls } from "./calls.mjs";

const { RINGBACK_URL: service } = process.env;
const DAY_AND_VISIT = { day: { type: "string", description: "preferred day" }, firstVisit: { type: "boolean", description: "whether this is your first visit" } };
const lines = (page, name) => page.getByRole("table", { name }).locator("tbody tr[aria-rowindex]");
const present = (page) => page.evaluate(() => document.activeElement?.getAttribute("href"));

// Numbers of this run alone, as those of another may be on the do-not-call list.
let last = 5560000000 + (Date.now() % 10_000_000);
async function campaign(name, agentId, personas, fields = {}) {
  const contacts = personas.map((persona, at) => ({ phoneNumber: `+1${last++}`, name: `${name} ${at}`, persona }));
  return ask("POST", "/campaigns", { name, agentId, contacts, launch: true, ...fields });
}

/** A campaign that is over and counted, made once: its agent respects wishes not to be called. */
let finished;
export const spring = () => (finished ??= (async () => {
  const { agentId } = await ask("POST", "/agents/create", {
    name: "Sora <b>", conversationConfig: { agent: { greetingMessage: "Hello, this is Sora.", prompt: { prompt: "You are Sora.", builtInTools: { endCall: { enabled: true } } } } },
    platformSettings: { callActions: { smartOptOut: true }, dataCollection: { entities: DAY_AND_VISIT } },
  });
  const { campaignId } = await campaign("Spring", agentId, ["cooperative", "busy", "opts-out", "cooperative"]);
  await until(async () => (await ask("GET", `/campaigns/${campaignId}`)).status === "completed", "the end of the campaign", 1200);
  await until(async () => (await ask("GET", `/analytics?groupBy=campaign&campaignId=${campaignId}`)).rows[0]?.calls === 4, "its calls are counted", 1200);
  return { agentId, campaignId };
})());

const GROUPS = 60, FORMULA = 7, groupId = (n) => `01a20000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const groupCalls = (n) => 100 + ((n * 37) % GROUPS);
const group = (n) => ({ campaignId: groupId(n), calls: groupCalls(n), answered: 50, conversationDuration: 1000, sentiment: {}, optOuts: 1,
  outcomes: { completed: 30, voicemail: 20, "no-answer": groupCalls(n) - 50 }, cost: { currency: "EUR", total: "0.25" } });

/** Analytics of 60 campaigns at `path`, whatever the account has. One has the name of a formula. */
async function manyGroups(browser, path, options) {
  const page = await signedIn(browser, "/do-not-call", options), all = Array.from({ length: GROUPS }, (_, n) => n), pagination = { hasMore: false };
  await page.route("**/public/v1/analytics?*", (route) => {
    const isGrouped = route.request().url().includes("groupBy=campaign");
    const rows = all.map(group).map(({ campaignId, ...rest }) => (isGrouped ? { campaignId, ...rest } : { startTimeUnix: 86_400, ...rest }));
    return route.fulfill({ json: { data: { rows: isGrouped ? rows : rows.slice(0, 1), complete: true }, pagination } });
  });
  const campaigns = all.map((n) => ({ campaignId: groupId(n), name: n === FORMULA ? '=HYPERLINK("x");y' : `Group ${n}` }));
  await page.route("**/public/v1/campaigns?*", (route) => route.fulfill({ json: { data: campaigns, pagination } }));
  await page.goto(service + path);
  await lines(page, "Groups of calls").first().waitFor();
  return page;
}

export const results = {
  async "jump down and up again in a long table"(browser) {
    const page = await manyGroups(browser, "/analytics?by=campaign"), box = page.getByRole("group", { name: "Groups of calls" });
    const shown = () => box.evaluate((element) => [...element.querySelectorAll("tbody tr")].map((line) => line.getAttribute("aria-rowindex") ?? "gap"));
    await box.hover();
    for (const [down, up] of [[500, -600], [1200, -1300], [2000, -2500]]) {
      await page.mouse.wheel(0, down);
      await until(() => box.evaluate((element) => element.scrollTop > 300), "rows below");
      await page.mouse.wheel(0, up);
      await until(() => box.evaluate((element) => element.scrollTop === 0), "the top again");
      await until(async () => (await shown())[0] === "2", "the first row");
      const rows = await shown();
      assert.equal(rows.pop(), "gap");
      assert.deepEqual(rows, rows.map((_, n) => String(n + 2)), "no gap is between the rows");
    }
    await close(page);
  },

  async "come back to the order, the groups and the days that were chosen"(browser) {
    const page = await manyGroups(browser, "/analytics"), search = () => new URL(page.url()).search, by = page.getByLabel("Grouped by");
    const isSorted = (name, direction) => page.locator(`[aria-sort="${direction}"]`).filter({ hasText: name }).waitFor();
    await isSorted("Day", "ascending");
    await by.selectOption("campaign");
    await isSorted("Calls", "descending");
    await button(page, "Today").click();
    await until(() => search() === "?by=campaign&days=1", "both in the address");
    await button(page, "Answered").click();
    await button(page, "Answered").click();
    await isSorted("Answered", "ascending");
    const address = search(), last = page.getByRole("link", { name: "Group 59", exact: true }), box = page.getByRole("group", { name: "Groups of calls" });
    await box.evaluate((element) => { element.scrollTop = element.scrollHeight; });
    await last.click();
    await page.waitForURL(`**/campaigns/${groupId(59)}`);
    await page.goBack();
    await isSorted("Answered", "ascending");
    assert.equal(search(), address);
    await until(() => page.evaluate(() => document.activeElement?.textContent === "Group 59"), "the focus on the group that was opened");
    await page.goBack();
    await isSorted("Calls", "descending");
    assert.equal(search(), "?by=campaign");
    await page.locator('[aria-pressed="true"]').getByText("7 days").waitFor();
    assert.equal(await by.inputValue(), "campaign");
    await page.goBack();
    await isSorted("Day", "ascending");
    assert.equal(await by.inputValue(), "");
    await page.goForward();
    await isSorted("Calls", "descending");
    await page.goto(`${service}/calls`);
    await page.getByRole("combobox", { name: "Outcome" }).selectOption("busy");
    await page.getByRole("combobox", { name: "Status" }).selectOption("failed");
    await until(() => search() === "?outcome=busy&status=failed", "both filters");
    await page.goBack();
    await until(async () => search() === "?outcome=busy" && (await page.getByRole("combobox", { name: "Status" }).inputValue()) === "", "the filter before");
    await close(page);
  },

  async "save the groups of calls as a file"(browser) {
    const page = await manyGroups(browser, "/analytics?by=campaign"), figures = page.getByRole("region", { name: "Figures" });
    await figures.getByText("30% reached a person, 20% voicemail").waitFor();
    await page.getByText("Columns", { exact: true }).click();
    await page.getByRole("checkbox", { name: "Average length" }).uncheck();
    await page.getByRole("checkbox", { name: "Busy" }).check();
    await heading(page).click();
    await until(async () => (await page.getByRole("checkbox", { name: "Busy" }).count()) === 0, "the menu is closed");
    const [file] = await Promise.all([page.waitForEvent("download"), button(page, "Export").click()]);
    assert.equal(file.suggestedFilename(), "analytics.csv");
    const text = readFileSync(await file.path(), "utf8").split("\n");
    assert.equal(text[0], "\ufeffCampaign,Calls,Answered (%),Conversation,Voicemail,No answer,Opted out,Cost (EUR),Answer after (ms),Busy");
    assert.equal(text.length, GROUPS + 3, "also the rows that the table does not show, and a total");
    assert.equal(text[1], "Group 47,159,31.4,30,20,109,1,0.25,,0");
    assert.equal(text.find((line) => line.includes("HYPERLINK")), '"\'=HYPERLINK(""x"");y","119","42","30","20","69","1","0.25","","0"');
    assert.equal(text[GROUPS + 1], "Total,7770,38.6,1800,1200,4770,60,15,,0");
    await checkAccess(page, "groups of calls that can be saved");
    await close(page);
  },

  async "come back to the place in a list, and go on to the calls beside one"(browser) {
    const { agentId } = await spring();
    const { campaignId } = await campaign("Way", agentId, Array(130).fill("busy"));
    await until(async () => (await ask("GET", `/campaigns/${campaignId}`)).status === "completed", "the end of the campaign", 1200);
    const page = await signedIn(browser, `/calls?campaignId=${campaignId}`);
    await waitFor(page, "130 calls");
    const names = () => lines(page, "Calls").locator("th").allTextContents();
    await tabTo(page, (await names())[0]);
    await until(async () => {
      await page.keyboard.press("End");
      return (await page.getByRole("table", { name: "Calls" }).getAttribute("aria-rowcount")) === "131";
    }, "all rows");
    await page.keyboard.press("End");
    for (let n = 0; n < 5; n++) await page.keyboard.press("k");
    await page.waitForTimeout(300);
    const opened = await present(page), shown = await names(), at = shown.indexOf(await page.evaluate(() => document.activeElement.textContent));
    const isOpen = (name) => heading(page).filter({ hasText: new RegExp(`^${name}$`) }).waitFor();
    await page.keyboard.press("Enter");
    await isOpen(shown[at]);
    await page.getByRole("region", { name: "Call", exact: true }).getByText("Busy").waitFor();
    assert.equal(await page.locator("main .badge.bad").count(), 0);
    await page.goBack();
    await until(async () => (await present(page)) === opened, "the focus on the row that was opened");
    assert.ok(await page.evaluate(() => document.querySelector(".table-box").scrollTop > 100 * 44), "the list stands where it stood");
    await waitFor(page, "130 calls");
    // A click beside the name, and two calls on by keyboard.
    await lines(page, "Calls").filter({ hasText: shown[at + 1] }).locator("td").nth(1).click();
    await isOpen(shown[at + 1]);
    await page.getByRole("link", { name: "Previous call" }).click();
    await isOpen(shown[at]);
    for (const n of [1, 2]) {
      await tabTo(page, "Next call");
      await page.keyboard.press("Enter");
      await isOpen(shown[at + n]);
    }
    await checkAccess(page, "a call of a list");
    await page.getByRole("link", { name: "← Calls" }).click();
    await until(() => page.evaluate((name) => document.activeElement?.textContent === name, shown[at + 2]), "the focus on the call that was seen last");
    assert.equal(new URL(page.url()).search, `?campaignId=${campaignId}`);
    // A page that is read anew knows no list.
    await page.goto(service + opened);
    await heading(page).filter({ hasText: "Way" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Next call" }).count(), 0);
    await close(page);
  },

  async "go on to a call that the list has not read yet"(browser) {
    const [{ campaignId }] = await ask("GET", "/campaigns?name=Way");
    const page = await signedIn(browser, `/campaigns/${campaignId}`);
    const table = page.getByRole("table", { name: "Contacts" });
    await table.getByText("Way 0", { exact: true }).click();
    for (let n = 1; n <= 52; n++) {
      await page.getByRole("link", { name: "Next call" }).click();
      await heading(page).filter({ hasText: new RegExp(`^Way ${n}$`) }).waitFor();
    }
    await page.goBack();
    await until(() => page.evaluate(() => document.activeElement?.textContent === "Way 52"), "the focus on the contact of the last call");
    await close(page);
  },

  async "choose columns of calls, and find one by its number"(browser) {
    const { talked, busy } = await threeCalls();
    const { contactNumber } = await ask("GET", `/conversations/${talked}`);
    await until(async () => (await ask("GET", `/conversations/${talked}`)).latencyP50Ms > 0, "the call is counted", 1200);
    const page = await signedIn(browser), asked = [];
    await page.route("**/public/v1/conversations?*", async (route) => {
      asked.push(new URL(route.request().url()).searchParams);
      const answer = await (await route.fetch()).json();
      for (const call of answer.data) if (call.conversationId === talked) call.cost = { currency: "USD", total: "0.25", parts: [], unpriced: [] };
      await route.fulfill({ json: answer });
    });
    await page.route("**/public/v1/conversations/*", (route) => { page.faults.push(`read by itself: ${route.request().url()}`); return route.abort(); });
    await page.goto(`${service}/calls`);
    await page.getByText("Columns", { exact: true }).click();
    for (const name of ["Campaign", "Sentiment", "Cost", "Answer after"]) await page.getByRole("checkbox", { name }).check();
    await page.keyboard.press("Escape");
    await page.getByLabel("Words, names or a number").fill(` ${contactNumber.slice(0, 2)} ${contactNumber.slice(2)}`);
    await until(() => new URL(page.url()).searchParams.has("phoneNumber"), "the number in the address");
    await waitFor(page, /^\d calls?$/);
    const line = lines(page, "Calls").filter({ has: page.locator(`a[href="/calls/${talked}"]`) });
    for (const text of [/Conversation/, /Positive|Neutral|Negative/, /\$0\.25/, /\d ms/]) await line.getByText(text).first().waitFor();
    await button(page, "Length").click();
    await until(() => asked.at(-1).get("sortBy") === "duration", "the longest call first");
    assert.equal(await page.getByRole("columnheader", { name: "Length" }).getAttribute("aria-sort"), "descending");
    await button(page, "Length").click();
    await until(() => asked.at(-1).get("sortDirection") === "asc", "the shortest call first");
    await page.reload();
    await page.locator('[aria-sort="ascending"]').getByText("Length").waitFor();
    await button(page, "Time").click();
    await until(() => !new URL(page.url()).searchParams.has("sort"), "the newest first again");
    assert.match(await page.getByLabel("Words, names or a number").inputValue(), /\+1 555/);
    await page.getByLabel("Words, names or a number").fill("weekday");
    await until(() => new URL(page.url()).search === "?search=weekday", "the words in the address");
    await until(async () => (await page.getByRole("columnheader", { name: "Length" }).getByRole("button").count()) === 0, "words are not sorted");
    await page.goto(`${service}/calls?outcome=busy&tag=${TAG}`);
    const other = lines(page, "Calls").filter({ has: page.locator(`a[href="/calls/${busy}"]`) });
    await other.locator(".badge").getByText("Busy").waitFor();
    assert.equal(await other.locator(".badge.bad").count(), 0);
    // In another language they are the same columns.
    await page.evaluate(() => localStorage.setItem("ringback.language", "de"));
    await page.reload();
    await page.getByRole("columnheader", { name: "Stimmung" }).waitFor();
    await page.getByRole("columnheader", { name: "Antwort nach" }).waitFor();
    await checkAccess(page, "calls with further columns");
    await close(page);
  },

  async "read figures by day, campaign, agent and version"(browser) {
    const { agentId, campaignId } = await spring();
    const page = await signedIn(browser, "/");
    await page.getByRole("navigation", { name: "Main navigation" }).getByRole("link", { name: "Analytics" }).click();
    await page.getByRole("img", { name: /calls, at most \d+ in a day/ }).waitFor();
    const figures = page.getByRole("region", { name: "Figures" });
    await figures.getByText("Opted out").locator("xpath=..").getByText(/^[1-9]/).waitFor();
    for (const name of ["Today", "30 days", "90 days"]) {
      await button(page, name).click();
      await page.locator('[aria-pressed="true"]').getByText(name).waitFor();
      await figures.getByText("Answered").waitFor();
    }
    await page.getByLabel("Grouped by").selectOption("campaign");
    const line = lines(page, "Groups of calls").filter({ has: page.locator(`a[href="/campaigns/${campaignId}"]`), hasText: "Spring" });
    await line.waitFor();
    assert.match(await line.textContent(), /^Spring475%3/);
    assert.equal(await page.getByRole("columnheader", { name: "Calls" }).getAttribute("aria-sort"), "descending");
    const counts = async () => (await lines(page, "Groups of calls").locator("td:nth-child(2)").allTextContents()).map(Number);
    assert.deepEqual(await counts(), (await counts()).toSorted((a, b) => b - a));
    await page.getByLabel("Grouped by").selectOption("version");
    await waitFor(page, "Sora <b> · version 1");
    await page.getByLabel("Grouped by").selectOption("agent");
    await lines(page, "Groups of calls").filter({ hasText: /^Sora <b>/ }).first().waitFor();
    await page.goto(`${service}/analytics?campaignId=${campaignId}`);
    await figures.getByText("75%").waitFor();
    await page.getByRole("region", { name: "Outcomes" }).getByText("Busy").waitFor();
    await page.goto(`${service}/agents/${agentId}`);
    await figures.getByText("Answered").waitFor();
    await figures.getByRole("link", { name: "Analytics" }).click();
    await page.waitForURL(`**/analytics?days=30&agentId=${agentId}`);
    await close(page);
  },

  async "see what came out of a campaign, and who wishes no further calls"(browser) {
    const { campaignId } = await spring();
    const page = await signedIn(browser, `/campaigns/${campaignId}`);
    await page.getByRole("region", { name: "Figures" }).getByText("75%").waitFor();
    const out = page.getByRole("region", { name: "What came out" });
    await out.getByRole("heading", { name: /^day 2 collected/ }).waitFor();
    await out.getByText("yes", { exact: true }).waitFor();
    await out.getByText("On the do-not-call list by now: 1").waitFor();
    const contacts = page.getByRole("table", { name: "Contacts" });
    await contacts.getByRole("row").filter({ hasText: "Spring 2" }).getByText("Do not call").waitFor();
    await contacts.getByRole("row").filter({ hasText: "Spring 1" }).getByText("Busy").waitFor();
    await page.getByLabel("Search by name or number").fill("spring 3");
    await until(async () => (await lines(page, "Contacts").count()) === 1, "the contact that was searched");
    await page.getByLabel("Search by name or number").fill("nobody");
    await waitFor(page, "No contact matches this search.");
    await page.getByLabel("Search by name or number").fill("");
    await out.getByRole("link", { name: "Spring 2" }).click();
    await page.getByRole("region", { name: "Call", exact: true }).getByText("Wishes no further calls").waitFor();
    const { contactNumber } = await ask("GET", `/conversations/${page.url().split("/").at(-1)}`);
    await page.goto(`${service}/do-not-call`);
    await row(page, contactNumber).getByRole("link", { name: "Asked for in a call" }).click();
    await heading(page).filter({ hasText: "Spring 2" }).waitFor();
    await page.goBack();
    await row(page, contactNumber).getByRole("link", { name: "Calls with it" }).click();
    await lines(page, "Calls").filter({ hasText: "Spring 2" }).getByText("Do not call").waitFor();
    await close(page);
  },

  async "see who was not called before a campaign was stopped"(browser) {
    const { agentId } = await spring();
    const { campaignId } = await campaign("Halted", agentId, Array(6).fill("cooperative"),
      { maxConcurrentCalls: 1, followUpCall: true, followUpAttempts: 1, followUpIntervals: [1] });
    await until(async () => (await ask("GET", `/campaigns/${campaignId}`)).progress.inProgress === 1, "the first call");
    const page = await signedIn(browser, `/campaigns/${campaignId}`);
    await waitFor(page, "1 call, after 1 minute");
    await button(page, "Stop").click();
    await page.getByRole("dialog").getByText("People who were not called yet stay in the list.").waitFor();
    await page.getByRole("dialog").getByLabel("Hang up").check();
    await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
    await row(page, "Halted 5").getByText("Not called").waitFor();
    assert.equal(await page.getByText("Pending", { exact: true }).count(), 0);
    await close(page);
  },

  async "tell test calls from others on the overview"(browser) {
    const { agentId } = await spring();
    const { conversationId } = await ask("POST", "/agents/test-call", { agentId, mode: "text" });
    const page = await signedIn(browser, "/");
    const latest = page.getByRole("table", { name: "Latest calls" });
    await latest.getByRole("row").filter({ has: page.locator(`a[href="/calls/${conversationId}"]`) }).locator(".badge").getByText("Test call").waitFor();
    await ask("POST", `/conversations/${conversationId}/end`);
    await close(page);
  },

  async "keep filters for one account alone"(browser) {
    const page = await signedIn(browser, "/calls?direction=inbound");
    await page.getByText("Saved filters").click();
    await button(page, "Save these filters …").click();
    await page.getByRole("dialog").getByLabel("Name").fill("Mine");
    await page.keyboard.press("Enter");
    await page.getByText("The filters are saved.").waitFor();
    await page.route("**/public/v1/me", (route) => route.fulfill({ json: { success: true, data: { email: "another@example.com" } } }));
    await page.reload();
    await page.getByText("Saved filters").click();
    await button(page, "Save these filters …").waitFor();
    assert.equal(await button(page, "Mine").count(), 0);
    await close(page);
  },

  async "no violation on the pages of results, and none is too wide"(browser) {
    const { agentId, campaignId } = await spring();
    for (const colorScheme of ["light", "dark"]) {
      const page = await signedIn(browser, "/", { colorScheme });
      for (const path of ["/analytics?days=90&by=campaign", "/analytics?days=1", `/campaigns/${campaignId}`, `/agents/${agentId}`, "/calls", "/do-not-call"]) {
        await page.goto(service + path);
        await heading(page).waitFor();
        await page.waitForTimeout(1200);
        await checkAccess(page, `${path}, ${colorScheme}`);
        await fits(page, path);
      }
      await close(page);
    }
  },
};
