// How pages look in eight forms: wide and narrow, light and dark, English and German. In each, nothing violates the rules of
// access, is wider than the screen or is cut where it cannot be read. The pictures lie in target/dashboard/looks.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { ask, button, checkAccess, close, drop, receiver, row, signedIn } from "./browser.mjs";
import { TAG, threeCalls } from "./calls.mjs";
import { end, isLoud, place } from "./live.mjs";
import { signedInWith } from "./operator.mjs";
import { spring } from "./results.mjs";
import english from "./units/dashboard/texts/en.js";
import german from "./units/dashboard/texts/de.js";

const LANGUAGES = [{ locale: "en-GB", texts: english }, { locale: "de-DE", texts: german }];
const WIDTHS = [[1440, 900], [390, 844]];
const folder = new URL("looks/", import.meta.url).pathname;
mkdirSync(folder, { recursive: true });

/** Words that are cut, and say nowhere else what they say. */
const cutWords = (page) => page.evaluate(() => [...document.querySelectorAll("main :is(button, .button, .badge, h1, h2, h3, dt, dd, label, legend, p, li), dialog *")]
  .filter((each) => each.checkVisibility() && each.clientWidth > 0 && each.scrollWidth > each.clientWidth + 1 && !each.matches(".hidden, pre, input, select")
    && !each.closest('[title]:not([title=""]), table') && getComputedStyle(each).overflowX !== "auto")
  .map((each) => `${each.tagName} ${each.textContent.trim().slice(0, 60)}`));

/** The page in the four forms of one language, as it is now. */
async function inFourForms(page, name, locale) {
  for (const [width, height] of WIDTHS) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ["light", "dark"]) {
      const form = `${name}-${locale.slice(0, 2)}-${width}-${colorScheme}`;
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(200);
      await page.screenshot({ path: `${folder}${form}.png`, fullPage: true });
      await checkAccess(page, form);
      assert.deepEqual(await cutWords(page), [], form);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${form} is ${wide} px wide`);
    }
  }
}

/** A page in all forms, once `prepare` has made it ready. */
async function inAllForms(browser, name, path, prepare) {
  for (const { locale, texts } of LANGUAGES) {
    const page = await signedIn(browser, path, { locale, viewport: { width: 1440, height: 900 } });
    await prepare(page, texts);
    await page.waitForTimeout(500);
    await inFourForms(page, name, locale);
    await close(page);
  }
}

const regionOf = (page, name) => page.getByRole("region", { name, exact: true });

export const looks = {
  async "a list of calls with its columns, in eight forms"(browser) {
    await threeCalls();
    await inAllForms(browser, "calls", "/calls", async (page, { common, calls, call }) => {
      await page.getByText(common.columns, { exact: true }).click();
      for (const name of [calls.filters.campaignId, calls.filters.sentiment, call.cost]) await page.getByRole("checkbox", { name, exact: true }).check();
      await page.keyboard.press("Escape");
      await page.locator("tbody .badge").first().waitFor();
    });
  },

  async "a call of a list, in eight forms"(browser) {
    const { talked } = await threeCalls();
    await inAllForms(browser, "call", `/calls?tag=${TAG}`, async (page, { call }) => {
      await page.locator(`a[href="/calls/${talked}"]`).click();
      await page.getByRole("link", { name: call.before }).waitFor();
      await page.locator("svg path.lane").first().waitFor({ state: "attached" });
    });
  },

  async "analytics, in eight forms"(browser) {
    await spring();
    await inAllForms(browser, "analytics", "/analytics?days=30&by=campaign", (page, { analytics }) => regionOf(page, analytics.figures).waitFor());
  },

  async "what came out of a campaign, in eight forms"(browser) {
    const { campaignId } = await spring();
    await inAllForms(browser, "campaign", `/campaigns/${campaignId}`, async (page, { analytics, campaign }) => {
      await regionOf(page, analytics.figures).waitFor();
      await regionOf(page, campaign.cameOut).locator(".bars").first().waitFor();
    });
  },

  async "the figures of an agent and its voices, in eight forms"(browser) {
    const { agentId } = await spring();
    await inAllForms(browser, "agent", `/agents/${agentId}`, async (page, { analytics }) => {
      await regionOf(page, analytics.figures).waitFor();
      for (const group of await page.locator("details.group").all()) await group.evaluate((each) => { each.open = true; });
    });
  },

  async "a person who has a call, in eight forms"(browser) {
    for (const { locale, texts: { callNow, sound } } of LANGUAGES) {
      const id = await place(), page = await signedIn(browser, `/calls/${id}`, { locale });
      await button(page, callNow.takeOver).click();
      await button(page, callNow.giveBack).waitFor();
      await isLoud(page, sound.yours);
      await button(page, sound.mute).click();
      await inFourForms(page, "operator", locale);
      await end(id);
      await close(page);
    }
  },

  async "live calls and one that is heard, in eight forms"(browser) {
    for (const { locale, texts: { liveCalls, sound } } of LANGUAGES) {
      const name = `Lou ${locale}`, id = await place(name), page = await signedIn(browser, "/live", { locale });
      await button(page, liveCalls.listenTo.replace("{callee}", name)).click();
      await isLoud(page, sound.heard);
      await inFourForms(page, "live", locale);
      await end(id);
      await close(page);
    }
  },

  async "numbers that are not called, in eight forms"(browser) {
    await spring();
    await inAllForms(browser, "do-not-call", "/do-not-call", (page) => page.locator("tbody th").first().waitFor());
  },

  async "a document, in eight forms"(browser) {
    const text = "# Hours\nWe are open from nine to five on weekdays.\n\n# Parking\nThere is room behind the house.\n";
    const { documentId } = await ask("POST", "/knowledge-base/documents/text", { name: "Hours and parking", text });
    await inAllForms(browser, "document", "/knowledge", async (page, { question }) => {
      await button(page, "Hours and parking").click();
      await page.getByRole("dialog").getByLabel(question.question).fill("parking");
      await page.keyboard.press("Enter");
      await page.locator(".passages li").first().waitFor();
    });
    await ask("DELETE", `/knowledge-base/documents/${documentId}`);
  },

  async "a delivery that failed, in eight forms"(browser) {
    const { agentId } = await spring(), server = await receiver(503), { webhookId } = await ask("POST", "/webhooks", { url: server.url });
    const { campaignId } = await ask("POST", "/campaigns", { name: "Delivered", agentId, contacts: [{ phoneNumber: "+15550960002" }] });
    await inAllForms(browser, "delivery", `/settings/webhooks/${webhookId}`, async (page) => {
      await row(page, "campaign.draft").getByText("503").waitFor();
      await button(page, "campaign.draft").click();
      await page.getByRole("dialog").locator("pre").first().waitFor();
    });
    for (const path of [`/webhooks/${webhookId}`, `/campaigns/${campaignId}`]) await ask("DELETE", path);
    server.close();
  },

  async "errors at their fields, in eight forms"(browser) {
    await inAllForms(browser, "errors", "/agents/new", async (page) => {
      await page.locator('[name="name"]').fill("Mia");
      for (const group of await page.locator("details.group").all()) await group.evaluate((each) => { each.open = true; });
      await page.locator('[name="conversationConfig.turn.turnTimeout"]').fill("99");
      await page.locator('[name$="postCallWebhook"]').fill("nowhere");
      await page.locator("form .primary").click();
      await page.locator(".field.invalid").first().waitFor();
    });
  },

  async "a mixed list and its hours, in eight forms"(browser) {
    await inAllForms(browser, "new-campaign", "/campaigns/new", async (page, { newCampaign }) => {
      await drop(page, ".drop", "mixed.csv", "phone,name\n+18005550100,Ada\n+4930123456,Ben\n+14155550100,Cy\n12,Di\n");
      await page.getByLabel(newCampaign.when.schedule).check();
      await page.getByRole("figure").first().waitFor();
    });
  },

  async "what a key for reading shows, in eight forms"(browser) {
    const { campaignId } = await spring();
    for (const { locale } of LANGUAGES) {
      const { page, keyId } = await signedInWith(browser, ["read"], `/campaigns/${campaignId}`);
      await page.evaluate((language) => localStorage.setItem("ringback.language", language), locale.slice(0, 2));
      await page.reload();
      await page.locator(".bars").first().waitFor();
      await inFourForms(page, "reading", locale);
      await close(page);
      await ask("DELETE", `/me/api-keys/${keyId}`);
    }
  },
};
