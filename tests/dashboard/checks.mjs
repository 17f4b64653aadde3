// Scenarios of what only the service knows: a file of contacts that it checks, and what is wrong with it.

import assert from "node:assert/strict";
import { ask, button, checkAccess, close, drop, signedIn, waitFor } from "./browser.mjs";

const CHECK = "**/public/v1/campaigns/csv/check";
const FILE = "phone,name,override.language\n+15551100001,Ada,\n+15551100002,Ben,\n+15551100003,Cy,xx\n";
const refuse = (status, code) => (route) => route.fulfill({ status, json: { success: false, error: { code, message: "no", status } } });

export const checks = {
  async "learn which rows are not called before anything is created"(browser) {
    for (const phoneNumber of ["+15551100001", "+15551109999"]) await ask("POST", "/do-not-call", { phoneNumber });
    const before = await ask("GET", "/campaigns?pageSize=100");
    const page = await signedIn(browser, "/campaigns/new");
    await drop(page, ".drop", "known.csv", FILE);
    await waitFor(page, "1 number is on the do-not-call list and will not be called.");
    const blocked = page.getByRole("table", { name: "Rows that are not called" });
    assert.match(await blocked.textContent(), /2.*phone.*\+15551100001.*On the do-not-call list/);
    await page.getByRole("combobox", { name: "Agent", exact: true }).click();
    await page.locator(".pick-body li").first().click();
    await waitFor(page, "1 row cannot be used");
    assert.match(await page.getByRole("table", { name: "Rows that cannot be used" }).textContent(), /4.*override\.language.*xx.*does not speak/);
    await waitFor(page, "Columns that change the agent in the call of their row: override.language");
    await page.getByText("People to call").locator("xpath=..").getByText("1", { exact: true }).waitFor();
    await button(page, "Launch").click();
    await waitFor(page, "Mend the bad rows");
    await checkAccess(page, "a checked file");
    await button(page, "Leave this row out").click();
    await waitFor(page, "all can be used");
    await waitFor(page, "1 number is on the do-not-call list");
    assert.equal((await ask("GET", "/campaigns?pageSize=100")).length, before.length);
    await button(page, "Save as draft").click();
    await page.waitForURL(/\/campaigns\/[0-9a-f-]{36}$/);
    for (const phoneNumber of ["+15551100001", "+15551109999"]) await ask("DELETE", `/do-not-call/${encodeURIComponent(phoneNumber)}`);
    await close(page);
  },

  async "go on where the service cannot check a file"(browser) {
    const page = await signedIn(browser, "/campaigns/new");
    await page.route(CHECK, refuse(503, "unavailable"));
    await drop(page, ".drop", "unchecked.csv", "phone,name\n+15551100011,Ada\n");
    await page.getByRole("status").filter({ hasText: "could not check the file. The service is not available" }).waitFor();
    await checkAccess(page, "a file that was not checked");
    await page.unroute(CHECK);
    await page.route(CHECK, (route) => route.abort());
    await button(page, "Check again").click();
    await page.getByRole("status").filter({ hasText: "The service cannot be reached" }).waitFor();
    await page.getByRole("combobox", { name: "Agent", exact: true }).click();
    await page.locator(".pick-body li").first().click();
    await button(page, "Save as draft").click();
    await page.waitForURL(/\/campaigns\/[0-9a-f-]{36}$/);
    await close(page);
  },

  async "see on the overview what is wrong with the service"(browser) {
    const page = await signedIn(browser, "/");
    const services = [
      { name: "carrier-twilio", kind: "carrier", provider: "twilio", rank: 1, configured: true, settings: ["TWILIO_AUTH_TOKEN"],
        outage: { since: new Date().toISOString(), reason: "<img src=x onerror=alert(1)> refused" } },
      { name: "llm-groq", kind: "llm", provider: "groq", configured: false, settings: ["GROQ_API_KEY"] },
    ];
    const json = { success: true, data: { services, problems: ["disk_full", "a_new_one"] } };
    await page.route("**/public/v1/services", (route) => route.fulfill({ json }));
    await page.reload();
    const part = page.getByRole("region", { name: "What needs attention" });
    await part.getByText("The disk of the database is full: make room.").waitFor();
    await part.getByText("a_new_one").waitFor();
    await part.getByText("twilio (Carrier) fails: <img src=x onerror=alert(1)> refused. Check it, or correct TWILIO_AUTH_TOKEN.").waitFor();
    assert.equal(await part.getByText("groq").count(), 0);
    await checkAccess(page, "an overview with problems");
    await part.getByRole("listitem").filter({ hasText: "The disk" }).getByRole("link").click();
    await page.getByRole("heading", { name: "Carriers and providers" }).waitFor();
    await close(page);
  },
};
