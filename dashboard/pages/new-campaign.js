// A new campaign: contacts from a file, agent, time, follow-ups, and what it will take. Nothing is created before the end.
import { html, useEffect, useMemo, useRef, useState } from '../lib/ui.js';
import { ApiError, may, newKey, post } from '../lib/api.js';
import { useResource } from '../lib/data.js';
import { t, zone } from '../lib/i18n.js';
import { navigate, useQuery, useUnsaved } from '../lib/router.js';
import { ContactsDrop } from '../components/contacts-drop.js';
import { confirm, toast } from '../components/dialog.js';
import { fieldErrors, Fields } from '../components/form.js';
import { Icon } from '../components/icons.js';
import { AGENTS, Picker } from '../components/picker.js';
import { csvForm } from '../components/service-check.js';
import { Lacks } from '../components/states.js';
import { CallingWeeks } from '../components/week.js';
import { followUpBody, followUpFields, optionsOf, scheduleBody, scheduleFields } from './campaign-fields.js';
import { Estimate } from './estimate.js';
import { placeholdersOf } from './placeholders.js';

/** @typedef {import('../components/contacts-drop.js').Checked} Checked */

export default function NewCampaign() {
  const { agent: agentId } = useQuery();
  const [checked, setChecked] = useState(/** @type {Checked | null} */ (null));
  const [values, setValues] = useState(/** @type {Record<string, any>} */ ({ agentId, when: 'now', startTime: '09:00', endTime: '17:00', timezone: zone }));
  const [errors, setErrors] = useState(/** @type {Record<string, string>} */ ({}));
  const [refused, setRefused] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const sent = useRef({ body: '', key: '' });
  const agents = useResource('/agents', { pageSize: 100 });
  const agent = useResource(values.agentId ? `/agents/${encodeURIComponent(values.agentId)}` : null).data;
  const safeguards = useResource('/safeguards');
  const page = useRef(/** @type {HTMLElement | null} */ (null));
  useUnsaved(!!checked && !busy, t('newCampaign.leave'));

  // There may be others behind a full first page.
  const callers = agents.data?.length < 100 ? agents.data.filter(mayCall) : null;
  useEffect(() => { if (callers?.length === 1 && !values.agentId) set('agentId', callers[0].agentId); }, [agents.data]);
  const take = (/** @type {Checked | null} */ next) => {
    setChecked(next);
    setRefused(null);
    if (!next) return;
    // The name comes with the file, if it has none.
    setErrors((/** @type {any} */ { file: _file, name: _name, ...others }) => others);
    setValues((/** @type {any} */ old) => ({ ...old, name: old.name || next.file.name.replace(/\.[^.]*$/, '').replaceAll('_', ' ') }));
  };
  function set(/** @type {string} */ name, /** @type {any} */ value) {
    setValues((/** @type {any} */ old) => ({ ...old, [name]: value }));
    setErrors((/** @type {any} */ { [name]: _, ...others }) => others);
  }
  const fields = {
    main: [
      { name: 'name', label: t('newCampaign.name'), required: true },
      { name: 'agentId', label: t('newCampaign.agent'), required: true, help: t('newCampaign.agentHelp'),
        render: (/** @type {any} */ props) => html`<${Picker} ...${props} from=${AGENTS} allows=${mayCall} required=${true} />` },
    ],
    schedule: scheduleFields(),
    rules: followUpFields(),
  };

  /** @param {'draft' | 'start'} how */
  async function send(how) {
    if (busy) return;
    const missing = missingParts(checked, values);
    if (Object.keys(missing).length) return fail(missing);
    if (how === 'start' && values.when === 'now'
      && !await confirm({ title: t('campaign.launchTitle'), body: t('campaign.launchBody', { n: checked?.usable ?? 0 }),
        action: t('campaign.launch') })) return;
    setBusy(true);
    const { form, body } = formData(/** @type {Checked} */ (checked), values, how);
    if (sent.current.body !== body) sent.current = { body, key: newKey() };
    try {
      const { data, warning } = await post('/campaigns/csv', form, { idempotencyKey: sent.current.key });
      toast([t(`newCampaign.${how === 'draft' ? 'saved' : values.when === 'now' ? 'launched' : 'scheduled'}`),
        warning && t('newCampaign.note', { warning })].filter(Boolean).join(' '));
      navigate(`/campaigns/${data.campaignId}`);
    } catch (error) {
      setBusy(false);
      if (error instanceof ApiError && error.details?.rows) setRefused(error.details);
      fail(fieldErrors(error, [...fields.main, ...fields.schedule, ...fields.rules, { name: 'file', label: '' }]));
    }
  }
  function fail(/** @type {Record<string, string>} */ found) {
    setErrors(found);
    requestAnimationFrame(() => /** @type {HTMLElement | null | undefined} */ (page.current?.querySelector('[aria-invalid], .alert.bad'))?.focus());
  }
  const window = values.when === 'schedule' ? values : null;
  const card = (/** @type {string} */ key, /** @type {any} */ content) =>
    html`<section class="card" aria-labelledby=${`part-${key}`}><h2 id=${`part-${key}`}>${t(`newCampaign.parts.${key}`)}</h2>${content}</section>`;
  return html`
    <div class="head"><h1>${t('newCampaign.title')}</h1></div>
    <div class="grid new-campaign" ref=${page}>
      <div class="stack">
        ${card('contacts', html`<${ContactsDrop} onChecked=${take} agentId=${values.agentId} refused=${refused} />
          ${errors.file && html`<p class="alert bad" role="alert" tabindex="-1">${errors.file}</p>`}`)}
        ${card('agent', html`<${Fields} fields=${fields.main} values=${values} errors=${errors} onChange=${set} />
          ${callers?.length === 0 && html`<p class="alert warn">${t('newCampaign.noAgent')} <a href="/agents/new">${t('newCampaign.makeAgent')}</a></p>`}
          <${Placeholders} agent=${agent} checked=${checked} />`)}
        ${card('time', html`<fieldset class="field"><legend class="hidden">${t('newCampaign.parts.time')}</legend><div class="row">
            ${['now', 'schedule'].map((when) =>
              html`<label class="check"><input type="radio" name="when" checked=${values.when === when} onChange=${() => set('when', when)} />
                ${t(`newCampaign.when.${when}`)}</label>`)}</div></fieldset>
          ${values.when === 'schedule' && html`
            <div class="columns"><${Fields} fields=${fields.schedule} values=${values} errors=${errors} onChange=${set} /></div>`}
          ${checked?.answer && html`<${CallingWeeks} places=${checked.answer.timeZones} window=${window} hours=${safeguards.data?.callingHours} />`}`)}
        ${card('rules', html`<${Fields} fields=${fields.rules} values=${values} errors=${errors} onChange=${set} />`)}
      </div>
      <aside class="card summary" aria-labelledby="summary"><h2 id="summary">${t('newCampaign.parts.summary')}</h2>
        <${Estimate} agentId=${values.agentId} contacts=${checked?.usable ?? 0} concurrency=${values.maxConcurrentCalls} window=${window} />
        ${errors[''] && html`<p class="alert bad" role="alert" tabindex="-1">${errors['']}</p>`}
        ${may('write') ? html`<div class="actions"><button class="primary" aria-disabled=${busy} onClick=${() => send('start')}>
            <${Icon} name=${values.when === 'now' ? 'play' : 'calendar'} />
          ${busy ? t('form.sending') : t(values.when === 'now' ? 'campaign.launch' : 'newCampaign.schedule')}</button>
        <button aria-disabled=${busy} onClick=${() => send('draft')}>${t('newCampaign.saveDraft')}</button></div>` : html`<${Lacks} scope="write" />`}
        <p class="help">${t('newCampaign.nothingYet')}</p>
      </aside>
    </div>`;
}

/** @param {any} agent */
const mayCall = (agent) => agent.direction !== 'inbound';

/** @param {Checked | null} checked @param {Record<string, any>} values @returns {Record<string, string>} */
function missingParts(checked, values) {
  /** @type {Record<string, string>} */
  const errors = {};
  if (!checked) errors.file = t('newCampaign.missing.file');
  else if (!checked.isReady) errors.file = t('newCampaign.missing.badRows');
  if (!values.name?.trim()) errors.name = t('newCampaign.missing.name');
  if (values.when === 'schedule' && !values.startTime) errors.startTime = t('newCampaign.missing.startTime');
  if (!values.agentId) errors.agentId = t('newCampaign.missing.agent');
  return errors;
}

/** The request, and a text that differs where the request does. @param {Checked} checked @param {Record<string, any>} values @param {'draft' | 'start'} how */
function formData(checked, values, how) {
  /** @type {Record<string, any>} */
  const body = { name: values.name.trim(), agentId: values.agentId, ...optionsOf(values) };
  Object.assign(body, checked.fields);
  const followUp = followUpBody(values);
  if (followUp.followUpCall) Object.assign(body, followUp, { followUpIntervals: followUp.followUpIntervals.join(',') });
  if (values.when === 'schedule') Object.assign(body,
    scheduleBody(values), { scheduled: how === 'start' });
  else body.launch = how === 'start';
  return { form: csvForm(body, checked.file), body: JSON.stringify([body, checked.file.name, checked.file.size, checked.file.lastModified]) };
}

/** Which values of the agent's texts the file does not have. @param {{ agent: any, checked: Checked | null }} props */
function Placeholders({ agent, checked }) {
  const wanted = useMemo(() => placeholdersOf(agent), [agent]);
  const answer = checked?.answer;
  if (!answer || wanted.length === 0) return null;
  const missing = wanted.filter((name) => !answer.headers.includes(name));
  return missing.length > 0
    ? html`<p class="alert warn">${t('newCampaign.placeholders', { n: missing.length, list: missing.join(', ') })}</p>`
    : html`<p class="help note"><${Icon} name="check" />${t('newCampaign.placeholdersFilled', { list: wanted.join(', ') })}</p>`;
}
