// What the list of agents and the page of one share.
import { del, newKey, post } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { navigate } from '../lib/router.js';
import { confirm, toast, toastError } from '../components/dialog.js';
import { errorText } from '../components/states.js';

/** @param {any} agent */
export async function duplicateAgent(agent) {
  try {
    const { data, warning } = await post(`/agents/${agent.agentId}/duplicate`, {}, { idempotencyKey: newKey() });
    toast(warning ?? t('agents.duplicated'));
    navigate(`/agents/${data.agentId}`);
  } catch (error) { toastError(error); }
}

/**
 * Asks first. An agent in use is not deleted; the service says what uses it.
 * @param {any} agent @param {() => void} onDone @param {(problem: string) => void} onProblem
 */
export async function removeAgent({ agentId, name }, onDone, onProblem) {
  if (!await confirm({ title: t('agents.deleteTitle', { name }), body: t('agents.deleteBody'), action: t('common.delete'), danger: true })) return;
  try {
    await del(`/agents/${agentId}`);
    toast(t('agents.deleted', { name }));
    onDone();
  } catch (error) { onProblem(t('agents.notDeleted', { name, reason: errorText(error) })); }
}
