// Reading from the API in components.
import { get } from './api.js';
import { onAccountEvent } from './events.js';
import { PagedList, readAll, staticList } from './list.js';
import { presentEntry } from './router.js';
import { useCallback, useEffect, useRef, useState } from './ui.js';

/**
 * One resource, read again when the path or the query changes.
 * @param {string | null} path @param {Record<string, any>} [query]
 * @returns {{ data: any, warning?: string, etag?: string, error: any, reload: () => void, set: (data: any) => void }}
 */
export function useResource(path, query) {
  const [state, setState] = useState(/** @type {{ path: string | null, data?: any, warning?: string, etag?: string, error?: any }} */ ({ path: null }));
  const [version, setVersion] = useState(0);
  const key = JSON.stringify([path, query]);
  useEffect(() => {
    if (!path) return;
    const controller = new AbortController();
    get(path, { query, signal: controller.signal }).then(
      (answer) => setState({ path, ...answer }),
      (error) => controller.signal.aborted || setState({ path, error }),
    );
    return () => controller.abort();
  }, [key, version]);
  // With another query, the old answer is shown until the new one is there.
  const present = state.path === path ? state : { data: undefined, error: undefined };
  return {
    ...present,
    data: present.data,
    error: present.error,
    reload: useCallback(() => setVersion((/** @type {number} */ n) => n + 1), []),
    set: (data) => setState({ ...present, path, data }),
  };
}

/** @typedef {PagedList & { key: string }} List `key` changes with the path and the query. */

/**
 * A list of the API, page after page. Back at an entry of the history, it goes on with the rows that it had.
 * @param {string} path
 * @param {Record<string, any>} query The filters.
 * @param {(row: any) => string} rowKey
 * @returns {List}
 */
export function useList(path, query, rowKey) {
  const key = JSON.stringify([path, query]);
  const [, render] = useState({});
  const present = useRef(/** @type {List | null} */ (null)), { lists: kept } = presentEntry(), isBack = useRef(false);
  if (present.current?.key !== key) {
    const before = present.current, onChange = () => present.current?.key === key && render({});
    before?.close();
    // It gives way to the new one, unless another entry of the history came.
    if (before && kept.get(before.key) === before) kept.delete(before.key);
    isBack.current = kept.has(key);
    const list = isBack.current ? kept.get(key) : new PagedList(path, query, rowKey, onChange);
    list.reopen(onChange);
    // Until the first page is there, the rows of the filters before are shown.
    if (before?.path === path && !isBack.current) list.rows = before.rows;
    present.current = Object.assign(list, { key });
  }
  kept.set(key, /** @type {List} */ (present.current));
  useEffect(() => { isBack.current ? present.current?.refresh() : present.current?.more(); }, [key]);
  useEffect(() => () => present.current?.close(), []);
  return /** @type {List} */ (present.current);
}

/** Rows that are all there as a list, which back at an entry of the history stands where it stood. @param {any[]} rows @param {string} path @returns {List} */
export function keptRows(rows, path) {
  const { lists } = presentEntry(), list = lists.get(path) ?? staticList(rows, path);
  lists.set(path, list);
  return Object.assign(list, { rows });
}

/** Events of one interval that make the next one no longer; with more it grows, to five times at most. */
const CALM = 2;

/**
 * Calls `listener` at the account's events of these types (`call.` stands for all of calls), at most once in `everyMs`; on a busy
 * account less often, and not at the same time in all dashboards.
 * @param {string[]} types @param {() => void} listener @param {number} [everyMs]
 */
export function useEvents(types, listener, everyMs = 300) {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    let timer = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined), next = 0, heard = 0;
    const off = onAccountEvent((event) => {
      if (event && !types.some((type) => event.type.startsWith(type))) return;
      heard++;
      timer ??= setTimeout(() => {
        const longer = Math.min(Math.max(heard / CALM, 1), 5);
        next = Date.now() + everyMs * (longer > 1 ? longer * (0.75 + Math.random() / 2) : 1);
        timer = undefined;
        heard = 0;
        latest.current();
      }, Math.max(20, next - Date.now()));
    });
    return () => { clearTimeout(timer); off(); };
  }, []);
}

/**
 * Numbers that were put on the do-not-call list since then; none while `since` is missing.
 * @param {number | undefined} since milliseconds @returns {Set<string>}
 */
export function useDoNotCall(since) {
  const [numbers, setNumbers] = useState(/** @type {Set<string>} */ (new Set())), [round, setRound] = useState(0);
  useEvents(['contact.'], () => setRound((/** @type {number} */ n) => n + 1), 2000);
  useEffect(() => {
    if (since === undefined) return;
    const controller = new AbortController();
    // The latest ones come first.
    const isOld = (/** @type {any} */ entry) => Date.parse(entry?.metadata.createdAt) < since, isEnough = (/** @type {any[]} */ rows) => isOld(rows.at(-1));
    readAll('/do-not-call', {}, controller.signal, { isEnough })
      .then(({ rows }) => setNumbers(new Set(rows.filter((row) => !isOld(row)).map(({ phoneNumber }) => phoneNumber))), () => {});
    return () => controller.abort();
  }, [since, round]);
  return numbers;
}
