// All calls: filters in the address, one search for words, names and numbers, export of what is found.
import { html } from '../lib/ui.js';
import { address } from '../lib/api.js';
import { useDoNotCall, useEvents, useList } from '../lib/data.js';
import { dateTime, duration, money, t } from '../lib/i18n.js';
import { useName } from '../lib/lookup.js';
import { outcomeOf } from '../lib/outcome.js';
import { useQuery } from '../lib/router.js';
import { Menu } from '../components/menu.js';
import { CAMPAIGNS } from '../components/picker.js';
import { SavedFilters } from '../components/saved-filters.js';
import { Badge, callee, OutcomeBadge, Time } from '../components/states.js';
import { Table } from '../components/table.js';
import { apiFilters, CallFilters, filtersOf } from './call-filters.js';

const DAY = 86_400;

export default function Calls() {
  const query = useQuery(), filters = apiFilters(query), chosen = filtersOf(query);
  // Words are found by how new they are.
  const order = filters.search ? {} : { sortBy: query.sort, sortDirection: query.up && 'asc' };
  const list = useList('/conversations', { ...filters, ...order, include: 'total' }, (call) => call.conversationId), { rows } = list;
  const oldest = rows.at(-1)?.startTimeUnix, blocked = useDoNotCall(oldest && Math.floor(oldest / DAY) * DAY * 1000);
  useEvents(['call.'], () => list.refresh(), 2000);
  const end = /** @type {const} */ ('end');
  const columns = [
    { key: 'contact', label: t('calls.contact'), render: (/** @type {any} */ c) => (blocked.has(c.contactNumber)
      ? html`${callee(c)} <span class="badge warn">${t('doNotCall.short')}</span>` : callee(c)) },
    { key: 'outcome', label: t('calls.filters.outcome'), render: (/** @type {any} */ c) => html`<${OutcomeBadge} outcome=${outcomeOf(c)} />
      ${c.test && html` <span class="badge">${t('liveCalls.test')}</span>`}` },
    { key: 'time', label: t('calls.time'), sort: 'start_time', render: (/** @type {any} */ c) => html`<${Time} at=${c.startTimeUnix * 1000} />` },
    { key: 'length', label: t('calls.length'), align: end, sort: 'duration', render: (/** @type {any} */ c) => length(c) },
    { key: 'agent', label: t('calls.filters.agentId'), render: (/** @type {any} */ c) => c.agentName },
    { key: 'summary', label: t(chosen.search ? 'calls.found' : 'calls.summary'), wide: true, render: (/** @type {any} */ c) => content(c, chosen.search) },
    { key: 'campaign', label: t('calls.filters.campaignId'), optional: true, render: (/** @type {any} */ c) => html`<${CampaignName} call=${c} />` },
    { key: 'mood', label: t('calls.filters.sentiment'), optional: true,
      render: (/** @type {any} */ c) => (c.sentiment ? html`<${Badge} status=${c.sentiment.sentiment_overall} />` : '–') },
    { key: 'cost', label: t('call.cost'), optional: true, align: end, sort: 'cost',
      render: (/** @type {any} */ c) => html`<span class="numeric">${c.cost ? money(Number(c.cost.total), c.cost.currency) : '–'}</span>` },
    { key: 'delay', label: t('overview.latency'), optional: true, align: end,
      render: (/** @type {any} */ c) => html`<span class="numeric">${c.latencyP50Ms === undefined ? '–' : t('overview.ms', { n: c.latencyP50Ms })}</span>` },
    { key: 'direction', label: t('calls.filters.direction'), optional: true, render: (/** @type {any} */ c) => t(`calls.${c.direction}`) },
    { key: 'number', label: t('campaign.phone'), optional: true,
      render: (/** @type {any} */ c) => html`<span class="numeric">${c.contactNumber ?? '–'}</span>` },
    { key: 'own', label: t('calls.ownNumber'), optional: true, render: (/** @type {any} */ c) => html`<span class="numeric">${c.callerNumber ?? '–'}</span>` },
    { key: 'full', label: t('calls.fullTime'), optional: true,
      render: (/** @type {any} */ c) => html`<span class="numeric">${dateTime(c.startTimeUnix * 1000)}</span>` },
  ];
  return html`
    <div class="head"><div class="row"><h1>${t('calls.title')}</h1>
        <span class="muted" role="status">${countText(list)}</span></div>
      <div class="row">
      <${SavedFilters} page="/calls" query=${chosen} />
      <${Menu} button=${true} label=${t('calls.export')}>
        ${['csv', 'jsonl'].map((format) => html`<a key=${format} class="menu-link" download=${`calls.${format}`}
          href=${address('/conversations/export', { ...filters, format })}>${t(`calls.${format}`)}</a>`)}
      <//></div></div>
    <div class="stack"><${Table} label=${t('calls.title')} list=${list} columns=${columns} filters=${html`<${CallFilters} query=${query} />`}
      order=${filters.search ? undefined : { key: 'start_time', isDown: true }}
      rowKey=${(/** @type {any} */ c) => c.conversationId} href=${callAddress}
      empty=${Object.keys(chosen).length ? t('calls.noMatch') : t('calls.none')} />
      <p class="help">${t('calls.keys')}</p></div>`;
}

/** How many calls there are. The API does not count those with a recording. @param {import('../lib/data.js').List} list */
function countText({ rows, hasMore, counted }) {
  const { total = rows.length, totalIsAtLeast = hasMore && counted?.total === undefined } = counted ?? {};
  return counted && t(`liveCalls.${totalIsAtLeast ? 'more' : 'count'}`, { n: total });
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

/** @param {{ call: any }} props */
function CampaignName({ call }) {
  const name = useName(CAMPAIGNS, call.campaignId);
  return name ?? (!call.campaignId ? '–' : name === null ? t('call.deletedCampaign') : '…');
}

/** The words of the search in a text, marked. @param {string} text @param {string} search */
export function marked(text, search) {
  const words = search.match(/[\p{L}\p{N}]+\*?/gu) ?? [];
  if (words.length === 0) return text;
  const plain = (/** @type {string} */ word) => word.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
  const isMeant = (/** @type {string} */ word) =>
    words.some((each) => (each.endsWith('*') ? plain(word).startsWith(plain(each.slice(0, -1))) : plain(word) === plain(each)));
  return text.split(/([\p{L}\p{N}\p{M}]+)/u).map((part) => (isMeant(part) ? html`<mark>${part}</mark>` : part));
}
