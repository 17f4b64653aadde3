// What the list of webhook endpoints and the page of one share.
import { html } from '../lib/ui.js';
import { t } from '../lib/i18n.js';

const TYPES = {
  call: ['started', 'answered', 'ended', 'analysed'],
  campaign: ['draft', 'waiting', 'running', 'paused', 'stopped', 'completed', 'failed', 'delayed'],
  contact: ['opted_out'],
};

/** @returns {import('../components/resource.js').Kind} */
export const webhooks = () => ({
  path: '/webhooks', texts: 'webhooks', scope: 'admin', id: (hook) => hook.webhookId, name: (hook) => hook.url, columns: [],
  fields: () => [
    { name: 'url', label: t('webhooks.url'), required: true, placeholder: 'https://', help: t('webhooks.urlHelp') },
    { name: 'types', label: t('webhooks.types'), type: 'checks', dense: true, options: types() },
    { name: 'description', label: t('webhooks.description') },
    { name: 'enabled', label: t('webhooks.enabled'), type: 'checkbox', help: t('webhooks.enabledHelp') },
  ],
  values: (hook) => ({ url: hook?.url, types: hook?.types ?? ['*'], description: hook?.description, enabled: hook?.enabled ?? true }),
  body: ({ url, types: chosen, description, enabled }) => ({ url: url ?? '', types: chosen, description: description ?? '', enabled }),
});

const types = () => [
  { value: '*', label: t('webhooks.allTypes') },
  ...Object.entries(TYPES).flatMap(([group, each]) => [
    { value: `${group}.*`, label: t(`webhooks.groups.${group}`) },
    ...each.map((name) => ({ value: `${group}.${name}`, label: `${group}.${name}` })),
  ]),
];

/** @param {{ hook: any }} props */
export const OnOff = ({ hook }) => html`<span class=${`badge ${hook.enabled ? 'good' : ''}`}>${t(hook.enabled ? 'webhooks.on' : 'webhooks.off')}</span>`;

/** @param {{ counts: { succeeded: number, failed: number, pending: number } }} props */
export const Recent = ({ counts }) => html`<span class="row">${[['succeeded', 'good'], ['failed', 'bad'], ['pending', 'info']].map(([name, tone]) => {
  const n = counts[/** @type {'failed'} */ (name)];
  return n > 0 && html`<span class=${`badge ${tone}`}>${t(`webhooks.counts.${name}`, { n })}</span>`;
})}${counts.succeeded + counts.failed + counts.pending === 0 && '–'}</span>`;
