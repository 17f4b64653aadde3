// Graphs to start from; they are those of docs/workflow.md.
import { html, useEffect, useState } from '../lib/ui.js';
import { ApiError } from '../lib/api.js';
import { readGraph } from '../lib/graph.js';
import { t } from '../lib/i18n.js';
import { Failure } from '../components/states.js';

/** @typedef {import('../lib/graph.js').Graph} Graph */

/** @param {{ onUse: (graph: Graph) => void }} props */
export function Examples({ onUse }) {
  const [graphs, setGraphs] = useState(/** @type {[name: string, graph: any][]} */ ([]));
  const [error, setError] = useState(/** @type {ApiError | null} */ (null));
  function load() {
    setError(null);
    fetch(new URL('../data/graphs.json', import.meta.url)).then((answer) => answer.json()).then((found) => setGraphs(Object.entries(found)),
      () => setError(new ApiError({ code: 'network', message: '', status: 0 })));
  }
  useEffect(load, []);
  return html`<h2>${t('graph.examples')}</h2>${error && html`<${Failure} error=${error} onRetry=${load} />`}
    <ul class="grid two">${graphs.map(([key, graph]) => {
      const name = t(`graph.example.${key}.0`);
      return html`<li class="card" key=${key}><h3>${name}</h3><p class="muted">${t(`graph.example.${key}.1`)}</p>
        <div class="actions"><button onClick=${() => onUse(readGraph(graph))}>${t('graph.use', { name })}</button></div></li>`;
    })}</ul>`;
}
