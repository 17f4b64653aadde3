// Settings: endpoints that receive the account's events, carriers and providers, and the service itself.
import { html, useEffect, useState } from '../lib/ui.js';
import { may } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { toast } from '../components/dialog.js';
import { Resource } from '../components/resource.js';
import { SecretOnce } from '../components/secret.js';
import { Facts, Lacks } from '../components/states.js';
import { Services } from './services.js';
import { OnOff, Recent, webhooks } from './webhook-fields.js';

export default function Settings() {
  const [secret, setSecret] = useState('');
  const kind = {
    ...webhooks(), href: (/** @type {any} */ hook) => `/settings/webhooks/${hook.webhookId}`,
    // The answer to a request that was sent twice lacks the secret.
    onCreated: (/** @type {any} */ hook) => (hook.secret ? setSecret(hook.secret) : toast(t('webhooks.noSecret'), { bad: true })),
    columns: [
      { key: 'url', label: t('webhooks.url'), wide: true, render: (/** @type {any} */ hook) => hook.url },
      { key: 'state', label: t('webhooks.state'), render: (/** @type {any} */ hook) => html`<${OnOff} hook=${hook} />` },
      { key: 'types', label: t('webhooks.types'),
        render: (/** @type {any} */ hook) => (hook.types.includes('*') ? t('webhooks.allTypes') : hook.types.join(', ')) },
      { key: 'recent', label: t('webhooks.recent'), render: (/** @type {any} */ hook) => html`<${Recent} counts=${hook.recent} />` },
      { key: 'description', label: t('webhooks.description'), optional: true, render: (/** @type {any} */ hook) => hook.description || '–' },
    ],
  };
  return html`<h1>${t('settings.title')}</h1>
    ${may('admin') ? html`<section class="stack"><${Resource} kind=${kind} level=${2} /></section>`
      : html`<section class="card" aria-labelledby="webhooks"><h2 id="webhooks">${t('webhooks.title')}</h2><${Lacks} scope="admin" /></section>`}
    <${Services} />
    <section class="card" aria-labelledby="service"><h2 id="service">${t('settings.service')}</h2><${Service} /></section>
    ${secret && html`<${SecretOnce} title=${t('webhooks.secret')} value=${secret} onClose=${() => setSecret('')} />`}`;
}

function Service() {
  const [version, setVersion] = useState('…');
  useEffect(() => { fetch('/public/health').then((answer) => answer.json()).then(({ data }) => setVersion(data.version), () => setVersion('–')); }, []);
  return html`<${Facts} facts=${[[t('settings.version'), version], [t('settings.api'), html`<a href="/docs" target="_blank" rel="noopener">/docs</a>`]]} />`;
}
