// All fields of an agent, in groups: path, control, default. Their texts are in `texts/*-agents.js`, by the last two names of
// the path. The values of the form are texts, numbers and booleans; `fromForm` and `toForm` turn them into those of the API.
import { language, t } from '../lib/i18n.js';
import { applyPatch, at, isObject, put } from '../lib/merge.js';
import { mergePatch } from '../lib/merge-patch.js';
import { zones } from './campaign-fields.js';

/** @typedef {import('../components/form.js').Field & { toForm?: (value: any) => any, fromForm?: (value: any) => any }} AgentField */
/** @typedef {{ voices?: Option[], models?: Option[], tools?: Option[], knowledge?: Option[], rules?: Option[], agents?: Option[] }} Choices What the service offers. */
/** @typedef {{ value: string, label: string }} Option */

const AGENT = 'conversationConfig.agent.', PROMPT = `${AGENT}prompt.`, TOOLS = `${PROMPT}builtInTools.`, TURN = 'conversationConfig.turn.';
const TTS = 'conversationConfig.tts.', ACTIONS = 'platformSettings.callActions.', TELEPHONY = 'platformSettings.telephony.', EMAIL = `${ACTIONS}postCallEmail.emailConfiguration.`;
const FORMATS = ['pcm_8000', 'pcm_16000', 'pcm_22050', 'pcm_24000', 'pcm_44100', 'pcm_48000', 'ulaw_8000'];
const CARRIERS = ['twilio', 'signalwire', 'telnyx', 'vonage', 'asterisk', 'simulated', 'plain'];
const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'pt-BR', 'nl', 'pl', 'cs', 'sv', 'da', 'nb', 'fi', 'tr', 'ru', 'uk', 'ar', 'he', 'hi', 'ja', 'ko', 'zh', 'vi', 'id'];

/** @param {string} path @param {Partial<AgentField>} [control] @returns {AgentField} */
function field(path, control = {}) {
  const key = `agentFields.${path.split('.').slice(-2).join('.')}`;
  return { name: path, label: t(`${key}.0`), help: t(`${key}.1`, { fallback: '' }), ...control };
}
const flag = (/** @type {string} */ path) => field(path, { type: 'checkbox', default: false });
const number = (/** @type {string} */ path, /** @type {Partial<AgentField>} */ control) => field(path, { type: 'number', ...control });
const options = (/** @type {string[]} */ values) => values.map((value) => ({ value, label: t(`agentFields.values.${value}`, { fallback: value }) }));
/** @param {string} path @param {string[]} values @param {string} [preset] */
const choice = (path, values, preset) => field(path, { type: 'select', default: preset, options: options(values) });
/** One entry a line. @param {string} path @param {Partial<AgentField>} [control] */
const lines = (path, control) => field(path, {
  type: 'textarea', rows: 3, ...control,
  toForm: (value) => (value ?? []).join('\n'),
  fromForm: (text) => text.split('\n').map((/** @type {string} */ line) => line.trim()).filter(Boolean),
  check: () => undefined,
});
/** Anything else, as JSON. @param {string} path @param {any} [example] */
const json = (path, example) => field(path, {
  type: 'textarea', rows: 5, code: true, placeholder: example && JSON.stringify(example, null, 2),
  toForm: (value) => (value && Object.keys(value).length ? JSON.stringify(value, null, 2) : ''),
  fromForm: (text) => (text.trim() ? JSON.parse(text) : undefined),
  check: jsonProblem,
});
/** A list of objects. @param {string} path @param {(string | [path: string, more: Partial<import('../components/rows.js').RowColumn>])[]} columns @returns {AgentField} */
function rows(path, columns) {
  const described = columns.map((each) => {
    const [name, more] = typeof each === 'string' ? [each, {}] : each;
    return { path: name, label: t(`agentFields.columns.${name.split('.').at(-1)}`), ...more };
  });
  const say = (/** @type {any} */ row) => described.map((column) => at(row, column.path)).filter((value) => value !== undefined && value !== '').join(' · ');
  return field(path, {
    type: 'rows', columns: described, check: () => undefined,
    say: (value) => (value?.length ? value.map(say).join('\n') : t('form.nothing')),
    fromForm: (value) => value.filter((/** @type {any} */ row) => !isBlank(row)),
  });
}
const isBlank = (/** @type {any} */ value) => value === undefined || (value !== null && typeof value === 'object' && Object.values(value).every(isBlank));
/** A map: rows of `key` and `value`. @param {string} path @param {Parameters<typeof rows>[1]} columns @param {any} empty What a key alone stands for. @returns {AgentField} */
function map(path, columns, empty) {
  const list = rows(path, ['key', ...columns]), filled = (/** @type {any} */ value) => list.fromForm?.(value ?? []) ?? [];
  return {
    ...list,
    toForm: (value) => Object.entries(value ?? {}).map(([key, each]) => ({ key, value: each })),
    fromForm: (value) => Object.fromEntries(filled(value).map((/** @type {any} */ row) => [row.key, row.value ?? empty])),
    check: (value) => {
      const names = filled(value).map((/** @type {any} */ row) => row.key), twice = names.find((/** @type {string} */ name, /** @type {number} */ nth) => names.indexOf(name) < nth);
      return names.some((/** @type {string} */ name) => !name?.trim()) ? t('form.nameless') : twice && t('form.nameTwice', { name: twice });
    },
  };
}
/** Some of what there is. @param {string} path @param {Option[]} [options] */
const some = (path, options) => field(path, { type: 'checks', options });

/** @param {string | undefined} text */
function jsonProblem(text) {
  try { if (text?.trim()) JSON.parse(text); } catch (error) {
    const found = /line (\d+) column (\d+)/.exec(String(error));
    return found ? t('agent.notJsonAt', { line: Number(found[1]), column: Number(found[2]) }) : t('agent.notJson');
  }
}

/** @param {string} tool @param {AgentField[]} [further] @returns {AgentField[]} */
function builtIn(tool, further = []) {
  const path = `${TOOLS}${tool}.`, title = t(`agentFields.builtInTools.${tool}`);
  const own = [field(`${path}description`, { type: 'textarea', rows: 2 }), flag(`${path}disableInterruption`)];
  const named = [...own, ...further].map((each) => ({
    ...each, label: `${title}: ${t(`agentFields.builtIn.${each.name.split('.').at(-1)}.0`)}`, help: t(`agentFields.builtIn.${each.name.split('.').at(-1)}.1`, { fallback: '' }),
    when: (/** @type {any} */ values) => !!values[`${path}enabled`],
  }));
  return [{ ...flag(`${path}enabled`), label: title, help: t(`agentFields.builtInHelp.${tool}`) }, ...named];
}

/** @param {Choices} [choices] @returns {{ key: string, open?: boolean, fields: AgentField[] }[]} */
function groups(choices = {}) {
  const names = new Intl.DisplayNames([language], { type: 'language' });
  return [
    { key: 'general', open: true, fields: [
      field('name', { required: true }), choice('direction', ['outbound', 'inbound', 'both'], 'outbound'), lines('tags', { rows: 2 })] },
    { key: 'says', open: true, fields: [
      field(`${PROMPT}prompt`, { type: 'textarea', rows: 12, required: true }), field(`${AGENT}greetingMessage`, { type: 'textarea', rows: 3 }),
      field(`${AGENT}primaryLanguage`, { default: 'en', suggestions: LANGUAGES.map((value) => ({ value, label: names.of(value) ?? value })) })] },
    { key: 'voice', open: true, fields: [
      field(`${TTS}voiceId`, { default: 'default', suggestions: choices.voices }), number(`${TTS}speed`, { default: 1, min: 0.5, max: 2, step: 0.05 }),
      field(`${PROMPT}llm`, { default: 'default', suggestions: choices.models }), number(`${PROMPT}temperature`, { default: 0, min: 0, max: 2, step: 0.1 })] },
    { key: 'turns', open: true, fields: [
      choice(`${TURN}turnEagerness`, ['patient', 'normal', 'eager'], 'normal'), number(`${TURN}turnTimeout`, { default: 7, min: -1, max: 30, step: 'any' }),
      number(`${TURN}silenceEndCallTimeout`, { default: -1, min: -1, max: 3600, step: 'any' }), choice(`${TURN}spellingPatience`, ['auto', 'off'], 'auto'),
      flag(`${AGENT}disableFirstMessageInterruptions`), number('conversationConfig.conversation.maxDurationSeconds', { default: 300, min: 1, max: 14400 })] },
    { key: 'knowledge', fields: [some(`${PROMPT}knowledgeBase`, choices.knowledge), some(`${PROMPT}toolIds`, choices.tools)] },
    { key: 'tools', fields: [
      ...builtIn('endCall'), ...builtIn('voicemailDetection', [field(`${TOOLS}voicemailDetection.voicemailMessage`, { type: 'textarea', rows: 2 })]),
      ...builtIn('transferToNumber', [some(`${TOOLS}transferToNumber.transferRuleIds`, choices.rules),
        rows(`${TOOLS}transferToNumber.transfers`, ['condition', ['transferDestination.type', { options: options(['phone', 'sip_uri']) }], ['transferDestination.phoneNumber', { placeholder: '+15550100010' }],
          ['transferDestination.sipUri', { placeholder: 'sip:' }], ['transferType', { options: options(['blind', 'conference', 'sip_refer']) }]])]),
      ...builtIn('transferToAgent', [rows(`${TOOLS}transferToAgent.transfers`, ['condition', ['agentId', { options: choices.agents ?? [] }], 'transferMessage', ['delayMs', { type: 'number' }],
        ['enableTransferredAgentFirstMessage', { type: 'checkbox' }]])]),
      ...builtIn('skipTurn'), ...builtIn('languageDetection')] },
    { key: 'data', fields: [
      map('platformSettings.dataCollection.entities', ['value.description', ['value.type', { options: options(['string', 'number', 'integer', 'boolean']) }], ['value.enum', { type: 'list' }]], {}), flag('platformSettings.dataCollection.storeData'),
      map(`${AGENT}dynamicVariables`, ['value'], ''), field('platformSettings.summaryLanguage')] },
    { key: 'after', fields: [
      flag('platformSettings.privacy.recordVoice'), flag(`${ACTIONS}smartOptOut`), flag(`${ACTIONS}issueTracking`),
      field(`${ACTIONS}postCallWebhook`, { placeholder: 'https://' }), flag(`${ACTIONS}postCallEmail.enabled`),
      lines(`${EMAIL}to`, { rows: 2 }), lines(`${EMAIL}cc`, { rows: 2 }), field(`${EMAIL}subject`), flag(`${EMAIL}includeTranscript`),
      flag(`${ACTIONS}scheduleOnCalendar.enabled`), choice(`${ACTIONS}scheduleOnCalendar.provider`, ['ics', 'cal.com', 'google']),
      lines(`${ACTIONS}scheduleOnCalendar.eventsIds`), field(`${PROMPT}timezone`, { default: 'UTC', suggestions: zones() })] },
    { key: 'numbers', fields: [
      rows('phoneNumbers', [['number', { placeholder: '+15550100010' }], ['provider', { options: options(CARRIERS) }], 'label']), flag(`${TELEPHONY}numberRotationEnabled`), lines(`${TELEPHONY}rotationNumbers`),
      number(`${TELEPHONY}callsPerNumber`, { min: 1, max: 1_000_000 }), number('platformSettings.callRetry.retryCount', { min: 0, max: 10 }),
      number('platformSettings.callRetry.retryDelay', { min: 0, max: 10080, placeholder: '60' }), flag(`${TELEPHONY}stateRestrictionEnabled`), lines(`${TELEPHONY}stateRestrictedNumbers`)] },
    { key: 'speech', fields: [
      lines('conversationConfig.asr.keywords'), rows(`${TTS}supportedVoices`, ['label', 'voiceId', 'language', ...['stability', 'speed', 'similarityBoost'].map((name) => /** @type {[string, any]} */ ([name, { type: 'number' }]))]),
      json('conversationConfig.languagePresets', { de: { overrides: {} } }),
      flag(`${AGENT}hinglishMode`), number(`${TTS}stability`, { default: 0.5, min: 0, max: 1, step: 0.05 }), number(`${TTS}similarityBoost`, { default: 0.8, min: 0, max: 1, step: 0.05 }),
      flag(`${TTS}expressiveMode`), rows(`${TTS}suggestedAudioTags`, ['tag', 'description']), number(`${TTS}optimizeStreamingLatency`, { default: 3, min: 0, max: 4 }),
      rows(`${TTS}pronunciationDictionary`, [['provider', { options: options(['elevenlabs', 'cartesia']) }], 'pronunciationDictionaryId', 'versionId']),
      choice(`${TTS}agentOutputAudioFormat`, FORMATS, 'pcm_16000'), choice('conversationConfig.asr.userInputAudioFormat', FORMATS, 'pcm_16000'), flag(`${PROMPT}ignoreDefaultPersonality`)] },
    { key: 'overrides', fields: ['prompt', 'greetingMessage', 'voiceId', 'llm', 'firstSpeaker', 'maxDurationSeconds'].map((name) => flag(`platformSettings.overrides.${name}`)) },
    { key: 'web', fields: [json('platformSettings.widget', { variant: 'full' }), json('workflow.nodes'), json('workflow.edges'), flag('workflow.preventSubagentLoops')] },
  ];
}

/** The groups as the form shows them. @param {Choices} choices @param {Record<string, any>} saved Values of the form. @returns {import('../components/form.js').Group[]} */
export function agentGroups(choices, saved) {
  return groups(choices).map((group) => {
    const fields = group.fields.map((each) => (each.type === 'checks' ? offered(each, saved[each.name]) : each));
    const set = fields.filter(({ name, default: preset }) => ![undefined, '', false, preset].includes(saved[name]) && !(Array.isArray(saved[name]) && !saved[name].length)).length;
    return { ...group, fields, label: t(`agent.groups.${group.key}.0`), help: [t(`agent.groups.${group.key}.1`), set > 0 && t('agent.fieldsSet', { n: set })].filter(Boolean).join(' · ') };
  });
}

/** What is chosen and not there any more is offered too. @param {AgentField} field @param {string[]} [chosen] @returns {AgentField} */
function offered(field, chosen = []) {
  const given = field.options ?? [], gone = chosen.filter((id) => !given.some(({ value }) => value === id));
  return { ...field, help: given.length ? field.help : t('agent.noneYet'), options: [...given, ...gone.map((value) => ({ value, label: value }))] };
}

/** @type {AgentField[] | undefined} */
let every;
const all = () => (every ??= groups().flatMap((group) => group.fields));

/** @param {any} agent @returns {Record<string, any>} */
export const formValues = (agent) => Object.fromEntries(all().map(({ name, toForm }) => [name, toForm ? toForm(at(agent, name)) : at(agent, name)]));

/** What is sent of the fields that changed: for an object, only what changed in it. @param {Record<string, any>} changed Values of the form. @param {any} [saved] */
export function agentPatch(changed, saved) {
  const body = {};
  for (const { name, fromForm } of all()) {
    if (!(name in changed)) continue;
    const value = fromForm ? fromForm(changed[name]) : changed[name], old = at(saved ?? {}, name), isUnset = value === undefined || value === '';
    // As JSON, so that cells that were emptied are not there.
    const next = isUnset ? null : JSON.parse(JSON.stringify(value));
    if (saved || !isUnset) put(body, name, isObject(old) && isObject(next) ? mergePatch(old, next) : next);
  }
  return body;
}

/** The same changes on top of what somebody else saved meanwhile. @param {Record<string, any>} changed @param {any} saved @param {any} latest @returns {Record<string, any>} */
export function rebased(changed, saved, latest) {
  const values = formValues(applyPatch(latest, agentPatch(changed, saved)));
  return Object.fromEntries(Object.keys(changed).map((name) => [name, values[name]]));
}

/** Differences between two agents, for people. @param {import('../lib/merge.js').Difference[]} found @returns {(import('../components/changes.js').Change & { field?: string })[]} */
export function changesOf(found) {
  const fields = all();
  return found.filter(({ path }) => !/^(metadata|agentId)(\.|$)/.test(path)).map((each) => {
    const known = fields.find(({ name }) => each.path === name || each.path.startsWith(`${name}.`) || each.path.startsWith(`${name}[`));
    const inner = known ? each.path.slice(known.name.length).replace(/^\./, '') : '';
    return { label: known ? [known.label, inner].filter(Boolean).join(' · ') : each.path, old: say(each.old, known), next: say(each.new, known), field: known?.name };
  });
}

/** @param {any} value @param {AgentField | undefined} known @returns {string} */
function say(value, known) {
  if (value === undefined || value === null || value === '') return t('form.nothing');
  if (typeof value === 'boolean') return t(value ? 'form.yes' : 'form.no');
  return typeof value === 'object' ? JSON.stringify(value) : known?.options?.find((option) => option.value === value)?.label ?? String(value);
}
