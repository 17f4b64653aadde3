// Rules by which agents hand a call to a phone number or a SIP address.
import { html } from '../lib/ui.js';
import { t } from '../lib/i18n.js';
import { Time } from '../components/states.js';

/** @returns {import('../components/resource.js').Kind} */
export const transferRules = () => ({
  path: '/transfer-rules', texts: 'transferRules', id: (rule) => rule.transferRuleId, name: (rule) => rule.name,
  columns: [
    { key: 'name', label: t('transferRules.name'), render: (rule) => rule.name },
    { key: 'condition', label: t('transferRules.condition'), wide: true, render: (rule) => rule.condition ?? '–' },
    { key: 'to', label: t('transferRules.destination'), render: ({ transferDestination: to }) => to.phoneNumber ?? to.sipUri ?? '–' },
    { key: 'type', label: t('transferRules.type'), render: (rule) => t(`transferRules.types.${rule.transferType ?? 'blind'}`) },
    { key: 'updated', label: t('transferRules.updated'), optional: true, render: (rule) => html`<${Time} at=${rule.metadata.updatedAt} />` },
  ],
  fields: () => [
    { name: 'name', label: t('transferRules.name'), required: true },
    { name: 'condition', label: t('transferRules.condition'), type: 'textarea', rows: 3, help: t('transferRules.conditionHelp') },
    { name: 'transferDestination.type', label: t('transferRules.destinationType'), type: 'select', required: true,
      options: ['phone', 'sip_uri'].map((value) => ({ value, label: t(`transferRules.destinationTypes.${value}`) })) },
    { name: 'transferDestination.phoneNumber', label: t('transferRules.phone'), required: true, placeholder: '+4930123456', when: isPhone },
    { name: 'transferDestination.sipUri', label: t('transferRules.sip'), required: true, placeholder: 'sip:desk@example.com',
      when: (values) => !isPhone(values) },
    { name: 'transferType', label: t('transferRules.type'), type: 'select', required: true, help: t('transferRules.typeHelp'),
      options: ['blind', 'conference', 'sip_refer'].map((value) => ({ value, label: t(`transferRules.types.${value}`) })) },
  ],
  values: (rule) => ({
    name: rule?.name, condition: rule?.condition, transferType: rule?.transferType ?? 'blind',
    'transferDestination.type': rule?.transferDestination.type ?? 'phone',
    'transferDestination.phoneNumber': rule?.transferDestination.phoneNumber, 'transferDestination.sipUri': rule?.transferDestination.sipUri,
  }),
  body: (values) => ({
    name: values.name ?? '', transferType: values.transferType, ...(values.condition && { condition: values.condition }),
    transferDestination: isPhone(values)
      ? { type: 'phone', phoneNumber: values['transferDestination.phoneNumber'] ?? '' }
      : { type: 'sip_uri', sipUri: values['transferDestination.sipUri'] ?? '' },
  }),
});

/** @param {Record<string, any>} values */
const isPhone = (values) => values['transferDestination.type'] === 'phone';
