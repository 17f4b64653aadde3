// One campaign as it runs: its state and progress over its event stream, its contacts, and what one can do with it.
import { html, useEffect, useMemo, useRef, useState } from '../lib/ui.js';
import { useList, useResource } from '../lib/data.js';
import { stream } from '../lib/events.js';
import { distribution } from '../lib/figures.js';
import { dateTime, listed, number, sentence, soon, t } from '../lib/i18n.js';
import { readAll } from '../lib/list.js';
import { outcomeOf } from '../lib/outcome.js';
import { pushQuery, setQuery, useQuery } from '../lib/router.js';
import { Search } from '../components/search.js';
import { Badge, Facts, Failure, Loading, OutcomeBadge, Time } from '../components/states.js';
import { Table } from '../components/table.js';
import { FiguresCard } from './analytics.js';
import { CampaignActions } from './campaign-actions.js';
import { scheduleText } from './campaigns.js';
import { collectedValue, valueText } from './call-results.js';
import { Bars } from './charts.js';

const CONTACT_STATUSES = ['pending', 'in_progress', 'completed', 'failed', 'cancelled'], SHOWN = 6, NAMED = 20;

/** @param {{ params: Record<string, string> }} props */
export default function Campaign({ params: { id } }) {
  const campaign = useResource(`/campaigns/${id}`);
  const agent = useResource(campaign.data ? `/agents/${campaign.data.agentId}` : null);
  const { status, search } = useQuery();
  const contacts = useList(`/campaigns/${id}/contacts`, { status, search }, (contact) => contact.phoneNumber);
  const { state, calls } = useCampaignStream(id, campaign.reload, contacts);
  // What the stream said last stands over what was read before.
  const present = campaign.data && { ...campaign.data, ...state };
  useEffect(() => { if (present) document.title = `${present.name} · Ringback`; }, [present?.name]);
  if (campaign.error) return html`<h1>${t('campaign.title')}</h1><${Failure} error=${campaign.error} onRetry=${campaign.reload} />`;
  // The same elements as below, so that the focus stays on the heading.
  if (!present) return html`<div class="head"><div class="row"><h1>${t('campaign.title')}</h1></div></div><${Loading} />`;

  const warning = state?.reason ?? campaign.warning;
  const refresh = () => { campaign.reload(); contacts.refresh(); };
  const columns = [
    { key: 'contact', label: t('campaign.contact'), render: (/** @type {any} */ c) => (c.doNotCall
      ? html`${c.name || c.phoneNumber} <span class="badge warn">${t('doNotCall.short')}</span>` : c.name || c.phoneNumber) },
    { key: 'outcome', label: t('campaign.outcome'), render: (/** @type {any} */ c) => html`<${OutcomeBadge} outcome=${outcomeOf(c, present.status)} />` },
    { key: 'phone', label: t('campaign.phone'), render: (/** @type {any} */ c) => html`<span class="numeric">${c.phoneNumber}</span>` },
    { key: 'data', label: t('campaign.data'), wide: true,
      render: (/** @type {any} */ c) =>
        (c.dataCollected?.items ?? []).map((/** @type {any} */ item) => `${item.entity}: ${collectedValue(item)}`).join(', ') || '–' },
    { key: 'attempts', label: t('campaign.attempts'), align: /** @type {const} */ ('end'), render: (/** @type {any} */ c) => number(c.attempts) },
  ];
  return html`
    <div class="head"><div class="row"><h1>${present.name}</h1><${Badge} status=${present.status} /></div>
      <${CampaignActions} campaign=${present} onChange=${refresh} /></div>
    ${warning && html`<p class=${`alert ${present.status === 'failed' ? 'bad' : 'warn'}`}>${sentence(warning)}</p>`}
    <div class="grid wide-first">
      <section class="card" aria-labelledby="progress"><h2 id="progress">${t('campaign.progress')}</h2><${Progress} campaign=${present} /></section>
      <section class="card" aria-labelledby="clock"><h2 id="clock">${t('campaign.clock')}</h2><${Clock} campaign=${present} agent=${agent.data} /></section>
    </div>
    <${LiveCalls} calls=${calls} />
    ${present.startIndex > 0 && html`<div class="grid two"><${FiguresCard} of="campaign" id=${id} />
      <${CameOut} id=${id} isRunning=${present.status === 'running'} /></div>`}
    <section class="stack" aria-labelledby="contacts">
      <div class="head"><h2 id="contacts">${t('campaign.contacts')}</h2><a href=${`/calls?campaignId=${id}`}>${t('campaign.calls')}</a></div>
      <${Table} label=${t('campaign.contacts')} list=${contacts} columns=${columns} rowKey=${(/** @type {any} */ c) => c.phoneNumber}
        href=${(/** @type {any} */ c) => c.lastConversationId && `/calls/${c.lastConversationId}`}
        empty=${t(search ? 'campaign.noMatch' : 'campaign.noContacts')}
        filters=${html`<${Search} label=${t('campaign.search')} value=${search ?? ''} onSearch=${(/** @type {string} */ text) => setQuery({ search: text })} />
        <div class="row" role="group" aria-label=${t('campaign.outcome')}>
          ${['', ...CONTACT_STATUSES].map((each) =>
            html`<button class="chip" aria-pressed=${each === (status ?? '')} onClick=${() => pushQuery({ status: each })}>
              ${each ? contactStatus(each, present.status) : t('common.all')}</button>`)}
        </div>`} /></section>`;
}

/** @param {string} status @param {string} campaignStatus */
const contactStatus = (status, campaignStatus) =>
  t(status === 'failed' ? 'campaign.parts.failed' : status === 'pending' ? outcomeOf({ status }, campaignStatus).text : `status.${status}`);

/**
 * What was collected from the people who were reached, and who of them is on the do-not-call list by now.
 * @param {{ id: string, isRunning: boolean }} props
 */
function CameOut({ id, isRunning }) {
  const [found, setFound] = useState(/** @type {{ rows: any[], isWhole: boolean } | null} */ (null)), [round, setRound] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    readAll(`/campaigns/${id}/contacts`, { status: 'completed' }, controller.signal).then(setFound, () => {});
    const timer = isRunning ? setTimeout(() => setRound((/** @type {number} */ n) => n + 1), 30_000) : undefined;
    return () => { controller.abort(); clearTimeout(timer); };
  }, [id, isRunning, round]);
  const entities = useMemo(() => distribution(found?.rows ?? []), [found]);
  const out = (found?.rows ?? []).filter(({ doNotCall }) => doNotCall);
  return html`<section class="card" aria-labelledby="came-out"><h2 id="came-out">${t('campaign.cameOut')}</h2>
    ${entities.map(({ entity, type, count, unconfirmed, values }) => html`<div key=${entity}><h3>${entity} <span class="hint numeric">
      ${t('campaign.collected', { n: count })}${unconfirmed > 0 && `, ${t('campaign.unconfirmed', { n: unconfirmed })}`}</span></h3>
      <${Bars} bars=${[...values.slice(0, SHOWN).map(({ value, count }) => ({ label: valueText(type, value), count })),
        ...(values.length > SHOWN ? [{ label: t('campaign.otherValues', { n: values.length - SHOWN }),
          count: values.slice(SHOWN).reduce((all, { count }) => all + count, 0) }] : [])]} /></div>`)}
    ${found && entities.length === 0 && html`<p class="muted">${t('campaign.nothingCollected')}</p>`}
    ${found && html`<div><h3>${t('campaign.optedOut', { n: out.length })}</h3>${out.length > 0 && html`<ul class="row">
      ${out.slice(0, NAMED).map((c) => html`<li key=${c.phoneNumber}><a href=${`/calls/${c.lastConversationId}`}>${c.name || c.phoneNumber}</a></li>`)}
      ${out.length > NAMED && html`<li class="muted">${t('campaign.more', { n: out.length - NAMED })}</li>`}</ul>`}</div>`}
    ${found && !found.isWhole && html`<p class="help">${t('campaign.firstOnly', { n: found.rows.length })}</p>`}</section>`;
}

/**
 * The campaign's own stream: the latest state, and the calls in progress.
 * @param {string} id @param {() => void} reload @param {import('../lib/data.js').List} contacts
 */
function useCampaignStream(id, reload, contacts) {
  const [state, setState] = useState(/** @type {any} */ (null));
  const [calls, setCalls] = useState(/** @type {Map<string, any>} */ (new Map()));
  const latest = useRef(contacts);
  latest.current = contacts;
  useEffect(() => {
    let timer = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined), status = '';
    const refreshSoon = () => { timer ??= setTimeout(() => { timer = undefined; latest.current.refresh(); }, 700); };
    const stop = stream(`/campaigns/${id}/events`, ({ type, data }) => {
      if (type === 'campaign') {
        // The schedule and the pace are not in the stream.
        if (status && status !== data.status) reload();
        status = data.status;
        setState(data);
      } else {
        setCalls((/** @type {Map<string, any>} */ old) => {
          const next = new Map(old);
          if (data.status === 'in_progress') next.set(data.conversationId, data);
          else next.delete(data.conversationId);
          return next;
        });
      }
      refreshSoon();
    }, { onMissed: () => { setCalls(new Map()); reload(); refreshSoon(); } });
    const pace = setInterval(() => status === 'running' && !document.hidden && reload(), 15_000);
    return () => { stop(); clearTimeout(timer); clearInterval(pace); };
  }, [id]);
  return { state, calls };
}

/** @param {{ campaign: any }} props */
function Progress({ campaign }) {
  const p = campaign.progress ?? { pending: campaign.contactCount, inProgress: 0, completed: 0, failed: 0, cancelled: 0, voicemail: 0 };
  const parts = [
    { key: 'reached', count: p.completed - p.voicemail }, { key: 'voicemail', count: p.voicemail }, { key: 'failed', count: p.failed },
    { key: 'cancelled', count: p.cancelled }, { key: 'inProgress', count: p.inProgress },
    { key: 'pending', count: p.pending, name: campaign.status === 'stopped' && 'campaign.notCalled' },
  ];
  const all = Math.max(1, campaign.contactCount), done = campaign.contactCount - p.pending - p.inProgress;
  const words = t('campaign.progressText', { done, all: campaign.contactCount });
  return html`
    <p class="figure numeric" aria-live="off">${words}</p>
    <div class="segments" role="img" aria-label=${words}>
      ${parts.map(({ key, count }) => count > 0 && html`<span key=${key} class=${key} style=${{ width: `${(count / all) * 100}%` }}></span>`)}</div>
    <ul class="legend">${parts.map(({ key, count, name }) =>
      html`<li key=${key}><span class=${`dot ${key}`} aria-hidden="true"></span>
        ${t(name || `campaign.parts.${key}`)} <b class="numeric">${number(count)}</b></li>`)}</ul>`;
}

/** When the next calls are made. @param {{ campaign: any, agent: any }} props */
function Clock({ campaign, agent }) {
  const { pacing, nextRunAt, followUp } = campaign;
  const running = campaign.status === 'running';
  return html`<${Facts} facts=${[
    nextRunAt && [t('campaign.nextRun'), html`<${Time} at=${nextRunAt} /> <span class="muted">(${dateTime(nextRunAt)})</span>`],
    running && pacing && [t('campaign.pace'), t('campaign.perMinute', { count: number(Math.round(pacing.dialsPerMinute * 10) / 10) })],
    running && pacing?.expectedEnd && [t('campaign.expectedEnd'),
      html`<span title=${dateTime(pacing.expectedEnd)}>${t('campaign.around', { at: soon(pacing.expectedEnd) })}</span>`],
    [t('campaign.schedule'), campaign.scheduled ? scheduleText(campaign) : t('campaign.noSchedule')],
    [t('campaign.followUps'), followUp.enabled
      ? t('campaign.followUpText', { n: followUp.attempts, after: t('campaign.after', { n: Math.max(...followUp.intervalsMinutes),
        minutes: listed(followUp.intervalsMinutes.map(number)) }) }) : t('campaign.noFollowUps')],
    campaign.maxConcurrentCalls && [t('campaign.atOnce'), number(campaign.maxConcurrentCalls)],
    [t('campaign.agent'), html`<a href=${`/agents/${campaign.agentId}`}>${agent?.name ?? '…'}</a>`],
  ]} />`;
}

/** @param {{ calls: Map<string, any> }} props */
function LiveCalls({ calls }) {
  if (calls.size === 0) return null;
  const shown = [...calls.values()].slice(0, 12);
  return html`<section class="stack" aria-labelledby="live"><h2 id="live">${t('campaign.live', { n: calls.size })}</h2>
    <ul class="live-calls">${shown.map((call) =>
      html`<li key=${call.conversationId}><a href=${`/calls/${call.conversationId}`}><span class="pulse" aria-hidden="true"></span>
      <span class="ellipsis">${call.contact?.name || call.contact?.phoneNumber}</span></a></li>`)}
      ${calls.size > shown.length && html`<li class="muted">${t('campaign.more', { n: calls.size - shown.length })}</li>`}</ul></section>`;
}
