// One agent: every field, what changed before it is saved, what somebody else changed meanwhile, and its conversation graph.
import { html, useEffect, useRef, useState } from '../lib/ui.js';
import { ApiError, get, may, patch } from '../lib/api.js';
import { useResource } from '../lib/data.js';
import { findingsOf, readGraph } from '../lib/graph.js';
import { nodeName } from '../lib/graph-text.js';
import { t } from '../lib/i18n.js';
import { applyPatch, differences, same } from '../lib/merge.js';
import { navigate, setQuery, useQuery } from '../lib/router.js';
import { Changes } from '../components/changes.js';
import { toast } from '../components/dialog.js';
import { Form } from '../components/form.js';
import { Icon } from '../components/icons.js';
import { Menu } from '../components/menu.js';
import { Ids } from '../components/secret.js';
import { Failure, Loading, Tabs } from '../components/states.js';
import { duplicateAgent, removeAgent } from './agent-actions.js';
import { useChoices } from './agent-choices.js';
import { AgentGraph } from './agent-graph.js';
import { agentGroups } from './agent-fields.js';
import { agentPatch, changesOf, formValues, rebased } from './agent-values.js';
import { FiguresCard } from './analytics.js';
import { CallMe } from './call-me.js';
import { Talk } from './agent-talk.js';

/** @param {{ params: Record<string, string> }} props */
export default function Agent({ params: { id } }) {
  const first = useResource(`/agents/${id}`);
  const [newer, setNewer] = useState(/** @type {import('../lib/api.js').Answer | null} */ (null));
  const [problem, setProblem] = useState('');
  const [warning, setWarning] = useState(/** @type {string | undefined} */ (undefined));
  const [isTalking, setTalking] = useState(false);
  const [node, setNode] = useState(/** @type {string | undefined} */ (undefined));
  const edits = useRef(/** @type {Record<string, any>} */ ({})), graph = useRef(/** @type {import('../lib/graph.js').Graph | null} */ (null));
  const isGraph = useQuery().tab === 'graph', wasGraph = useRef(false);
  wasGraph.current ||= isGraph;
  const [wanted, setWanted] = useState(/** @type {{ item: import('../lib/graph.js').Item } | null} */ (null));
  const onItem = (/** @type {import('../lib/graph.js').Item} */ item) => { setQuery({ tab: 'graph' }); setWanted({ item }); };
  const choices = useChoices(), kept = useRef({});
  const present = newer ?? first, agent = present.data;
  useEffect(() => { if (agent) document.title = `${agent.name} · Ringback`; }, [agent?.name]);
  if (first.error) return html`<div class="head"><h1>${t('agent.title')}</h1></div><${Failure} error=${first.error} onRetry=${first.reload} />`;
  if (!agent) return html`<div class="head"><h1>${t('agent.title')}</h1></div><${Loading} />`;
  const said = warning ?? first.warning, { rest, findings } = findingsOf(readGraph(agent.workflow), said);
  const warnings = [rest, !isGraph && findings.length > 0 && t('graph.warning', { n: findings.length })].filter(Boolean).join('\n');
  const tried = () => ({ isSaved: Object.keys(edits.current).length === 0 && !graph.current,
    agent: { ...applyPatch(agent, agentPatch(edits.current, agent)), ...(graph.current && { workflow: graph.current }) } });
  const onSaved = (/** @type {import('../lib/api.js').Answer} */ answer) => { setNewer(answer); setWarning(answer.warning ?? ''); };
  // It takes the focus itself once it is there.
  const talk = () => { setTalking(true); document.getElementById('talk')?.focus(); };
  return html`
    <div class="head"><h1>${agent.name}</h1><${Actions} agent=${agent} onProblem=${setProblem} onTalk=${talk} /></div>
    ${problem && html`<p class="alert bad" role="alert">${problem}</p>`}
    ${agent.phoneNumbers.length > 0 && html`<p class="muted">${t('agent.numbers')} ${agent.phoneNumbers.map(numberText).join(', ')}</p>`}
    <div role="status" class=${warnings ? '' : 'hidden'}>${warnings && html`<p class="alert warn">${warnings}</p>`}</div>
    ${isTalking && html`<${Talk} onClose=${() => setTalking(false)} tried=${tried} kept=${kept} onNode=${setNode} onItem=${onItem} />`}
    ${node && html`<p role="status">${t('graph.isIn', { name: nodeName(graph.current ?? readGraph(agent.workflow), node) })}</p>`}
    <${FiguresCard} of="agent" id=${id} />
    <div><${Tabs} label=${t('graph.tabs')} current=${isGraph ? 'graph' : 'settings'}
      tabs=${[{ key: 'settings', label: t('graph.settingsTab') }, { key: 'graph', label: t('graph.tab') }]}
      onChange=${(/** @type {string} */ tab) => setQuery({ tab: tab === 'graph' ? tab : undefined })}>
      <div hidden=${isGraph}><${AgentForm} edits=${edits} agent=${agent} etag=${present.etag} choices=${choices} onSaved=${onSaved} onTalk=${talk} /></div>
      ${wasGraph.current && html`<div hidden=${!isGraph}><${AgentGraph} agent=${agent} etag=${present.etag} findings=${findings} choices=${choices}
        edits=${graph} present=${node} wanted=${wanted} onSaved=${onSaved} /></div>`}<//></div>`;
}

const numberText = (/** @type {any} */ { number, label }) => (label ? `${number} (${label})` : number);

/** @param {{ agent: any, onProblem: (problem: string) => void, onTalk: () => void }} props */
function Actions({ agent, onProblem, onTalk }) {
  const [calling, setCalling] = useState(false);
  return html`<div class="actions">
    ${may('calls') && html`<button onClick=${onTalk}>${t('talk.title')}</button>`}
    ${agent.direction !== 'inbound' && html`
      ${may('calls') && html`<button onClick=${() => setCalling(true)}><${Icon} name="phone" />${t('agent.callMe')}</button>`}
      ${may('write') && html`<a class="button" href=${`/campaigns/new?agent=${agent.agentId}`}>${t('agent.newCampaign')}</a>`}`}
    <a class="button" href=${`/calls?agentId=${agent.agentId}`}>${t('agent.calls')}</a>
    <a class="button" href=${`/agents/${agent.agentId}/versions`}>${t('agent.versions')}</a>
    ${may('write') && html`<${Menu} button=${true} label=${t('agent.moreActions')}>
      <button class="plain" onClick=${() => duplicateAgent(agent)}>${t('agents.duplicate')}</button>
      <button class="plain" onClick=${() => { onProblem(''); removeAgent(agent, () => navigate('/agents'), onProblem); }}>${t('common.delete')}</button>
    <//>`}
    ${calling && html`<${CallMe} agent=${agent} onClose=${() => setCalling(false)} />`}
  </div>`;
}

/**
 * @typedef {import('../lib/api.js').Answer} Answer
 * @typedef {{ round: number, edits: Record<string, any>, theirs: ReturnType<typeof changesOf> }} Conflict
 * @param {{ agent: any, etag?: string, edits: { current: Record<string, any> }, choices: import('./agent-fields.js').Choices,
 *   onSaved: (answer: Answer) => void, onTalk: () => void }} props `edits` is set to what changed.
 */
function AgentForm({ agent, edits: present, etag, choices, onSaved, onTalk }) {
  const [conflict, setConflict] = useState(/** @type {Conflict} */ ({ round: 0, edits: {}, theirs: [] }));
  const saved = formValues(agent);
  /** @param {Record<string, any>} edits @param {Conflict['theirs']} theirs */
  const begin = (edits, theirs) => setConflict((/** @type {Conflict} */ { round }) => ({ round: round + 1, edits, theirs }));

  /** @param {Record<string, any>} changed @param {string} [ifMatch] */
  async function send(changed, ifMatch) {
    const answer = await patch(`/agents/${agent.agentId}`, agentPatch(changed, agent), { ifMatch });
    onSaved(answer);
    // The same form stays, and with it the focus.
    setConflict((/** @type {Conflict} */ { round }) => ({ round, edits: {}, theirs: [] }));
    toast(t('agent.saved'));
  }
  /** @param {any} _values @param {Record<string, any>} changed */
  async function save(_values, changed) {
    if (Object.keys(changed).length === 0) return toast(t('agent.unchanged'));
    try {
      await send(changed, etag);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'conflict') throw error;
      const latest = await get(`/agents/${agent.agentId}`);
      const theirs = changesOf(differences(agent, latest.data));
      if (theirs.length === 0) return send(changed, latest.etag);
      const edits = rebased(changed, agent, latest.data), now = formValues(latest.data);
      onSaved(latest);
      // An answer that was lost: the changes are there already.
      if (Object.keys(edits).every((name) => same(edits[name], now[name]))) return toast(t('agent.saved'));
      begin(edits, theirs);
    }
  }
  return html`<div class="stack">
    ${conflict.theirs.length > 0 && html`<${Meanwhile} conflict=${conflict} onDiscard=${() => begin({}, [])} />`}
    <${Form} key=${conflict.round} groups=${agentGroups(choices, saved)} values=${saved} edits=${conflict.edits} submit=${t('common.save')}
      scope="write" beside=${may('calls') && html`<button type="button" onClick=${onTalk}>${t('talk.title')}</button>`}
      onEdit=${(/** @type {Record<string, any>} */ changed) => { present.current = changed; }} onSubmit=${save} />
    <${Ids} id=${agent.agentId} path=${`/agents/${agent.agentId}`} /></div>`;
}

/** @param {{ conflict: Conflict, onDiscard: () => void }} props */
function Meanwhile({ conflict, onDiscard }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => box.current?.focus(), [conflict.round]);
  const changes = conflict.theirs.map((change) => ({ ...change, note: change.field && change.field in conflict.edits ? t('agent.both') : undefined }));
  return html`<section class="card" ref=${box} tabindex="-1" aria-labelledby="meanwhile"><h2 id="meanwhile">${t('agent.meanwhile')}</h2>
    <p>${t('agent.meanwhileHelp')}</p><${Changes} changes=${changes} />
    <div class="actions"><button onClick=${onDiscard}>${t('agent.takeTheirs')}</button></div></section>`;
}
