import { html } from '../lib/ui.js';
import { t } from '../lib/i18n.js';

export default function Campaign() {
  return html`<h1>${t('campaign.title')}</h1>`;
}
