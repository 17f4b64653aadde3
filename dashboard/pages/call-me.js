// A call to oneself, to hear how an agent is.
import { html, useRef, useState } from '../lib/ui.js';
import { newKey, post } from '../lib/api.js';
import { sentence, t } from '../lib/i18n.js';
import { Dialog } from '../components/dialog.js';
import { Form } from '../components/form.js';
import { placeholdersOf } from './placeholders.js';

/** @param {{ agent: any, onClose: () => void }} props */
export function CallMe({ agent, onClose }) {
  const [placed, setPlaced] = useState(/** @type {import('../lib/api.js').Answer | null} */ (null));
  const sent = useRef({ body: '', key: '' }), wanted = placeholdersOf(agent);
  /** @type {import('../components/form.js').Field[]} */
  const fields = [
    { name: 'phoneNumber', label: t('agent.phoneNumber'), required: true, autofocus: true, autocomplete: 'tel', help: t('agent.phoneHelp') },
    { name: 'name', label: t('agent.calleeName'), autocomplete: 'name' },
    ...wanted.map((name) => ({ name: `dynamicVariables.${name}`, label: name })),
  ];
  return html`<${Dialog} title=${t('agent.callMe')} onClose=${onClose}>
    ${placed ? html`<div role="status" class="stack"><p>${t('agent.callPlaced')}</p>
      ${placed.warning && html`<p class="alert warn">${sentence(placed.warning)}</p>`}</div>
      <div class="actions"><a class="button primary" href=${`/calls/${placed.data.conversationId}`}>${t('agent.seeCall')}</a>
        <button onClick=${onClose}>${t('common.close')}</button></div>`
    : html`<p class="muted">${t('agent.callHelp')}</p>
      <${Form} fields=${fields} submit=${t('agent.placeCall')} onCancel=${onClose} onSubmit=${async (/** @type {any} */ values) => {
        const given = wanted.filter((name) => values[`dynamicVariables.${name}`]).map((name) => [name, values[`dynamicVariables.${name}`]]);
        const call = { agentId: agent.agentId, phoneNumber: values.phoneNumber, name: values.name || undefined, dynamicVariables: Object.fromEntries(given) };
        const body = JSON.stringify(call);
        if (sent.current.body !== body) sent.current = { body, key: newKey() };
        setPlaced(await post('/calls', call, { idempotencyKey: sent.current.key }));
      }} />`}
  <//>`;
}
