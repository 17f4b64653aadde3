// What a row shows beside what its list says: read once for rows in sight, a few at a time.
import { address, get } from './api.js';
import { useEffect, useState } from './ui.js';

const AT_ONCE = 3, KEPT = 2000;

/** @typedef {{ path: string, query?: Record<string, any>, data?: any, isRead?: boolean, listeners: Set<() => void> }} Found */
/** @type {Map<string, Found>} */
const known = new Map();
/** @type {Found[]} */
const waiting = [];
let reading = 0;

async function work() {
  if (reading >= AT_ONCE) return;
  // The row that came last is in sight for sure.
  const next = waiting.pop();
  if (!next) return;
  if (next.isRead || next.listeners.size === 0) return work();
  reading++;
  next.isRead = true;
  try { next.data = (await get(next.path, { query: next.query })).data; } catch { next.data = null; }
  reading--;
  for (const listener of [...next.listeners]) listener();
  work();
}

/**
 * What the API has at the path; undefined until it is read, null if it cannot be. With another `version` it is read again.
 * @param {string | false | null | undefined} path Nothing is read without it. @param {Record<string, any>} [query] @param {string} [version]
 */
export function useLookup(path, query, version = '') {
  const [, render] = useState({}), key = path ? `${address(path, query)} ${version}` : '';
  useEffect(() => {
    if (!path) return;
    /** @type {Found} */
    const found = known.get(key) ?? { path, query, listeners: new Set() }, listener = () => render({});
    known.delete(key);
    known.set(key, found);
    if (known.size > KEPT) known.delete(known.keys().next().value ?? '');
    found.listeners.add(listener);
    if (!found.isRead) { waiting.push(found); work(); }
    return () => { found.listeners.delete(listener); };
  }, [key]);
  return known.get(key)?.data;
}

/**
 * The name of an agent or a campaign: among the newest, or else read by itself.
 * @param {{ path: string, key: string }} from @param {string | undefined} id @returns {string | null | undefined} Null if it is gone.
 */
export function useName(from, id) {
  const newest = useLookup(id && from.path, { pageSize: 100 });
  const row = newest?.find((/** @type {any} */ each) => each[from.key] === id);
  const one = useLookup(id && newest !== undefined && !row && `${from.path}/${id}`);
  return row?.name ?? (one === null ? null : one?.name);
}
