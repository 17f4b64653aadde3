// Check of a file of contacts by the service, before anything is created.
import { html, useEffect, useState } from '../lib/ui.js';
import { ApiError, post } from '../lib/api.js';
import { sentence, t } from '../lib/i18n.js';
import { errorText } from './states.js';

/** @typedef {{ row: number, line: number, column: string | null, value: string | null, code: string, message?: string }} RowProblem */
/** @typedef {{ rows: RowProblem[], totalRows: number, validRows: number, invalidRows: number, truncated: boolean }} Report */
/**
 * @typedef {object} Answer
 * @property {string} phoneColumn
 * @property {string} [nameColumn]
 * @property {string} [emailColumn]
 * @property {string[]} headers
 * @property {string[][]} firstRows
 * @property {Report} report
 * @property {string[]} overrides
 * @property {{ message: string }[]} problems Cells that are too long.
 * @property {number} doNotCall
 * @property {{ line: number, phoneNumber: string }[]} doNotCallRows
 * @property {{ zones: string[], numbers: number }[]} timeZones
 * @property {string} [warning]
 */
/** @typedef {Record<string, string>} Fields Fields of the form beside the file. */
/** @typedef {{ file?: File, fields?: Fields, answer?: Answer, error?: any, busy?: boolean }} State `fields`: those that were answered. */

/**
 * Has the service check a file; nothing is saved.
 * @param {File | null} file @param {Fields} fields @param {string} [agentId] @returns {State & { again: () => void }}
 */
export function useServiceCheck(file, fields, agentId) {
  const [state, setState] = useState(/** @type {State} */ ({}));
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (!file) return;
    const aborted = new AbortController(), { signal } = aborted;
    // For another column or agent, the old answer stays until the new one is there, and with it the focus.
    setState((/** @type {State} */ old) => ({ ...(old.file === file ? old : { file }), busy: true }));
    post('/campaigns/csv/check', csvForm(agentId ? { ...fields, agentId } : fields, file), { signal }).then(
      ({ data, warning }) => setState({ file, fields, answer: { ...data, warning } }),
      (error) => signal.aborted || setState({ file, fields, error }),
    );
    return () => aborted.abort();
  }, [file, fields, agentId, tries]);
  return { ...(state.file === file ? state : {}), again: () => setTries((/** @type {number} */ n) => n + 1) };
}

/** The form of a file. @param {Record<string, any>} fields Empty values are left out. @param {File} file */
export function csvForm(fields, file) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined && value !== '') form.set(name, String(value));
  // The file comes last: the service knows everything else when it reads the rows.
  form.set('file', file);
  return form;
}

/** Whether the service refuses the file, rather than not answering. @param {any} error */
export const isRefusal = (error) => error instanceof ApiError && [400, 404, 413, 415].includes(error.status);

/** What is wrong, in the page's language where it knows the code, and in the service's words. @param {{ code: string, message?: string }} problem */
export const problemText = ({ code, message }, group = 'codes') => {
  const text = t(`contactsFile.${group}.${code}`, { fallback: '' });
  // Of a row the code says it all; of a file the service says more, such as what the file is instead.
  return html`${text} ${message && (!text || group === 'problems') && html`<span class=${text ? 'muted' : ''}>${sentence(message)}</span>`}`;
};

/** @param {{ check: State & { again: () => void } }} props */
export function ServiceCheck({ check: { answer, busy, error, again } }) {
  const refusals = isRefusal(error) ? (error.fields.length ? error.fields : [error]) : [];
  return html`<div role="status" class="stack">
      ${busy && html`<p class="muted">${t('contactsFile.checking')}</p>`}
      ${answer && !busy && (answer.doNotCall
        ? html`<p class="alert warn">${t('contactsFile.blocked', { n: answer.doNotCall })}</p>`
        : html`<p class="help note">${t('contactsFile.noneBlocked')}</p>`)}
      ${answer?.warning && html`<p class="alert warn">${sentence(answer.warning)}</p>`}
      ${answer && answer.problems.length > 0 && html`<p class="alert bad">${answer.problems.map(({ message }) => message).join('\n')}</p>`}
      ${refusals.map((/** @type {any} */ problem) => html`<p class="alert bad">${problemText(problem, 'problems')}</p>`)}
      ${error && refusals.length === 0 && html`<div class="alert warn"><span>${t('contactsFile.unchecked', { problem: errorText(error) })}</span>
        <button type="button" onClick=${again}>${t('contactsFile.checkAgain')}</button></div>`}
    </div>`;
}
