// A file of contacts: dropped or chosen, its columns recognised, its first rows and every bad one shown.
import { html, useEffect, useRef, useState } from '../lib/ui.js';
import { check, withCommas, withoutRows } from '../lib/contacts-file.js';
import { FileProblem } from '../lib/csv.js';
import { number, t } from '../lib/i18n.js';
import { staticList } from '../lib/list.js';
import { Icon } from './icons.js';
import { ServiceCheck, useServiceCheck } from './service-check.js';
import { Table } from './table.js';

const ROLES = /** @type {const} */ (['phone', 'name', 'email']);
/** A file of contacts with three simulated people. */
export const SAMPLE = new URL('../data/contacts.csv', import.meta.url).pathname;

/** @typedef {{ file: File, report: import('../lib/contacts-file.js').Report, badRows: number, blocked: number }} Checked `blocked`: on the do-not-call list. */

/** @typedef {{ file?: File, report?: import('../lib/contacts-file.js').Report, problem?: FileProblem, rows?: number }} State `rows`: read so far. */

/**
 * @param {object} props
 * @param {(checked: Checked | null) => void} props.onChecked
 * @param {{ rows: import('../lib/contacts-file.js').RowProblem[], invalidRows: number } | null} [props.refused] Report of the service on the same file.
 * @param {string} [props.agentId] The agent that will call them.
 */
export function ContactsDrop({ onChecked, refused, agentId }) {
  const [file, setFile] = useState(/** @type {File | null} */ (null));
  const [chosen, setChosen] = useState(/** @type {Partial<Record<'phone' | 'name' | 'email', string>>} */ ({}));
  const [state, setState] = useState(/** @type {State} */ ({}));
  const summary = useRef(/** @type {HTMLElement | null} */ (null));

  useEffect(() => {
    if (!file) return;
    const aborted = new AbortController();
    // While only a column changed, the old report stays, and with it the focus.
    setState((/** @type {State} */ old) => ({ file, rows: 0, report: old.file === file ? old.report : undefined }));
    const onProgress = (/** @type {number} */ rows) => setState((/** @type {State} */ old) => ({ ...old, rows }));
    check(file, chosen, onProgress, aborted.signal).then((report) => setState({ file, report })).catch((error) => {
      if (aborted.signal.aborted) return;
      setState({ problem: error instanceof FileProblem ? error : new FileProblem('unreadable') });
    });
    return () => aborted.abort();
  }, [file, chosen]);
  const report = state.rows === undefined && state.file === file ? state.report : undefined;
  const service = useServiceCheck(file, report, agentId), found = refused ?? service.answer?.report;
  const problems = found?.rows ?? state.report?.problems ?? [], badRows = found?.invalidRows ?? state.report?.badRows ?? 0;
  useEffect(() => {
    onChecked(file && report ? { file, report, badRows: service.answer?.report.invalidRows ?? report.badRows, blocked: service.answer?.doNotCall ?? 0 } : null);
  }, [report, service.answer]);

  const take = async (/** @type {File | undefined} */ next) => {
    if (!next) return;
    summary.current?.focus();
    // What is wrong with the file is said when it is checked.
    const readable = await withCommas(next).catch(() => next);
    setChosen({});
    setFile(readable);
  };
  async function leaveOut() {
    if (!file) return;
    setFile(await withoutRows(file, new Set(problems.map(({ row }) => row))));
    // The button that had the focus goes with the rows.
    summary.current?.focus();
  }
  return html`
    <${DropZone} file=${file} onFile=${take} />
    <div aria-live="polite" tabindex="-1" ref=${summary} class="stack">
      ${state.rows !== undefined && html`<p class="muted">${t('contactsFile.reading', { n: state.rows })}</p>`}
      ${state.problem && html`<p class="alert bad">${t(`contactsFile.problems.${state.problem.code}`, { line: state.problem.line ?? 1 })}</p>`}
      ${state.report && html`<p class="row">
        <${Icon} name=${badRows || !state.report.columns.phone ? 'warning' : 'check'} /><b>${t('contactsFile.rows', { n: state.report.total })}</b>
        ${(badRows > 0 || state.report.columns.phone) && html`
          <span class=${badRows ? 'bad-text' : 'good-text'}>${badRows ? t('contactsFile.bad', { n: badRows }) : t('contactsFile.allGood')}</span>`}</p>`}
    </div>
    ${state.report && html`
      <${Columns} report=${state.report} overrides=${service.answer?.overrides ?? []}
        onChange=${(/** @type {string} */ role, /** @type {string} */ header) => setChosen({ ...state.report?.columns, ...chosen, [role]: header })} />
      ${!state.report.columns.phone && html`<p class="alert warn">${t('contactsFile.problems.missing_phone_column')}</p>`}
      <${FirstRows} report=${state.report} />
      ${problems.length > 0 && html`<section class="stack" aria-labelledby="bad-rows">
        <div class="head"><h3 id="bad-rows">${t('contactsFile.badRows')}</h3>
          ${badRows < state.report.total && problems.length < 1000
            && html`<button type="button" onClick=${leaveOut}>${t('contactsFile.leaveOut', { n: badRows })}</button>`}</div>
        <${ProblemTable} label=${t('contactsFile.badRows')} problems=${problems} key=${file?.size} />
        ${problems.length >= 1000 && html`<p class="muted">${t('contactsFile.truncated')}</p>`}</section>`}
      <${ServiceCheck} check=${service} />
      ${!!service.blocked?.length && html`<${ProblemTable} label=${t('contactsFile.blockedRows')} problems=${service.blocked} />`}`}`;
}

/** @param {{ file: File | null, onFile: (file: File | undefined) => void }} props */
function DropZone({ file, onFile }) {
  const [over, setOver] = useState(false);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const on = {
    onDragOver: (/** @type {DragEvent} */ event) => { event.preventDefault(); setOver(true); },
    onDragLeave: () => setOver(false),
    onDrop: (/** @type {DragEvent} */ event) => { event.preventDefault(); setOver(false); onFile(event.dataTransfer?.files[0]); },
  };
  return html`<div class=${`drop${over ? ' over' : ''}${file ? ' filled' : ''}`} ...${on}>
    <${Icon} name="upload" />
    <p>${file ? html`<b>${file.name}</b>` : t('contactsFile.drop')}</p>
    <button type="button" onClick=${() => input.current?.click()}>${file ? t('contactsFile.other') : t('contactsFile.choose')}</button>
    <input ref=${input} class="hidden" type="file" accept=".csv,text/csv" tabindex="-1" aria-label=${t('contactsFile.choose')}
      onChange=${(/** @type {any} */ event) => { onFile(event.target.files[0]); event.target.value = ''; }} />
    ${!file && html`<p class="help">${t('contactsFile.format')}
      <a href=${SAMPLE} download="contacts.csv">${t('firstSteps.sample')}</a></p>`}
  </div>`;
}

/** @param {{ report: import('../lib/contacts-file.js').Report, overrides: string[], onChange: (role: string, header: string) => void }} props */
function Columns({ report, overrides, onChange }) {
  const others = report.headers.filter((header) => !Object.values(report.columns).includes(header) && !overrides.includes(header));
  return html`<fieldset class="field"><legend>${t('contactsFile.columns')}</legend><div class="columns">
    ${ROLES.map((role) => html`<div key=${role}><label for=${`column-${role}`}>${t(`contactsFile.${role}`)}</label>
      <select id=${`column-${role}`} onChange=${(/** @type {any} */ event) => onChange(role, event.target.value)}>
        <option value="">${t(role === 'phone' ? 'contactsFile.pick' : 'contactsFile.noColumn')}</option>
        ${report.headers.map((header) => html`<option value=${header} selected=${header === report.columns[role]}>${header}</option>`)}
      </select></div>`)}
  </div>${others.length > 0 && html`<p class="help">${t('contactsFile.others', { list: others.slice(0, 12).join(', ') })}</p>`}
    ${overrides.length > 0 && html`<p class="help">${t('contactsFile.overrides', { list: overrides.join(', ') })}</p>`}</fieldset>`;
}

/** @param {{ report: import('../lib/contacts-file.js').Report }} props */
function FirstRows({ report }) {
  const roleOf = (/** @type {string} */ header) => ROLES.find((role) => report.columns[role] === header);
  return html`<div class="table-box short" tabindex="0" role="group" aria-label=${t('contactsFile.firstRows')}><table>
    <thead><tr>${report.headers.map((header) =>
      html`<th scope="col">${header}${roleOf(header) && html` <span class="tag">${t(`contactsFile.${roleOf(header)}`)}</span>`}</th>`)}</tr></thead>
    <tbody>${report.first.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

/** @param {{ label: string, problems: import('../lib/contacts-file.js').RowProblem[] }} props */
function ProblemTable({ label, problems }) {
  const columns = [
    { key: 'line', label: t('contactsFile.line'), render: (/** @type {any} */ p) => html`<span class="numeric">${number(p.line)}</span>` },
    { key: 'column', label: t('contactsFile.column'), render: (/** @type {any} */ p) => p.column ?? '–' },
    { key: 'value', label: t('contactsFile.value'), render: (/** @type {any} */ p) => html`<code>${p.value ?? '–'}</code>` },
    { key: 'reason', label: t('contactsFile.reason'), wide: true,
      render: (/** @type {any} */ p) => t(`contactsFile.codes.${p.code}`, { fallback: p.message ?? p.code }) },
  ];
  return html`<${Table} short=${true} label=${label} columns=${columns} list=${staticList(problems)}
    rowKey=${(/** @type {any} */ p) => `${p.row} ${p.column} ${p.code}`} />`;
}
