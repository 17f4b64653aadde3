// What surrounds every page: skip link, navigation, banner of the connection, and the page of the present address.
import { html, useEffect, useLayoutEffect, useState } from '../lib/ui.js';
import { connection, del, otherAccount, sessionEnded } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { match, place, reload } from '../lib/router.js';
import { useStore } from '../lib/store.js';
import { navigation, routes } from '../routes.js';
import { Dialog, Overlays, toastError } from './dialog.js';
import { Brand, Icon } from './icons.js';
import { SignIn } from './sign-in.js';
import { Loading } from './states.js';

/** @param {{ email: string }} props */
export function Shell({ email }) {
  const { path } = useStore(place), ended = useStore(sessionEnded), other = useStore(otherAccount);
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);
  const route = routes.find((each) => match(each.path, path));
  const marked = route ? route.nav ?? route.path : '';
  const link = (/** @type {{ path: string, icon: string }} */ entry) => {
    const target = routes.find((each) => each.path === entry.path);
    return target && html`<li><a href=${entry.path} aria-current=${entry.path === marked ? 'page' : null}><${Icon} name=${entry.icon} />
      ${t(target.title)}</a></li>`;
  };
  async function signOut() {
    try { await del('/session'); location.assign('/'); } catch (error) { toastError(error); }
  }
  return html`
    <a class="skip" href="#main" onClick=${(/** @type {Event} */ event) => { event.preventDefault(); document.querySelector('main')?.focus(); }}>
      ${t('shell.skip')}</a>
    <header class="bar"><button class="plain" aria-expanded=${open} aria-controls="nav" onClick=${() => setOpen(!open)}><${Icon} name="menu" />
      <span class="hidden">${t('shell.menu')}</span></button><${Brand} /></header>
    <nav id="nav" class=${open ? 'open' : ''} aria-label=${t('shell.navigation')}>
      <a class="home" href="/"><${Brand} /></a>
      <div class="groups">${navigation.map((group) => html`<ul>${group.map(link)}</ul>`)}</div>
      <ul class="account">
        <li><a href="/profile" aria-current=${marked === '/profile' ? 'page' : null}><${Icon} name="agent" />
          <span class="ellipsis" title=${email}>${email}</span></a></li>
        <li><button class="plain" onClick=${signOut}><${Icon} name="exit" />${t('shell.signOut')}</button></li>
      </ul>
    </nav>
    <div class="content"><${ConnectionBanner} /><main id="main" tabindex="-1"><${CurrentPage} key=${path} route=${route} path=${path} /></main></div>
    <${Overlays} />
    ${ended && html`<${Dialog} title=${t('signIn.again')}><p>${t('signIn.kept')}</p>
      <${SignIn} email=${email} onSignedIn=${() => sessionEnded.set(false)} /><//>`}
    ${other && html`<${Dialog} title=${t('signIn.other')}><p>${t('signIn.otherHelp', { other, email })}</p>
      <div class="actions"><button class="primary" onClick=${reload}>${t('shell.reload')}</button></div><//>`}`;
}

function ConnectionBanner() {
  const state = useStore(connection);
  return html`<div role="status" class=${state === 'ok' ? '' : 'banner'}>${state !== 'ok' && t(`shell.${state}`)}</div>`;
}

let isFirst = true;

/** @param {{ route?: import('../routes.js').Route, path: string }} props */
function CurrentPage({ route, path }) {
  const [loaded, setLoaded] = useState(/** @type {any} */ (null));
  useEffect(() => {
    document.title = `${t(route?.title ?? 'shell.notFound')} · Ringback`;
    route?.load().then(({ default: page }) => setLoaded({ page }), () => setLoaded({ failed: true }));
  }, []);
  // The focus goes to the page's heading, so that a screen reader says where it is. Not at the first page.
  useLayoutEffect(() => {
    if (!loaded) return;
    if (isFirst) { isFirst = false; return; }
    // Back in a list, the row that was opened has it.
    if (document.activeElement?.closest('main table')) return;
    const heading = document.querySelector('main h1');
    heading?.setAttribute('tabindex', '-1');
    /** @type {HTMLElement | null} */ (heading)?.focus();
    scrollTo(0, 0);
  }, [loaded]);
  if (!route) return html`<h1>${t('shell.notFound')}</h1><p><a href="/">${t('shell.toOverview')}</a></p>`;
  if (loaded?.failed) return html`<h1>${t(route.title)}</h1>
    <div class="alert bad" role="alert">${t('shell.updated')} <button onClick=${() => location.reload()}>${t('shell.reload')}</button></div>`;
  return loaded ? html`<${loaded.page} params=${match(route.path, path)} />` : html`<${Loading} />`;
}
