import { html } from '../lib/ui.js';
import { t } from '../lib/i18n.js';

export default function NewCampaign() {
  return html`<h1>${t('newCampaign.title')}</h1>`;
}
