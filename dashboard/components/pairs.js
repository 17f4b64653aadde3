// Names with values, as many as one likes.
import { html, useRef } from '../lib/ui.js';
import { t } from '../lib/i18n.js';

/** @typedef {{ name: string, text: string }} Pair */

/** @param {Record<string, any>} values @returns {Pair[]} */
export const pairsOf = (values) => Object.entries(values).map(([name, value]) => ({ name, text: typeof value === 'string' ? value : JSON.stringify(value) }));
/** @param {Pair[]} [pairs] */
export const valuesOf = (pairs = []) => Object.fromEntries(pairs.filter(({ name, text }) => name.trim() || text).map(({ name, text }) => [name.trim(), text]));

/** @param {{ field: import('./form.js').Field, value: Pair[] | undefined, onChange: (pairs: Pair[]) => void, describedBy?: string }} props */
export function Pairs({ field, value = [], onChange, describedBy }) {
  const add = useRef(/** @type {HTMLElement | null} */ (null));
  const set = (/** @type {number} */ at, /** @type {Partial<Pair>} */ change) =>
    onChange(value.map((pair, nth) => (nth === at ? { ...pair, ...change } : pair)));
  function remove(/** @type {number} */ at) {
    onChange(value.filter((_, nth) => nth !== at));
    add.current?.focus();
  }
  return html`<div class="stack" role="group" aria-label=${field.label} aria-describedby=${describedBy}>
    <ul class="stack pairs-edit">${value.map((pair, at) => html`<li class="row" key=${at}>
      <input aria-label=${t('pairs.name', { n: at + 1 })} placeholder=${t('pairs.namePlaceholder')} value=${pair.name}
        onInput=${(/** @type {any} */ event) => set(at, { name: event.target.value })} />
      <input aria-label=${t('pairs.value', { name: pair.name || String(at + 1) })} placeholder=${t('pairs.valuePlaceholder')} value=${pair.text}
        onInput=${(/** @type {any} */ event) => set(at, { text: event.target.value })} />
      <button type="button" class="small" aria-label=${t('pairs.remove', { name: pair.name || String(at + 1) })}
        onClick=${() => remove(at)}>×</button></li>`)}</ul>
    <div><button type="button" class="small" ref=${add} onClick=${() => onChange([...value, { name: '', text: '' }])}>${t('pairs.add')}</button></div></div>`;
}
