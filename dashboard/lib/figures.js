// Figures of calls, and values that were collected, summed up.

/**
 * @typedef {{ at: number, calls: number, answered: number, talkSeconds: number, outcomes: Record<string, number>, moods: Record<string, number>,
 *   cost: number, currency?: string, optOuts: number, answers: number, latencyMs: number, slowMs: number }} Figures `latencyMs` is the median of the agent's
 *   `answers`; 95 % took at most `slowMs`.
 * @typedef {Figures & { campaignId?: string, agentId?: string, agentVersion?: number }} Row
 */

const DAY = 86_400_000;

/** So many days of the API, which begin at midnight UTC, until the end of today. @param {number} days @param {number} [now] */
export function spanOf(days, now = Date.now()) {
  const from = (Math.floor(now / DAY) - days + 1) * DAY;
  return { from, to: from + days * DAY };
}

/** Last week, from Monday to Sunday. @param {number} [now] */
export function lastWeek(now = Date.now()) {
  const today = Math.floor(now / DAY), from = (today - (new Date(now).getUTCDay() + 6) % 7 - 7) * DAY;
  return { from, to: from + 7 * DAY };
}

/** A row of the API. @param {any} row @returns {Row} */
export const figuresOf = ({ startTimeUnix, calls, answered, conversationDuration, outcomes, sentiment, cost, optOuts = 0, latencies, ...ids }) => ({
  at: (startTimeUnix ?? 0) * 1000, calls, answered, talkSeconds: conversationDuration, outcomes, moods: sentiment ?? {}, cost: Number(cost?.total ?? 0),
  currency: cost?.currency, optOuts, answers: latencies?.answers ?? 0, latencyMs: latencies?.p50Ms ?? 0, slowMs: latencies?.p95Ms ?? 0, ...ids,
});

/** All rows as one; its latencies are means of those of the rows, weighted by answers. @param {Figures[]} rows @returns {Figures} */
export function sum(rows) {
  /** @type {Figures} */
  const all = { at: rows[0]?.at ?? 0, calls: 0, answered: 0, talkSeconds: 0, outcomes: {}, moods: {}, cost: 0,
    currency: rows.find((row) => row.currency)?.currency, optOuts: 0, answers: 0, latencyMs: 0, slowMs: 0 };
  for (const row of rows) {
    for (const name of /** @type {const} */ (['calls', 'answered', 'talkSeconds', 'cost', 'optOuts', 'answers'])) all[name] += row[name];
    all.latencyMs += row.latencyMs * row.answers;
    all.slowMs += row.slowMs * row.answers;
    for (const name of /** @type {const} */ (['outcomes', 'moods'])) {
      for (const [key, count] of Object.entries(row[name])) all[name][key] = (all[name][key] ?? 0) + count;
    }
  }
  if (all.answers) { all.latencyMs /= all.answers; all.slowMs /= all.answers; }
  return all;
}

/** Shares of the calls that a person and that a mailbox answered, if one did. @param {Figures} figures */
export const answeredBy = ({ calls, answered, outcomes: { voicemail = 0 } }) =>
  (voicemail > 0 ? { person: (answered - voicemail) / calls, voicemail: voicemail / calls } : undefined);

/** A slot for each step of a span, also where no call was. @param {Figures[]} rows @param {number} from @param {number} count @param {number} step */
export const slotsOf = (rows, from, count, step) => Array.from({ length: count }, (_, nth) => {
  const at = from + nth * step, row = rows.find((each) => each.at > at - step && each.at <= at);
  return { at, calls: row?.calls ?? 0, answered: row?.answered ?? 0 };
});

/**
 * How often each value was collected, the most frequent first. Capitals and blanks at the ends do not matter.
 * @param {{ dataCollected?: { items?: { entity: string, value: string, type?: string, confirmed: boolean }[] } }[]} contacts
 * @returns {{ entity: string, type?: string, count: number, unconfirmed: number, values: { value: string, count: number }[] }[]} `count` of confirmed values.
 */
export function distribution(contacts) {
  /** @type {Map<string, { entity: string, type?: string, count: number, unconfirmed: number, values: Map<string, { value: string, count: number }> }>} */
  const entities = new Map();
  for (const { entity, value, type, confirmed } of contacts.flatMap(({ dataCollected }) => dataCollected?.items ?? [])) {
    const of = entities.get(entity) ?? { entity, type, count: 0, unconfirmed: 0, values: new Map() };
    entities.set(entity, of);
    if (!confirmed) { of.unconfirmed++; continue; }
    const key = value.trim().toLowerCase(), known = of.values.get(key) ?? { value: value.trim(), count: 0 };
    of.values.set(key, known);
    known.count++;
    of.count++;
  }
  return [...entities.values()].map((of) => ({ ...of, values: [...of.values.values()].sort((a, b) => b.count - a.count) }));
}
