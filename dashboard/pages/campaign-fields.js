// Fields of a campaign that its dialogs and the page for a new one share.
import { t } from '../lib/i18n.js';

/** @returns {import('../components/form.js').Field[]} */
export const scheduleFields = () => [
  { name: 'startTime', label: t('newCampaign.startTime'), type: 'time', required: true },
  { name: 'endTime', label: t('newCampaign.endTime'), type: 'time', help: t('newCampaign.endHelp') },
  { name: 'firstDay', label: t('newCampaign.firstDay'), type: 'date', help: t('newCampaign.firstDayHelp') },
  { name: 'timezone', label: t('newCampaign.timezone'), type: 'select', required: true, options: zones() },
];

/** A schedule as the API takes it. @param {Record<string, any>} values */
export const scheduleBody = ({ startTime, endTime, firstDay, timezone }) =>
  ({ startTime: firstDay && startTime ? `${firstDay}T${startTime}` : startTime, endTime: endTime || undefined, timezone });

/** Its fields, of what the API has. @param {{ startTime?: string | null, endTime?: string | null, timezone?: string | null }} schedule @param {string} zone */
export function scheduleValues({ startTime, endTime, timezone }, zone) {
  const [, firstDay, from] = /^(\d{4}-\d\d-\d\d)?T?(\d\d:\d\d)/.exec(startTime ?? '09:00') ?? [], until = /(?:^|T)(\d\d:\d\d)/.exec(endTime ?? '')?.[1];
  return { startTime: from, endTime: startTime ? until : '17:00', firstDay, timezone: timezone ?? zone };
}

/** All time zones that the browser knows. */
export function zones() {
  return ['UTC', ...Intl.supportedValuesOf('timeZone').filter((each) => each !== 'UTC')].map((value) => ({ value, label: value.replaceAll('_', ' ') }));
}

/** @returns {import('../components/form.js').Field[]} */
export const followUpFields = () => [
  { name: 'followUpCall', type: 'checkbox', label: t('newCampaign.followUpCall'), help: t('newCampaign.followUpHelp') },
  { name: 'followUpAttempts', type: 'number', label: t('newCampaign.followUpAttempts'), required: true, min: 1, max: 100,
    when: (values) => values.followUpCall },
  { name: 'followUpIntervals', label: t('newCampaign.followUpIntervals'), required: true, help: t('newCampaign.intervalsHelp'),
    placeholder: '60, 1440', when: (values) => values.followUpCall },
  ...optionFields(),
];

/** Options as the API takes and returns them. @returns {import('../components/form.js').Field[]} */
const optionFields = () => [
  { name: 'maxConcurrentCalls', type: 'number', label: t('newCampaign.maxConcurrentCalls'), help: t('newCampaign.concurrentHelp'), min: 1, max: 100_000 },
  { name: 'ringTimeoutSeconds', type: 'number', label: t('newCampaign.ringTimeoutSeconds'), help: t('newCampaign.ringHelp'), min: 10, max: 120 },
];

/** The options among values. @param {Record<string, any>} values @returns {Record<string, any>} */
export const optionsOf = (values) => Object.fromEntries(optionFields().map(({ name }) => [name, values[name]]));

/** Follow-ups as the API takes them. @param {Record<string, any>} values @returns {Record<string, any>} */
export function followUpBody(values) {
  if (!values.followUpCall) return { followUpCall: false };
  const minutes = String(values.followUpIntervals ?? '').split(/[\s,;]+/).filter(Boolean).map(Number);
  return { followUpCall: true, followUpAttempts: values.followUpAttempts, followUpIntervals: minutes };
}
