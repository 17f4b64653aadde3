// All calls: filters in the address, one search for words, names and numbers, export of what is found.
import { html } from '../lib/ui.js';
import { address } from '../lib/api.js';
import { useDoNotCall, useEvents, useList } from '../lib/data.js';
import { dateTime, duration, money, number, t } from '../lib/i18n.js';
import { useLookup, useName } from '../lib/lookup.js';
import { delayOf, outcomeOf } from '../lib/outcome.js';
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
  const list = useList('/conversations', filters, (call) => call.conversationId), { rows, hasMore } = list;
  const oldest = rows.at(-1)?.startTimeUnix, blocked = useDoNotCall(oldest && Math.floor(oldest / DAY) * DAY * 1000);
  useEvents(['call.'], () => list.refresh(), 2000);
  const end = /** @type {const} */ ('end'), ofRecord = (/** @type {any} */ part) => (/** @type {any} */ c) => html`<${part} call=${c} />`;
  const columns = [
    { key: 'contact', label: t('calls.contact'), render: (/** @type {any} */ c) => (blocked.has(c.contactNumber)
      ? html`${callee(c)} <span class="badge warn">${t('doNotCall.short')}</span>` : callee(c)) },
    { key: 'outcome', label: t('calls.filters.outcome'), render: (/** @type {any} */ c) => html`<${CallOutcome} call=${c} />
      ${c.test && html` <span class="badge">${t('liveCalls.test')}</span>`}` },
    { key: 'time', label: t('calls.time'), render: (/** @type {any} */ c) => html`<${Time} at=${c.startTimeUnix * 1000} />` },
    { key: 'length', label: t('calls.length'), align: end, render: (/** @type {any} */ c) => length(c) },
    { key: 'agent', label: t('calls.filters.agentId'), render: (/** @type {any} */ c) => c.agentName },
    { key: 'summary', label: t(chosen.search ? 'calls.found' : 'calls.summary'), wide: true, render: (/** @type {any} */ c) => content(c, chosen.search) },
    { key: 'campaign', label: t('calls.filters.campaignId'), optional: true, render: ofRecord(CampaignName) },
    { key: 'mood', label: t('calls.filters.sentiment'), optional: true, render: ofRecord(Mood) },
    { key: 'cost', label: t('call.cost'), optional: true, align: end, render: ofRecord(CallCost) },
    { key: 'delay', label: t('overview.latency'), optional: true, align: end, render: ofRecord(Delay) },
    { key: 'direction', label: t('calls.filters.direction'), optional: true, render: (/** @type {any} */ c) => t(`calls.${c.direction}`) },
    { key: 'number', label: t('campaign.phone'), optional: true,
      render: (/** @type {any} */ c) => html`<span class="numeric">${c.contactNumber ?? '–'}</span>` },
    { key: 'own', label: t('calls.ownNumber'), optional: true, render: (/** @type {any} */ c) => html`<span class="numeric">${c.callerNumber ?? '–'}</span>` },
    { key: 'full', label: t('calls.fullTime'), optional: true,
      render: (/** @type {any} */ c) => html`<span class="numeric">${dateTime(c.startTimeUnix * 1000)}</span>` },
  ];
  return html`
    <div class="head"><div class="row"><h1>${t('calls.title')}</h1>
        <span class="muted" role="status">${(rows.length > 0 || !hasMore) && t(`liveCalls.${hasMore ? 'more' : 'count'}`, { n: rows.length })}</span></div>
      <div class="row">
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

/** @param {{ status: string }} call */
const isOver = ({ status }) => !['scheduled', 'in_progress'].includes(status);

/**
 * The record of a call that is over, which the list leaves out; read again once it has a summary.
 * @param {any} call @param {{ include?: string }} [query]
 */
const useRecord = (call, query) => useLookup(
  isOver(call) && `/conversations/${call.conversationId}`, query, `${call.status} ${call.summary !== undefined}`);

/** @param {{ call: any }} props */
export function CallOutcome({ call }) {
  const record = useRecord(call);
  if (isOver(call) && record === undefined) return html`<span class="muted">…</span>`;
  return html`<${OutcomeBadge} outcome=${outcomeOf(record ?? call)} />`;
}
/** @param {{ call: any }} props */
function Mood({ call }) {
  const mood = useRecord(call)?.sentiment?.sentiment_overall;
  return mood ? html`<${Badge} status=${mood} />` : '–';
}
/** @param {{ call: any }} props */
function CallCost({ call }) {
  const cost = useRecord(call)?.cost;
  return html`<span class="numeric">${cost ? money(Number(cost.total), cost.currency) : '–'}</span>`;
}
/** @param {{ call: any }} props */
function Delay({ call }) {
  const ms = delayOf(useRecord(call.conversationDuration > 0 ? call : { status: 'scheduled' }, { include: 'turns' })?.turns ?? []);
  return html`<span class="numeric">${ms === undefined ? '–' : t('overview.ms', { n: number(ms) })}</span>`;
}
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
