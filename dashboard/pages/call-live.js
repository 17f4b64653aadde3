// Commands to a call in progress.
import { html, useState } from '../lib/ui.js';
import { may, post } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { confirm, Dialog, toast, toastError } from '../components/dialog.js';
import { atMost, Form } from '../components/form.js';
import { Icon } from '../components/icons.js';

/** A check of notes, and of words for the agent to say. */
export const checkLength = atMost(1000);

const TRANSFERS = ['blind', 'conference', 'sip_refer'], DIALOGS = /** @type {const} */ (['transfer', 'digits', 'instructions']);

/** @typedef {import('../components/form.js').Field} Field */

/** @returns {Record<'transfer' | 'digits' | 'instructions', Field[]>} */
const dialogs = () => ({
  transfer: [
    { name: 'phoneNumber', label: t('live.to'), help: t('live.toHelp'), required: true, autofocus: true },
    { name: 'transferType', label: t('live.kind'), type: 'select', default: 'blind',
      options: TRANSFERS.map((value) => ({ value, label: t(`live.kinds.${value}`) })) },
    { name: 'message', label: t('live.message'), help: t('live.messageHelp'), check: checkLength },
  ],
  digits: [{ name: 'digits', label: t('live.keys'), help: t('live.keysHelp'), required: true, autofocus: true }],
  instructions: [
    { name: 'text', label: t('live.note'), type: 'textarea', help: t('live.noteHelp'), required: true, autofocus: true, check: checkLength },
    { name: 'once', label: t('live.once'), type: 'checkbox' },
  ],
});

/** Ends a call, or cancels one that waits. @param {{ call: any, onChange: () => void }} props */
export function EndButton({ call, onChange }) {
  const [busy, setBusy] = useState(false), kind = call.status === 'scheduled' ? 'cancel' : 'end';
  async function end() {
    if (busy || !await confirm({ title: t(`live.${kind}Title`), action: t(`live.${kind}`), danger: true })) return;
    setBusy(true);
    try { await post(`/conversations/${call.conversationId}/end`); toast(t(`live.done.${kind}`)); } catch (error) { toastError(error); }
    setBusy(false);
    onChange();
  }
  return may('live') && html`<button class="danger" aria-disabled=${busy} onClick=${end}><${Icon} name="stop" />${t(`live.${kind}`)}</button>`;
}

/** The values that are given. @param {Record<string, any>} values */
const filled = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '' && value !== undefined));

/**
 * The form of a command. @param {{ name: 'transfer' | 'digits' | 'instructions', help?: string, isOperator?: boolean, onClose: () => void,
 *   onSend: (values: Record<string, any>) => Promise<void> }} props `isOperator`: who has the call announces a transfer.
 */
export const CommandDialog = ({ name, help, isOperator, onClose, onSend }) => html`<${Dialog} title=${t(`live.${name}`)} onClose=${onClose}>
  ${help && html`<p class="muted">${help}</p>`}
  <${Form} fields=${dialogs()[name].filter((field) => !isOperator || field.name !== 'message')} submit=${t(`live.${name}`)} onCancel=${onClose}
    onSubmit=${async (/** @type {any} */ values) => { await onSend(filled(values)); onClose(); }} /><//>`;

/** @param {{ id: string, notTalking: string, onChange: () => void }} props `notTalking`: see `CallNow`. */
export function LiveControls({ id, notTalking, onChange }) {
  const [open, setOpen] = useState(/** @type {'transfer' | 'digits' | 'instructions' | null} */ (null));
  /** @param {string} name @param {any} body */
  const send = async (name, { once, ...body }) => {
    if (once) body.for = 'turn';
    await post(`/conversations/${id}/${name}`, filled(body));
    toast(t(`live.done.${name}`));
    onChange();
  };
  if (!may('live')) return null;
  /** @type {Field[]} */
  const say = [
    { name: 'text', label: t('live.text'), help: t('live.textHelp'), required: true, check: checkLength },
    { name: 'interrupt', label: t('live.interrupt'), type: 'checkbox' },
  ];
  return html`<section class="card" aria-labelledby="live-controls"><h2 id="live-controls">${t('live.title')}</h2>
    ${notTalking && html`<p class="help">${t('live.notNow')}</p>`}
    <${Form} fields=${say} submit=${t('live.say')} disabled=${!!notTalking} onSubmit=${(/** @type {any} */ values) => send('say', values)} />
    <div class="actions">${DIALOGS.filter((name) => notTalking !== 'operator' || name === 'instructions').map((name) =>
      html`<button key=${name} disabled=${notTalking && !(notTalking === 'menu' && name === 'digits')}
      onClick=${() => setOpen(name)}>${t(`live.${name}`)}</button>`)}</div>
    ${open && html`<${CommandDialog} name=${open} onClose=${() => setOpen(null)} onSend=${(/** @type {any} */ values) => send(open, values)} />`}
  </section>`;
}
