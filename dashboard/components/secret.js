// Keys, secrets and ids, to be copied.
import { html } from '../lib/ui.js';
import { address } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { Dialog, toast } from './dialog.js';

/** Selects all of it, with its beginning in sight. */
function fromStart(/** @type {any} */ { target }) {
  target.select();
  requestAnimationFrame(() => { target.scrollLeft = 0; });
}

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(t('common.copied'));
  } catch { toast(t('common.notCopied'), { bad: true }); }
}

/** The id of something, and a command that reads it. @param {{ id: string, path: string }} props `path` of the API. */
export const Ids = ({ id, path }) => html`<div class="ids"><code>${id}</code>
  <button type="button" class="small" aria-label=${t('common.copyId', { id })} onClick=${() => copy(id)}>${t('common.copy')}</button>
  <button type="button" class="small" onClick=${() => copy(asCurl(path))}>${t('common.asCurl')}</button></div>`;

/** @param {string} path */
const asCurl = (path) => `curl -sS -H "x-api-key: $KEY" "${location.origin}${address(path)}"`;

/** A key or secret that can be copied. @param {{ label: string, value: string }} props */
export const Secret = ({ label, value }) => html`<div class="secret"><input readonly aria-label=${label} value=${value} onFocus=${fromStart} />
    <button onClick=${() => copy(value)}>${t('common.copy')}</button></div>`;

/** A new secret, which is never shown again; only its button closes it. @param {{ title: string, value: string, onClose: () => void }} props */
export const SecretOnce = ({ title, value, onClose }) => html`<${Dialog} title=${title}>
  <p class="alert warn">${t('profile.onlyOnce')}</p><${Secret} label=${title} value=${value} />
  <div class="actions"><button class="primary" onClick=${onClose}>${t('profile.keptIt')}</button></div><//>`;
