// Scenarios of calls in progress: the list, listening, taking over, notes, and talks with an agent. The microphone is Chromium's
// fake one, which beeps.

import assert from "node:assert/strict";
import { ask, button, byKeys, checkAccess, close, fits, heading, inDialog, pick, signedIn, tabTo, until, waitFor } from "./browser.mjs";

const { RINGBACK_URL: service } = process.env;
const AGENT = `Liv ${Date.now()} <b>bold</b>`;

/** An agent whose calls go on until somebody ends them, made when it is first needed. */
let made;
const patient = () => (made ??= ask("POST", "/agents/create", {
  name: AGENT, direction: "both",
  conversationConfig: { agent: { greetingMessage: "Hello {{guest}}, this is Liv. Which weekday do you prefer?", prompt: { prompt: "You are Liv." } },
    turn: { turnTimeout: 3, silenceEndCallTimeout: 600 } },
}));

let last = 5550700000;
export async function place(name = "Robin") {
  const { agentId } = await patient();
  const call = { agentId, phoneNumber: `+1${last += 10}`, name, dynamicVariables: { persona: "cooperative", guest: "Robin" } };
  const { conversationId } = await ask("POST", "/calls", call);
  await until(async () => (await ask("GET", `/conversations/${conversationId}/turns`)).length > 0, "the first turn", 300);
  return conversationId;
}

export const end = (id) => ask("POST", `/conversations/${id}/end`);
export const eventsOf = async (id, type) => (await ask("GET", `/conversations/${id}/events?pageSize=100`)).filter((event) => event.type === type);
export const recorded = (id, type, count = 1) => until(async () => (await eventsOf(id, type)).length >= count, `${count} ${type}`);

/** Waits until a level is above silence. */
export const isLoud = (page, name) => until(async () => {
  const meter = page.getByRole("meter", { name });
  return (await meter.count()) > 0 && Number(await meter.getAttribute("aria-valuenow")) > -50;
}, `a sound: ${name}`, 300);

/** A page on which the browser refuses the microphone. */
const refuse = (page) => page.addInitScript(() => {
  navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("Permission denied", "NotAllowedError"));
});

export const live = {
  async "see calls in progress come, go on and leave, by keyboard alone"(browser) {
    const name = `Kim ${Date.now()}`;
    const page = await signedIn(browser);
    await byKeys(page, "Live", { key: "Enter" });
    await heading(page).filter({ hasText: "Live" }).waitFor();
    const id = await place(name), shown = page.getByRole("row").filter({ has: page.locator(`a[href="/calls/${id}"]`) });
    await shown.waitFor();
    await shown.getByText("<b>bold</b>").waitFor();
    await shown.getByRole("cell").filter({ hasText: /^(Agent|Contact): ./ }).waitFor();
    await shown.getByText(/^(Positive|Neutral|Negative)$/).waitFor();
    const clock = shown.getByRole("cell").filter({ hasText: /^\d+:\d\d$/ }), before = await clock.textContent();
    await until(async () => (await clock.textContent()) !== before, "the clock goes on");
    await checkAccess(page, "/live");
    await fits(page, "/live");
    const second = await place(name);
    await page.locator(`a[href="/calls/${second}"]`).waitFor();
    await end(second);
    await page.locator(`a[href="/calls/${second}"]`).waitFor({ state: "detached" });
    const wanted = `/calls/${id}`, present = () => page.evaluate(() => document.activeElement?.getAttribute("href"));
    await tabTo(page, name.slice(0, 3));
    for (let n = 0; n < 20 && (await present()) !== wanted; n++) {
      const from = await present();
      await page.keyboard.press("j");
      await until(async () => (await present()) !== from, "the next row");
    }
    await page.keyboard.press("Enter");
    await page.waitForURL(`**${wanted}`);
    await end(id);
    await page.goto(`${service}/live`);
    await pick(page, "Agent", AGENT);
    await until(() => new URL(page.url()).searchParams.has("agentId"), "the filter in the address");
    await waitFor(page, "No call matches these filters");
    await close(page);
  },

  async "listen to a call, both sides together and apart"(browser) {
    const id = await place();
    const page = await signedIn(browser, `/calls/${id}`);
    await waitFor(page, /^The agent (speaks|listens|thinks)$/);
    await button(page, "Listen").click();
    await waitFor(page, "You are listening");
    await isLoud(page, "You hear");
    await page.getByLabel("Contact left, agent right").check();
    await waitFor(page, "You are listening");
    await isLoud(page, "You hear");
    await page.getByRole("slider", { name: "Volume" }).fill("50");
    await checkAccess(page, "a call that is listened to");
    await fits(page, "a call that is listened to");
    await button(page, "Stop listening").click();
    await page.getByRole("meter").first().waitFor({ state: "detached" });
    await recorded(id, "listener_left", 2);
    await button(page, "Listen").click();
    await waitFor(page, "You are listening");
    await page.goto(`${service}/calls`);
    await recorded(id, "listener_left", 3);
    await end(id);
    await close(page);
  },

  async "keep a call that was taken over while the sound of listening is connected again"(browser) {
    const id = await place(), page = await signedIn(browser, `/calls/${id}`);
    let line;
    await page.routeWebSocket(/\/listen\?/, (socket) => { (line = socket).connectToServer(); });
    await button(page, "Listen").click();
    await waitFor(page, "You are listening");
    await line.close({ code: 1012 });
    await button(page, "Take over").click();
    await waitFor(page, "You have the call");
    await page.waitForTimeout(1500);
    await button(page, "Give back").waitFor();
    await end(id);
    await waitFor(page, "The call is over");
    await close(page);
  },

  async "take a call over and give it back, by keyboard alone"(browser) {
    const id = await place();
    const page = await signedIn(browser, `/calls/${id}`), other = await signedIn(browser, `/calls/${id}`);
    await page.bringToFront();
    await byKeys(page, "Listen", { key: "Enter" });
    await waitFor(page, "You are listening");
    await byKeys(page, "Take over", { key: "Enter" });
    await waitFor(page, "You have the call");
    await recorded(id, "operator_joined");
    const [{ detail }] = await eventsOf(id, "operator_joined");
    await isLoud(page, "Your microphone");
    await checkAccess(page, "a call that was taken over");
    await other.bringToFront();
    await waitFor(other, `${detail.by} has the call`);
    await until(async () => (await button(other, "Take over").getAttribute("aria-disabled")) === "true", "nobody else can have it");
    await until(() => button(other, "Say").isDisabled(), "the agent cannot be steered");
    await checkAccess(other, "a call that somebody else has");
    await page.bringToFront();
    await byKeys(page, "Note to the agent when you give back", { text: "Offer Friday." });
    await byKeys(page, "Give back", { key: "Enter" });
    await recorded(id, "operator_left");
    assert.equal((await eventsOf(id, "operator_left"))[0].detail.reason, "given_back");
    await waitFor(page, "You are listening");
    await until(async () => (await button(page, "Take over").getAttribute("aria-disabled")) === "false", "it can be taken over again");
    await until(() => page.evaluate(() => document.activeElement?.textContent === "Take over"), "the focus stays on the button");
    await page.keyboard.press("Enter");
    await waitFor(page, "You have the call");
    await close(page);
    await recorded(id, "operator_left", 2);
    await end(id);
    await close(other);
  },

  async "say that a call that rings cannot be taken over or steered"(browser) {
    const { agentId } = await patient();
    const call = { agentId, phoneNumber: `+1${last += 10}`, dynamicVariables: { persona: "no-answer", guest: "Robin" } };
    const { conversationId: id } = await ask("POST", "/calls", call);
    const page = await signedIn(browser, `/calls/${id}`);
    await waitFor(page, "You can take over only while the agent and the contact are talking");
    assert.equal(await button(page, "Take over").getAttribute("aria-disabled"), "true");
    assert.ok(await button(page, "Say").isDisabled());
    await checkAccess(page, "a call that rings");
    await end(id);
    await close(page);
  },

  async "say why the microphone cannot be used"(browser) {
    const id = await place();
    const page = await signedIn(browser);
    await refuse(page);
    await page.goto(`${service}/calls/${id}`);
    await button(page, "Take over").click();
    await page.getByRole("alert").filter({ hasText: "The browser refused the microphone" }).waitFor();
    assert.equal((await eventsOf(id, "operator_joined")).length, 0);
    await end(id);
    await close(page);
  },

  async "switch listening off for the account, and on again"(browser) {
    const id = await place();
    const page = await signedIn(browser, "/safeguards");
    const card = page.getByRole("region", { name: "Listening and taking over" });
    for (const isAllowed of [false, true]) {
      await card.getByLabel("Allowed").setChecked(isAllowed);
      await button(card, "Save").click();
      await until(async () => (await ask("GET", "/safeguards")).liveListening === isAllowed, `liveListening is ${isAllowed}`);
    }
    await ask("PATCH", "/safeguards", { liveListening: false });
    await page.goto(`${service}/calls/${id}`);
    const list = await signedIn(browser, "/live");
    for (const each of [page, list]) await each.getByRole("link", { name: "Listening and taking over are switched off under Safeguards" }).waitFor();
    assert.equal(await button(page, "Listen").count(), 0);
    await ask("PATCH", "/safeguards", { liveListening: true });
    for (const each of [page, list]) await button(each, "Try again").click();
    await button(page, "Listen").waitFor();
    await button(list, "Try again").waitFor({ state: "detached" });
    await close(list);
    await end(id);
    await close(page);
  },

  async "leave a note for the next answer only"(browser) {
    const id = await place();
    const page = await signedIn(browser, `/calls/${id}`);
    await button(page, "Note to the agent").click();
    const note = page.getByRole("dialog").getByLabel("Note", { exact: false }).first();
    await note.fill("x".repeat(1001));
    await waitFor(page, "1,001 characters; at most 1,000 are allowed");
    await note.fill("Offer <i>Friday</i>.");
    await page.getByRole("dialog").getByLabel("For the next answer only").check();
    const [request] = await Promise.all([page.waitForRequest(/\/instructions$/), inDialog(page, "Note to the agent").click()]);
    assert.deepEqual(request.postDataJSON(), { text: "Offer <i>Friday</i>.", for: "turn" });
    await waitFor(page, /noted: Offer <i>Friday/);
    await end(id);
    await close(page);
  },

  async "talk to an agent that is not saved, by keyboard alone"(browser) {
    const { agentId } = await patient();
    const page = await signedIn(browser, `/agents/${agentId}`);
    const greeting = page.getByLabel("Greeting", { exact: false }).first();
    await greeting.fill("Hello {{visitor}}, I am not saved.");
    await byKeys(page, "Talk to it", { key: "Enter" });
    await byKeys(page, "visitor", { text: "Sam" });
    const [request] = await Promise.all([page.waitForRequest(/\/agents\/test-call$/), byKeys(page, "Begin to talk", { key: "Enter" })]);
    const sent = request.postDataJSON();
    assert.equal(sent.agent.conversationConfig.agent.greetingMessage, "Hello {{visitor}}, I am not saved.");
    assert.deepEqual([sent.dynamicVariables, sent.actions, sent.agentId], [{ visitor: "Sam" }, false, undefined]);
    await waitFor(page, "The call has begun");
    await isLoud(page, "You hear");
    await isLoud(page, "Your microphone");
    await page.locator(".turn.agent").getByText("Hello Sam").waitFor();
    await checkAccess(page, "a talk with an agent");
    await fits(page, "a talk with an agent");
    await until(() => page.evaluate(() => document.activeElement?.textContent === "Hang up"), "the focus is on the button that ends the call");
    await page.keyboard.press("Enter");
    await waitFor(page, "The call is over");
    const id = (await page.getByRole("link", { name: "The page of this call" }).getAttribute("href")).split("/").at(-1);
    await until(async () => (await ask("GET", `/conversations/${id}`)).status !== "in_progress", "the end of the call");
    await greeting.fill("");
    await page.getByRole("button", { name: "Discard" }).click();
    const [again] = await Promise.all([page.waitForRequest(/\/agents\/test-call$/), button(page, "Talk again").click()]);
    assert.equal(again.postDataJSON().agentId, agentId);
    await button(page, "Hang up").click();
    await close(page);
  },

  async "type with an agent without a microphone, and find the call among the test calls only"(browser) {
    const { agentId } = await patient();
    const page = await signedIn(browser);
    await refuse(page);
    await page.goto(`${service}/agents/${agentId}`);
    await byKeys(page, "Talk to it", { key: "Enter" });
    await byKeys(page, "guest", { text: "Sam" });
    await page.getByLabel("How you talk").selectOption("text");
    const [request] = await Promise.all([page.waitForRequest(/\/agents\/test-call$/), byKeys(page, "Begin to talk", { key: "Enter" })]);
    assert.equal(request.postDataJSON().mode, "text");
    await waitFor(page, "The call has begun");
    await page.locator(".turn.agent").getByText("Hello Sam").waitFor();
    await until(() => page.evaluate(() => document.activeElement?.id === "talk-words"), "the focus is on the words");
    await page.keyboard.type("On <i>Tuesday</i>, please.");
    await page.keyboard.press("Enter");
    await page.locator(".turn.user").getByText("On <i>Tuesday</i>, please.").waitFor();
    await until(async () => (await page.locator(".turn.agent").count()) >= 2, "the answer");
    assert.equal(await page.getByLabel("Your words").inputValue(), "");
    await checkAccess(page, "typing with an agent");
    await fits(page, "typing with an agent");
    const link = await page.getByRole("link", { name: "The page of this call" }).getAttribute("href"), shown = `a[href="${link}"]`;
    const list = await signedIn(browser, "/live?test=true");
    await list.locator(shown).filter({ hasText: "Test call" }).waitFor();
    await list.getByLabel("Test calls").selectOption("");
    await list.locator(shown).waitFor({ state: "detached" });
    assert.equal(new URL(list.url()).searchParams.has("test"), false);
    await list.goto(service + link);
    await button(list, "End call").waitFor();
    await page.bringToFront();
    await button(page, "Hang up").click();
    await waitFor(page, "The call is over");
    await list.bringToFront();
    await list.locator("h1 + .badge").filter({ hasText: "Completed" }).waitFor();
    await button(list, "End call").waitFor({ state: "detached" });
    await close(list);
    const id = link.split("/").at(-1);
    await until(async () => (await ask("GET", `/conversations/${id}`)).status === "completed", "the end of the call");
    await close(page);
  },

  async "be told when a typed call ends elsewhere, and end it with the panel or the page"(browser) {
    const { agentId } = await patient();
    const page = await signedIn(browser, `/agents/${agentId}`), asked = [];
    page.on("dialog", (dialog) => asked.push(dialog.type()));
    const begin = async (name) => {
      const [answer] = await Promise.all([page.waitForResponse(/\/agents\/test-call$/), button(page, name).click()]);
      await words.waitFor();
      return (await answer.json()).data.conversationId;
    };
    const isOver = (id) => until(async () => (await ask("GET", `/conversations/${id}`)).status !== "in_progress", "the end of the call");
    const words = page.getByLabel("Your words");
    await button(page, "Talk to it").last().click();
    await until(() => page.evaluate(() => document.activeElement?.id === "talk"), "the focus is on the panel");
    await page.getByLabel("guest").fill("Sam");
    await page.getByLabel("How you talk").selectOption("text");
    const first = await begin("Begin to talk");
    await waitFor(page, "as it was when the call began");
    await words.fill("a".repeat(1001));
    await button(page, "Send").click();
    await waitFor(page, "at most 1,000 are allowed");
    assert.equal((await words.inputValue()).length, 1001);
    await words.fill("Not on Friday");
    await end(first);
    await waitFor(page, "The call is over.");
    await waitFor(page, "Not on Friday");
    await button(page, "Close").click();
    assert.deepEqual(asked, []);

    await button(page, "Talk to it").first().click();
    assert.equal(await page.getByLabel("How you talk").inputValue(), "text");
    assert.equal(await page.getByLabel("guest").inputValue(), "Sam");
    const second = await begin("Begin to talk");
    await button(page, "Close").click();
    assert.deepEqual(asked, ["confirm"]);
    await isOver(second);

    await button(page, "Talk to it").first().click();
    const third = await begin("Begin to talk");
    await page.goto("about:blank");
    assert.deepEqual(asked, ["confirm", "beforeunload"]);
    await isOver(third);
    await close(page);
  },
};
