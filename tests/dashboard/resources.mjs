// Scenarios of the pages that list, make and change one kind of thing each.

import assert from "node:assert/strict";
import { ask, button, checkAccess, close, dialog, fits, heading, inDialog, isGone, pick, receiver, row, signedIn, tabTo, until, waitFor } from "./browser.mjs";

const { RINGBACK_URL: service } = process.env;
const HOSTILE = "<img src=x onerror=alert(1)>";
const PAGES = ["/knowledge", "/knowledge?tab=groups", "/knowledge?tab=question", "/tools", "/contacts", "/do-not-call", "/numbers", "/safeguards",
  "/safeguards?tab=transfers", "/settings"];

async function agent(name, agentFields = {}) {
  const prompt = { prompt: `You are ${name}.`, ...agentFields };
  return ask("POST", "/agents/create", { name, conversationConfig: { agent: { prompt, greetingMessage: "Hello." } } });
}

/** Deletes the row and says yes. */
async function remove(page, name) {
  await button(page, `Delete ${name}`).click();
  await inDialog(page, "Delete").click();
}

export const resources = {
  async "keep documents and groups, and say what holds one"(browser) {
    const page = await signedIn(browser, "/knowledge");
    await button(page, "Add a document").click();
    await inDialog(page, "Add a document").click();
    await dialog(page).getByText("Choose a file.").waitFor();
    await dialog(page).getByLabel("File", { exact: true })
      .setInputFiles({ name: "prices.md", mimeType: "text/markdown", buffer: Buffer.from("# Prices\nA cleaning costs 80 euros.") });
    await inDialog(page, "Add a document").click();
    await row(page, "prices.md").waitFor();
    await button(page, "Add a document").click();
    await dialog(page).getByLabel("Source").selectOption("text");
    await dialog(page).getByLabel("Name").fill(`${HOSTILE} hours`);
    await dialog(page).getByLabel("Text", { exact: true }).fill("We are open from nine to five.");
    await inDialog(page, "Add a document").click();
    await row(page, HOSTILE).waitFor();
    await page.getByLabel("Search by name").fill("prices");
    await isGone(page, HOSTILE);
    assert.equal(new URL(page.url()).search, "?search=prices");
    await page.getByRole("tab", { name: "Groups" }).click();
    await button(page, "Add a group").click();
    await dialog(page).getByLabel("Name", { exact: true }).fill("Practice");
    await dialog(page).getByLabel("prices.md").check();
    await inDialog(page, "Add a group").click();
    await row(page, "Practice").getByText("prices.md").waitFor();
    await page.getByRole("tab", { name: "Documents" }).click();
    await remove(page, "prices.md");
    await dialog(page).getByRole("alert").filter({ hasText: /in use by.*Practice|Practice.*holds/ }).waitFor();
    await inDialog(page, "Cancel").click();
    await page.getByRole("tab", { name: "Groups" }).click();
    await button(page, "Practice").click();
    await dialog(page).getByLabel("prices.md").uncheck();
    await dialog(page).getByText("1 document", { exact: true }).waitFor();
    await inDialog(page, "Save").click();
    await until(async () => (await ask("GET", "/knowledge-base/groups"))[0].documents.length === 0, "an empty group");
    await remove(page, "Practice");
    await isGone(page, "Practice");
    await page.getByRole("tab", { name: "Documents" }).click();
    await remove(page, "prices.md");
    await isGone(page, "prices.md");
    await close(page);
  },

  async "ask documents a question"(browser) {
    const { documentId } = await ask("POST", "/knowledge-base/documents/text", { name: "Fees", text: `# Check-ups\nA check-up is 60 euros. ${HOSTILE}` });
    const page = await signedIn(browser, "/knowledge?tab=question");
    await page.getByRole("textbox", { name: "Question" }).fill("What is a check-up?");
    await button(page, "Search").click();
    await page.locator("[aria-invalid], .alert").first().waitFor();
    await page.getByLabel("Fees").check();
    await button(page, "Search").click();
    await waitFor(page, "1 passage, best first");
    await page.locator(".passage").getByText(HOSTILE).waitFor();
    await ask("DELETE", `/knowledge-base/documents/${documentId}`);
    await close(page);
  },

  async "check a carrier, and see what another one needs"(browser) {
    const page = await signedIn(browser, "/settings");
    const table = page.getByRole("table", { name: "Carriers and providers" });
    await table.getByRole("button", { name: "twilio" }).click();
    await dialog(page).getByText("TWILIO_AUTH_TOKEN").waitFor();
    assert.equal(await inDialog(page, "Check now").count(), 0);
    await inDialog(page, "Close").click();
    const { services } = await ask("GET", "/services");
    const ready = services.find((each) => each.configured);
    await table.getByRole("row").filter({ hasText: "Set up" }).first().getByRole("button", { name: ready.provider }).click();
    await inDialog(page, "Check now").click();
    await dialog(page).getByRole("status").locator(".alert").waitFor();
    await close(page);
  },

  async "change a tool that others change too"(browser) {
    const page = await signedIn(browser, "/tools");
    await button(page, "Add a tool").click();
    await dialog(page).getByLabel("Name").fill("opening hours");
    await dialog(page).getByLabel("Description").fill("Tells the opening hours.");
    await dialog(page).getByLabel("Address").fill("https://example.com/hours");
    await dialog(page).getByLabel("Arguments").fill('{"type": "object"');
    await inDialog(page, "Add a tool").click();
    await dialog(page).getByText("This is not JSON").waitFor();
    await dialog(page).getByLabel("Arguments").fill('{"type": "object", "properties": {"day": {"type": "string"}, "place": {"type": "string"}}}');
    await inDialog(page, "Add a tool").click();
    await dialog(page).locator(".field.invalid").getByLabel("Name").waitFor();
    await dialog(page).getByLabel("Name").fill("openingHours");
    await inDialog(page, "Add a tool").click();
    await row(page, "openingHours").waitFor();
    const { toolId } = (await ask("GET", "/tools"))[0];
    await button(page, "openingHours").click();
    await dialog(page).getByLabel("Arguments").fill('{"type": "object", "properties": {"day": {"type": "string"}}}');
    await ask("PATCH", `/tools/${toolId}`, { description: "Changed by another." });
    await inDialog(page, "Save").click();
    await dialog(page).getByText("Somebody else changed this").waitFor();
    await until(async () => (await dialog(page).getByLabel("Description").inputValue()) === "Changed by another.", "what the other saved");
    await inDialog(page, "Save").click();
    await dialog(page).waitFor({ state: "detached" });
    const saved = await ask("GET", `/tools/${toolId}`);
    assert.equal(saved.description, "Changed by another.");
    assert.deepEqual(Object.keys(saved.parameters.properties), ["day"]);
    const { agentId } = await agent("Tess", { toolIds: [toolId] });
    await remove(page, "openingHours");
    await dialog(page).getByRole("alert").filter({ hasText: "Tess" }).waitFor();
    await ask("DELETE", `/agents/${agentId}`);
    await inDialog(page, "Delete").click();
    await isGone(page, "openingHours");
    await close(page);
  },

  async "keep contacts with fields of their own, and erase one"(browser) {
    const page = await signedIn(browser, "/contacts");
    await button(page, "Add a contact").click();
    await dialog(page).getByLabel("Phone number").fill("12ab");
    await dialog(page).getByLabel("Name", { exact: false }).first().fill(`${HOSTILE} Maria`);
    await button(page, "Add a field").click();
    await dialog(page).getByLabel("Name of field 1").fill("city");
    await dialog(page).getByLabel("Value of city").fill("Lisbon");
    await inDialog(page, "Add a contact").click();
    await dialog(page).locator(".field.invalid").getByLabel("Phone number").waitFor();
    await dialog(page).getByLabel("Phone number").fill("+15550500001");
    await inDialog(page, "Add a contact").click();
    await row(page, "+15550500001").getByText("city: Lisbon").waitFor();
    const [{ contactId }] = await ask("GET", "/contacts?search=%2B15550500001");
    await ask("PATCH", `/contacts/${contactId}`, { visits: 3 });
    await button(page, `${HOSTILE} Maria`).click();
    assert.equal(await dialog(page).getByLabel("Value of visits").inputValue(), "3");
    await button(page, "Remove city").click();
    await inDialog(page, "Save").click();
    await row(page, "+15550500001").getByText("visits: 3").waitFor();
    const saved = await ask("GET", `/contacts/${contactId}`);
    assert.equal(saved.city, undefined);
    assert.equal(saved.visits, 3);
    await button(page, `Delete ${HOSTILE} Maria`).click();
    await dialog(page).getByLabel("Erase this person everywhere").check();
    await inDialog(page, "Delete").click();
    await isGone(page, "+15550500001");
    await close(page);
  },

  async "block many numbers, find one, and allow it again"(browser) {
    const page = await signedIn(browser, "/do-not-call");
    const numbers = Array.from({ length: 130 }, (_, n) => `+1${5550600000 + n}`);
    await button(page, "Add numbers").click();
    await dialog(page).getByLabel("Phone numbers").fill([...numbers, "12ab"].join("\n"));
    await inDialog(page, "Add numbers").click();
    await dialog(page).getByText(/1 number was refused; on the list: 130[\s\S]*12ab/).waitFor({ timeout: 30_000 });
    await dialog(page).getByLabel("Phone numbers").fill(numbers.slice(0, 3).join(", "));
    await inDialog(page, "Add numbers").click();
    await dialog(page).waitFor({ state: "detached" });
    // The first one that was added is on the second page of the list.
    await page.getByLabel("Search by number").fill("555 060-0000");
    await isGone(page, numbers[1]);
    await row(page, numbers[0]).waitFor();
    await remove(page, numbers[0]);
    await waitFor(page, "Nothing matches this search.");
    const [first] = (await ask("GET", "/do-not-call?pageSize=100")).filter((entry) => entry.phoneNumber === numbers[0]);
    assert.equal(first, undefined);
    await close(page);
  },

  async "assign a number, and take it away"(browser) {
    const { agentId } = await agent("Nora");
    const page = await signedIn(browser, "/numbers");
    await button(page, "Assign a number").click();
    await dialog(page).getByLabel("Phone number").fill("+15550700001");
    await pick(dialog(page), "Agent", "Nora");
    await inDialog(page, "Assign a number").click();
    await row(page, "+15550700001").getByRole("link", { name: "Nora" }).waitFor();
    await button(page, "+15550700001").click();
    await dialog(page).getByLabel("Agent").click();
    await dialog(page).getByRole("option", { name: "Take it from the agents" }).click();
    await inDialog(page, "Save").click();
    await isGone(page, "+15550700001");
    assert.deepEqual(await ask("GET", "/phone-numbers"), []);
    await ask("DELETE", `/agents/${agentId}`);
    await close(page);
  },

  async "set limits, and turn them off"(browser) {
    const page = await signedIn(browser, "/safeguards");
    const rule = (name) => page.getByRole("region", { name });
    const hours = rule("Calling hours");
    await hours.getByLabel("Rule").selectOption("enforce");
    await hours.getByLabel("From").fill("20:00");
    await hours.getByLabel("Until").fill("09:00");
    await hours.getByRole("button", { name: "Save" }).click();
    await hours.locator("[aria-invalid], .alert").first().waitFor();
    await hours.getByLabel("From").fill("09:00");
    await hours.getByLabel("Until").fill("20:00");
    await hours.getByLabel("Sunday").uncheck();
    await hours.getByRole("button", { name: "Save" }).click();
    await hours.locator(".badge").getByText("Enforced").waitFor();
    const prefixes = rule("Allowed destinations");
    await prefixes.getByLabel("Rule").selectOption("warn");
    await prefixes.getByLabel("Beginnings of numbers").fill("+1\n+4930");
    await prefixes.getByRole("button", { name: "Save" }).click();
    await prefixes.locator(".badge").getByText("Only warn").waitFor();
    const set = await ask("GET", "/safeguards");
    assert.deepEqual([set.callingHours.from, set.callingHours.days.length, set.allowedPrefixes], ["09:00", 6, { mode: "warn", prefixes: ["+1", "+4930"] }]);
    await hours.getByLabel("Rule").selectOption("off");
    await hours.getByRole("button", { name: "Save" }).click();
    await hours.locator(".badge").getByText("Off").waitFor();
    await ask("PATCH", "/safeguards", { callingHours: null, allowedPrefixes: null });
    await close(page);
  },

  async "keep a transfer rule, and move it to a SIP address"(browser) {
    const page = await signedIn(browser, "/safeguards?tab=transfers");
    await button(page, "Add a transfer rule").click();
    await dialog(page).getByLabel("Name").fill("Emergencies");
    await dialog(page).getByLabel("When").fill("somebody is hurt");
    await dialog(page).getByLabel("Phone number").fill("+15550100021");
    await inDialog(page, "Add a transfer rule").click();
    await row(page, "Emergencies").getByText("+15550100021").waitFor();
    await button(page, "Emergencies").click();
    await dialog(page).getByLabel("To", { exact: true }).selectOption("sip_uri");
    await dialog(page).getByLabel("SIP address").fill("sip:desk@example.com");
    await inDialog(page, "Save").click();
    await row(page, "Emergencies").getByText("sip:desk@example.com").waitFor();
    const [rule] = await ask("GET", "/transfer-rules");
    assert.deepEqual(rule.transferDestination, { type: "sip_uri", sipUri: "sip:desk@example.com" });
    assert.equal(rule.condition, "somebody is hurt");
    const { agentId } = await agent("Tom", { builtInTools: { transferToNumber: { enabled: true, transferRuleIds: [rule.transferRuleId] } } });
    await remove(page, "Emergencies");
    await dialog(page).getByRole("alert").filter({ hasText: "Tom" }).waitFor();
    await ask("DELETE", `/agents/${agentId}`);
    await inDialog(page, "Delete").click();
    await isGone(page, "Emergencies");
    await close(page);
  },

  async "add a webhook, keep its secret, see a delivery fail and arrive"(browser) {
    const server = await receiver(500);
    const page = await signedIn(browser, "/settings");
    await button(page, "Add a webhook").click();
    await dialog(page).getByLabel("Address").fill("ftp://example.com");
    await inDialog(page, "Add a webhook").click();
    await dialog(page).locator(".field.invalid").getByLabel("Address").waitFor();
    await dialog(page).getByLabel("Address").fill(server.url);
    await dialog(page).getByLabel("All events").uncheck();
    await dialog(page).getByLabel("All of campaigns").check();
    await inDialog(page, "Add a webhook").click();
    assert.match(await page.getByRole("textbox", { name: "Secret of the webhook" }).inputValue(), /^whsec_/);
    await button(page, "I have kept it").click();
    await row(page, server.url).getByRole("link").click();
    await button(page, "Send a test event").click();
    const delivery = page.getByRole("table", { name: "Deliveries" }).getByRole("row").filter({ hasText: "webhook.test" });
    await delivery.getByText("500").waitFor();
    await delivery.getByRole("button", { name: "webhook.test", exact: true }).click();
    await dialog(page).getByText("webhook-id").waitFor();
    await inDialog(page, "Close").click();
    // The overview tells of it, long before the delivery is given up.
    await page.getByRole("navigation").getByRole("link", { name: "Overview" }).click();
    const problem = page.getByRole("listitem").filter({ hasText: "the receiver answered 500" });
    await problem.getByRole("link", { name: "See and mend" }).click();
    server.status = 204;
    await button(page, "Send again: webhook.test").click();
    await delivery.getByText("Arrived").waitFor();
    assert.equal(new Set(server.requests).size, 1);
    await button(page, "Turn off").click();
    await button(page, "Turn on").waitFor();
    assert.equal(await button(page, "Send a test event").count(), 0);
    await button(page, "New secret").click();
    await inDialog(page, "New secret").click();
    assert.match(await page.getByRole("textbox", { name: "Secret of the webhook" }).inputValue(), /^whsec_/);
    await button(page, "I have kept it").click();
    await button(page, "Delete").click();
    await inDialog(page, "Delete").click();
    await heading(page).filter({ hasText: "Settings" }).waitFor();
    assert.deepEqual(await ask("GET", "/webhooks"), []);
    server.close();
    await close(page);
  },

  async "add and delete on each page by keyboard alone"(browser) {
    const { agentId } = await agent("Kay");
    const pages = [
      ["/tools", "Add a tool", "byKeys", { Name: "byKeys", Description: "Does it.", Address: "https://example.com/keys" }],
      ["/contacts", "Add a contact", "Kim", { "Phone number": "+15550800001", Name: "Kim" }],
      ["/do-not-call", "Add numbers", "+15550800002", { "Phone numbers": "+15550800002" }],
      ["/knowledge?tab=groups", "Add a group", "Keys", { Name: "Keys" }],
      ["/safeguards?tab=transfers", "Add a transfer rule", "Rule of keys", { Name: "Rule of keys", To: "S", "SIP address": "sip:desk@example.com" }],
    ];
    for (const [path, add, name, fields] of pages) {
      const page = await signedIn(browser, path);
      await page.getByText(/ yet\.|is empty|^Delete$/).first().waitFor();
      await tabTo(page, add);
      await page.keyboard.press("Enter");
      await dialog(page).waitFor();
      for (const [label, text] of Object.entries(fields)) {
        await tabTo(page, label);
        await page.keyboard.type(text);
      }
      await tabTo(page, add);
      await page.keyboard.press("Enter");
      await button(page, `Delete ${name}`).waitFor();
      await until(() => page.evaluate((text) => document.activeElement?.textContent === text, add), "the focus is back");
      await tabTo(page, `Delete ${name}`);
      await page.keyboard.press("Enter");
      await dialog(page).waitFor();
      await tabTo(page, "Delete");
      await page.keyboard.press("Enter");
      await isGone(page, name);
      assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");
      await close(page);
    }
    await ask("DELETE", `/agents/${agentId}`);
  },

  async "no violation on the pages of lists, in light and dark, and none is too wide"(browser) {
    const made = [
      ["/tools", "toolId", { name: "look", description: "Looks it up.", url: "https://example.com/look" }],
      ["/contacts", "contactId", { phoneNumber: "+15550900001", name: HOSTILE, city: "Lisbon" }],
      ["/do-not-call", "phoneNumber", { phoneNumber: "+15550900002" }],
      ["/knowledge-base/documents/text", "documentId", { name: HOSTILE, text: "Looked at." }],
      ["/transfer-rules", "transferRuleId", { name: "Desk", transferDestination: { type: "phone", phoneNumber: "+15550900003" } }],
      ["/webhooks", "webhookId", { url: "https://example.com/hook" }],
    ];
    const rows = [];
    for (const [path, id, body] of made) rows.push([path.replace("/text", ""), (await ask("POST", path, body))[id]]);
    const [, webhookId] = rows.at(-1);
    await ask("POST", `/webhooks/${webhookId}/test`, {});
    for (const colorScheme of ["light", "dark"]) {
      const page = await signedIn(browser, "/", { colorScheme });
      for (const path of [...PAGES, `/settings/webhooks/${webhookId}`]) {
        await page.goto(service + path);
        await heading(page).waitFor();
        await page.waitForTimeout(500);
        await checkAccess(page, `${path}, ${colorScheme}`);
        await fits(page, path);
        const add = page.getByRole("button", { name: /^(Add|Assign) (a |numbers)/ });
        if ((await add.count()) === 0) continue;
        await add.click();
        await page.waitForTimeout(200);
        await checkAccess(page, `dialog of ${path}, ${colorScheme}`);
      }
      await close(page);
    }
    for (const [path, id] of rows) await ask("DELETE", `${path}/${encodeURIComponent(id)}`);
  },
};
