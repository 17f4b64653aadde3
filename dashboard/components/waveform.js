// The picture of a recording: a lane for each side, drawn from peaks; a slider that seeks.
import { html, useMemo } from '../lib/ui.js';
import { duration, t } from '../lib/i18n.js';

const BARS = 300, LANE = 36, STEPS = /** @type {Record<string, number>} */ ({ ArrowRight: 5, ArrowUp: 5, ArrowLeft: -5, ArrowDown: -5, PageUp: 30,
  PageDown: -30 });

/** @typedef {{ user: number[], agent: number[] }} Peaks Each peak is 0 to 255. */

/**
 * @param {object} props
 * @param {Peaks | null} props.peaks Without them, a plain line.
 * @param {number} props.seconds Length of the recording.
 * @param {number} props.at Present second.
 * @param {(second: number) => void} props.onSeek
 */
export function Waveform({ peaks, seconds, at, onSeek }) {
  const lanes = useMemo(() => (peaks ? /** @type {const} */ (['user', 'agent']) : [])
    .map((speaker, nth) => ({ speaker, path: lanePath(peaks?.[speaker] ?? [], nth * (LANE + 4) + LANE / 2) })), [peaks]);
  const height = Math.max(1, lanes.length) * (LANE + 4) - 4, share = seconds ? Math.min(1, at / seconds) : 0;
  const seek = (/** @type {number} */ second) => onSeek(Math.max(0, Math.min(seconds, second)));
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const to = event.key === 'Home' ? 0 : event.key === 'End' ? seconds : event.key in STEPS ? at + STEPS[event.key] : null;
    if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    seek(to);
  };
  const point = (/** @type {any} */ event) => {
    const box = event.currentTarget.getBoundingClientRect();
    seek(((event.clientX - box.left) / box.width) * seconds);
  };
  const onPointerDown = (/** @type {any} */ event) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    point(event);
  };
  const onPointerMove = (/** @type {any} */ event) => { if (event.currentTarget.hasPointerCapture(event.pointerId)) point(event); };
  return html`<div class=${`waveform${lanes.length ? '' : ' no-peaks'}`} role="slider" tabindex="0" aria-label=${t('player.position')}
    aria-orientation="horizontal"
    aria-valuemin="0" aria-valuemax=${Math.round(seconds)} aria-valuenow=${Math.round(at)}
      aria-valuetext=${t('player.of', { at: duration(at), all: duration(seconds) })}
    onKeyDown=${onKeyDown} onPointerDown=${onPointerDown} onPointerMove=${onPointerMove}>
    <svg viewBox=${`0 0 ${BARS * 3} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      <defs><clipPath id="played"><rect x="0" y="0" width=${share * BARS * 3} height=${height} /></clipPath></defs>
      ${lanes.map(({ speaker, path }) =>
        html`<path key=${speaker} class=${`lane ${speaker}`} d=${path} /><path class=${`lane ${speaker} played`} d=${path} clip-path="url(#played)" />`)}
    </svg>
    ${lanes.length === 0 && html`<span class="meter"><span style=${{ width: `${share * 100}%` }}></span></span>`}
    <span class="playhead" style=${{ left: `${share * 100}%` }}></span>
  </div>`;
}

/** Bars up and down from the middle of a lane, the loudest peak of each span. @param {number[]} peaks @param {number} middle */
function lanePath(peaks, middle) {
  let path = '';
  for (let bar = 0; bar < BARS; bar++) {
    const from = Math.floor((bar * peaks.length) / BARS), to = Math.max(from + 1, Math.floor(((bar + 1) * peaks.length) / BARS));
    let peak = 0;
    for (let n = from; n < to; n++) peak = Math.max(peak, Number(peaks[n]) || 0);
    const half = Math.max(0.5, (peak / 255) * (LANE / 2));
    path += `M${bar * 3 + 1.5} ${(middle - half).toFixed(1)}V${(middle + half).toFixed(1)}`;
  }
  return path;
}
