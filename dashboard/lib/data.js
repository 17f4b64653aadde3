// Reading from the API in components.
import { get } from './api.js';
import { onAccountEvent } from './events.js';
import { useCallback, useEffect, useRef, useState } from './ui.js';

/**
 * One resource, read again when the path or the query changes.
 * @param {string | null} path @param {Record<string, any>} [query]
 * @returns {{ data: any, warning?: string, etag?: string, error: any, reload: () => void, set: (data: any) => void }}
 */
export function useResource(path, query) {
  const [state, setState] = useState(/** @type {{ key: string, data?: any, warning?: string, etag?: string, error?: any }} */ ({ key: '' }));
  const [version, setVersion] = useState(0);
  const key = JSON.stringify([path, query]);
  useEffect(() => {
    if (!path) return;
    const controller = new AbortController();
    get(path, { query, signal: controller.signal }).then(
      (answer) => setState({ key, ...answer }),
      (error) => controller.signal.aborted || setState({ key, error }),
    );
    return () => controller.abort();
  }, [key, version]);
  const present = state.key === key ? state : { data: undefined, error: undefined };
  return {
    ...present,
    data: present.data,
    error: present.error,
    reload: useCallback(() => setVersion((n) => n + 1), []),
    set: (data) => setState({ ...present, key, data }),
  };
}

/**
 * @typedef {object} List
 * @property {any[]} rows
 * @property {boolean} loading
 * @property {boolean} hasMore
 * @property {any} error
 * @property {string} key Changes with the path and the query.
 * @property {() => void} more Reads the next page.
 * @property {() => void} refresh Reads the first page again: new rows come on top, known ones are replaced.
 */

/**
 * A list of the API, page after page.
 * @param {string} path
 * @param {Record<string, any>} query The filters.
 * @param {(row: any) => string} rowKey
 * @returns {List}
 */
export function useList(path, query, rowKey) {
  const key = JSON.stringify([path, query]);
  const [, render] = useState({});
  const list = useRef(/** @type {any} */ (null));
  if (list.current?.key !== key) {
    list.current?.controller.abort();
    list.current = { key, rows: [], loading: false, hasMore: true, error: null, cursor: undefined, controller: new AbortController() };
  }
  const own = list.current;

  /** @param {string | undefined} cursor */
  async function page(cursor) {
    own.loading = true;
    own.error = null;
    render({});
    try {
      return await get(path, { query: { pageSize: 100, ...query, cursor }, signal: own.controller.signal });
    } catch (error) {
      if (!own.controller.signal.aborted) own.error = error;
    } finally {
      own.loading = false;
      if (list.current === own) render({});
    }
  }
  async function more() {
    if (own.loading || !own.hasMore) return;
    const answer = await page(own.cursor);
    if (!answer) return;
    own.rows = [...own.rows, ...answer.data];
    own.cursor = answer.pagination?.nextCursor;
    own.hasMore = !!answer.pagination?.hasMore;
    render({});
  }
  async function refresh() {
    if (own.loading) return;
    const answer = await page(undefined);
    if (!answer) return;
    if (!answer.pagination?.hasMore) {
      own.rows = answer.data;
      own.hasMore = false;
    } else {
      const fresh = new Set(answer.data.map(rowKey));
      if (own.rows.length <= answer.data.length) own.cursor = answer.pagination.nextCursor;
      own.rows = [...answer.data, ...own.rows.slice(0).filter((/** @type {any} */ row) => !fresh.has(rowKey(row)))];
    }
    render({});
  }
  useEffect(() => { more(); }, [key]);
  useEffect(() => () => list.current.controller.abort(), []);
  return { rows: own.rows, loading: own.loading, hasMore: own.hasMore, error: own.error, key, more, refresh };
}

/**
 * Calls `listener` at the account's events of these types (`call.` stands for all of calls), at most once in `everyMs`.
 * @param {string[]} types @param {() => void} listener @param {number} [everyMs]
 */
export function useEvents(types, listener, everyMs = 300) {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    let timer = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined), last = 0;
    const off = onAccountEvent((event) => {
      if (timer || (event && !types.some((type) => event.type.startsWith(type)))) return;
      timer = setTimeout(() => { timer = undefined; last = Date.now(); latest.current(); }, Math.max(20, last + everyMs - Date.now()));
    });
    return () => { clearTimeout(timer); off(); };
  }, []);
}
