// Appointments that agents booked in calls, by their start. The calendar has the last word on them.
import { html } from '../lib/ui.js';
import { useEvents, useList } from '../lib/data.js';
import { dateTime, t, time, zone } from '../lib/i18n.js';
import { pushQuery, useQuery } from '../lib/router.js';
import { dayEnd, dayStart } from '../lib/zoned.js';
import { AGENTS, CAMPAIGNS } from '../components/picker.js';
import { Table } from '../components/table.js';
import { startOfDay } from '../lib/analytics.js';
import { Choice, Found, Given } from './call-filters.js';

const NAMES = ['when', 'from', 'to', 'agentId', 'campaignId'];
const PROVIDERS = /** @type {Record<string, string>} */ ({ 'cal.com': 'Cal.com', google: 'Google' });

/** What the API is asked for: from today on, unless the address says otherwise. @param {Record<string, string>} query Of the address. */
function apiFilters({ when, from, to, agentId, campaignId }) {
  const isChosen = when === 'days';
  return { agentId, campaignId, from: isChosen ? from && dayStart(from) : when ? undefined : startOfDay(), to: isChosen ? to && dayEnd(to) : undefined };
}

export default function Appointments() {
  const query = useQuery(), { when, agentId, campaignId } = query;
  const list = useList('/appointments', apiFilters(query), (each) => each.appointmentId);
  useEvents(['call.ended'], () => list.refresh(), 1000);
  const chosen = NAMES.some((name) => query[name]);
  const filters = html`
    <${Choice} name="when" label=${t('appointments.when')} bare=${true} value=${when} any=${t('appointments.upcoming')}
      options=${['all', 'days'].map((value) => ({ value, label: t(`appointments.${value}`) }))} />
    <${Found} name="agentId" from=${AGENTS} value=${agentId} any=${t('appointments.anyAgent')} bare=${true} />
    <${Found} name="campaignId" from=${CAMPAIGNS} value=${campaignId} any=${t('appointments.anyCampaign')} bare=${true} />
    ${when === 'days' && ['from', 'to'].map((name) => html`<${Given} key=${name} name=${name} type="date" value=${query[name]} />`)}
    ${chosen && html`
      <button class="plain" onClick=${() => pushQuery(Object.fromEntries(NAMES.map((name) => [name, undefined])))}>${t('calls.clear')}</button>`}`;
  const isAll = when === 'all' && !agentId && !campaignId;
  const empty = chosen && !isAll ? t('appointments.noMatch')
    : html`<p>${t(isAll ? 'appointments.none' : 'appointments.noneAhead')}</p><a class="button" href="/agents">${t('appointments.toAgents')}</a>`;
  return html`<div class="head"><h1>${t('appointments.title')}</h1></div><p class="muted">${t('appointments.help')}</p>
    <div class="stack"><${Table} label=${t('appointments.title')} list=${list} columns=${columns()} filters=${filters} empty=${empty}
      rowKey=${(/** @type {any} */ each) => each.appointmentId} href=${(/** @type {any} */ each) => `/calls/${each.conversationId}`} /></div>`;
}

function columns() {
  /** @param {(appointment: any, row: any) => any} render */
  const of = (render) => (/** @type {any} */ row) => render(row.appointmentScheduled, row);
  return [
    { key: 'start', label: t('appointments.start'), render: of((at) => html`<${When} at=${at} />`) },
    { key: 'with', label: t('appointments.with'), render: of(({ attendee }, row) => attendee?.name || row.contactName || '–') },
    { key: 'number', label: t('campaign.phone'),
      render: of((_, { contactNumber }) => html`<span class="numeric">${contactNumber ?? t('calls.noNumber')}</span>`) },
    { key: 'state', label: t('campaigns.status'), render: of(({ confirmed }) => html`<${State} confirmed=${confirmed !== false} />`) },
    { key: 'agent', label: t('calls.filters.agentId'), render: of((_, { agentId, agentName }) => html`<a href=${`/agents/${agentId}`}>${agentName}</a>`) },
    { key: 'calendar', label: t('appointments.calendar'), optional: true, render: of(calendarText) },
    { key: 'notes', label: t('appointments.notes'), wide: true, render: of(({ description }) => description || '–') },
    { key: 'email', label: t('appointments.email'), optional: true, render: of(({ attendee }) => attendee?.email ?? '–') },
    { key: 'campaign', label: t('calls.filters.campaignId'), optional: true,
      render: of((_, { campaignId }) => (campaignId ? html`<a href=${`/campaigns/${campaignId}`}>${t('appointments.toCampaign')}</a>` : '–')) },
  ];
}

/** Begin and end in the reader's zone, with the time that was agreed on as its title. @param {{ at: any }} props */
function When({ at: { dateTime: start, endDateTime: end, timezone } }) {
  const agreed = timezone && timezone !== zone ? t('appointments.agreed', { at: start.slice(0, 16).replace('T', ' '), zone: timezone }) : null;
  return html`<time datetime=${start} title=${agreed}>${dateTime(start)}${end && `–${time(end)}`}</time>`;
}

/** @param {{ confirmed: boolean }} props */
const State = ({ confirmed }) => html`
  <span class=${`badge ${confirmed ? 'good' : 'warn'}`}>${t(`appointments.${confirmed ? 'booked' : 'unconfirmed'}`)}</span>`;

/** @param {any} appointment */
const calendarText = ({ provider, calendarId }) => [PROVIDERS[provider] ?? t('appointments.byMail'), calendarId].filter(Boolean).join(' · ');
