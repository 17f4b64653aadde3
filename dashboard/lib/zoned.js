// Days of the reader's zone as instants.
import { zone } from './i18n.js';
import { localTime } from './phone-zones.js';

const DAY = 86_400_000;

/** The instant at which the day `2026-06-01` begins in the reader's zone. @param {string} text @returns {number | undefined} milliseconds */
export function dayStart(text) {
  const midnight = Date.parse(`${text}T00:00Z`);
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || Number.isNaN(midnight)) return undefined;
  // The offset of the zone, asked at the first guess and again at the second, as it changes twice a year.
  let at = midnight;
  for (let n = 0; n < 2; n++) {
    const { minutes, day } = localTime(at, zone), days = (day - new Date(midnight).getUTCDay() + 10) % 7 - 3;
    at -= days * DAY + minutes * 60_000;
  }
  return at;
}

/** The instant at which the day after it begins. @param {string} text */
export function dayEnd(text) {
  const start = Date.parse(`${text}T00:00Z`);
  return Number.isNaN(start) ? undefined : dayStart(new Date(start + DAY).toISOString().slice(0, 10));
}
