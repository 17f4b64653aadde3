// What the service offers for an agent's fields: voices, models, carriers, tools, knowledge, transfer rules.
import { address, get } from '../lib/api.js';
import { useEffect, useState } from '../lib/ui.js';
import { options } from './agent-controls.js';

const MOST_PAGES = 10;
/** The link for calls of the caller's own, at which no calls are placed; so it is none of the services. */
const PLAIN = 'plain';

/** Whatever cannot be read is left out: then the field takes any text. @returns {import('./agent-fields.js').Choices} */
export function useChoices() {
  const [choices, setChoices] = useState(/** @type {import('./agent-fields.js').Choices} */ ({}));
  useEffect(() => {
    const controller = new AbortController(), { signal } = controller;
    const take = (/** @type {keyof typeof choices} */ name, /** @type {Promise<any[]>} */ options) => {
      options.then((found) => setChoices((/** @type {any} */ old) => ({ ...old, [name]: found })), () => {});
    };
    const entries = async (/** @type {string} */ path, /** @type {string} */ id) => (await all(path, signal))
      .map((row) => ({ value: row[id], label: row.name }));
    take('voices', get('/voices', { signal }).then(({ data }) => data.voices.map(voiceOption)));
    take('models', get('/models', { signal })
      .then(({ data }) => data.models.map((/** @type {any} */ { model, provider }) => ({ value: model, label: provider }))));
    take('carriers', get('/services', { signal }).then(({ data }) => options([...carriersOf(data), PLAIN])));
    take('tools', entries('/tools', 'toolId'));
    take('rules', entries('/transfer-rules', 'transferRuleId'));
    take('disclosures', fetch(new URL('../data/disclosures.txt', import.meta.url), { signal })
      .then((answer) => (answer.ok ? answer.text() : '')).then((table) => table.split('\n').map(disclosureOption)));
    const knowledge = Promise.all([entries('/knowledge-base/groups', 'groupId'), entries('/knowledge-base/documents', 'documentId')]);
    take('knowledge', knowledge.then((both) => both.flat()));
    return () => controller.abort();
  }, []);
  return choices;
}

/** The code of a language and its text. @param {string} line */
const disclosureOption = (line) => ({ value: line.split(' ', 1)[0], label: line.slice(line.indexOf(' ') + 1) });

/** @param {any} overview @returns {string[]} */
const carriersOf = ({ services }) => services.filter((/** @type {any} */ { kind }) => kind === 'carrier')
  .map((/** @type {any} */ { provider }) => provider);

/** @param {any} voice */
const voiceOption = ({ voiceId, name, provider, languages = [], previewUrl }) =>
  ({ value: voiceId, label: [name, provider, ...languages].join(' · '), sample: previewUrl && address('/voices/preview', { voiceId }) });

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
