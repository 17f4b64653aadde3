// The numbers that agents name or carriers have, and which agent answers each.
import { html } from '../lib/ui.js';
import { patch } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { AGENTS, nameOf, Picker } from '../components/picker.js';
import { Resource } from '../components/resource.js';

const NOBODY = 'nobody';

export default function Numbers() {
  const names = (/** @type {any} */ row, /** @type {boolean} */ answers) => row.agents.filter((/** @type {any} */ agent) => agent.answers === answers)
    .map((/** @type {any} */ agent, /** @type {number} */ at) => html`${at > 0 && ', '}<a href=${`/agents/${agent.agentId}`}>${agent.name}</a>`);
  const answering = (/** @type {any} */ row) => row.agents.find((/** @type {any} */ agent) => agent.answers);
  const assign = (/** @type {string} */ phoneNumber, /** @type {string} */ agentId) =>
    patch(`/phone-numbers/${encodeURIComponent(phoneNumber)}`, { agentId: agentId === NOBODY ? null : agentId });
  const takeAway = () => [{ value: NOBODY, label: t('numbers.takeAway') }];
  /** @type {import('../components/resource.js').Kind} */
  const kind = {
    path: '/phone-numbers', texts: 'numbers', id: (row) => row.phoneNumber, name: (row) => row.phoneNumber, whole: true, kept: true,
    columns: [
      { key: 'number', label: t('numbers.number'), render: (row) => html`<span class="numeric">${row.phoneNumber}</span>` },
      { key: 'provider', label: t('numbers.provider'), render: (row) => row.provider ?? '–' },
      { key: 'answers', label: t('numbers.answers'), render: (row) => (answering(row) ? names(row, true) : t('numbers.nobody')) },
      { key: 'shows', label: t('numbers.shows'), wide: true,
        render: (row) => (row.agents.some((/** @type {any} */ agent) => !agent.answers) ? names(row, false) : '–') },
    ],
    fields: (row) => [
      ...(row ? [] : [{ name: 'phoneNumber', label: t('numbers.number'), required: true, placeholder: '+4930123456', help: t('numbers.numberHelp') }]),
      { name: 'agentId', label: t('numbers.agent'), required: true, help: t('numbers.agentHelp'),
        say: (value) => (value === NOBODY ? t('numbers.takeAway') : nameOf(value) || t('form.nothing')),
        render: (props) => html`<${Picker} ...${props} from=${AGENTS} required=${true} first=${row?.agents.length ? takeAway() : []} />` },
    ],
    values: (row) => ({ agentId: row ? answering(row)?.agentId ?? '' : '' }),
    create: ({ phoneNumber, agentId }) => assign(phoneNumber, agentId),
    update: ({ agentId }, row) => assign(row.phoneNumber, agentId),
  };
  return html`<${Resource} kind=${kind} />`;
}
