// A picture of the week: when calls are made, in the callees' own time.
import { html, useMemo } from '../lib/ui.js';
import { locale, t } from '../lib/i18n.js';
import { callingWeek } from '../lib/phone-zones.js';

const CELL = 10, GAP = 2, LEFT = 34, TOP = 16, SHOWN = 3;

/** @param {{ places: import('../lib/phone-zones.js').Place[], window: any, hours: any }} props */
export function CallingWeeks({ places, window, hours }) {
  if (places.length === 0) return null;
  return html`<div class="weeks">
    ${places.slice(0, SHOWN).map((place) => html`<${Week} key=${place.zones.join()} place=${place} window=${window} hours=${hours} />`)}</div>
    ${places.length > SHOWN && html`<p class="muted">${t('week.more', { n: places.length - SHOWN })}</p>`}`;
}

/** @param {{ place: import('../lib/phone-zones.js').Place, window: any, hours: any }} props */
function Week({ place, window, hours }) {
  const week = useMemo(() => callingWeek(place, window, hours), [place, JSON.stringify([window, hours])]);
  const city = place.zones[0].split('/').at(-1)?.replaceAll('_', ' ');
  const name = place.zones.length > 1 ? t('week.several', { city, n: place.zones.length - 1 }) : city;
  const words = weekText(week);
  return html`<figure class="week"><figcaption><b>${name}</b> <span class="muted">${t('week.contacts', { n: place.numbers })}</span><br />${words}</figcaption>
    <svg viewBox=${`0 0 ${LEFT + 24 * (CELL + GAP)} ${TOP + 7 * (CELL + GAP)}`} aria-hidden="true">
      ${[0, 6, 12, 18].map((hour) => html`<text x=${LEFT + hour * (CELL + GAP)} y="10">${hour}</text>`)}
      ${week.map((hoursOfDay, day) => html`<text x="0" y=${TOP + day * (CELL + GAP) + 9}>${dayName(day)}</text>
        ${hoursOfDay.map((open, hour) =>
          html`<rect class=${open ? 'open' : ''} x=${LEFT + hour * (CELL + GAP)} y=${TOP + day * (CELL + GAP)} width=${CELL} height=${CELL} rx="2" />`)}`)}
    </svg></figure>`;
}

const dayName = (/** @type {number} */ day) => new Intl.DateTimeFormat(locale, { weekday: 'short', timeZone: 'UTC' }).format(Date.UTC(2024, 0, 1 + day));

/** `Mon–Fri 9–17`, in words for those who do not see the picture. @param {boolean[][]} week */
function weekText(week) {
  const ranges = week.map((hours) => {
    const found = [];
    for (let hour = 0; hour < 24; hour++) {
      if (!hours[hour]) continue;
      const from = hour;
      while (hours[hour]) hour++;
      found.push(`${from}–${hour}`);
    }
    return found.join(', ');
  });
  if (ranges.every((range) => range === '')) return t('week.never');
  if (ranges.every((range) => range === '0–24')) return t('week.always');
  const groups = [];
  for (let day = 0; day < 7; day++) {
    const first = day;
    while (day < 6 && ranges[day + 1] === ranges[first]) day++;
    if (ranges[first]) groups.push(`${dayName(first)}${day > first ? `–${dayName(day)}` : ''} ${ranges[first]}`);
  }
  return groups.join('; ');
}
