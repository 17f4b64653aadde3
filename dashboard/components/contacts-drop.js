// A file of contacts: dropped or chosen, and what the service reads in it: its columns, first rows and bad rows.
import { html, useEffect, useMemo, useRef, useState } from '../lib/ui.js';
import { number, t } from '../lib/i18n.js';
import { staticList } from '../lib/list.js';
import { Icon } from './icons.js';
import { ServiceCheck, isRefusal, problemText, useServiceCheck } from './service-check.js';
import { Table } from './table.js';

const ROLES = /** @type {const} */ (['phone', 'name', 'email']);
/** Headers that are chosen if the service recognises none and one of them is there. */
const GERMAN_PHONES = ['telefon', 'telefonnummer', 'handy', 'handynummer', 'rufnummer'];
/** A file of contacts with three simulated people. */
export const SAMPLE = new URL('../data/contacts.csv', import.meta.url).pathname;

/** @typedef {import('./service-check.js').Answer} Answer */
/** @typedef {import('./service-check.js').RowProblem} RowProblem */
/**
 * @typedef {{ file: File, fields: Record<string, string>, answer: Answer | undefined, isReady: boolean, usable: number }} Checked
 *   `fields`: how to read the file; `answer`: none if the service could not check it; `isReady`: nothing in it refuses an upload.
 */

/**
 * @param {object} props
 * @param {(checked: Checked | null) => void} props.onChecked
 * @param {import('./service-check.js').Report | null} [props.refused] Report of the service on the same file.
 * @param {string} [props.agentId] The agent that will call them.
 */
export function ContactsDrop({ onChecked, refused, agentId }) {
  const [file, setFile] = useState(/** @type {File | null} */ (null));
  const [chosen, setChosen] = useState(/** @type {Record<string, string>} */ ({}));
  const [leavesOut, setLeavesOut] = useState(false);
  const summary = useRef(/** @type {HTMLElement | null} */ (null));
  const fields = useMemo(() => ({ separator: 'auto', ...chosen, ...(leavesOut ? { skipInvalidRows: 'true' } : {}) }), [chosen, leavesOut]);
  const service = useServiceCheck(file, fields, agentId), { answer, error } = service;
  const report = answer?.report ?? refused, shown = answer ?? (isRefusal(error) && error.details?.headers ? error.details : null);
  const problems = (refused ?? answer?.report)?.rows ?? [], badRows = (refused ?? answer?.report)?.invalidRows ?? 0;
  const isLeftOut = !!answer && service.fields?.skipInvalidRows === 'true' && !refused;
  /** @type {Record<string, string>} */
  const columns = Object.fromEntries(ROLES.map((role) => [role, /** @type {any} */ (answer)?.[`${role}Column`] ?? chosen[`${role}Column`] ?? '']));
  useEffect(() => {
    const isUnchecked = !!error && !isRefusal(error);
    if (!file || !(answer || isUnchecked)) return onChecked(null);
    const isReady = isUnchecked || isLeftOut || (badRows === 0 && answer?.problems.length === 0);
    onChecked({ file, fields: service.fields ?? fields, answer, isReady, usable: answer ? answer.report.validRows - answer.doNotCall : 0 });
  }, [file, answer, error]);
  useEffect(() => {
    const german = (shown?.headers ?? []).filter((/** @type {string} */ header) => GERMAN_PHONES.includes(header.toLowerCase()));
    if (!answer && german.length === 1 && !chosen.phoneColumn) setChosen({ ...chosen, phoneColumn: german[0] });
  }, [error]);

  const take = (/** @type {File | undefined} */ next) => {
    if (!next) return;
    summary.current?.focus();
    setChosen({});
    setLeavesOut(false);
    setFile(next);
  };
  function leaveOut() {
    setLeavesOut(true);
    // The button that had the focus goes with the rows.
    summary.current?.focus();
  }
  const mayLeaveOut = !!report && report.validRows > 0 && !isLeftOut && (badRows > 0 || !!answer?.problems.length);
  return html`
    <${DropZone} file=${file} onFile=${take} />
    <div aria-live="polite" tabindex="-1" ref=${summary} class="stack">
      ${answer && html`<p class="row">
        <${Icon} name=${badRows && !isLeftOut ? 'warning' : 'check'} />
        <b>${t('contactsFile.rows', { n: isLeftOut ? answer.report.validRows : answer.report.totalRows })}</b>
        <span class=${badRows && !isLeftOut ? 'bad-text' : 'good-text'}>
          ${badRows && !isLeftOut ? t('contactsFile.bad', { n: badRows }) : t('contactsFile.allGood')}</span>
        ${isLeftOut && badRows > 0 && html`<span class="muted">${t('contactsFile.leftOut', { n: badRows })}</span>`}</p>`}
    </div>
    ${file && html`<${ServiceCheck} check=${service} />`}
    ${shown && html`
      <${Columns} headers=${shown.headers} columns=${columns} overrides=${answer?.overrides ?? []}
        onChange=${(/** @type {string} */ role, /** @type {string} */ header) => setChosen({ ...chosen, [`${role}Column`]: header })} />
      <${FirstRows} headers=${shown.headers} rows=${shown.firstRows} columns=${columns} />`}
    ${(mayLeaveOut || (problems.length > 0 && !isLeftOut)) && html`<section class="stack" aria-labelledby="bad-rows">
      <div class="head"><h3 id="bad-rows">${t('contactsFile.badRows')}</h3>
        ${mayLeaveOut && html`<button type="button" onClick=${leaveOut}>
          ${t('contactsFile.leaveOut', { n: badRows || answer?.problems.length || 0 })}</button>`}</div>
      ${problems.length > 0 && html`<${ProblemTable} label=${t('contactsFile.badRows')} problems=${problems} key=${file?.size} />`}
      ${report?.truncated && html`<p class="muted">${t('contactsFile.truncated')}</p>`}</section>`}
    ${!!answer?.doNotCallRows.length && html`<${ProblemTable} label=${t('contactsFile.blockedRows')}
      problems=${answer.doNotCallRows.map(({ line, phoneNumber }) =>
        ({ row: line, line, column: answer.phoneColumn, value: phoneNumber, code: 'do_not_call' }))} />`}`;
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
    ${!file && html`<p class="help">${t('contactsFile.format')}${' '}
      <a href=${SAMPLE} download="contacts.csv">${t('firstSteps.sample')}</a></p>`}
  </div>`;
}

/**
 * @param {{ headers: string[], columns: Record<string, string>, overrides: string[], onChange: (role: string, header: string) => void }} props
 */
function Columns({ headers, columns, overrides, onChange }) {
  const others = headers.filter((header) => !Object.values(columns).includes(header) && !overrides.includes(header));
  return html`<fieldset class="field"><legend>${t('contactsFile.columns')}</legend><div class="columns">
    ${ROLES.map((role) => html`<div key=${role}><label for=${`column-${role}`}>${t(`contactsFile.${role}`)}</label>
      <select id=${`column-${role}`} onChange=${(/** @type {any} */ event) => onChange(role, event.target.value)}>
        <option value="" selected=${!columns[role]}>${t(role === 'phone' ? 'contactsFile.pick' : 'contactsFile.noColumn')}</option>
        ${headers.map((header) => html`<option value=${header} selected=${header === columns[role]}>${header}</option>`)}
      </select></div>`)}
  </div>${others.length > 0 && html`<p class="help">${t('contactsFile.others', { list: others.slice(0, 12).join(', ') })}</p>`}
    ${overrides.length > 0 && html`<p class="help">${t('contactsFile.overrides', { list: overrides.join(', ') })}</p>`}</fieldset>`;
}

/** @param {{ headers: string[], rows: string[][], columns: Record<string, string> }} props */
function FirstRows({ headers, rows, columns }) {
  const roleOf = (/** @type {string} */ header) => ROLES.find((role) => header && columns[role] === header);
  return html`<div class="table-box short" tabindex="0" role="group" aria-label=${t('contactsFile.firstRows')}><table>
    <thead><tr>${headers.map((header) =>
      html`<th scope="col">${header}${roleOf(header) && html` <span class="tag">${t(`contactsFile.${roleOf(header)}`)}</span>`}</th>`)}</tr></thead>
    <tbody>${rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

/** @param {{ label: string, problems: RowProblem[] }} props */
function ProblemTable({ label, problems }) {
  const columns = [
    { key: 'line', label: t('contactsFile.line'), render: (/** @type {any} */ p) => html`<span class="numeric">${number(p.line)}</span>` },
    { key: 'column', label: t('contactsFile.column'), render: (/** @type {any} */ p) => p.column ?? '–' },
    { key: 'value', label: t('contactsFile.value'), render: (/** @type {any} */ p) => html`<code>${p.value ?? '–'}</code>` },
    { key: 'reason', label: t('contactsFile.reason'), wide: true,
      render: problemText },
  ];
  return html`<${Table} short=${true} label=${label} columns=${columns} list=${staticList(problems)}
    rowKey=${(/** @type {any} */ p) => `${p.row} ${p.column} ${p.code}`} />`;
}
