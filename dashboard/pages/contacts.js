// Saved contacts, whose fields fill the placeholders of agents in calls to their numbers.
import { html } from '../lib/ui.js';
import { may } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { Pairs, pairsOf, valuesOf } from '../components/pairs.js';
import { Resource } from '../components/resource.js';
import { Time } from '../components/states.js';

/** Fields that are not the contact's own. @param {any} contact */
const others = ({ contactId, metadata, phoneNumber, name, email, ...rest }) => rest;

/** @returns {import('../components/resource.js').Kind} */
const contacts = () => ({
  path: '/contacts', texts: 'contacts', id: (contact) => contact.contactId, name: (contact) => contact.name || contact.phoneNumber, search: true,
  columns: [
    { key: 'name', label: t('contacts.name'), render: (contact) => contact.name || contact.phoneNumber },
    { key: 'phone', label: t('contacts.phone'), render: (contact) => html`<span class="numeric">${contact.phoneNumber}</span>` },
    { key: 'email', label: t('contacts.email'), render: (contact) => contact.email ?? '–' },
    { key: 'others', label: t('contacts.others'), wide: true,
      render: (contact) => pairsOf(others(contact)).map(({ name, text }) => `${name}: ${text}`).join(', ') || '–' },
    { key: 'created', label: t('contacts.created'), optional: true, render: (contact) => html`<${Time} at=${contact.metadata.createdAt} />` },
  ],
  fields: () => [
    { name: 'phoneNumber', label: t('contacts.phone'), required: true, placeholder: '+4930123456' },
    { name: 'name', label: t('contacts.name') },
    { name: 'email', label: t('contacts.email'), type: 'email' },
    { name: 'others', label: t('contacts.others'), help: t('contacts.othersHelp'), render: (props) => html`<${Pairs} ...${props} />`,
      say: (pairs) => (pairs ?? []).map((/** @type {any} */ { name, text }) => `${name}: ${text}`).join(', ') || t('form.nothing') },
  ],
  values: (contact) => (contact ? { phoneNumber: contact.phoneNumber, name: contact.name, email: contact.email, others: pairsOf(others(contact)) } : {}),
  // A field that is not a text is sent only where its text was changed.
  body: ({ phoneNumber, name, email, others: pairs }) =>
    ({ ...valuesOf(pairs), phoneNumber: phoneNumber ?? '', ...(name && { name }), ...(email && { email }) }),
  deleteOptions: may('admin') ? [{ name: 'erase', type: 'checkbox', label: t('contacts.erase'), help: t('contacts.eraseHelp') }] : [],
});

export default function Contacts() {
  return html`<${Resource} kind=${contacts()} />`;
}
