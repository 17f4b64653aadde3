// What is wrong at the moment, and where it is mended.
import { html, useEffect, useState } from '../lib/ui.js';
import { ApiError, get } from '../lib/api.js';
import { useEvents } from '../lib/data.js';
import { sentence, t } from '../lib/i18n.js';
import { Icon } from '../components/icons.js';

const SHOWN = 3;
/** Deliveries in which a failed try is looked for. */
const LATEST = 30;

/** @typedef {{ key: string, title: string, text: string, href: string }} Problem */

/** Campaigns that cannot dial, with the service's words, and webhook endpoints that refuse. @param {AbortSignal} signal @returns {Promise<Problem[]>} */
async function findProblems(signal) {
  const lists = await Promise.all(['delayed', 'failed'].map((status) => get('/campaigns', { query: { status, pageSize: SHOWN }, signal })));
  const campaigns = await Promise.all(lists.flatMap(({ data }) => data).map(({ campaignId }) => get(`/campaigns/${campaignId}`, { signal })));
  const problems = campaigns.map(({ data, warning }) => ({
    key: data.campaignId, title: t(`attention.${data.status}`, { name: data.name }), text: sentence(warning ?? ''), href: `/campaigns/${data.campaignId}`,
  }));
  try {
    const { data } = await get('/webhooks', { query: { pageSize: 20 }, signal });
    const hooks = data.filter((/** @type {any} */ each) => each.enabled && each.recent.failed + each.recent.pending > 0);
    const texts = await Promise.all(hooks.map((/** @type {any} */ hook) => failureOf(hook, signal)));
    for (const [at, hook] of hooks.entries()) {
      if (!texts[at]) continue;
      const title = t('attention.webhook', { url: hook.url });
      problems.push({ key: hook.webhookId, title, text: texts[at], href: `/settings/webhooks/${hook.webhookId}` });
    }
  } catch (error) {
    // A session may lack the scope that webhooks need.
    if (!(error instanceof ApiError)) throw error;
  }
  return problems;
}

/**
 * Why deliveries to an endpoint fail: some were given up, or one waits for its next try.
 * @param {any} hook @param {AbortSignal} signal @returns {Promise<string>}
 */
async function failureOf({ webhookId, recent }, signal) {
  if (recent.failed > 0) return t('attention.failedDeliveries', { n: recent.failed });
  const { data } = await get(`/webhooks/${webhookId}/deliveries`, { query: { pageSize: LATEST }, signal });
  return data.find((/** @type {any} */ each) => each.state === 'pending' && each.lastError)?.lastError ?? '';
}

/** What keeps the service from working, and carriers and providers that fail. @param {any} overview @returns {Problem[]} */
function ofServices({ services, problems }) {
  const failing = services.filter((/** @type {any} */ service) => service.configured && service.outage);
  return [
    ...problems.map((/** @type {string} */ each) => ({ key: each, title: t(`services.problems.${each}`, { fallback: each }), text: '', href: '/settings' })),
    ...failing.map((/** @type {any} */ { name, kind, provider, outage, settings }) => ({
      key: name, title: t('attention.outage', { provider, kind: t(`services.kinds.${kind}`, { fallback: kind }), reason: outage.reason }), href: '/settings',
      text: settings.length > 0 ? t('attention.correct', { list: settings.join(', ') }) : t('attention.check'),
    })),
  ];
}

/** @param {{ services: any }} props What the API says about carriers and providers, once it is read. */
export function Attention({ services }) {
  const [found, setFound] = useState(/** @type {Problem[]} */ ([]));
  const [version, setVersion] = useState(0);
  useEvents(['campaign.'], () => setVersion((/** @type {number} */ n) => n + 1), 5000);
  useEffect(() => {
    const controller = new AbortController();
    findProblems(controller.signal).then(setFound, () => {});
    return () => controller.abort();
  }, [version]);
  const problems = [...(services ? ofServices(services) : []), ...found];
  if (problems.length === 0) return null;
  return html`<section class="stack" aria-label=${t('attention.title')}><ul class="stack">
    ${problems.map((problem) => html`<li key=${problem.key} class="alert warn">
      <span class="row"><${Icon} name="warning" /><span><b>${problem.title}</b> ${problem.text}</span></span>
      <a href=${problem.href}>${t('attention.see')}</a></li>`)}
  </ul></section>`;
}
