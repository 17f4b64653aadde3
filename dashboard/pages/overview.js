// Today at a glance: figures, what is wrong, what runs, the latest calls; on an empty account the first steps.
import { html, useEffect, useMemo, useState } from '../lib/ui.js';
import { may } from '../lib/api.js';
import { useEvents, useResource } from '../lib/data.js';
import { dateTime, duration, money, number, t } from '../lib/i18n.js';
import { staticList } from '../lib/list.js';
import { outcomeOf } from '../lib/outcome.js';
import { Icon } from '../components/icons.js';
import { Badge, callee, Facts, OutcomeBadge, Time } from '../components/states.js';
import { Table } from '../components/table.js';
import { Attention } from './attention.js';
import { startOfDay, useAnalytics, useEveryHalfMinute } from '../lib/analytics.js';
import { sum } from '../lib/figures.js';
import { Answered, HourChart, Outcomes } from './charts.js';
import { FirstSteps } from './first-steps.js';

export default function Overview() {
  const from = useToday();
  const today = useAnalytics({ groupBy: 'hour', startedAfter: from / 1000, startedBefore: from / 1000 + 86_400 });
  const live = useResource('/conversations', { status: 'in_progress', pageSize: 100 });
  const active = useResource('/campaigns', { active: true, pageSize: 5 });
  const services = useResource('/services');
  const agents = useResource('/agents', { pageSize: 1 });
  const campaigns = useResource('/campaigns', { pageSize: 1 });
  // Planned calls are left out.
  const [now, setNow] = useState(Date.now);
  const latest = useResource('/conversations', { startedBefore: Math.ceil(now / 1000) + 1, pageSize: 10 });
  useEvents(['call.'], () => live.reload(), 5000);
  useEvents(['call.'], () => setNow(Date.now()), 1000);
  useEveryHalfMinute(() => { today.reload(); services.reload(); });
  useEvents(['campaign.'], () => { active.reload(); campaigns.reload(); }, 1000);

  const isNew = campaigns.data && agents.data && latest.data && (campaigns.data.length === 0 || latest.data.length === 0);
  return html`
    <div class="head"><h1>${t('overview.title')}</h1>
      ${may('write') && html`<a class="button primary" href="/campaigns/new"><${Icon} name="plus" />${t('newCampaign.title')}</a>`}</div>
    <${Attention} services=${services.data} />
    ${isNew && may('write') && html`
      <${FirstSteps} hasAgent=${agents.data.length > 0} hasCall=${latest.data.length > 0} hasCampaign=${campaigns.data.length > 0} />`}
    ${!isNew && html`<${Figures} today=${today.rows} live=${live} />`}
    ${!today.isComplete && html`<p class="muted">${t('overview.counting')}</p>`}
    ${!isNew && today.rows && html`<div class="grid wide-first">
      <section class="card" aria-labelledby="by-hour"><h2 id="by-hour">${t('overview.byHour')}</h2><${HourChart} rows=${today.rows} from=${from} /></section>
      <section class="card" aria-labelledby="outcomes"><h2 id="outcomes">${t('overview.outcomes')}</h2>
        <${Outcomes} counts=${sum(today.rows).outcomes} /></section>
    </div>`}
    ${active.data?.length > 0 && html`
      <section class="stack" aria-labelledby="active">
        <div class="head"><h2 id="active">${t('overview.active')}</h2><a href="/campaigns?active=true">${t('overview.allCampaigns')}</a></div>
      <div class="grid">${active.data.map((/** @type {any} */ campaign) =>
        html`<${ActiveCampaign} key=${campaign.campaignId} campaign=${campaign} />`)}</div></section>`}
    ${latest.data?.length > 0 && html`
      <section class="stack" aria-labelledby="latest"><h2 id="latest">${t('overview.latest')}</h2><${LatestCalls} calls=${latest.data} /></section>`}`;
}

/** Midnight in the reader's zone; the next one once it has come. */
function useToday() {
  const [from, setFrom] = useState(startOfDay);
  useEffect(() => {
    const timer = setInterval(() => setFrom(startOfDay()), 60_000);
    return () => clearInterval(timer);
  }, []);
  return from;
}

/** @param {{ today: import('../lib/figures.js').Row[] | null, live: any }} props */
function Figures({ today, live }) {
  const count = live.data?.length;
  const liveText = count === undefined ? '…' : live.data.length === 100 ? t('overview.orMore', { n: 100 }) : number(count);
  const all = useMemo(() => today && sum(today), [today]);
  return html`<section class="card" aria-label=${t('overview.today')}><${Facts} large=${true} facts=${[
    [t('overview.live'), html`<span class=${count ? 'live-figure' : ''} role="status">${liveText}</span>`],
    all && [t('overview.calls'), number(all.calls)],
    all && [t('overview.answered'), html`<${Answered} of=${all} />`],
    all && [t('overview.length'), all.answered ? duration(all.talkSeconds / all.answered) : '–'],
    all?.currency && [t('overview.cost'), html`${money(all.cost, all.currency)}`],
    !!all?.latencyMs && [t('overview.latency'), html`<span title=${t('overview.latencyHelp')}>${t('overview.ms', { n: Math.round(all.latencyMs) })}</span>`],
  ]} />${all?.calls === 0 && html`<p class="muted">${t('overview.noCalls')} <a href="/analytics?days=last-week">${t('analytics.lastWeek')}</a></p>`}</section>`;
}

/** @param {{ campaign: any }} props */
function ActiveCampaign({ campaign: { campaignId, name, status, startIndex, contactCount, nextRunAt } }) {
  return html`<article class="card">
    <div class="head"><h3 class="ellipsis"><a href=${`/campaigns/${campaignId}`}>${name}</a></h3><${Badge} status=${status} /></div>
    <span class="meter" aria-hidden="true"><span style=${{ width: `${contactCount ? (startIndex / contactCount) * 100 : 0}%` }}></span></span>
    <p class="muted numeric">${t('overview.dialed', { done: startIndex, all: contactCount })}
      ${nextRunAt && html` · ${t('overview.next')} <${Time} at=${nextRunAt} />`}</p>
  </article>`;
}

/** @param {{ calls: any[] }} props */
function LatestCalls({ calls }) {
  const columns = [
    { key: 'number', label: t('overview.callWith'), render: callee },
    { key: 'outcome', label: t('calls.filters.outcome'), render: (/** @type {any} */ c) => html`<${OutcomeBadge} outcome=${outcomeOf(c)} />
      ${c.test && html` <span class="badge">${t('liveCalls.test')}</span>`}` },
    { key: 'agent', label: t('campaign.agent'), render: (/** @type {any} */ c) => c.agentName },
    { key: 'summary', label: t('overview.summary'), wide: true, render: (/** @type {any} */ c) => c.summary ?? '–' },
    { key: 'length', label: t('overview.lengthShort'), align: /** @type {const} */ ('end'),
      render: (/** @type {any} */ c) => (c.conversationDuration ? duration(c.conversationDuration) : '–') },
    { key: 'time', label: t('overview.time'),
      render: (/** @type {any} */ c) => html`<span title=${dateTime(c.startTimeUnix * 1000)}><${Time} at=${c.startTimeUnix * 1000} /></span>` },
  ];
  return html`<${Table} short=${true} label=${t('overview.latest')} list=${staticList(calls)} columns=${columns}
    rowKey=${(/** @type {any} */ c) => c.conversationId} href=${(/** @type {any} */ c) => `/calls/${c.conversationId}`} />`;
}
