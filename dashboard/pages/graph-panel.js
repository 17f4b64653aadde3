// The form of what is selected in a conversation graph, and what leads on from there.
import { html, useRef, useState } from '../lib/ui.js';
import { inOrder, itemOf, ways, withField, withItem } from '../lib/graph.js';
import { nodeName, textOf, typeName, wayText } from '../lib/graph-text.js';
import { t } from '../lib/i18n.js';
import { at, same } from '../lib/merge.js';
import { Fields } from '../components/form.js';
import { edgeFields, graphFields, nodeFields } from './graph-fields.js';

/** @typedef {import('../lib/graph.js').Graph} Graph */
/** @typedef {import('../lib/graph.js').Item} Item */
/** @typedef {Record<string, Record<string, any>>} Drafts Input of each item's form, by `nodes.ID`, `edges.ID` and `graph`. */

export const keyOf = (/** @type {Item | null} */ item) => (item ? `${item.kind}.${item.id}` : 'graph');

/** @param {Graph} graph @param {Item | null} item @param {import('./agent-fields.js').Choices} choices */
const fieldsOf = (graph, item, choices) => (!item ? graphFields(choices) : item.kind === 'edges' ? edgeFields(graph, itemOf(graph, item))
  : nodeFields(itemOf(graph, item), choices, graph));

/** Where the first input is that cannot be read. @param {Graph} graph @param {Drafts} drafts @returns {Item | undefined} */
export function unreadable(graph, drafts) {
  for (const key of Object.keys(drafts)) {
    const item = key === 'graph' ? null : /** @type {Item} */ ({ kind: key.slice(0, 5), id: key.slice(6) });
    if (itemOf(graph, item) && fieldsOf(graph, item, {}).some(({ name, check }) => name in drafts[key] && check?.(drafts[key][name]))) return item ?? undefined;
  }
}

/**
 * @param {object} props
 * @param {Graph} props.graph
 * @param {Item | null} props.item Null: the graph as a whole.
 * @param {import('./agent-fields.js').Choices} props.choices
 * @param {import('../lib/graph.js').Finding[]} props.findings Of this item.
 * @param {Drafts} props.drafts What was typed is kept here.
 * @param {(graph: Graph, step: string) => void} props.onChange
 */
export function ItemForm({ graph, item, choices, findings, drafts, onChange }) {
  const [, render] = useState({});
  const key = keyOf(item), draft = drafts[key] ?? {}, value = item ? itemOf(graph, item) : graph, fields = fieldsOf(graph, item, choices);
  const read = ({ name, toForm } = fields[0]) => (toForm ? toForm(at(value, name)) : at(value, name));
  /** @type {Record<string, string>} */
  const errors = {};
  for (const { path, message } of findings) {
    const field = fields.find(({ name }) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`));
    errors[field?.name ?? ''] = [errors[field?.name ?? ''], field || !path ? message : `${path}: ${message}`].filter(Boolean).join('\n');
  }
  function change(/** @type {string} */ name, /** @type {any} */ given) {
    drafts[key] = { ...draft, [name]: given };
    render({});
    const { check, fromForm } = fields.find((field) => field.name === name) ?? fields[0];
    if (check?.(given)) return;
    const next = withField(value, name, fromForm ? fromForm(given) : given);
    onChange(item ? withItem(graph, item, next) : next, `${key} ${name}`);
  }
  // Input stays as it was typed, as long as it stands for what is in the graph.
  const shown = Object.fromEntries(fields.map((field) => {
    const { name, check, fromForm } = field, saved = read(field), typed = draft[name];
    const isKept = name in draft
      && (check?.(typed) || same(withField(value, name, fromForm ? fromForm(typed) : typed), withField(value, name, at(value, name))));
    return [name, isKept ? typed : saved];
  }));
  return html`${errors[''] && html`<p class="alert warn">${errors['']}</p>`}
    <div class="stack"><${Fields} key=${key} fields=${fields} values=${shown} errors=${errors} onChange=${change} /></div>`;
}

/**
 * The edges that lead on from a node, in their order, and a new one.
 * @param {{ graph: Graph, id: string, onSelect: (item: Item) => void, onMove: (edge: string, step: -1 | 1) => void,
 *   onConnect: (target: string) => void }} props
 */
export function Ways({ graph, id, onSelect, onMove, onConnect }) {
  const [target, setTarget] = useState('');
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const move = (/** @type {string} */ edge, /** @type {number} */ nth, /** @type {-1 | 1} */ step) => {
    onMove(edge, step);
    requestAnimationFrame(() => /** @type {HTMLElement | null} */ (list.current?.querySelector(`:nth-child(${nth + step + 1}) > .small`))?.focus());
  };
  const edges = ways(graph, id), isTalk = graph.nodes[id].type === 'override_agent';
  const targets = Object.keys(graph.nodes).filter((each) => graph.nodes[each].type !== 'start' && (each !== id || isTalk));
  const chosen = targets.includes(target) ? target : targets[0] ?? '';
  return html`<section class="stack" aria-labelledby="graph-ways"><h3 id="graph-ways">${t('graph.ways')}</h3>
    ${edges.length > 1 && html`<p class="help">${t('graph.waysHelp')}</p>`}
    <ol class="graph-ways" ref=${list}>${edges.map((edge, nth) => {
      const text = wayText(graph, edge, id);
      return html`<li key=${edge} class="row"><button type="button" class="plain" onClick=${() => onSelect({ kind: 'edges', id: edge })}>${text}</button>
        ${/** @type {const} */ ([['earlier', '↑', -1, nth > 0], ['later', '↓', 1, nth < edges.length - 1]]).map(([key, sign, step, can]) => can && html`
          <button type="button" key=${key} class="small" aria-label=${t(`graph.${key}`, { name: text })}
            onClick=${() => move(edge, nth, step)}>${sign}</button>`)}</li>`;
    })}</ol>
    ${targets.length > 0 && html`<div class="row"><label class="graph-target"><span class="hidden">${t('graph.leadsTo')}</span>
        <select value=${chosen} onChange=${(/** @type {any} */ event) => setTarget(event.target.value)}>
          ${targets.map((each) => html`<option value=${each} selected=${each === chosen}>${nodeName(graph, each)}</option>`)}</select></label>
      <button type="button" onClick=${() => onConnect(chosen)}>${t('graph.connect')}</button></div>`}</section>`;
}

/**
 * Every node with the ways on from it, as a list.
 * @param {{ graph: Graph, selected: Item | null, wrong: Set<string>, present?: string, onSelect: (item: Item) => void }} props
 */
export function GraphList({ graph, selected, wrong, present, onSelect }) {
  const entry = (/** @type {Item} */ item, /** @type {string} */ text, /** @type {any} */ more = '') => html`<button type="button" class="plain"
    aria-current=${same(item, selected) ? 'true' : null} onClick=${() => onSelect(item)}>${text} ${more}
    ${wrong.has(keyOf(item)) && html`<span class="warn-text">! ${t('graph.hasFindings')}</span>`}</button>`;
  return html`<details class="card group" open=${true}><summary><h2>${t('graph.list')}</h2></summary>
    <ol class="graph-list">${inOrder(graph).map((id) => html`<li key=${id}>
      ${entry({ kind: 'nodes', id }, nodeName(graph, id), html`<span class="muted">${typeName(graph.nodes[id].type)}
        ${graph.nodes[id].global && html` · ${t('graph.global')}: ${textOf(graph.nodes[id].global.condition || t('graph.noWords'))}`}
        ${id === present && html` · ${t('graph.present')}`}</span>`)}
      <ul>${ways(graph, id).map((edge) => html`<li key=${edge}>${entry({ kind: 'edges', id: edge }, wayText(graph, edge, id))}</li>`)}</ul></li>`)}
    </ol></details>`;
}
