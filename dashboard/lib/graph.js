// The conversation graph of an agent (`workflow`). A change makes a new graph, and keeps whatever else was given.
import { at, isObject, put, same } from './merge.js';

/** @typedef {{ nodes: Record<string, any>, edges: Record<string, any>, [more: string]: any }} Graph In camelCase. */
/** @typedef {{ kind: 'nodes' | 'edges', id: string }} Item */

export const NODE_TYPES = ['override_agent', 'say', 'tool', 'update_state', 'standalone_agent', 'phone_number', 'end'];
export const CONDITIONS = ['unconditional', 'llm', 'expression', 'result', 'else'];
/** Nodes after which nothing follows. */
const LAST = ['end', 'phone_number'];
const STEPS_KEPT = 200;

/** Objects whose names are those of people, and stay as they are. */
const NAMED = ['nodes', 'edges', 'extract', 'dynamicVariables', 'dynamicVariablePlaceholders', 'languagePresets', 'valueSchema'];
const camel = (/** @type {string} */ name) => name.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** @param {any} value @param {boolean} [isNamed] @returns {any} */
function spelled(value, isNamed) {
  if (Array.isArray(value)) return value.map((each) => spelled(each));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => {
    const key = isNamed ? name : camel(name);
    return [key, spelled(each, NAMED.includes(key))];
  }));
}

/** A graph in either spelling, or an agent with one. @param {any} given @returns {Graph} */
export function readGraph(given) {
  const graph = spelled(isObject(given?.workflow) ? given.workflow : isObject(given) ? given : {});
  const objects = (/** @type {any} */ map) =>
    Object.fromEntries(Object.entries(isObject(map) ? map : {}).map(([id, each]) => [id, isObject(each) ? each : {}]));
  return { preventSubagentLoops: false, ...graph, nodes: objects(graph.nodes), edges: objects(graph.edges) };
}

const has = (/** @type {Record<string, any>} */ map, /** @type {any} */ id) => typeof id === 'string' && Object.hasOwn(map, id);
/** @param {Graph} graph @param {Item | null | undefined} item @returns {any} Undefined where there is none. */
export const itemOf = (graph, item) => (item && has(graph[item.kind], item.id) ? graph[item.kind][item.id] : undefined);

/** The edges between nodes that exist. @param {Graph} graph @returns {{ id: string, source: string, target: string, edge: any }[]} */
export const links = (graph) => Object.entries(graph.edges).filter(([, { source, target }]) => has(graph.nodes, source) && has(graph.nodes, target))
  .map(([id, edge]) => ({ id, source: edge.source, target: edge.target, edge }));

/** Ids of the edges that lead on from a node, some of them backward, in the order of judging. @param {Graph} graph @param {string} node */
export function ways(graph, node) {
  const leads = (/** @type {any} */ edge) => edge.source === node || (edge.target === node && isObject(edge.backwardCondition));
  const all = Object.keys(graph.edges).filter((id) => leads(graph.edges[id]));
  const given = [itemOf(graph, { kind: 'nodes', id: node })?.edgeOrder ?? []].flat().filter((id) => all.includes(id));
  return [...new Set([...given, ...all])];
}

/** Whether an edge is taken without any condition. @param {any} edge */
export const isPlain = ({ forwardCondition: there, backwardCondition: back }) => (there ? there.type === 'unconditional' : !back);
/** Ids of the edges from and to a node. @param {Graph} graph @param {string} node */
export const edgesAt = (graph, node) => Object.keys(graph.edges).filter((id) => graph.edges[id].source === node || graph.edges[id].target === node);

/** All nodes: first those that the calls reach, from the start on. @param {Graph} graph @returns {string[]} */
export function inOrder(graph) {
  const ids = Object.keys(graph.nodes), found = new Set(ids.filter((id) => graph.nodes[id].type === 'start'));
  for (const id of found) for (const edge of ways(graph, id)) if (has(graph.nodes, graph.edges[edge].target)) found.add(graph.edges[edge].target);
  return [...found, ...ids.filter((id) => !found.has(id))];
}

/** With the order of each node's edges written down. @param {Graph} graph @returns {Graph} */
function ordered(graph) {
  const nodes = Object.entries(graph.nodes).map(([id, node]) => {
    const edgeOrder = ways(graph, id);
    return [id, same(node.edgeOrder ?? [], edgeOrder) ? node : { ...node, edgeOrder }];
  });
  return { ...graph, nodes: Object.fromEntries(nodes) };
}

/** @param {Graph} graph @param {Item} item @param {any} value @returns {Graph} */
export const withItem = (graph, { kind, id }, value) => ordered({ ...graph, [kind]: { ...graph[kind], [id]: value } });

/** @param {Record<string, any>} map @param {string} base */
function freeId(map, base) {
  for (let n = 1; ; n++) if (!has(map, `${base}_${n}`)) return `${base}_${n}`;
}

/** @param {string} type */
const newNode = (type) => ({ type, ...(type === 'say' && { message: { type: 'literal', text: '' } }),
  ...(type === 'phone_number' && { transferDestination: { type: 'phone' }, transferType: 'blind' }) });

/**
 * Adds a node, and an edge to it from the node `after`, unless that is left without a condition already.
 * @param {Graph} graph @param {string} type @param {string} [after] @returns {[Graph, Item]}
 */
export function withNode(graph, type, after) {
  const item = /** @type {Item} */ ({ kind: 'nodes', id: freeId(graph.nodes, type) });
  const next = withItem(graph, item, newNode(type));
  const isOpen = after && !LAST.includes(next.nodes[after]?.type) && !Object.values(graph.edges).some((edge) => edge.source === after && isPlain(edge));
  return [isOpen ? withEdge(next, after, item.id)[0] : next, item];
}

/** @param {Graph} graph @param {string} source @param {string} target @returns {[Graph, Item]} */
export function withEdge(graph, source, target) {
  const item = /** @type {Item} */ ({ kind: 'edges', id: freeId(graph.edges, 'edge') }), { type } = graph.nodes[source];
  const forwardCondition = type === 'override_agent' ? { type: 'llm', condition: '' } : type === 'tool' ? { type: 'result', successful: true }
    : { type: 'unconditional' };
  return [withItem(graph, item, { source, target, forwardCondition }), item];
}

/** A node goes with its edges. @param {Graph} graph @param {Item} item @returns {Graph} */
export function without(graph, { kind, id }) {
  const gone = kind === 'edges' ? [id] : edgesAt(graph, id), rest = (/** @type {Record<string, any>} */ map, /** @type {string[]} */ ids) =>
    Object.fromEntries(Object.entries(map).filter(([each]) => !ids.includes(each)));
  return ordered({ ...graph, nodes: kind === 'nodes' ? rest(graph.nodes, [id]) : graph.nodes, edges: rest(graph.edges, gone) });
}

/** Judges an edge earlier or later. @param {Graph} graph @param {string} node @param {string} edge @param {-1 | 1} step @returns {Graph} */
export function moved(graph, node, edge, step) {
  const edgeOrder = ways(graph, node), at = edgeOrder.indexOf(edge), other = at + step;
  if (!(other in edgeOrder)) return graph;
  [edgeOrder[at], edgeOrder[other]] = [edgeOrder[other], edgeOrder[at]];
  return withItem(graph, { kind: 'nodes', id: node }, { ...graph.nodes[node], edgeOrder });
}

/** @param {any} object @param {string} path @param {any} value */
function place(object, path, value) {
  const names = path.split('.');
  for (let count = 1; count < names.length; count++) {
    const outer = names.slice(0, count).join('.');
    if (!isObject(at(object, outer))) put(object, outer, {});
  }
  put(object, path, value);
}

/** A node or edge with one field changed. @param {any} item @param {string} name @param {any} value @returns {any} */
export function withField(item, name, value) {
  const next = structuredClone(item), isUnset = value === undefined || value === '', outer = name.split('.').slice(0, -1);
  // Another type has other fields.
  if (outer.length && name.endsWith('.type')) {
    const label = at(item, `${outer.join('.')}.label`);
    place(next, outer.join('.'), isUnset ? undefined : { type: value, label, successful: value === 'result' ? true : undefined });
  } else if (name === 'global.condition' && isUnset) next.global = undefined;
  else place(next, name, isUnset ? undefined : value);
  for (; outer.length; outer.pop()) {
    const inner = at(next, outer.join('.'));
    if (isObject(inner) && Object.values(inner).every((each) => each === undefined)) put(next, outer.join('.'), undefined);
  }
  return JSON.parse(JSON.stringify(next));
}

/** @typedef {{ past: Graph[], present: Graph, future: Graph[], step?: string }} History */

/** Changes of the same `step`, one after another, are undone together. @param {History} history @param {Graph} graph @param {string} [step] */
export function changed(history, graph, step) {
  if (same(history.present, graph)) return history;
  const past = step && step === history.step ? history.past : [...history.past, history.present].slice(-STEPS_KEPT);
  return { past, present: graph, future: [], step };
}

/** @param {History} history @returns {History} */
export const undone = ({ past, present, future }) => (past.length === 0 ? { past, present, future }
  : { past: past.slice(0, -1), present: past[past.length - 1], future: [present, ...future] });

/** @param {History} history @returns {History} */
export const redone = ({ past, present, future }) => (future.length === 0 ? { past, present, future }
  : { past: [...past, present], present: future[0], future: future.slice(1) });

/** @typedef {{ item: Item | null, path: string, message: string }} Finding `path` within the item. */

/** Where in the graph a problem is. @param {Graph} graph @param {string} path Such as `workflow.edges.e.source`. @param {string} message @returns {Finding} */
export function findingAt(graph, path, message) {
  for (const kind of /** @type {const} */ (['nodes', 'edges'])) {
    const inner = path.startsWith(`workflow.${kind}.`) ? path.slice(`workflow.${kind}.`.length) : null;
    const ids = inner === null ? [] : Object.keys(graph[kind]).filter((id) => inner === id || inner.startsWith(`${id}.`) || inner.startsWith(`${id}[`));
    const id = ids.sort((a, b) => b.length - a.length)[0];
    if (inner !== null && id !== undefined) return { item: { kind, id }, path: inner.slice(id.length).replace(/^\./, ''), message };
  }
  return { item: null, path: path.replace(/^workflow\.?/, ''), message };
}

/**
 * Takes a warning of the service apart: the findings about the graph, such as "`workflow.nodes.a` names no tool", and the rest.
 * @param {Graph} graph @param {string} [warning] @returns {{ findings: Finding[], rest: string }}
 */
export function findingsOf(graph, warning = '') {
  const parts = warning.split(/(?:^|; )(?=`workflow\b)/).filter(Boolean), isFinding = (/** @type {string} */ part) => part.startsWith('`workflow');
  const findings = parts.filter(isFinding).map((part) => {
    const [, path, message] = /^`(.*?)` ?(.*?)(?:; \d+ more)?$/s.exec(part) ?? ['', part, ''];
    return findingAt(graph, path, message);
  });
  return { findings, rest: parts.filter((part) => !isFinding(part)).join('; ') };
}
