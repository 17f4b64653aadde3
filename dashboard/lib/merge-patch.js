const isObject = (/** @type {any} */ value) => value !== null && typeof value === 'object' && !Array.isArray(value);

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
    if (JSON.stringify(old) === JSON.stringify(value)) continue;
    changes[name] = isObject(old) && isObject(value) ? mergePatch(old, value) : value;
  }
  return changes;
}
