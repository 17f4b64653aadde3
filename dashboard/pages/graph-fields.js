// The fields of nodes, of edges and of the graph as a whole.
import { html } from '../lib/ui.js';
import { FormulaError, formulaOf, MOST_CHARS, parse } from '../lib/formula.js';
import { CONDITIONS, isPlain } from '../lib/graph.js';
import { nodeName, textOf } from '../lib/graph-text.js';
import { t } from '../lib/i18n.js';
import { at, isObject } from '../lib/merge.js';
import { AGENTS, Picker } from '../components/picker.js';
import { field, flag, map, number, options, rows, some, text } from './agent-controls.js';
import { offered } from './agent-fields.js';

/** @typedef {import('./agent-controls.js').AgentField} AgentField */
/** @typedef {import('./agent-fields.js').Choices} Choices */
/** @typedef {import('../lib/graph.js').Graph} Graph */

/** With the texts of the graph, where it has some. @param {AgentField} control @returns {AgentField} */
const named = (control) => ({ ...control, label: t(`graph.fields.${control.name}.0`, { fallback: control.label }),
  help: t(`graph.fields.${control.name}.1`, { fallback: '' }) || control.help });

/** @param {string} name @param {string[]} values @param {Partial<AgentField>} [more] */
const select = (name, values, more) => named(field(name, { type: 'select',
  options: values.map((value) => ({ value, label: t(`graph.values.${value}`, { fallback: value }) })), ...more }));

/** @param {string | undefined} formula */
function formulaProblem(formula) {
  if ((formula?.length ?? 0) > MOST_CHARS) return t('graph.longFormula', { n: MOST_CHARS });
  try { parse(formula ?? ''); } catch (error) { return t('graph.notFormula', { at: (error instanceof FormulaError ? error.at : 0) + 1 }); }
}

/** @param {string} name */
const formula = (name) => field(name, { type: 'textarea', rows: 2, code: true, toForm: formulaOf, fromForm: (value) => parse(value ?? ''),
  check: formulaProblem, placeholder: 'party_size > 8 and day == "Monday"' });

const list = (/** @type {any} */ value) => (Array.isArray(value) ? value : []);
const column = (/** @type {string} */ name) => t(`graph.columns.${name}`);

/** @returns {AgentField} */
function updates() {
  const control = rows('updates', [['variableName', { label: column('variableName') }], ['expression', { label: column('expression'), wide: true }],
    ['required', { label: column('required'), type: 'checkbox' }]]);
  return { ...control,
    toForm: (value) => list(value).filter(isObject).map((row) => ({ ...row, expression: formulaOf(row.expression) })),
    fromForm: (value) => control.fromForm?.(value).map((/** @type {any} */ row) => ({ ...row, expression: parse(row.expression ?? '') })),
    check: (value) => list(value).map((row) => formulaProblem(row.expression)).find(Boolean) };
}

/**
 * Some of what the service has.
 * @param {string} name @param {Choices['tools']} all @param {any} node @param {string} [key] Of the id, where the graph has objects.
 */
function ids(name, all, node, key = 'id') {
  const toForm = (/** @type {any} */ value) => list(value).map((each) => textOf(each?.[key] ?? each));
  return { ...offered(some(name, all), toForm(at(node, name))), toForm };
}

/** @param {any} node @param {Choices} choices @param {Graph} graph @returns {AgentField[]} */
function ofType(node, choices, graph) {
  const is = (/** @type {string} */ name, /** @type {string} */ part) => (/** @type {any} */ values) => textOf(values[name]).startsWith(part);
  const isHere = (/** @type {any} */ values) => !values.agentId;
  switch (node.type) {
    case 'end': return [select('outcome', ['success', 'failure'])];
    case 'update_state': return [updates()];
    case 'override_agent': return [text('additionalPrompt', 5), select('entryBehavior', ['auto', 'generate_immediately', 'wait_for_user'], { default: 'auto' }),
      { ...map('extract', [['value.description', { wide: true }], ['value.type', { options: options(['string', 'number', 'integer', 'boolean']) }]], {}),
        toForm: (value) => Object.entries(isObject(value) ? value : {}).map(([key, each]) => ({ key, value: each })) },
      ids('additionalToolIds', choices.tools, node), ids('additionalKnowledgeBase', choices.knowledge, node),
      field('conversationConfig.tts.voiceId', { suggestions: choices.voices }),
      field('conversationConfig.agent.prompt.llm', { suggestions: choices.models })];
    case 'say': return [select('message.type', ['literal', 'prompt'], { required: true }),
      { ...text('message.text', 4), required: true, when: is('message.type', 'literal') },
      { ...text('message.prompt', 4), required: true, when: is('message.type', 'prompt') },
      flag('waitForUserResponse')];
    case 'tool': return [{ ...ids('tools', choices.tools, node, 'toolId'), fromForm: (value) => value.map((/** @type {string} */ toolId) => ({ toolId })) }];
    case 'standalone_agent': return [
      field('agentId', { render: (props) => html`<${Picker} ...${props} from=${AGENTS} first=${[{ value: '', label: t('graph.thisAgent') }]} />` }),
      select('nodeId', [], { options: nodeOptions(graph), when: isHere }), field('nodeId', { when: (values) => !isHere(values) }),
      text('transferMessage', 2), number('delayMs', { min: 0 }), flag('enableTransferredAgentFirstMessage')];
    case 'phone_number': {
      const to = 'transferDestination.';
      return [select(`${to}type`, ['phone', 'phone_dynamic_variable', 'sip_uri', 'sip_uri_dynamic_variable'], { required: true }),
        field(`${to}phoneNumber`, { required: true, when: is(`${to}type`, 'phone'), placeholder: '+15550100010' }),
        field(`${to}sipUri`, { required: true, when: is(`${to}type`, 'sip'), placeholder: 'sip:desk@example.com' }),
        select('transferType', ['blind', 'conference', 'sip_refer'], { default: 'blind' })];
    }
    default: return [];
  }
}

/** @param {Graph} graph */
const nodeOptions = (graph) => Object.keys(graph.nodes).map((value) => ({ value, label: nodeName(graph, value) }));

/** @param {any} node @param {Choices} choices @param {Graph} graph @returns {AgentField[]} */
export const nodeFields = (node, choices, graph) => [field('label'), ...ofType(node, choices, graph),
  ...(node.type === 'start' ? [] : [text('global.condition', 2),
    ...[number('global.cooldownTurns', { min: 0, max: 1000, default: 0 }), flag('global.goBack')]
      .map((each) => ({ ...each, when: (/** @type {any} */ values) => !!values['global.condition'] }))])].map(named);

/** @param {'forwardCondition' | 'backwardCondition'} way @returns {AgentField[]} */
function condition(way) {
  const word = (/** @type {AgentField} */ control) => {
    const key = `graph.fields.condition.${control.name.split('.')[1]}`, label = t(`${key}.0`);
    return { ...control, label: way === 'backwardCondition' ? t('graph.backward', { label }) : label,
      help: way === 'backwardCondition' && control.name.endsWith('.type') ? t('graph.backwardHelp') : t(`${key}.1`) };
  };
  const when = (/** @type {string} */ type) => (/** @type {any} */ values) => (type ? values[`${way}.type`] === type : !!values[`${way}.type`]);
  return [select(`${way}.type`, CONDITIONS), { ...text(`${way}.condition`, 3), required: true, when: when('llm') },
    { ...formula(`${way}.expression`), required: true, when: when('expression') },
    { ...select(`${way}.successful`, ['true', 'false'], { required: true, toForm: (value) => String(value ?? true), fromForm: (value) => value === 'true' }),
      when: when('result') },
    { ...field(`${way}.label`), when: when('') }].map(word);
}

/** Nodes at one side of an edge, with the present one even if there is none. @param {Graph} graph @param {any} present @param {string} not Their type. */
const endOptions = (graph, present, not) => [
  ...nodeOptions(graph).filter(({ value }) => value === present || graph.nodes[value].type !== not),
  ...(Object.hasOwn(graph.nodes, present) ? [] : [{ value: textOf(present), label: t('graph.notNode', { id: textOf(present) }) }])];

/** @param {Graph} graph @param {any} edge @returns {AgentField[]} */
export const edgeFields = (graph, edge) => [
  select('source', [], { options: endOptions(graph, edge.source, 'end'), required: true }),
  select('target', [], { options: endOptions(graph, edge.target, 'start'), required: true }),
  ...condition('forwardCondition').map((each, at) => (at === 0 && isPlain(edge) ? { ...each, default: 'unconditional', required: true } : each)),
  ...condition('backwardCondition')];

/** @param {Choices} choices @returns {AgentField[]} */
export const graphFields = ({ models }) => [field('router', { suggestions: models }), flag('preventSubagentLoops')].map(named);
