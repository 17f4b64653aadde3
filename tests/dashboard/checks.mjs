// Scenarios of what only the service knows: a file of contacts that it checks, and what is wrong with it.

import assert from "node:assert/strict";
import { ask, button, checkAccess, close, drop, signedIn, waitFor } from "./browser.mjs";

const CHECK = "**/public/v1/campaigns/csv/check";
const FILE = "phone,name,override.language\n+15551100001,Ada,\n+15551100002,Ben,\n+15551100003,Cy,xx\n";
const refuse = (status, code) => (route) => route.fulfill({ status, json: { success: false, error: { code, message: "no", status } } });

/** Saves the file's campaign with the first agent. */
async function saveDraft(page) {
  await page.getByRole("combobox", { name: "Agent", exact: true }).click();
  await page.locator(".pick-body li").first().click();
  await page.getByText("all can be used").waitFor();
  await button(page, "Save as draft").click();
  await page.waitForURL(/\/campaigns\/[0-9a-f-]{36}$/);
}

/** The names of the contacts of the page's campaign. */
async function names(page) {
  const { contacts } = await ask("GET", `/campaigns/${page.url().split("/").at(-1)}`);
  return contacts.map(({ name }) => name);
}

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

  async "leave out what the service calls bad, and nobody else"(browser) {
    const page = await signedIn(browser, "/campaigns/new");
    await drop(page, ".drop", "blanks.csv", "phone,name,,\n+15551100021,Ada,,\n   \n12,Ben,,\n,,,\n+15551100023,Cy,,\n");
    await waitFor(page, "1 row cannot be used");
    await waitFor(page, "2 rows and 2 columns without content skipped");
    assert.match(await page.getByRole("table", { name: "Rows that cannot be used" }).textContent(), /4.*phone.*12/);
    assert.deepEqual(await page.getByRole("group", { name: "First rows" }).getByRole("columnheader").allTextContents(), ["phone Phone number", "name Name"]);
    await button(page, "Leave this row out").click();
    await waitFor(page, "1 row is left out");
    await saveDraft(page);
    assert.deepEqual(await names(page), ["Ada", "Cy"]);
    await close(page);
  },

  async "use the good rows of a file with thousands of bad ones"(browser) {
    const page = await signedIn(browser, "/campaigns/new");
    const bad = Array.from({ length: 5000 }, (_, n) => `12,Bad ${n}\n`).join("");
    await drop(page, ".drop", "old list.csv", `phone,name\n+15551100031,Ada\n${bad}+15551100032,Ben\n`);
    await waitFor(page, "Only the first 1,000 problems are listed.");
    await button(page, "Leave these 5,000 rows out").click();
    await waitFor(page, "all can be used");
    await saveDraft(page);
    assert.deepEqual(await names(page), ["Ada", "Ben"]);
    await close(page);
  },

  async "learn what is wrong with a file in German"(browser) {
    const page = await signedIn(browser, "/campaigns/new", { locale: "de-DE" });
    await drop(page, ".drop", "liste.csv", "PK\u0003\u0004 xl/workbook.xml");
    await waitFor(page, "Das ist keine CSV-Datei.");
    await waitFor(page, /Excel workbook \(XLSX\)/);
    await drop(page, ".drop", "liste.csv", "sep=;\nName; Titel;Telefon\nAda;Dr.;+4930123456\n");
    await waitFor(page, "alle verwendbar");
    await checkAccess(page, "a file with a recognised column");
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
