// The versions of an agent: what each save changed, two of them compared, an old one restored.
import { html, useState } from '../lib/ui.js';
import { ApiError, may, post } from '../lib/api.js';
import { useList, useResource } from '../lib/data.js';
import { sentence, t } from '../lib/i18n.js';
import { setQuery, useQuery } from '../lib/router.js';
import { Changes } from '../components/changes.js';
import { confirm, toast } from '../components/dialog.js';
import { errorText, Failure, Loading, Time } from '../components/states.js';
import { Table } from '../components/table.js';
import { changesOf } from './agent-values.js';

/** @param {{ params: Record<string, string> }} props */
export default function AgentVersions({ params: { id } }) {
  const agent = useResource(`/agents/${id}`);
  const list = useList(`/agents/${id}/versions`, {}, (version) => String(version.version));
  const [problem, setProblem] = useState('');
  const query = useQuery();
  const [latest, before] = list.rows;
  const next = Number(query.version ?? latest?.version), old = Number(query.against ?? before?.version);

  async function restore(/** @type {number} */ version) {
    setProblem('');
    if (!await confirm({ title: t('agentVersions.restoreTitle', { n: version }), body: t('agentVersions.restoreBody'),
      action: t('agentVersions.restore') })) return;
    try {
      const { warning } = await post(`/agents/${id}/versions/${version}/restore`, {}, { ifMatch: agent.etag });
      toast(warning ?? t('agentVersions.restored', { n: version }));
      setQuery({ version: undefined, against: undefined });
    } catch (error) {
      const isConflict = error instanceof ApiError && error.code === 'conflict';
      setProblem(isConflict ? t('agentVersions.conflict') : errorText(error));
    }
    agent.reload();
    list.refresh();
  }
  const choice = (/** @type {string} */ name, /** @type {number} */ chosen, /** @type {string} */ label) => (/** @type {any} */ { version }) => html`<input
    type="radio" name=${name} aria-label=${t(label, { n: version })} checked=${version === chosen} onChange=${() => setQuery({ [name]: String(version) })} />`;
  const isLatest = (/** @type {any} */ row) => row.version === latest?.version;
  const columns = [
    { key: 'version', label: t('agentVersions.version'), render: (/** @type {any} */ v) => html`<span class="row"><b class="numeric">${v.version}</b>
      ${isLatest(v) && html`<span class="tag">${t('agentVersions.present')}</span>`}</span>` },
    { key: 'against', label: t('agentVersions.older'), render: choice('against', old, 'agentVersions.olderOf') },
    { key: 'next', label: t('agentVersions.newer'), render: choice('version', next, 'agentVersions.newerOf') },
    { key: 'savedAt', label: t('agentVersions.savedAt'), render: (/** @type {any} */ v) => html`<${Time} at=${v.savedAt} />` },
    { key: 'changed', label: t('agentVersions.changed'), wide: true, render: (/** @type {any} */ v) => changedText(v) },
    { key: 'restore', label: t('agents.actions'), render: (/** @type {any} */ v) => !isLatest(v) && may('write') && html`<button class="small"
      aria-label=${t('agentVersions.restoreOf', { n: v.version })} onClick=${() => restore(v.version)}>${t('agentVersions.restore')}</button>` },
  ];
  if (agent.error) return html`<h1>${t('agentVersions.title')}</h1><${Failure} error=${agent.error} onRetry=${agent.reload} />`;
  return html`
    <div class="head"><h1>${agent.data ? t('agentVersions.of', { name: agent.data.name }) : t('agentVersions.title')}</h1>
      <a class="button" href=${`/agents/${id}`}>${t('agentVersions.back')}</a></div>
    ${problem && html`<p class="alert bad" role="alert">${problem}</p>`}
    <${Table} short=${true} label=${t('agentVersions.title')} list=${list} columns=${columns} rowKey=${(/** @type {any} */ v) => String(v.version)} />
    ${next > 0 && old > 0 && html`<${Comparison} id=${id} old=${old} next=${next} />`}`;
}

/** @param {{ version: number, changedFields: string[] }} version */
function changedText({ version, changedFields }) {
  if (changedFields.length === 0) return t(version === 1 ? 'agentVersions.first' : 'agentVersions.nothing');
  return [...new Set(changesOf(changedFields.map((path) => ({ path }))).map(({ label }) => label.split(' · ')[0]))].join(', ');
}

/** @param {{ id: string, old: number, next: number }} props */
function Comparison({ id, old, next }) {
  const { data, warning, error, reload } = useResource(`/agents/${id}/versions/${next}/diff`, { against: old });
  const isRead = data?.version === next && data.against === old;
  return html`<section class="card" aria-labelledby="comparison"><h2 id="comparison">${t('agentVersions.compare', { old, next })}</h2>
    <div class="stack" aria-live="polite">
      ${error && html`<${Failure} error=${error} onRetry=${reload} />`}
      ${warning && html`<p class="alert warn">${sentence(warning)}</p>`}
      ${!error && !isRead && html`<${Loading} />`}
      ${isRead && html`<${Changes} changes=${changesOf(data.differences)} />`}
      ${isRead && data.differences.length === 0 && html`<p class="muted">${t('agentVersions.same')}</p>`}
    </div></section>`;
}
