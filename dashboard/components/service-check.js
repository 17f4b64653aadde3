// What only the service can tell about a file of contacts: the do-not-call list, safeguards, the agent's rules.
import { html, useEffect, useState } from '../lib/ui.js';
import { ApiError, get, post } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { errorText } from './states.js';

/** Entries of the do-not-call list that are compared to tell which rows they are. */
const MAX_COMPARED = 20_000;

/** @typedef {import('../lib/contacts-file.js').Report} Report */
/** @typedef {import('../lib/contacts-file.js').RowProblem} RowProblem */
/**
 * @typedef {{ report: { rows: RowProblem[], invalidRows: number }, overrides: string[], problems: { message: string }[],
 *   doNotCall: number, warning?: string }} Answer `problems` are of whole cells.
 */
/** @typedef {{ file?: File, answer?: Answer, blocked?: RowProblem[], error?: any, busy?: boolean }} State `blocked`: rows on the do-not-call list. */

/**
 * Has the service check a file; nothing is saved.
 * @param {File | null} file @param {Report | undefined} report The browser's own, once it is there. @param {string} [agentId]
 * @returns {State & { again: () => void }}
 */
export function useServiceCheck(file, report, agentId) {
  const [state, setState] = useState(/** @type {State} */ ({}));
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (!file || !report?.columns.phone) return setState({});
    const aborted = new AbortController();
    // For another agent, the old answer stays until the new one is there.
    setState((/** @type {State} */ old) => ({ ...(old.file === file ? old : { file }), error: undefined, busy: true }));
    ask(file, report, agentId, aborted.signal).then(
      (answer) => setState({ file, ...answer }),
      (error) => aborted.signal.aborted || setState({ file, error }),
    );
    return () => aborted.abort();
  }, [file, report, agentId, tries]);
  return { ...(state.file === file ? state : {}), again: () => setTries((/** @type {number} */ n) => n + 1) };
}

/** @param {File} file @param {Report} report @param {string | undefined} agentId @param {AbortSignal} signal @returns {Promise<State>} */
async function ask(file, { columns, numbers }, agentId, signal) {
  const form = new FormData();
  for (const [role, header] of Object.entries(columns)) if (header) form.set(`${role}Column`, header);
  if (agentId) form.set('agentId', agentId);
  form.set('file', file);
  const { data, warning } = await post('/campaigns/csv/check', form, { signal });
  const blocked = data.doNotCall ? await findBlocked(numbers, columns.phone, data.doNotCall, signal) : [];
  return { answer: { ...data, warning }, blocked };
}

/**
 * The rows that are on the do-not-call list, as the service only counts them.
 * @param {Map<string, number>} numbers @param {string} column @param {number} count @param {AbortSignal} signal @returns {Promise<RowProblem[]>}
 */
async function findBlocked(numbers, column, count, signal) {
  /** @type {RowProblem[]} */
  const found = [];
  /** @type {string | undefined} */
  let cursor;
  for (let read = 0; read < MAX_COMPARED && found.length < count; read += 100) {
    const { data, pagination } = await get('/do-not-call', { query: { pageSize: 100, cursor }, signal });
    for (const { phoneNumber } of data) {
      const line = numbers.get(phoneNumber);
      if (line) found.push({ row: line, line, column, value: phoneNumber, code: 'do_not_call' });
    }
    cursor = pagination?.nextCursor;
    if (!cursor) break;
  }
  return found.sort((a, b) => a.line - b.line);
}

/** @param {{ check: State & { again: () => void } }} props */
export function ServiceCheck({ check: { answer, busy, error, again } }) {
  const refusals = error instanceof ApiError ? error.fields.map(({ message }) => message) : [];
  return html`<div role="status" class="stack">
      ${busy && html`<p class="muted">${t('contactsFile.checking')}</p>`}
      ${answer && !busy && (answer.doNotCall
        ? html`<p class="alert warn">${t('contactsFile.blocked', { n: answer.doNotCall })}</p>`
        : html`<p class="help note">${t('contactsFile.noneBlocked')}</p>`)}
      ${answer?.warning && html`<p class="alert warn">${answer.warning}</p>`}
      ${answer && answer.problems.length > 0 && html`<p class="alert bad">${answer.problems.map(({ message }) => message).join('\n')}</p>`}
      ${refusals.length > 0 && html`<p class="alert bad">${refusals.join('\n')}</p>`}
      ${error && refusals.length === 0 && html`<div class="alert warn"><span>${t('contactsFile.unchecked', { problem: errorText(error) })}</span>
        <button type="button" onClick=${again}>${t('contactsFile.checkAgain')}</button></div>`}
    </div>`;
}
