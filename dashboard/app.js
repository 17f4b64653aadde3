// The start: texts, a login link, the session, and then the shell or the sign-in.
import { html, render } from './lib/ui.js';
import { ApiError, isPassing, pause, post, request, signedIn } from './lib/api.js';
import { loadTexts, t } from './lib/i18n.js';
import { match, startRouter } from './lib/router.js';
import { routes } from './routes.js';
import { Shell } from './components/shell.js';
import { LinkQuestion, SignInPage } from './components/sign-in.js';
import { Failure, errorText } from './components/states.js';

const TRY_AGAIN_MS = 5_000;
const root = /** @type {HTMLElement} */ (document.getElementById('app'));

/** Exchanges the token of a login link, which leaves the address before anything else happens. @returns {Promise<string | undefined>} the problem */
async function useLoginLink() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (!token) return;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    const present = await signedInAs();
    if (present && !await wantsLink(present.email)) return;
    await post('/session', { token }, { anonymous: true });
  } catch (error) {
    return error instanceof ApiError && error.status === 401 ? t('signIn.linkUsed') : errorText(error);
  }
}

/** The account of the present session and its scopes; asking spends no link. @returns {Promise<{ email: string, scopes: string[] } | undefined>} */
async function signedInAs() {
  const once = { patient: false, anonymous: true };
  try {
    // Without the scope `read` an account has no name.
    const [sessions, me] = await Promise.all([request('GET', '/session', { ...once, query: { pageSize: 100 } }),
      request('GET', '/me', once).catch((error) => { if (error.status !== 403) throw error; })]);
    const present = sessions.data.find((/** @type {any} */ each) => each.isPresent);
    return { email: me?.data.email ?? present?.keyName ?? '', scopes: present?.scopes ?? [] };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
  }
}

/** The frame of the pages has no place around the sign-in. */
function removeFrame() {
  for (const part of root.querySelectorAll(':scope > .bar, :scope > nav')) part.remove();
}

/** Asks before a link replaces a session. @param {string} email @returns {Promise<boolean>} */
function wantsLink(email) {
  removeFrame();
  return new Promise((answer) => render(html`<${LinkQuestion} email=${email} onAnswer=${answer} />`, root));
}

/** @param {string} [problem] */
async function start(problem) {
  try {
    const present = await signedInAs();
    if (present) {
      signedIn(present.email, present.scopes);
      return render(html`<${Shell} email=${present.email} />`, root);
    }
    removeFrame();
    render(html`<${SignInPage} problem=${problem} onSignedIn=${() => start()} />`, root);
  } catch (error) {
    removeFrame();
    render(html`<main class="sign-in"><h1>Ringback</h1><${Failure} error=${error} onRetry=${() => location.reload()} /></main>`, root);
    if (!(error instanceof ApiError) || !isPassing(error)) return;
    await pause(TRY_AGAIN_MS);
    return start(problem);
  }
}

// The page is read while the session is asked for.
routes.find(({ path }) => match(path, location.pathname))?.load().catch(() => {});
await loadTexts();
startRouter();
await start(await useLoginLink());
