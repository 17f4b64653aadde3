// The numbers that agents name or carriers have, and which agent answers each.
import { html, useEffect } from '../lib/ui.js';
import { patch } from '../lib/api.js';
import { useList } from '../lib/data.js';
import { t } from '../lib/i18n.js';
import { Resource } from '../components/resource.js';

const MOST_AGENTS = 1000, NOBODY = 'nobody';

export default function Numbers() {
  const agents = useList('/agents', {}, (agent) => agent.agentId);
  useEffect(() => { if (agents.rows.length < MOST_AGENTS && !agents.error) agents.more(); }, [agents.rows.length]);
  const names = (/** @type {any} */ row, /** @type {boolean} */ answers) => row.agents.filter((/** @type {any} */ agent) => agent.answers === answers)
    .map((/** @type {any} */ agent, /** @type {number} */ at) => html`${at > 0 && ', '}<a href=${`/agents/${agent.agentId}`}>${agent.name}</a>`);
  const answering = (/** @type {any} */ row) => row.agents.find((/** @type {any} */ agent) => agent.answers);
  const assign = (/** @type {string} */ phoneNumber, /** @type {string} */ agentId) =>
    patch(`/phone-numbers/${encodeURIComponent(phoneNumber)}`, { agentId: agentId === NOBODY ? null : agentId });
  const options = [...agents.rows].map((agent) => ({ value: agent.agentId, label: agent.name }));
  /** @type {import('../components/resource.js').Kind} */
  const kind = {
    path: '/phone-numbers', texts: 'numbers', id: (row) => row.phoneNumber, name: (row) => row.phoneNumber, whole: true, kept: true,
    columns: [
      { key: 'number', label: t('numbers.number'), render: (row) => html`<span class="numeric">${row.phoneNumber}</span>` },
      { key: 'provider', label: t('numbers.provider'), render: (row) => row.provider ?? '–' },
      { key: 'answers', label: t('numbers.answers'), render: (row) => (answering(row) ? names(row, true) : t('numbers.nobody')) },
      { key: 'shows', label: t('numbers.shows'), wide: true, render: (row) => (row.agents.some((/** @type {any} */ agent) => !agent.answers) ? names(row, false) : '–') },
    ],
    fields: (row) => [
      ...(row ? [] : [{ name: 'phoneNumber', label: t('numbers.number'), required: true, placeholder: '+4930123456', help: t('numbers.numberHelp') }]),
      { name: 'agentId', label: t('numbers.agent'), type: 'select', required: true, help: t('numbers.agentHelp'),
        options: [{ value: '', label: t('numbers.pick') }, ...(row?.agents.length ? [{ value: NOBODY, label: t('numbers.takeAway') }] : []), ...present(row, options)] },
    ],
    values: (row) => ({ agentId: row ? answering(row)?.agentId ?? '' : '' }),
    create: ({ phoneNumber, agentId }) => assign(phoneNumber, agentId),
    update: ({ agentId }, row) => assign(row.phoneNumber, agentId),
  };
  return html`<${Resource} kind=${kind} />`;
}

/** Agents of the number are choices even where not all agents were read. @param {any | null} row @param {{ value: string, label: string }[]} options */
function present(row, options) {
  const missing = (row?.agents ?? []).filter((/** @type {any} */ agent) => !options.some((each) => each.value === agent.agentId));
  return [...missing.map((/** @type {any} */ agent) => ({ value: agent.agentId, label: agent.name })), ...options];
}
