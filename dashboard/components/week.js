// A picture of the week: when calls are made to all of a list, and to each place in its own time.
import { html, useMemo } from '../lib/ui.js';
import { locale, t, zone as ownZone } from '../lib/i18n.js';
import { callingWeek } from '../lib/phone-zones.js';

const CELL = 10, GAP = 2, LEFT = 34, TOP = 16, SHOWN = 2;

/** @param {{ places: import('../lib/phone-zones.js').Place[], window: any, hours: any }} props */
export function CallingWeeks({ places, window, hours }) {
  if (places.length === 0) return null;
  const common = window?.timezone || ownZone;
  // Those in several zones have no time of their own.
  const inOwnTime = places.filter(({ zones }) => zones.length === 1), isMixed = places.length > 1 || inOwnTime.length === 0;
  const shown = (isMixed ? inOwnTime : places).slice(0, SHOWN);
  return html`<div class="weeks">
    ${isMixed && html`<${Week} name=${t('week.all', { zone: cityOf(common) })} places=${places} zone=${common} window=${window} hours=${hours} />`}
    ${shown.map((place) => html`<${Week} key=${place.zones[0]} name=${cityOf(place.zones[0])} places=${[place]} zone=${place.zones[0]}
      window=${window} hours=${hours} />`)}</div>
    ${inOwnTime.length < places.length && hours?.mode === 'enforce' && html`<p class="muted">${t('week.several')}</p>`}
    ${inOwnTime.length > SHOWN && html`<p class="muted">${t('week.more', { n: inOwnTime.length - SHOWN })}</p>`}`;
}

/** @param {string} zone */
const cityOf = (zone) => zone.split('/').at(-1)?.replaceAll('_', ' ') ?? zone;

/** @param {{ name: string, places: import('../lib/phone-zones.js').Place[], zone: string, window: any, hours: any }} props */
function Week({ name, places, zone, window, hours }) {
  const week = useMemo(() => callingWeek(places, zone, window, hours), [places, zone, JSON.stringify([window, hours])]);
  const numbers = places.reduce((sum, place) => sum + place.numbers, 0);
  const words = weekText(week);
  return html`<figure class="week"><figcaption><b>${name}</b> <span class="muted">${t('week.contacts', { n: numbers })}</span><br />${words}</figcaption>
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
