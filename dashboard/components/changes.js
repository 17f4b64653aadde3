// Old and new values, one under the other; of long texts only the part that differs.
import { html } from '../lib/ui.js';
import { t } from '../lib/i18n.js';

const LONG = 100, AROUND = 40, MOST = 400;

/** @typedef {{ label: string, old: string, next: string, note?: string }} Change */

/** @param {{ changes: Change[] }} props */
export const Changes = ({ changes }) => html`<dl class="change-list">${changes.map((change, nth) => {
  const [old, next] = partsThatDiffer(change.old, change.next);
  return html`<div key=${nth}><dt>${change.label}</dt>
    <dd><span class="hidden">${t('form.before')} </span><del>${old}</del></dd><dd><span class="hidden">${t('form.after')} </span><ins>${next}</ins></dd>
    ${change.note && html`<dd class="warn-text">${change.note}</dd>`}</div>`;
})}</dl>`;

/** @param {string} old @param {string} next @returns {[string, string]} */
function partsThatDiffer(old, next) {
  if (old.length <= LONG && next.length <= LONG) return [old, next];
  const shorter = Math.min(old.length, next.length);
  let before = 0, after = 0;
  while (before < shorter && old[before] === next[before]) before++;
  while (after < shorter - before && old.at(-1 - after) === next.at(-1 - after)) after++;
  const from = before > AROUND ? old.lastIndexOf(' ', before - AROUND) + 1 : 0;
  const cut = (/** @type {string} */ text) => {
    const far = text.indexOf(' ', text.length - after + AROUND), end = Math.min(far < 0 ? text.length : far, from + MOST);
    return `${from > 0 ? '…' : ''}${text.slice(from, end)}${end < text.length ? '…' : ''}`;
  };
  return [cut(old), cut(next)];
}
