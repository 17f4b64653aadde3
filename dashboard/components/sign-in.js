// Sign-in by e-mail and key, as a page and as a dialog over a page whose session ended.
import { html } from '../lib/ui.js';
import { post } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { Form } from './form.js';
import { Brand } from './icons.js';

/** @param {{ email?: string, onSignedIn: () => void }} props `email`: whose session ended; another account starts anew. */
export function SignIn({ email, onSignedIn }) {
  /** @type {import('./form.js').Field[]} */
  const fields = [
    { name: 'email', label: t('signIn.email'), type: 'email', required: true, autocomplete: 'username' },
    { name: 'apiKey', label: t('signIn.key'), type: 'password', required: true, autofocus: !!email, autocomplete: 'current-password',
      help: t('signIn.keyHelp') },
  ];
  return html`<${Form} fields=${fields} values=${{ email: email ?? '' }} submit=${t('signIn.submit')} onSubmit=${async (/** @type {any} */ values) => {
    await post('/session', { email: values.email.trim(), apiKey: values.apiKey.trim() }, { anonymous: true });
    if (email && values.email.trim().toLowerCase() !== email.toLowerCase()) location.assign('/');
    else onSignedIn();
  }} />`;
}

/** @param {{ problem?: string, onSignedIn: () => void }} props */
export const SignInPage = ({ problem, onSignedIn }) => html`<main class="sign-in"><div class="card">
  <${Brand} /><h1>${t('signIn.title')}</h1>
  ${problem && html`<p class="alert bad" role="alert">${problem}</p>`}
  <${SignIn} onSignedIn=${onSignedIn} />
  <details open=${!!problem}><summary>${t('signIn.noKey')}</summary><p>${t('signIn.linkHelp')}</p>
    <pre>ringback account login-link ${t('signIn.exampleEmail')}</pre>
  <p>${t('signIn.createHelp')}</p><pre>ringback account create --email ${t('signIn.exampleEmail')}</pre></details>
</div></main>`;

/** @param {{ email: string, onAnswer: (yes: boolean) => void }} props `email`: who is signed in. */
export const LinkQuestion = ({ email, onAnswer }) => html`<main class="sign-in"><div class="card">
  <${Brand} /><h1>${t('signIn.byLink')}</h1><p>${t('signIn.byLinkHelp', { email })}</p>
  <div class="actions"><button class="primary" onClick=${() => onAnswer(true)}>${t('signIn.useLink')}</button>
    <button onClick=${() => onAnswer(false)}>${t('signIn.keepSession')}</button></div>
</div></main>`;
