// Carriers and providers of the installation: what works, what is missing, and a check of each.
import { html, useState } from '../lib/ui.js';
import { may, post } from '../lib/api.js';
import { useResource } from '../lib/data.js';
import { t } from '../lib/i18n.js';
import { staticList } from '../lib/list.js';
import { Dialog } from '../components/dialog.js';
import { Icon } from '../components/icons.js';
import { errorText, Facts, Failure, Loading, Time } from '../components/states.js';
import { Table } from '../components/table.js';

const KINDS = ['carrier', 'llm', 'stt', 'tts', 'embeddings'];

/** Those in use come first. @param {any} a @param {any} b */
const inOrder = (a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || Number(b.configured) - Number(a.configured)
  || (a.rank ?? Infinity) - (b.rank ?? Infinity) || 0;

export function Services() {
  const { data, error, reload } = useResource('/services');
  const [open, setOpen] = useState(/** @type {any} */ (null));
  const columns = [
    { key: 'provider', label: t('services.name'), render: (/** @type {any} */ each) => each.provider },
    { key: 'kind', label: t('services.kind'), render: (/** @type {any} */ each) => t(`services.kinds.${each.kind}`, { fallback: each.kind }) },
    { key: 'use', label: t('services.use'), render: (/** @type {any} */ each) => useText(each) },
    { key: 'state', label: t('services.state'), wide: true, render: (/** @type {any} */ each) => html`<${State} service=${each} /> ${each.outage?.reason}` },
  ];
  return html`<section class="stack" aria-labelledby="services"><h2 id="services">${t('services.title')}</h2><p class="muted">${t('services.help')}</p>
    ${error && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${data?.problems.map((/** @type {string} */ each) => html`<p key=${each} class="alert warn">
      <span class="row"><${Icon} name="warning" />${t(`services.problems.${each}`, { fallback: each })}</span></p>`)}
    ${data ? html`<${Table} short=${true} label=${t('services.title')} list=${staticList([...data.services].sort(inOrder))} columns=${columns}
      rowKey=${(/** @type {any} */ each) => each.name} onOpen=${setOpen} />` : !error && html`<${Loading} />`}
    ${open && html`<${ServiceDialog} service=${open} onClose=${() => { setOpen(null); reload(); }} />`}</section>`;
}

/** @param {any} service */
const useText = ({ configured, rank }) => (!configured || !rank ? '–' : rank === 1 ? t('services.first') : t('services.fallback', { n: rank }));

/** @param {{ service: any }} props */
const State = ({ service }) => {
  const [state, tone] = !service.configured ? ['missing', ''] : service.outage ? ['fails', 'bad'] : ['ready', 'good'];
  return html`<span class=${`badge ${tone}`}>${t(`services.states.${state}`)}</span>`;
};

/** @param {{ service: any, onClose: () => void }} props */
function ServiceDialog({ service, onClose }) {
  const [report, setReport] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  async function check() {
    if (busy) return;
    setBusy(true);
    setFailure(null);
    try { setReport((await post(`/services/${encodeURIComponent(service.name)}/check`)).data); } catch (error) { setFailure(error); }
    setBusy(false);
  }
  return html`<${Dialog} title=${service.provider} onClose=${onClose}>
    <${Facts} facts=${[
      [t('services.kind'), t(`services.kinds.${service.kind}`, { fallback: service.kind })], [t('services.state'), html`<${State} service=${service} />`],
      service.outage && [t('services.outage'), service.outage.reason],
      service.outage?.since && [t('services.since'), html`<${Time} at=${service.outage.since} full=${true} />`],
    ]} />
    ${service.settings.length > 0 && html`<div class="stack">
      <p>${t(service.configured ? 'services.settings' : 'services.missing')}</p><pre tabindex="0">${service.settings.join('\n')}</pre></div>`}
    <div role="status" class="stack">${report && html`<p class=${`alert ${report.works ? '' : 'bad'}`}>${report.message}</p>`}</div>
    ${failure && html`<p class="alert bad" role="alert">${errorText(failure)}</p>`}
    ${report?.numbers.length > 0 && html`<p><b>${t('services.numbers')}</b> ${report.numbers.join(', ')}</p>`}
    ${report?.enter.length > 0 && html`<p><b>${t('services.enter')}</b></p>
      ${report.enter.map((/** @type {any} */ each) => html`<div key=${each.at}><p>${each.at}</p><pre tabindex="0">${each.value}</pre></div>`)}`}
    <div class="actions">${service.configured && may('admin')
      && html`<button class="primary" aria-disabled=${busy} onClick=${check}>${t(busy ? 'services.checking' : 'services.check')}</button>`}
      <button onClick=${onClose}>${t('common.close')}</button></div><//>`;
}
