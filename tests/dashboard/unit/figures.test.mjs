// Sums of calls, spans of days, and how often values were collected.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answeredBy, distribution, figuresOf, lastWeek, slotsOf, spanOf, sum } from "../../../dashboard/lib/figures.js";

const HOUR = 3_600_000, DAY = 24 * HOUR;
const row = (fields) => figuresOf({ startTimeUnix: 0, calls: 0, answered: 0, conversationDuration: 0, outcomes: {}, sentiment: {}, ...fields });

test("a span ends with today, in days of UTC", () => {
  const now = Date.parse("2026-06-03T23:30:00Z");
  assert.deepEqual(spanOf(1, now), { from: Date.parse("2026-06-03"), to: Date.parse("2026-06-04") });
  assert.deepEqual(spanOf(7, now), { from: Date.parse("2026-05-28"), to: Date.parse("2026-06-04") });
});

test("last week is the whole one before, on its Monday and Sunday too", () => {
  const week = { from: Date.parse("2026-05-25"), to: Date.parse("2026-06-01") };
  for (const now of ["2026-06-01T00:00:00Z", "2026-06-03T12:00:00Z", "2026-06-07T23:59:59Z"]) assert.deepEqual(lastWeek(Date.parse(now)), week);
});

test("rows are summed, delays by the number of answers", () => {
  const all = sum([
    row({ calls: 3, answered: 2, conversationDuration: 60, outcomes: { completed: 2, busy: 1 }, sentiment: { positive: 1 },
      cost: { currency: "EUR", total: "0.25" }, optOuts: 2, latencies: { answers: 3, p50Ms: 400, p95Ms: 900 } }),
    row({ calls: 2, answered: 1, conversationDuration: 30, outcomes: { busy: 1, voicemail: 1 }, sentiment: { positive: 2 },
      cost: { currency: "EUR", total: "0.5" }, optOuts: 1, latencies: { answers: 1, p50Ms: 800, p95Ms: 900 } }),
    row({ calls: 1 }),
  ]);
  assert.deepEqual(all, { at: 0, calls: 6, answered: 3, talkSeconds: 90, outcomes: { completed: 2, busy: 2, voicemail: 1 }, moods: { positive: 3 },
    cost: 0.75, currency: "EUR", optOuts: 3, answers: 4, latencyMs: 500, slowMs: 900 });
});

test("nothing is summed to nothing", () => {
  const all = sum([]);
  assert.deepEqual([all.calls, all.cost, all.currency, all.latencyMs], [0, 0, undefined, 0]);
});

test("a row keeps whose it is, and has no currency without prices", () => {
  const { campaignId, currency, cost } = row({ campaignId: "c", calls: 1 });
  assert.deepEqual([campaignId, currency, cost], ["c", undefined, 0]);
});

test("each step of a span has a slot", () => {
  const from = Date.parse("2026-06-01"), rows = [row({ startTimeUnix: (from + 2 * DAY) / 1000, calls: 4, answered: 1 })];
  assert.deepEqual(slotsOf(rows, from, 4, DAY).map(({ calls }) => calls), [0, 0, 4, 0]);
  // Hours of the API that begin within an hour of the reader's zone, as in India.
  assert.deepEqual(slotsOf(rows, from + 2 * DAY - HOUR / 2, 2, HOUR).map(({ answered }) => answered), [0, 1]);
});

test("values are counted however they are written, unconfirmed ones apart", () => {
  const contact = (...items) => ({ dataCollected: { items: items.map(([entity, value, confirmed = true]) => ({ entity, value, type: "string", confirmed })) } });
  const found = distribution([contact(["day", "Next Monday"]), contact(["day", " next monday "], ["city", "Bonn"]), contact(["day", "Friday", false]),
    contact(["day", "Friday"]), contact(), {}]);
  assert.deepEqual(found, [
    { entity: "day", type: "string", count: 3, unconfirmed: 1, values: [{ value: "Next Monday", count: 2 }, { value: "Friday", count: 1 }] },
    { entity: "city", type: "string", count: 1, unconfirmed: 0, values: [{ value: "Bonn", count: 1 }] },
  ]);
});

test("answered calls are those of persons and of mailboxes", () => {
  assert.deepEqual(answeredBy(row({ calls: 8, answered: 5, outcomes: { completed: 3, voicemail: 2, busy: 3 } })), { person: 3 / 8, voicemail: 2 / 8 });
  for (const outcomes of [{}, { completed: 5, voicemail: 0 }]) assert.equal(answeredBy(row({ calls: 8, answered: 5, outcomes })), undefined);
});
