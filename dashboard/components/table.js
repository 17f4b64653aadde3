// The one table: rows of a `List` (lib/data.js), only those in sight in the document, more read while scrolling.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/ui.js';
import { csvOf, download } from '../lib/csv.js';
import { t } from '../lib/i18n.js';
import { presentEntry, setQuery, useQuery } from '../lib/router.js';
import { columnsKey, orderOf, orderQuery, sorted, sorterOf } from '../lib/rows.js';
import { Menu } from './menu.js';
import { Failure } from './states.js';

const ROW = 44, AHEAD = 10, GROWS = 60;

/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} label
 * @property {(row: any) => any} render
 * @property {'end'} [align]
 * @property {boolean} [wide] Takes the room that is left.
 * @property {boolean} [optional] Hidden until chosen.
 * @property {(row: any) => number | string | undefined} [value] By which rows that are all there can be sorted.
 * @property {(row: any) => any} [cell] In a file: a text or a number, or a promise of it.
 * @property {string} [unit] Of its numbers in a file.
 * @property {string} [sort] By which the API sorts them.
 */

/** @typedef {import('../lib/rows.js').Order} Order */

/**
 * @param {object} props
 * @param {string} props.label Name of the table, for screen readers.
 * @param {import('../lib/data.js').List} props.list
 * @param {Column[]} props.columns The first one names the row and holds its link.
 * @param {(row: any) => string} props.rowKey
 * @param {(row: any) => string} [props.href] Where the row leads.
 * @param {(row: any) => void} [props.onOpen] What the row's name opens where it leads nowhere.
 * @param {any} [props.empty] Shown without rows.
 * @param {any} [props.filters] Shown above, left of the choice of columns.
 * @param {boolean} [props.short] Grows with its rows, up to 60 of them; longer ones show 10.
 * @param {{ name: string, total: any }} [props.file] All rows with the shown columns can be saved under that name, with the total as the last one.
 * @param {Order} [props.order] The usual one; the address has another. Without it nothing can be sorted.
 */
export function Table({ label, list, columns, rowKey, href, onOpen, empty, filters, short, file, order: usual }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [sight, setSight] = useState(() => around(list));
  const [current, setCurrent] = useState(list.place.row);
  const [shown, setShown] = useColumns(columnsKey(list.path, label), columns);
  const query = useQuery(), order = usual && orderOf(query, columns, usual);
  const visible = columns.filter((column, at) => at === 0 || shown.includes(column.key));
  const value = order && columns.find((column) => sorterOf(column) === order.key)?.value;
  const rows = useMemo(() => (value ? sorted(list.rows, value, order.isDown) : list.rows), [list.rows, order?.key, order?.isDown, !value]);

  function measure() {
    const element = box.current;
    if (!element) return;
    const from = Math.max(0, Math.floor(element.scrollTop / ROW) - AHEAD);
    const to = Math.ceil((element.scrollTop + element.clientHeight) / ROW) + AHEAD;
    list.sight = { from, to };
    list.place.top = element.scrollTop;
    setSight((old) => (old.from === from && old.to === to ? old : { from, to }));
    if (to + 30 > rows.length && list.hasMore && !list.loading && !list.error) list.more();
  }
  useLayoutEffect(() => {
    const { place } = list, element = box.current;
    setCurrent(place.row);
    if (!element) return;
    element.scrollTop = place.top;
    if (!place.isOpened) return;
    // Back from the row that was opened, or from one after it.
    place.isOpened = false;
    const top = place.row * ROW;
    if (top < place.top || top + 2 * ROW > place.top + element.clientHeight) element.scrollTop = top - element.clientHeight / 2;
    /** @type {HTMLElement | null} */ (element.querySelector('[data-current]'))?.focus();
  }, [list.key]);
  useEffect(measure, [rows.length, list.loading]);

  /** @param {MouseEvent} event */
  function onClick(event) {
    const link = /** @type {Element} */ (event.target).closest('tbody th a');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    Object.assign(list.place, { row: Number(link.closest('tr')?.getAttribute('aria-rowindex')) - 2, href, isOpened: true });
    presentEntry().opened = list;
  }

  /** @param {KeyboardEvent} event */
  function onKeyDown(event) {
    const steps = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: 10, PageUp: -10, Home: -rows.length,
      End: rows.length });
    const target = /** @type {HTMLElement} */ (event.target);
    if (!(event.key in steps) || !target.closest('tbody') || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(rows.length - 1, current + steps[event.key]));
    setCurrent(next);
    const element = box.current;
    if (!element) return;
    const top = next * ROW;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + 2 * ROW > element.scrollTop + element.clientHeight) element.scrollTop = top + 2 * ROW - element.clientHeight;
    measure();
    requestAnimationFrame(() => requestAnimationFrame(() => {
      /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector('[data-current]'))?.focus();
    }));
  }

  async function save(/** @type {string} */ name, /** @type {any} */ total) {
    const cells = (/** @type {any} */ row) => Promise.all(visible.map(({ cell }) => cell?.(row))), [lines, [, ...sums]] =
      await Promise.all([Promise.all(rows.map(cells)), cells(total)]);
    const head = visible.map(({ label, unit }) => (unit ? `${label} (${unit})` : label));
    download(name, 'text/csv;charset=utf-8', csvOf([head, ...lines, [t('common.total'), ...sums]]));
  }

  const from = Math.min(sight.from, rows.length), to = Math.min(sight.to, rows.length);
  // One row is a stop of the Tab key; the arrow keys move it.
  const stop = Math.max(from, Math.min(current, to - 1));
  const gap = (/** @type {string} */ key, /** @type {number} */ count) => count > 0
    && html`<tr key=${key} aria-hidden="true" class="gap"><td colspan=${visible.length} style=${{ height: `${count * ROW}px` }}></td></tr>`;
  return html`
    ${(filters || columns.some((column) => column.optional)) && html`<div class="table-tools">
      <div class="filters">${filters}</div>
      <${ColumnChoice} columns=${columns} shown=${shown} onChange=${setShown} />
      ${file && rows.length > 0 && html`<button onClick=${() => save(file.name, file.total)}>${t('calls.export')}</button>`}
    </div>`}
    ${list.error && html`<${Failure} error=${list.error} onRetry=${() => list.more()} />`}
    ${rows.length === 0 && !list.hasMore && !list.error ? html`<div class="empty">${empty ?? t('common.nothing')}</div>` : html`
    <div class=${`table-box${!short ? '' : list.hasMore || rows.length > GROWS ? ' short' : ' short whole'}`}
      ref=${box} onScroll=${measure} onKeyDown=${onKeyDown} onClick=${onClick} onMouseOver=${sayWhole} tabindex="0" role="group"
      aria-label=${label} aria-busy=${list.loading}>
      <table aria-rowcount=${list.hasMore ? -1 : rows.length + 1} aria-label=${label}>
        <thead><tr aria-rowindex="1">${visible.map((column) => html`<${ColumnHead} column=${column}
          order=${order} onOrder=${(/** @type {Order} */ next) => usual && setQuery(orderQuery(next, usual))} />`)}</tr></thead>
        <tbody>${/* One array: the vendored Preact misplaces what follows an array that shrinks while the element before it goes. */ [
          gap('above', from),
          ...rows.slice(from, to).map((row, at) => {
            const index = from + at, link = href?.(row);
            return html`<tr key=${rowKey(row)} aria-rowindex=${index + 2} class=${link || onOpen ? 'opens' : null} onClick=${link || onOpen ? openRow : null}>
              ${visible.map((column, nth) => {
                const content = column.render(row);
                const roving = { 'data-current': index === stop || null, tabindex: index === stop ? 0 : -1, onFocus: () => setCurrent(index) };
                if (nth > 0) return html`<td class=${cell(column)}>${content}</td>`;
                if (onOpen) return html`<th scope="row" class=${cell(column)}>
                  <button class="opener" onClick=${() => onOpen(row)} ...${roving}>${content}</button></th>`;
                return html`<th scope="row" class=${cell(column)}>
                  ${link ? html`<a href=${link} ...${roving}>${content}</a>` : href ? html`<span ...${roving}>${content}</span>` : content}</th>`;
              })}
            </tr>`;
          }),
          gap('below', rows.length - to),
          ...(list.loading && rows.length === 0 ? [1, 2, 3, 4, 5] : []).map((n) =>
            html`<tr key=${n} class="loading"><td colspan=${visible.length}><span class="skeleton"></span></td></tr>`),
        ]}</tbody>
      </table>
    </div>`}`;
}

/** A click anywhere in a row does what its name does, unless it selects text or is meant for something else. @param {MouseEvent} event */
function openRow(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.closest('a, button, input, select, label, summary') || String(getSelection())) return;
  const name = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.currentTarget).querySelector('th a, th .opener'));
  name?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey: event.ctrlKey, metaKey: event.metaKey, shiftKey: event.shiftKey }));
}

/** A cell that is cut says all of it where the mouse is. @param {MouseEvent} event */
function sayWhole(event) {
  const cell = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest('td, th'));
  if (cell) cell.title = cell.scrollWidth > cell.clientWidth ? cell.innerText : '';
}

/** @param {Column} column */
const cell = (column) => `${column.align ?? ''} ${column.wide ? 'wide' : ''}`.trim() || null;

/** Rows in sight at first: around the one that was opened. @param {import('../lib/data.js').List} list */
function around({ sight, place: { row } }) {
  if (row >= sight.from && row < sight.to) return sight;
  return row > 0 ? { from: Math.max(0, row - 2 * AHEAD), to: row + 3 * AHEAD } : { from: 0, to: 30 };
}

/** @param {{ column: Column, order?: Order, onOrder: (order: Order) => void }} props */
function ColumnHead({ column, order, onOrder }) {
  const by = sorterOf(column);
  if (!by || !order) return html`<th scope="col" class=${cell(column)}>${column.label}</th>`;
  const isIt = order.key === by, isDown = !isIt || !order.isDown;
  return html`<th scope="col" class=${cell(column)} aria-sort=${isIt ? (order.isDown ? 'descending' : 'ascending') : null}>
    <button class="sorter" onClick=${() => onOrder({ key: by, isDown })}>${column.label}
      ${isIt && html`<span aria-hidden="true"> ${order.isDown ? '↓' : '↑'}</span>`}</button></th>`;
}

/** @param {string} name @param {Column[]} columns @returns {[string[], (keys: string[]) => void]} */
function useColumns(name, columns) {
  const [chosen, setChosen] = useState(() => {
    try { return JSON.parse(localStorage.getItem(name) ?? 'null'); } catch { return null; }
  });
  const keys = Array.isArray(chosen) ? chosen : columns.filter((column) => !column.optional).map((column) => column.key);
  return [keys, (next) => {
    try { localStorage.setItem(name, JSON.stringify(next)); } catch { /* Not kept. */ }
    setChosen(next);
  }];
}

/** @param {{ columns: Column[], shown: string[], onChange: (keys: string[]) => void }} props */
function ColumnChoice({ columns, shown, onChange }) {
  if (!columns.some((column) => column.optional)) return null;
  const toggle = (/** @type {string} */ key) => onChange(shown.includes(key) ? shown.filter((each) => each !== key) : [...shown, key]);
  return html`<${Menu} label=${t('common.columns')}>
    ${columns.slice(1).map((column) =>
      html`<label class="check"><input type="checkbox" checked=${shown.includes(column.key)} onChange=${() => toggle(column.key)} />${column.label}</label>`)}
  <//>`;
}
