// How fast the dashboard is in Chromium on loopback: paint, script time at the start of each page, and the time from an
// event until it is on screen. Prints each figure beside its target. Creates campaigns and deletes them.

import { signedIn, startBrowser, until } from "./browser.mjs";

const service = process.env.RINGBACK_URL;
const LOADS = 20, PAGE_LOADS = 5, EVENTS = 20;
const TARGET_MS = { paint: 300, script: 50, event: 200 };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The value that `share` of the samples do not exceed. */
function percentile(samples, share) {
  return samples.toSorted((a, b) => a - b)[Math.max(1, Math.ceil(share * samples.length)) - 1];
}

function print(name, samples, target) {
  const [p50, p95] = [0.5, 0.95].map((share) => percentile(samples, share));
  const verdict = target ? `target ${target} ms${p50 > target ? ", missed" : ""}` : "";
  console.log(`${name.padEnd(44)} ${p50.toFixed(0).padStart(5)} ${p95.toFixed(0).padStart(5)}   ${verdict}`);
}

/** Requests with the session of a page. */
function client(context) {
  return async (method, path, data) => {
    const answer = await context.request.fetch(`${service}/public/v1${path}`, { method, data, headers: { origin: service } });
    const said = await answer.json();
    if (!answer.ok()) throw new Error(`${method} ${path}: ${JSON.stringify(said)}`);
    return said.data;
  };
}

/** A new page of a browser without a cache, or of `context` with one. */
async function fresh(browser, cookies, context) {
  const own = context ?? await browser.newContext({ viewport: { width: 1280, height: 860 } });
  if (!context) await own.addCookies(cookies);
  const page = await own.newPage();
  return { page, close: () => (context ? page.close() : own.close()) };
}

/** First paint of the overview, and the time until its figures are there. */
async function paint(browser, cookies, context) {
  const first = [], figures = [];
  for (let n = 0; n < LOADS; n++) {
    const { page, close } = await fresh(browser, cookies, context);
    await page.addInitScript(() => {
      new PerformanceObserver((list) => { for (const { name, startTime } of list.getEntries()) if (name === "first-contentful-paint") window.firstPaint = startTime; })
        .observe({ type: "paint", buffered: true });
      new MutationObserver(() => { if (!window.figuresAt && document.querySelector("#by-hour")) window.figuresAt = performance.now(); })
        .observe(document, { childList: true, subtree: true });
    });
    await page.goto(service);
    await page.waitForFunction(() => window.firstPaint && window.figuresAt);
    const [painted, shown] = await page.evaluate(() => [window.firstPaint, window.figuresAt]);
    first.push(painted);
    figures.push(shown);
    await close();
  }
  return { first, figures };
}

/** Milliseconds of processor time of scripts until a page has been there for a while. */
async function scriptTime(browser, cookies, path) {
  const { page, close } = await fresh(browser, cookies);
  const session = await page.context().newCDPSession(page);
  // Processor time: time on a busy machine is not the page's.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.goto(service + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await pause(700);
  const { metrics } = await session.send("Performance.getMetrics");
  await close();
  return metrics.find(({ name }) => name === "ScriptDuration").value * 1000;
}

/** Arrival times of the account's events, by type, until the signal. */
async function listen(cookies, signal) {
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
  const { body } = await fetch(`${service}/public/v1/events`, { headers: { cookie }, signal });
  const seen = [];
  (async () => {
    for await (const piece of body.pipeThrough(new TextDecoderStream())) {
      for (const [, type] of piece.matchAll(/^event: (.+)$/gm)) seen.push({ type, at: Date.now() });
    }
  })().catch(() => {});
  return seen;
}

/** When a badge with this word is on screen. */
const shownAt = (page, word) => page.evaluate((word) => new Promise((resolve) => {
  const observer = new MutationObserver(() => {
    if (![...document.querySelectorAll("main .badge")].some((badge) => badge.textContent.includes(word))) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(Date.now())));
  });
  observer.observe(document.body, { childList: true, subtree: true, characterData: true, attributes: true });
}), word);

/** Pauses campaigns that wait for their time, each while it is shown, and at a random moment. */
async function events(page, ask, cookies) {
  const [{ agentId }] = await ask("GET", "/agents?pageSize=1");
  const window = { scheduled: true, timezone: "Etc/UTC", ...(new Date().getUTCHours() < 12 ? { startTime: "20:00", endTime: "21:00" } : { startTime: "05:00", endTime: "06:00" }) };
  const figures = { stream: [], list: [], campaign: [] };
  const over = new AbortController();
  const seen = await listen(cookies, over.signal);
  for (let n = 0; n < 2 * EVENTS; n++) {
    const name = `Figures ${Date.now()}`, kind = n % 2 ? "list" : "campaign";
    const { campaignId } = await ask("POST", "/campaigns", { name, agentId, contacts: [{ phoneNumber: "+15550199999" }], ...window });
    try {
      await page.goto(service + (kind === "list" ? `/campaigns?${new URLSearchParams({ name })}` : `/campaigns/${campaignId}`));
      await page.locator("main .badge", { hasText: "Waiting" }).first().waitFor();
      // No event waits for the one before, and none comes at a fixed time after it.
      await pause(2500 + Math.random() * 1000);
      const shown = shownAt(page, "Paused");
      seen.length = 0;
      const asked = Date.now();
      await ask("POST", `/campaigns/${campaignId}/pause`, {});
      figures[kind].push(await shown - asked);
      const isPaused = ({ type }) => type === "campaign.paused";
      await until(() => seen.some(isPaused), "campaign.paused");
      figures.stream.push(seen.find(isPaused).at - asked);
    } finally {
      await ask("POST", `/campaigns/${campaignId}/stop`, {});
      await ask("DELETE", `/campaigns/${campaignId}`);
    }
  }
  over.abort();
  return figures;
}

const browser = await startBrowser();
try {
  const page = await signedIn(browser);
  const cookies = await page.context().cookies(), ask = client(page.context());
  const ids = {};
  for (const [kind, id] of [["agents", "agentId"], ["campaigns", "campaignId"], ["conversations", "conversationId"]]) {
    ids[kind] = (await ask("GET", `/${kind}?pageSize=1`))[0]?.[id];
  }
  if (!ids.agents) throw new Error("the account has no agent");
  console.log(`${"ms".padEnd(44)}   p50   p95`);
  const cold = await paint(browser, cookies), warm = await paint(browser, cookies, page.context());
  print("overview, first paint, without a cache", cold.first, TARGET_MS.paint);
  print("overview, first paint, with a cache", warm.first, TARGET_MS.paint);
  print("overview, its figures, without a cache", cold.figures);
  print("overview, its figures, with a cache", warm.figures);
  const pages = ["/", "/campaigns", "/campaigns/new", ids.campaigns && `/campaigns/${ids.campaigns}`, "/calls", ids.conversations && `/calls/${ids.conversations}`,
    "/agents", "/agents/new", `/agents/${ids.agents}`, "/knowledge", "/tools", "/contacts", "/do-not-call", "/numbers", "/safeguards", "/settings", "/profile"];
  for (const path of pages.filter(Boolean)) {
    const times = [];
    for (let n = 0; n < PAGE_LOADS; n++) times.push(await scriptTime(browser, cookies, path));
    print(`script at the start of ${path.replace(/[0-9a-f-]{36}/, "…")}`, times, TARGET_MS.script);
  }
  const { stream, list, campaign } = await events(page, ask, cookies);
  print("command to its event in the stream", stream);
  print("command to the list of campaigns", list, TARGET_MS.event);
  print("command to the page of the campaign", campaign, TARGET_MS.event);
} finally {
  await browser.close();
}
