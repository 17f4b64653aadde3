// Scenarios of a person who has a call: microphone, keys, transfer; and of those who follow several calls.

import assert from "node:assert/strict";
import { account, ask, button, checkAccess, close, dialog, fits, inDialog, row, signedIn, waitFor } from "./browser.mjs";
import { end, eventsOf, isLoud, place, recorded } from "./live.mjs";

const { RINGBACK_URL: service } = process.env;
const LINE = "You have the call";

/** The microphone's level. */
const level = async (page) => Number(await page.getByRole("meter", { name: "Your microphone" }).getAttribute("aria-valuenow"));
/** Highest level within a second. */
async function loudest(page) {
  const levels = [];
  for (let n = 0; n < 10; n++) { levels.push(await level(page)); await page.waitForTimeout(100); }
  return Math.max(...levels);
}

async function taken(browser) {
  const id = await place(), page = await signedIn(browser, `/calls/${id}`);
  await button(page, "Take over").click();
  await waitFor(page, LINE);
  return { id, page };
}

export const operator = {
  async "mute the microphone, choose another one, and press keys"(browser) {
    const { id, page } = await taken(browser);
    await isLoud(page, "Your microphone");
    await button(page, "Mute the microphone").click();
    await waitFor(page, "Nobody hears you.");
    await page.waitForTimeout(300);
    assert.ok(await loudest(page) < -50, "the microphone is silent");
    await button(page, "Press keys").click();
    await dialog(page).getByLabel("Keys").fill("1x");
    await inDialog(page, "Press keys").click();
    await dialog(page).locator(".field.invalid").waitFor();
    await checkAccess(page, "keys of a person who has the call");
    await dialog(page).getByLabel("Keys").fill("1w2#");
    await inDialog(page, "Press keys").click();
    await dialog(page).waitFor({ state: "detached" });
    await recorded(id, "digits");
    assert.equal((await eventsOf(id, "digits"))[0].detail.digits, "1w2#");
    const devices = page.getByRole("combobox", { name: "Microphone" });
    const names = await devices.locator("option").allTextContents();
    assert.ok(names.length > 1, names.join());
    await devices.selectOption({ index: names.length - 1 });
    await page.waitForTimeout(500);
    assert.ok(await loudest(page) < -50, "another microphone is silent too");
    await button(page, "Unmute the microphone").click();
    await isLoud(page, "Your microphone");
    assert.equal(await page.evaluate(() => typeof localStorage.getItem("ringback.microphone")), "string");
    await checkAccess(page, "a call with a chosen microphone");
    await fits(page, "a call with a chosen microphone");
    await end(id);
    await close(page);
  },

  async "transfer a call that was taken over; a wrong number keeps it"(browser) {
    const { id, page } = await taken(browser);
    await button(page, "Transfer").click();
    await dialog(page).getByLabel("To number").fill("12");
    await inDialog(page, "Transfer").click();
    await dialog(page).locator(".field.invalid").getByText("Not a phone number").waitFor();
    assert.equal((await eventsOf(id, "operator_left")).length, 0);
    await dialog(page).getByLabel("To number").fill("+15550100077");
    assert.equal(await dialog(page).getByLabel("Words before it").count(), 0);
    await inDialog(page, "Transfer").click();
    await waitFor(page, "The transfer begins.");
    await dialog(page).waitFor({ state: "detached" });
    await recorded(id, "transfer_wanted");
    await recorded(id, "operator_left");
    assert.equal((await eventsOf(id, "operator_left"))[0].detail.reason, "transferred");
    await button(page, "Give back").waitFor({ state: "detached" });
    await waitFor(page, /transferred the call/);
    assert.match(JSON.stringify((await eventsOf(id, "transfer_wanted"))[0].detail), /15550100077/);
    await end(id).catch(() => {});
    await close(page);
  },

  async "listen from the list of live calls"(browser) {
    const name = `Lio ${Date.now()}`, id = await place(name);
    const page = await signedIn(browser, "/live");
    await button(page, `Listen to ${name}`).click();
    await waitFor(page, `You are listening to ${name}.`);
    await isLoud(page, "You hear");
    await checkAccess(page, "listening from the list");
    await fits(page, "listening from the list");
    await recorded(id, "listener_joined");
    await button(page, "Stop listening").click();
    await page.getByRole("meter").waitFor({ state: "detached" });
    await recorded(id, "listener_left");
    await button(page, `Listen to ${name}`).click();
    await waitFor(page, `You are listening to ${name}.`);
    await end(id);
    await page.getByRole("meter").waitFor({ state: "detached" });
    await close(page);
  },

  async "see on Live that an agent wants a person"(browser) {
    const page = await signedIn(browser, "/live");
    const call = { conversationId: "01a2294f-2551-7541-b6b1-6d50e1a782bd", agentName: "Ava", contactName: "Kim", direction: "outbound", status: "in_progress",
      startedAt: new Date().toISOString(), answeredAt: new Date().toISOString(), present: { state: "transferring", mood: "negative" } };
    const event = { type: "call.person_wanted", data: { conversationId: call.conversationId } };
    await page.route("**/public/v1/events", (route) => route.fulfill({ contentType: "text/event-stream", body: `event: ${event.type}\nid: 1\ndata: ${JSON.stringify(event)}\n\n` }));
    await page.route("**/public/v1/calls/live?*", (route) => route.fulfill({ json: { success: true, data: [call], pagination: { hasMore: false } } }));
    await page.reload();
    const note = page.getByRole("status").filter({ hasText: "Ava wants a person for Kim" });
    await note.getByRole("link").waitFor();
    await checkAccess(page, "a note that an agent wants a person");
    await close(page);
  },
};

/** A page of somebody who signed in by a key. */
async function signedInBy(browser, apiKey, path) {
  const page = await signedIn(browser);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("E-mail address").fill(process.env.RINGBACK_EMAIL);
  await page.getByLabel("API key").fill(apiKey);
  await page.keyboard.press("Enter");
  await page.locator('nav a[href="/profile"]').waitFor();
  await page.goto(service + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  return page;
}

/** The same by a key that may do less. */
export async function signedInWith(browser, scopes, path) {
  const { apiKey, keyId } = await ask("POST", "/me/api-keys", { name: `only ${scopes.join(" and ")}`, scopes });
  return { page: await signedInBy(browser, apiKey, path), keyId };
}

export const rights = {
  async "what a key may not do is not offered"(browser) {
    const agents = await ask("GET", "/agents"), id = await place();
    const { page, keyId } = await signedInWith(browser, ["read"], "/agents");
    await row(page, agents[0].name).first().waitFor();
    for (const name of ["New agent", "Duplicate", "Delete"]) assert.equal(await page.getByRole("main").getByText(name, { exact: true }).count(), 0, name);
    await page.goto(`${service}/agents/${agents[0].agentId}`);
    await waitFor(page, "Your key lacks the right “write”.");
    for (const name of ["Save", "Talk to it", "Call me"]) assert.equal(await button(page, name).count(), 0, name);
    await page.goto(`${service}/calls/${id}`);
    await waitFor(page, "Your key lacks the right “live control”.");
    for (const name of ["Take over", "Listen", "Say", "End call"]) assert.equal(await button(page, name).count(), 0, name);
    await checkAccess(page, "a call for reading only");
    await page.goto(`${service}/live`);
    await page.locator(`a[href="/calls/${id}"]`).waitFor();
    assert.equal(await page.getByRole("button", { name: /^Listen/ }).count(), 0);
    for (const [path, text] of [["/settings", "right “manage”"], ["/profile", "right “manage”"], ["/safeguards", "right “write”"]]) {
      await page.goto(service + path);
      await waitFor(page, text);
      assert.equal(await page.locator(".alert.bad").count(), 0, path);
      await checkAccess(page, `${path} for reading only`);
    }
    for (const path of ["/contacts", "/do-not-call", "/numbers", "/knowledge", "/tools", "/campaigns"]) {
      await page.goto(service + path);
      await page.locator(".empty, .table-box").first().waitFor();
      assert.equal(await page.getByRole("main").getByRole("button", { name: /^(Add|Assign|Delete)/ }).count(), 0, path);
    }
    await close(page);
    await ask("DELETE", `/me/api-keys/${keyId}`);
    // The simulated person may have hung up.
    await end(id).catch(() => {});
  },

  async "who signed in by the account's key is named by the account"(browser) {
    const id = await place(), page = await signedInBy(browser, account.key, `/calls/${id}`);
    await button(page, "Take over").click();
    await waitFor(page, LINE);
    const other = await signedIn(browser, `/calls/${id}`);
    await waitFor(other, `${process.env.RINGBACK_EMAIL} (account key) has the call`);
    await end(id);
    for (const each of [page, other]) await close(each);
  },

  async "a key that cannot read gets in, and is told"(browser) {
    const { page, keyId } = await signedInWith(browser, ["live"], "/agents");
    await waitFor(page, "Your key does not allow this.");
    await close(page);
    await ask("DELETE", `/me/api-keys/${keyId}`);
  },
};
