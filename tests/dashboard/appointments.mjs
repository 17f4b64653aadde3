// Scenarios of the page of appointments.

import assert from "node:assert/strict";
import { ask, button, byKeys, checkAccess, close, heading, pickByKeys, signedIn, until, waitFor } from "./browser.mjs";

const { RINGBACK_URL: service } = process.env;
const HOSTILE = "<img src=x onerror=alert(1)> Maria";

/** A campaign whose agent booked an appointment, made once. */
let made;
const booked = () => (made ??= (async () => {
  const { agentId } = await ask("POST", "/agents/create", {
    name: "Bea", platformSettings: { callActions: { scheduleOnCalendar: { enabled: true, provider: "ics" } } },
    conversationConfig: { agent: { prompt: { prompt: "You are Bea.", builtInTools: { endCall: { enabled: true } } }, greetingMessage: "Hello, this is Bea." } },
  });
  const contacts = [{ phoneNumber: "+15551000001", name: HOSTILE, email: "maria@example.com", persona: "cooperative" }];
  const { campaignId } = await ask("POST", "/campaigns", { name: "Check-ups", agentId, contacts });
  await ask("POST", `/campaigns/${campaignId}/launch`);
  await until(async () => (await ask("GET", `/appointments?campaignId=${campaignId}`)).length === 1, "an appointment", 900);
  return { agentId, campaignId, appointment: (await ask("GET", `/appointments?campaignId=${campaignId}`))[0] };
})());

const rows = (page) => page.getByRole("table", { name: "Appointments" }).locator("tbody tr[aria-rowindex]");

export const appointments = {
  async "find an appointment and its call"(browser) {
    const { campaignId, appointment } = await booked();
    const page = await signedIn(browser, "/");
    await page.getByRole("link", { name: "Appointments" }).click();
    await heading(page).filter({ hasText: "Appointments" }).waitFor();
    await rows(page).filter({ hasText: HOSTILE }).getByText("Booked").waitFor();
    await page.getByLabel("Time span").selectOption("days");
    await page.getByLabel("From day").fill("2020-01-01");
    await page.getByLabel("Until day").fill("2020-01-31");
    await waitFor(page, "No appointment matches these filters.");
    const day = new Date(appointment.appointmentScheduled.dateTime).toISOString().slice(0, 10);
    await page.getByLabel("Until day").fill(day);
    await rows(page).filter({ hasText: HOSTILE }).waitFor();
    await page.getByRole("combobox", { name: "Campaign" }).fill("Check-ups");
    await page.getByRole("option", { name: "Check-ups", exact: true }).click();
    await until(() => new URL(page.url()).searchParams.get("campaignId") === campaignId, "the campaign in the address");
    await button(page, "Clear filters").click();
    assert.equal(new URL(page.url()).search, "");
    await rows(page).filter({ hasText: HOSTILE }).getByRole("rowheader").getByRole("link").click();
    await page.waitForURL(new RegExp(`/calls/${appointment.conversationId}$`));
    await close(page);
  },

  async "find an appointment by keyboard alone"(browser) {
    const { appointment } = await booked();
    const page = await signedIn(browser, "/appointments");
    await rows(page).first().waitFor();
    // The navigation has agents too.
    await byKeys(page, "Time span");
    await pickByKeys(page, "Agent", "Bea");
    await until(() => new URL(page.url()).search.startsWith("?agentId="), "the agent in the address");
    const start = await rows(page).first().getByRole("rowheader").textContent();
    await byKeys(page, start.trim(), { key: "Enter" });
    await page.waitForURL(new RegExp(`/calls/${appointment.conversationId}$`));
    await close(page);
  },

  async "no violation on the page of appointments, in light and dark, and it is not too wide"(browser) {
    await booked();
    for (const colorScheme of ["light", "dark"]) {
      const page = await signedIn(browser, "/appointments?when=days", { colorScheme });
      await rows(page).first().waitFor();
      await checkAccess(page, `appointments, ${colorScheme}`);
      await page.setViewportSize({ width: 320, height: 640 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 320, `it is ${wide} px wide at 320 px`);
      await page.goto(`${service}/appointments?when=days&to=2020-01-01`);
      await waitFor(page, "No appointment matches these filters.");
      await checkAccess(page, `no appointments, ${colorScheme}`);
      await close(page);
    }
  },
};
