import { html } from '../lib/ui.js';
import { t } from '../lib/i18n.js';

export default function Profile() {
  return html`<h1>${t('profile.title')}</h1>`;
}
