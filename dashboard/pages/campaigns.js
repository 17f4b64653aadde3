import { html } from '../lib/ui.js';
import { t } from '../lib/i18n.js';

export default function Campaigns() {
  return html`<h1>${t('campaigns.title')}</h1>`;
}
