// Commands to a call in progress.
import { html, useState } from '../lib/ui.js';
import { post } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { confirm, Dialog, toast, toastError } from '../components/dialog.js';
import { Form } from '../components/form.js';
import { Icon } from '../components/icons.js';
import { checkLength } from './call-now.js';

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
  return html`<button class="danger" aria-disabled=${busy} onClick=${end}><${Icon} name="stop" />${t(`live.${kind}`)}</button>`;
}

/** @param {{ id: string, notTalking: string, onChange: () => void }} props `notTalking`: see `CallNow`. */
export function LiveControls({ id, notTalking, onChange }) {
  const [open, setOpen] = useState(/** @type {'transfer' | 'digits' | 'instructions' | null} */ (null));
  /** @param {string} name @param {any} body */
  const send = async (name, { once, ...body }) => {
    if (once) body.for = 'turn';
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== '' && value !== undefined));
    await post(`/conversations/${id}/${name}`, given);
    toast(t(`live.done.${name}`));
    setOpen(null);
    onChange();
  };
  /** @type {Field[]} */
  const say = [
    { name: 'text', label: t('live.text'), help: t('live.textHelp'), required: true, check: checkLength },
    { name: 'interrupt', label: t('live.interrupt'), type: 'checkbox' },
  ];
  return html`<section class="card" aria-labelledby="live-controls"><h2 id="live-controls">${t('live.title')}</h2>
    ${notTalking && html`<p class="help">${t('live.notNow')}</p>`}
    <${Form} fields=${say} submit=${t('live.say')} disabled=${!!notTalking} onSubmit=${(/** @type {any} */ values) => send('say', values)} />
    <div class="actions">${DIALOGS.map((name) => html`<button key=${name} disabled=${notTalking && !(notTalking === 'menu' && name === 'digits')}
      onClick=${() => setOpen(name)}>${t(`live.${name}`)}</button>`)}</div>
    ${open && html`<${Dialog} title=${t(`live.${open}`)} onClose=${() => setOpen(null)}>
      <${Form} fields=${dialogs()[open]} submit=${t(`live.${open}`)} onCancel=${() => setOpen(null)}
        onSubmit=${(/** @type {any} */ values) => send(open, values)} /><//>`}
  </section>`;
}
