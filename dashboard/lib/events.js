// Server-sent events over fetch, which can send Last-Event-ID after any failure. A hidden tab holds no stream; when it
// is seen again it goes on after the last event, or says `missed` if that is too long ago.
import { address, ApiError, pause, sessionEnded } from './api.js';

const FORGET_AFTER_MS = 5 * 60_000;

/** @typedef {{ type: string, id: string, data: any }} StreamEvent */

/**
 * Streams until the returned function is called.
 * @param {string} path Below /public/v1, such as `/events`.
 * @param {(event: StreamEvent) => void} onEvent
 * @param {{ query?: Record<string, any>, onMissed?: () => void, onRefused?: (error: ApiError) => void }} [options] `onMissed`: events may
 *   have been missed; read again. `onRefused`: there is no such stream, or not any more.
 */
export function stream(path, onEvent, options = {}) {
  let ended = false, lastId = '', lastSeen = Date.now();
  /** @type {AbortController | null} */
  let current = null;

  async function run() {
    for (let failures = 0; !ended && !document.hidden; ) {
      const controller = current = new AbortController();
      try {
        if (lastId && Date.now() - lastSeen > FORGET_AFTER_MS) {
          lastId = '';
          options.onMissed?.();
        }
        const headers = lastId ? { 'last-event-id': lastId } : undefined;
        const response = await fetch(address(path, options.query), { headers, signal: controller.signal, credentials: 'same-origin' });
        if (response.status === 401) sessionEnded.set(true);
        if ([403, 404, 409].includes(response.status)) {
          ended = true;
          options.onRefused?.(new ApiError({ ...(await response.json()).error, status: response.status }));
        }
        if (!response.ok || !response.body) {
          if (response.status === 400) lastId = '';
          throw new Error(String(response.status));
        }
        if (failures > 0 && !lastId) options.onMissed?.();
        failures = 0;
        await read(response.body.getReader());
      } catch { /* Tried again below. */ }
      if (controller.signal.aborted) return;
      failures++;
      await pause(Math.min(500 * 2 ** failures, 10_000)).catch(() => {});
    }
  }

  /** @param {ReadableStreamDefaultReader<Uint8Array>} reader */
  async function read(reader) {
    const decoder = new TextDecoder();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      lastSeen = Date.now();
      text += decoder.decode(value, { stream: true });
      const blocks = text.split(/\r?\n\r?\n/);
      text = blocks.pop() ?? '';
      for (const block of blocks) deliver(block);
    }
  }

  /** @param {string} block */
  function deliver(block) {
    const event = { type: 'message', id: lastId, data: '' };
    for (const line of block.split(/\r?\n/)) {
      const colon = line.indexOf(':');
      const value = line.slice(colon + 1).replace(/^ /, '');
      if (line.startsWith('event:')) event.type = value;
      else if (line.startsWith('id:')) event.id = lastId = value;
      else if (line.startsWith('data:')) event.data += value;
    }
    if (event.data) onEvent({ ...event, data: JSON.parse(event.data) });
  }

  const onVisibility = () => {
    current?.abort();
    current = null;
    if (!document.hidden) run();
  };
  document.addEventListener('visibilitychange', onVisibility);
  run();
  return () => {
    ended = true;
    document.removeEventListener('visibilitychange', onVisibility);
    current?.abort();
  };
}

/** @type {Set<(event: StreamEvent | null) => void>} */
const listeners = new Set();
/** @type {(() => void) | null} */
let stop = null;

/**
 * Listens to the account's events on one shared stream. `null` means that some may have been missed: read again.
 * @param {(event: StreamEvent | null) => void} listener
 */
export function onAccountEvent(listener) {
  listeners.add(listener);
  const tell = (/** @type {StreamEvent | null} */ event) => { for (const each of [...listeners]) each(event); };
  stop ??= stream('/events', tell, { onMissed: () => tell(null) });
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) { stop?.(); stop = null; }
  };
}
