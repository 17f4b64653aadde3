// All calls in progress.
import { html, useEffect, useState } from '../lib/ui.js';
import { may } from '../lib/api.js';
import { useEvents, useList } from '../lib/data.js';
import { onAccountEvent } from '../lib/events.js';
import { t } from '../lib/i18n.js';
import { useQuery } from '../lib/router.js';
import { AGENTS, CAMPAIGNS } from '../components/picker.js';
import { Sound, useCallLine } from '../components/sound.js';
import { Badge, callee, person, Since } from '../components/states.js';
import { Table } from '../components/table.js';
import { Choice, Found } from './call-filters.js';
import { Refusal, State } from './call-now.js';

const READ_EVERY_MS = 2_000, WORDS_LENGTH = 60;

export default function LiveCalls() {
  const { agentId, campaignId, test } = useQuery(), isFiltered = !!(agentId || campaignId || test === 'true');
  // The words of a call are only for those who may follow it.
  const [refusal, setRefusal] = useState(/** @type {any} */ (null)), isFollowed = may('live') && !refusal;
  const [heard, setHeard] = useState(/** @type {any} */ (null)), line = useCallLine();
  const list = useList('/calls/live', { agentId, campaignId, test: test === 'all' ? undefined : test || 'false', present: isFollowed || undefined },
    (call) => call.conversationId);
  useEffect(() => { if (list.error?.status === 403) setRefusal(list.error); }, [list.error]);
  useEvents(['call.'], () => list.refresh(), 1000);
  // No event tells of words, or of a test call.
  useEffect(() => { const timer = setInterval(() => document.hidden || list.refresh(), READ_EVERY_MS); return () => clearInterval(timer); }, [list.key]);
  // Calls whose agents want a person.
  const [wanted, setWanted] = useState(/** @type {string[]} */ ([]));
  // A call that ended leaves even where it is not in sight. If events were missed, all is read again.
  useEffect(() => onAccountEvent((event) => {
    const id = event?.data?.data?.conversationId;
    if (!event) list.restart();
    else if (event.type === 'call.ended') list.drop(id);
    else if (event.type === 'call.person_wanted') setWanted((/** @type {string[]} */ old) => [...old.slice(-99), id]);
  }), [list.key]);
  const columns = [
    { key: 'contact', label: t('calls.contact'), render: callee },
    ...(isFollowed ? [{ key: 'listen', label: t('callNow.listen'), render: (/** @type {any} */ c) => html`<${ListenButton} call=${c}
      isHeard=${line.kind && heard?.conversationId === c.conversationId} onListen=${() => { setHeard(c); line.listen(c.conversationId); }}
      onStop=${() => line.stop()} />` }] : []),
    { key: 'status', label: t('calls.filters.status'), render: status },
    { key: 'words', label: t('liveCalls.words'), wide: true, render: (/** @type {any} */ c) => words(c.present?.words) },
    { key: 'mood', label: t('liveCalls.mood'),
      render: (/** @type {any} */ c) => (c.present && c.answeredAt ? html`<${Badge} status=${c.present.mood} />` : '–') },
    { key: 'length', label: t('calls.length'), align: /** @type {const} */ ('end'),
      render: (/** @type {any} */ c) => (c.answeredAt ? html`<${Since} at=${c.answeredAt} />` : '–') },
    { key: 'agent', label: t('calls.filters.agentId'), render: (/** @type {any} */ c) => c.agentName },
    { key: 'campaign', label: t('calls.filters.campaignId'), render: (/** @type {any} */ c) => c.campaignName ?? '–' },
    { key: 'number', label: t('campaign.phone'), optional: true,
      render: (/** @type {any} */ c) => html`<span class="numeric">${c.phoneNumber ?? '–'}</span>` },
    { key: 'direction', label: t('calls.filters.direction'), optional: true, render: (/** @type {any} */ c) => t(`calls.${c.direction}`) },
  ];
  const waiting = list.rows.filter((call) => wanted.includes(call.conversationId) && !call.operator);
  const isKnown = list.rows.length > 0 || !list.hasMore;
  return html`
    <div class="head"><h1>${t('liveCalls.title')}</h1>
      <span class="muted" role="status">${isKnown && t(`liveCalls.${list.hasMore ? 'more' : 'count'}`, { n: list.rows.length })}</span></div>
    <div role="status" class=${waiting.length ? 'stack' : 'hidden'}>${waiting.map((call) => html`<p key=${call.conversationId} class="alert warn">
      <a href=${`/calls/${call.conversationId}`}>${t('liveCalls.wantsPerson', { agent: call.agentName, callee: callee(call) })}</a></p>`)}</div>
    ${(line.kind || line.problem) && html`<section class="card" aria-label=${t('callNow.listen')}>
      <div class="head"><p role="status" class="who">${line.line ? t('liveCalls.heard', { callee: callee(heard) }) : !line.problem && t('callNow.opening')}</p>
        <div class="actions"><a class="button" href=${`/calls/${heard.conversationId}`}>${t('liveCalls.open')}</a>
          <button onClick=${() => line.stop()}>${t(line.problem ? 'common.close' : 'callNow.stopListening')}</button></div></div>
      ${line.problem && html`<p class="alert bad" role="alert">${line.problem}</p>`}
      ${line.line && html`<${Sound} line=${line.line} />`}</section>`}
    <div class="stack">${refusal && html`<${Refusal} error=${refusal} onRetry=${() => setRefusal(null)} />`}
      <${Table} label=${t('liveCalls.title')} list=${list} columns=${columns}
      filters=${html`<${Found} name="agentId" value=${agentId} from=${AGENTS} any=${t('appointments.anyAgent')} bare=${true} />
        <${Found} name="campaignId" value=${campaignId} from=${CAMPAIGNS} any=${t('appointments.anyCampaign')} bare=${true} />
        <${Choice} name="test" value=${test} any=${t('liveCalls.noTests')} label=${t('liveCalls.tests')} bare=${true}
          options=${[{ value: 'all', label: t('liveCalls.withTests') }, { value: 'true', label: t('liveCalls.onlyTests') }]} />`}
      rowKey=${(/** @type {any} */ c) => c.conversationId} href=${(/** @type {any} */ c) => `/calls/${c.conversationId}`}
      empty=${t(isFiltered ? 'calls.noMatch' : 'liveCalls.none')} /></div>`;
}

/** The end of the last words, which goes on. @param {{ speaker: string, text: string } | null | undefined} said */
function words(said) {
  if (!said) return '–';
  const text = said.text.length > WORDS_LENGTH ? `…${said.text.slice(-WORDS_LENGTH)}` : said.text;
  return `${t(`call.speakers.${said.speaker}`)}: ${text}`;
}

/** @param {any} call */
function status({ operator, answeredAt, present }) {
  if (operator) return html`<span class="badge warn">${t('callNow.theirs', { by: person(operator.by) ?? '' })}</span>`;
  if (answeredAt && present) return html`<${State} state=${present.state} />`;
  return html`<${Badge} status=${answeredAt ? 'in_progress' : 'ringing'} tone=${answeredAt ? 'live' : 'info'} />`;
}

/** @param {{ call: any, isHeard: boolean, onListen: () => void, onStop: () => void }} props */
const ListenButton = ({ call, isHeard, onListen, onStop }) => call.answeredAt && html`<button class="small"
  aria-label=${t(isHeard ? 'liveCalls.stopListening' : 'liveCalls.listenTo', { callee: callee(call) })}
  onClick=${isHeard ? onStop : onListen}>${t(isHeard ? 'liveCalls.stop' : 'callNow.listen')}</button>`;
