// Nodes and edges of a conversation graph in words.
import { formulaOf } from './formula.js';
import { itemOf } from './graph.js';
import { t } from './i18n.js';

/** Any value as text. @param {any} value @returns {string} */
export const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value) ?? '');
/** @param {string} text @param {number} length */
export const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text);

/** @param {any} type */
export const typeName = (type) => t(`graph.types.${textOf(type)}`, { fallback: textOf(type) || t('graph.unknown') });

/** @param {import('./graph.js').Graph | undefined} graph @param {string} id @returns {string} */
export function nodeName(graph, id) {
  const node = graph && itemOf(graph, { kind: 'nodes', id });
  if (!node) return textOf(id);
  if (node.label || node.type === 'start') return textOf(node.label || typeName('start'));
  const isNumbered = id.startsWith(`${textOf(node.type)}_`) && /_\d+$/.test(id);
  return `${typeName(node.type)} ${isNumbered ? id.slice(id.lastIndexOf('_') + 1) : `(${id})`}`;
}

/** @param {import('./graph.js').Graph} graph @param {import('./graph.js').Item} item @returns {string} */
export function itemName(graph, { kind, id }) {
  if (kind === 'nodes') return nodeName(graph, id);
  const { source, target } = graph.edges[id];
  return `${nodeName(graph, source)} → ${nodeName(graph, target)}`;
}

/** An edge without any condition is taken always. */
const PLAIN = { type: 'unconditional' };

/** A condition of an edge. @param {any} condition @returns {string} */
export function conditionText(condition) {
  if (condition?.label) return textOf(condition.label);
  const { type, condition: words, expression, successful } = condition ?? {};
  if (type === 'llm') return textOf(words || t('graph.noWords'));
  if (type === 'expression') return formulaOf(expression) || t('graph.noWords');
  if (type === 'result') return t(`graph.values.${successful === false ? 'false' : 'true'}`);
  return t(`graph.values.${textOf(type) || 'never'}`, { fallback: textOf(type) });
}

/** An edge on its drawing; nothing where it is just taken. @param {any} edge */
export const edgeText = ({ backwardCondition: back, forwardCondition: there = back ? undefined : PLAIN }) =>
  [there?.type === 'unconditional' && !there.label ? '' : conditionText(there), back && `↩ ${conditionText(back)}`].filter(Boolean).join(' · ');

/** An edge as seen from a node. @param {import('./graph.js').Graph} graph @param {string} id @param {string} from */
export function wayText(graph, id, from) {
  const { source, target, forwardCondition, backwardCondition } = graph.edges[id], isBack = source !== from;
  const condition = isBack ? backwardCondition : forwardCondition ?? (backwardCondition ? undefined : PLAIN);
  return `${conditionText(condition)} → ${nodeName(graph, isBack ? source : target)}`;
}
