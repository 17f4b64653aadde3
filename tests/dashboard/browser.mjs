// A browser with the dashboard open, and the ways in which a person uses it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const { RINGBACK_URL: service, RINGBACK_EMAIL: email, RINGBACK_PROGRAM: program } = process.env;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const account = { key: process.env.RINGBACK_KEY };

/** An answer of the REST API, with the account's key. */
export async function ask(method, path, body) {
  const answer = await fetch(`${service}/public/v1${path}`, {
    method,
    headers: { "x-api-key": account.key, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const said = await answer.json();
  assert.ok(answer.ok, JSON.stringify(said));
  return said.data;
}

/** A link that signs in once. */
export function loginLink(of = email) {
  const env = { ...process.env, RINGBACK_KEY: account.key };
  return /http\S+/.exec(execFileSync(program, ["account", "login-link", of], { encoding: "utf8", env }))[0];
}

export async function startBrowser() {
  const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
  // The microphone is a fake one that beeps, and is granted at once.
  const microphone = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];
  return chromium.launch({ executablePath, args: ["--no-sandbox", ...microphone] });
}

/** A page of a new browser profile. Errors in it, and reports of its policy, end the test. */
export async function open(browser, { address = service, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: "en-GB", reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(error.message));
  page.on("dialog", (dialog) => (dialog.type() === "beforeunload" || dialog.type() === "confirm" ? dialog.accept() : page.faults.push(dialog.message())));
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) page.faults.push(message.text());
  });
  await page.goto(address);
  return page;
}

/** A page that is signed in, at `path`. */
export async function signedIn(browser, path = "/", options = {}) {
  const page = await open(browser, { ...options, address: loginLink() });
  // The frame of the page has a navigation too, before anybody is signed in.
  await page.locator('nav a[href="/profile"]').waitFor({ state: "attached" });
  if (path !== "/") await page.goto(service + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  return page;
}

export async function close(page) {
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

/** Fails with the rules that the page breaks, as axe-core sees them. */
export async function checkAccess(page, name) {
  // The policy refuses `eval`, which `page.evaluate` of a text needs; the debugger's protocol does not.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe });
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  const said = found.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`);
  assert.deepEqual(said, [], name);
}

/** Fails if the page is wider than a narrow screen. */
export async function fits(page, name) {
  await page.setViewportSize({ width: 320, height: 640 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 320, `${name} is ${wide} px wide at 320 px`);
  await page.setViewportSize({ width: 1280, height: 860 });
}

/** Moves the focus with Tab until the focused element has this name. */
export async function tabTo(page, name, steps = 80) {
  for (let step = 0; step < steps; step++) {
    const here = await page.evaluate(() => {
      const element = document.activeElement;
      const label = element?.labels?.[0]?.textContent ?? "";
      return `${element?.getAttribute("aria-label") ?? ""}|${label}|${element?.textContent ?? ""}`;
    });
    if (here.split("|").some((each) => each.trim().startsWith(name))) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${name}`);
}

/** Goes to the element with this name, types, and presses a key. */
export async function byKeys(page, name, { text, key } = {}) {
  await tabTo(page, name);
  if (text) await page.keyboard.type(text);
  if (key) await page.keyboard.press(key);
}

/** A server that answers every request with `status`. */
export async function receiver(status) {
  const state = { status, requests: [] };
  const server = createServer((request, response) => {
    state.requests.push(request.headers["webhook-id"]);
    request.resume();
    response.writeHead(state.status).end(state.status < 300 ? "" : "the queue is full");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(state, { url: `http://127.0.0.1:${server.address().port}/events`, close: () => server.close() });
}

/** Chooses in a field that searches. */
export async function pick(scope, label, name) {
  await scope.getByRole("combobox", { name: label, exact: true }).fill(name);
  await scope.getByRole("option", { name, exact: true }).click();
}

/** The same by keyboard alone. */
export async function pickByKeys(page, label, name) {
  await byKeys(page, label, { text: name });
  await page.locator(".pick-body .active").getByText(name).waitFor();
  // Enter chooses once the search that was typed is done.
  await until(async () => {
    await page.keyboard.press("Enter");
    return (await page.locator(".pick-body").count()) === 0;
  }, `the choice of ${name}`);
}

/** Drops a file on an element, as from the desktop. */
export async function drop(page, selector, name, text) {
  const data = await page.evaluateHandle(([name, text]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], name, { type: "text/csv" }));
    return transfer;
  }, [name, text]);
  for (const type of ["dragenter", "dragover", "drop"]) await page.dispatchEvent(selector, type, { dataTransfer: data });
}

export const heading = (page) => page.getByRole("heading", { level: 1 });
export const button = (page, name) => page.getByRole("button", { name, exact: true });
export const dialog = (page) => page.getByRole("dialog");
export const inDialog = (page, name) => dialog(page).getByRole("button", { name, exact: true });
export const row = (page, name) => page.getByRole("row").filter({ hasText: name });
export const isGone = (page, name) => until(async () => (await row(page, name).count()) === 0, `${name} is gone`);
export const waitFor = (page, text, options) => page.getByText(text).first().waitFor(options);

export async function until(question, what, tries = 150) {
  for (let n = 0; n < tries; n++) {
    if (await question()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`never: ${what}`);
}
