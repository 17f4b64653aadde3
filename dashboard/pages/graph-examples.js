// Graphs to start from; they are those of docs/workflow.md.
import { html, useEffect, useState } from '../lib/ui.js';
import { readGraph } from '../lib/graph.js';
import { t } from '../lib/i18n.js';

/** @typedef {import('../lib/graph.js').Graph} Graph */

/** @param {{ onUse: (graph: Graph) => void }} props */
export function Examples({ onUse }) {
  const [graphs, setGraphs] = useState(/** @type {[name: string, graph: any][]} */ ([]));
  useEffect(() => {
    fetch(new URL('../data/graphs.json', import.meta.url)).then((answer) => answer.json()).then((found) => setGraphs(Object.entries(found)), () => {});
  }, []);
  return html`<h2>${t('graph.examples')}</h2>
    <ul class="grid two">${graphs.map(([key, graph]) => {
      const name = t(`graph.example.${key}.0`);
      return html`<li class="card" key=${key}><h3>${name}</h3><p class="muted">${t(`graph.example.${key}.1`)}</p>
        <div class="actions"><button onClick=${() => onUse(readGraph(graph))}>${t('graph.use', { name })}</button></div></li>`;
    })}</ul>`;
}
