// Filters that somebody named. They are kept in this browser, for each account.
import { html, useState } from '../lib/ui.js';
import { ownAccount } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { navigate } from '../lib/router.js';
import { Dialog, toast } from './dialog.js';
import { Form } from './form.js';
import { Menu } from './menu.js';

/** @typedef {{ name: string, query: string }} Saved */

/** @param {string} key @returns {Saved[]} */
function read(key) {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(found) ? found.filter((each) => typeof each?.name === 'string' && typeof each?.query === 'string') : [];
  } catch { return []; }
}

/** @param {{ page: string, query: Record<string, string> }} props `page` is the path; `query` the present filters. */
export function SavedFilters({ page, query }) {
  const key = `ringback.filters.${ownAccount()}.${page}`;
  const [saved, setSaved] = useState(() => read(key));
  const [naming, setNaming] = useState(false);
  const present = String(new URLSearchParams(query));
  const keep = (/** @type {Saved[]} */ next) => {
    try { localStorage.setItem(key, JSON.stringify(next)); } catch { /* Kept until the page is left. */ }
    setSaved(next);
  };
  async function save(/** @type {any} */ { name }) {
    keep([...saved.filter((each) => each.name !== name.trim()), { name: name.trim(), query: present }].sort((a, b) => a.name.localeCompare(b.name)));
    toast(t('savedFilters.saved'));
    setNaming(false);
  }
  const fields = [{ name: 'name', label: t('savedFilters.name'), help: t('savedFilters.nameHelp'), required: true, autofocus: true }];
  return html`<${Menu} label=${t('savedFilters.title')}>
      ${saved.map((each) => html`<div key=${each.name} class="saved-filter">
        <button class="plain" aria-current=${each.query === present ? 'true' : null}
          onClick=${() => navigate(`${page}?${each.query}`)}>${each.name}</button>
        <button class="plain" aria-label=${t('savedFilters.remove', { name: each.name })}
          onClick=${() => keep(saved.filter((other) => other !== each))}>×</button></div>`)}
      ${saved.length === 0 && !present && html`<p class="muted">${t('savedFilters.none')}</p>`}
      ${present && html`<button class="plain" onClick=${() => setNaming(true)}>${t('savedFilters.save')}</button>`}
    <//>
    ${naming && html`<${Dialog} title=${t('savedFilters.save')} onClose=${() => setNaming(false)}>
      <${Form} fields=${fields} submit=${t('common.save')} onCancel=${() => setNaming(false)} onSubmit=${save} /><//>`}`;
}
