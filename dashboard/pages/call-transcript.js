// The transcript with what else happened, in one list in order of time.
import { html, useEffect, useMemo, useRef } from '../lib/ui.js';
import { nodeName } from '../lib/graph-text.js';
import { duration, t } from '../lib/i18n.js';
import { person } from '../components/states.js';
import { Bars } from './charts.js';

const STEPS = ['lastWordMs', 'turnEndMs', 'askedMs', 'firstTokenMs', 'firstAudioMs', 'playoutMs'];
const GOOD = ['answered', 'transferred', 'agent_changed', 'media_back'];
const BAD = ['transfer_failed', 'agent_transfer_failed', 'reply_broke_off', 'recogniser_lost', 'media_lost', 'stream_crashed', 'facts_lost',
  'transfer_unanswered'];
/** Details that the event's own text says. */
const SAID = [
  'rule', 'did', 'name', 'run', 'ok', 'ms', 'by', 'why', 'status', 'text', 'interrupt', 'verdict', 'atMs', 'cut', 'afterDialMs', 'carrierMs', 'agentName',
  'agentId', 'language', 'keys', 'key', 'digits', 'to', 'kind', 'from',
];

/** @typedef {{ at: number, key: string, turn?: any, event?: any }} Item */

/** At the same time, the user's words come before the moves in the graph that they cause, and those before the reply. @param {Item} item */
const rank = ({ turn, event }) => (turn ? (turn.speaker === 'agent' ? 3 : 1) : event.type === 'workflow_hop' && event.detail.cause !== 'begin' ? 2 : 0);

/**
 * Turns and events in order; an answer of a tool joins its beginning.
 * @param {any[]} turns @param {any[]} events @returns {Item[]}
 */
export function timeline(turns, events) {
  const answers = new Map(events.filter(({ type }) => type === 'tool_answered').map((event) => [event.detail.run, event]));
  const begun = new Set(events.filter(({ type }) => type === 'tool_began').map(({ detail }) => detail.run));
  /** @type {Item[]} */
  const items = events.flatMap((event, at) => {
    if (event.type === 'tool_answered' && begun.has(event.detail.run)) return [];
    const answer = event.type === 'tool_began' ? answers.get(event.detail.run) : undefined;
    return [{ at: event.atMs, key: `event ${at}`, event: answer ? { ...event, detail: { ...event.detail, ...answer.detail } } : event }];
  });
  return [...items, ...turns.map((turn) => ({ at: turn.startMs, key: `turn ${turn.number}`, turn }))].sort((a, b) => a.at - b.at || rank(a) - rank(b));
}

/**
 * @param {object} props
 * @param {any[]} props.turns
 * @param {any[]} props.events
 * @param {number | null} props.heard Number of the turn that is being heard.
 * @param {number | null} props.found Number of the turn that a search found.
 * @param {boolean} props.isLive
 * @param {((ms: number) => void) | null} props.onHear Null without a recording.
 * @param {import('../lib/graph.js').Graph} props.graph Of the agent.
 */
export function Transcript({ turns, events, heard, found, isLive, onHear, graph }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const items = useMemo(() => timeline(turns, events), [turns, events]);
  const wasAtEnd = useRef(true);
  useEffect(() => {
    if (heard !== null) list.current?.querySelector('.heard')?.scrollIntoView({ block: 'nearest', behavior: 'smooth' });
  }, [heard]);
  useEffect(() => {
    if (found !== null) list.current?.querySelector('.found')?.scrollIntoView({ block: 'center' });
  }, [found]);
  // A live call is followed unless somebody scrolled back.
  useEffect(() => {
    const element = list.current;
    if (isLive && element && wasAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [items.length, isLive]);
  const onScroll = (/** @type {any} */ { currentTarget: e }) => { wasAtEnd.current = e.scrollTop + e.clientHeight > e.scrollHeight - 40; };
  const box = isLive ? { class: 'transcript is-live', role: 'log', tabindex: 0 } : { class: 'transcript', role: 'group' };
  return html`<div ...${box} ref=${list} onScroll=${onScroll} aria-label=${t('call.transcript')}><ol>
    ${items.map(({ key, turn, event }) => (turn
      ? html`<${Turn} key=${key} turn=${turn} isHeard=${turn.number === heard} isFound=${turn.number === found} onHear=${onHear} />`
      : html`<${Event} key=${key} event=${event} graph=${graph} />`))}
  </ol></div>`;
}

/** A time in the call; with a recording, a button that plays from there. @param {{ text: string, ms: number, onHear: ((ms: number) => void) | null }} props */
export const At = ({ text, ms, onHear }) => (onHear
  ? html`<button class="plain at numeric" aria-label=${t('call.hearFrom', { at: text })} onClick=${() => onHear(ms)}>${text}</button>`
  : html`<span class="at numeric">${text}</span>`);

/** @param {{ turn: any, isHeard: boolean, isFound: boolean, onHear: ((ms: number) => void) | null }} props */
function Turn({ turn, isHeard, isFound, onHear }) {
  const { speaker, words, intended, latency } = turn;
  const rest = turn.interrupted && intended ? (intended.startsWith(words) ? intended.slice(words.length) : ` ${intended}`) : '';
  const onClick = (/** @type {any} */ event) => {
    if (!onHear || event.target.closest('button, details') || String(getSelection())) return;
    onHear(turn.startMs);
  };
  return html`<li class=${`turn ${speaker}${isHeard ? ' heard' : ''}${isFound ? ' found' : ''}${onHear ? ' playable' : ''}`}
    aria-current=${isHeard ? 'true' : null} onClick=${onClick}>
    <${At} text=${duration(Math.floor(turn.startMs / 1000))} ms=${turn.startMs} onHear=${onHear} />
    <div><b class="speaker">${t(`call.speakers.${speaker}`)}</b>
      <p>${words}${rest && html`<span class="hidden"> (${t('call.notHeard')}) </span><del>${rest}</del>`}
        ${!words && !rest && html`<span class="muted">${t('call.noWords')}</span>`}</p>
      ${(turn.interrupted || turn.damaged) && html`<p class="help">${turn.interrupted && t('call.interrupted')} ${turn.damaged && t('call.damaged')}</p>`}
      ${latency && html`<${Latency} latency=${latency} turn=${turn} />`}
      ${turn.passages && html`<${Passages} passages=${turn.passages} />`}
    </div></li>`;
}

/** Passages of the agent's documents that the model was given. @param {{ passages: any[] }} props */
function Passages({ passages }) {
  return html`<details class="latency"><summary>${t('call.passages', { n: passages.length })}</summary>
    ${passages.map(({ document, heading, text }, at) => html`<p key=${at} class="passage">
      <b>${[document, heading].filter(Boolean).join(' – ')}</b> ${text}</p>`)}</details>`;
}

/** @param {{ latency: any, turn: any }} props */
function Latency({ latency, turn }) {
  const steps = STEPS.filter((step) => latency[step] !== undefined).sort((a, b) => latency[a] - latency[b]);
  return html`<details class="latency"><summary class="numeric">${t('call.answeredAfter', { n: latency.playoutMs })}</summary>
    <p class="help">${t('call.latencyHelp')} ${latency.speculated && t('call.speculated')} ${latency.filled && t('call.filled')}</p>
    <${Bars} bars=${steps.map((step) => ({ label: t(`call.steps.${step}`), count: latency[step] }))} />
    <p class="help">${[turn.model, turn.voice, turn.tokens && t('call.tokens', turn.tokens)].filter(Boolean).join(' · ')}</p></details>`;
}

/** @param {{ event: any, graph: import('../lib/graph.js').Graph }} props */
function Event({ event: { type, atMs, detail = {} }, graph }) {
  const tone = BAD.includes(type) || detail.ok === false || detail.by === 'fault' ? 'bad' : GOOD.includes(type) || detail.ok ? 'good' : '';
  const others = Object.entries(detail).filter(([name]) => !SAID.includes(name) && !(type === 'operator_left' && name === 'reason'));
  return html`<li class=${`call-event ${tone}`}><${At} text=${duration(Math.floor(atMs / 1000))} ms=${atMs} onHear=${null} />
    <div><span class="mark" aria-hidden="true"></span>${eventText(type, detail, graph)}
      ${type.includes('tool') && html` <span class="tool-input">${brief(detail.arguments)}</span>`}
      ${(detail.ms > 0 || (detail.ms === 0 && type !== 'workflow_hop')) && html` <span class="numeric">${t('overview.ms', { n: detail.ms })}</span>`}
      ${others.length > 0 && html`<details><summary>${t('call.details')}</summary>
        <pre tabindex="0">${others.map(([name, value]) => `${name}: ${said(value)}`).join('\n')}</pre></details>`}
    </div></li>`;
}

/** The beginning of a tool's arguments. @param {any} given */
function brief(given) {
  const text = given && typeof given === 'object' ? Object.entries(given).map(([name, value]) => `${name}: ${said(value)}`).join(', ') : String(given ?? '');
  return text.length > 120 ? `${text.slice(0, 120)} …` : text;
}

/** @param {any} value */
const said = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

/** @param {string} type @param {any} given @param {import('../lib/graph.js').Graph} graph */
function eventText(type, given, graph) {
  if (type === 'workflow_hop') {
    return t('call.events.workflow_hop', { way: [given.from, given.to].filter(Boolean).map((id) => nodeName(graph, id)).join(' → ') });
  }
  const detail = { ...given, by: person(given.by) };
  const text = t(`call.events.${type}`, { ...detail, fallback: type.replaceAll('_', ' ') });
  if (type === 'who_answered') return t(`call.verdicts.${detail.verdict}`, { fallback: String(detail.verdict) });
  if (type === 'operator_left') return t(`callNow.left.${detail.reason}`, { ...detail, fallback: text });
  if (type === 'tool_began') return `${text} – ${t(detail.ok === undefined ? 'call.toolOpen' : detail.ok ? 'call.toolOk' : 'call.toolFailed')}`;
  if (type === 'ended') {
    const by = detail.by && t(`call.endedBy.${detail.by}`, { fallback: detail.by }),
      why = detail.why && t(`call.endedWhy.${detail.why}`, { fallback: detail.why });
    return [text, by, why].filter(Boolean).join(' – ');
  }
  return text;
}
