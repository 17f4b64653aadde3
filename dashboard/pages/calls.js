// All calls: filters in the address, search in transcripts, export of what is found.
import { html } from '../lib/ui.js';
import { address } from '../lib/api.js';
import { useEvents, useList } from '../lib/data.js';
import { dateTime, duration, t } from '../lib/i18n.js';
import { useQuery } from '../lib/router.js';
import { Menu } from '../components/menu.js';
import { SavedFilters } from '../components/saved-filters.js';
import { Badge, callee, Time } from '../components/states.js';
import { Table } from '../components/table.js';
import { apiFilters, CallFilters, filtersOf } from './call-filters.js';

export default function Calls() {
  const query = useQuery(), filters = apiFilters(query), chosen = filtersOf(query);
  const list = useList('/conversations', filters, (call) => call.conversationId);
  useEvents(['call.'], () => list.refresh(), 2000);
  const columns = [
    { key: 'contact', label: t('calls.contact'), render: callee },
    { key: 'status', label: t('calls.filters.status'), render: (/** @type {any} */ c) => html`<${Badge} status=${c.status} />
      ${c.test && html` <span class="badge">${t('liveCalls.test')}</span>`}` },
    { key: 'time', label: t('calls.time'), render: (/** @type {any} */ c) => html`<${Time} at=${c.startTimeUnix * 1000} />` },
    { key: 'length', label: t('calls.length'), align: /** @type {const} */ ('end'), render: (/** @type {any} */ c) => length(c) },
    { key: 'agent', label: t('calls.filters.agentId'), render: (/** @type {any} */ c) => c.agentName },
    { key: 'summary', label: t(chosen.search ? 'calls.found' : 'calls.summary'), wide: true, render: (/** @type {any} */ c) => content(c, chosen.search) },
    { key: 'direction', label: t('calls.filters.direction'), optional: true, render: (/** @type {any} */ c) => t(`calls.${c.direction}`) },
    { key: 'number', label: t('campaign.phone'), optional: true,
      render: (/** @type {any} */ c) => html`<span class="numeric">${c.contactNumber ?? '–'}</span>` },
    { key: 'own', label: t('calls.ownNumber'), optional: true, render: (/** @type {any} */ c) => html`<span class="numeric">${c.callerNumber ?? '–'}</span>` },
    { key: 'full', label: t('calls.fullTime'), optional: true,
      render: (/** @type {any} */ c) => html`<span class="numeric">${dateTime(c.startTimeUnix * 1000)}</span>` },
  ];
  return html`
    <div class="head"><h1>${t('calls.title')}</h1><div class="row">
      <${SavedFilters} page="/calls" query=${chosen} />
      <${Menu} button=${true} label=${t('calls.export')}>
        ${['csv', 'jsonl'].map((format) => html`<a key=${format} class="menu-link" download=${`calls.${format}`}
          href=${address('/conversations/export', { ...filters, format })}>${t(`calls.${format}`)}</a>`)}
      <//></div></div>
    <div class="stack"><${Table} label=${t('calls.title')} list=${list} columns=${columns} filters=${html`<${CallFilters} query=${query} />`}
      rowKey=${(/** @type {any} */ c) => c.conversationId} href=${callAddress}
      empty=${Object.keys(chosen).length ? t('calls.noMatch') : t('calls.none')} />
      <p class="help">${t('calls.keys')}</p></div>`;
}

/** With a search, the call opens at the turn that was found, if it was not the name. @param {any} call */
function callAddress(call) {
  const match = call.matches?.find((/** @type {any} */ each) => each.turn !== undefined);
  return `/calls/${call.conversationId}${match ? `?turn=${match.turn}` : ''}`;
}

/** @param {any} call */
const length = (call) => (call.conversationDuration ? duration(call.conversationDuration) : '–');

/** What was found, or else the summary. @param {any} call @param {string | undefined} search */
const content = (call, search) => (search && call.matches?.length ? marked(call.matches[0].text, search) : call.summary ?? '–');

/** The words of the search in a text, marked. @param {string} text @param {string} search */
export function marked(text, search) {
  const words = search.match(/[\p{L}\p{N}]+\*?/gu) ?? [];
  if (words.length === 0) return text;
  const plain = (/** @type {string} */ word) => word.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
  const isMeant = (/** @type {string} */ word) =>
    words.some((each) => (each.endsWith('*') ? plain(word).startsWith(plain(each.slice(0, -1))) : plain(word) === plain(each)));
  return text.split(/([\p{L}\p{N}\p{M}]+)/u).map((part) => (isMeant(part) ? html`<mark>${part}</mark>` : part));
}
