// What one can do with a campaign: the command that comes next as the first button, the others beside it and in a menu.
import { html, useEffect, useRef, useState } from '../lib/ui.js';
import { del, may, newKey, patch, post } from '../lib/api.js';
import { t, zone } from '../lib/i18n.js';
import { navigate } from '../lib/router.js';
import { confirm, Dialog, toast, toastError } from '../components/dialog.js';
import { Form } from '../components/form.js';
import { Icon } from '../components/icons.js';
import { Menu } from '../components/menu.js';
import { AddContacts } from './add-contacts.js';
import { followUpBody, followUpFields, optionsOf, scheduleBody, scheduleFields, scheduleValues } from './campaign-fields.js';

const STARTABLE = ['draft', 'waiting', 'paused', 'stopped', 'failed'];
const STOPPABLE = ['waiting', 'running', 'delayed', 'paused'];
const OUTCOMES = ['failed', 'no-answer', 'busy', 'rejected', 'voicemail', 'cancelled'];

/** @param {{ campaign: any, onChange: () => void }} props */
export function CampaignActions({ campaign, onChange }) {
  const [open, setOpen] = useState(/** @type {string | null} */ (null));
  const [busy, setBusy] = useState(false);
  const { campaignId: id, status } = campaign;
  const dialing = status === 'running' || status === 'delayed', mayDial = may('calls'), mayWrite = may('write');
  const actions = useRef(/** @type {HTMLElement | null} */ (null)), hasActed = useRef(false);
  // The button that had the focus is replaced by the one that comes next.
  useEffect(() => {
    if (hasActed.current && document.activeElement === document.body) actions.current?.querySelector('button')?.focus();
    hasActed.current = false;
  }, [status]);

  /** @param {string} name @param {any} [body] */
  async function run(name, body) {
    if (busy) return;
    setBusy(true);
    hasActed.current = true;
    try {
      const { warning } = await post(`/campaigns/${id}/${name}`, body);
      toast(warning ?? t(`campaign.done.${name}`));
    } catch (error) { toastError(error); }
    setBusy(false);
    onChange();
  }
  async function launch() {
    const left = campaign.progress?.pending ?? campaign.contactCount;
    if (status === 'paused' || await confirm({ title: t('campaign.launchTitle'), body: t('campaign.launchBody', { n: left }),
      action: t('campaign.launch') })) run('launch');
  }
  async function remove() {
    if (!await confirm({ title: t('campaign.deleteTitle'), body: t('campaign.deleteBody'), action: t('common.delete'), danger: true })) return;
    try { await del(`/campaigns/${id}`); toast(t('campaign.deleted')); navigate('/campaigns'); } catch (error) { toastError(error); }
  }
  async function duplicate() {
    try {
      const { data } = await post(`/campaigns/${id}/duplicate`, {}, { idempotencyKey: newKey() });
      toast(t('campaign.duplicated'));
      navigate(`/campaigns/${data.campaignId}`);
    } catch (error) { toastError(error); }
  }
  const close = () => setOpen(null);
  const done = () => { close(); onChange(); };
  const item = (/** @type {string} */ label, /** @type {() => void} */ onClick) => html`<button class="plain" onClick=${onClick}>${label}</button>`;
  return html`<div class="actions" ref=${actions}>
    ${dialing && mayDial && html`
      <button class="primary" aria-disabled=${busy} onClick=${() => run('pause')}><${Icon} name="pause" />${t('campaign.pause')}</button>`}
    ${STARTABLE.includes(status) && mayDial && html`
      <button class="primary" aria-disabled=${busy} onClick=${launch}><${Icon} name="play" />
        ${t(status === 'paused' ? 'campaign.resume' : status === 'waiting' ? 'campaign.launchNow' : 'campaign.launch')}</button>`}
    ${status === 'waiting' && mayDial && html`
      <button aria-disabled=${busy} onClick=${() => run('pause')}><${Icon} name="pause" />${t('campaign.pause')}</button>`}
    ${STOPPABLE.includes(status) && mayDial && html`
      <button aria-disabled=${busy} onClick=${() => setOpen('stop')}><${Icon} name="stop" />${t('campaign.stop')}</button>`}
    ${status === 'completed' && mayDial && html`<button class="primary" onClick=${() => setOpen('again')}>${t('campaign.callAgain')}</button>`}
    <a class="button" href=${`/public/v1/campaigns/${id}/results.csv`} download="results.csv">${t('campaign.results')}</a>
    ${(mayDial || mayWrite) && html`<${Menu} button=${true} label=${t('campaign.moreActions')}>
      ${STARTABLE.includes(status) && mayDial && item(t('campaign.scheduleAction'), () => setOpen('schedule'))}
      ${status !== 'completed' && mayDial && item(t('campaign.callAgain'), () => setOpen('again'))}
      ${mayWrite && item(t('campaign.addContacts'), () => setOpen('add'))}
      ${mayWrite && !dialing && item(t('campaign.edit'), () => setOpen('edit'))}
      ${mayWrite && item(t('campaign.duplicate'), duplicate)}
      ${mayWrite && !dialing && item(t('common.delete'), remove)}
    <//>`}
    ${open === 'stop' && html`<${StopDialog} onClose=${close} onStop=${(/** @type {boolean} */ hangUp) => { close(); run('stop', { hangUp }); }} />`}
    ${open === 'schedule' && html`<${ScheduleDialog} campaign=${campaign} onClose=${close} onDone=${done} />`}
    ${open === 'again' && html`<${CallAgainDialog} campaign=${campaign} onClose=${close} onDone=${done} />`}
    ${open === 'edit' && html`<${EditDialog} campaign=${campaign} onClose=${close} onDone=${done} />`}
    ${open === 'add' && html`<${AddContacts} campaign=${campaign} onClose=${close} onDone=${done} />`}
  </div>`;
}

/** @param {{ onClose: () => void, onStop: (hangUp: boolean) => void }} props */
function StopDialog({ onClose, onStop }) {
  const [hangUp, setHangUp] = useState(false);
  return html`<${Dialog} title=${t('campaign.stopTitle')} onClose=${onClose}>
    <p>${t('campaign.stopBody')}</p>
    <label class="check"><input type="checkbox" checked=${hangUp} onChange=${(/** @type {any} */ event) => setHangUp(event.target.checked)} />
      ${t('campaign.hangUp')}</label>
    <div class="actions"><button class="danger" onClick=${() => onStop(hangUp)}>${t('campaign.stop')}</button>
      <button onClick=${onClose}>${t('common.cancel')}</button></div>
  <//>`;
}

/** @param {{ campaign: any, onClose: () => void, onDone: () => void }} props */
function ScheduleDialog({ campaign, onClose, onDone }) {
  return html`<${Dialog} title=${t('campaign.scheduleAction')} onClose=${onClose}>
    <${Form} fields=${scheduleFields()}
      values=${scheduleValues(campaign, zone)}
      submit=${t('campaign.scheduleSubmit')} onCancel=${onClose} onSubmit=${async (/** @type {any} */ values) => {
        const answer = await post(`/campaigns/${campaign.campaignId}/schedule`, scheduleBody(values));
        toast(answer.warning ?? t('campaign.done.schedule'));
        onDone();
      }} />
  <//>`;
}

/** @param {{ campaign: any, onClose: () => void, onDone: () => void }} props */
function CallAgainDialog({ campaign, onClose, onDone }) {
  const [key] = useState(newKey);
  /** @type {import('../components/form.js').Field[]} */
  const fields = [{ name: 'outcomes', type: 'checks', label: t('campaign.againWhich'), help: t('campaign.againHelp'),
    options: OUTCOMES.map((value) => ({ value, label: t(`campaign.outcomes.${value}`) })) }];
  return html`<${Dialog} title=${t('campaign.callAgain')} onClose=${onClose}>
    <${Form} fields=${fields} values=${{ outcomes: ['failed'] }} submit=${t('campaign.callAgain')} onCancel=${onClose}
      onSubmit=${async (/** @type {any} */ { outcomes }) => {
      const { data, warning } = await post(`/campaigns/${campaign.campaignId}/call-again`, { outcomes }, { idempotencyKey: `${key}-${outcomes}` });
      toast(warning ?? t('campaign.again', { n: data.contacts }));
      onDone();
    }} />
  <//>`;
}

/** @param {{ campaign: any, onClose: () => void, onDone: () => void }} props */
function EditDialog({ campaign, onClose, onDone }) {
  /** @type {import('../components/form.js').Field[]} */
  const fields = [{ name: 'name', label: t('newCampaign.name'), required: true }, ...followUpFields()];
  const { followUp } = campaign;
  const values = {
    name: campaign.name, followUpCall: followUp.enabled, followUpAttempts: followUp.enabled ? followUp.attempts : undefined,
    followUpIntervals: followUp.intervalsMinutes.join(', '), ...optionsOf(campaign),
  };
  return html`<${Dialog} title=${t('campaign.edit')} onClose=${onClose}>
    <${Form} fields=${fields} values=${values} submit=${t('common.save')} onCancel=${onClose} showChanges=${true}
      onSubmit=${async (/** @type {any} */ now, /** @type {any} */ changed) => {
      const body = 'followUpCall' in changed || 'followUpAttempts' in changed || 'followUpIntervals' in changed ? followUpBody(now) : {};
      for (const [name, value] of Object.entries(changed)) if (!name.startsWith('followUp')) body[name] = value;
      await patch(`/campaigns/${campaign.campaignId}`, body);
      toast(t('campaign.saved'));
      onDone();
    }} />
  <//>`;
}
