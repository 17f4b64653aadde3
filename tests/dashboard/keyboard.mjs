// Scenarios by keyboard alone of knowledge, numbers, limits, settings and webhooks.

import assert from "node:assert/strict";
import { ask, byKeys, button, close, dialog, heading, isGone, pickByKeys, receiver, row, signedIn, tabTo, until, waitFor } from "./browser.mjs";

const focus = (page, question, what) => until(() => page.evaluate(question), what);
const enter = (page, name) => byKeys(page, name, { key: "Enter" });

/** Deletes what has this name, by its button in the list. */
async function remove(page, name) {
  await enter(page, `Delete ${name}`);
  await dialog(page).waitFor();
  await enter(page, "Delete");
  await isGone(page, name);
}

/** Opens a line of a table: Tab goes to one line of it, and the arrow keys to the others. */
async function openLine(page, name) {
  const isLine = () => page.evaluate(() => Boolean(document.activeElement?.closest("tbody th")));
  await until(async () => (await isLine()) || (await page.keyboard.press("Tab")), "a line of the table");
  const isThis = () => page.evaluate((name) => document.activeElement?.textContent?.trim().startsWith(name), name);
  await until(async () => (await isThis()) || (await page.keyboard.press("ArrowDown")), `the line ${name}`);
  await page.keyboard.press("Enter");
}

export const keyboard = {
  async "keep documents and ask one by keyboard alone"(browser) {
    const page = await signedIn(browser, "/knowledge");
    await button(page, "Add a document").waitFor();
    await enter(page, "Add a document");
    await dialog(page).waitFor();
    await byKeys(page, "Source", { text: "T" });
    await byKeys(page, "Name", { text: "Parking" });
    await byKeys(page, "Text", { text: "# Parking\nYou can park behind the house." });
    await enter(page, "Add a document");
    await row(page, "Parking").waitFor();
    await focus(page, () => document.activeElement?.textContent === "Add a document", "the focus is back");
    await byKeys(page, "Search by name", { text: "park" });
    await until(() => new URL(page.url()).search === "?search=park", "the search in the address");
    await byKeys(page, "Add a document", { key: "Shift+Tab" });
    for (let n = 0; n < 2; n++) await page.keyboard.press("ArrowRight");
    await page.getByRole("tab", { name: "Try a question", selected: true }).waitFor();
    await page.getByLabel("Parking").waitFor();
    await byKeys(page, "Question", { text: "Where can I park?" });
    await tabTo(page, "Parking");
    // If it is the first document, its name begins the list as well, which scrolls and comes before it.
    if (await page.evaluate(() => document.activeElement?.tagName !== "INPUT")) await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await page.getByRole("checkbox", { name: "Parking", checked: true }).waitFor();
    await enter(page, "Search");
    await page.locator(".passage").getByText("behind the house").waitFor();
    await byKeys(page, "Try a question", { key: "ArrowRight" });
    await row(page, "Parking").waitFor();
    await remove(page, "Parking");
    await focus(page, () => document.activeElement?.tagName === "H1", "the focus on the heading");
    await close(page);
  },

  async "assign a number and take it away by keyboard alone"(browser) {
    const conversationConfig = { agent: { prompt: { prompt: "You are Zoe." }, greetingMessage: "Hello." } };
    const { agentId } = await ask("POST", "/agents/create", { name: "Zoe", conversationConfig });
    const page = await signedIn(browser, "/numbers");
    await button(page, "Assign a number").waitFor();
    await enter(page, "Assign a number");
    await dialog(page).waitFor();
    await byKeys(page, "Phone number", { text: "+15550700009" });
    await pickByKeys(page, "Agent", "Zoe");
    await enter(page, "Assign a number");
    await row(page, "+15550700009").getByRole("link", { name: "Zoe" }).waitFor();
    await openLine(page, "+15550700009");
    await dialog(page).waitFor();
    await byKeys(page, "Agent", { key: "ArrowDown" });
    await page.keyboard.press("Enter");
    await enter(page, "Save");
    await isGone(page, "+15550700009");
    await ask("DELETE", `/agents/${agentId}`);
    await close(page);
  },

  async "set limits by keyboard alone"(browser) {
    const page = await signedIn(browser, "/safeguards");
    const hours = page.getByRole("region", { name: "Calling hours" }), badge = hours.locator(".badge");
    await hours.waitFor();
    // The A makes it a morning hour where the browser shows twelve of them.
    await byKeys(page, "Rule", { text: "Enf" });
    await byKeys(page, "From", { text: "1000A" });
    await byKeys(page, "Until", { text: "0900A" });
    await enter(page, "Save");
    await hours.locator(".error, .alert").first().waitFor();
    await focus(page, () => document.activeElement?.matches("[aria-invalid], .alert"), "the focus on what is wrong");
    await byKeys(page, "From", { text: "0800A" });
    await byKeys(page, "Sunday", { key: "Space" });
    await enter(page, "Save");
    await badge.getByText("Enforced").waitFor();
    const { from, to, days } = (await ask("GET", "/safeguards")).callingHours;
    assert.deepEqual([from, to, days.includes("sunday")], ["08:00", "09:00", false]);
    await page.reload();
    await badge.getByText("Enforced").waitFor();
    await byKeys(page, "Rule", { text: "Off" });
    await enter(page, "Save");
    await badge.getByText("Off").waitFor();
    await ask("PATCH", "/safeguards", { callingHours: null });
    await close(page);
  },

  async "check a carrier by keyboard alone"(browser) {
    const page = await signedIn(browser, "/settings");
    const table = page.getByRole("table", { name: "Carriers and providers" });
    await table.getByRole("button").first().waitFor();
    const [first, second] = await table.getByRole("button").allTextContents();
    const isAt = (line) => until(() => page.evaluate((index) => document.activeElement?.closest("tr")?.ariaRowIndex === index, String(line)), `the focus in line ${line}`);
    await byKeys(page, first, { key: "ArrowDown" });
    // The heading is the first line.
    await isAt(3);
    await page.keyboard.press("Enter");
    await dialog(page).getByRole("heading", { name: second, exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    await page.keyboard.press("Home");
    await isAt(2);
    await page.keyboard.press("Enter");
    await enter(page, "Check now");
    await dialog(page).getByRole("status").locator(".alert").waitFor();
    await enter(page, "Close");
    await dialog(page).waitFor({ state: "detached" });
    await isAt(2);
    await close(page);
  },

  async "keep a webhook by keyboard alone"(browser) {
    const server = await receiver(204);
    const page = await signedIn(browser, "/settings");
    await enter(page, "Add a webhook");
    await dialog(page).waitFor();
    await byKeys(page, "Address", { text: server.url });
    await byKeys(page, "All events", { key: "Space" });
    await byKeys(page, "All of campaigns", { key: "Space" });
    await enter(page, "Add a webhook");
    await enter(page, "I have kept it");
    await row(page, server.url).waitFor();
    await enter(page, server.url);
    await heading(page).filter({ hasText: /^Webhook$/ }).waitFor();
    await button(page, "Send a test event").waitFor();
    await enter(page, "Send a test event");
    await row(page, "webhook.test").getByText("Arrived").waitFor();
    await enter(page, "webhook.test");
    await dialog(page).getByText("webhook-id").waitFor();
    await enter(page, "Close");
    await enter(page, "Turn off");
    await button(page, "Turn on").waitFor();
    await enter(page, "Change");
    await byKeys(page, "Description", { text: "For the wallboard" });
    await enter(page, "Save");
    await waitFor(page, "For the wallboard");
    await enter(page, "Delete");
    await dialog(page).waitFor();
    await enter(page, "Delete");
    await heading(page).filter({ hasText: "Settings" }).waitFor();
    assert.deepEqual(await ask("GET", "/webhooks"), []);
    server.close();
    await close(page);
  },
};
