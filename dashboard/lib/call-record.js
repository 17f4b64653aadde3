// One call with its turns and events; while it goes on, read again as it grows.
import { get } from './api.js';
import { useResource } from './data.js';
import { onAccountEvent } from './events.js';
import { useCallback, useEffect, useRef, useState } from './ui.js';

/** Turns are read when one is over, as `useCallFeed` says, and now and then. What else happens mostly comes with a turn. */
const PACE_MS = 3000, EVENTS_EVERY = 3;

/** @typedef {{ cursor?: string, rows: any[] }[]} Pages */

/** The pages and what has been added to the last of them. @param {string} path @param {Pages} pages @param {AbortSignal} signal @returns {Promise<Pages>} */
async function readOn(path, pages, signal) {
  const read = pages.slice(0, -1);
  let cursor = pages.at(-1)?.cursor;
  for (;;) {
    const { data, pagination } = await get(path, { query: { pageSize: 100, cursor }, signal });
    read.push({ cursor, rows: data });
    cursor = pagination?.nextCursor;
    if (!cursor) return read;
  }
}

/** Differs where something was added. @param {Pages} pages */
const stateOf = (pages) => `${pages.length} ${JSON.stringify(pages.at(-1)?.rows)}`;

/**
 * Read again at the call's events, after `refresh`, and while it goes on every few seconds.
 * @param {string} id
 * @returns {{ call: any, turns: any[] | null, events: any[], error: any, refresh: () => void, readOn: () => void }} `turns` is null until they
 *   are read. `readOn`: the call has more turns.
 */
export function useCallRecord(id) {
  const path = `/conversations/${encodeURIComponent(id)}`;
  const { data: call, error, reload } = useResource(path);
  const [record, setRecord] = useState(/** @type {{ turns: any[] | null, events: any[], error?: any }} */ ({ turns: null, events: [] }));
  const status = call?.status, grows = status === 'in_progress';
  const pages = useRef({ turns: /** @type {Pages} */ ([]), events: /** @type {Pages} */ ([]) });
  const wake = useRef(() => {});
  const refresh = useCallback(() => { reload(); wake.current(); }, []);

  const grown = useCallback(() => wake.current(), []);

  useEffect(() => onAccountEvent((event) => { if (!event || event.data?.data?.conversationId === id) refresh(); }), [id]);
  useEffect(() => {
    if (!status) return;
    const aborted = new AbortController(), { signal } = aborted;
    let timer = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined), round = 0, isReading = false, isWoken = false;
    async function read() {
      const before = pages.current;
      const turns = await readOn(`${path}/turns`, before.turns, signal), hasNewTurns = stateOf(turns) !== stateOf(before.turns);
      const events = hasNewTurns || round++ % EVENTS_EVERY === 0 ? await readOn(`${path}/events`, before.events, signal) : before.events;
      pages.current = { turns, events };
      const isNew = hasNewTurns || stateOf(events) !== stateOf(before.events), all = (/** @type {Pages} */ read) => read.flatMap(({ rows }) => rows);
      setRecord((old) => (isNew || old.error ? { turns: all(turns), events: all(events) } : old));
    }
    async function follow() {
      clearTimeout(timer);
      if (isReading) { isWoken = true; return; }
      isReading = true;
      let isOk = true;
      try {
        if (!document.hidden) await read();
      } catch (problem) {
        isOk = false;
        if (!signal.aborted) setRecord((old) => ({ ...old, error: problem }));
      }
      isReading = false;
      if (isOk && !signal.aborted && (grows || isWoken)) timer = setTimeout(follow, isWoken ? 0 : PACE_MS);
      isWoken = false;
    }
    wake.current = () => { round = 0; follow(); };
    follow();
    // The last of them may be recorded a moment after the end.
    const last = status !== 'scheduled' && Date.now() / 1000 - (call.endTimeUnix ?? 0) < 10 ? setTimeout(wake.current, PACE_MS) : undefined;
    document.addEventListener('visibilitychange', wake.current);
    return () => {
      aborted.abort();
      for (const each of [timer, last]) clearTimeout(each);
      document.removeEventListener('visibilitychange', wake.current);
    };
  }, [path, status]);
  return { call, turns: record.turns, events: record.events, error: error ?? record.error, refresh, readOn: grown };
}
