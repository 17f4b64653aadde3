// A conversation graph as JSON: to copy, download or replace.
import { html } from '../lib/ui.js';
import { download } from '../lib/csv.js';
import { readGraph } from '../lib/graph.js';
import { t } from '../lib/i18n.js';
import { isObject } from '../lib/merge.js';
import { Dialog } from '../components/dialog.js';
import { Form } from '../components/form.js';
import { json } from './agent-controls.js';

/** @param {{ graph: import('../lib/graph.js').Graph, name: string, onUse: (graph: import('../lib/graph.js').Graph) => void, onClose: () => void }} props */
export function GraphJson({ graph, name, onUse, onClose }) {
  const text = JSON.stringify(graph, null, 2), control = json('workflow');
  const check = (/** @type {string} */ given) => control.check?.(given) ?? (isObject(JSON.parse(given || 'null')) ? undefined : t('graph.noGraph'));
  const save = () => download(`${name.replace(/[^\p{L}\p{N}]+/gu, '-') || 'agent'}-workflow.json`, 'application/json', text);
  return html`<${Dialog} title=${t('graph.json')} onClose=${onClose}>
    <${Form} fields=${[{ ...control, label: t('graph.jsonField'), help: t('graph.jsonHelp'), rows: 14, required: true, check }]} values=${{ workflow: text }}
      submit=${t('graph.useJson')} onCancel=${onClose} onSubmit=${async (/** @type {any} */ values) => onUse(readGraph(JSON.parse(values.workflow)))}>
      <div class="actions"><button type="button" onClick=${save}>${t('graph.download')}</button></div><//><//>`;
}
