import { html } from '../lib/ui.js';
import { t } from '../lib/i18n.js';
import { Dialog, toast } from './dialog.js';

/** A key or secret that can be copied. @param {{ label: string, value: string }} props */
export function Secret({ label, value }) {
  async function copy() {
    try {
      await navigator.clipboard.writeText(value);
      toast(t('common.copied'));
    } catch { /* The text is selected by the click on it. */ }
  }
  return html`<div class="secret"><input readonly aria-label=${label} value=${value} onFocus=${(/** @type {any} */ event) => event.target.select()} />
    <button onClick=${copy}>${t('common.copy')}</button></div>`;
}

/** A new secret, which is never shown again. @param {{ title: string, value: string, onClose: () => void }} props */
export const SecretOnce = ({ title, value, onClose }) => html`<${Dialog} title=${title} onClose=${onClose}>
  <p class="alert warn">${t('profile.onlyOnce')}</p><${Secret} label=${title} value=${value} />
  <div class="actions"><button class="primary" onClick=${onClose}>${t('profile.keptIt')}</button></div><//>`;
