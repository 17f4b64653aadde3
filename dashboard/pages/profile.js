// The account: e-mail, sessions, keys, the secret that signs webhooks, language and time zone.
import { html, useState } from '../lib/ui.js';
import { del, get, may, patch, post } from '../lib/api.js';
import { useList, useResource } from '../lib/data.js';
import { choose, language, languages, t, zone } from '../lib/i18n.js';
import { reload } from '../lib/router.js';
import { confirm, Dialog, toast, toastError } from '../components/dialog.js';
import { Form } from '../components/form.js';
import { Ids, Secret, SecretOnce } from '../components/secret.js';
import { Badge, Facts, Failure, Lacks, person, Time } from '../components/states.js';
import { Table } from '../components/table.js';
import { zones } from './campaign-fields.js';

const SCOPES = ['read', 'calls', 'live', 'write', 'admin'];

export default function Profile() {
  const me = useResource('/me');
  const sessions = useList('/session', {}, (session) => session.sessionId);
  return html`
    <h1>${t('profile.title')}</h1>
    ${me.error && html`<${Failure} error=${me.error} onRetry=${me.reload} />`}
    <div class="grid">
      <section class="card" aria-labelledby="account"><h2 id="account">${t('profile.account')}</h2>
        <${Facts} facts=${[[t('profile.email'), me.data?.email ?? '…'],
          [t('profile.id'), me.data && html`<${Ids} id=${me.data.userId} path="/me" />`]]} /></section>
      <section class="card" aria-labelledby="display"><h2 id="display">${t('profile.display')}</h2><${Display} /></section>
    </div>
    ${may('admin') && html`<${Keys} onReplaced=${() => sessions.refresh()} />`}
    <${Sessions} list=${sessions} />
    ${may('admin') ? html`
      <section class="card" aria-labelledby="webhook"><h2 id="webhook">${t('profile.webhookSecret')}</h2>
      <${WebhookSecret} /></section>` : html`<${Lacks} scope="admin" />`}`;
}

function Display() {
  /** @type {import('../components/form.js').Field[]} */
  const fields = [
    { name: 'language', label: t('profile.language'), type: 'select', required: true,
      options: Object.entries(languages).map(([value, label]) => ({ value, label })) },
    { name: 'zone', label: t('profile.zone'), type: 'select', required: true, help: t('profile.zoneHelp'), options: zones() },
  ];
  return html`<${Form} fields=${fields} values=${{ language, zone }} submit=${t('common.save')}
    onSubmit=${async (/** @type {any} */ values) => { choose(values); reload(); }} />`;
}

/** @param {{ onReplaced: () => void }} props */
function Keys({ onReplaced: onChanged }) {
  const list = useList('/me/api-keys', {}, (key) => key.keyId);
  const onReplaced = () => { list.refresh(); onChanged(); };
  const [open, setOpen] = useState(/** @type {any} */ (null));
  const [shown, setShown] = useState('');
  async function regenerate() {
    if (!await confirm({ title: t('profile.regenerateTitle'), body: t('profile.regenerateBody'), action: t('profile.regenerate'), danger: true })) return;
    try {
      const { data } = await post('/me/api-key/regenerate');
      setShown(data.apiKey);
      onReplaced();
    } catch (error) { toastError(error); }
  }
  async function remove(/** @type {any} */ key) {
    if (!await confirm({ title: t('profile.deleteKeyTitle', { name: key.name }), body: t('profile.deleteKeyBody'), action: t('common.delete'),
      danger: true })) return;
    try { await del(`/me/api-keys/${key.keyId}`); toast(t('profile.keyDeleted')); onReplaced(); } catch (error) { toastError(error); }
  }
  const columns = [
    { key: 'name', label: t('profile.keyName'), wide: true, render: (/** @type {any} */ key) => (key.isAccountKey ? t('profile.ownKey') : key.name) },
    { key: 'prefix', label: t('profile.keyPrefix'), render: (/** @type {any} */ key) => html`<code>${key.prefix}…</code>` },
    { key: 'scopes', label: t('profile.scopes'),
      render: (/** @type {any} */ key) =>
        (key.scopes.length === SCOPES.length ? t('profile.allScopes')
          : key.scopes.map((/** @type {string} */ each) => t(`profile.scopeNames.${each}`)).join(', ')) },
    { key: 'used', label: t('profile.lastUsed'), render: (/** @type {any} */ key) => html`<${Time} at=${key.lastUsedAt} />` },
    { key: 'expires', label: t('profile.expires'),
      render: (/** @type {any} */ key) => (key.expiresAt ? html`<${Time} at=${key.expiresAt} />` : t('profile.never')) },
    { key: 'actions', label: t('profile.actions'), render: (/** @type {any} */ key) => (key.isAccountKey
      ? SCOPES.every(may) && html`<button class="small" onClick=${regenerate}>${t('profile.regenerate')}</button>`
      : html`<span class="actions"><button class="small" aria-label=${t('profile.changeKey', { name: key.name })} onClick=${() => setOpen(key)}>
        ${t('profile.change')}</button>
        <button class="small" aria-label=${t('profile.deleteKey', { name: key.name })} onClick=${() => remove(key)}>${t('common.delete')}</button></span>`) },
  ];
  const close = () => setOpen(null);
  return html`<section class="stack" aria-labelledby="keys">
    <div class="head"><h2 id="keys">${t('profile.keys')}</h2><button onClick=${() => setOpen({})}>${t('profile.addKey')}</button></div>
    <p class="muted">${t('profile.keysHelp')}</p>
    <${Table} short=${true} label=${t('profile.keys')} list=${list} columns=${columns} rowKey=${(/** @type {any} */ key) => key.keyId} />
    ${open && html`<${KeyDialog} apiKey=${open} onClose=${close}
      onDone=${(/** @type {string | undefined} */ secret) => { close(); if (secret) setShown(secret); list.refresh(); }} />`}
    ${shown && html`<${SecretOnce} title=${t('profile.newKey')} value=${shown} onClose=${() => setShown('')} />`}
  </section>`;
}

/** Adds a key, or changes one. @param {{ apiKey: any, onClose: () => void, onDone: (secret?: string) => void }} props */
function KeyDialog({ apiKey, onClose, onDone }) {
  const isNew = !apiKey.keyId;
  /** @type {import('../components/form.js').Field[]} */
  const fields = [
    { name: 'name', label: t('profile.keyName'), required: true, help: t('profile.keyNameHelp') },
    { name: 'scopes', label: t('profile.scopes'), type: 'checks', options: SCOPES.map((value) => ({ value, label: t(`profile.scopeHelp.${value}`) })) },
    { name: 'expiresAt', label: t('profile.expires'), type: 'date', default: t('profile.never') },
  ];
  return html`<${Dialog} title=${isNew ? t('profile.addKey') : t('profile.changeKey', { name: apiKey.name })} onClose=${onClose}>
    <${Form} fields=${fields} submit=${isNew ? t('profile.addKey') : t('common.save')} onCancel=${onClose} showChanges=${!isNew}
      values=${{ name: apiKey.name, scopes: apiKey.scopes ?? ['read'], expiresAt: apiKey.expiresAt?.slice(0, 10) }}
      onSubmit=${async (/** @type {any} */ values, /** @type {any} */ changed) => {
        const end = (/** @type {string} */ day) => (day ? `${day}T23:59:59Z` : null);
        if (isNew) {
          const { data } = await post('/me/api-keys', { name: values.name, scopes: values.scopes, expiresAt: end(values.expiresAt) });
          return onDone(data.apiKey);
        }
        await patch(`/me/api-keys/${apiKey.keyId}`, 'expiresAt' in changed ? { ...changed, expiresAt: end(changed.expiresAt) } : changed);
        toast(t('profile.keySaved'));
        onDone();
      }} />
  <//>`;
}

/** @param {{ list: import('../lib/data.js').List }} props */
function Sessions({ list }) {
  async function end(/** @type {any} */ session) {
    try {
      await del(`/session/${session.sessionId}`);
      if (session.isPresent) location.assign('/');
      toast(t('profile.sessionEnded'));
      list.refresh();
    } catch (error) { toastError(error); }
  }
  const columns = [
    { key: 'key', label: t('profile.signedInWith'), wide: true,
      render: (/** @type {any} */ s) => html`${person(s.keyName) ?? t('profile.loginLink')}${' '}
        ${s.isPresent && html`<${Badge} status="present" tone="live" />`}` },
    { key: 'created', label: t('profile.signedInAt'), render: (/** @type {any} */ s) => html`<${Time} at=${s.createdAt} />` },
    { key: 'used', label: t('profile.lastUsed'), render: (/** @type {any} */ s) => html`<${Time} at=${s.lastUsedAt} />` },
    { key: 'expires', label: t('profile.ends'), render: (/** @type {any} */ s) => html`<${Time} at=${s.expiresAt} />` },
    { key: 'actions', label: t('profile.actions'),
      render: (/** @type {any} */ s) => (s.isPresent || may('admin'))
        && html`<button class="small" onClick=${() => end(s)}>${t(s.isPresent ? 'shell.signOut' : 'profile.endSession')}</button>` },
  ];
  return html`<section class="stack" aria-labelledby="sessions"><h2 id="sessions">${t('profile.sessions')}</h2>
    <${Table} short=${true} label=${t('profile.sessions')} list=${list} columns=${columns} rowKey=${(/** @type {any} */ s) => s.sessionId} /></section>`;
}

function WebhookSecret() {
  const [secret, setSecret] = useState('');
  async function show() {
    try { setSecret((await get('/me/webhook-secret')).data.webhookSecret); } catch (error) { toastError(error); }
  }
  async function rotate() {
    if (!await confirm({ title: t('profile.rotateTitle'), body: t('profile.rotateBody'), action: t('profile.rotate'), danger: true })) return;
    try {
      setSecret((await post('/me/webhook-secret/rotate')).data.webhookSecret);
      toast(t('profile.rotated'));
    } catch (error) { toastError(error); }
  }
  return html`<p class="muted">${t('profile.webhookHelp')}</p>
    ${secret && html`<${Secret} label=${t('profile.webhookSecret')} value=${secret} />`}
    <div class="actions">${secret ? html`<button onClick=${() => setSecret('')}>${t('profile.hide')}</button>`
      : html`<button onClick=${show}>${t('profile.show')}</button>`}
      <button onClick=${rotate}>${t('profile.rotate')}</button></div>`;
}
