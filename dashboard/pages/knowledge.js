// What agents know: documents, and groups of them.
import { html } from '../lib/ui.js';
import { post } from '../lib/api.js';
import { useResource } from '../lib/data.js';
import { number, t } from '../lib/i18n.js';
import { setQuery, useQuery } from '../lib/router.js';
import { DocumentPicker } from '../components/document-picker.js';
import { fieldProblem, Resource } from '../components/resource.js';
import { Ids } from '../components/secret.js';
import { Facts, Failure, Tabs, Time } from '../components/states.js';
import { Passages, TryQuestion } from './question.js';

const DOCUMENTS = '/knowledge-base/documents', GROUPS = '/knowledge-base/groups';
const READABLE = '.txt,.md,.html,.htm,.pdf,text/plain,text/markdown,text/html,application/pdf';

/** @returns {import('../components/resource.js').Kind} */
const documents = () => ({
  path: DOCUMENTS, texts: 'documents', id: (document) => document.documentId, name: (document) => document.name,
  search: true, show: (document) => html`<${ShownDocument} document=${document} />`,
  columns: [
    { key: 'name', label: t('documents.name'), wide: true, render: (document) => document.name },
    { key: 'type', label: t('documents.source'), render: (document) => t(`documents.sources.${document.type}`, { fallback: document.type }) },
    { key: 'length', label: t('documents.length'), align: 'end',
      render: (document) => html`<span class="numeric">${number(document.details.textLength)}</span>` },
    { key: 'created', label: t('documents.created'), render: (document) => html`<${Time} at=${document.metadata.createdAt} />` },
    { key: 'url', label: t('documents.url'), optional: true, render: (document) => document.details.url ?? '–' },
  ],
  fields: () => [
    { name: 'source', label: t('documents.source'), type: 'select', required: true,
      options: ['file', 'url', 'text'].map((value) => ({ value, label: t(`documents.sources.${value}`) })) },
    { name: 'file', label: t('documents.file'), required: true, help: t('documents.fileHelp'), when: ({ source }) => source === 'file', render: FileInput },
    { name: 'url', label: t('documents.url'), required: true, help: t('documents.urlHelp'), placeholder: 'https://', when: ({ source }) => source === 'url' },
    { name: 'name', label: t('documents.name'), required: true, when: ({ source }) => source !== 'file' },
    { name: 'name', label: t('documents.name'), default: t('documents.nameOfFile'), when: ({ source }) => source === 'file' },
    { name: 'text', label: t('documents.text'), type: 'textarea', rows: 10, required: true, when: ({ source }) => source === 'text' },
  ],
  values: () => ({ source: 'file' }),
  create({ source, file, name, url, text }, idempotencyKey) {
    if (source === 'url') return post(`${DOCUMENTS}/url`, { name, url }, { idempotencyKey });
    if (source === 'text') return post(`${DOCUMENTS}/text`, { name, text }, { idempotencyKey });
    if (!file) throw fieldProblem('file', 'required', t('documents.noFile'));
    const form = new FormData();
    if (name) form.set('name', name);
    form.set('file', file);
    return post(`${DOCUMENTS}/file`, form, { idempotencyKey });
  },
});

/** @param {{ id: string, onChange: (file: File | undefined) => void, describedBy?: string, invalid: boolean }} props */
const FileInput = ({ id, onChange, describedBy, invalid }) => html`<input type="file" id=${id} accept=${READABLE} aria-describedby=${describedBy}
  aria-invalid=${invalid || undefined} onChange=${(/** @type {any} */ event) => onChange(event.target.files[0])} />`;

/** A document with all of its text. @param {{ document: any }} props */
function ShownDocument({ document: { documentId, type, details, metadata } }) {
  const path = `${DOCUMENTS}/${documentId}`, { data, error, reload } = useResource(`${path}/text`);
  return html`<${Facts} facts=${[
    [t('documents.source'), t(`documents.sources.${type}`, { fallback: type })], details.url && [t('documents.url'), html`<code>${details.url}</code>`],
    [t('documents.length'), number(details.textLength)], [t('documents.created'), html`<${Time} at=${metadata.createdAt} full=${true} />`],
    metadata.createdBy && [t('documents.createdBy'), metadata.createdBy.userEmail]]} />
    <${Ids} id=${documentId} path=${path} />
    ${error ? html`<${Failure} error=${error} onRetry=${reload} />`
      : html`<pre tabindex="0" role="group" class="prose" aria-label=${t('documents.text')}>${data?.text}</pre>`}
    <${Passages} documentIds=${[documentId]} />`;
}

/** @returns {import('../components/resource.js').Kind} */
const groups = () => ({
  path: GROUPS, texts: 'groups', id: (group) => group.groupId, name: (group) => group.name, search: true,
  columns: [
    { key: 'name', label: t('groups.name'), render: (group) => group.name },
    { key: 'documents', label: t('groups.documents'), wide: true,
      render: (group) => group.documents.map((/** @type {any} */ each) => each.name).join(', ') || '–' },
    { key: 'created', label: t('documents.created'), render: (group) => html`<${Time} at=${group.metadata.createdAt} />` },
  ],
  fields: (group) => [
    { name: 'name', label: t('groups.name'), required: true },
    { name: 'documentIds', label: t('groups.documents'), say: (ids) => t('groups.count', { n: ids?.length ?? 0 }),
      render: (props) => html`<${DocumentPicker} ...${props} known=${group?.documents ?? []} />` },
  ],
  values: (group) => ({ name: group?.name, documentIds: group?.documents.map((/** @type {any} */ each) => each.documentId) ?? [] }),
  body: ({ name, documentIds }) => ({ name: name ?? '', documentIds }),
});

export default function Knowledge() {
  const { tab = 'documents' } = useQuery();
  const kind = tab === 'groups' ? groups() : documents();
  const tabs = ['documents', 'groups', 'question'].map((key) => ({ key, label: t(`${key}.title`) }));
  return html`<h1>${t('knowledge.title')}</h1>
    <div><${Tabs} label=${t('knowledge.title')} tabs=${tabs} current=${tab}
      onChange=${(/** @type {string} */ next) => setQuery({ tab: next, search: undefined })}>
      <div class="stack">${tab === 'question' ? html`<${TryQuestion} />` : html`<${Resource} key=${kind.path} kind=${kind} inTab=${true} />`}</div><//></div>`;
}
