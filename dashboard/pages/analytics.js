// Figures of calls in groups, as the overview needs them.
import { useResource } from '../lib/data.js';
import { useMemo } from '../lib/ui.js';
import { zone } from '../lib/i18n.js';
import { localTime } from '../lib/phone-zones.js';

/** @typedef {{ at: number, calls: number, answered: number, talkSeconds: number, outcomes: Record<string, number>, cost: number, currency?: string, latencyMs?: number }} Row */

/** Midnight in the reader's zone. */
export function startOfDay() {
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  return minute - localTime(minute, zone).minutes * 60_000;
}

/** @param {'hour' | 'day'} groupBy @param {number} from @returns {{ rows: Row[] | null, reload: () => void }} null until they are known */
export function useAnalytics(groupBy, from) {
  const answer = useResource('/analytics', { groupBy, from: new Date(from).toISOString(), to: new Date(from + 86_400_000).toISOString() });
  const rows = useMemo(() => answer.data && (answer.data.rows ?? answer.data).map(normal), [answer.data]);
  return { rows: rows ?? null, reload: answer.reload };
}

/** @param {any} row @returns {Row} */
const normal = (row) => ({
  at: Date.parse(row.group ?? row.from), calls: row.calls, answered: row.answered, talkSeconds: row.durations?.total ?? 0,
  outcomes: row.outcomes ?? {}, cost: Number(row.cost?.total ?? 0), currency: row.cost?.currency, latencyMs: row.latencies?.p50,
});

/** All rows as one. The latency is weighted by answered calls. @param {Row[]} rows @returns {Omit<Row, 'at'>} */
export function sum(rows) {
  const all = { calls: 0, answered: 0, talkSeconds: 0, outcomes: /** @type {Record<string, number>} */ ({}), cost: 0, currency: rows.find((row) => row.currency)?.currency, latencyMs: 0 };
  for (const row of rows) {
    all.calls += row.calls;
    all.answered += row.answered;
    all.talkSeconds += row.talkSeconds;
    all.cost += row.cost;
    all.latencyMs += (row.latencyMs ?? 0) * row.answered;
    for (const [key, count] of Object.entries(row.outcomes)) all.outcomes[key] = (all.outcomes[key] ?? 0) + count;
  }
  all.latencyMs = all.answered ? all.latencyMs / all.answered : 0;
  return all;
}
