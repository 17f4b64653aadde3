// Fields of a campaign that its dialogs and the page for a new one share.
import { t } from '../lib/i18n.js';

/** @returns {import('../components/form.js').Field[]} */
export const scheduleFields = () => [
  { name: 'startTime', label: t('newCampaign.startTime'), required: true, help: t('newCampaign.startHelp'), placeholder: '09:00' },
  { name: 'endTime', label: t('newCampaign.endTime'), help: t('newCampaign.endHelp'), placeholder: '17:00' },
  { name: 'timezone', label: t('newCampaign.timezone'), type: 'select', required: true, options: zones() },
];

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
  { name: 'maxConcurrentCalls', type: 'number', label: t('newCampaign.maxConcurrentCalls'), help: t('newCampaign.concurrentHelp'), min: 1, max: 100_000 },
  { name: 'ringTimeoutSeconds', type: 'number', label: t('newCampaign.ringTimeoutSeconds'), help: t('newCampaign.ringHelp'), min: 10, max: 120 },
];

/** Follow-ups as the API takes them. @param {Record<string, any>} values @returns {Record<string, any>} */
export function followUpBody(values) {
  if (!values.followUpCall) return { followUpCall: false };
  const minutes = String(values.followUpIntervals ?? '').split(/[\s,;]+/).filter(Boolean).map(Number);
  return { followUpCall: true, followUpAttempts: values.followUpAttempts, followUpIntervals: minutes };
}
