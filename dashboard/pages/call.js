// One call: as it happens, and afterwards its transcript in step with its recording.
import { html, useEffect, useMemo, useRef, useState } from '../lib/ui.js';
import { del, may } from '../lib/api.js';
import { useCallRecord } from '../lib/call-record.js';
import { duration, t } from '../lib/i18n.js';
import { outcomeOf } from '../lib/outcome.js';
import { match, navigate, presentEntry, useQuery } from '../lib/router.js';
import { neighbours } from '../lib/rows.js';
import { confirm, toast, toastError } from '../components/dialog.js';
import { Player } from '../components/player.js';
import { Badge, callee, Failure, Loading, OutcomeBadge, Since } from '../components/states.js';
import { routes } from '../routes.js';
import { EndButton, LiveControls } from './call-live.js';
import { CallNow } from './call-now.js';
import { CallPath, useCallGraph } from './call-path.js';
import { Analysis, CalleeFields, CallFacts, Collected, Cost } from './call-results.js';
import { Transcript } from './call-transcript.js';

/** @param {{ params: Record<string, string> }} props */
export default function Call({ params: { id } }) {
  const { call, turns, events, error, refresh, readOn } = useCallRecord(id);
  const name = call && callee(call);
  useEffect(() => { if (name) document.title = `${name} · Ringback`; }, [name]);
  // The button that had the focus goes with the call's end.
  const before = useRef(/** @type {string | undefined} */ (undefined));
  useEffect(() => {
    if (before.current && document.activeElement === document.body) /** @type {HTMLElement | null} */ (document.querySelector('main h1'))?.focus();
    if (before.current === 'in_progress' && call && call.status !== before.current) toast(t('talk.over'));
    before.current = call?.status;
  }, [call?.status]);
  if (error && !call) return html`<h1>${t('call.title')}</h1><${Failure} error=${error} onRetry=${refresh} />`;
  // The same elements as below, so that the focus stays on the heading.
  if (!call) return html`<div class="head"><div class="row"><h1>${t('call.title')}</h1></div></div><${Loading} />`;

  const isLive = call.status === 'in_progress', waits = call.status === 'scheduled', isMissed = call.status === 'failed' || call.status === 'cancelled';
  async function remove() {
    if (!await confirm({ title: t('call.deleteTitle'), body: t('call.deleteBody'), action: t('common.delete'), danger: true })) return;
    try { await del(`/conversations/${id}`); toast(t('call.deleted')); navigate('/calls'); } catch (problem) { toastError(problem); }
  }
  return html`
    <${Around} id=${id} />
    <div class="head"><div class="row"><h1 tabindex="-1">${name}</h1>
        ${isMissed ? html`<${OutcomeBadge} outcome=${outcomeOf(call)} />` : html`<${Badge} status=${call.status} tone=${isLive ? 'live' : undefined} />`}
        ${call.test && html`<span class="badge">${t('liveCalls.test')}</span>`}
        ${isLive && html`<${Elapsed} call=${call} events=${events} />`}</div>
      <div class="actions">${isLive || waits ? html`<${EndButton} call=${call} onChange=${refresh} />`
        : may('admin') && html`<button onClick=${remove}>${t('common.delete')}</button>`}</div></div>
    ${error && html`<${Failure} error=${error} onRetry=${refresh} />`}
    <${Body} call=${call} turns=${turns} events=${events} isLive=${isLive} onChange=${refresh} onTurn=${readOn} />`;
}

/** The way back to the list that led here, and to the calls beside this one. @param {{ id: string }} props */
function Around({ id }) {
  const [, render] = useState({}), { from } = presentEntry();
  const { at, before, after, isLast } = neighbours(from?.list, `/calls/${id}`), needsMore = at >= 0 && isLast && from?.list.hasMore;
  useEffect(() => {
    if (!from || at < 0) return;
    Object.assign(from.list.place, { row: at });
    from.list.reopen(() => render({}));
    if (needsMore && !from.list.error) from.list.more();
  }, [id, needsMore]);
  if (!from) return null;
  const title = routes.find(({ path }) => match(path, from.path))?.title ?? 'calls.title';
  const step = (/** @type {string | undefined} */ to, /** @type {string} */ name) =>
    to && html`<a href=${to} data-replace rel=${name === 'before' ? 'prev' : 'next'}>${t(`call.${name}`)}</a>`;
  return html`<nav class="row around" aria-label=${t('call.around')}><a href=${from.path} data-back>${t('call.back', { title: t(title) })}</a>
    ${step(before, 'before')}${step(after, 'after')}</nav>`;
}

/** @param {{ call: any, turns: any[] | null, events: any[], isLive: boolean, onChange: () => void, onTurn: () => void }} props */
function Body({ call, turns, events, isLive, onChange, onTurn }) {
  const [heard, setHeard] = useState(/** @type {number | null} */ (null));
  const [hasSound, setHasSound] = useState(false);
  const [withEvents, setWithEvents] = useState(true);
  const [notTalking, setNotTalking] = useState('');
  const found = Number(useQuery().turn) || null;
  const control = useRef(/** @type {import('../components/player.js').PlayerControl | null} */ (null));
  const wasAnswered = call.conversationDuration > 0 || (turns?.length ?? 0) > 0, isOver = !isLive && call.status !== 'scheduled';
  const why = isLive ? 'nothingYet' : !isOver ? 'notDialed' : wasAnswered ? 'notKept' : 'notAnswered';
  const onHear = useMemo(() => (hasSound ? (/** @type {number} */ ms) => control.current?.play(ms) : null), [hasSound]);
  const graph = useCallGraph(call, events);
  const onTime = (/** @type {number} */ ms, /** @type {boolean} */ playing) => {
    const turn = turns?.findLast(({ startMs, endMs }) => startMs <= ms && ms < endMs + 400);
    if (playing || turn) setHeard(turn?.number ?? null);
  };
  return html`<div class="grid wide-first call">
    <div class="stack">
      ${isLive && html`<${CallNow} id=${call.conversationId} events=${events} onTurn=${onTurn} onGone=${onChange} onNotTalking=${setNotTalking} />`}
      ${isOver && wasAnswered && html`
        <${Player} path=${`/conversations/${call.conversationId}/recording`} isFresh=${Date.now() / 1000 - (call.endTimeUnix ?? 0) < 60}
        control=${control} onTime=${onTime} onReady=${setHasSound}>
          ${turns && html`<${Shares} turns=${turns} />${turns.some(isBabble) && html`<span>${t('player.babble')}</span>`}`}<//>`}
      <section class="card" aria-labelledby="transcript"><div class="head"><h2 id="transcript">${t('call.transcript')}</h2>
          <label class="check"><input type="checkbox" checked=${withEvents} onChange=${() => setWithEvents(!withEvents)} />${t('call.withEvents')}</label></div>
        ${turns?.length === 0 && html`<p class="muted">${t(`call.${why}`)}</p>`}
        ${turns ? html`<${Transcript} turns=${turns} events=${withEvents ? events : []} heard=${heard} found=${found} isLive=${isLive}
          onHear=${onHear} graph=${graph} />` : html`<${Loading} />`}
      </section>
      <${CallPath} call=${call} events=${events} graph=${graph} isLive=${isLive} onHear=${onHear} />
    </div>
    <div class="stack">
      ${isLive && html`<${LiveControls} id=${call.conversationId} notTalking=${notTalking} onChange=${onChange} />`}
      <${CalleeFields} call=${call} /><${CallFacts} call=${call} events=${events} />
      ${isOver && html`<${Analysis} call=${call} onHear=${onHear} />`}
      <${Collected} call=${call} /><${Cost} cost=${call.cost} />
    </div></div>`;
}

/** The time since the answer. @param {{ call: any, events: any[] }} props */
function Elapsed({ call, events }) {
  const answered = events.find(({ type }) => type === 'answered');
  const since = answered ? Date.parse(answered.recordedAt) : call.startTimeUnix * 1000;
  return html`<span class="muted">${answered ? '' : t('call.ringing')} <${Since} at=${since} /></span>`;
}

/** Whether a turn was spoken by the built-in voice. @param {any} turn */
const isBabble = ({ voice }) => /^babble(:|$)/.test(voice ?? '');

/** How long each side speaks, in words. @param {{ turns: any[] }} props */
function Shares({ turns }) {
  const seconds = (/** @type {string} */ speaker) => turns.filter((turn) => turn.speaker === speaker)
    .reduce((all, { startMs, endMs }) => all + endMs - startMs, 0) / 1000;
  return html`${['user', 'agent'].map((speaker) => html`<span key=${speaker}><span class=${`dot ${speaker}-mark`} aria-hidden="true"></span>${
    t(`call.${speaker}Speaks`, { time: duration(seconds(speaker)) })}</span> `)}`;
}
