// Markup, scripts and smuggled elements in everything that the API keeps, and addresses that lead astray: no page may
// take any of it for more than text.

import assert from "node:assert/strict";
import { ask, close, drop, heading, signedIn, until } from "./browser.mjs";

const { RINGBACK_URL: service } = process.env;
const MARKUP = `"><img src=x class=injected onerror=alert(1)><script class=injected>alert(2)</script>`;
const LINK = "javascript:alert(3)";
/** An element as Preact keeps it in memory: where a page shows a value of free form as it came, it becomes real. */
const ELEMENT = { __b: 1, type: "a", props: { class: "injected", href: LINK, dangerouslySetInnerHTML: { __html: MARKUP } } };
/** Names that every object has already. */
const INNATE = JSON.parse('{ "__proto__": "x", "constructor": "x", "toString": "x" }');

async function everything() {
  const { toolId } = await ask("POST", "/tools", {
    name: "hostile", description: MARKUP, url: `https://example.com/${encodeURIComponent(MARKUP)}`,
    parameters: { type: "object", description: MARKUP, properties: { day: { type: "string", description: MARKUP } } },
  });
  const { transferRuleId } = await ask("POST", "/transfer-rules", {
    name: MARKUP, condition: MARKUP, transferDestination: { type: "phone", phoneNumber: "+15550950001" },
  });
  const { documentId } = await ask("POST", "/knowledge-base/documents/text", { name: MARKUP, text: `${MARKUP} fees` });
  await ask("POST", "/knowledge-base/groups", { name: MARKUP, documentIds: [documentId] });
  await ask("POST", "/contacts", { phoneNumber: "+15550950002", name: MARKUP, [MARKUP.slice(0, 60)]: MARKUP, link: LINK, ...INNATE });
  await ask("POST", "/do-not-call", { phoneNumber: "+15550950003" });
  await ask("POST", "/me/api-keys", { name: MARKUP, scopes: ["read"] });
  const { webhookId } = await ask("POST", "/webhooks", { url: `https://example.com/?${encodeURIComponent(MARKUP)}`, description: MARKUP });
  await ask("POST", `/webhooks/${webhookId}/test`, {});
  const agent = {
    name: MARKUP, tags: [MARKUP.slice(0, 50), LINK],
    conversationConfig: {
      agent: {
        prompt: { prompt: MARKUP, toolIds: [toolId], builtInTools: { endCall: { enabled: true, description: MARKUP }, transferToNumber: { enabled: true, transferRuleIds: [transferRuleId] } } },
        greetingMessage: `Hello {{name}}, ${MARKUP}`, dynamicVariables: { city: MARKUP, ...INNATE },
      },
    },
    platformSettings: {
      privacy: { recordVoice: true }, widget: { text: MARKUP, ELEMENT },
      dataCollection: { entities: { [MARKUP]: { type: "string", description: MARKUP }, odd: { type: "string", description: ELEMENT, enum: "none", more: ELEMENT }, odder: { type: "string", enum: { join: 1 } } } },
    },
  };
  const { agentId } = await ask("POST", "/agents/create", agent);
  const strange = { type: ELEMENT, label: ELEMENT, edgeOrder: ELEMENT, global: ELEMENT, message: MARKUP, position: MARKUP };
  const condition = { type: ELEMENT, label: ELEMENT, condition: ELEMENT, expression: ELEMENT };
  const walker = await ask("POST", "/agents/create", { name: MARKUP, conversationConfig: agent.conversationConfig, workflow: {
    nodes: { [MARKUP]: { ...strange, type: MARKUP }, start: { type: "start" }, a: strange, b: { ...strange, type: "say", label: MARKUP }, c: { type: INNATE, label: INNATE } },
    edges: { [MARKUP]: { source: "start", target: MARKUP, forwardCondition: condition, backwardCondition: { ...condition, type: MARKUP } },
      e: { source: "a", target: "b", forwardCondition: { type: "llm", condition: MARKUP } }, f: { source: "a", target: "c", forwardCondition: INNATE } },
  } });
  await ask("PATCH", `/agents/${agentId}`, { name: `${MARKUP} 2`, conversationConfig: { agent: { greetingMessage: MARKUP } } });
  const contacts = [{ phoneNumber: "+15550950004", name: MARKUP, persona: "cooperative", note: MARKUP, link: LINK }];
  const { campaignId } = await ask("POST", "/campaigns", { name: MARKUP, agentId, contacts });
  const { conversationId } = await ask("POST", "/calls", { agentId, phoneNumber: "+15550950012", name: MARKUP, dynamicVariables: { persona: "cooperative", ...INNATE } });
  await until(async () => (await ask("GET", `/conversations/${conversationId}`)).status === "completed", "the call is over", 900);
  return { agentId, campaignId, conversationId, webhookId, walkerId: walker.agentId };
}

/** Elements that no page makes. */
const injected = (page) => page.evaluate(() => {
  const own = (element) => new URL(element.src || element.href || location.href, location).origin === location.origin;
  const found = [...document.querySelectorAll(".injected, [onerror], [onclick], [onload], iframe, object, embed, base, style, form[action]")];
  const foreign = [...document.querySelectorAll("script, img, a[href], link, audio")].filter((element) => !own(element));
  return [...found, ...foreign].map((element) => element.outerHTML.slice(0, 200));
});

export const hostile = {
  async "take everything that the API keeps for text"(browser) {
    const { agentId, campaignId, conversationId, webhookId, walkerId } = await everything();
    const text = encodeURIComponent(MARKUP);
    const page = await signedIn(browser);
    const paths = [
      "/", "/campaigns", `/campaigns?name=${text}&status=${text}`, `/campaigns/${campaignId}`, `/campaigns/new?agent=${text}`, `/campaigns/new?agent=${agentId}`,
      "/calls", `/calls?search=${text}&tag=${text}&status=${text}&agentId=${text}&from=${text}&phoneNumber=${text}`, `/calls/${conversationId}`, `/calls/${conversationId}?turn=${text}`,
      "/agents", `/agents?search=${text}`, `/agents/${agentId}`, `/agents/${agentId}/versions`, `/agents/${agentId}/versions?version=2&against=1`,
      `/agents/${walkerId}?tab=graph`, "/knowledge", "/knowledge?tab=groups", `/knowledge?tab=${text}`, "/tools", "/contacts", `/contacts?search=${text}`, "/do-not-call", "/numbers",
      "/live", "/safeguards", "/safeguards?tab=transfers", "/settings", `/settings/webhooks/${webhookId}`, "/profile", `/${text}`, "/__proto__", "//example.com/x",
    ];
    for (const path of paths) {
      await page.goto(service + path);
      await heading(page).waitFor();
      await page.waitForTimeout(400);
      if (path.startsWith("/campaigns/new")) {
        await drop(page, ".drop", `${MARKUP.replaceAll("/", "")}.csv`, `phone,${MARKUP.slice(2, 60)},__proto__\n+15550950005,${MARKUP.replaceAll('"', "")},${LINK}\n${MARKUP.slice(2, 40)},,\n`);
        await page.waitForTimeout(400);
      }
      for (const details of await page.locator("main details:not(.menu)").all()) await details.evaluate((element) => { element.open = true; });
      assert.deepEqual(await injected(page), [], path);
      assert.deepEqual(page.faults, [], path);
    }
    // Each part of a graph, in its form.
    await page.goto(`${service}/agents/${walkerId}?tab=graph`);
    for (const entry of await page.locator(".graph-list button").all()) {
      await entry.click();
      assert.deepEqual(await injected(page), [], await entry.innerText());
    }
    // Dialogs, which show a row again.
    for (const path of ["/contacts", "/tools", "/safeguards?tab=transfers"]) {
      await page.goto(service + path);
      await page.locator("tbody .opener").first().click();
      await page.getByRole("dialog").waitFor();
      assert.deepEqual(await injected(page), [], `dialog of ${path}`);
    }
    await close(page);
  },

  async "ask for nothing that an address smuggles in"(browser) {
    const page = await signedIn(browser);
    // The overview still asks while it is left.
    await page.goto(`${service}/nothing`);
    const asked = [];
    page.on("request", (request) => asked.push(request.url().slice(service.length)));
    for (const path of ["/agents/..%2Fme%2Fapi-keys%23", "/campaigns/..%2Fagents%3Fx=", "/agents/..%5Cme%23/versions", "/calls/%2e%2e%2Fsession", "/settings/webhooks/..%2F..%2Fv1%2Fme"]) {
      asked.length = 0;
      await page.goto(service + path);
      await page.getByRole("heading", { level: 1, name: "There is no such page" }).waitFor();
      const strange = asked.filter((each) => each.startsWith("/public/") && !/^\/public\/v1\/(me|session\?pageSize=100|events(\?.*)?)$/.test(each));
      assert.deepEqual(strange, [], path);
    }
    await close(page);
  },
};
