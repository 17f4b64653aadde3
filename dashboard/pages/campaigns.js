// All campaigns, with their state as it changes.
import { html } from '../lib/ui.js';
import { may } from '../lib/api.js';
import { useEvents, useList } from '../lib/data.js';
import { number, t } from '../lib/i18n.js';
import { pushQuery, setQuery, useQuery } from '../lib/router.js';
import { Icon } from '../components/icons.js';
import { Search } from '../components/search.js';
import { Badge, Time } from '../components/states.js';
import { Table } from '../components/table.js';

const STATUSES = ['draft', 'waiting', 'running', 'delayed', 'paused', 'stopped', 'completed', 'failed'];

export default function Campaigns() {
  const { name, status, active } = useQuery();
  const list = useList('/campaigns', { name, status, active }, (campaign) => campaign.campaignId);
  useEvents(['campaign.', 'call.ended'], () => list.refresh(), 2000);
  const columns = [
    { key: 'name', label: t('campaigns.name'), wide: true, render: (/** @type {any} */ c) => c.name },
    { key: 'status', label: t('campaigns.status'), render: (/** @type {any} */ c) => html`<${Badge} status=${c.status} />` },
    { key: 'dialed', label: t('campaigns.dialed'), render: (/** @type {any} */ c) => html`<${Dialed} campaign=${c} />` },
    { key: 'next', label: t('campaigns.next'), render: (/** @type {any} */ c) => html`<${Time} at=${c.nextRunAt} />` },
    { key: 'created', label: t('campaigns.created'), render: (/** @type {any} */ c) => html`<${Time} at=${c.metadata.createdAt} />` },
    { key: 'schedule', label: t('campaigns.schedule'), optional: true, render: (/** @type {any} */ c) => scheduleText(c) },
  ];
  const filters = html`
    <${Search} label=${t('campaigns.search')} value=${name ?? ''} onSearch=${(/** @type {string} */ text) => setQuery({ name: text })} />
    <select aria-label=${t('campaigns.status')}
      onChange=${(/** @type {any} */ event) =>
        pushQuery(event.target.value === 'active' ? { status: undefined, active: 'true' } : { status: event.target.value, active: undefined })}>
      <option value="">${t('campaigns.anyStatus')}</option>
      <option value="active" selected=${!!active}>${t('campaigns.active')}</option>
      ${STATUSES.map((each) => html`<option value=${each} selected=${each === status}>${t(`status.${each}`)}</option>`)}
    </select>`;
  return html`
    <div class="head"><h1>${t('campaigns.title')}</h1>
      ${may('write') && html`<a class="button primary" href="/campaigns/new"><${Icon} name="plus" />${t('newCampaign.title')}</a>`}</div>
    <div class="stack"><${Table} label=${t('campaigns.title')} list=${list} columns=${columns} filters=${filters}
      rowKey=${(/** @type {any} */ c) => c.campaignId} href=${(/** @type {any} */ c) => `/campaigns/${c.campaignId}`}
      empty=${name || status || active ? t('campaigns.noMatch')
        : html`<p>${t('campaigns.none')}</p>
          ${may('write') && html`<a class="button" href="/campaigns/new">${t('newCampaign.title')}</a>`}`} /></div>`;
}

/** @param {{ campaign: any }} props */
function Dialed({ campaign: { startIndex, contactCount, status } }) {
  const share = status === 'completed' ? 1 : contactCount ? startIndex / contactCount : 0;
  return html`<span class="dialed"><span class="meter" aria-hidden="true"><span style=${{ width: `${share * 100}%` }}></span></span>
    <span class="numeric">${t('campaigns.of', { done: number(status === 'completed' ? contactCount : startIndex), all: number(contactCount) })}</span></span>`;
}

/** @param {any} campaign */
export function scheduleText(campaign) {
  if (!campaign.startTime) return '–';
  const from = campaign.startTime.replace('T', ' '), to = campaign.endTime?.replace('T', ' ');
  return `${from}${to ? `–${to}` : ''} ${campaign.timezone ?? ''}`;
}
