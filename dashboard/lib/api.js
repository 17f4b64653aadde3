// The client of /public/v1: envelope, errors, retries, sign-in, paging.
import { createStore } from './store.js';

/** An answer that is not a success, or none at all (`network`). */
export class ApiError extends Error {
  /** @param {{ code: string, message: string, status: number, fields?: FieldProblem[], details?: any }} error */
  constructor(error) {
    super(error.message);
    this.code = error.code;
    this.status = error.status;
    this.fields = error.fields ?? [];
    this.details = error.details;
  }
}
/** @typedef {{ path: string, code: string, message: string }} FieldProblem */
/** @typedef {{ hasMore: boolean, nextCursor?: string, total?: number, totalIsAtLeast?: boolean }} Pagination */
/** @typedef {{ data: any, pagination?: Pagination, warning?: string, etag?: string }} Answer */
/**
 * @typedef {object} Options
 * @property {Record<string, any>} [query] Empty values are left out.
 * @property {any} [body] Sent as JSON, or as it is if it is a FormData.
 * @property {string} [ifMatch] The `etag` of the answer the change is based on.
 * @property {string} [idempotencyKey] See `newKey`. The request may then be sent again.
 * @property {AbortSignal} [signal]
 * @property {boolean} [anonymous] A 401 is thrown instead of waiting for somebody to sign in.
 * @property {boolean} [keepalive] It is sent even though the page is closed.
 * @property {boolean} [patient] Whether to go on trying until it works; the default for GET.
 */

/** `ok`, or why requests wait at the moment. @type {ReturnType<typeof createStore<'ok' | 'lost' | 'busy'>>} */
export const connection = createStore(/** @type {'ok' | 'lost' | 'busy'} */ ('ok'));

/** Whether the session has ended: requests wait until somebody signs in again. */
export const sessionEnded = createStore(false);

/** The account that another tab of this browser was signed in to after this one. */
export const otherAccount = createStore('');
const accounts = new BroadcastChannel('ringback.account');
let ownEmail = '', scopes = /** @type {string[]} */ ([]);
const compare = (/** @type {string} */ email) => { if (ownEmail) otherAccount.set(email === ownEmail ? '' : email); };
accounts.onmessage = (/** @type {MessageEvent} */ event) => compare(event.data);
// A tab that signed in may have been closed before it told the others.
addEventListener('focus', () => {
  if (ownEmail) get('/me', { patient: false, anonymous: true }).then((answer) => compare(answer.data.email), () => {});
});
/** Tells other tabs who is signed in, and learns it from them. @param {string} email @param {string[]} rights Scopes of the session. */
export function signedIn(email, rights) {
  ownEmail = email;
  scopes = rights;
  accounts.postMessage(email);
}
/** The e-mail address of the account. */
export const ownAccount = () => ownEmail;
/** Whether the session has a scope; what it lacks is not offered. @param {string} scope */
export const may = (scope) => scopes.includes(scope);

/** A key for one creating request; keep it while the same form is sent again. */
export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('');

/** @param {string} path @param {Options} [options] */
export const get = (path, options) => request('GET', path, options);
/** @param {string} path @param {any} [body] @param {Options} [options] */
export const post = (path, body = {}, options) => request('POST', path, { body, ...options });
/** @param {string} path @param {any} body @param {Options} [options] */
export const patch = (path, body, options) => request('PATCH', path, { body, ...options });
/** @param {string} path @param {Options} [options] */
export const del = (path, options) => request('DELETE', path, options);

/** @param {string} path @param {Record<string, any>} [query] */
export function address(path, query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  return `/public/v1${path}${search.size ? `?${search}` : ''}`;
}

/**
 * Sends a request. A lost connection, a 429 or a 503 is tried again; a 401 waits for the sign-in.
 * @param {string} method @param {string} path @param {Options} [options]
 * @returns {Promise<Answer>}
 */
export async function request(method, path, options = {}) {
  const patient = options.patient ?? method === 'GET';
  const repeatable = method !== 'POST' || !!options.idempotencyKey;
  for (let attempt = 0; ; attempt++) {
    try {
      const answer = await send(method, path, options);
      connection.set('ok');
      return answer;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 401 && !options.anonymous) {
        await signedInAgain(options.signal);
        continue;
      }
      if (!isPassing(error) || !repeatable || (!patient && attempt >= 3)) {
        if (!isPassing(error)) connection.set('ok');
        throw error;
      }
      connection.set(error.code === 'network' ? 'lost' : 'busy');
      await pause(Math.min(500 * 2 ** attempt, 8000), options.signal);
    }
  }
}

/** Whether the same request may work in a moment. @param {ApiError} error */
export const isPassing = (error) => error.code === 'network' || error.status === 503 && error.code !== 'storage_full' || error.status === 429;

/** @param {string} method @param {string} path @param {Options} options @returns {Promise<Answer>} */
async function send(method, path, options) {
  /** @type {Record<string, string>} */
  const headers = { accept: 'application/json' };
  /** @type {BodyInit | undefined} */
  let body;
  if (options.body instanceof FormData) body = options.body;
  else if (options.body !== undefined) {
    headers['content-type'] = 'application/json';
    body = JSON.stringify(options.body);
  }
  if (options.ifMatch) headers['if-match'] = options.ifMatch;
  if (options.idempotencyKey) headers['idempotency-key'] = options.idempotencyKey;
  let response, envelope;
  try {
    const { signal, keepalive } = options;
    response = await fetch(address(path, options.query), { method, headers, body, signal, keepalive, credentials: 'same-origin' });
    envelope = await response.json();
  } catch (error) {
    if (options.signal?.aborted) throw error;
    const status = response && response.status >= 400 ? response.status : 0;
    throw new ApiError({ code: status ? 'internal' : 'network', message: '', status });
  }
  if (!response.ok) throw new ApiError(envelope.error ?? { code: 'internal', message: '', status: response.status });
  return { data: envelope.data, pagination: envelope.pagination, warning: envelope.warning, etag: response.headers.get('etag') ?? undefined };
}

/** @param {AbortSignal} [signal] @returns {Promise<void>} */
function signedInAgain(signal) {
  sessionEnded.set(true);
  return new Promise((resolve, reject) => {
    const end = sessionEnded.subscribe((ended) => {
      if (!ended) { end(); resolve(); }
    });
    signal?.addEventListener('abort', () => { end(); reject(signal.reason); });
  });
}

/** @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(done, ms);
    /** Ends early when the network is back. */
    function done() {
      clearTimeout(timer);
      removeEventListener('online', done);
      resolve();
    }
    addEventListener('online', done);
    signal?.addEventListener('abort', () => { clearTimeout(timer); removeEventListener('online', done); reject(signal.reason); }, { once: true });
  });
}
