// A new agent: the same fields as of any, with their defaults.
import { html, useRef } from '../lib/ui.js';
import { newKey, post } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { navigate } from '../lib/router.js';
import { toast } from '../components/dialog.js';
import { Form } from '../components/form.js';
import { useChoices } from './agent-choices.js';
import { agentGroups } from './agent-fields.js';
import { agentPatch } from './agent-values.js';

/** What an agent of the dashboard begins with, unlike one of the API. */
const PRESET = { 'platformSettings.disclosure.enabled': true };

export default function NewAgent() {
  const choices = useChoices();
  const sent = useRef({ body: '', key: '' });
  return html`
    <h1>${t('agents.new')}</h1>
    <${Form} groups=${agentGroups(choices, PRESET)} values=${PRESET} submit=${t('agent.create')} scope="write"
      onSubmit=${async (/** @type {any} */ _values, /** @type {any} */ changed) => {
      const agent = agentPatch({ ...PRESET, ...changed }), body = JSON.stringify(agent);
      if (sent.current.body !== body) sent.current = { body, key: newKey() };
      const { data, warning } = await post('/agents/create', agent, { idempotencyKey: sent.current.key });
      toast(warning ?? t('agent.created'));
      navigate(`/agents/${data.agentId}`, { replace: true });
    }} />`;
}
