// Local times in zones, and when numbers there are called.

/** @typedef {{ zones: string[], numbers: number }} Place */

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

/** Minutes since midnight, and the day of the week, at an instant in a zone. @param {number} at @param {string} zone */
export function localTime(at, zone) {
  let format = formats.get(zone);
  if (!format) formats.set(zone, format = new Intl.DateTimeFormat('en-US',
    { timeZone: zone, weekday: 'long', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }));
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  return { minutes: Number(parts.hour) * 60 + Number(parts.minute), day: WEEKDAYS.indexOf(parts.weekday.toLowerCase()) };
}

/** Minutes since midnight of `HH:MM…`, also with a date before it; null where that is no time. @param {string | undefined} text */
export function minutesOf(text) {
  const found = /(?:^|T)([01]?\d|2[0-3]|24(?=:00)):([0-5]\d)/.exec(text ?? '');
  return found ? Number(found[1]) * 60 + Number(found[2]) : null;
}

/**
 * Whether any of the places is called in each hour of a week, from Monday in the time of `zone`: `week[day][hour]`. Numbers that may be in
 * several zones are called while all of these allow it.
 * @param {Place[]} places
 * @param {string} zone
 * @param {{ startTime?: string, endTime?: string, timezone?: string } | null} window Null: at any time.
 * @param {{ mode: string, from: string, to: string, days: string[] } | undefined} hours The safeguard.
 * @returns {boolean[][]}
 */
export function callingWeek(places, zone, window, hours) {
  const from = minutesOf(window?.startTime), to = minutesOf(window?.endTime);
  const inWindow = (/** @type {number} */ at) => {
    if (from === null || to === null || from === to || !window) return true;
    const { minutes } = localTime(at, window.timezone ?? 'UTC');
    return from < to ? minutes >= from && minutes < to : minutes >= from || minutes < to;
  };
  const allowed = (/** @type {number} */ at) => hours?.mode !== 'enforce' || places.some(({ zones }) => zones.every((zone) => {
    const { minutes, day } = localTime(at, zone);
    return hours.days.includes(WEEKDAYS[day]) && minutes >= (minutesOf(hours.from) ?? 0) && minutes < (minutesOf(hours.to) ?? 1440);
  }));
  const week = Array.from({ length: 7 }, () => Array(24).fill(false));
  const start = Math.ceil(Date.now() / 3_600_000) * 3_600_000;
  for (let hour = 0; hour < 168; hour++) {
    const at = start + hour * 3_600_000, { minutes, day } = localTime(at, zone);
    week[(day + 6) % 7][Math.floor(minutes / 60)] = inWindow(at) && allowed(at);
  }
  return week;
}
