// A list of small objects, edited row by row. What a row has beyond its columns stays.
import { html, useMemo, useRef } from '../lib/ui.js';
import { t } from '../lib/i18n.js';
import { at, put } from '../lib/merge.js';
import { Picker } from './picker.js';

/**
 * @typedef {object} RowColumn
 * @property {string} path In the row.
 * @property {string} label
 * @property {'text' | 'number' | 'checkbox' | 'list'} [type] A `list` is written with commas; the API may keep something else there.
 * @property {{ value: string, label: string }[]} [options]
 * @property {import('./picker.js').Source} [from] The value is the id of one of these.
 * @property {string} [placeholder]
 * @property {boolean} [wide]
 */

let cells = 0;

/** @param {{ columns: RowColumn[], value?: any[], onChange: (rows: any[]) => void }} props */
export function Rows({ columns, value: rows = [], onChange }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  /** The first control of the last element found, or that element itself. @param {string} selector */
  const focus = (selector) => requestAnimationFrame(() => {
    const last = /** @type {HTMLElement | undefined} */ ([...box.current?.querySelectorAll(selector) ?? []].at(-1));
    (/** @type {HTMLElement | null | undefined} */ (last?.querySelector('input, select')) ?? last)?.focus();
  });
  function set(/** @type {number} */ nth, /** @type {string} */ path, /** @type {any} */ value) {
    const row = structuredClone(rows[nth]);
    put(row, path, value === '' ? undefined : value);
    onChange(rows.map((each, n) => (n === nth ? row : each)));
  }
  function add() {
    onChange([...rows, {}]);
    focus('.row-fields');
  }
  function remove(/** @type {number} */ nth) {
    onChange(rows.filter((_, n) => n !== nth));
    focus('button');
  }
  return html`<div class="rows" ref=${box}>
    ${rows.map((row, nth) => html`<div key=${nth} class="row-fields" role="group" aria-label=${t('form.row', { n: nth + 1 })}>
      ${columns.map((column) => html`<${Cell} key=${column.path} column=${column} value=${at(row, column.path)}
        onChange=${(/** @type {any} */ value) => set(nth, column.path, value)} />`)}
      <button type="button" class="small" aria-label=${t('form.removeRow', { n: nth + 1 })} onClick=${() => remove(nth)}>${t('form.remove')}</button></div>`)}
    <button type="button" class="small" onClick=${add}>${t('form.add')}</button>
  </div>`;
}

/** @param {{ column: RowColumn, value: any, onChange: (value: any) => void }} props */
function Cell({ column: { label, type = 'text', options, from, placeholder, wide }, value, onChange }) {
  const id = useMemo(() => `cell-${++cells}`, []);
  if (from) return html`<div class="cell"><label for=${id}>${label}</label><${Picker} id=${id} from=${from} value=${value} onChange=${onChange} /></div>`;
  const typed = (/** @type {any} */ event) => onChange(event.target.value);
  if (type === 'checkbox') {
    return html`<label class="check">
      <input type="checkbox" checked=${!!value} onChange=${(/** @type {any} */ event) => onChange(event.target.checked)} />${label}</label>`;
  }
  const shared = { autocomplete: 'off', placeholder };
  let control;
  if (options) {
    const isKnown = value === undefined || options.some((option) => option.value === value);
    const all = isKnown ? options : [...options, { value, label: String(value) }];
    control = html`<select onChange=${typed}><option value="" selected=${!value}></option>
      ${all.map((option) => html`<option value=${option.value} selected=${option.value === value}>${option.label}</option>`)}</select>`;
  } else if (type === 'list') {
    control = html`<input ...${shared} value=${[value ?? []].flat().join(', ')}
      onChange=${(/** @type {any} */ event) => onChange(splitList(event.target.value))} />`;
  } else if (type === 'number') {
    control = html`<input ...${shared} type="number" step="any" value=${value ?? ''}
      onInput=${(/** @type {any} */ { target }) => onChange(target.value === '' ? '' : target.valueAsNumber)} />`;
  } else control = html`<input ...${shared} value=${value ?? ''} onInput=${typed} />`;
  return html`<label class=${wide ? 'wide' : null}><span>${label}</span>${control}</label>`;
}

/** @param {string} text */
function splitList(text) {
  const entries = text.split(',').map((entry) => entry.trim()).filter(Boolean);
  return entries.length ? entries : undefined;
}
