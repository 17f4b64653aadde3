// Limits on all of the account's calls, and the rules by which agents transfer calls.
import { html } from '../lib/ui.js';
import { patch } from '../lib/api.js';
import { useResource } from '../lib/data.js';
import { t } from '../lib/i18n.js';
import { mayLeave, setQuery, useQuery } from '../lib/router.js';
import { toast } from '../components/dialog.js';
import { Form } from '../components/form.js';
import { Resource } from '../components/resource.js';
import { Failure, Loading, Tabs } from '../components/states.js';
import { zones } from './campaign-fields.js';
import { transferRules } from './transfer-rules.js';

const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const TONES = /** @type {Record<string, string>} */ ({ enforce: 'good', warn: 'warn' });

/** @typedef {import('../components/form.js').Field} Field */
/** The fields of each rule, without its mode. @type {Record<string, () => Field[]>} */
const RULES = {
  callingHours: () => [
    { name: 'callingHours.from', label: t('safeguards.from'), type: 'time', required: true },
    { name: 'callingHours.to', label: t('safeguards.to'), type: 'time', required: true },
    { name: 'callingHours.days', label: t('safeguards.days'), type: 'checks', dense: true,
      options: DAYS.map((value) => ({ value, label: t(`safeguards.dayNames.${value}`) })) },
  ],
  callsPerNumber: () => [
    { name: 'callsPerNumber.perDay', label: t('safeguards.perDay'), type: 'number', min: 1, max: 1000, default: t('safeguards.noLimit') },
    { name: 'callsPerNumber.perWeek', label: t('safeguards.perWeek'), type: 'number', min: 1, max: 1000, default: t('safeguards.noLimit') },
  ],
  allowedPrefixes: () => [
    { name: 'allowedPrefixes.prefixes', label: t('safeguards.prefixes'), type: 'textarea', rows: 4, required: true,
      help: t('safeguards.prefixesHelp'), placeholder: '+1\n+4930' },
  ],
  dailyCalls: () => [
    { name: 'dailyCalls.limit', label: t('safeguards.limit'), type: 'number', required: true, min: 1, max: 10_000_000 },
    { name: 'dailyCalls.timezone', label: t('safeguards.timezone'), type: 'select', required: true, options: zones() },
  ],
};

export default function Safeguards() {
  const { tab = 'limits' } = useQuery();
  const tabs = ['limits', 'transfers'].map((key) => ({ key, label: t(`safeguards.tabs.${key}`) }));
  return html`<h1>${t('safeguards.title')}</h1>
    <div><${Tabs} label=${t('safeguards.title')} tabs=${tabs} current=${tab} onChange=${(/** @type {string} */ next) => mayLeave() && setQuery({ tab: next })}>
      <div class="stack">${tab === 'transfers' ? html`<${Resource} kind=${transferRules()} inTab=${true} />` : html`<${Limits} />`}</div><//></div>`;
}

function Limits() {
  const { data, error, reload, set } = useResource('/safeguards');
  if (error) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (!data) return html`<${Loading} />`;
  return html`<p class="muted">${t('safeguards.help')}</p>
    <div class="grid two">${Object.keys(RULES).map((name) => html`<${Rule} key=${name} name=${name} rule=${data[name]} onSaved=${set} />`)}
      <section class="card" aria-labelledby="live-listening"><h2 id="live-listening">${t('safeguards.live')}</h2>
        <p class="muted">${t('safeguards.liveHelp')}</p>
        <${Form} fields=${[{ name: 'liveListening', label: t('safeguards.liveAllowed'), type: 'checkbox' }]} values=${data} submit=${t('common.save')}
          scope="write" onSubmit=${async (/** @type {any} */ { liveListening }) => {
          set((await patch('/safeguards', { liveListening })).data);
          toast(t('resource.saved'));
        }} /></section></div>`;
}

/** @param {{ name: string, rule: any, onSaved: (safeguards: any) => void }} props */
function Rule({ name, rule, onSaved }) {
  const mode = `${name}.mode`;
  /** @type {Field[]} */
  const fields = [
    { name: mode, label: t('safeguards.mode'), type: 'select', required: true,
      options: ['off', 'warn', 'enforce'].map((value) => ({ value, label: t(`safeguards.modes.${value}`) })) },
    ...RULES[name]().map((field) => ({ ...field, when: (/** @type {any} */ values) => values[mode] !== 'off' })),
  ];
  const saved = Object.fromEntries(Object.entries(rule).map(([key, value]) => [`${name}.${key}`, key === 'prefixes' ? value.join('\n') : value]));
  return html`<section class="card" aria-labelledby=${`rule-${name}`}>
    <div class="head"><h2 id=${`rule-${name}`}>${t(`safeguards.rules.${name}`)}</h2>
      <span class=${`badge ${TONES[rule.mode] ?? ''}`}>${t(`safeguards.modes.${rule.mode}`)}</span></div>
    <p class="muted">${t(`safeguards.ruleHelp.${name}`)}</p>
    <${Form} fields=${fields} values=${saved} submit=${t('common.save')} showChanges=${true} scope="write"
      onSubmit=${async (/** @type {any} */ _, /** @type {Record<string, any>} */ changed) => {
      const body = Object.fromEntries(Object.entries(changed).map(([key, value]) => [key.slice(name.length + 1), written(key, value)]));
      const { data } = await patch('/safeguards', { [name]: body });
      onSaved(data);
      toast(t('resource.saved'));
    }} /></section>`;
}

/** A value as the API takes it. @param {string} key @param {any} value */
const written = (key, value) => (key.endsWith('.prefixes') ? value.split(/[\s,;]+/).filter(Boolean) : value ?? null);
