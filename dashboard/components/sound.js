// A line to a call in a component, with its level and volume.
import { html, useCallback, useEffect, useRef, useState } from '../lib/ui.js';
import { ApiError, post } from '../lib/api.js';
import { heardFormat, LineError, openLine } from '../lib/call-line.js';
import { number, t } from '../lib/i18n.js';
import { errorText } from './states.js';

const QUIET = -50, SHOWN_EVERY_MS = 150, REFUSED = 1008, LOST = [1006, 1012], CONNECT_AGAIN_MS = 1000;

/** Why a line was closed: the service says why it refused it. @param {number} code @param {string} reason */
export const endText = (code, reason) => (code === REFUSED && reason ? reason.replaceAll('`', '') : t('sound.failed', { reason }));

/** @param {any} error */
export function problemText(error) {
  if (error instanceof ApiError) return errorText(error);
  if (error instanceof LineError) return endText(error.code, error.message);
  if (error instanceof SyntaxError) return t('agent.notJson');
  return t(`sound.microphone.${error?.name}`, { fallback: t('sound.failed', { reason: String(error?.message ?? '') }) });
}

/**
 * At most one line, which ends with the component. `kind` is what it is for, or empty; `line` is null until it is open.
 * @returns {{ kind: string, line: import('../lib/call-line.js').Line | null, problem: string, stop: (problem?: string) => void,
 *   open: (kind: string, wanted: import('../lib/call-line.js').Wanted) => Promise<void> }}
 */
export function useLine() {
  const none = { kind: '', line: /** @type {import('../lib/call-line.js').Line | null} */ (null), problem: '' };
  const [state, setState] = useState(none);
  const present = useRef(/** @type {AbortController | null} */ (null)), isGone = useRef(false);
  const stop = useCallback((problem = '') => {
    present.current?.abort();
    present.current = null;
    setState({ ...none, problem });
  }, []);
  useEffect(() => {
    const end = () => stop();
    addEventListener('pagehide', end);
    return () => { removeEventListener('pagehide', end); present.current?.abort(); isGone.current = true; };
  }, []);
  /** @param {string} kind @param {import('../lib/call-line.js').Wanted} wanted */
  async function open(kind, wanted) {
    if (isGone.current) return;
    stop();
    const aborted = present.current = new AbortController();
    setState({ ...none, kind });
    try {
      const onEnd = (/** @type {number} */ code, /** @type {string} */ reason) => { stop(); wanted.onEnd?.(code, reason); };
      const line = await openLine({ ...wanted, onEnd }, aborted.signal);
      if (!aborted.signal.aborted) setState({ kind, line, problem: '' });
    } catch (error) {
      if (!aborted.signal.aborted) stop(problemText(error));
    }
  }
  return { ...state, stop, open };
}

/** A line that listens to a call in progress, or takes it over. */
export function useCallLine() {
  const line = useLine(), timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  useEffect(() => () => clearTimeout(timer.current), []);
  /** @param {'listen' | 'operate'} kind @param {string} id @param {Omit<import('../lib/call-line.js').Wanted, 'url'>} wanted */
  function open(kind, id, wanted) {
    clearTimeout(timer.current);
    timer.current = undefined;
    return line.open(kind, { ...wanted, url: async () => (await post(`/conversations/${id}/live-tickets`, { for: kind })).data.url });
  }
  /** @param {string} id @param {boolean} [apart] @returns {Promise<void>} */
  const listen = (id, apart = false) => open('listen', id, {
    start: { event: 'start', format: heardFormat(), channels: apart ? 'apart' : 'mixed' }, isApart: apart,
    // The node of the call may have changed.
    onEnd(code, reason) {
      if (LOST.includes(code)) timer.current = setTimeout(() => listen(id, apart), CONNECT_AGAIN_MS);
      else if (code !== 1000) line.stop(endText(code, reason));
    },
  });
  /** @param {string} id @param {(code: number, reason: string) => void} onEnd */
  const takeOver = (id, onEnd) => open('operate', id,
    { start: { event: 'start', format: 'pcm_16000' }, withMicrophone: true, farewell: { event: 'giveBack' }, onEnd });
  return { ...line, listen, takeOver, isConnectedSoon: () => !!timer.current };
}

/** How loud it is, as a bar and in words. @param {{ label: string, decibels: () => number }} props */
function Level({ label, decibels }) {
  const [level, setLevel] = useState(-90);
  useEffect(() => {
    const timer = setInterval(() => setLevel(Math.round(Math.max(-60, Math.min(0, decibels())))), SHOWN_EVERY_MS);
    return () => clearInterval(timer);
  }, [decibels]);
  const text = level < QUIET ? t('sound.silence') : t('sound.decibels', { n: number(level) });
  return html`<div class="level"><span>${label}</span>
    <span class="meter" role="meter" aria-label=${label} aria-valuemin="-60" aria-valuemax="0" aria-valuenow=${Math.max(-60, level)} aria-valuetext=${text}>
      <span style=${{ width: `${Math.max(0, (level + 60) / 0.6)}%` }}></span></span>
    <span class="numeric muted">${text}</span></div>`;
}

/** @param {{ line: import('../lib/call-line.js').Line }} props */
export function Sound({ line }) {
  const [volume, setVolume] = useState(100);
  useEffect(() => line.setVolume(volume / 100), [line, volume]);
  return html`<div class="sound"><${Level} label=${t('sound.heard')} decibels=${line.sound} />
    ${line.voice && html`<${Level} label=${t('sound.yours')} decibels=${line.voice} />`}
    ${line.microphone && html`<${Microphone} microphone=${line.microphone} />`}
    <label class="level"><span>${t('sound.volume')}</span>
      <input type="range" min="0" max="100" step="5" value=${volume}
        onInput=${(/** @type {any} */ event) => setVolume(event.target.valueAsNumber)} /></label></div>`;
}

/** @param {{ microphone: NonNullable<import('../lib/call-line.js').Line['microphone']> }} props */
function Microphone({ microphone }) {
  const [isMuted, setMuted] = useState(false);
  const [devices, setDevices] = useState(/** @type {MediaDeviceInfo[]} */ ([]));
  const [problem, setProblem] = useState('');
  useEffect(() => {
    const read = async () => setDevices((await navigator.mediaDevices.enumerateDevices()).filter(({ kind }) => kind === 'audioinput'));
    read();
    navigator.mediaDevices.addEventListener('devicechange', read);
    return () => navigator.mediaDevices.removeEventListener('devicechange', read);
  }, []);
  const choose = (/** @type {string} */ id) => microphone.choose(id).then(() => setProblem(''), (error) => setProblem(problemText(error)));
  return html`<div class="row"><button type="button" aria-pressed=${isMuted} onClick=${() => { microphone.mute(!isMuted); setMuted(!isMuted); }}>
      ${t(isMuted ? 'sound.unmute' : 'sound.mute')}</button>
    ${devices.length > 1 && html`<select class="device" aria-label=${t('sound.device')} onChange=${(/** @type {any} */ event) => choose(event.target.value)}>
      ${devices.map(({ deviceId, label }, nth) => html`<option value=${deviceId} selected=${deviceId === microphone.device()}>
        ${label || t('sound.deviceNumber', { n: nth + 1 })}</option>`)}</select>`}
    <span role="status" class="warn-text">${isMuted && t('sound.muted')}</span></div>
    ${problem && html`<p class="alert bad" role="alert">${problem}</p>`}`;
}
