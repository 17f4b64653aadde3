// Page addresses are real paths. Links are plain <a href>; filters live in the query.
import { createStore, useStore } from './store.js';
import { useEffect } from './ui.js';

const read = () => ({ path: location.pathname, query: Object.fromEntries(new URLSearchParams(location.search)) });

/** The present address. */
export const place = createStore(read());

/** Questions before a page with unsaved input is left. @type {Set<() => boolean>} */
const guards = new Set();
/** Asks where input is not saved. */
export const mayLeave = () => [...guards].every((ask) => ask());

/** @param {string} to @param {{ replace?: boolean }} [options] */
export function navigate(to, options = {}) {
  if (!options.replace && !mayLeave()) return;
  history[options.replace ? 'replaceState' : 'pushState'](null, '', to);
  place.set(read());
}

/** Sets filters in the address, without a new entry in the history. @param {Record<string, string | undefined>} changes */
export function setQuery(changes) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) value ? query.set(name, value) : query.delete(name);
  navigate(location.pathname + (query.size ? `?${query}` : ''), { replace: true });
}

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
  addEventListener('popstate', () => {
    if (mayLeave()) place.set(read());
    else history.pushState(null, '', shown);
  });
  document.addEventListener('click', (event) => {
    const link = /** @type {Element} */ (event.target).closest?.('a[href]');
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.target || link.hasAttribute('download')) return;
    if (link.origin !== location.origin || /^\/(public|docs|dashboard)(\/|$)/.test(link.pathname)) return;
    if (link.hash && link.pathname === location.pathname) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}
