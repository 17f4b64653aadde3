// The filters of the calls: what the address holds, what the API is asked for, and the controls.
import { html, useState } from '../lib/ui.js';
import { t } from '../lib/i18n.js';
import { searchOf } from '../lib/outcome.js';
import { pushQuery, setQuery } from '../lib/router.js';
import { dayEnd, dayStart } from '../lib/zoned.js';
import { Icon } from '../components/icons.js';
import { AGENTS, CAMPAIGNS, Picker } from '../components/picker.js';
import { Search } from '../components/search.js';

const STATUSES = ['in_progress', 'completed', 'failed', 'cancelled', 'scheduled'];
const OUTCOMES = [
  'completed', 'voicemail', 'no-answer', 'busy', 'rejected', 'invalid-number', 'carrier-error', 'media-lost', 'agent-error', 'restricted',
  'do-not-call', 'not-allowed', 'failed', 'cancelled',
];
/** Names of the API, but for `from` and `to`, which are days. */
const NAMES = [
  'search', 'status', 'outcome', 'agentId', 'campaignId', 'direction', 'phoneNumber', 'contactId', 'from', 'to', 'minDuration', 'sentiment', 'tag',
  'hasRecording', 'hasIssue',
];
/** They are always shown; the others are in the panel. */
const FIRST = ['search', 'phoneNumber', 'status', 'outcome'];

/** What the API is asked for. @param {Record<string, string>} query Of the address. @returns {Record<string, any>} */
export function apiFilters(query) {
  const filters = Object.fromEntries(NAMES.filter((name) => query[name] && name !== 'from' && name !== 'to').map((name) => [name, query[name]]));
  // Both ends of the API's span are outside of it.
  const from = query.from && dayStart(query.from), to = query.to && dayEnd(query.to);
  return { ...filters, startedAfter: from && from - 1, startedBefore: to };
}

/** The filters of the address, without anything else. @param {Record<string, string>} query */
export const filtersOf = (query) => Object.fromEntries(NAMES.filter((name) => query[name]).map((name) => [name, query[name]]));

/** @param {{ query: Record<string, string> }} props */
export function CallFilters({ query }) {
  const chosen = Object.keys(filtersOf(query)), others = chosen.filter((name) => !FIRST.includes(name));
  const [open, setOpen] = useState(others.length > 0);
  return html`
    <${Search} label=${t('calls.search')} value=${query.search ?? query.phoneNumber ?? ''}
      onSearch=${(/** @type {string} */ text) => setQuery({ search: undefined, phoneNumber: undefined, ...searchOf(text) })} />
    <${Choice} name="status" value=${query.status} any=${t('calls.anyStatus')}
      options=${STATUSES.map((value) => ({ value, label: t(`status.${value}`) }))} bare=${true} />
    <${Choice} name="outcome" value=${query.outcome} any=${t('calls.anyOutcome')}
      options=${OUTCOMES.map((value) => ({ value, label: outcomeName(value) }))} bare=${true} />
    <button aria-expanded=${open} aria-controls=${open ? 'more-filters' : null} onClick=${() => setOpen(!open)}>
      <${Icon} name="filter" />${others.length ? t('calls.moreChosen', { n: others.length }) : t('calls.more')}</button>
    ${chosen.length > 0 && html`<button class="plain" onClick=${() => pushQuery(Object.fromEntries(NAMES.map((name) => [name, undefined])))}>
      ${t('calls.clear')}</button>`}
    ${open && html`<div id="more-filters" class="more-filters card"><${MoreFilters} query=${query} /></div>`}`;
}

/** @param {string} outcome */
const outcomeName = (outcome) => t(`reason.${outcome}`, { fallback: t(`calls.outcomes.${outcome}`) });

/** @param {{ query: Record<string, string> }} props */
function MoreFilters({ query }) {
  const yesNo = [{ value: 'true', label: t('form.yes') }, { value: 'false', label: t('form.no') }];
  return html`
    <${Found} name="agentId" value=${query.agentId} from=${AGENTS} />
    <${Found} name="campaignId" value=${query.campaignId} from=${CAMPAIGNS} />
    <${Choice} name="direction" value=${query.direction} options=${['outbound', 'inbound'].map((value) => ({ value, label: t(`calls.${value}`) }))} />
    <${Choice} name="sentiment" value=${query.sentiment}
      options=${['positive', 'neutral', 'negative'].map((value) => ({ value, label: t(`status.${value}`) }))} />
    <${Choice} name="hasRecording" value=${query.hasRecording} options=${yesNo} />
    <${Choice} name="hasIssue" value=${query.hasIssue} options=${yesNo} />
    <${Given} name="tag" value=${query.tag} />
    <${Given} name="minDuration" type="number" value=${query.minDuration} />
    <${Given} name="from" type="date" value=${query.from} />
    <${Given} name="to" type="date" value=${query.to} />
    ${query.contactId && html`<div><span class="filter-label">${t('calls.filters.contactId')}</span>
      <button onClick=${() => pushQuery({ contactId: undefined })}>${t('calls.anyContact')}</button></div>`}`;
}

/**
 * A filter whose value is found by a search. `bare`: the label is not shown.
 * @param {{ name: string, value?: string, from: import('../components/picker.js').Source, any?: string, bare?: boolean }} props
 */
export const Found = ({ name, value, from, any, bare }) => html`<div>
  <label class=${bare ? 'hidden' : 'filter-label'} for=${`filter-${name}`}>${t(`calls.filters.${name}`)}</label>
  <${Picker} id=${`filter-${name}`} from=${from} value=${value} first=${[{ value: '', label: any ?? t('calls.any') }]}
    onChange=${(/** @type {string} */ id) => pushQuery({ [name]: id })} /></div>`;

/**
 * `bare`: the label is not shown.
 * @param {{ name: string, value?: string, options: { value: string, label: string }[], any?: string, bare?: boolean, label?: string }} props
 */
export function Choice({ name, value, options, any, bare, label = t(`calls.filters.${name}`) }) {
  const control = html`<select id=${`filter-${name}`} class=${bare ? 'narrow' : null} aria-label=${bare ? label : null}
    onChange=${(/** @type {any} */ event) => pushQuery({ [name]: event.target.value })}>
    <option value="" selected=${!value}>${any ?? t('calls.any')}</option>
    ${options.map((option) => html`<option key=${option.value} value=${option.value} selected=${option.value === value}>${option.label}</option>`)}
  </select>`;
  return bare ? control : html`<div><label class="filter-label" for=${`filter-${name}`}>${label}</label>${control}</div>`;
}

/** Takes effect when it is left or Enter is pressed. @param {{ name: string, value?: string, type?: string }} props */
export function Given({ name, value, type = 'text' }) {
  return html`<div><label class="filter-label" for=${`filter-${name}`}>${t(`calls.filters.${name}`)}</label>
    <input id=${`filter-${name}`} type=${type} min=${type === 'number' ? 0 : null} value=${value ?? ''} autocomplete="off"
      onChange=${(/** @type {any} */ event) => pushQuery({ [name]: event.target.value.trim() })} /></div>`;
}
