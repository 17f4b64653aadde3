// Counts of calls from the API.
import { figuresOf } from './figures.js';
import { zone } from './i18n.js';
import { readAll } from './list.js';
import { localTime } from './phone-zones.js';
import { useCallback, useEffect, useState } from './ui.js';

/** Midnight in the reader's zone. */
export function startOfDay() {
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  return minute - localTime(minute, zone).minutes * 60_000;
}

/** A call is counted that long after its end, and the state of services is no event. @param {() => void} reload */
export function useEveryHalfMinute(reload) {
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), 30_000);
    return () => clearInterval(timer);
  }, []);
}

/**
 * All groups of the calls that the query chooses.
 * @param {Record<string, any>} query
 * @returns {{ rows: import('./figures.js').Row[] | null, isComplete: boolean, error: any, reload: () => void }} `rows` is null until they are known.
 */
export function useAnalytics(query) {
  const key = JSON.stringify(query), [round, setRound] = useState(0);
  const [state, setState] = useState(/** @type {{ key: string, rows: import('./figures.js').Row[], complete: boolean, error?: any } | null} */ (null));
  useEffect(() => {
    const controller = new AbortController();
    readAll('/analytics', query, controller.signal, { rowsOf: ({ rows }) => rows }).then(
      ({ rows, data }) => setState({ key, rows: rows.map(figuresOf), complete: data.complete }),
      (error) => controller.signal.aborted || setState({ key, rows: [], complete: true, error }),
    );
    return () => controller.abort();
  }, [key, round]);
  // With another span, the old counts are shown until the new ones are there; never those of other groups.
  const isOf = (/** @type {string} */ other) => JSON.parse(other).groupBy === query.groupBy;
  const present = state && (state.key === key || isOf(state.key)) ? state : null;
  return { rows: present?.rows ?? null, isComplete: present?.complete ?? true, error: present?.error,
    reload: useCallback(() => setRound((/** @type {number} */ n) => n + 1), []) };
}
