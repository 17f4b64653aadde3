// The conversation graph of an agent: drawn, changed and saved.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/ui.js';
import { ApiError, get, may, patch } from '../lib/api.js';
import {
  changed, edgesAt, findingAt, findingsOf, itemOf, moved, NODE_TYPES, readGraph, redone, undone, without, withEdge, withItem, withNode,
} from '../lib/graph.js';
import { layoutOf } from '../lib/graph-layout.js';
import { itemName, textOf, typeName } from '../lib/graph-text.js';
import { t } from '../lib/i18n.js';
import { applyPatch, mergePatch, same } from '../lib/merge.js';
import { useUnsaved } from '../lib/router.js';
import { toast } from '../components/dialog.js';
import { GraphView } from '../components/graph-view.js';
import { Icon } from '../components/icons.js';
import { Menu } from '../components/menu.js';
import { errorText, Lacks } from '../components/states.js';
import { Examples } from './graph-examples.js';
import { GraphJson } from './graph-json.js';
import { GraphList, ItemForm, keyOf, unreadable, Ways } from './graph-panel.js';

/** @typedef {import('../lib/graph.js').Graph} Graph */
/** @typedef {import('../lib/graph.js').Item} Item */
/** @typedef {import('../lib/graph.js').History} History */

const START = /** @type {Item} */ ({ kind: 'nodes', id: 'start' });

/** With a place for each node that has none, as other programs want it. @param {Graph} graph @returns {Graph} */
function placed(graph) {
  const nodes = [...layoutOf(graph).nodes].map(([id, { x, y }]) => [id, { position: { x: Math.round(x), y: Math.round(y) }, ...graph.nodes[id] }]);
  return { ...graph, nodes: Object.fromEntries(nodes) };
}

/**
 * A graph that is edited, based on the one that is saved; what somebody else saves meanwhile is taken in.
 * @param {any} workflow As saved.
 */
function useGraph(workflow) {
  const saved = useMemo(() => readGraph(workflow), [workflow]);
  const [{ base, history }, setState] = useState(() => ({ base: saved, history: /** @type {History} */ ({ past: [], present: saved, future: [] }) }));
  useEffect(() => setState((old) => (same(old.base, saved) ? old : { base: saved,
    history: { ...old.history, present: readGraph(applyPatch(saved, mergePatch(old.base, old.history.present))) } })), [saved]);
  const act = (/** @type {(history: History) => History} */ step) => setState((old) => ({ ...old, history: step(old.history) }));
  return { graph: history.present, isDirty: !same(history.present, base), history,
    change: (/** @type {Graph} */ graph, /** @type {string} */ step = '') => act((old) => changed(old, graph, step)),
    undo: () => act(undone), redo: () => act(redone), discard: () => act((old) => changed(old, saved)) };
}

/**
 * @param {object} props
 * @param {any} props.agent
 * @param {string} [props.etag]
 * @param {import('../lib/graph.js').Finding[]} props.findings Of the service, about the graph that is saved.
 * @param {import('./agent-fields.js').Choices} props.choices
 * @param {{ current: Graph | null }} props.edits Set to the graph while it is not saved.
 * @param {string} [props.present] The node where the talk with the agent is.
 * @param {{ item: Item } | null} props.wanted What is to be opened.
 * @param {(answer: import('../lib/api.js').Answer) => void} props.onSaved
 */
export function AgentGraph({ agent, etag, findings: reported, choices, edits, present, wanted, onSaved }) {
  const { graph, isDirty, history, change, undo, redo, discard } = useGraph(agent.workflow);
  const [chosen, setChosen] = useState(/** @type {Item | null} */ (null));
  const [refused, setRefused] = useState(/** @type {{ findings: import('../lib/graph.js').Finding[], rest: string }} */ ({ findings: [], rest: '' }));
  const [busy, setBusy] = useState(false);
  const [showsJson, setShowsJson] = useState(false);
  const [aim, setAim] = useState(/** @type {string[]} */ ([]));
  const drafts = useRef(/** @type {import('./graph-panel.js').Drafts} */ ({})), panel = useRef(/** @type {HTMLElement | null} */ (null));
  const item = itemOf(graph, chosen) ? chosen : null, isEmpty = Object.keys(graph.nodes).length === 0;
  const findings = [...refused.findings, ...reported].filter((each) => !each.item || itemOf(graph, each.item));
  const wrong = new Set(findings.map((each) => keyOf(each.item)));
  useUnsaved(isDirty && !busy, t('form.leave'));
  useEffect(() => { edits.current = isDirty ? graph : null; });
  // The first of these elements in the panel that is there; at once, so that nothing is typed elsewhere.
  useLayoutEffect(() => aim.map((each) => /** @type {HTMLElement | null | undefined} */ (panel.current?.querySelector(each))).find(Boolean)?.focus(), [aim]);

  function open(/** @type {Item | null} */ next) { setChosen(next); setAim(['h2']); }
  useEffect(() => { if (wanted) open(wanted.item); }, [wanted]);
  function take(/** @type {[Graph, Item]} */ [next, added]) {
    change(next);
    setChosen(added);
    setAim(['.stack input, .stack textarea, .stack select', 'h2']);
  }
  function connect(/** @type {string} */ from, /** @type {string} */ to) {
    const isLoop = from === to && graph.nodes[from].type !== 'override_agent';
    if (isLoop || graph.nodes[to].type === 'start') return toast(t(isLoop ? 'graph.notToItself' : 'graph.notToStart'));
    take(withEdge(graph, from, to));
  }
  function replace(/** @type {Graph} */ next) { change(next); open(null); }
  function remove() {
    if (!item) return;
    const n = item.kind === 'nodes' ? edgesAt(graph, item.id).length : 0;
    if (n > 0) toast(t('graph.removed', { n }));
    change(without(graph, item));
    open(item.kind === 'edges' ? { kind: 'nodes', id: graph.edges[item.id].source } : null);
  }
  function refuse(/** @type {any} */ error) {
    const fields = error instanceof ApiError ? error.fields.map(({ path, message }) => findingAt(graph, path, message)) : [];
    setRefused({ findings: fields, rest: fields.length ? t('graph.refused') : errorText(error) });
    if (fields[0]?.item) setChosen(fields[0].item);
    setAim(['[aria-invalid]', '.alert', 'h2']);
  }
  async function save() {
    if (busy) return;
    const bad = unreadable(graph, drafts.current);
    if (bad) { setChosen(bad); return setAim(['[aria-invalid]']); }
    if (!isDirty) return toast(t('agent.unchanged'));
    setBusy(true);
    setRefused({ findings: [], rest: '' });
    const send = (/** @type {string | undefined} */ ifMatch) =>
      patch(`/agents/${agent.agentId}`, { workflow: mergePatch(agent.workflow ?? {}, placed(graph)) }, { ifMatch });
    try {
      const answer = await send(etag).catch(async (error) => {
        if (!(error instanceof ApiError) || error.code !== 'conflict') throw error;
        const latest = await get(`/agents/${agent.agentId}`);
        if (same(latest.data.workflow, agent.workflow)) return send(latest.etag);
        onSaved(latest);
        throw new ApiError({ code: 'changed_meanwhile', message: t('graph.meanwhile'), status: 409 });
      });
      drafts.current = {};
      onSaved(answer);
      toast(t(findingsOf(graph, answer.warning).findings.length > 0 ? 'graph.savedWrong' : 'agent.saved'));
    } catch (error) { refuse(error); }
    setBusy(false);
  }
  const onKeyDown = (/** @type {any} */ event) => {
    const key = event.key.toLowerCase(), isTyping = event.target.matches('textarea, select, input:not([type="checkbox"])');
    if (isTyping || !(event.ctrlKey || event.metaKey) || (key !== 'z' && key !== 'y')) return;
    event.preventDefault();
    key === 'y' || event.shiftKey ? redo() : undo();
  };
  const title = item ? itemName(graph, item) : t('graph.all');
  const json = html`<button onClick=${() => setShowsJson(true)}>${t('graph.json')}</button>`;
  const dialog = showsJson && html`<${GraphJson} graph=${graph} name=${agent.name} onClose=${() => setShowsJson(false)}
    onUse=${(/** @type {Graph} */ next) => { setShowsJson(false); replace(next); }} />`;
  if (isEmpty && !isDirty) {
    return html`<div class="stack"><p class="muted">${t('graph.help')}</p>
      <div class="actions">
        <button class="primary" onClick=${() => take([withItem(graph, START, { type: 'start' }), START])}>${t('graph.begin')}</button>
        ${history.future.length > 0 && html`<button onClick=${redo}>${t('graph.redo')}</button>`}${json}</div>
      <${Examples} onUse=${(/** @type {Graph} */ example) => replace({ ...graph, ...example })} />${dialog}</div>`;
  }
  return html`<div class="grid new-campaign graph" onKeyDown=${onKeyDown}>
    <div class="stack">
      <div class="actions" role="group" aria-label=${t('graph.tools')}>
        <${Menu} button=${true} label=${html`<${Icon} name="plus" />${t('graph.add')}`}>${NODE_TYPES.map((type) => html`<button key=${type} class="plain"
          onClick=${() => take(withNode(graph, type, item?.kind === 'nodes' ? item.id : undefined))}>${typeName(type)}</button>`)}<//>
        <button aria-disabled=${history.past.length === 0} onClick=${undo}>${t('graph.undo')}</button>
        <button aria-disabled=${history.future.length === 0} onClick=${redo}>${t('graph.redo')}</button>${json}
        ${item && html`<button onClick=${() => open(null)}>${t('graph.settings')}</button>`}</div>
      <div class="row">${may('write') ? html`<button class="primary" aria-disabled=${busy} onClick=${save}>${t(busy ? 'form.sending' : 'graph.save')}</button>`
        : html`<${Lacks} scope="write" />`}
        ${isDirty && html`<button onClick=${() => { drafts.current = {}; setRefused({ findings: [], rest: '' }); discard(); open(null); }}>
          ${t('form.discard')}</button>`}
        <p role="status"><span class="muted">${t(isDirty || unreadable(graph, drafts.current) ? 'graph.unsaved' : 'graph.isSaved')}</span>
          ${wrong.size > 0 && html` <span class="warn-text">${t('graph.findings', { n: wrong.size })}</span>`}</p></div>
      <${GraphView} graph=${graph} label=${t('graph.drawing')} selected=${item} onSelect=${setChosen} wrong=${wrong} present=${present} onRemove=${remove}
        onOpen=${() => setAim(['h2'])} onConnect=${connect} />
      <p class="help" id="graph-keys">${t('graph.keys')}</p>
      <p class="hidden" role="status">${title}</p>
      <${GraphList} graph=${graph} selected=${item} wrong=${wrong} present=${present} onSelect=${open} />
    </div>
    <aside class="card summary" ref=${panel} aria-labelledby="graph-item"><h2 id="graph-item" tabindex="-1">${title}</h2>
      ${item && html`<p class="muted">${item.kind === 'nodes' ? typeName(graph.nodes[item.id].type) : t('graph.edge')} · ${item.id}</p>
        ${item.kind === 'nodes' && html`<p class="help">${t(`graph.typeHelp.${textOf(graph.nodes[item.id].type)}`, { fallback: '' })}</p>`}`}
      ${refused.rest && html`<p class="alert bad" role="alert" tabindex="-1">${refused.rest}</p>`}
      <${ItemForm} graph=${graph} item=${item} choices=${choices} drafts=${drafts.current} onChange=${change}
        findings=${findings.filter((each) => same(each.item, item))} />
      ${item?.kind === 'nodes' && graph.nodes[item.id].type !== 'end' && html`<${Ways} key=${item.id} graph=${graph} id=${item.id} onSelect=${open}
        onMove=${(/** @type {string} */ edge, /** @type {-1 | 1} */ step) => change(moved(graph, item.id, edge, step))}
        onConnect=${(/** @type {string} */ target) => connect(item.id, target)} />`}
      ${item && html`<div class="actions"><button class="danger" onClick=${remove}>${t(`graph.remove.${item.kind}`)}</button></div>`}
    </aside>${dialog}</div>`;
}
