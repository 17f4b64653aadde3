// What a campaign will take and cost, from the agent's calls so far.
import { html, useEffect, useState } from '../lib/ui.js';
import { ApiError, get } from '../lib/api.js';
import { money, number, t } from '../lib/i18n.js';
import { minutesOf } from '../lib/phone-zones.js';
import { Facts } from '../components/states.js';

/** Seconds on the line for each contact, if the agent never called. */
const ASSUMED_SECONDS = 60;
const DEFAULT_CONCURRENCY = 10;

/** @param {{ agentId?: string, contacts: number, concurrency?: number, window: any }} props */
export function Estimate({ agentId, contacts, concurrency, window }) {
  const [past, setPast] = useState(/** @type {{ calls: number, seconds: number, cost?: number, currency?: string } | null} */ (null));
  useEffect(() => {
    setPast(null);
    if (!agentId) return;
    const controller = new AbortController();
    readPast(agentId, controller.signal).then(setPast, () => {});
    return () => controller.abort();
  }, [agentId]);
  const seconds = past?.calls ? past.seconds / past.calls : ASSUMED_SECONDS, lines = concurrency || DEFAULT_CONCURRENCY;
  const total = (contacts * seconds) / Math.min(lines, Math.max(1, contacts));
  const from = minutesOf(window?.startTime), to = minutesOf(window?.endTime);
  const perDay = from === null || to === null || from === to ? 86_400 : (((to - from) + 1440) % 1440) * 60;
  return html`<${Facts} facts=${[
      [t('estimate.contacts'), contacts ? number(contacts) : '–'],
      [t('estimate.takes'), contacts ? takesText(total, perDay) : '–'],
      past?.cost !== undefined && past.currency
        && [t('estimate.costs'), contacts ? t('estimate.about', { amount: money((past.cost / past.calls) * contacts, past.currency) }) : '–'],
    ]} />
    <p class="help">${t(past?.calls ? 'estimate.fromPast' : 'estimate.assumed', { n: past?.calls ?? 0, seconds: Math.round(seconds), lines })}</p>`;
}

/** @param {number} seconds @param {number} perDay */
function takesText(seconds, perDay) {
  const days = Math.ceil(seconds / perDay);
  if (perDay < 86_400 && days > 1) return t('estimate.days', { n: days });
  if (seconds < 90) return t('estimate.minute');
  return seconds < 5400 ? t('estimate.minutes', { n: Math.round(seconds / 60) }) : t('estimate.hours', { n: Math.round(seconds / 360) / 10 });
}

/** The agent's latest calls: number, seconds, and cost if calls have one. @param {string} agentId @param {AbortSignal} signal */
async function readPast(agentId, signal) {
  try {
    const { data: { rows: [row] } } = await get('/analytics', { query: { groupBy: 'agent', agentId }, signal });
    if (row) return { calls: row.calls, seconds: row.conversationDuration, cost: Number(row.cost?.total) || undefined, currency: row.cost?.currency };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
  const { data } = await get('/conversations', { query: { agentId, pageSize: 100, status: 'completed' }, signal });
  return { calls: data.length, seconds: data.reduce((/** @type {number} */ sum, /** @type {any} */ call) => sum + call.conversationDuration, 0) };
}
