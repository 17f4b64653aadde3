import { html } from '../lib/ui.js';
import { t } from '../lib/i18n.js';

export default function Overview() {
  return html`<h1>${t('overview.title')}</h1>`;
}
