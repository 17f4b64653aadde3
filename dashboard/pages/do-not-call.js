// Numbers that are never called.
import { html } from '../lib/ui.js';
import { ApiError, newKey, post } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { refusalText } from '../lib/problems.js';
import { fieldProblem, Resource } from '../components/resource.js';
import { errorText, Time } from '../components/states.js';

const AT_ONCE = 4, SHOWN = 20;

/** @returns {import('../components/resource.js').Kind} */
const doNotCall = () => ({
  path: '/do-not-call', texts: 'doNotCall', id: (entry) => entry.phoneNumber, name: (entry) => entry.phoneNumber, fixed: true, events: ['contact.'],
  search: true,
  columns: [
    { key: 'number', label: t('doNotCall.number'), render: (entry) => html`<span class="numeric">${entry.phoneNumber}</span>` },
    { key: 'reason', label: t('doNotCall.reason'), render: ({ conversationId }) => (conversationId
      ? html`<a href=${`/calls/${conversationId}`}>${t('doNotCall.asked')}</a>` : t('doNotCall.otherwise')) },
    { key: 'calls', label: t('calls.title'),
      render: (entry) => html`<a href=${`/calls?phoneNumber=${encodeURIComponent(entry.phoneNumber)}`}>${t('doNotCall.calls')}</a>` },
    { key: 'since', label: t('doNotCall.since'), wide: true, render: (entry) => html`<${Time} at=${entry.metadata.createdAt} />` },
  ],
  fields: () => [
    { name: 'phoneNumber', label: t('doNotCall.numbers'), type: 'textarea', rows: 8, required: true, help: t('doNotCall.numbersHelp'),
      placeholder: '+4930123456\n+15550100055' },
  ],
  create: ({ phoneNumber }) => addAll((phoneNumber ?? '').split(/[\n,;]/).map((/** @type {string} */ each) => each.trim()).filter(Boolean)),
});

/** Numbers that are on the list stay as they are, so that all may be sent again. @param {string[]} numbers */
async function addAll(numbers) {
  /** @type {string[]} */
  const refused = [];
  const waiting = [...new Set(numbers)], count = waiting.length;
  if (count === 0) throw fieldProblem('phoneNumber', 'required', t('doNotCall.noNumbers'));
  async function work() {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      try {
        await post('/do-not-call', { phoneNumber: next }, { idempotencyKey: newKey() });
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 400) throw error;
        refused.push(`${next}: ${error.fields[0] ? refusalText(error.fields[0]) : errorText(error)}`);
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (refused.length === 0) return;
  const list = [...refused.slice(0, SHOWN), ...(refused.length > SHOWN ? ['…'] : [])].join('\n');
  throw fieldProblem('phoneNumber', 'invalid', `${t('doNotCall.refused', { n: refused.length, added: count - refused.length })}\n${list}`);
}

export default function DoNotCall() {
  return html`<${Resource} kind=${doNotCall()} />`;
}
