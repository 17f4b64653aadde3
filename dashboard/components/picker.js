// A choice from a list of the API that may be long: a field that searches by name, with what it finds below it.
import { html, useEffect, useRef, useState } from '../lib/ui.js';
import { useResource } from '../lib/data.js';
import { t } from '../lib/i18n.js';
import { PagedList } from '../lib/list.js';
import { errorText } from './states.js';

const PAUSE_MS = 250, NEAR_END = 10;

/** @typedef {{ path: string, key: string, search: string }} Source A list of the API, its rows' id, and its parameter for a part of the name. */
/** @type {Source} */
export const AGENTS = { path: '/agents', key: 'agentId', search: 'search' };
/** @type {Source} */
export const CAMPAIGNS = { path: '/campaigns', key: 'campaignId', search: 'name' };

/** Names of all rows that were seen, by id. @type {Map<string, string>} */
const names = new Map();
/** The name of what was chosen. @param {string | undefined} value */
export const nameOf = (value) => names.get(value ?? '') ?? value ?? '';

/**
 * The rows that a search finds, page after page; none while it is null.
 * @param {Source} from @param {string | null} search @returns {{ list: PagedList | null, isOld: boolean }} `isOld`: the rows are of the search before.
 */
function useFound(from, search) {
  const [, render] = useState({});
  const list = useRef(/** @type {PagedList | null} */ (null)), old = useRef(/** @type {any[] | null} */ (null));
  useEffect(() => {
    if (search === null) { list.current = old.current = null; return; }
    const before = list.current, found = new PagedList(from.path, { [from.search]: search }, (row) => row[from.key], () => render({}));
    if (before) found.rows = old.current = before.rows;
    list.current = found;
    found.more();
    return () => found.close();
  }, [from.path, search]);
  for (const row of list.current?.rows ?? []) names.set(row[from.key], row.name);
  return { list: list.current, isOld: !!list.current && list.current.rows === old.current };
}

/**
 * @param {object} props
 * @param {Source} props.from
 * @param {string} props.id Of the field, for its label.
 * @param {string} [props.value] The chosen id.
 * @param {(value: string) => void} props.onChange
 * @param {{ value: string, label: string }[]} [props.first] Choices above the rows, such as "any".
 * @param {(row: any) => boolean} [props.allows] Which rows can be chosen.
 * @param {string} [props.describedBy]
 * @param {boolean} [props.invalid]
 * @param {boolean} [props.required]
 */
export function Picker({ from, id, value = '', onChange, first = [], allows = () => true, describedBy, invalid, required }) {
  // What is in the field while the list is open, and what the list is of.
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const [search, setSearch] = useState(/** @type {string | null} */ (null));
  const [at, setAt] = useState(0);
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined)), box = useRef(/** @type {HTMLElement | null} */ (null));
  const { list, isOld } = useFound(from, search), preset = first.find((each) => each.value === value);
  const chosen = useResource(value && !preset && !names.has(value) ? `${from.path}/${encodeURIComponent(value)}` : null);
  if (chosen.data) names.set(value, chosen.data.name);
  const name = preset?.label ?? nameOf(value), isOpen = search !== null;
  const rows = (list?.rows ?? []).filter(allows).map((row) => ({ value: row[from.key], label: row.name }));
  const options = search ? rows : [...first, ...rows], active = Math.min(at, options.length - 1);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => { box.current?.querySelector('.active')?.scrollIntoView({ block: 'nearest' }); }, [at, isOpen]);
  useEffect(() => { box.current?.querySelector('.pick-body')?.scrollIntoView({ block: 'nearest' }); }, [isOpen, rows.length > 0]);
  // Rows that cannot be chosen may fill whole pages.
  useEffect(() => { if (isOpen && list && !list.error && active > options.length - NEAR_END) list.more(); });

  function open() {
    if (isOpen) return;
    setText(name);
    setSearch('');
    setAt(Math.max(0, first.findIndex((each) => each.value === value)));
    /** @type {HTMLInputElement | null | undefined} */ (box.current?.querySelector('input'))?.select();
  }
  function close() {
    clearTimeout(timer.current);
    timer.current = undefined;
    setText(null);
    setSearch(null);
  }
  function choose(/** @type {string} */ next) {
    close();
    if (next !== value) onChange(next);
  }
  const onInput = (/** @type {any} */ { target }) => {
    setText(target.value);
    if (!isOpen) setSearch('');
    setAt(0);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => { timer.current = undefined; setSearch(target.value.trim()); }, PAUSE_MS);
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step && isOpen) setAt(Math.max(0, Math.min(active + step, options.length - 1)));
    else if (step) open();
    else if (isOpen && event.key === 'Enter') { if (options[active] && !isOld && !timer.current) choose(options[active].value); }
    else if (isOpen && event.key === 'Escape') { close(); event.stopPropagation(); }
    else return;
    event.preventDefault();
  };
  const onScroll = (/** @type {any} */ { currentTarget: e }) => { if (e.scrollTop + 2 * e.clientHeight > e.scrollHeight) list?.more(); };
  const found = list && !list.loading && (list.error ? errorText(list.error)
    : options.length === 0 ? t('resource.noMatch') : t(list.hasMore ? 'picker.more' : 'picker.found', { n: rows.length }));
  return html`<div class="pick" ref=${box}>
    <input id=${id} role="combobox" aria-expanded=${isOpen} aria-controls=${isOpen ? `${id}-list` : null} aria-autocomplete="list"
      aria-activedescendant=${isOpen && active >= 0 ? `${id}-${active}` : null} aria-describedby=${describedBy} aria-invalid=${invalid || undefined}
      required=${required} autocomplete="off" spellcheck=${false} placeholder=${t('picker.search')}
      value=${text ?? name} onInput=${onInput} onClick=${open} onKeyDown=${onKeyDown} onBlur=${close} />
    ${isOpen && html`<div class="pick-body" onMouseDown=${(/** @type {Event} */ event) => event.preventDefault()}>
      <ul id=${`${id}-list`} role="listbox" aria-label=${t('picker.choices')} onScroll=${onScroll}>${options.map((option, nth) => html`
        <li key=${option.value} id=${`${id}-${nth}`} role="option" aria-selected=${option.value === value} class=${nth === active ? 'active' : null}
          onClick=${() => choose(option.value)}>${option.label}</li>`)}</ul>
      <p class="help" role="status">${found || t('common.loading')}</p></div>`}
  </div>`;
}
