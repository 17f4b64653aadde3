// Objects of the API: values by path, patches made and applied, differences.

export const isObject = (/** @type {any} */ value) => value !== null && typeof value === 'object' && !Array.isArray(value);
export const same = (/** @type {any} */ a, /** @type {any} */ b) => JSON.stringify(a) === JSON.stringify(b);

/** The value at a path such as `conversationConfig.turn`. @param {any} object @param {string} path */
export const at = (object, path) => path.split('.').reduce((value, name) => value?.[name], object);

/** Sets the value at a path. @param {any} object @param {string} path @param {any} value */
export function put(object, path, value) {
  const names = path.split('.'), last = /** @type {string} */ (names.pop());
  for (const name of names) object = object[name] ??= {};
  object[last] = value;
}

/** @param {any} target @param {any} patch @returns {any} */
export function applyPatch(target, patch) {
  if (!isObject(patch)) return patch;
  const result = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = applyPatch(result[name], value);
  }
  return result;
}

/**
 * The JSON merge patch (RFC 7396) that turns `before` into `after`; what `after` lacks is `null`.
 * @param {Record<string, any>} before @param {Record<string, any>} after @returns {Record<string, any>}
 */
export function mergePatch(before, after) {
  /** @type {Record<string, any>} */
  const changes = Object.create(null);
  for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) changes[name] = null;
  for (const [name, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    if (same(old, value)) continue;
    changes[name] = isObject(old) && isObject(value) ? mergePatch(old, value) : value;
  }
  return changes;
}

/** @typedef {{ path: string, old?: any, new?: any }} Difference As the API describes it. */

/** The fields that differ; a list is one field. @param {any} old @param {any} next @param {string} [path] @returns {Difference[]} */
export function differences(old, next, path = '') {
  if (!isObject(old) || !isObject(next)) return same(old, next) ? [] : [{ path, old, new: next }];
  const names = new Set([...Object.keys(old), ...Object.keys(next)]);
  return [...names].flatMap((name) => differences(old[name], next[name], path ? `${path}.${name}` : name));
}
