// A question, and the passages of documents that a call would find for it.
import { html, useState } from '../lib/ui.js';
import { post } from '../lib/api.js';
import { t } from '../lib/i18n.js';
import { DocumentPicker } from '../components/document-picker.js';
import { Form } from '../components/form.js';
import { AGENTS, Picker } from '../components/picker.js';

/** What a question finds in these documents, or else in those chosen beside it. @param {{ documentIds?: string[] }} props */
export function Passages({ documentIds }) {
  const [asked, setAsked] = useState(/** @type {Record<string, any>} */ ({}));
  const [passages, setPassages] = useState(/** @type {any[] | null} */ (null));
  const ofAgent = (/** @type {Record<string, any>} */ values) => !!values.agentId;
  /** @type {import('../components/form.js').Field[]} */
  const fields = [
    { name: 'question', label: t('question.question'), required: true, help: t(documentIds ? 'documents.readHelp' : 'question.questionHelp') },
    ...(documentIds ? [] : [{ name: 'agentId', label: t('question.agent'), default: '',
      render: (/** @type {any} */ props) => html`<${Picker} ...${props} from=${AGENTS} first=${[{ value: '', label: t('question.noAgent') }]} />` },
    { name: 'documentIds', label: t('groups.documents'), required: true, when: (/** @type {any} */ values) => !ofAgent(values),
      render: (/** @type {any} */ props) => html`<${DocumentPicker} ...${props} known=${[]} />` }]),
  ];
  async function ask(/** @type {Record<string, any>} */ values) {
    setPassages(null);
    const { data } = await post('/knowledge-base/search',
      { question: values.question, ...(ofAgent(values) ? { agentId: values.agentId } : { documentIds: documentIds ?? values.documentIds }) });
    setPassages(data.passages);
    setAsked(values);
  }
  return html`<${Form} fields=${fields} values=${asked} submit=${t('question.ask')} onSubmit=${ask} />
    <div role="status">${passages && t('question.found', { n: passages.length })}</div>
    ${passages && html`<ol class="stack passages">${passages.map((each) => html`<li class="card">
      <p class="row"><b>${each.documentName}</b>${each.heading && html`<span class="muted">${each.heading}</span>`}
        <span class=${`badge ${each.given ? 'good' : ''}`}>${t(each.given ? 'question.given' : 'question.notGiven')}</span></p>
      <p class="passage">${each.text}</p></li>`)}</ol>`}`;
}

export const TryQuestion = () => html`<h2 class="hidden">${t('question.title')}</h2><p class="muted">${t('question.help')}</p><${Passages} />`;
