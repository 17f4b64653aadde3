// Scenarios of the agents' pages.

import assert from "node:assert/strict";
import { ask, button, checkAccess, close, fits, heading, pick, signedIn, tabTo, until, waitFor } from "./browser.mjs";

const service = process.env.RINGBACK_URL;
const HOSTILE = "<img src=x onerror=alert(1)>";

const make = (name, more = {}) => ask("POST", "/agents/create", { name, conversationConfig: { agent: { prompt: { prompt: "You are Eva." } } }, ...more });
const read = (agentId) => ask("GET", `/agents/${agentId}`);
const group = (page, name) => page.locator("summary").filter({ has: page.getByRole("heading", { name }) });
const changes = (page) => page.getByRole("complementary", { name: "What changes" });

/** The fields of a schema, by path; objects without described fields are one field. */
function described(schemas, name, path = "") {
  return Object.entries(schemas[name].properties).flatMap(([key, field]) => {
    const inner = field.$ref?.split("/").at(-1), here = path ? `${path}.${key}` : key;
    return inner && schemas[inner].properties ? described(schemas, inner, here) : [{ ...field, path: here }];
  });
}

export const agents = {
  async "choose among more agents than a page holds, by mouse and by keyboard"(browser) {
    const names = Array.from({ length: 130 }, (_, n) => `Many ${String(n).padStart(3, "0")}`), made = [];
    for (const name of names) made.push((await make(name, { direction: name === "Many 129" ? "inbound" : "outbound" })).agentId);
    const page = await signedIn(browser, "/campaigns/new");
    const field = page.getByRole("combobox", { name: "Agent", exact: true }), found = page.getByRole("option");
    await field.click();
    await found.first().waitFor();
    await field.fill("many 129");
    await waitFor(page, "Nothing matches this search.");
    await pick(page, "Agent", "Many 000");
    assert.equal(await field.inputValue(), "Many 000");
    await field.click();
    for (const [rows, which] of [[49, "first"], [99, "second"], [129, "third"]]) {
      await until(async () => (await found.count()) >= rows, `the ${which} page`);
      await page.getByRole("listbox").evaluate((list) => { list.scrollTop = list.scrollHeight; });
    }
    await checkAccess(page, "the open list");
    await page.keyboard.press("Escape");
    assert.equal(await field.inputValue(), "Many 000");

    await page.goto(`${service}/numbers`);
    await button(page, "Assign a number").click();
    await page.getByLabel("Phone number").fill("+15550700009");
    await tabTo(page, "Agent");
    await page.keyboard.type("many 01");
    await until(async () => (await found.count()) === 10, "ten agents");
    for (let n = 0; n < 3; n++) await page.keyboard.press("ArrowDown");
    const active = await page.evaluate(() => document.getElementById(document.activeElement.getAttribute("aria-activedescendant")).textContent);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor();
    assert.equal(await found.count(), 0);
    await page.keyboard.type("many 01");
    await page.keyboard.press("Enter");
    assert.equal(await field.getAttribute("aria-expanded"), "true", "nothing is chosen before it was searched for");
    await until(async () => (await found.count()) === 10, "ten agents again");
    for (let n = 0; n < 3; n++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    assert.equal(await page.getByLabel("Agent").inputValue(), active);

    await page.goto(`${service}/calls?agentId=${made[7]}`);
    await until(async () => (await field.inputValue()) === "Many 007", "the agent of the address");
    await pick(page, "Agent", "Many 101");
    assert.equal(new URL(page.url()).searchParams.get("agentId"), made[101]);
    await field.click();
    await page.locator(".pick-body").getByText("Any", { exact: true }).click();
    assert.equal(new URL(page.url()).search, "");
    for (const agentId of made) await ask("DELETE", `/agents/${agentId}`);
    await close(page);
  },

  async "every field of the API is in the form, with its default and range"(browser) {
    const page = await signedIn(browser, "/agents/new");
    const shown = await page.evaluate(async () => {
      const { agentFields } = await import(new URL("./pages/agent-fields.js", document.querySelector("script[src]").src).href);
      return agentFields().map(({ name, default: preset, min, max, options, label }) =>
        ({ name, preset, min, max, values: options?.map(({ value }) => value), label }));
    });
    const { components } = await (await fetch(`${service}/public/openapi.json`)).json();
    for (const field of described(components.schemas, "Agent")) {
      // The graph has a tab of its own.
      if (/^(agentId|metadata|workflow)/.test(field.path)) continue;
      const found = shown.filter(({ name }) => name === field.path || name.startsWith(`${field.path}.`));
      assert.ok(found.length > 0, `${field.path} is missing`);
      const [{ name, preset, min, max, values }] = found;
      if (name !== field.path) continue;
      if ("default" in field && !Array.isArray(field.default)) assert.equal(preset, field.default, field.path);
      if (field.enum) assert.deepEqual(values, field.enum, field.path);
      if ("minimum" in field) assert.deepEqual([min, max], [field.minimum, field.maximum], field.path);
    }
    assert.deepEqual(shown.filter(({ label }) => label.includes("agentFields.")), []);
    await close(page);
  },

  async "make an agent, every error beside its field"(browser) {
    const page = await signedIn(browser, "/agents");
    const voices = [{ provider: "here", voiceId: "here:mia", name: HOSTILE, languages: ["en"] }];
    await page.route("**/public/v1/voices", (route) => route.fulfill({ json: { success: true, data: { voices, unavailable: [] } } }));
    await page.route("**/public/v1/models",
      (route) => route.fulfill({ status: 404, json: { success: false, error: { code: "not_found", message: "", status: 404 } } }));
    await page.getByRole("link", { name: "New agent" }).click();
    await heading(page).filter({ hasText: "New agent" }).waitFor();
    const offered = (name) => page.locator(`[name="${name}"]`)
      .evaluate((select) => [...select.options].slice(1, -1).map(({ value, text }) => `${value} ${text}`));
    await until(async () => (await offered("conversationConfig.tts.voiceId")).join() === `here:mia ${HOSTILE} · here · en`, "the voices");
    assert.deepEqual(await offered("conversationConfig.agent.prompt.llm"), []);
    await page.getByLabel("Name", { exact: true }).fill("Mia");
    await button(page, "Create the agent").click();
    await page.locator("[aria-invalid]").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("name")), "conversationConfig.agent.prompt.prompt");
    await page.getByLabel("Instructions", { exact: true }).fill("You are Mia. Greet {{name}} from {{city}}.");

    // A text that is no JSON is not sent; its closed group opens.
    await group(page, "Web widget").click();
    await page.getByLabel("Web widget").first().fill('{"variant": ');
    await waitFor(page, "not valid JSON");
    await group(page, "Web widget").click();
    await button(page, "Create the agent").click();
    await until(() => page.evaluate(() => document.activeElement?.getAttribute("name") === "platformSettings.widget"), "focus on the JSON");
    assert.equal(await page.locator(".summary .alert").count(), 0);
    await page.getByLabel("Web widget").first().fill('{"variant": "full", "own": [1]}');

    // The service's errors, at a field and in a row.
    await page.getByLabel("Speak up after").fill("40");
    await group(page, "Collected data").click();
    const data = page.getByRole("group", { name: "What the agent asks for" });
    await data.getByRole("button", { name: "Add" }).click();
    await data.getByLabel("Description").fill("preferred day");
    await waitFor(page, "Each entry needs a name");
    await data.getByLabel("Name", { exact: true }).fill("preferredDay");
    await group(page, "Numbers and retries").click();
    const numbers = page.getByRole("group", { name: "Numbers of the agent" });
    await numbers.getByRole("button", { name: "Add" }).click();
    await numbers.getByLabel("Number", { exact: true }).fill("12");
    await button(page, "Create the agent").click();
    await page.getByText("Between 1 and 30, or -1 for never.").waitFor();
    await numbers.getByText(/\[0\]\.number: /).waitFor();
    assert.equal((await ask("GET", "/agents?search=Mia")).length, 0);
    await page.getByLabel("Speak up after").fill("9");
    await numbers.getByRole("button", { name: "Remove entry 1" }).click();
    await button(page, "Create the agent").click();
    await heading(page).filter({ hasText: "Mia" }).waitFor();

    const [{ conversationConfig, platformSettings, phoneNumbers }] = await ask("GET", "/agents?search=Mia");
    assert.equal(conversationConfig.turn.turnTimeout, 9);
    assert.deepEqual(platformSettings.widget, { variant: "full", own: [1] });
    assert.deepEqual(platformSettings.dataCollection.entities, { preferredDay: { description: "preferred day" } });
    assert.deepEqual(phoneNumbers, []);
    await close(page);
  },

  async "change an agent without losing anything, compare and restore"(browser) {
    const entities = { first: { type: "string", description: "one", hint: { own: true } }, second: { type: "number" } };
    const platformSettings = { dataCollection: { entities }, widget: { variant: "full" },
      callActions: { postCallEmail: { emailConfiguration: { to: ["a@example.com"], own: 1 } } } };
    const { agentId } = await make(HOSTILE, { tags: ["a", "b"], platformSettings });
    const before = await read(agentId);
    const page = await signedIn(browser, `/agents/${agentId}`);
    await heading(page).filter({ hasText: HOSTILE }).waitFor();
    await page.getByLabel(/^Greeting/).fill(`Hello, ${HOSTILE}`);
    await page.getByLabel("Speed of speech").fill("1.2");
    await group(page, "Collected data").click();
    const data = page.getByRole("group", { name: "What the agent asks for" });
    await data.getByRole("button", { name: "Remove entry 2" }).click();
    await data.getByLabel("Allowed values").fill("Mon, Tue");
    await data.getByLabel("Description").focus();
    const shown = await changes(page).innerText();
    assert.match(shown, /Greeting[\s\S]*not set[\s\S]*Hello, <img/);
    assert.match(shown, /Speed of speech[\s\S]*1[\s\S]*1\.2/);
    await button(page, "Save").click();
    await waitFor(page, "Saved.");
    const after = await read(agentId);
    const wanted = structuredClone(before);
    wanted.conversationConfig.agent.greetingMessage = `Hello, ${HOSTILE}`;
    wanted.conversationConfig.tts.speed = 1.2;
    wanted.platformSettings.dataCollection.entities = { first: { ...entities.first, enum: ["Mon", "Tue"] } };
    wanted.metadata = after.metadata;
    assert.deepEqual(after, wanted);
    // An emptied field has its default again.
    await page.getByLabel("Speed of speech").fill("");
    await button(page, "Save").click();
    await until(async () => (await read(agentId)).conversationConfig.tts.speed === 1, "the default");

    await page.getByRole("link", { name: "Versions" }).click();
    await heading(page).filter({ hasText: "Versions of" }).waitFor();
    await page.getByRole("heading", { name: "What changed from version 2 to version 3" }).waitFor();
    await page.getByLabel("Compare from version 1").check();
    const compared = page.getByRole("region", { name: "What changed from version 1 to version 3" });
    await compared.getByText("What the agent asks for · second").waitFor();
    assert.match(await compared.innerText(), /Greeting[\s\S]*not set[\s\S]*Hello/);
    await button(page, "Restore version 1").click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
    await waitFor(page, "Version 1 is restored");
    const restored = await read(agentId);
    assert.deepEqual({ ...restored, metadata: 0 }, { ...before, metadata: 0 });
    await close(page);
  },

  async "two people change one agent"(browser) {
    const { agentId } = await make("Shared", { platformSettings: { dataCollection: { entities: { old: { type: "string" } } } } });
    const page = await signedIn(browser, `/agents/${agentId}`);
    await page.getByLabel("Instructions", { exact: true }).fill("Mine.");
    await page.getByLabel("Speed of speech").fill("1.5");
    await group(page, "Collected data").click();
    const data = page.getByRole("group", { name: "What the agent asks for" });
    await data.getByRole("button", { name: "Add" }).click();
    await data.getByLabel("Name", { exact: true }).last().fill("mine");
    await ask("PATCH", `/agents/${agentId}`, {
      tags: ["theirs"], conversationConfig: { agent: { prompt: { prompt: "Theirs." } } },
      platformSettings: { dataCollection: { entities: { theirs: { type: "number" } } } },
    });
    await button(page, "Save").click();
    const meanwhile = page.getByRole("region", { name: "Somebody else changed this agent meanwhile" });
    await meanwhile.getByText("You changed this too").first().waitFor();
    const text = await meanwhile.innerText();
    assert.match(text, /Tags[\s\S]*theirs/);
    assert.match(text, /Instructions[\s\S]*You are Eva\.[\s\S]*Theirs\.[\s\S]*You changed this too/);
    assert.equal((await read(agentId)).conversationConfig.agent.prompt.prompt, "Theirs.");
    assert.match(await changes(page).innerText(), /Theirs\.[\s\S]*Mine\./);
    await button(page, "Save").click();
    await waitFor(page, "Saved.");
    const { tags, conversationConfig, platformSettings } = await read(agentId);
    assert.deepEqual(tags, ["theirs"]);
    assert.equal(conversationConfig.agent.prompt.prompt, "Mine.");
    assert.equal(conversationConfig.tts.speed, 1.5);
    assert.deepEqual(Object.keys(platformSettings.dataCollection.entities).sort(), ["mine", "old", "theirs"]);
    await meanwhile.waitFor({ state: "detached" });
    await close(page);
  },

  async "find, duplicate and delete agents, with the reason when one is used"(browser) {
    const { agentId } = await make("Used agent", { tags: ["x"] });
    const transferToAgent = { enabled: true, transfers: [{ agentId }] };
    await make("Uses it", { conversationConfig: { agent: { prompt: { prompt: "Hand over.", builtInTools: { transferToAgent } } } } });
    const page = await signedIn(browser, "/agents");
    await page.getByLabel("Search by name").fill("used AG");
    await until(() => new URL(page.url()).search === "?search=used+AG", "the search in the address");
    await page.getByRole("row").nth(2).waitFor({ state: "detached" });
    await button(page, "Delete Used agent").click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("alert").filter({ hasText: "Uses it" }).waitFor();
    await button(page, "Duplicate Used agent").click();
    await heading(page).filter({ hasText: "Used agent (copy)" }).waitFor();
    await page.getByText("More", { exact: true }).click();
    await button(page, "Delete").click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await heading(page).filter({ hasText: "Agents" }).waitFor();
    assert.equal((await ask("GET", "/agents?search=copy")).length, 0);
    await close(page);
  },

  async "change an agent by keyboard alone, and be called by it"(browser) {
    const { agentId } = await make("By keyboard", { conversationConfig: { agent: { prompt: { prompt: "Greet {{city}}." } } } });
    const page = await signedIn(browser, "/agents?search=By+keyboard");
    await page.getByRole("link", { name: "By keyboard" }).waitFor();
    await tabTo(page, "By keyboard");
    await page.keyboard.press("Enter");
    await heading(page).filter({ hasText: "By keyboard" }).waitFor();
    await tabTo(page, "Greeting");
    await page.keyboard.type("Good day!");
    await tabTo(page, "Knowledge and tools");
    await page.keyboard.press("Enter");
    await tabTo(page, "Save");
    await page.keyboard.press("Enter");
    await until(async () => (await read(agentId)).conversationConfig.agent.greetingMessage === "Good day!", "saved");
    await waitFor(page, "Nothing yet.");
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Save");
    await page.keyboard.press("Home");
    await page.reload();
    await button(page, "Call me").waitFor();
    await tabTo(page, "Call me");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("12");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").locator(".error").waitFor();
    await page.keyboard.press("Control+A");
    await page.keyboard.type("+15550390002");
    await tabTo(page, "city");
    await page.keyboard.type("Lisbon");
    await page.keyboard.press("Enter");
    await waitFor(page, "The call is placed");
    await tabTo(page, "Watch the call");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/calls\/[0-9a-f-]{36}$/);
    await close(page);
  },

  async "agents' pages: no violation in light and dark, none too wide"(browser) {
    const { agentId } = await make("Looked at", {
      tags: ["a"], phoneNumbers: [{ number: "+15550390003" }],
      platformSettings: { dataCollection: { entities: { day: { type: "string", description: "day" } } } },
    });
    await ask("PATCH", `/agents/${agentId}`,
      { tags: ["b"], conversationConfig: { agent: { prompt: { builtInTools: { transferToNumber: { enabled: true } } } } } });
    for (const colorScheme of ["light", "dark"]) {
      const page = await signedIn(browser, "/agents", { colorScheme });
      for (const path of ["/agents", "/agents/new", `/agents/${agentId}`, `/agents/${agentId}/versions`]) {
        await page.goto(service + path);
        await heading(page).waitFor();
        await page.waitForTimeout(500);
        await page.evaluate(() => { for (const each of document.querySelectorAll("details.group")) each.open = true; });
        await checkAccess(page, `${path}, ${colorScheme}`);
        await fits(page, path);
      }
      await close(page);
    }
  },
};
