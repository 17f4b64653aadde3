// Charts: SVG of our own, each with its figures as text.
import { html } from '../lib/ui.js';
import { number, t, time } from '../lib/i18n.js';

const HEIGHT = 120, WIDTH = 24, GAP = 4;

/** Calls of a day by hour: answered ones in the strong colour. @param {{ rows: import('./analytics.js').Row[], from: number }} props */
export function HourChart({ rows, from }) {
  const hours = Array.from({ length: 24 }, (_, hour) => {
    const at = from + hour * 3_600_000;
    const row = rows.find((each) => each.at > at - 3_600_000 && each.at <= at);
    return { at, calls: row?.calls ?? 0, answered: row?.answered ?? 0 };
  });
  const most = Math.max(1, ...hours.map(({ calls }) => calls));
  const height = (/** @type {number} */ count) => (count / most) * HEIGHT;
  return html`<svg class="chart" viewBox=${`0 0 ${24 * (WIDTH + GAP)} ${HEIGHT + 1}`} role="img"
    aria-label=${t('overview.chartLabel', { calls: hours.reduce((all, { calls }) => all + calls, 0), most })}>
    <line x1="0" x2=${24 * (WIDTH + GAP)} y1=${HEIGHT} y2=${HEIGHT} />
    ${hours.map(({ at, calls, answered }, hour) => html`<g key=${hour}><title>${`${time(at)}: ${t('overview.chartHour', { calls, answered })}`}</title>
      <rect class="hit" x=${hour * (WIDTH + GAP)} y="0" width=${WIDTH} height=${HEIGHT} />
      <rect class="calls" x=${hour * (WIDTH + GAP)} y=${HEIGHT - height(calls)} width=${WIDTH} height=${height(calls)} rx="2" />
      <rect class="answered" x=${hour * (WIDTH + GAP)} y=${HEIGHT - height(answered)} width=${WIDTH} height=${height(answered)} rx="2" /></g>`)}
  </svg>
  <div class="chart-hours" aria-hidden="true">${[0, 6, 12, 18].map((hour) => html`<span>${time(hours[hour].at)}</span>`)}</div>
  <ul class="legend"><li><span class="dot reached" aria-hidden="true"></span>${t('overview.answeredCalls')}</li>
    <li><span class="dot pending" aria-hidden="true"></span>${t('overview.otherCalls')}</li></ul>`;
}

/** Named counts as bars. @param {{ bars: { label: string, count: number }[] }} props */
export function Bars({ bars }) {
  const most = Math.max(1, ...bars.map(({ count }) => count));
  return html`<ul class="bars">${bars.map(({ label, count }) => html`<li key=${label}><span class="ellipsis" title=${label}>${label}</span>
    <span class="meter" aria-hidden="true"><span style=${{ width: `${(count / most) * 100}%` }}></span></span>
    <b class="numeric end">${number(count)}</b></li>`)}</ul>`;
}
