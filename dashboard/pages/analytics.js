// How calls came out over days, in groups; and the same of one campaign or agent as a card.
import { html } from '../lib/ui.js';
import { useAnalytics, useEveryHalfMinute } from '../lib/analytics.js';
import { keptRows } from '../lib/data.js';
import { lastWeek, spanOf, sum } from '../lib/figures.js';
import { duration, money, number, percent, t, utcDay } from '../lib/i18n.js';
import { readName, useName } from '../lib/lookup.js';
import { pushQuery, useQuery } from '../lib/router.js';
import { AGENTS, CAMPAIGNS } from '../components/picker.js';
import { Facts, Failure, Loading } from '../components/states.js';
import { Table } from '../components/table.js';
import { Choice, Found } from './call-filters.js';
import { Answered, DayChart, HourChart, Outcomes } from './charts.js';

/** @typedef {import('../lib/figures.js').Row} Row */
const LAST_WEEK = 'last-week';
const SPANS = ['1', '7', LAST_WEEK, '30', '90'], CARD_DAYS = 365;
/** Ways of grouping beside that by day, with the names of the things. */
const GROUPS = /** @type {Record<string, string>} */ ({
  campaign: 'calls.filters.campaignId', agent: 'calls.filters.agentId', version: 'agentVersions.version',
});

export default function Analytics() {
  const { days: wanted, by: group = '', agentId, campaignId } = useQuery(), by = group in GROUPS ? group : 'day';
  const span = SPANS.find((each) => each === wanted) ?? '7', days = Number(span) || 7, { from, to } = span === LAST_WEEK ? lastWeek() : spanOf(days);
  const query = { agentId, campaignId, startedAfter: from / 1000, startedBefore: to / 1000 };
  const total = useAnalytics({ ...query, groupBy: days === 1 ? 'hour' : 'day' }), groups = useAnalytics({ ...query, groupBy: by }), { rows } = total;
  useEveryHalfMinute(() => { total.reload(); groups.reload(); });
  return html`
    <div class="head"><h1>${t('analytics.title')}</h1><div class="row" role="group" aria-label=${t('analytics.span')}>
      ${SPANS.map((each) => html`<button key=${each} class="chip" aria-pressed=${each === span} onClick=${() => pushQuery({ days: each })}>
        ${each === LAST_WEEK ? t('analytics.lastWeek') : t('analytics.days', { n: Number(each) })}</button>`)}</div></div>
    <div class="filters">
      <${Found} name="campaignId" value=${campaignId} from=${CAMPAIGNS} any=${t('appointments.anyCampaign')} bare=${true} />
      <${Found} name="agentId" value=${agentId} from=${AGENTS} any=${t('appointments.anyAgent')} bare=${true} /></div>
    ${total.error && html`<${Failure} error=${total.error} onRetry=${total.reload} />`}
    ${!rows ? html`<${Loading} />` : html`
      <section class="card" aria-label=${t('analytics.figures')}><${Facts} large=${true} facts=${factsOf(sum(rows), rows.length === 1)} /></section>
      ${!total.isComplete && html`<p class="muted">${t('overview.counting')}</p>`}
      <div class="grid wide-first">
        <section class="card" aria-labelledby="over-time"><h2 id="over-time">${t(days === 1 ? 'overview.byHour' : 'analytics.byDay')}</h2>
          ${days === 1 ? html`<${HourChart} rows=${rows} from=${from} />` : html`<${DayChart} rows=${rows} from=${from} days=${days} />`}</section>
        <section class="card" aria-labelledby="outcomes"><h2 id="outcomes">${t('overview.outcomes')}</h2>
          <${Outcomes} counts=${sum(rows).outcomes} none=${t('analytics.none')} /></section>
      </div>`}
    <section class="stack">
      ${groups.rows ? html`<${Table} label=${t('analytics.table')} list=${keptRows(groups.rows, '/analytics')} columns=${columnsOf(by, groups.rows)}
        rowKey=${(/** @type {Row} */ r) => `${by} ${r.at} ${r.campaignId} ${r.agentId} ${r.agentVersion}`} href=${(/** @type {Row} */ r) => groupAddress(by, r)}
        empty=${t('analytics.none')} order=${by === 'day' ? { key: 'group', isDown: false } : { key: 'calls', isDown: true }}
        file=${{ name: 'analytics.csv', total: { ...sum(groups.rows), slowMs: undefined } }}
        filters=${html`<${Choice} name="by" value=${by === 'day' ? '' : by} any=${t('analytics.by.day')} bare=${true}
          label=${t('analytics.groups')} options=${Object.keys(GROUPS).map((value) => ({ value, label: t(`analytics.by.${value}`) }))} />`} />`
        : html`<${Loading} />`}
      <p class="help">${t('analytics.help')}</p></section>`;
}

/** @param {import('../lib/figures.js').Figures} all @param {boolean} isOne Not of several rows, whose slow answers add up to nothing.
 * @returns {(false | [label: string, value: any])[]} */
const factsOf = (all, isOne) => [
  [t('calls.title'), number(all.calls)],
  [t('overview.answered'), html`<${Answered} of=${all} />`],
  [t('overview.length'), all.answered ? duration(all.talkSeconds / all.answered) : '–'],
  [t('analytics.optOuts'), html`<a href="/do-not-call" title=${t('analytics.optOutsHelp')}>${number(all.optOuts)}</a>`],
  !!all.currency && [t('call.cost'), money(all.cost, all.currency)],
  !!all.answers && [t('overview.latency'), html`<span title=${t('overview.latencyHelp')}>${t('overview.ms', { n: Math.round(all.latencyMs) })}</span>`],
  isOne && !!all.answers && [t('analytics.slow'), html`<span title=${t('analytics.slowHelp')}>${t('overview.ms', { n: Math.round(all.slowMs) })}</span>`],
];

/** @param {string} by @param {Row[]} rows @returns {import('../components/table.js').Column[]} */
function columnsOf(by, rows) {
  /**
   * @param {string} key @param {string} label @param {(row: Row) => number | undefined} value
   * @param {{ say: (n: number) => string, unit?: string, times?: number, digits?: number }} kind In a file there are so many times the value.
   */
  const figure = (key, label, value, { say, unit, times = 1, digits = 0 }) => ({ key, label, value, unit, align: /** @type {const} */ ('end'),
    cell: (/** @type {Row} */ row) => { const n = value(row); return n === undefined ? n : Number((n * times).toFixed(digits)); },
    render: (/** @type {Row} */ row) => {
      const n = value(row);
      return html`<span class="numeric">${n === undefined ? '–' : say(n)}</span>`;
    } });
  const count = { say: number }, ms = { say: (/** @type {number} */ n) => t('overview.ms', { n }), unit: 'ms' };
  const currency = rows.find((r) => r.currency)?.currency;
  return [
    { key: 'group', label: t(GROUPS[by] ?? 'analytics.day'), wide: true, value: by === 'day' ? (/** @type {Row} */ r) => r.at : undefined,
      cell: (/** @type {Row} */ r) => nameOnce(by, r), render: (/** @type {Row} */ r) => html`<${GroupName} by=${by} row=${r} />` },
    figure('calls', t('calls.title'), (r) => r.calls, count),
    figure('answered', t('overview.answered'), (r) => (r.calls ? r.answered / r.calls : undefined), { say: percent, unit: '%', times: 100, digits: 1 }),
    figure('talks', t('reason.completed'), (r) => r.outcomes.completed ?? 0, count),
    figure('voicemail', t('reason.voicemail'), (r) => r.outcomes.voicemail ?? 0, count),
    figure('no-answer', t('reason.no-answer'), (r) => r.outcomes['no-answer'] ?? 0, count),
    figure('optOuts', t('analytics.optOuts'), (r) => r.optOuts, count),
    figure('length', t('overview.length'), (r) => (r.answered ? r.talkSeconds / r.answered : undefined), { say: duration, unit: 's', digits: 1 }),
    ...(currency ? [figure('cost', t('call.cost'), (r) => (r.currency ? r.cost : undefined),
      { say: (n) => money(n, currency), unit: currency, digits: 6 })] : []),
    figure('delay', t('overview.latency'), (r) => (r.answers ? r.latencyMs : undefined), ms),
    { ...figure('slow', t('analytics.slow'), (r) => (r.answers ? r.slowMs : undefined), ms), optional: true },
    ...['busy', 'rejected', 'invalid-number'].map((outcome) =>
      ({ ...figure(outcome, t(`reason.${outcome}`), (r) => r.outcomes[outcome] ?? 0, count), optional: true })),
    ...['positive', 'negative'].map((mood) => ({ ...figure(mood, t(`status.${mood}`), (r) => r.moods[mood] ?? 0, count), optional: true })),
  ];
}

/** @param {string} by @param {Row} row */
function groupAddress(by, { at, campaignId, agentId }) {
  if (by === 'day') return `/calls?from=${isoDay(at)}&to=${isoDay(at)}`;
  if (by === 'campaign') return campaignId ? `/campaigns/${campaignId}` : '';
  return `/agents/${agentId}${by === 'version' ? '/versions' : ''}`;
}

/** Where the name of a group is. @param {string} by @param {Row} row @returns {[import('../components/picker.js').Source, string | undefined]} */
const ownerOf = (by, { campaignId, agentId }) => (by === 'campaign' ? [CAMPAIGNS, campaignId] : [AGENTS, by === 'day' ? undefined : agentId]);

/** @param {{ by: string, row: Row }} props */
function GroupName({ by, row }) {
  const name = useName(...ownerOf(by, row));
  return by === 'day' ? utcDay(row.at) : groupText(by, row, name);
}

/** The name of a group that the table has perhaps not shown yet. @param {string} by @param {Row} row */
async function nameOnce(by, row) {
  const [from, id] = ownerOf(by, row);
  return by === 'day' ? isoDay(row.at) : groupText(by, row, id ? await readName(from, id) : undefined);
}

/** @param {string} by @param {Row} row @param {string | null | undefined} name */
function groupText(by, row, name) {
  if (by === 'campaign' && !row.campaignId) return t('analytics.noCampaign');
  const text = name ?? (name === null ? t('call.deletedCampaign') : '…');
  return by === 'version' && row.agentVersion ? `${text} · ${t('call.version', { n: row.agentVersion })}` : text;
}

/** @param {number} at */
const isoDay = (at) => new Date(at).toISOString().slice(0, 10);

/** The figures of one campaign or agent. @param {{ of: 'campaign' | 'agent', id: string }} props */
export function FiguresCard({ of, id }) {
  const { from, to } = spanOf(CARD_DAYS), name = `${of}Id`;
  const { rows, error, reload } = useAnalytics({ groupBy: of, [name]: id, startedAfter: from / 1000, startedBefore: to / 1000 });
  const row = rows?.[0];
  useEveryHalfMinute(reload);
  if (!row && !error) return null;
  return html`<section class="card" aria-labelledby="figures">
    <div class="head"><h2 id="figures">${t('analytics.figures')}</h2><a href=${`/analytics?days=30&${name}=${id}`}>${t('analytics.more')}</a></div>
    ${error && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${row && html`<${Facts} large=${true} facts=${factsOf(row, true)} /><${Outcomes} counts=${row.outcomes} />`}
    <p class="help">${t('analytics.year')}</p></section>`;
}
