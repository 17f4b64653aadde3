// The documents of a group: those chosen, and others found by their names.
import { html, useMemo, useState } from '../lib/ui.js';
import { useResource } from '../lib/data.js';
import { t } from '../lib/i18n.js';
import { Search } from './search.js';

/**
 * @param {{ id: string, value: string[] | undefined, onChange: (ids: string[]) => void, describedBy?: string, known: { documentId: string,
 *   name: string }[] }} props
 */
export function DocumentPicker({ id, value = [], onChange, describedBy, known }) {
  const [search, setSearch] = useState('');
  const found = useResource('/knowledge-base/documents', { search, pageSize: 50, sortBy: 'name', sortDirection: 'asc' });
  /** Names of all documents that were seen. @type {Map<string, string>} */
  const names = useMemo(() => new Map(known.map((each) => [each.documentId, each.name])), []);
  for (const each of found.data ?? []) names.set(each.documentId, each.name);
  const shown = [...value, ...(found.data ?? []).map((/** @type {any} */ each) => each.documentId)
    .filter((/** @type {string} */ each) => !value.includes(each))];
  const toggle = (/** @type {string} */ each) => onChange(value.includes(each) ? value.filter((other) => other !== each) : [...value, each]);
  return html`<${Search} id=${id} label=${t('documents.search')} value=${search} onSearch=${setSearch} />
    <div class="checks picker" role="group" tabindex="0" aria-label=${t('groups.documents')} aria-describedby=${describedBy}>
      ${shown.map((each) => html`<label class="check" key=${each}>
        <input type="checkbox" checked=${value.includes(each)} onChange=${() => toggle(each)} />${names.get(each) ?? each}</label>`)}
      ${found.data && shown.length === 0 && html`<p class="muted">${search ? t('resource.noMatch') : t('documents.none')}</p>`}
    </div>`;
}
