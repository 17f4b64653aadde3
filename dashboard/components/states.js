// Small things that say how something is: badges, times, errors, tabs.
import { html, useEffect, useState } from '../lib/ui.js';
import { ApiError, may, ownAccount } from '../lib/api.js';
import { dateTime, duration, relative, sentence, t } from '../lib/i18n.js';
import { refusalText } from '../lib/problems.js';
import { createStore, useStore } from '../lib/store.js';

/** An error in words. @param {any} error @returns {string} */
export function errorText(error) {
  if (!(error instanceof ApiError)) return t('error.unknown');
  if (error.code === 'network') return t('error.network');
  if (error.fields.length > 0) return error.fields.map((each) => `${each.path}: ${refusalText(each)}`).join('\n');
  return t(`error.${error.code}`, { fallback: sentence(error.message) || t('error.unknown'), message: sentence(error.message) });
}

/** The name of a key or session, as the record has it. @param {string | null | undefined} name */
export const person = (name) => (name === 'account key' ? t('callNow.accountKey', { email: ownAccount() }) : name);

/** Says that the session lacks a scope; nothing if it has it. @param {{ scope: string }} props */
export const Lacks = ({ scope }) => !may(scope) && html`<p class="help">${t('error.lacks', { scope: t(`profile.scopeNames.${scope}`) })}</p>`;

/** The other person of a call: the name used in it, or else the number. @param {any} call */
export const callee = (call) => call.contactName || call.contactNumber || call.phoneNumber || t(call.test ? 'liveCalls.test' : 'calls.noNumber');

/** @param {{ error: any, onRetry?: () => void }} props */
export const Failure = ({ error, onRetry }) => html`<div class="alert bad" role="alert">
  <span>${errorText(error)}</span>${onRetry && html`<button onClick=${onRetry}>${t('common.retry')}</button>`}
</div>`;

const TONES = /** @type {Record<string, string>} */ ({
  running: 'good', completed: 'good', in_progress: 'live', delayed: 'warn', waiting: 'info', scheduled: 'info', pending: 'info',
  failed: 'bad', paused: 'warn', positive: 'good', negative: 'bad',
});
/** A status with its word and colour. @param {{ status: string, tone?: 'good' | 'bad' | 'warn' | 'info' | 'live' }} props */
export const Badge = ({ status, tone }) =>
  html`<span class=${`badge ${tone ?? TONES[status] ?? ''}`}>${t(`status.${status}`, { fallback: status.replaceAll('_', ' ') })}</span>`;

/** How a call or a contact came out. @param {{ outcome: import('../lib/outcome.js').Outcome }} props */
export const OutcomeBadge = ({ outcome: { text, rest, tone } }) =>
  html`<span class=${`badge ${tone ?? ''}`} title=${rest || null}>${text ? t(text) : rest}</span>`;

const clock = createStore(Date.now());
setInterval(() => document.hidden || clock.set(Date.now()), 15_000);
/** The time since or until, with the full time in the account's zone as its title. @param {{ at?: string | number | null, full?: boolean }} props */
export function Time({ at, full }) {
  const now = useStore(clock);
  if (at === undefined || at === null) return html`<span class="muted">–</span>`;
  const date = new Date(at);
  return html`<time datetime=${date.toISOString()} title=${full ? relative(date, now) : dateTime(date)}>
    ${full ? dateTime(date) : relative(date, Math.max(now, Date.now()))}</time>`;
}

/** The time that has passed since, by the second. @param {{ at: string | number }} props */
export function Since({ at }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => { const timer = setInterval(() => setNow(Date.now()), 1000); return () => clearInterval(timer); }, []);
  return html`<span class="numeric">${duration(Math.max(0, now - new Date(at).getTime()) / 1000)}</span>`;
}

/**
 * @param {{ label: string, tabs: { key: string, label: string }[], current: string, onChange: (key: string) => any, children?: any }} props
 *   `onChange` may refuse with `false`.
 */
export function Tabs({ label, tabs, current, onChange, children }) {
  const onKeyDown = (/** @type {any} */ event) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (!step) return;
    const next = tabs[(tabs.findIndex(({ key }) => key === current) + step + tabs.length) % tabs.length];
    if (onChange(next.key) !== false) event.currentTarget.querySelector(`[data-key="${next.key}"]`)?.focus();
  };
  return html`<div role="tablist" aria-label=${label} class="tabs" onKeyDown=${onKeyDown}>
    ${tabs.map((tab) => html`<button role="tab" id=${`tab-${tab.key}`} data-key=${tab.key} aria-selected=${tab.key === current}
      aria-controls="tabpanel" tabindex=${tab.key === current ? 0 : -1} onClick=${() => onChange(tab.key)}>${tab.label}</button>`)}
  </div><div role="tabpanel" id="tabpanel" aria-labelledby=${`tab-${current}`}>${children}</div>`;
}

/**
 * Labels with their values.
 * @param {{ facts: (false | null | undefined | '' | 0 | [label: string, value: any])[], large?: boolean }} props Empty ones are left out.
 */
export const Facts = ({ facts, large }) => html`<dl class=${large ? 'facts' : 'pairs'}>
  ${facts.map((fact) => fact && html`<div key=${fact[0]}><dt>${fact[0]}</dt><dd>${fact[1]}</dd></div>`)}
</dl>`;

/** Renders nothing for a moment, then a placeholder, so that quick answers do not flicker. */
export function Loading() {
  const [late, setLate] = useState(false);
  useEffect(() => { const timer = setTimeout(() => setLate(true), 250); return () => clearTimeout(timer); }, []);
  return late && html`<div class="loading" role="status"><span class="hidden">${t('common.loading')}</span><span class="skeleton"></span>
    <span class="skeleton"></span><span class="skeleton"></span></div>`;
}
