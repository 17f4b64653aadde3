// All fields of an agent but its graph, in groups: path, control, default.
import { language, t } from '../lib/i18n.js';
import { html } from '../lib/ui.js';
import { atMost } from '../components/form.js';
import { Listed } from '../components/listed.js';
import { AGENTS } from '../components/picker.js';
import { choice, field, flag, json, lines, map, number, options, rows, some, text } from './agent-controls.js';
import { zones } from './campaign-fields.js';

/** @typedef {import('./agent-controls.js').AgentField} AgentField */
/** @typedef {import('./agent-controls.js').Option} Option */
/**
 * @typedef {{ voices?: Option[], models?: Option[], tools?: Option[], knowledge?: Option[], rules?: Option[], disclosures?: Option[],
 *   carriers?: Option[] }} Choices
 */

const AGENT = 'conversationConfig.agent.', PROMPT = `${AGENT}prompt.`, TOOLS = `${PROMPT}builtInTools.`;
const TURN = 'conversationConfig.turn.', TTS = 'conversationConfig.tts.', DATA = 'platformSettings.dataCollection.';
const ACTIONS = 'platformSettings.callActions.', EMAIL = `${ACTIONS}postCallEmail.emailConfiguration.`, CALENDAR = `${ACTIONS}scheduleOnCalendar.`;
const TELEPHONY = 'platformSettings.telephony.', RETRY = 'platformSettings.callRetry.';
const FORMATS = ['pcm_8000', 'pcm_16000', 'pcm_22050', 'pcm_24000', 'pcm_44100', 'pcm_48000', 'ulaw_8000'];
const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'pt-BR', 'nl', 'pl', 'cs', 'sv', 'da', 'nb', 'fi', 'tr', 'ru', 'uk', 'ar', 'he', 'hi', 'ja',
  'ko', 'zh', 'vi', 'id'];
const wide = { wide: true };
const OVERRIDES = ['prompt', 'greetingMessage', 'voiceId', 'llm', 'firstSpeaker', 'maxDurationSeconds'];

/** A voice or model: one that the service lists, or another one, of which it says that it is not listed. @param {string} path @param {Option[]} [listed] */
const listed = (path, listed = []) => field(path, {
  default: 'default', say: ofService,
  render: (props) => html`<${Listed} ...${props} options=${listed} first=${{ value: 'default', label: ofService('default') }} />`,
  warn: (value) => listed.length > 0 && value && value !== 'default' && !listed.some((each) => each.value === value) && t('agent.notListed'),
});
const ofService = (/** @type {string | undefined} */ value) => (!value || value === 'default' ? t('agent.ofService') : value);
/** @type {(choices: Choices) => AgentField[]} */
const voice = ({ voices, models }) => [
  listed(`${TTS}voiceId`, voices),
  number(`${TTS}speed`, { default: 1, min: 0.5, max: 2, step: 0.05 }),
  listed(`${PROMPT}llm`, models),
  number(`${PROMPT}temperature`, { default: 0, min: 0, max: 2, step: 0.1 }),
];

/** Its default is in the language of the form, or English. @type {(choices: Choices) => AgentField[]} */
const disclosure = ({ disclosures = [] }) => {
  const usual = (/** @type {string} */ code) => disclosures.find(({ value }) => value === code)?.label;
  const main = (/** @type {string | undefined} */ code) => (code ?? 'en').toLowerCase().split(/[-_]/)[0].replace('nb', 'no');
  return [flag('platformSettings.disclosure.enabled'), {
    ...text('platformSettings.disclosure.text', 2), check: atMost(500), when: (values) => !!values['platformSettings.disclosure.enabled'],
    placeholder: (values) => usual(main(values[`${AGENT}primaryLanguage`])) ?? usual('en'),
  }];
};

const turns = () => [
  choice(`${TURN}turnEagerness`, ['patient', 'normal', 'eager'], 'normal'),
  number(`${TURN}turnTimeout`, { default: 7, min: -1, max: 30, step: 'any' }),
  number(`${TURN}silenceEndCallTimeout`, { default: -1, min: -1, max: 3600, step: 'any' }),
  choice(`${TURN}spellingPatience`, ['auto', 'off'], 'auto'),
  flag(`${AGENT}disableFirstMessageInterruptions`),
  number('conversationConfig.conversation.maxDurationSeconds', { default: 300, min: 1, max: 14400 }),
];

/** A built-in tool; its other fields are shown while it is enabled. @param {string} tool @param {AgentField[]} [further] @returns {AgentField[]} */
function builtIn(tool, further = []) {
  const path = `${TOOLS}${tool}.`, title = t(`agentFields.builtInTools.${tool}`);
  const others = [text(`${path}description`, 2), flag(`${path}disableInterruption`), ...further].map((each) => {
    const key = `agentFields.builtIn.${each.name.split('.').at(-1)}`;
    const when = (/** @type {any} */ values) => !!values[`${path}enabled`];
    return { ...each, label: `${title}: ${t(`${key}.0`)}`, help: t(`${key}.1`, { fallback: '' }), when };
  });
  return [{ ...flag(`${path}enabled`), label: title, help: t(`agentFields.builtInHelp.${tool}`) }, ...others];
}

/** @type {(choices: Choices) => AgentField[]} */
const tools = ({ rules }) => [
  ...builtIn('endCall'),
  ...builtIn('voicemailDetection', [text(`${TOOLS}voicemailDetection.voicemailMessage`, 2)]),
  ...builtIn('transferToNumber', [
    some(`${TOOLS}transferToNumber.transferRuleIds`, rules, '/safeguards'),
    rows(`${TOOLS}transferToNumber.transfers`, [
      ['condition', wide], ['transferDestination.type', { options: options(['phone', 'sip_uri']) }],
      ['transferDestination.phoneNumber', { placeholder: '+15550100010' }],
      ['transferDestination.sipUri', { placeholder: 'sip:' }], ['transferType', { options: options(['blind', 'conference', 'sip_refer']) }],
    ]),
  ]),
  ...builtIn('transferToAgent', [rows(`${TOOLS}transferToAgent.transfers`, [
    ['condition', wide], ['agentId', { from: AGENTS }], ['transferMessage', wide], ['delayMs', { type: 'number' }],
    ['enableTransferredAgentFirstMessage', { type: 'checkbox' }],
  ])]),
  ...builtIn('skipTurn'),
  ...builtIn('languageDetection'),
];

const data = () => [
  map(`${DATA}entities`, [['value.description', wide], ['value.type', { options: options(['string', 'number', 'integer', 'boolean']) }],
    ['value.enum', { type: 'list' }]], {}),
  flag(`${DATA}storeData`),
  map(`${AGENT}dynamicVariables`, ['value'], ''),
  field('platformSettings.summaryLanguage'),
];

const after = () => [
  flag('platformSettings.privacy.recordVoice'), flag(`${ACTIONS}smartOptOut`), flag(`${ACTIONS}issueTracking`),
  field(`${ACTIONS}postCallWebhook`, { placeholder: 'https://' }),
  flag(`${ACTIONS}postCallEmail.enabled`), lines(`${EMAIL}to`), lines(`${EMAIL}cc`), field(`${EMAIL}subject`), flag(`${EMAIL}includeTranscript`),
  flag(`${CALENDAR}enabled`), choice(`${CALENDAR}provider`, ['ics', 'cal.com', 'google']), lines(`${CALENDAR}eventsIds`),
  field(`${PROMPT}timezone`, { default: 'UTC', suggestions: zones() }),
];

/** @type {(choices: Choices) => AgentField[]} */
const numbers = ({ carriers }) => [
  rows('phoneNumbers', [['number', { placeholder: '+15550100010' }], ['provider', { options: carriers }], 'label']),
  flag(`${TELEPHONY}numberRotationEnabled`), lines(`${TELEPHONY}rotationNumbers`), number(`${TELEPHONY}callsPerNumber`, { min: 1, max: 1_000_000 }),
  number(`${RETRY}retryCount`, { min: 0, max: 10 }), number(`${RETRY}retryDelay`, { min: 0, max: 10_080, placeholder: '60' }),
  flag(`${TELEPHONY}stateRestrictionEnabled`), lines(`${TELEPHONY}stateRestrictedNumbers`),
];

const share = /** @type {const} */ ({ type: 'number' });
const speech = () => [
  lines('conversationConfig.asr.keywords'),
  rows(`${TTS}supportedVoices`, ['label', 'voiceId', 'language', ['stability', share], ['speed', share], ['similarityBoost', share]]),
  json('conversationConfig.languagePresets', { de: { overrides: { agent: { greetingMessage: 'Guten Tag!' } } } }),
  flag(`${AGENT}hinglishMode`),
  number(`${TTS}stability`, { default: 0.5, min: 0, max: 1, step: 0.05 }), number(`${TTS}similarityBoost`, { default: 0.8, min: 0, max: 1, step: 0.05 }),
  flag(`${TTS}expressiveMode`), rows(`${TTS}suggestedAudioTags`, ['tag', ['description', wide]]),
  number(`${TTS}optimizeStreamingLatency`, { default: 3, min: 0, max: 4 }),
  rows(`${TTS}pronunciationDictionary`, [['provider', { options: options(['elevenlabs', 'cartesia']) }], 'pronunciationDictionaryId', 'versionId']),
  choice(`${TTS}agentOutputAudioFormat`, FORMATS, 'pcm_16000'), choice('conversationConfig.asr.userInputAudioFormat', FORMATS, 'pcm_16000'),
  flag(`${PROMPT}ignoreDefaultPersonality`),
];

/** @param {Choices} [choices] @returns {{ key: string, open?: boolean, fields: AgentField[] }[]} */
function groups(choices = {}) {
  const names = new Intl.DisplayNames([language], { type: 'language' });
  const languages = LANGUAGES.map((value) => ({ value, label: names.of(value) ?? value }));
  return [
    { key: 'general', open: true, fields: [field('name', { required: true }), choice('direction', ['outbound', 'inbound', 'both'], 'outbound'),
      lines('tags')] },
    { key: 'says', open: true, fields: [
      { ...text(`${PROMPT}prompt`, 12), required: true }, ...disclosure(choices), text(`${AGENT}greetingMessage`, 3),
      field('conversationConfig.conversation.listeningAnnouncement', { default: '' }),
      field(`${AGENT}primaryLanguage`, { default: 'en', suggestions: languages })] },
    { key: 'voice', open: true, fields: voice(choices) },
    { key: 'turns', open: true, fields: turns() },
    { key: 'knowledge', fields: [some(`${PROMPT}knowledgeBase`, choices.knowledge, '/knowledge'),
      some(`${PROMPT}toolIds`, choices.tools, '/tools')] },
    { key: 'tools', fields: tools(choices) },
    { key: 'data', fields: data() },
    { key: 'after', fields: after() },
    { key: 'numbers', fields: numbers(choices) },
    { key: 'speech', fields: speech() },
    { key: 'overrides', fields: OVERRIDES.map((name) => flag(`platformSettings.overrides.${name}`)) },
    { key: 'web', fields: [json('platformSettings.widget', { variant: 'full' })] },
  ];
}

/**
 * The groups as the form shows them.
 * @param {Choices} choices
 * @param {Record<string, any>} saved Values of the form.
 * @returns {import('../components/form.js').Group[]}
 */
export const agentGroups = (choices, saved) => groups(choices).map((group) => {
  const fields = group.fields.map((each) => (each.type === 'checks' ? offered(each, saved[each.name]) : each));
  const set = fields.filter((each) => isSet(saved[each.name], each.default)).length;
  const help = [t(`agent.groups.${group.key}.1`), set > 0 && t('agent.fieldsSet', { n: set })].filter(Boolean).join(' · ');
  return { ...group, fields, label: t(`agent.groups.${group.key}.0`), help };
});

/** @param {any} value @param {any} preset */
const isSet = (value, preset) => (Array.isArray(value) ? value.length > 0 : ![undefined, '', false, preset].includes(value));

/** What is chosen and not there any more is offered too. @param {AgentField} field @param {string[]} [chosen] @returns {AgentField} */
export function offered(field, chosen = []) {
  const given = field.options ?? [], gone = chosen.filter((id) => !given.some(({ value }) => value === id));
  const none = html`${t('agent.noneYet')} ${field.page && html`<a href=${field.page}>${t('agent.addSome')}</a>`}`;
  return { ...field, help: given.length ? field.help : none, options: [...given, ...gone.map((value) => ({ value, label: value }))] };
}

/** @type {AgentField[] | undefined} */
let every;
/** All fields, without what the service offers. */
export const agentFields = () => (every ??= groups().flatMap((group) => group.fields));
