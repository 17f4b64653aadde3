// No page does what the Content-Security-Policy forbids, and none logs an error.

import assert from "node:assert/strict";
import { ask, button, close, heading, open, signedIn, until } from "./browser.mjs";
import { threeCalls } from "./calls.mjs";

const { RINGBACK_URL: service } = process.env;

/** Collects the violations and console errors of a page from its next load on. */
async function watch(page) {
  const found = [];
  await page.context().exposeFunction("reportViolation", (text) => found.push(`${page.url()}: ${text}`));
  await page.context().addInitScript(() => document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sourceFile, lineNumber }) =>
    window.reportViolation(`${violatedDirective} blocks ${blockedURI} (${sourceFile}:${lineNumber})`)));
  page.on("console", (message) => { if (message.type() === "error") found.push(`${page.url()}: ${message.text()}`); });
  await page.reload();
  return found;
}

/** Addresses of one of each kind of page. */
async function addresses(page) {
  const { talked } = await threeCalls();
  const { agentId } = await ask("GET", `/conversations/${talked}`);
  const { campaignId } = await ask("POST", "/campaigns", { name: "Looked at", agentId, contacts: [{ phoneNumber: "+15550950001" }] });
  const { webhookId } = await ask("POST", "/webhooks", { url: "https://example.com/hook" });
  const ids = { "/campaigns/:id": campaignId, "/calls/:id": talked, "/agents/:id": agentId, "/agents/:id/versions": agentId,
    "/settings/webhooks/:id": webhookId };
  const paths = await page.evaluate(async () => {
    const { routes } = await import(new URL("./routes.js", document.querySelector("script[src]").src).href);
    return routes.map(({ path }) => path);
  });
  assert.ok(paths.length >= 19, paths.join());
  const unknown = paths.filter((path) => path.includes(":") && !ids[path]);
  assert.deepEqual(unknown, [], "pages that this scenario has no example of");
  return { paths: paths.map((path) => path.replace(":id", ids[path])), talked, made: [`/webhooks/${webhookId}`, `/campaigns/${campaignId}`] };
}

export const policy = {
  async "no page breaks the policy or logs an error"(browser) {
    const outside = await open(browser);
    const atSignIn = await watch(outside);
    await heading(outside).waitFor();
    // What is forbidden is noticed.
    await outside.evaluate(() => document.head.append(Object.assign(document.createElement("style"), { textContent: "p { color: red }" })));
    await until(() => atSignIn.some((text) => text.includes("style-src")), "the report of a forbidden style");
    outside.faults.length = 0;
    await close(outside);

    for (const locale of ["en-GB", "de-DE"]) {
      const page = await signedIn(browser, "/", { locale });
      const found = await watch(page);
      const { paths, talked, made } = await addresses(page);
      for (const path of paths) {
        await page.goto(service + path);
        await heading(page).waitFor();
        await page.waitForTimeout(400);
        for (const details of await page.locator("main details").all()) await details.evaluate((element) => { element.open = true; });
        for (const tab of await page.getByRole("tab").all()) await tab.click();
        for (const opener of await page.locator("main .head button:not(.danger)").filter({ hasText: /^(Add|Assign)|(hinzufügen|zuweisen)$/ }).all()) {
          await opener.click();
          await page.getByRole("dialog").waitFor();
          await page.keyboard.press("Escape");
        }
      }
      await page.goto(`${service}/calls/${talked}`);
      await page.locator("svg path.lane").first().waitFor({ state: "attached" });
      await page.getByRole("slider").press("ArrowRight");
      if (locale === "en-GB") await button(page, "Play").click();
      await page.waitForTimeout(500);
      assert.deepEqual(found, []);
      for (const path of made) await ask("DELETE", path);
      await close(page);
    }
  },
};
