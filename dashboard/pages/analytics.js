// Figures of calls in groups, as the overview needs them.
import { useResource } from '../lib/data.js';
import { useMemo } from '../lib/ui.js';
import { zone } from '../lib/i18n.js';
import { localTime } from '../lib/phone-zones.js';

/**
 * @typedef {{ at: number, calls: number, answered: number, talkSeconds: number, outcomes: Record<string, number>, cost: number, currency?: string,
 *   answers: number, latencyMs: number }} Row `latencyMs` is the median of the agent's `answers`.
 */

/** Midnight in the reader's zone. */
export function startOfDay() {
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  return minute - localTime(minute, zone).minutes * 60_000;
}

/**
 * @param {'hour' | 'day'} groupBy @param {number} from
 * @returns {{ rows: Row[] | null, isComplete: boolean, reload: () => void }} `rows` is null until they are known.
 */
export function useAnalytics(groupBy, from) {
  const { data, reload } = useResource('/analytics', { groupBy, startedAfter: from / 1000, startedBefore: from / 1000 + 86_400, pageSize: 100 });
  const rows = useMemo(() => data?.rows.map(normal) ?? null, [data]);
  return { rows, isComplete: data?.complete ?? true, reload };
}

/** @param {any} row @returns {Row} */
const normal = (row) => ({
  at: row.startTimeUnix * 1000, calls: row.calls, answered: row.answered, talkSeconds: row.conversationDuration, outcomes: row.outcomes,
  cost: Number(row.cost?.total ?? 0), currency: row.cost?.currency, answers: row.latencies?.answers ?? 0, latencyMs: row.latencies?.p50Ms ?? 0,
});

/** All rows as one; the latency is the mean of the medians. @param {Row[]} rows @returns {Omit<Row, 'at'>} */
export function sum(rows) {
  const all = { calls: 0, answered: 0, talkSeconds: 0, outcomes: /** @type {Record<string, number>} */ ({}), cost: 0,
    currency: rows.find((row) => row.currency)?.currency, answers: 0, latencyMs: 0 };
  for (const row of rows) {
    all.calls += row.calls;
    all.answered += row.answered;
    all.talkSeconds += row.talkSeconds;
    all.cost += row.cost;
    all.answers += row.answers;
    all.latencyMs += row.latencyMs * row.answers;
    for (const [key, count] of Object.entries(row.outcomes)) all.outcomes[key] = (all.outcomes[key] ?? 0) + count;
  }
  if (all.answers) all.latencyMs /= all.answers;
  return all;
}
