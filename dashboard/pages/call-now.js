// What a call does at this moment, and ways into it: listen, take over, give back.
import { html, useState } from '../lib/ui.js';
import { post } from '../lib/api.js';
import { useCallFeed } from '../lib/call-feed.js';
import { heardFormat } from '../lib/call-line.js';
import { t } from '../lib/i18n.js';
import { useUnsaved } from '../lib/router.js';
import { Sound, useLine } from '../components/sound.js';
import { Badge, errorText } from '../components/states.js';

const LOST = [1006, 1012], NOTE_LENGTH = 1000;

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

/** @param {{ id: string, events: any[], onTurn: () => void }} props */
export function CallNow({ id, events, onTurn }) {
  const feed = useCallFeed(id, onTurn), sound = useLine();
  const [isApart, setApart] = useState(false);
  const [note, setNote] = useState('');
  const { kind, line, problem } = sound, isMine = kind === 'operate' && !!line, isHeard = kind === 'listen';
  const by = feed.by === undefined ? operatorOf(events) : feed.by;
  useUnsaved(isMine, t('callNow.leave'));

  const ticket = (/** @type {string} */ purpose) => async () => (await post(`/conversations/${id}/live-tickets`, { for: purpose })).data.url;
  /** @param {boolean} apart */
  function listen(apart) {
    return sound.open('listen', {
      url: ticket('listen'), start: { event: 'start', format: heardFormat(), channels: apart ? 'apart' : 'mixed' }, isApart: apart,
      // The node of the call may have changed.
      onEnd: (code, reason) => (LOST.includes(code) ? setTimeout(() => listen(apart), 1000) : code !== 1000 && sound.stop(t('sound.failed', { reason }))),
    });
  }
  const takeOver = () => sound.open('operate', {
    url: ticket('operate'), start: { event: 'start', format: 'pcm_16000' }, withMicrophone: true, farewell: { event: 'giveBack' },
    onEnd: (code, reason) => (code === 1000 ? undefined : sound.stop(t('callNow.lost', { reason }))),
  });
  function giveBack() {
    line?.leave({ event: 'giveBack', note });
    setNote('');
    sound.stop();
  }
  if (feed.refusal?.status === 403) return html`<p class="alert warn">${errorText(feed.refusal)}</p>`;
  const said = kind && !line ? 'opening' : isMine ? 'mine' : by ? 'theirs' : isHeard ? 'heard' : '';
  return html`<section class=${`card${isMine ? ' on-air' : ''}`} aria-labelledby="call-now">
    <div class="head"><h2 id="call-now">${t('callNow.title')}</h2><${State} state=${feed.state} /></div>
    <${Present} feed=${feed} />
    <p role="status" class=${said ? 'who' : 'hidden'}>${said && t(`callNow.${said}`, { by })}</p>
    ${problem && html`<p class="alert bad" role="alert">${problem}</p>`}
    ${line && html`<${Sound} key=${kind} line=${line} />`}
    ${isMine && html`<div class="field"><label for="give-back-note">${t('callNow.note')} <span class="hint">${t('form.optional')}</span></label>
      <textarea id="give-back-note" rows="2" maxlength=${NOTE_LENGTH} value=${note} aria-describedby="give-back-help"
        onInput=${(/** @type {any} */ event) => setNote(event.target.value)}></textarea>
      <p class="help" id="give-back-help">${t('callNow.noteHelp')}</p></div>`}
    <div class="actions">
      <button key="take" class=${isMine ? 'danger' : 'primary'} aria-disabled=${kind === 'operate' && !line}
        onClick=${() => (isMine ? giveBack() : kind !== 'operate' && takeOver())}>${t(`callNow.${isMine ? 'giveBack' : 'takeOver'}`)}</button>
      ${kind !== 'operate' && html`<button key="listen" aria-pressed=${isHeard} onClick=${() => (isHeard ? sound.stop() : listen(isApart))}>
          ${t(`callNow.${isHeard ? 'stopListening' : 'listen'}`)}</button>
        <label class="check"><input type="checkbox" checked=${isApart} onChange=${() => { setApart(!isApart); if (isHeard) listen(!isApart); }} />
          ${t('callNow.apart')}</label>`}
    </div></section>`;
}
