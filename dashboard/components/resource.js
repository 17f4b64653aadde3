// A resource of the API as a list with a form and a deletion; a page only describes its columns and fields.
import { html, useMemo, useState } from '../lib/ui.js';
import { ApiError, del, get, may, newKey, patch, post } from '../lib/api.js';
import { useEvents, useList } from '../lib/data.js';
import { t } from '../lib/i18n.js';
import { mergePatch } from '../lib/merge.js';
import { setQuery, useQuery } from '../lib/router.js';
import { Dialog, toast, toastError } from './dialog.js';
import { Form } from './form.js';
import { Icon } from './icons.js';
import { Ids } from './secret.js';
import { Search } from './search.js';
import { Table } from './table.js';

/** @typedef {import('./form.js').Field} Field */
/**
 * @typedef {object} Kind
 * @property {string} path Of the list, such as `/tools`; that of one has its id after it.
 * @property {string} texts Section with `title`, `help`, `none`, `add` and `deleteBody`.
 * @property {(row: any) => string} id
 * @property {(row: any) => string} name
 * @property {import('./table.js').Column[]} columns
 * @property {(row: any | null) => Field[]} fields Of the row, or of a new one.
 * @property {(row: any | null) => Record<string, any>} [values] Values of the fields; by default those that the row has under their names.
 * @property {(values: Record<string, any>) => Record<string, any>} [body] The whole body; by default the values that are not empty.
 * @property {(values: Record<string, any>, key: string) => Promise<any>} [create] By default a POST of the body.
 * @property {(values: Record<string, any>, row: any) => Promise<any>} [update] By default a PATCH of what changed.
 * @property {string} [scope] What changes need; by default `write`.
 * @property {(row: any) => any} [show] What a row opens instead of a form.
 * @property {boolean} [fixed] Rows cannot be changed.
 * @property {boolean} [kept] Rows cannot be deleted.
 * @property {boolean} [whole] The list's rows hold everything, and cannot be read one by one.
 * @property {(row: any) => string} [href] A page of the row, instead of the form.
 * @property {boolean} [search] The list takes `search`.
 * @property {string[]} [events] After these the list is read again.
 * @property {Field[]} [deleteOptions] Parameters of the deletion.
 * @property {(data: any) => void} [onCreated]
 * @property {any} [filters] Shown above the list.
 */

/** A problem found in the browser, in the reader's language. @param {string} name @param {string} code @param {string} message */
export const fieldProblem = (name, code, message) => new ApiError({ code, message, status: 400, fields: [{ path: name, code: 'own', message }] });

/** @param {Record<string, any>} values */
const filled = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== ''));

/** @param {{ kind: Kind, level?: 1 | 2, inTab?: boolean }} props `level` of the heading; a tab names what is in it. */
export function Resource({ kind, level = 1, inTab }) {
  const { search } = useQuery();
  const list = useList(kind.path, kind.search ? { search } : {}, kind.id);
  const [open, setOpen] = useState(/** @type {{ row: any, etag?: string, deletes?: boolean } | null} */ (null));
  useEvents(kind.events ?? [], () => list.refresh(), 1000);
  function close() {
    setOpen(null);
    list.refresh();
  }
  async function change(/** @type {any} */ row) {
    if (kind.whole) return setOpen({ row });
    try {
      const { data, etag } = await get(`${kind.path}/${encodeURIComponent(kind.id(row))}`);
      setOpen({ row: data, etag });
    } catch (error) { toastError(error); }
  }
  function done(/** @type {string} */ message) {
    close();
    toast(t(message));
  }
  /** The deleted row had the focus. */
  function gone() {
    list.drop(kind.id(open?.row));
    done('resource.deleted');
    requestAnimationFrame(() => {
      const heading = /** @type {HTMLElement | null} */ (document.querySelector('main h1'));
      heading?.setAttribute('tabindex', '-1');
      heading?.focus();
    });
  }
  const { scope = 'write' } = kind;
  const columns = kind.kept || !may(scope) ? kind.columns : [...kind.columns, {
    key: 'actions', label: t('resource.actions'), render: (/** @type {any} */ row) => html`<button class="small"
      aria-label=${t('resource.deleteName', { name: kind.name(row) })} onClick=${() => setOpen({ row, deletes: true })}>${t('common.delete')}</button>`,
  }];
  const add = may(scope) && html`<button class="primary" onClick=${() => setOpen({ row: null })}><${Icon} name="plus" />${t(`${kind.texts}.add`)}</button>`;
  const filters = kind.search
    ? html`<${Search} label=${t(`${kind.texts}.search`)} value=${search ?? ''}
      onSearch=${(/** @type {string} */ text) => setQuery({ search: text })} />${kind.filters}` : kind.filters;
  const title = t(`${kind.texts}.title`);
  const help = html`<p class="muted">${t(`${kind.texts}.help`)}</p>`;
  return html`
    ${inTab ? html`<h2 class="hidden">${title}</h2><div class="head">${help}${add}</div>`
      : html`<div class="head">${level === 1 ? html`<h1>${title}</h1>` : html`<h2>${title}</h2>`}${add}</div>${help}`}
    <div class="stack"><${Table} label=${title} list=${list} columns=${columns} rowKey=${kind.id} href=${kind.href} filters=${filters}
      onOpen=${kind.fixed || kind.href ? undefined : change} empty=${search && kind.search ? t('resource.noMatch') : t(`${kind.texts}.none`)} /></div>
    ${open && (open.row && !open.deletes && kind.show ? html`<${Dialog} title=${kind.name(open.row)} onClose=${close}>${kind.show(open.row)}
        <div class="actions"><button class="primary" onClick=${close}>${t('common.close')}</button></div><//>` : open.deletes
      ? html`<${DeleteDialog} kind=${kind} row=${open.row} onClose=${close} onDone=${gone} />`
      : html`<${FormDialog} kind=${kind} ...${open} onClose=${close} onStale=${() => change(open.row)}
          onDone=${(/** @type {any} */ data) => { done(open.row ? 'resource.saved' : 'resource.added'); if (!open.row) kind.onCreated?.(data); }} />`)}`;
}

/**
 * Adds a row, or changes one.
 * @param {{ kind: Kind, row: any | null, etag?: string, onClose: () => void, onStale: () => void, onDone: (data: any) => void }} props
 */
export function FormDialog({ kind, row, etag, onClose, onStale, onDone }) {
  const key = useMemo(newKey, []);
  const fields = kind.fields(row), body = kind.body ?? filled;
  const valuesOf = kind.values ?? ((/** @type {any} */ from) => Object.fromEntries(fields.map(({ name }) => [name, from?.[name]])));
  const saved = valuesOf(row);
  async function save(/** @type {Record<string, any>} */ values) {
    if (!row) return onDone((await (kind.create ?? create)(values, key))?.data);
    try {
      onDone((await (kind.update ?? update)(values, row))?.data);
    } catch (error) {
      if (!(error instanceof ApiError) || error.details?.version === undefined) throw error;
      onStale();
      throw new ApiError({ code: 'changed_meanwhile', message: t('resource.changedMeanwhile'), status: 409 });
    }
  }
  const create = (/** @type {Record<string, any>} */ values) => post(kind.path, body(values), { idempotencyKey: key });
  const update = (/** @type {Record<string, any>} */ values) =>
    patch(`${kind.path}/${encodeURIComponent(kind.id(row))}`, mergePatch(body(saved), body(values)), { ifMatch: etag });
  return html`<${Dialog} title=${row ? t('resource.changeName', { name: kind.name(row) }) : t(`${kind.texts}.add`)} onClose=${onClose}>
    <${Form} fields=${fields} values=${saved} submit=${row ? t('common.save') : t(`${kind.texts}.add`)}
      showChanges=${!!row} onCancel=${onClose} scope=${kind.scope ?? 'write'}
      onSubmit=${save} />
    ${row && !kind.whole && html`<${Ids} id=${kind.id(row)} path=${`${kind.path}/${encodeURIComponent(kind.id(row))}`} />`}<//>`;
}

/** Deletes a row; where it is in use, the service says by what. @param {{ kind: Kind, row: any, onClose: () => void, onDone: () => void }} props */
export function DeleteDialog({ kind, row, onClose, onDone }) {
  return html`<${Dialog} title=${t('resource.deleteTitle', { name: kind.name(row) })} onClose=${onClose}>
    <p>${t(`${kind.texts}.deleteBody`)}</p>
    <${Form} danger=${true} fields=${kind.deleteOptions ?? []} submit=${t('common.delete')} onCancel=${onClose}
      onSubmit=${async (/** @type {Record<string, any>} */ query) =>
        { await del(`${kind.path}/${encodeURIComponent(kind.id(row))}`, { query }); onDone(); }} /><//>`;
}
