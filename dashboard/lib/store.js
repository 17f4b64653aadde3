import { useEffect, useState } from './ui.js';

/**
 * A value that components and plain code share.
 * @template T
 * @param {T} initial
 */
export function createStore(initial) {
  let value = initial;
  /** @type {Set<(value: T) => void>} */
  const listeners = new Set();
  return {
    get: () => value,
    /** @param {T} next */
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    /** @param {(value: T) => void} listener */
    subscribe(listener) {
      listeners.add(listener);
      return () => { listeners.delete(listener); };
    },
  };
}

/**
 * The store's value; the component renders again when it changes.
 * @template T
 * @param {{ get: () => T, subscribe: (listener: (value: T) => void) => () => void }} store
 * @returns {T}
 */
export function useStore(store) {
  const [, render] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    render({});
    return store.subscribe(() => render({}));
  }, [store]);
  return store.get();
}
