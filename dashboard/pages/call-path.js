// The way that a call took through the graph of its agent.
import { html, useMemo } from '../lib/ui.js';
import { useResource } from '../lib/data.js';
import { readGraph } from '../lib/graph.js';
import { nodeName } from '../lib/graph-text.js';
import { duration, t } from '../lib/i18n.js';
import { GraphView } from '../components/graph-view.js';
import { At } from './call-transcript.js';

/** @typedef {import('../lib/graph.js').Graph} Graph */
/** @typedef {{ call: any, graph: Graph, events: any[], isLive: boolean, onHear: ((ms: number) => void) | null }} Props */

/** The graph with which a call began; empty where it had none. @param {any} call @param {any[]} events */
export function useCallGraph({ agentId, agentVersion, workflowPath }, events) {
  const hasGraph = workflowPath || events.some(({ type }) => type === 'workflow_hop'), version = agentVersion ? `/versions/${agentVersion}` : '';
  const { data: agent } = useResource(agentId && hasGraph ? `/agents/${agentId}${version}` : null);
  return useMemo(() => readGraph(agent), [agent]);
}

/** Nothing where the call had no graph. @param {Props} props */
export function CallPath(props) {
  const hops = props.events.filter(({ type }) => type === 'workflow_hop').map(({ atMs, detail }) => ({ atMs, node: detail.to }));
  const path = props.call.workflowPath ?? hops;
  return path.length > 0 && html`<${Path} ...${props} path=${path} />`;
}

/** @param {Props & { path: { node: string, atMs: number }[] }} props */
function Path({ graph, isLive, onHear, path }) {
  const steps = new Map();
  for (const [at, { node }] of path.entries()) steps.set(node, [steps.get(node), at + 1].filter(Boolean).join(', '));
  return html`<section class="card" aria-labelledby="call-path"><h2 id="call-path">${t('graph.path')}</h2>
    ${Object.keys(graph.nodes).length > 0 && html`<${GraphView} graph=${graph} label=${t('graph.pathDrawing')} steps=${steps}
      present=${isLive ? path.at(-1)?.node : undefined} />`}
    <ol class="call-path">${path.map(({ node, atMs }, at) => html`<li key=${at}><${At} text=${duration(Math.floor(atMs / 1000))} ms=${atMs} onHear=${onHear} />
      ${` ${nodeName(graph, node)}`}</li>`)}</ol></section>`;
}
