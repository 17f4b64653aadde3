// A line to a call in a component, with its level and volume.
import { html, useCallback, useEffect, useRef, useState } from '../lib/ui.js';
import { ApiError } from '../lib/api.js';
import { LineError, openLine } from '../lib/call-line.js';
import { number, t } from '../lib/i18n.js';
import { errorText } from './states.js';

const QUIET = -50, SHOWN_EVERY_MS = 150, REFUSED = 1008;

/** Why a line was closed: the service says why it refused it. @param {number} code @param {string} reason */
export const endText = (code, reason) => (code === REFUSED && reason ? reason.replaceAll('`', '') : t('sound.failed', { reason }));

/** @param {any} error */
export function problemText(error) {
  if (error instanceof ApiError) return error.fields.map(({ path, message }) => `${path}: ${message}`).join('\n') || errorText(error);
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
    <label class="level"><span>${t('sound.volume')}</span>
      <input type="range" min="0" max="100" step="5" value=${volume}
        onInput=${(/** @type {any} */ event) => setVolume(event.target.valueAsNumber)} /></label></div>`;
}
