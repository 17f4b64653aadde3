// HTTP tools: the servers that agents ask during a call.
import { html } from '../lib/ui.js';
import { t } from '../lib/i18n.js';
import { fieldProblem, Resource } from '../components/resource.js';
import { Time } from '../components/states.js';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const EXAMPLE = '{"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}';

/** @returns {import('../components/resource.js').Kind} */
const tools = () => ({
  path: '/tools', texts: 'tools', id: (tool) => tool.toolId, name: (tool) => tool.name,
  columns: [
    { key: 'name', label: t('tools.name'), render: (tool) => tool.name },
    { key: 'url', label: t('tools.url'), wide: true, render: (tool) => html`<code>${tool.method}</code> ${tool.url}` },
    { key: 'updated', label: t('tools.updated'), render: (tool) => html`<${Time} at=${tool.metadata.updatedAt} />` },
  ],
  fields: () => [
    { name: 'name', label: t('tools.name'), required: true, help: t('tools.nameHelp'), placeholder: 'openingHours' },
    { name: 'description', label: t('tools.description'), type: 'textarea', required: true, help: t('tools.descriptionHelp'), rows: 3 },
    { name: 'url', label: t('tools.url'), required: true, placeholder: 'https://example.com/hours' },
    { name: 'method', label: t('tools.method'), type: 'select', required: true, options: METHODS.map((value) => ({ value, label: value })) },
    { name: 'parameters', label: t('tools.parameters'), type: 'textarea', rows: 6, help: t('tools.parametersHelp'), placeholder: EXAMPLE },
    { name: 'timeoutMs', label: t('tools.timeout'), type: 'number', min: 100, max: 30_000, default: 10_000 },
  ],
  values: (tool) => (tool
    ? { ...tool, parameters: Object.keys(tool.parameters?.properties ?? {}).length ? JSON.stringify(tool.parameters, null, 2) : '' }
    : { method: 'POST' }),
  body: ({ name, description, url, method, timeoutMs, parameters }) => ({
    name: name ?? '', description: description ?? '', url: url ?? '', method, timeoutMs: timeoutMs ?? 10_000,
    ...(parameters?.trim() ? { parameters: schema(parameters) } : {}),
  }),
});

/** @param {string} text */
function schema(text) {
  try { return JSON.parse(text); } catch (error) {
    throw fieldProblem('parameters', 'invalid', t('tools.notJson', { problem: /** @type {Error} */ (error).message }));
  }
}

export default function Tools() {
  return html`<${Resource} kind=${tools()} />`;
}
