// Scenarios of words and small things: errors in both languages, ids, lists of voices, documents, deliveries, secrets, unsaved input.

import assert from "node:assert/strict";
import { ask, button, checkAccess, close, dialog, drop, heading, inDialog, open, receiver, row, signedIn, until, waitFor } from "./browser.mjs";
import { end, place } from "./live.mjs";

const { RINGBACK_URL: service } = process.env;

/** Answers requests with an error of the service. */
const refuse = (status, code, message = "no") => (route) => route.fulfill({ status, json: { success: false, error: { code, message, status } } });

export const words = {
  async "read errors in German, at their fields"(browser) {
    const page = await signedIn(browser, "/agents/new", { locale: "de-DE" });
    await page.getByLabel("Name", { exact: true }).fill("Mia");
    await page.getByLabel("Anweisungen", { exact: true }).fill("Du bist Mia.");
    await page.getByLabel("Nachfragen nach").or(page.locator('[name="conversationConfig.turn.turnTimeout"]')).first().fill("99");
    await button(page, "Agenten anlegen").click();
    await page.locator(".field.invalid").getByText("Von 1 bis 30, oder -1 für nie.").waitFor();
    await checkAccess(page, "an error in German");
    await page.route("**/public/v1/agents/create", refuse(409, "conflict", "the `name` is taken"));
    await page.locator('[name="conversationConfig.turn.turnTimeout"]').fill("9");
    await button(page, "Agenten anlegen").click();
    await page.getByRole("alert").filter({ hasText: "Das geht gerade nicht. The name is taken." }).waitFor();
    await close(page);
  },

  async "choose a voice from the list, and be told of one that is not there"(browser) {
    const { agentId } = await ask("POST", "/agents/create", { name: "Voiced", conversationConfig: { tts: { voiceId: "nope:x" }, agent: { prompt: { prompt: "p" } } } });
    const page = await signedIn(browser, `/agents/${agentId}`);
    const voice = page.locator('[name="conversationConfig.tts.voiceId"]');
    await waitFor(page, "The service does not list this one.");
    await checkAccess(page, "a voice that is not listed");
    await voice.selectOption("babble:default");
    await page.getByText("The service does not list this one.").waitFor({ state: "detached" });
    // No voice of this service has a sample.
    const voices = [{ voiceId: "elevenlabs:v1", name: "Vera", provider: "elevenlabs", languages: ["en"], previewUrl: "https://example.com/v1.mp3" }];
    await page.route("**/public/v1/voices", (route) => route.fulfill({ json: { success: true, data: { voices, unavailable: [] } } }));
    await page.reload();
    await voice.selectOption("elevenlabs:v1");
    assert.equal(await page.getByLabel("How it sounds").getAttribute("src"), "/public/v1/voices/preview?voiceId=elevenlabs%3Av1");
    await checkAccess(page, "a voice with a sample");
    await page.unroute("**/public/v1/voices");
    await page.reload();
    await voice.selectOption("babble:default");
    await page.locator('[name="conversationConfig.agent.prompt.llm"]').selectOption({ label: "Another one …" });
    await page.getByLabel("Language model: another one").fill("openai/none");
    await waitFor(page, "The service does not list this one.");
    await button(page, "Save").click();
    await waitFor(page, "Saved.");
    const saved = (await ask("GET", `/agents/${agentId}`)).conversationConfig;
    assert.deepEqual([saved.tts.voiceId, saved.agent.prompt.llm], ["babble:default", "openai/none"]);
    // What changed is named as in the form, and the graph is not a path.
    await ask("PATCH", `/agents/${agentId}`, { workflow: { nodes: { start: { type: "start" } } }, platformSettings: { callActions: { smartOptOut: true } } });
    await page.goto(`${service}/agents/${agentId}/versions`);
    await row(page, "Conversation graph").waitFor();
    assert.equal(await page.getByText(/workflow|platformSettings|conversationConfig/).count(), 0);
    await ask("DELETE", `/agents/${agentId}`);
    await close(page);
  },

  async "copy an id, and the command that reads it"(browser) {
    const { agentId } = await ask("POST", "/agents/create", { name: "Copied", conversationConfig: { agent: { prompt: { prompt: "p" } } } });
    const page = await signedIn(browser, `/agents/${agentId}`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    await button(page, `Copy the id ${agentId}`).click();
    await until(async () => (await copied()) === agentId, "the id");
    await button(page, "As curl").click();
    await until(async () => (await copied()) === `curl -sS -H "x-api-key: $KEY" "${service}/public/v1/agents/${agentId}"`, "the command");
    await ask("DELETE", `/agents/${agentId}`);
    await close(page);
  },

  async "open a document, and read what answers a question"(browser) {
    const text = "We are open from nine to five on weekdays. On Saturdays from ten to two.";
    const { documentId } = await ask("POST", "/knowledge-base/documents/text", { name: "Opening hours <b>bold</b>", text });
    const page = await signedIn(browser, "/knowledge");
    await button(page, "Opening hours <b>bold</b>").click();
    await dialog(page).getByText(String(text.length), { exact: true }).waitFor();
    await dialog(page).getByRole("group", { name: "Text" }).getByText(text, { exact: true }).waitFor();
    await dialog(page).getByLabel("Question").fill("When are you open on Saturdays?");
    await inDialog(page, "Search").click();
    await dialog(page).locator(".passages").getByText("On Saturdays from ten to two.").waitFor();
    await checkAccess(page, "a document");
    await inDialog(page, "Close").click();
    await ask("DELETE", `/knowledge-base/documents/${documentId}`);
    await close(page);
  },

  async "read body and answer of a delivery"(browser) {
    const server = await receiver(503), { webhookId } = await ask("POST", "/webhooks", { url: server.url });
    const [{ agentId }] = await ask("GET", "/agents");
    const { campaignId } = await ask("POST", "/campaigns", { name: "Delivered", agentId, contacts: [{ phoneNumber: "+15550960001" }] });
    const page = await signedIn(browser, `/settings/webhooks/${webhookId}`);
    await row(page, "campaign.draft").getByText("503").waitFor();
    await button(page, "campaign.draft").click();
    await dialog(page).getByText(/Answer.*503/).waitFor();
    await dialog(page).locator("pre").getByText(campaignId).waitFor();
    await dialog(page).locator("pre").getByText("the queue is full", { exact: true }).waitFor();
    await checkAccess(page, "a delivery");
    for (const path of [`/webhooks/${webhookId}`, `/campaigns/${campaignId}`]) await ask("DELETE", path);
    server.close();
    await close(page);
  },

  async "keep a secret in sight until its button is pressed"(browser) {
    const page = await signedIn(browser, "/profile");
    await button(page, "Add a key").click();
    await dialog(page).getByLabel("Name").fill("kept");
    await inDialog(page, "Add a key").click();
    const secret = page.getByRole("textbox", { name: "New key" });
    await secret.waitFor();
    await page.waitForTimeout(300);
    assert.equal(await secret.evaluate((input) => input.scrollLeft), 0);
    for (let n = 0; n < 3; n++) await page.keyboard.press("Escape");
    await page.waitForTimeout(300);
    assert.ok(await secret.isVisible());
    await button(page, "I have kept it").click();
    await secret.waitFor({ state: "detached" });
    const { keyId } = (await ask("GET", "/me/api-keys")).find(({ name }) => name === "kept");
    await ask("DELETE", `/me/api-keys/${keyId}`);
    await close(page);
  },

  async "be asked before a change of the tab loses rules"(browser) {
    const page = await signedIn(browser, "/safeguards"), asked = [];
    page.removeAllListeners("dialog");
    page.on("dialog", (each) => { asked.push(each.message()); return asked.length === 1 ? each.dismiss() : each.accept(); });
    const hours = page.getByRole("region", { name: "Calling hours" });
    await hours.getByLabel("Rule").selectOption("warn");
    await page.getByRole("tab", { name: "Transfer rules" }).click();
    assert.equal(asked.length, 1);
    assert.equal(await hours.getByLabel("Rule").inputValue(), "warn");
    await page.getByRole("tab", { name: "Transfer rules" }).click();
    await button(page, "Add a transfer rule").waitFor();
    assert.equal(asked.length, 2);
    await close(page);
  },

  async "wait for a busy service instead of stopping at its first answer"(browser) {
    const page = await signedIn(browser);
    let isBusy = true;
    await page.route("**/public/v1/me", (route) => (isBusy ? refuse(429, "rate_limited")(route) : route.fallback()));
    await page.reload();
    await page.getByRole("alert").filter({ hasText: "Too many requests" }).waitFor({ timeout: 20_000 });
    isBusy = false;
    await heading(page).filter({ hasText: "Overview" }).waitFor({ timeout: 20_000 });
    await close(page);
  },

  async "see when a mixed list is called, and not in the time of one zone of many"(browser) {
    const page = await signedIn(browser, "/campaigns/new");
    await drop(page, ".drop", "mixed.csv", "phone,name\n+18005550100,Ada\n+4930123456,Ben\n+14155550100,Cy\n+12125550100,Di\n");
    const weeks = page.getByRole("figure");
    await weeks.first().getByText(/^All contacts, in the time of /).waitFor();
    await weeks.first().getByText("4 contacts").waitFor();
    assert.equal(await weeks.count(), 3);
    assert.equal(await page.getByText("Adak").count(), 0);
    await waitFor(page, "and 1 more zone");
    await ask("PATCH", "/safeguards", { callingHours: { mode: "enforce" } });
    await page.reload();
    await drop(page, ".drop", "toll-free.csv", "phone,name\n+18005550100,Ada\n");
    await waitFor(page, "Numbers without a known place are called only while");
    assert.equal(await weeks.count(), 1);
    await checkAccess(page, "the map of a mixed list");
    await ask("PATCH", "/safeguards", { callingHours: null });
    await close(page);
  },

  async "no scroll bar where there is room, in English and German"(browser) {
    await end(await place("Somebody with a name of some length"));
    for (const locale of ["en-GB", "de-DE"]) {
      const page = await signedIn(browser, "/", { locale, viewport: { width: 1440, height: 900 } });
      for (const path of ["/", "/settings", "/profile", "/live"]) {
        await page.goto(service + path);
        await heading(page).waitFor();
        await page.waitForTimeout(1000);
        const bars = await page.locator(".table-box").evaluateAll((boxes) => boxes
          .filter((box) => box.scrollWidth > box.clientWidth || (box.matches(".short") && box.scrollHeight > box.clientHeight))
          .map((box) => `${box.getAttribute("aria-label")} ${box.scrollWidth}/${box.clientWidth} ${box.scrollHeight}/${box.clientHeight}`));
        assert.deepEqual(bars, [], `${path}, ${locale}`);
      }
      await close(page);
    }
  },

  async "launch and save are in sight on narrow screens, and nothing touches the edge"(browser) {
    const [{ agentId }] = await ask("GET", "/agents");
    const page = await signedIn(browser, `/agents/${agentId}`);
    for (const [path, name] of [[`/agents/${agentId}`, "Save"], ["/campaigns/new", "Launch"]]) {
      await page.goto(service + path);
      for (const width of [1080, 390]) {
        await page.setViewportSize({ width, height: 800 });
        await button(page, name).waitFor();
        const box = await button(page, name).boundingBox();
        assert.ok(box.y + box.height <= 800, `${name} at ${width} px is at ${box.y}`);
      }
    }
    await page.setViewportSize({ width: 1280, height: 860 });
    await page.goto(`${service}/agents/${agentId}?tab=graph`);
    const begin = button(page, "Begin with a start");
    await begin.or(page.getByText("Add a node", { exact: true })).first().waitFor();
    if (await begin.count()) await begin.click();
    await page.getByText("Add a node", { exact: true }).click();
    const menu = await page.locator(".menu[open] .menu-body").boundingBox(), side = await page.locator("#nav").boundingBox();
    assert.ok(menu.x >= side.x + side.width, "the menu does not cover the navigation");
    await close(page);
    const signIn = await open(browser);
    await signIn.getByText("Without a key").click();
    const card = await signIn.locator(".card").boundingBox();
    for (const input of await signIn.locator("input, pre").all()) {
      const { x, width } = await input.boundingBox();
      assert.ok(Math.abs(card.x + card.width - (x + width) - (x - card.x)) < 3, "the same distance to both edges");
    }
    await checkAccess(signIn, "sign-in without a key");
    await close(signIn);
  },
};
