// What the service offers for an agent's fields: voices, models, tools, knowledge, transfer rules.
import { get } from '../lib/api.js';
import { useEffect, useState } from '../lib/ui.js';

const MOST_PAGES = 10;

/** Whatever cannot be read is left out: then the field takes any text. @returns {import('./agent-fields.js').Choices} */
export function useChoices() {
  const [choices, setChoices] = useState(/** @type {import('./agent-fields.js').Choices} */ ({}));
  useEffect(() => {
    const controller = new AbortController(), { signal } = controller;
    const take = (/** @type {keyof typeof choices} */ name, /** @type {Promise<any[]>} */ options) => {
      options.then((found) => setChoices((/** @type {any} */ old) => ({ ...old, [name]: found })), () => {});
    };
    const entries = (/** @type {string} */ path, /** @type {string} */ id) => all(path, signal).then((rows) => rows.map((row) => ({ value: row[id], label: row.name })));
    take('voices', get('/voices', { signal }).then(({ data }) => data.voices.map((/** @type {any} */ v) => ({ value: v.voiceId, label: [v.name, v.provider, ...(v.languages ?? [])].join(' · ') }))));
    take('models', get('/models', { signal }).then(({ data }) => data.models.map((/** @type {any} */ m) => ({ value: m.model, label: m.provider }))));
    take('tools', entries('/tools', 'toolId'));
    take('agents', entries('/agents', 'agentId'));
    take('rules', entries('/transfer-rules', 'transferRuleId'));
    take('knowledge', Promise.all([entries('/knowledge-base/groups', 'groupId'), entries('/knowledge-base/documents', 'documentId')]).then((both) => both.flat()));
    return () => controller.abort();
  }, []);
  return choices;
}

/** The rows of all pages. @param {string} path @param {AbortSignal} signal */
async function all(path, signal) {
  /** @type {any[]} */
  const rows = [];
  let cursor;
  for (let page = 0; page < MOST_PAGES; page++) {
    const { data, pagination } = await get(path, { query: { pageSize: 100, cursor }, signal });
    rows.push(...data);
    cursor = pagination?.nextCursor;
    if (!cursor) break;
  }
  return rows;
}
