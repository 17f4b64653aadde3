// One call with its turns and events; while it goes on, read again as it grows.
import { get } from './api.js';
import { useResource } from './data.js';
import { onAccountEvent } from './events.js';
import { useEffect, useRef, useState } from './ui.js';

const PACE_MS = 1000;

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

/**
 * @param {string} id
 * @returns {{ call: any, turns: any[] | null, events: any[], error: any, reload: () => void }} `turns` is null until they are read.
 */
export function useCallRecord(id) {
  const path = `/conversations/${encodeURIComponent(id)}`;
  const { data: call, error, reload } = useResource(path);
  const [record, setRecord] = useState(/** @type {{ turns: any[] | null, events: any[], error?: any }} */ ({ turns: null, events: [] }));
  const status = call?.status, grows = status === 'in_progress';
  const pages = useRef({ turns: /** @type {Pages} */ ([]), events: /** @type {Pages} */ ([]) });

  useEffect(() => onAccountEvent((event) => { if (!event || event.data?.data?.conversationId === id) reload(); }), [id]);
  useEffect(() => {
    if (!status) return;
    const aborted = new AbortController();
    let timer = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);
    async function read() {
      try {
        if (!document.hidden) {
          const [turns, events] = await Promise.all(/** @type {const} */ (['turns', 'events']).map((kind) => readOn(`${path}/${kind}`, pages.current[kind], aborted.signal)));
          pages.current = { turns, events };
          setRecord({ turns: turns.flatMap(({ rows }) => rows), events: events.flatMap(({ rows }) => rows) });
        }
      } catch (problem) {
        if (!aborted.signal.aborted) setRecord((old) => ({ ...old, error: problem }));
        return;
      }
      if (grows && !aborted.signal.aborted) timer = setTimeout(read, PACE_MS);
    }
    read();
    // The last of them may be recorded a moment after the end.
    if (status !== 'scheduled' && Date.now() / 1000 - (call.endTimeUnix ?? 0) < 10) timer = setTimeout(read, PACE_MS);
    return () => { aborted.abort(); clearTimeout(timer); };
  }, [path, status]);
  return { call, turns: record.turns, events: record.events, error: error ?? record.error, reload };
}
