// What a call came to: facts, analysis, collected data, cost.
import { html } from '../lib/ui.js';
import { useResource } from '../lib/data.js';
import { dateTime, duration, money, number, t } from '../lib/i18n.js';
import { outcomeOf } from '../lib/outcome.js';
import { Badge, Facts } from '../components/states.js';
import { At } from './call-transcript.js';

/** The outcome in words, with the service's own. @param {any} call */
function callOutcome(call) {
  const { text, rest } = outcomeOf(call);
  return [text && t(text), rest].filter(Boolean).join(': ');
}

/** @param {{ call: any, events: any[] }} props */
export function CallFacts({ call, events }) {
  const campaign = useResource(call.campaignId ? `/campaigns/${call.campaignId}` : null);
  // The agent of a test was perhaps never saved.
  const tried = useResource(call.test ? `/agents/${call.agentId}` : null), isSaved = !call.test || tried.data;
  const outcome = !['scheduled', 'in_progress'].includes(call.status) && callOutcome(call), { agentId, agentVersion } = call;
  return html`<section class="card" aria-labelledby="call-facts"><h2 id="call-facts">${t('call.facts')}</h2><${Facts} facts=${[
    outcome && [t('call.outcome'), outcome],
    events.some(({ type }) => type === 'opted_out') && [t('doNotCall.short'), html`<span class="badge warn">${t('call.events.opted_out')}</span>`],
    [t('call.agent'), isSaved ? html`<a href=${`/agents/${agentId}`}>${call.agentName}</a>
      ${agentVersion && html` <span class="muted">${t('call.version', { n: agentVersion })}</span>`}` : call.agentName],
    call.campaignId && [t('call.campaign'),
      html`<a href=${`/campaigns/${call.campaignId}`}>${campaign.data?.name ?? (campaign.error ? t('call.deletedCampaign') : '…')}</a>`],
    [t('calls.filters.direction'), t(`calls.${call.direction}`)],
    [t(call.status === 'scheduled' ? 'call.due' : 'call.started'), dateTime(call.startTimeUnix * 1000)],
    call.conversationDuration > 0 && [t('calls.length'), html`<span class="numeric">${duration(call.conversationDuration)}</span>`],
    call.contactNumber && [t('call.theirNumber'),
      html`<a class="numeric" href=${`/calls?phoneNumber=${encodeURIComponent(call.contactNumber)}`}>${call.contactNumber}</a>`],
    call.callerNumber && [t('calls.ownNumber'), html`<span class="numeric">${call.callerNumber}</span>`],
    call.carrier && [t('call.carrier'), t(`agentFields.values.${call.carrier}`, { fallback: call.carrier })],
  ]} /></section>`;
}

/** Fields of the other person at the start of the call. @param {{ call: any }} props */
export function CalleeFields({ call: { variables } }) {
  const fields = Object.entries(variables ?? {}).filter(([, value]) => value !== null && value !== '');
  if (fields.length === 0) return null;
  return html`<section class="card" aria-labelledby="callee"><h2 id="callee">${t('calls.contact')}</h2>
    <${Facts} facts=${fields.map(([name, value]) => [name, String(value)])} /></section>`;
}

/** @param {{ call: any, onHear: ((ms: number) => void) | null }} props */
export function Analysis({ call, onHear }) {
  const { sentiment, keyMoments = [], issues = [] } = call;
  const isAwaited = !call.analysedBy;
  if (isAwaited && (call.test || call.status !== 'completed')) return null;
  return html`<section class="card" aria-labelledby="analysis"><div class="head"><h2 id="analysis">${t('call.analysis')}</h2>
      ${sentiment?.sentiment_overall && html`
        <span title=${t('call.score', { score: number(sentiment.sentiment_score) })}><${Badge} status=${sentiment.sentiment_overall} /></span>`}</div>
    ${isAwaited && html`<p class="muted">${t('call.notYetAnalysed')}</p>`}
    ${call.summary && html`<p>${call.summary}</p>`}
    ${issues.length > 0 && html`<div><h3>${t('call.issues')}</h3>
      <ul class="plain-list">${issues.map((/** @type {string} */ issue) => html`<li>${issue}</li>`)}</ul></div>`}
    ${keyMoments.length > 0 && html`<div><h3>${t('call.keyMoments')}</h3><ul class="moments">
      ${keyMoments.map((/** @type {any} */ moment) => html`<${Moment} moment=${moment} onHear=${onHear} />`)}</ul></div>`}
    ${!isAwaited && html`<p class="help">${t(`call.analysedBy.${call.analysedBy}`)}</p>`}</section>`;
}

/** @param {{ moment: any, onHear: ((ms: number) => void) | null }} props */
function Moment({ moment: { label, text, timestamp }, onHear }) {
  const [minutes, seconds] = String(timestamp).split(':').map(Number), ms = (minutes * 60 + seconds) * 1000;
  const name = t(`call.moments.${label}`, { fallback: String(label).replaceAll('_', ' ') });
  return html`<li><${At} text=${duration(ms / 1000)} ms=${ms} onHear=${onHear} /><span><b>${name}</b><br />${text}</span></li>`;
}

/** A value in words. @param {string | undefined} type @param {string} value */
export const valueText = (type, value) => (type === 'boolean' ? t(value.toLowerCase() === 'true' ? 'form.yes' : 'form.no') : value);

/** The value, marked if the callee neither said nor affirmed it. @param {any} item */
export const collectedValue = ({ type, value, confirmed }) =>
  (confirmed ? valueText(type, value) : t('call.unconfirmed', { value: valueText(type, value) }));

/** @param {{ call: any }} props */
export function Collected({ call }) {
  const items = call.dataCollected?.items ?? [], { appointmentScheduled: appointment = {} } = call;
  if (items.length === 0 && !appointment.dateTime) return null;
  return html`<section class="card" aria-labelledby="collected"><h2 id="collected">${t('call.collected')}</h2><${Facts} facts=${[
    ...items.map((/** @type {any} */ item) => [item.entity, collectedValue(item)]),
    appointment.dateTime && [t('call.appointment'), `${String(appointment.dateTime).replace('T', ' ')} ${appointment.timezone ?? ''}`],
  ]} /></section>`;
}

/** @param {{ cost: any }} props */
export function Cost({ cost }) {
  if (!cost) return null;
  const unit = (/** @type {any} */ part) => t('call.quantity', { n: Number(part.quantity), unit: t(`call.units.${part.unit}`, { fallback: part.unit }) });
  const amount = (/** @type {any} */ part) => (part.amount === undefined ? t('call.noPrice') : money(Number(part.amount), cost.currency));
  const rows = [...cost.parts, ...cost.unpriced];
  return html`<section class="card" aria-labelledby="cost">
    <div class="head"><h2 id="cost">${t('call.cost')}</h2><b class="figure numeric">${money(Number(cost.total), cost.currency)}</b></div>
    ${rows.length > 0 && html`<details><summary>${t('call.details')}</summary><dl class="pairs">
      ${rows.map((part) => html`<div><dt>${part.what}<br />${unit(part)}</dt><dd class="numeric">${amount(part)}</dd></div>`)}</dl></details>`}</section>`;
}
