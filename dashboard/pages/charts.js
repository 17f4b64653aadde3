// Charts: SVG of our own, each with its figures as text.
import { html } from '../lib/ui.js';
import { answeredBy, slotsOf } from '../lib/figures.js';
import { number, percent, t, time, utcDay } from '../lib/i18n.js';

const HEIGHT = 120, WIDTH = 672, HOUR = 3_600_000, DAY = 24 * HOUR;

/** Calls of a day by hour. @param {{ rows: import('../lib/figures.js').Row[], from: number }} props */
export const HourChart = ({ rows, from }) => html`<${Chart} slots=${slotsOf(rows, from, 24, HOUR)} label="overview.chartLabel" name=${time} names=${4} />`;

/** Calls by day. @param {{ rows: import('../lib/figures.js').Row[], from: number, days: number }} props */
export const DayChart = ({ rows, from, days }) => html`<${Chart} slots=${slotsOf(rows, from, days, DAY)} label="analytics.chartLabel" name=${utcDay}
  names=${Math.min(days, 6 + Number(days === 7))} />`;

/**
 * Answered calls in the strong colour.
 * @param {{ slots: ReturnType<typeof slotsOf>, label: string, name: (at: number) => string, names: number }} props `names`: how many slots are named.
 */
function Chart({ slots, label, name, names }) {
  const most = Math.max(1, ...slots.map(({ calls }) => calls)), step = WIDTH / slots.length, width = step * 0.86;
  const height = (/** @type {number} */ count) => (count / most) * HEIGHT;
  return html`<svg class="chart" viewBox=${`0 0 ${WIDTH} ${HEIGHT + 1}`} role="img"
    aria-label=${t(label, { calls: slots.reduce((all, { calls }) => all + calls, 0), most })}>
    <line x1="0" x2=${WIDTH} y1=${HEIGHT} y2=${HEIGHT} />
    ${slots.map(({ at, calls, answered }, nth) => html`<g key=${nth}><title>${`${name(at)}: ${t('overview.chartHour', { calls, answered })}`}</title>
      <rect class="hit" x=${nth * step} y="0" width=${width} height=${HEIGHT} />
      <rect class="calls" x=${nth * step} y=${HEIGHT - height(calls)} width=${width} height=${height(calls)} rx="2" />
      <rect class="answered" x=${nth * step} y=${HEIGHT - height(answered)} width=${width} height=${height(answered)} rx="2" /></g>`)}
  </svg>
  <div class="chart-hours" aria-hidden="true" style=${{ gridTemplateColumns: `repeat(${names}, 1fr)` }}>
    ${Array.from({ length: names }, (_, nth) => html`<span>${name(slots[nth * slots.length / names].at)}</span>`)}</div>
  <ul class="legend"><li><span class="dot reached" aria-hidden="true"></span>${t('overview.answeredCalls')}</li>
    <li><span class="dot pending" aria-hidden="true"></span>${t('overview.otherCalls')}</li></ul>`;
}

/** The share of calls that were answered, and by whom. @param {{ of: import('../lib/figures.js').Figures }} props */
export function Answered({ of }) {
  const by = answeredBy(of);
  return html`${of.calls ? percent(of.answered / of.calls) : '–'}
    ${by && html`<span class="below">${t('analytics.answeredBy', { person: percent(by.person), voicemail: percent(by.voicemail) })}</span>`}`;
}

/** Named counts as bars. @param {{ bars: { label: string, count: number }[] }} props */
export function Bars({ bars }) {
  const most = Math.max(1, ...bars.map(({ count }) => count));
  return html`<ul class="bars">${bars.map(({ label, count }) => html`<li key=${label}><span title=${label}>${label}</span>
    <span class="meter" aria-hidden="true"><span style=${{ width: `${(count / most) * 100}%` }}></span></span>
    <b class="numeric end">${number(count)}</b></li>`)}</ul>`;
}

/** The most frequent outcomes. @param {{ counts: Record<string, number>, none?: string }} props */
export function Outcomes({ counts, none = t('overview.noCalls') }) {
  const all = Object.entries(counts).sort((a, b) => b[1] - a[1]);
  if (all.length === 0) return html`<p class="muted">${none}</p>`;
  return html`<${Bars} bars=${all.slice(0, 8)
    .map(([key, count]) => ({ label: t(`reason.${key}`, { fallback: t(`status.${key}`, { fallback: key }) }), count }))} />`;
}
