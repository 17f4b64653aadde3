// The one form: drawn from a description of its fields.
import { html, useEffect, useMemo, useRef, useState } from '../lib/ui.js';
import { ApiError, may } from '../lib/api.js';
import { number, t } from '../lib/i18n.js';
import { useUnsaved } from '../lib/router.js';
import { Changes } from './changes.js';
import { Rows } from './rows.js';
import { refusalText } from '../lib/problems.js';
import { errorText, Lacks } from './states.js';

/**
 * @typedef {object} Field
 * @property {string} name Path in the API's body, such as `conversationConfig.turn.turnTimeout`: its errors are shown here.
 * @property {string} label
 * @property {'text' | 'textarea' | 'number' | 'select' | 'checkbox' | 'checks' | 'rows' | 'time' | 'date' | 'datetime-local' | 'email' | 'password'} [type]
 * @property {any} [help]
 * @property {any} [default] Said beside the field, and used while nothing is given.
 * @property {boolean} [required]
 * @property {number} [min]
 * @property {number} [max]
 * @property {number | 'any'} [step]
 * @property {number} [rows] Height of a `textarea`.
 * @property {{ value: string, label: string }[]} [options] Of `select` and `checks`.
 * @property {boolean} [dense] Of `checks`: side by side.
 * @property {string} [autocomplete]
 * @property {boolean} [autofocus] In a dialog.
 * @property {string | ((values: Record<string, any>) => string | undefined)} [placeholder]
 * @property {(values: Record<string, any>) => boolean} [when] Whether the field is shown.
 * @property {(props: { field: Field, id: string, value: any, onChange: (value: any) => void, describedBy?: string, invalid: boolean }) => any}
 *   [render] A control of one's own.
 * @property {(value: any) => string} [say] How "what changed" writes a value.
 * @property {(value: any) => string | undefined} [check] What is wrong with the value; such a form is not sent.
 * @property {import('./rows.js').RowColumn[]} [columns] Of `rows`.
 * @property {boolean} [code] Of a `textarea`: text for machines.
 * @property {{ value: string, label: string }[]} [suggestions] Offered while typing.
 * @property {(value: any) => string | undefined | false} [warn] What is unusual about the value; it is sent all the same.
 */
/** @typedef {{ key: string, label: string, help?: string, fields: Field[], open?: boolean }} Group Closed ones are opened for an error. */
/** @typedef {Record<string, string>} Errors By field name. */

/** A check that a text has at most so many characters. @param {number} most @returns {(value: any) => string | undefined} */
export const atMost = (most) => (value) => {
  const n = [...(value ?? '')].length;
  return n > most ? t('form.tooLong', { n: number(n), most: number(most) }) : undefined;
};

let forms = 0;
/** To which a text's field grows. */
const MOST_LINES = 20;

/**
 * Fields whose values the caller keeps.
 * @param {{ fields: Field[], values: Record<string, any>, errors?: Errors, onChange: (name: string, value: any) => void }} props
 */
export function Fields({ fields, values, errors = {}, onChange }) {
  const prefix = useMemo(() => `f${++forms}`, []);
  return fields.filter((field) => !field.when || field.when(values)).map((field) => {
    const id = `${prefix}-${field.name.replace(/[.\s]/g, '-')}`, error = errors[field.name] ?? field.check?.(values[field.name]);
    const warning = !error && field.warn?.(values[field.name]);
    const describedBy = [field.help && `${id}-help`, error && `${id}-error`, warning && `${id}-warning`].filter(Boolean).join(' ') || undefined;
    const { placeholder } = field, shownField = typeof placeholder === 'function' ? { ...field, placeholder: placeholder(values) } : field;
    const control = { field: shownField, id, value: values[field.name], describedBy, invalid: !!error,
      onChange: (/** @type {any} */ value) => onChange(field.name, value) };
    const check = field.type === 'checkbox', group = field.type === 'checks' || field.type === 'rows';
    const notes = html`
      ${field.help && html`<p class="help" id=${`${id}-help`}>${field.help}</p>`}
      ${warning && html`<p class="warn-text" id=${`${id}-warning`}>${warning}</p>`}
      ${error && html`<p class="error" id=${`${id}-error`}>${error}</p>`}`;
    if (group) {
      return html`<fieldset key=${field.name} class=${`field${error ? ' invalid' : ''}`} tabindex="-1" aria-describedby=${describedBy}>
        <legend>${field.label}</legend><${Control} ...${control} />${notes}</fieldset>`;
    }
    return html`<div key=${field.name} class=${`field${error ? ' invalid' : ''}`}>
      ${check
        ? html`<label class="check" for=${id}><${Control} ...${control} />${field.label}</label>`
        : html`<label for=${id}>${field.label}${!field.required && html` <span class="hint">${hint(field)}</span>`}</label>
          <${Control} ...${control} />`}
      ${notes}
    </div>`;
  });
}

/** @param {Field} field */
const hint = (field) => (field.default === undefined || field.default === '' ? t('form.optional')
  : t('form.default', { value: sayValue(field, field.default) }));

/** @param {any} props */
function Control({ field, id, value, onChange, describedBy, invalid }) {
  if (field.render) return field.render({ field, id, value, onChange, describedBy, invalid });
  const shared = {
    id, name: field.name, 'aria-describedby': describedBy, 'aria-invalid': invalid || undefined,
    required: field.required, autocomplete: field.autocomplete ?? 'off', placeholder: field.placeholder, autofocus: field.autofocus,
  };
  const typed = (/** @type {any} */ event) => onChange(event.target.value);
  switch (field.type) {
    case 'textarea':
      return html`<textarea ...${shared} class=${field.code ? 'code' : null} spellcheck=${!field.code}
        rows=${Math.max(field.rows ?? 4, Math.min(MOST_LINES, String(value ?? '').split('\n').length))} value=${value ?? ''} onInput=${typed}></textarea>`;
    case 'checkbox':
      return html`<input ...${shared} required=${false} type="checkbox" checked=${value ?? field.default ?? false}
        onChange=${(/** @type {any} */ event) => onChange(event.target.checked)} />`;
    case 'select':
      return html`<select ...${shared} onChange=${typed}>
        ${!field.required && !field.options?.some((/** @type {any} */ o) => o.value === '') && html`<option value="" selected=${!value}></option>`}
        ${field.options?.map((/** @type {any} */ o) =>
          html`<option value=${o.value} selected=${o.value === (value ?? field.default ?? '')}>${o.label}</option>`)}
      </select>`;
    case 'checks': {
      const chosen = new Set(value ?? field.default ?? []);
      const toggle = (/** @type {string} */ each) =>
        onChange(field.options.map((/** @type {any} */ o) => o.value).filter((/** @type {string} */ o) => (o === each ? !chosen.has(o) : chosen.has(o))));
      return html`<div class=${field.dense ? 'checks dense' : 'checks'}>
        ${field.options?.map((/** @type {any} */ o) =>
          html`<label class="check"><input type="checkbox" name=${field.name} checked=${chosen.has(o.value)} onChange=${() => toggle(o.value)} />
            ${o.label}</label>`)}</div>`;
    }
    case 'rows':
      return html`<${Rows} columns=${field.columns} value=${value} onChange=${onChange} />`;
    case 'number':
      return html`<input ...${shared} type="number" min=${field.min} max=${field.max} step=${field.step ?? 1} value=${value ?? ''}
        placeholder=${field.placeholder ?? field.default}
        onInput=${(/** @type {any} */ event) => onChange(event.target.value === '' ? undefined : event.target.valueAsNumber)} />`;
    default:
      return html`<input ...${shared} type=${field.type ?? 'text'} value=${value ?? ''} onInput=${typed}
        list=${field.suggestions?.length ? `${id}-list` : undefined} />
        ${field.suggestions?.length > 0
          && html`<datalist id=${`${id}-list`}>
            ${field.suggestions.map((/** @type {any} */ o) => html`<option value=${o.value}>${o.label}</option>`)}</datalist>`}`;
  }
}

/** @param {Field} field @param {any} value @returns {string} */
function sayValue(field, value) {
  if (field.say) return field.say(value);
  if (value === undefined || value === null || value === '') return t('form.nothing');
  if (typeof value === 'boolean') return t(value ? 'form.yes' : 'form.no');
  const label = (/** @type {any} */ each) => field.options?.find((o) => o.value === each)?.label ?? String(each);
  return Array.isArray(value) ? value.map(label).join(', ') : label(value);
}

/** The server's problems by field; `''` holds what belongs to none. @param {any} error @param {Field[]} fields @returns {Errors} */
export function fieldErrors(error, fields) {
  /** @type {Errors} */
  const errors = {};
  for (const problem of error instanceof ApiError ? error.fields : []) {
    const field = fields.find(({ name }) => problem.path === name || problem.path.startsWith(`${name}.`) || problem.path.startsWith(`${name}[`));
    // Where a field holds many values, the rest of the path says which.
    const inner = field?.check ? problem.path.slice(field.name.length) : '';
    const text = refusalText(problem);
    if (field) errors[field.name] ??= inner ? `${inner.replace(/^\./, '')}: ${text}` : text;
    else errors[''] = [errors[''], `${problem.path}: ${text}`].filter(Boolean).join('\n');
  }
  if (Object.keys(errors).length === 0) errors[''] = errorText(error);
  return errors;
}

/**
 * A form that keeps its values, sends them, and puts the server's errors beside the fields.
 * @param {object} props
 * @param {Field[]} [props.fields]
 * @param {Group[]} [props.groups] Instead of `fields`, for long forms: what changes is shown beside them.
 * @param {Record<string, any>} [props.edits] Input to begin with.
 * @param {Record<string, any>} [props.values] What is saved; later values replace those not yet touched.
 * @param {string} props.submit Text of the button.
 * @param {(values: Record<string, any>, changed: Record<string, any>) => Promise<void>} props.onSubmit Throws `ApiError`.
 * @param {() => void} [props.onCancel]
 * @param {(changed: Record<string, any>) => void} [props.onEdit] Told what changed, each time it is shown.
 * @param {boolean} [props.showChanges] Lists what changed before it is saved.
 * @param {boolean} [props.danger] The button does something dangerous.
 * @param {boolean} [props.disabled] It cannot be sent now.
 * @param {string} [props.scope] What the session needs to send it.
 * @param {any} [props.beside] Further buttons beside it.
 * @param {any} [props.children]
 */
export function Form({ groups, fields = groups?.flatMap((group) => group.fields) ?? [], values: saved = {}, edits = {}, submit, onSubmit, onCancel,
  onEdit, showChanges, danger, disabled, scope = '', beside, children }) {
  const [touched, setTouched] = useState(/** @type {Record<string, any>} */ (edits));
  const [errors, setErrors] = useState(/** @type {Errors} */ ({}));
  const [refusals, setRefusals] = useState(0);
  const [busy, setBusy] = useState(false);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const values = { ...saved, ...touched }, isAllowed = !scope || may(scope);
  const changes = fields.filter(({ name }) => name in touched && JSON.stringify(touched[name]) !== JSON.stringify(saved[name]));
  const isShown = (/** @type {Field} */ field) => !field.when || field.when(values);
  useEffect(() => onEdit?.(Object.fromEntries(changes.map(({ name }) => [name, values[name]]))));
  useUnsaved(changes.length > 0 && !busy, t('form.leave'));
  useEffect(() => {
    if (refusals === 0) return;
    for (const invalid of form.current?.querySelectorAll('.invalid') ?? []) invalid.closest('details')?.setAttribute('open', '');
    /** @type {HTMLElement | null} */ (form.current?.querySelector('[aria-invalid], fieldset.invalid, .alert'))?.focus();
  }, [refusals]);

  // What is typed afterwards must not move the focus again.
  const refuse = (/** @type {Errors} */ found) => { setErrors(found); setRefusals((n) => n + 1); };

  /** @param {Event} event */
  async function send(event) {
    event.preventDefault();
    if (busy || disabled || !isAllowed) return;
    const wrong = fields.map((field) => [field.name, isShown(field) && field.check?.(values[field.name])]).filter(([, problem]) => problem);
    if (wrong.length) return refuse(Object.fromEntries(wrong));
    setBusy(true);
    setErrors({});
    try {
      await onSubmit(values, Object.fromEntries(changes.map(({ name }) => [name, values[name]])));
      setTouched({});
    } catch (error) {
      refuse(fieldErrors(error, fields.filter(isShown)));
    }
    setBusy(false);
  }
  const change = (/** @type {string} */ name, /** @type {any} */ value) => {
    setTouched((old) => ({ ...old, [name]: value }));
    setErrors(({ [name]: _, ...others }) => others);
  };
  const shown = (/** @type {Field[]} */ part) => html`<${Fields} fields=${part} values=${values} errors=${errors} onChange=${change} />`;
  const changed = html`<${Changes}
    changes=${changes.map((field) => ({ label: field.label, old: sayValue(field, saved[field.name]), next: sayValue(field, values[field.name]) }))} />`;
  const end = html`
    ${errors[''] && html`<p class="alert bad" role="alert" tabindex="-1">${errors['']}</p>`}
    ${!isAllowed && html`<${Lacks} scope=${scope} />`}
    <div class="actions">
      ${isAllowed && html`<button class=${danger ? 'danger' : 'primary'} aria-disabled=${busy || !!disabled}>${busy ? t('form.sending') : submit}</button>`}
      ${beside}
      ${onCancel && html`<button type="button" onClick=${onCancel}>${t('common.cancel')}</button>`}
      ${groups && changes.length > 0 && html`<button type="button" onClick=${() => { setTouched({}); setErrors({}); }}>${t('form.discard')}</button>`}
    </div>`;
  if (groups) {
    // The browser's own checks cannot show what is wrong in a closed group; the service's answer does.
    return html`<form ref=${form} onSubmit=${send} class="grid new-campaign" novalidate>
      <div class="stack">${groups.map((group) => (group.open
        ? html`<section key=${group.key} class="card" aria-labelledby=${`group-${group.key}`}><h2 id=${`group-${group.key}`}>${group.label}</h2>
          ${shown(group.fields)}</section>`
        : html`<details key=${group.key} class="card group">
          <summary><h2>${group.label}</h2>${group.help && html`<span class="muted">${group.help}</span>`}</summary>
          <div class="stack">${shown(group.fields)}</div></details>`))}</div>
      <aside class="card summary" aria-labelledby="form-changes"><h2 id="form-changes">${t('form.changes')}</h2>
        ${children}${changes.length > 0 ? changed : html`<p class="muted">${t('form.unchanged')}</p>`}${end}</aside>
    </form>`;
  }
  return html`<form ref=${form} onSubmit=${send} class="form">
    ${shown(fields)}
    ${children}
    ${showChanges && changes.length > 0 && html`<section class="changes" aria-label=${t('form.changes')}><h3>${t('form.changes')}</h3>${changed}</section>`}
    ${end}
  </form>`;
}
