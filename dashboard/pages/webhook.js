// One webhook endpoint: what it receives, its deliveries with their errors, and what one can do with it.
import { html, useEffect, useState } from '../lib/ui.js';
import { patch, post } from '../lib/api.js';
import { useList, useResource } from '../lib/data.js';
import { number, t } from '../lib/i18n.js';
import { navigate } from '../lib/router.js';
import { confirm, Dialog, toast, toastError } from '../components/dialog.js';
import { DeleteDialog, FormDialog } from '../components/resource.js';
import { Ids, SecretOnce } from '../components/secret.js';
import { Facts, Failure, Loading, Time } from '../components/states.js';
import { Table } from '../components/table.js';
import { OnOff, Recent, webhooks } from './webhook-fields.js';

const TONES = /** @type {Record<string, string>} */ ({ done: 'good', given_up: 'bad', pending: 'info' });
const LOOK_AGAIN_MS = 3000;

/** @param {{ params: Record<string, string> }} props */
export default function Webhook({ params: { id } }) {
  const path = `/webhooks/${encodeURIComponent(id)}`;
  const { data: hook, etag, error, reload } = useResource(path);
  const deliveries = useList(`${path}/deliveries`, {}, (delivery) => delivery.deliveryId);
  const [open, setOpen] = useState(/** @type {'change' | 'delete' | null} */ (null));
  const [secret, setSecret] = useState('');
  const isWaiting = deliveries.rows.some((each) => each.state === 'pending');
  const refresh = () => { deliveries.refresh(); reload(); };
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setInterval(() => document.hidden || refresh(), LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isWaiting, deliveries]);

  /** @param {() => Promise<any>} request @param {string} said */
  async function run(request, said) {
    try { const answer = await request(); toast(t(said)); refresh(); return answer.data; } catch (problem) { toastError(problem); }
  }
  async function rotate() {
    if (!await confirm({ title: t('webhooks.rotateTitle'), body: t('webhooks.rotateBody'), action: t('webhooks.rotate'), danger: true })) return;
    const data = await run(() => post(`${path}/rotate-secret`), 'webhooks.rotated');
    if (data) setSecret(data.secret);
  }
  if (error) return html`<h1>${t('webhooks.one')}</h1><${Failure} error=${error} onRetry=${reload} />`;
  if (!hook) return html`<div class="head"><h1>${t('webhooks.one')}</h1></div><${Loading} />`;
  const close = () => setOpen(null);
  return html`
    <div class="head"><h1>${t('webhooks.one')}</h1>
      <div class="actions">
        ${hook.enabled && html`<button class="primary" onClick=${() => run(() => post(`${path}/test`), 'webhooks.tested')}>${t('webhooks.test')}</button>`}
        <button onClick=${() => run(() => patch(path, { enabled: !hook.enabled }, { ifMatch: etag }), 'resource.saved')}>
          ${t(hook.enabled ? 'webhooks.turnOff' : 'webhooks.turnOn')}</button>
        <button onClick=${() => setOpen('change')}>${t('resource.change')}</button>
        <button onClick=${rotate}>${t('webhooks.rotate')}</button>
        <button onClick=${() => setOpen('delete')}>${t('common.delete')}</button>
      </div></div>
    <section class="card" aria-label=${t('webhooks.one')}><${Facts} facts=${[
      [t('webhooks.url'), html`<code>${hook.url}</code>`], hook.description && [t('webhooks.description'), hook.description],
      [t('webhooks.state'), html`<${OnOff} hook=${hook} />`],
      [t('webhooks.types'), hook.types.includes('*') ? t('webhooks.allTypes') : hook.types.join(', ')],
      [t('webhooks.recent'), html`<${Recent} counts=${hook.recent} />`],
      [t('webhooks.created'), html`<${Time} at=${hook.metadata.createdAt} full=${true} />`],
    ]} /><${Ids} id=${id} path=${path} /></section>
    <${Deliveries} list=${deliveries}
      onResend=${hook.enabled && ((/** @type {any} */ each) => run(() => post(`${path}/deliveries/${each.deliveryId}/resend`), 'webhooks.resent'))} />
    ${open === 'change' && html`<${FormDialog} kind=${webhooks()} row=${hook} etag=${etag} onClose=${close} onStale=${reload}
      onDone=${() => { close(); toast(t('resource.saved')); refresh(); }} />`}
    ${open === 'delete' && html`<${DeleteDialog} kind=${webhooks()} row=${hook} onClose=${close}
      onDone=${() => { toast(t('resource.deleted')); navigate('/settings'); }} />`}
    ${secret && html`<${SecretOnce} title=${t('webhooks.secret')} value=${secret} onClose=${() => setSecret('')} />`}`;
}

/** @param {{ list: import('../lib/data.js').List, onResend: false | ((delivery: any) => void) }} props */
function Deliveries({ list, onResend }) {
  const [shown, setShown] = useState(/** @type {any} */ (null));
  const state = (/** @type {any} */ each) =>
    html`<span class=${`badge ${TONES[each.state] ?? ''}`}>${t(`webhooks.states.${each.state}`, { fallback: each.state })}</span>`;
  const columns = [
    { key: 'type', label: t('webhooks.type'), wide: true, render: (/** @type {any} */ each) => each.type },
    { key: 'state', label: t('webhooks.state'), render: state },
    { key: 'attempts', label: t('webhooks.attempts'), align: /** @type {const} */ ('end'),
      render: (/** @type {any} */ each) => html`<span class="numeric">${number(each.attempts)}</span>` },
    { key: 'error', label: t('webhooks.lastError'), render: (/** @type {any} */ each) => each.lastError ?? '–' },
    { key: 'created', label: t('webhooks.at'), render: (/** @type {any} */ each) => html`<${Time} at=${each.createdAt} />` },
    { key: 'next', label: t('webhooks.nextTry'), optional: true, render: (/** @type {any} */ each) => html`<${Time} at=${each.nextTryAt} />` },
    ...(onResend ? [{
      key: 'actions', label: t('resource.actions'), render: (/** @type {any} */ each) => html`<button class="small"
        aria-label=${t('webhooks.resendType', { type: each.type })} onClick=${() => onResend(each)}>${t('webhooks.resend')}</button>`,
    }] : []),
  ];
  return html`<section class="stack" aria-labelledby="deliveries"><h2 id="deliveries">${t('webhooks.deliveries')}</h2>
    <${Table} label=${t('webhooks.deliveries')} list=${list} columns=${columns}
      rowKey=${(/** @type {any} */ each) => each.deliveryId} onOpen=${setShown} empty=${t('webhooks.noDeliveries')} />
    ${shown && html`<${Dialog} title=${shown.type} onClose=${() => setShown(null)}>
      <${Facts} facts=${[[t('webhooks.state'), state(shown)], [t('webhooks.attempts'), number(shown.attempts)],
        [t('webhooks.answer'), shown.lastError ?? t(`webhooks.answers.${shown.state}`)],
        [t('webhooks.at'), html`<${Time} at=${shown.createdAt} full=${true} />`], ['webhook-id', html`<code>${shown.deliveryId}</code>`]]} />
      ${shown.responseBody && html`<h3>${t('webhooks.said')}</h3><pre tabindex="0">${shown.responseBody}</pre>`}
      ${shown.body && html`<h3>${t('webhooks.body')}</h3><pre tabindex="0">${JSON.stringify(shown.body, null, 2)}</pre>`}
      <div class="actions"><button class="primary" onClick=${() => setShown(null)}>${t('common.close')}</button></div><//>`}</section>`;
}
