// What a call does at this moment, and ways into it: listen, take over, give back.
import { html, useEffect, useRef, useState } from '../lib/ui.js';
import { may, post } from '../lib/api.js';
import { useCallFeed } from '../lib/call-feed.js';
import { useResource } from '../lib/data.js';
import { t } from '../lib/i18n.js';
import { useUnsaved } from '../lib/router.js';
import { toast } from '../components/dialog.js';
import { Fields } from '../components/form.js';
import { Sound, useCallLine } from '../components/sound.js';
import { Badge, errorText, Lacks, person } from '../components/states.js';
import { checkLength, CommandDialog } from './call-live.js';

const NOT_TALKING = ['ringing', 'menu', 'transferring', 'closing'], COMMANDS = /** @type {const} */ (['transfer', 'digits']);

/** Who has the call, as the record says. @param {any[]} events @returns {string | null} */
function operatorOf(events) {
  const last = events.findLast(({ type }) => type === 'operator_joined' || type === 'operator_left');
  return last?.type === 'operator_joined' ? last.detail.by : null;
}

/** What the agent waits for, and the words that are being said. @param {{ feed: import('../lib/call-feed.js').Feed }} props */
export function Present({ feed: { state, words } }) {
  const said = Object.entries(words).filter(([, { said, now }]) => said || now);
  return html`<div class="present">${said.map(([speaker, { said, now }]) => html`<p key=${speaker}>
      <b class=${`speaker ${speaker}`}>${t(`call.speakers.${speaker}`, { fallback: speaker })}</b> ${said} <span class="muted">${now}</span></p>`)}
    ${said.length === 0 && html`<p class="muted">${t(`callNow.${state ? 'noWords' : 'waiting'}`)}</p>`}</div>`;
}

/** @param {{ state?: string }} props */
export const State = ({ state }) => state && html`<${Badge} status=${t(`callNow.states.${state}`, { fallback: state })}
  tone=${state === 'operator' ? 'warn' : 'info'} />`;

/** Why calls cannot be followed. @param {{ error: any, onRetry: () => void }} props */
export function Refusal({ error, onRetry }) {
  const safeguards = useResource('/safeguards');
  if (!safeguards.data && !safeguards.error) return null;
  return html`<div class="alert warn"><span>${safeguards.data?.liveListening === false
    ? html`<a href="/safeguards">${t('callNow.off')}</a>` : errorText(error)}</span><button onClick=${onRetry}>${t('common.retry')}</button></div>`;
}

/**
 * @param {{ id: string, events: any[], onTurn: () => void, onGone: () => void, onNotTalking: (notTalking: string) => void }} props
 *   `onNotTalking`: told why the agent and the contact do not talk: a state, or empty if they do.
 */
export function CallNow({ id, events, onTurn, onGone, onNotTalking }) {
  if (!may('live')) return html`<section class="card" aria-labelledby="call-now"><h2 id="call-now">${t('callNow.title')}</h2>
    <${Lacks} scope="live" /></section>`;
  const feed = useCallFeed(id, onTurn, onGone), sound = useCallLine();
  const [isApart, setApart] = useState(false);
  const [note, setNote] = useState('');
  const [open, setOpen] = useState(/** @type {'transfer' | 'digits' | null} */ (null));
  const listenedBefore = useRef(false);
  const { kind, line, problem } = sound, isMine = kind === 'operate' && !!line, isHeard = kind === 'listen';
  const by = feed.by === undefined ? operatorOf(events) : feed.by;
  const notTalking = feed.refusal ? '' : by ? 'operator' : NOT_TALKING.find((state) => state === feed.state) ?? '';
  useUnsaved(isMine, t('callNow.leave'));
  // What was refused before may be possible now.
  useEffect(() => { onNotTalking(notTalking); if (!kind) sound.stop(); }, [notTalking]);
  const before = useRef(feed.state);
  useEffect(() => {
    if (isMine && before.current === 'transferring' && feed.state === 'operator') toast(t('callNow.stillMine'), { bad: true });
    before.current = feed.state;
  }, [feed.state]);

  const listen = (/** @type {boolean} */ apart) => sound.listen(id, apart);
  function takeOver() {
    listenedBefore.current = isHeard || sound.isConnectedSoon();
    return sound.takeOver(id, (code, reason) => { if (code !== 1000) toast(t('callNow.lost', { reason }), { bad: true }); });
  }
  function giveBack() {
    if (checkLength(note)) return;
    line?.leave({ event: 'giveBack', note });
    setNote('');
    if (listenedBefore.current) listen(isApart);
    else sound.stop();
  }
  /** @param {'transfer' | 'digits'} name @param {Record<string, any>} values */
  const send = async (name, values) => {
    await post(`/conversations/${id}/${name}`, values);
    toast(t(`live.done.${name}`));
  };
  if (feed.refusal?.status === 403) return html`<${Refusal} error=${feed.refusal} onRetry=${feed.retry} />`;
  const said = kind && !line ? 'opening' : isMine ? 'mine' : by ? 'theirs' : isHeard ? 'heard' : '';
  const why = !isMine && notTalking && notTalking !== 'operator' && t('callNow.notNow');
  return html`<section class=${`card${isMine ? ' on-air' : ''}`} aria-labelledby="call-now">
    <div class="head"><h2 id="call-now">${t('callNow.title')}</h2><${State} state=${feed.state} /></div>
    <${Present} feed=${feed} />
    <p role="status" class=${said ? 'who' : 'hidden'}>${said && t(`callNow.${said}`, { by: person(by) ?? '' })}</p>
    ${problem && html`<p class="alert bad" role="alert">${problem}</p>`}
    ${line && html`<${Sound} key=${kind} line=${line} />`}
    ${isMine && html`<${Fields} values=${{ note }} onChange=${(/** @type {string} */ _, /** @type {string} */ value) => setNote(value)} fields=${[
      { name: 'note', label: t('callNow.note'), type: 'textarea', rows: 2, help: t('callNow.noteHelp'), check: checkLength }]} />`}
    ${why && html`<p class="help" id="not-now">${why}</p>`}
    <div class="actions">
      <button key="take" class="primary" aria-disabled=${!isMine && (kind === 'operate' || !!notTalking)} aria-describedby=${why ? 'not-now' : null}
        onClick=${() => (isMine ? giveBack() : kind !== 'operate' && !notTalking && takeOver())}>${t(`callNow.${isMine ? 'giveBack' : 'takeOver'}`)}</button>
      ${isMine && COMMANDS.map((name) => html`<button key=${name} onClick=${() => setOpen(name)}>${t(`live.${name}`)}</button>`)}
      ${kind !== 'operate' && html`<button key="listen" aria-pressed=${isHeard} onClick=${() => (isHeard ? sound.stop() : listen(isApart))}>
          ${t(`callNow.${isHeard ? 'stopListening' : 'listen'}`)}</button>
        <label class="check"><input type="checkbox" checked=${isApart} onChange=${() => { setApart(!isApart); if (isHeard) listen(!isApart); }} />
          ${t('callNow.apart')}</label>`}
    </div>${open && isMine && html`<${CommandDialog} name=${open} help=${t(`callNow.${open}Help`)} isOperator=${true}
      onClose=${() => setOpen(null)} onSend=${(/** @type {any} */ values) => send(open, values)} />`}
    </section>`;
}
