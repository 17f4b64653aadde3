// Hears a recording: play, position, speed. Tells the page where it is.
import { html, useEffect, useRef, useState } from '../lib/ui.js';
import { address } from '../lib/api.js';
import { useResource } from '../lib/data.js';
import { duration, number, t } from '../lib/i18n.js';
import { Icon } from './icons.js';
import { Waveform } from './waveform.js';

const SPEEDS = [1, 1.25, 1.5, 2], TRIES = 4, RETRY_MS = 1500;

/**
 * @typedef {object} PlayerControl Set by the player.
 * @property {(ms: number) => void} play Begins at this time.
 */

/**
 * @param {object} props
 * @param {string} props.path Of the recording, below /public/v1.
 * @param {boolean} props.isFresh The call ended just now: the recording may still be completed.
 * @param {{ current: PlayerControl | null }} props.control
 * @param {(ms: number, playing: boolean) => void} props.onTime
 * @param {(ready: boolean) => void} props.onReady Whether there is something to hear.
 * @param {any} [props.children] Text beside the waveform.
 */
export function Player({ path, isFresh, control, onTime, onReady, children }) {
  const audio = useRef(/** @type {HTMLAudioElement | null} */ (null));
  const [state, setState] = useState({ seconds: 0, at: 0, playing: false, missing: false });
  const [tries, setTries] = useState(0);
  const [speed, setSpeed] = useState(1);
  const { data: peaks } = useResource(state.seconds > 0 ? `${path}/peaks` : null);
  const change = (/** @type {Partial<typeof state>} */ some) => setState((old) => ({ ...old, ...some }));

  const follow = () => {
    const element = audio.current;
    if (!element) return;
    change({ at: element.currentTime });
    onTime(element.currentTime * 1000, !element.paused);
  };
  useEffect(() => {
    if (!state.playing) return;
    let frame = requestAnimationFrame(function step() { follow(); frame = requestAnimationFrame(step); });
    return () => cancelAnimationFrame(frame);
  }, [state.playing]);
  useEffect(() => onReady(state.seconds > 0), [state.seconds > 0]);
  useEffect(() => {
    if (!state.missing || !isFresh || tries >= TRIES) return;
    const timer = setTimeout(() => { setTries(tries + 1); change({ missing: false }); }, RETRY_MS);
    return () => clearTimeout(timer);
  }, [state.missing]);

  useEffect(() => { if (audio.current) audio.current.playbackRate = speed; }, [speed, state.seconds]);

  const seek = (/** @type {number} */ second) => {
    if (!audio.current) return;
    audio.current.currentTime = second;
    follow();
  };
  const start = () => audio.current?.play().catch(() => {});
  control.current = state.seconds > 0 ? { play: (ms) => { seek(ms / 1000); start(); } } : null;
  const onMetadata = () => {
    const seconds = audio.current?.duration ?? 0;
    change({ seconds: Number.isFinite(seconds) ? seconds : 0 });
  };
  if (state.missing) return html`<p class="muted">${t('player.missing')}</p>`;
  const next = state.playing ? 'pause' : 'play';
  const events = {
    onLoadedMetadata: onMetadata, onDurationChange: onMetadata, onPlay: () => change({ playing: true }),
    onPause: () => { change({ playing: false }); follow(); },
    onSeeked: follow, onError: () => change({ missing: true, playing: false, seconds: 0 }),
  };
  return html`<section class=${`player card${state.seconds > 0 ? '' : ' not-ready'}`} aria-label=${t('player.title')}>
    <audio key=${tries} ref=${audio} preload="metadata" src=${address(path)} ...${events}></audio>
    ${state.seconds > 0 && html`
      <${Waveform} peaks=${peaks ?? null} seconds=${state.seconds} at=${state.at} onSeek=${seek} />
      <div class="row">
        <button class="primary" onClick=${() => (state.playing ? audio.current?.pause() : start())}><${Icon} name=${next} />${t(`player.${next}`)}</button>
        <span class="numeric">${t('player.of', { at: duration(state.at), all: duration(state.seconds) })}</span>
        <select aria-label=${t('player.speed')} onChange=${(/** @type {any} */ event) => setSpeed(Number(event.target.value))}>
          ${SPEEDS.map((each) => html`<option value=${each} selected=${each === speed}>${t('player.times', { n: number(each) })}</option>`)}
        </select>
        <a class="button" href=${address(path)} download="recording.wav">${t('player.download')}</a>
      </div>
      <p class="help">${children}</p>`}
  </section>`;
}
