// One of a list of the service, or anything else by typing it.
import { html, useState } from '../lib/ui.js';
import { t } from '../lib/i18n.js';

const OTHER = '\n';

/**
 * @param {{ id: string, field: import('./form.js').Field, value: any, options: import('../pages/agent-controls.js').Option[],
 *   first: { value: string, label: string }, onChange: (value: string) => void, describedBy?: string, invalid: boolean }} props `first` stands for no choice.
 */
export function Listed({ id, field: { name, label }, value, options, first, onChange, describedBy, invalid }) {
  const chosen = value || first.value, all = [first, ...options], isKnown = all.some((option) => option.value === chosen);
  const sample = options.find((option) => option.value === chosen)?.sample;
  const [isTyped, setTyped] = useState(false);
  const shared = { 'aria-describedby': describedBy, 'aria-invalid': invalid || undefined };
  const choose = (/** @type {any} */ { target }) => { setTyped(target.value === OTHER); if (target.value !== OTHER) onChange(target.value); };
  return html`<select id=${id} name=${name} ...${shared} onChange=${choose}>
      ${all.map((option) => html`<option value=${option.value} selected=${!isTyped && option.value === chosen}>${option.label}</option>`)}
      <option value=${OTHER} selected=${isTyped || !isKnown}>${t('form.another')}</option></select>
    ${sample && html`<audio controls preload="none" src=${sample} aria-label=${t('form.sample')}></audio>`}
    ${(isTyped || !isKnown) && html`<input aria-label=${t('form.anotherOf', { label })} ...${shared}
      autocomplete="off" spellcheck=${false} value=${value === first.value ? '' : value ?? ''}
      onInput=${(/** @type {any} */ event) => onChange(event.target.value)} />`}`;
}
