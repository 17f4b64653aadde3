// Names of agents and campaigns by their ids: those of the newest are read together, others one by one.
import { get } from './api.js';
import { useEffect, useState } from './ui.js';

/** @type {Map<string, Promise<any>>} */
const answers = new Map();
/** What the API has at a path, read once; null if it cannot be read. @param {string} path @param {Record<string, any>} [query] @returns {Promise<any>} */
function once(path, query) {
  const known = answers.get(path);
  if (known) return known;
  const answer = get(path, { query }).then(({ data }) => data, () => { answers.delete(path); return null; });
  answers.set(path, answer);
  return answer;
}

/** @param {{ path: string, key: string }} from @param {string} id @returns {Promise<string | null>} */
export async function readName({ path, key }, id) {
  const row = (await once(path, { pageSize: 100 }))?.find((/** @type {any} */ each) => each[key] === id);
  return (row ?? await once(`${path}/${id}`))?.name ?? null;
}

/**
 * The name of an agent or a campaign; undefined until it is read, null if it is gone.
 * @param {{ path: string, key: string }} from @param {string | undefined} id @returns {string | null | undefined}
 */
export function useName(from, id) {
  const [found, setFound] = useState(/** @type {{ id: string, name: string | null } | null} */ (null));
  useEffect(() => {
    let isLate = false;
    if (id) readName(from, id).then((name) => isLate || setFound({ id, name }));
    return () => { isLate = true; };
  }, [from.path, id]);
  return found && found.id === id ? found.name : undefined;
}
