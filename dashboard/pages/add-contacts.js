// More contacts for a campaign, from a file.
import { html, useMemo, useState } from '../lib/ui.js';
import { newKey, post } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { ContactsDrop } from '../components/contacts-drop.js';
import { Dialog, toast } from '../components/dialog.js';
import { csvForm } from '../components/service-check.js';
import { errorText } from '../components/states.js';

/** @param {{ campaign: any, onClose: () => void, onDone: () => void }} props */
export function AddContacts({ campaign, onClose, onDone }) {
  const [checked, setChecked] = useState(/** @type {import('../components/contacts-drop.js').Checked | null} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const key = useMemo(newKey, [checked]);
  const ready = checked?.isReady;
  async function add() {
    if (!checked || !ready || busy) return;
    setBusy(true);
    setFailure(null);
    try {
      const { data } = await post(`/campaigns/${campaign.campaignId}/contacts/csv`, csvForm(checked.fields, checked.file), { idempotencyKey: key });
      toast(t('campaign.added', { n: data.added }));
      onDone();
    } catch (error) { setFailure(error); }
    setBusy(false);
  }
  const take = (/** @type {any} */ next) => { setChecked(next); setFailure(null); };
  return html`<${Dialog} title=${t('campaign.addContacts')} onClose=${onClose}>
    <${ContactsDrop} onChecked=${take} agentId=${campaign.agentId} refused=${failure?.details?.rows && failure.details} />
    ${failure && html`<p class="alert bad" role="alert">${errorText(failure)}</p>`}
    <div class="actions"><button class="primary" aria-disabled=${!ready || busy} onClick=${add}>${t('campaign.addSubmit')}</button>
      <button onClick=${onClose}>${t('common.cancel')}</button></div>
  <//>`;
}
