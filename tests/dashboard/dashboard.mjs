// The dashboard's interactions with a real service and its simulated carrier. Every scenario prints a line; the first
// failure ends the program. Arguments choose scenarios by their beginnings.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { account, ask, button, checkAccess, close, dialog, drop, fits, heading, inDialog, loginLink, open, signedIn, startBrowser, tabTo, until, waitFor } from "./browser.mjs";
import { calls } from "./calls.mjs";
import { resources } from "./resources.mjs";
import { agents } from "./agents.mjs";
import { appointments } from "./appointments.mjs";
import { checks } from "./checks.mjs";
import { keyboard } from "./keyboard.mjs";
import { graph } from "./graph.mjs";
import { live } from "./live.mjs";
import { operator, rights } from "./operator.mjs";
import { words } from "./words.mjs";
import { policy } from "./policy.mjs";
import { hostile } from "./hostile.mjs";
import { results } from "./results.mjs";
import { looks } from "./looks.mjs";

const { RINGBACK_URL: service, RINGBACK_EMAIL: email, RINGBACK_PROGRAM: program } = process.env;
const rows = (count, first = 5550200000) => Array.from({ length: count }, (_, n) => `+1${first + n},Person ${n + 1},Lisbon,cooperative\n`).join("");
const HEAD = "phone,name,city,persona\n";
const BAD = `${HEAD}${rows(2)}12ab,Bad,Porto,\n+15550200000,Twice,Porto,\n+15550200009,Ragged\n`;

/** The agent of all campaigns, made when it is first needed. */
async function agent() {
  const [first] = await ask("GET", "/agents");
  if (first) return first;
  const greetingMessage = "Hello {{name}}, this is Ava. Which day suits you?";
  return ask("POST", "/agents/create", { name: "Ava", conversationConfig: { agent: { prompt: { prompt: "You are Ava." }, greetingMessage } } });
}

let number = 5550300000;

async function campaign(name, count, fields = {}) {
  const { agentId } = await agent();
  const contacts = Array.from({ length: count }, (_, n) => ({ phoneNumber: `+1${number++}`, name: `Person ${n}`, persona: "cooperative" }));
  return ask("POST", "/campaigns", { name, agentId, contacts, ...fields });
}

/** They need an account without agents, and so come first. */
const onEmptyAccount = {
  async "sign in by key, refuse a wrong one"(browser) {
    const page = await open(browser);
    await heading(page).filter({ hasText: "Sign in" }).waitFor();
    assert.equal(await page.locator("nav, header").count(), 0, "the frame of the pages is not around the sign-in");
    await page.getByLabel("E-mail address").fill(email);
    await page.getByLabel("API key").fill("rb_wrong");
    await button(page, "Sign in").click();
    await waitFor(page, "E-mail address or key is wrong");
    assert.equal(await page.getByLabel("E-mail address").inputValue(), email);
    await page.getByLabel("API key").fill(account.key);
    await page.keyboard.press("Enter");
    await heading(page).filter({ hasText: "Overview" }).waitFor();
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
    assert.ok(!kept.includes(account.key));
    await button(page, "Sign out").click();
    await heading(page).filter({ hasText: "Sign in" }).waitFor();
    await close(page);
  },

  async "sign in by link, once"(browser) {
    const link = loginLink();
    const page = await open(browser, { address: link });
    await heading(page).filter({ hasText: "Overview" }).waitFor();
    assert.equal(new URL(page.url()).hash, "");
    await close(page);
    const second = await open(browser, { address: link });
    await waitFor(second, "used already");
    await close(second);
  },

  async "be told in every tab that another account was signed in"(browser) {
    const page = await signedIn(browser, "/do-not-call");
    const other = "other-tab@example.com";
    execFileSync(program, ["account", "create", "--email", other]);
    const second = await page.context().newPage();
    const link = loginLink(other);
    await second.goto(link);
    await second.getByText(`You are signed in as ${email}.`).waitFor();
    await checkAccess(second, "the question before a link replaces a session");
    await button(second, "Stay signed in").click();
    await second.getByRole("navigation").getByText(email).waitFor();
    // The link is not spent. Another address first, as only its fragment differs.
    await second.goto("about:blank");
    await second.goto(link);
    await button(second, "Sign in by the link").click();
    await second.getByRole("navigation").getByText(other).waitFor();
    await dialog(page).filter({ hasText: `signed this browser in as ${other}` }).waitFor();
    await inDialog(page, "Load again").click();
    await page.getByRole("navigation").getByText(other).waitFor();
    // Also if nobody told the tab.
    await page.route("**/public/v1/me", (route) => route.fulfill({ json: { data: { email: "third@example.com" } } }));
    await page.evaluate(() => dispatchEvent(new Event("focus")));
    await dialog(page).filter({ hasText: "signed this browser in as third@example.com" }).waitFor();
    await close(page);
  },

  async "choose another language without a question"(browser) {
    const page = await signedIn(browser, "/profile");
    const asked = [];
    page.on("dialog", (each) => asked.push(each.type()));
    await page.getByLabel("Language", { exact: true }).selectOption("de");
    await page.getByRole("region", { name: "Language and time" }).getByRole("button", { name: "Save" }).click();
    await heading(page).filter({ hasText: "Profil" }).waitFor();
    await until(() => page.evaluate(() => document.documentElement.lang === "de"), "the page in German");
    assert.deepEqual(asked, []);
    await close(page);
  },

  async "first steps of an empty account"(browser) {
    const page = await signedIn(browser);
    await button(page, "Make a sample agent").click();
    await button(page, "Place the call").click();
    await page.waitForURL(/\/calls\/.+/);
    assert.equal((await ask("GET", "/agents")).length, 1);
    await close(page);
  },
};

const scenarios = {
  async "drop a file by mouse, leave bad rows out, launch, pause, resume, stop"(browser) {
    const page = await signedIn(browser, "/campaigns/new");
    await button(page, "Launch").click();
    await waitFor(page, "Choose a file of contacts first");
    await drop(page, ".drop", "spring.csv", `${BAD}${rows(20, 5550210000)}`);
    await waitFor(page, "3 rows cannot be used");
    for (const old of ["Choose a file of contacts first", "Give the campaign a name"]) assert.equal(await page.getByText(old).count(), 0);
    assert.match(await page.getByRole("complementary", { name: "Before you launch" }).textContent(), /People to call22/);
    const table = page.getByRole("table", { name: "Rows that cannot be used" });
    assert.match(await table.textContent(), /4.*phone.*12ab.*Not a phone number/);
    assert.match(await table.textContent(), /6.*More or fewer cells/);
    await button(page, "Launch").click();
    await waitFor(page, "Mend the bad rows");
    assert.equal((await ask("GET", "/campaigns?name=spring")).length, 0);
    await button(page, "Leave these 3 rows out").click();
    await waitFor(page, "all can be used");
    await page.getByLabel("Calls at once").fill("2");
    await button(page, "Launch").click();
    await page.getByRole("dialog").getByRole("button", { name: "Launch" }).click();
    await page.waitForURL(/\/campaigns\/[0-9a-f-]{36}$/);
    await waitFor(page, /calls? in progress/);
    await button(page, "Pause").click();
    await button(page, "Resume").waitFor();
    const id = page.url().split("/").at(-1);
    assert.equal((await ask("GET", `/campaigns/${id}`)).status, "paused");
    await button(page, "Resume").click();
    await button(page, "Pause").waitFor();
    await page.getByText(/^[1-9]\d* of 22 done/).waitFor({ timeout: 60_000 });
    await button(page, "Stop").click();
    await page.getByRole("dialog").getByLabel("Hang up").check();
    await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
    await until(async () => (await ask("GET", `/campaigns/${id}`)).status === "stopped", "stopped");
    await close(page);
  },

  async "choose a file and launch by keyboard alone"(browser) {
    const page = await signedIn(browser, "/campaigns");
    // With a listener before, the browser hands over the choice for sure when the key is pressed.
    page.on("filechooser", () => {});
    await tabTo(page, "New campaign");
    await page.keyboard.press("Enter");
    await until(() => page.evaluate(() => document.activeElement?.matches("h1") && document.activeElement.textContent === "New campaign"), "the focus on the new page's heading");
    await tabTo(page, "Choose a file");
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.keyboard.press("Enter")]);
    await chooser.setFiles({ name: "keys.csv", mimeType: "text/csv", buffer: Buffer.from(HEAD + rows(3, 5550220000)) });
    await waitFor(page, "all can be used");
    await tabTo(page, "Name");
    await tabTo(page, "Launch");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo(page, "Launch");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/campaigns\/[0-9a-f-]{36}$/);
    await tabTo(page, "Pause");
    await page.keyboard.press("Space");
    await until(() => page.evaluate(() => document.activeElement?.textContent?.trim() === "Resume"), "the focus on what comes next");
    await page.keyboard.press("Enter");
    await waitFor(page, /3 of 3 done/, { timeout: 60_000 });
    await close(page);
  },

  async "correct a column, schedule, see the week"(browser) {
    const page = await signedIn(browser, "/campaigns/new");
    await drop(page, ".drop", "zones.csv", "who,Telefon,Handy\nAnna,+4930123456,\nBen,+12125550100,\n");
    await waitFor(page, "No column of phone numbers was recognised");
    await page.getByLabel("Phone number").selectOption("Telefon");
    await page.getByLabel("Name", { exact: true }).first().selectOption("who");
    await waitFor(page, "all can be used");
    await page.getByLabel("Daily, in a time window").check();
    await page.getByLabel("Time zone").selectOption("Europe/Berlin");
    await page.getByLabel("From").fill("14:00");
    await page.getByLabel("Until").fill("18:00");
    await waitFor(page, "Mon–Sun 14–18");
    await waitFor(page, "Mon–Sun 8–12");
    await page.getByRole("figure").filter({ hasText: "All contacts, in the time of Berlin" }).getByText("2 contacts").waitFor();
    await page.getByLabel("From").fill("");
    await button(page, "Save as draft").click();
    await page.locator("[aria-invalid]").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("name")), "startTime");
    await page.getByLabel("From").fill("14:00");
    await page.getByLabel("First day").fill("2099-06-01");
    await button(page, "Save as draft").click();
    await page.waitForURL(/\/campaigns\/[0-9a-f-]{36}$/);
    await waitFor(page, "Draft");
    const { startTime, endTime } = await ask("GET", `/campaigns/${page.url().split("/").at(-1)}`);
    assert.deepEqual([startTime, endTime], ["2099-06-01T14:00", "18:00"]);
    await page.getByText("More", { exact: true }).click();
    await button(page, "Schedule").click();
    assert.equal(await dialog(page).getByLabel("From").inputValue(), "14:00");
    assert.equal(await dialog(page).getByLabel("First day").inputValue(), "2099-06-01");
    await inDialog(page, "Cancel").click();
    await close(page);
  },

  async "watch a campaign that others steer"(browser) {
    const { campaignId } = await campaign("<img src=x onerror=alert(1)> watched", 4);
    const page = await signedIn(browser, "/campaigns");
    const row = page.getByRole("row", { name: /<img src=x onerror=alert\(1\)> watched/ });
    await row.getByText("Draft").waitFor();
    await ask("POST", `/campaigns/${campaignId}/launch`);
    await row.getByText(/Running|Completed/).waitFor();
    await row.getByRole("link").click();
    await heading(page).filter({ hasText: "<img src=x" }).waitFor();
    await page.getByText("4 of 4 done").waitFor({ timeout: 60_000 });
    await button(page, "Call again").waitFor();
    await close(page);
  },

  async "change the keys"(browser) {
    const page = await signedIn(browser, "/profile");
    await button(page, "Add a key").click();
    await page.getByLabel("Name").fill("wallboard");
    await page.getByRole("dialog").getByRole("button", { name: "Add a key" }).click();
    const added = await page.getByRole("textbox", { name: "New key" }).inputValue();
    assert.equal((await fetch(`${service}/public/v1/me`, { headers: { "x-api-key": added } })).status, 200);
    await button(page, "I have kept it").click();
    await button(page, "Delete wallboard").click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await until(async () => (await fetch(`${service}/public/v1/me`, { headers: { "x-api-key": added } })).status === 401, "deleted");
    await close(page);
  },

  async "regenerate the key by keyboard alone"(browser) {
    const page = await open(browser);
    await tabTo(page, "E-mail address");
    await page.keyboard.type(email);
    await tabTo(page, "API key");
    await page.keyboard.type(account.key);
    await page.keyboard.press("Enter");
    await heading(page).filter({ hasText: "Overview" }).waitFor();
    await tabTo(page, email);
    await page.keyboard.press("Enter");
    await heading(page).filter({ hasText: "Profile" }).waitFor();
    await button(page, "Regenerate").waitFor();
    await tabTo(page, "Regenerate");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo(page, "Regenerate");
    await page.keyboard.press("Enter");
    const next = await page.getByRole("textbox", { name: "New key" }).inputValue();
    const old = account.key;
    account.key = next;
    assert.equal((await fetch(`${service}/public/v1/me`, { headers: { "x-api-key": old } })).status, 401);
    assert.equal((await fetch(`${service}/public/v1/me`, { headers: { "x-api-key": next } })).status, 200);
    await tabTo(page, "I have kept it");
    await page.keyboard.press("Enter");
    // The present session stays.
    await page.reload();
    await heading(page).filter({ hasText: "Profile" }).waitFor();
    await close(page);
  },

  async "move through a long list by keyboard"(browser) {
    const { campaignId } = await campaign("long", 450);
    const page = await signedIn(browser, `/campaigns/${campaignId}`);
    const table = page.getByRole("table", { name: "Contacts" });
    await table.getByText("Person 0", { exact: true }).waitFor();
    await tabTo(page, "Person 0");
    await page.keyboard.press("ArrowDown");
    await until(() => page.evaluate(() => document.activeElement?.textContent === "Person 1"), "the second row");
    // Every End goes to the last row that was read, and the next page is read.
    await until(async () => {
      await page.keyboard.press("End");
      return page.evaluate(() => document.activeElement?.textContent === "Person 449");
    }, "the last row");
    assert.ok((await table.getByRole("row").count()) < 80);
    await close(page);
  },

  async "take a file with semicolons"(browser) {
    const { agentId } = await agent();
    const page = await signedIn(browser, `/campaigns/new?agent=${agentId}`);
    await drop(page, ".drop", "semicolons.csv", '\uFEFFTelefon;name;city\r\n+15550240001;"Ann; ""the first""";Lisbon, Portugal\r\n+15550240002;Bob;\r\n');
    await waitFor(page, "all can be used");
    await button(page, "Save as draft").click();
    await page.waitForURL(/\/campaigns\/[0-9a-f-]{36}$/);
    const { contacts } = await ask("GET", `/campaigns/${page.url().split("/").at(-1)}`);
    assert.deepEqual(contacts.map(({ phoneNumber, name, city }) => [phoneNumber, name, city]), [
      ["+15550240001", 'Ann; "the first"', "Lisbon, Portugal"], ["+15550240002", "Bob", undefined],
    ]);
    await close(page);
  },

  async "open a row by a click beside its name"(browser) {
    const { campaignId } = await campaign("clicked", 1);
    const page = await signedIn(browser, "/campaigns?name=clicked");
    await page.getByRole("row").filter({ hasText: "clicked" }).getByText("Draft").click();
    await page.waitForURL(new RegExp(campaignId));
    await close(page);
  },

  async "keep what was typed when the session ends"(browser) {
    const page = await signedIn(browser, "/campaigns/new");
    await drop(page, ".drop", "typed.csv", HEAD + rows(2, 5550230000));
    await waitFor(page, "all can be used");
    await page.getByLabel("Name", { exact: true }).last().fill("Typed before");
    await page.context().clearCookies();
    await button(page, "Save as draft").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("API key").fill(account.key);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await heading(page).filter({ hasText: "Typed before" }).waitFor();
    assert.equal((await ask("GET", "/campaigns?name=Typed")).length, 1);
    await close(page);
  },

  async "go on after a lost connection"(browser) {
    const page = await signedIn(browser, "/campaigns");
    await page.context().setOffline(true);
    await page.getByLabel("Search by name").fill("Typed");
    await waitFor(page, "The connection is lost");
    await page.context().setOffline(false);
    await page.getByText("The connection is lost").waitFor({ state: "detached", timeout: 15_000 });
    assert.equal(await page.getByLabel("Search by name").inputValue(), "Typed");
    await page.waitForURL(({ search }) => search === "?name=Typed");
    await close(page);
  },

  async "no violation on any page, in light and dark, and none is too wide"(browser) {
    const { campaignId } = await campaign("looked at", 3);
    for (const colorScheme of ["light", "dark"]) {
      const signIn = await open(browser, { colorScheme });
      await heading(signIn).waitFor();
      await checkAccess(signIn, `sign-in, ${colorScheme}`);
      await close(signIn);
      const page = await signedIn(browser, "/", { colorScheme });
      for (const path of ["/", "/campaigns", "/campaigns/new", `/campaigns/${campaignId}`, "/profile"]) {
        await page.goto(service + path);
        await heading(page).waitFor();
        await page.waitForTimeout(500);
        if (path === "/campaigns/new") await drop(page, ".drop", "bad.csv", BAD);
        await page.waitForTimeout(300);
        await checkAccess(page, `${path}, ${colorScheme}`);
        await fits(page, path);
      }
      await close(page);
    }
  },
};

/** Prints what the open pages show, and closes them. */
async function showPages(browser) {
  for (const context of browser.contexts()) {
    for (const page of context.pages()) console.error(page.url(), page.faults, await page.locator("body").innerText().catch(String));
    await context.close();
  }
}

const chosen = process.argv.slice(2), failed = [];
const browser = await startBrowser();
try {
  for (const group of [onEmptyAccount, scenarios, calls, resources, agents, graph, checks, appointments, keyboard, live, operator, rights, words, policy, hostile, results, looks]) {
    if (group === scenarios) await agent();
    for (const [name, run] of Object.entries(group)) {
      if (chosen.length > 0 && !chosen.some((each) => name.startsWith(each))) continue;
      const start = Date.now();
      await run(browser).catch(async (error) => { failed.push(name); console.error(error); await showPages(browser); });
      console.log(`${failed.at(-1) === name ? "FAILED" : "ok"} ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
    }
  }
} finally {
  await browser.close();
}
for (const name of failed) console.error(`failed: ${name}`);
process.exitCode = failed.length > 0 ? 1 : 0;
