// Graphs to start from. Their words are in the texts, in the language of the reader.
import { html } from '../lib/ui.js';
import { parse } from '../lib/formula.js';
import { readGraph, withItem } from '../lib/graph.js';
import { t } from '../lib/i18n.js';

/** Fictional numbers. */
const NUMBERS = { sales: '+15550100011', support: '+15550100012', billing: '+15550100013' };
const agent = { type: 'override_agent', entryBehavior: 'auto' }, asks = { ...agent, entryBehavior: 'generate_immediately' };
const good = { type: 'end', outcome: 'success' }, bad = { type: 'end', outcome: 'failure' }, start = { type: 'start' }, say = { type: 'say' };

/** @param {keyof typeof NUMBERS} desk */
const desk = (desk) => ({ type: 'phone_number', transferDestination: { type: 'phone', phoneNumber: NUMBERS[desk] }, transferType: 'blind' });

/**
 * `llm`: the words of the condition are in the texts; `back`: so are those of the way back. Anything else is a formula, and
 * nothing is unconditional.
 * @typedef {[source: string, target: string, condition?: string]} Edge
 * @type {Record<string, { nodes: Record<string, any>, edges: Edge[] }>}
 */
const KINDS = {
  reception: {
    nodes: { start, greet: agent, sales: desk('sales'), support: desk('support'), billing: desk('billing'), message: asks, end: good },
    edges: [['start', 'greet'], ['greet', 'sales', 'llm'], ['greet', 'support', 'llm'], ['greet', 'billing', 'llm'], ['greet', 'message', 'llm'],
      ['message', 'end', 'llm']],
  },
  qualification: {
    nodes: { start, ask: { ...asks, extract: { team_size: { type: 'integer', description: 'number of people in the team' } } }, meet: asks, small: say,
      won: good, lost: bad },
    edges: [['start', 'ask'], ['ask', 'meet', 'team_size >= 10'], ['ask', 'small', 'team_size < 10'], ['meet', 'won', 'llm'], ['meet', 'lost', 'llm'],
      ['small', 'lost']],
  },
  appointment: {
    nodes: { start, offer: { ...agent, extract: { day: { type: 'string', description: 'day and time of the appointment' } } }, confirm: asks, thanks: say,
      bye: say, made: good, none: bad },
    edges: [['start', 'offer'], ['offer', 'confirm', 'back'], ['offer', 'bye', 'llm'], ['confirm', 'thanks', 'llm'], ['thanks', 'made'], ['bye', 'none']],
  },
  survey: {
    nodes: { start, intro: say, rate: { ...asks, extract: { rating: { type: 'number', description: 'rating from 0 to 10' } } }, praise: asks, blame: asks,
      thanks: say, end: good },
    edges: [['start', 'intro'], ['intro', 'rate'], ['rate', 'praise', 'rating >= 9'], ['rate', 'blame', 'rating <= 6'],
      ['rate', 'thanks', 'rating > 6 and rating < 9'], ['praise', 'thanks', 'llm'], ['blame', 'thanks', 'llm'], ['thanks', 'end']],
  },
};

/** @returns {{ name: string, help: string, graph: import('../lib/graph.js').Graph }[]} */
const examples = () => Object.entries(KINDS).map(([kind, { nodes, edges }]) => {
  const word = (/** @type {string} */ key) => t(`graphExamples.${kind}.${key}`, { fallback: '' });
  let graph = readGraph({ nodes: Object.fromEntries(Object.entries(nodes).map(([id, node]) => {
    const label = word(`${id}.0`), text = word(`${id}.1`);
    return [id, { ...node, ...(label && { label }), ...(node.type === 'override_agent' && { additionalPrompt: text }),
      ...(node.type === 'say' && { message: { type: 'literal', text } }) }];
  })) });
  for (const [source, target, given] of edges) {
    const llm = (/** @type {string} */ key) => ({ type: 'llm', condition: word(key) });
    const forwardCondition = given === 'llm' || given === 'back' ? llm(`${source}_${target}`)
      : given ? { type: 'expression', expression: parse(given) } : { type: 'unconditional' };
    const edge = { source, target, forwardCondition, ...(given === 'back' && { backwardCondition: llm(`${target}_${source}`) }) };
    graph = withItem(graph, { kind: 'edges', id: `${source}_${target}` }, edge);
  }
  return { name: word('name'), help: word('help'), graph };
});

/** @param {{ onUse: (graph: import('../lib/graph.js').Graph) => void }} props */
export const Examples = ({ onUse }) => html`<h2>${t('graph.examples')}</h2>
  <ul class="grid two">${examples().map(({ name, help, graph }) => html`<li class="card" key=${name}><h3>${name}</h3><p class="muted">${help}</p>
    <div class="actions"><button onClick=${() => onUse(graph)}>${t('graph.use', { name })}</button></div></li>`)}</ul>`;
