// All agents.
import { html, useState } from '../lib/ui.js';
import { may } from '../lib/api.js';
import { useList } from '../lib/data.js';
import { t } from '../lib/i18n.js';
import { setQuery, useQuery } from '../lib/router.js';
import { Icon } from '../components/icons.js';
import { Search } from '../components/search.js';
import { Time } from '../components/states.js';
import { Table } from '../components/table.js';
import { duplicateAgent, removeAgent } from './agent-actions.js';

export default function Agents() {
  const { search } = useQuery();
  const [problem, setProblem] = useState('');
  const list = useList('/agents', { search }, (agent) => agent.agentId);
  async function remove(/** @type {any} */ agent) {
    setProblem('');
    await removeAgent(agent, () => list.refresh(), setProblem);
  }
  const columns = [
    { key: 'name', label: t('agents.name'), wide: true, render: (/** @type {any} */ a) => a.name },
    { key: 'direction', label: t('agents.direction'), render: (/** @type {any} */ a) => t(`agents.directions.${a.direction}`, { fallback: a.direction }) },
    { key: 'model', label: t('agents.model'), render: (/** @type {any} */ a) => preset(a.conversationConfig.agent.prompt.llm) },
    { key: 'voice', label: t('agents.voice'), render: (/** @type {any} */ a) => preset(a.conversationConfig.tts.voiceId) },
    { key: 'language', label: t('agents.language'), render: (/** @type {any} */ a) => a.conversationConfig.agent.primaryLanguage },
    { key: 'tags', label: t('agents.tags'), optional: true, render: (/** @type {any} */ a) => a.tags.join(', ') || '–' },
    { key: 'updated', label: t('agents.updated'), render: (/** @type {any} */ a) => html`<${Time} at=${a.metadata.updatedAt} />` },
    ...(may('write') ? [{ key: 'actions', label: t('agents.actions'), render: (/** @type {any} */ a) => html`<span class="actions">
      <button class="small" aria-label=${t('agents.duplicateName', { name: a.name })} onClick=${() => duplicateAgent(a)}>${t('agents.duplicate')}</button>
      <button class="small" aria-label=${t('agents.deleteName', { name: a.name })} onClick=${() => remove(a)}>${t('common.delete')}</button></span>` }] : []),
  ];
  const add = may('write') && html`<a class="button primary" href="/agents/new"><${Icon} name="plus" />${t('agents.new')}</a>`;
  return html`
    <div class="head"><h1>${t('agents.title')}</h1>${add}</div>
    ${problem && html`<p class="alert bad" role="alert">${problem}</p>`}
    <div class="stack"><${Table} label=${t('agents.title')} list=${list} columns=${columns}
      filters=${html`<${Search} label=${t('agents.search')} value=${search ?? ''} onSearch=${(/** @type {string} */ text) => setQuery({ search: text })} />`}
      rowKey=${(/** @type {any} */ a) => a.agentId} href=${(/** @type {any} */ a) => `/agents/${a.agentId}`}
      empty=${search ? t('agents.noMatch') : html`<p>${t('agents.none')}</p>${add}`} /></div>`;
}

const preset = (/** @type {string} */ value) => (value === 'default' ? html`<span class="muted">${t('agents.default')}</span>` : value);
