// One campaign as it runs: its state and progress over its event stream, its contacts, and what one can do with it.
import { html, useEffect, useRef, useState } from '../lib/ui.js';
import { useList, useResource } from '../lib/data.js';
import { stream } from '../lib/events.js';
import { dateTime, number, t, time } from '../lib/i18n.js';
import { setQuery, useQuery } from '../lib/router.js';
import { Badge, Facts, Failure, Loading, Time } from '../components/states.js';
import { Table } from '../components/table.js';
import { CampaignActions } from './campaign-actions.js';
import { scheduleText } from './campaigns.js';
import { collectedValue } from './call-results.js';

const CONTACT_STATUSES = ['pending', 'in_progress', 'completed', 'failed', 'cancelled'];

/** @param {{ params: Record<string, string> }} props */
export default function Campaign({ params: { id } }) {
  const campaign = useResource(`/campaigns/${id}`);
  const agent = useResource(campaign.data ? `/agents/${campaign.data.agentId}` : null);
  const { status } = useQuery();
  const contacts = useList(`/campaigns/${id}/contacts`, { status }, (contact) => contact.phoneNumber);
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
    { key: 'contact', label: t('campaign.contact'), render: (/** @type {any} */ c) => c.name || c.phoneNumber },
    { key: 'phone', label: t('campaign.phone'), render: (/** @type {any} */ c) => html`<span class="numeric">${c.phoneNumber}</span>` },
    { key: 'status', label: t('campaign.outcome'), render: (/** @type {any} */ c) => html`<${Badge} status=${c.status} />` },
    { key: 'reason', label: t('campaign.reason'), render: (/** @type {any} */ c) => outcomeText(c) },
    { key: 'data', label: t('campaign.data'), wide: true,
      render: (/** @type {any} */ c) =>
        (c.dataCollected?.items ?? []).map((/** @type {any} */ item) => `${item.entity}: ${collectedValue(item)}`).join(', ') || '–' },
    { key: 'attempts', label: t('campaign.attempts'), align: /** @type {const} */ ('end'), render: (/** @type {any} */ c) => number(c.attempts) },
  ];
  return html`
    <div class="head"><div class="row"><h1>${present.name}</h1><${Badge} status=${present.status} /></div>
      <${CampaignActions} campaign=${present} onChange=${refresh} /></div>
    ${warning && html`<p class=${`alert ${present.status === 'failed' ? 'bad' : 'warn'}`}>${warning}</p>`}
    <div class="grid wide-first">
      <section class="card" aria-labelledby="progress"><h2 id="progress">${t('campaign.progress')}</h2><${Progress} campaign=${present} /></section>
      <section class="card" aria-labelledby="clock"><h2 id="clock">${t('campaign.clock')}</h2><${Clock} campaign=${present} agent=${agent.data} /></section>
    </div>
    <${LiveCalls} calls=${calls} />
    <section class="stack" aria-labelledby="contacts">
      <div class="head"><h2 id="contacts">${t('campaign.contacts')}</h2><a href=${`/calls?campaignId=${id}`}>${t('campaign.calls')}</a></div>
      <${Table} label=${t('campaign.contacts')} list=${contacts} columns=${columns} rowKey=${(/** @type {any} */ c) => c.phoneNumber}
        href=${(/** @type {any} */ c) => c.lastConversationId && `/calls/${c.lastConversationId}`} empty=${t('campaign.noContacts')}
        filters=${html`<div class="row" role="group" aria-label=${t('campaign.outcome')}>
          ${['', ...CONTACT_STATUSES].map((each) =>
            html`<button class="chip" aria-pressed=${each === (status ?? '')} onClick=${() => setQuery({ status: each })}>
              ${each ? t(`status.${each}`) : t('common.all')}</button>`)}
        </div>`} /></section>`;
}

/** @param {any} contact */
function outcomeText(contact) {
  if (contact.errorMessage) return t(`reason.${contact.errorMessage}`, { fallback: contact.errorMessage });
  return contact.voiceMailDetected ? t('campaign.voicemail') : '–';
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
    { key: 'cancelled', count: p.cancelled }, { key: 'inProgress', count: p.inProgress }, { key: 'pending', count: p.pending },
  ];
  const all = Math.max(1, campaign.contactCount), done = campaign.contactCount - p.pending - p.inProgress;
  const words = t('campaign.progressText', { done, all: campaign.contactCount });
  return html`
    <p class="figure numeric" aria-live="off">${words}</p>
    <div class="segments" role="img" aria-label=${words}>
      ${parts.map(({ key, count }) => count > 0 && html`<span key=${key} class=${key} style=${{ width: `${(count / all) * 100}%` }}></span>`)}</div>
    <ul class="legend">${parts.map(({ key, count }) =>
      html`<li key=${key}><span class=${`dot ${key}`} aria-hidden="true"></span>
        ${t(`campaign.parts.${key}`)} <b class="numeric">${number(count)}</b></li>`)}</ul>`;
}

/** When the next calls are made. @param {{ campaign: any, agent: any }} props */
function Clock({ campaign, agent }) {
  const { pacing, nextRunAt, followUp } = campaign;
  const running = campaign.status === 'running';
  return html`<${Facts} facts=${[
    nextRunAt && [t('campaign.nextRun'), html`<${Time} at=${nextRunAt} /> <span class="muted">(${dateTime(nextRunAt)})</span>`],
    running && pacing && [t('campaign.pace'), t('campaign.perMinute', { count: number(Math.round(pacing.dialsPerMinute * 10) / 10) })],
    running && pacing?.expectedEnd && [t('campaign.expectedEnd'),
      html`<span title=${dateTime(pacing.expectedEnd)}>${t('campaign.around', { at: time(pacing.expectedEnd) })}</span>`],
    [t('campaign.schedule'), campaign.scheduled ? scheduleText(campaign) : t('campaign.noSchedule')],
    [t('campaign.followUps'), followUp.enabled
      ? t('campaign.followUpText', { n: followUp.attempts, minutes: followUp.intervalsMinutes.map(number).join(', ') }) : t('campaign.noFollowUps')],
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
