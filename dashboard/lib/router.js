// Page addresses are real paths. Links are plain <a href>; filters live in the query.
import { createStore, useStore } from './store.js';
import { useEffect } from './ui.js';

const read = () => ({ path: location.pathname, query: Object.fromEntries(new URLSearchParams(location.search)) });

/** The present address. */
export const place = createStore(read());

/**
 * What is kept for each entry of the history until the page is loaded again: lists with their place (lib/data.js), the list whose row is
 * being opened, and the list whose row led here.
 * @typedef {{ lists: Map<string, any>, opened?: any, from?: { list: any, path: string } }} Entry
 */
const MOST_ENTRIES = 30;
/** @type {Map<number, Entry>} */
const entries = new Map();
let present = Number(history.state?.entry) || 0, last = present;
/** @param {Entry['from']} [from] @returns {Entry} */
function begin(from) {
  const entry = { lists: new Map(), from };
  entries.set(present, entry);
  if (entries.size > MOST_ENTRIES) entries.delete(entries.keys().next().value ?? 0);
  return entry;
}
/** The present entry of the history. */
export const presentEntry = () => entries.get(present) ?? begin();

/** Questions before a page with unsaved input is left. @type {Set<() => boolean>} */
const guards = new Set();
/** Asks where input is not saved. */
export const mayLeave = () => [...guards].every((ask) => ask());

/** @param {string} to @param {{ replace?: boolean }} [options] */
export function navigate(to, options = {}) {
  if ((!options.replace || new URL(to, location.href).pathname !== location.pathname) && !mayLeave()) return;
  if (options.replace) history.replaceState({ entry: present }, '', to);
  else {
    const { opened: list } = presentEntry(), from = list && { list, path: location.pathname };
    delete presentEntry().opened;
    present = ++last;
    history.pushState({ entry: present }, '', to);
    begin(from);
  }
  place.set(read());
}

/**
 * Changes the address without a new entry in the history: order, tabs, and words while they are typed.
 * @param {Record<string, string | undefined>} changes @param {{ replace?: boolean }} [options]
 */
export function setQuery(changes, options = { replace: true }) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) value ? query.set(name, value) : query.delete(name);
  const to = location.pathname + (query.size ? `?${query}` : '');
  if (to !== location.pathname + location.search) navigate(to, options);
}

/** Chooses filters; Back returns to those before. @param {Record<string, string | undefined>} changes */
export const pushQuery = (changes) => setQuery(changes, {});

export const useQuery = () => useStore(place).query;

let isReloading = false;
/** Loads the page again without a question. */
export function reload() {
  isReloading = true;
  location.reload();
}

/** Asks with `question` before the page is left while `dirty`. @param {boolean} dirty @param {string} question */
export function useUnsaved(dirty, question) {
  useEffect(() => {
    if (!dirty) return;
    const leave = (/** @type {BeforeUnloadEvent} */ event) => { if (!isReloading) event.preventDefault(); };
    const ask = () => confirm(question);
    guards.add(ask);
    addEventListener('beforeunload', leave);
    return () => {
      guards.delete(ask);
      removeEventListener('beforeunload', leave);
    };
  }, [dirty]);
}

/**
 * The parameters of `path` if it matches `pattern`, such as `/campaigns/:id`. A parameter is an id: an address that smuggles in
 * more, such as `/campaigns/..%2Fme`, would make the page ask for something else than it shows.
 * @param {string} pattern @param {string} path @returns {Record<string, string> | null}
 */
export function match(pattern, path) {
  const wanted = pattern.split('/'), given = path.replace(/\/$/, '').split('/');
  if (wanted.at(-1) === '') wanted.pop();
  if (wanted.length !== given.length) return null;
  /** @type {Record<string, string>} */
  const params = {};
  for (const [at, part] of wanted.entries()) {
    if (part.startsWith(':')) {
      if (!/^[\w-]+$/.test(given[at])) return null;
      params[part.slice(1)] = given[at];
    } else if (part !== given[at]) return null;
  }
  return params;
}

/** Follows the browser's buttons and plain links. */
export function startRouter() {
  let shown = location.pathname + location.search;
  place.subscribe(() => { shown = location.pathname + location.search; });
  addEventListener('popstate', (event) => {
    if (!mayLeave()) return history.pushState({ entry: present }, '', shown);
    present = Number(event.state?.entry) || 0;
    place.set(read());
  });
  document.addEventListener('click', (event) => {
    const link = /** @type {Element} */ (event.target).closest?.('a[href]');
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.target || link.hasAttribute('download')) return;
    if (link.origin !== location.origin || /^\/(public|docs|dashboard)(\/|$)/.test(link.pathname)) return;
    if (link.hash && link.pathname === location.pathname) return;
    event.preventDefault();
    // `data-back` leads to the entry before, `data-replace` takes the present one's place.
    if (link.dataset.back !== undefined) history.back();
    else navigate(link.pathname + link.search, { replace: link.dataset.replace !== undefined });
  });
}
