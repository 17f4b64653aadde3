// Texts, numbers and times in the reader's language and zone. Both choices are kept in this browser.
import en from '../texts/en.js';

export const languages = { en: 'English', de: 'Deutsch' };
/** @typedef {keyof typeof languages} Language */

export const stored = (/** @type {string} */ name) => { try { return localStorage.getItem(`ringback.${name}`); } catch { return null; } };
/** @param {string} name @param {string} value */
export const store = (name, value) => { try { localStorage.setItem(`ringback.${name}`, value); } catch { /* Not kept. */ } };

/** @type {Language} */
export const language = /** @type {Language} */ ([stored('language'), navigator.language.slice(0, 2), 'en'].find((l) => l && l in languages));
/** The IANA zone in which times are shown. */
export const zone = stored('zone') || Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
/** English dates are the browser's: British or American. */
export const locale = navigator.language.startsWith(language) ? navigator.language : language;

/** @type {any} */
let texts = en;
/** Loads the texts; called once before anything is shown. */
export async function loadTexts() {
  if (language === 'de') texts = (await import('../texts/de.js')).default;
  document.documentElement.lang = language;
}

/** Keeps the choice for the next time that the page is loaded. @param {{ language?: string, zone?: string }} choice */
export function choose(choice) {
  if (choice.language) store('language', choice.language);
  if (choice.zone) store('zone', choice.zone);
}

/** Words of the service as a sentence, without the marks of code. @param {string} text */
export function sentence(text) {
  const words = text.trim().replaceAll('`', '');
  return words && words[0].toUpperCase() + words.slice(1) + (/[.!?:…]$/.test(words) ? '' : '.');
}

const plural = new Intl.PluralRules(language);
const lists = new Intl.ListFormat(language, { type: 'conjunction' });
/** `1, 2 and 3`. @param {string[]} items */
export const listed = (items) => lists.format(items);

/**
 * The text at `key`, such as `campaigns.title`. `{name}` is replaced; where the text is `{ one, other }`, `n` chooses.
 * @param {string} key @param {Record<string, any>} [values] @returns {string}
 */
export function t(key, values = {}) {
  let text = key.split('.').reduce((at, part) => at?.[part], texts);
  if (text && typeof text === 'object') text = text[plural.select(values.n)] ?? text.other;
  if (typeof text !== 'string') return values.fallback ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    return value === undefined ? whole : typeof value === 'number' ? number(value) : String(value);
  });
}

const numbers = new Intl.NumberFormat(locale);
const percents = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
const moment = /** @type {const} */ ({ hour: 'numeric', minute: '2-digit', timeZone: zone, timeZoneName: 'short' });
const dateTimes = new Intl.DateTimeFormat(locale, { ...moment, year: 'numeric', month: 'short', day: 'numeric' });
const zonedTimes = new Intl.DateTimeFormat(locale, moment);
const times = new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone: zone });
const utcDays = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const days = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: zone });
const isoDays = new Intl.DateTimeFormat('sv-SE', { timeZone: zone });
const relatives = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });

/** @param {number} n */
export const number = (n) => numbers.format(n);
/** @param {number} share 0 to 1 */
export const percent = (share) => percents.format(share);
/** @param {number} amount @param {string} currency */
export const money = (amount, currency) =>
  new Intl.NumberFormat(locale, { style: 'currency', currency, maximumFractionDigits: amount !== 0 && Math.abs(amount) < 1 ? 4 : 2 }).format(amount);
/** @param {string | number | Date} at */
export const dateTime = (at) => dateTimes.format(new Date(at));
/** @param {string | number | Date} at */
export const time = (at) => times.format(new Date(at));
/** The time of today, or else with its day. @param {string | number | Date} at */
export const soon = (at) => (day(at) === day(Date.now()) ? zonedTimes.format(new Date(at)) : dateTime(at));
/** A day as the API counts days. @param {string | number | Date} at */
export const utcDay = (at) => utcDays.format(new Date(at));
/** @param {string | number | Date} at */
export const day = (at) => days.format(new Date(at));
/** `0:42`, `1:02:03`. @param {number} seconds */
export function duration(seconds) {
  const s = Math.round(seconds), two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  return s >= 3600 ? `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`;
}
/** The number of a day in the reader's zone. @param {number} at */
const dayNumber = (at) => Date.parse(isoDays.format(at)) / 86_400_000;

/** `in 5 minutes`, `3 hours ago`, `yesterday`. @param {string | number | Date} at @param {number} [now] */
export function relative(at, now = Date.now()) {
  const then = new Date(at).getTime(), seconds = Math.round((then - now) / 1000), size = Math.abs(seconds);
  if (size >= 86400) return relatives.format(dayNumber(then) - dayNumber(now), 'day');
  for (const [unit, length] of /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([['hour', 3600], ['minute', 60]])) {
    if (size >= length) return relatives.format(Math.trunc(seconds / length), unit);
  }
  return relatives.format(seconds, 'second');
}
