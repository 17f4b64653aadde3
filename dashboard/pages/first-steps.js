// The five steps to a campaign of one's own. With the simulated carrier the first two take a click each.
import { html, useState } from '../lib/ui.js';
import { get, newKey, post } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { navigate } from '../lib/router.js';
import { SAMPLE } from '../components/contacts-drop.js';
import { toast, toastError } from '../components/dialog.js';
import { Icon } from '../components/icons.js';

/** A number that no carrier rings; the simulated one answers it. */
const SIMULATED = '+15550100032';

/** @param {{ hasAgent: boolean, hasCall: boolean, hasCampaign: boolean }} props */
export function FirstSteps({ hasAgent, hasCall, hasCampaign }) {
  const [busy, setBusy] = useState(false);
  const [made, setMade] = useState(hasAgent);
  const [keys] = useState(() => ({ agent: newKey(), call: newKey() }));
  /** @param {() => Promise<void>} action */
  const run = (action) => async () => {
    if (busy) return;
    setBusy(true);
    try { await action(); } catch (error) { toastError(error); }
    setBusy(false);
  };
  const makeAgent = run(async () => {
    await post('/agents/create', {
      name: t('firstSteps.agentName'),
      conversationConfig: { agent: { primaryLanguage: 'en', greetingMessage: t('firstSteps.greeting'),
        prompt: { prompt: t('firstSteps.prompt'), builtInTools: { endCall: { enabled: true } } } } },
      platformSettings: { disclosure: { enabled: true }, privacy: { recordVoice: true }, callActions: { smartOptOut: true },
        dataCollection: { entities: { preferredDay: { type: 'string', description: 'preferred day for a visit' } } } },
    }, { idempotencyKey: keys.agent });
    setMade(true);
    toast(t('firstSteps.agentMade'));
  });
  const placeCall = run(async () => {
    const { data: [agent] } = await get('/agents', { query: { pageSize: 1 } });
    const { data } = await post('/calls',
      { agentId: agent.agentId, phoneNumber: SIMULATED, name: 'Maria', dynamicVariables: { persona: 'cooperative' } }, { idempotencyKey: keys.call });
    navigate(`/calls/${data.conversationId}`);
  });
  const steps = [
    { key: 'agent', done: made, action: html`<button class=${made ? '' : 'primary'} onClick=${makeAgent}>${t('firstSteps.makeAgent')}</button>
      ${' '}<a class="button" href="/agents/new">${t('firstSteps.ownAgent')}</a>` },
    { key: 'call', done: hasCall, action: made && html`<button class=${hasCall ? '' : 'primary'} onClick=${placeCall}>${t('firstSteps.placeCall')}</button>` },
    { key: 'campaign', done: hasCampaign, action: html`
      <a class=${`button ${made && hasCall ? 'primary' : ''}`} href="/campaigns/new">${t('newCampaign.title')}</a>
      ${' '}<a class="button" href=${SAMPLE} download="contacts.csv">${t('firstSteps.sample')}</a>` },
    { key: 'watch', done: false, action: hasCampaign && html`<a class="button primary" href="/campaigns">${t('campaigns.title')}</a>` },
    { key: 'carrier', done: false, action: html`<a class="button" href="/settings">${t('firstSteps.settings')}</a>` },
  ];
  return html`<section class="card" aria-labelledby="first-steps"><h2 id="first-steps">${t('firstSteps.title')}</h2>
    <ol class="steps">${steps.map(({ key, done, action }, at) => html`<li key=${key} class=${done ? 'done' : ''}>
      <span class="step-mark" aria-hidden="true">${done ? html`<${Icon} name="check" />` : at + 1}</span>
      <div><h3>${t(`firstSteps.${key}`)}${done && html`<span class="hidden"> (${t('firstSteps.done')})</span>`}</h3>
        <p class="muted">${t(`firstSteps.${key}Help`)}</p></div>
      ${!done && html`<div class="actions">${action}</div>`}</li>`)}</ol></section>`;
}
