// Talks with an agent through the microphone or by typing, as it is saved or as it is in the form.
import { html, useEffect, useRef, useState } from '../lib/ui.js';
import { post } from '../lib/api.js';
import { useCallFeed } from '../lib/call-feed.js';
import { useCallRecord } from '../lib/call-record.js';
import { useResource } from '../lib/data.js';
import { findingsOf, readGraph } from '../lib/graph.js';
import { itemName } from '../lib/graph-text.js';
import { sentence, store, stored, t } from '../lib/i18n.js';
import { useUnsaved } from '../lib/router.js';
import { Form } from '../components/form.js';
import { Sound, endText, problemText, useLine } from '../components/sound.js';
import { checkLength } from './call-live.js';
import { Present, State } from './call-now.js';
import { Transcript } from './call-transcript.js';
import { placeholdersOf } from './placeholders.js';

const RECORDED_AFTER_MS = 1500, TURN_RECORDED_AFTER_MS = 500, OVER = [404, 409];

/** Undefined where the form cannot be read; that is said when the talk begins. @param {() => { agent: any }} tried */
function inForm(tried) {
  try { return tried().agent; } catch { return undefined; }
}

/** The provider of an agent's language model. @param {any} agent */
function useModel(agent) {
  const usual = useResource('/services').data?.services.find((/** @type {any} */ { kind, rank }) => kind === 'llm' && rank === 1);
  const llm = agent?.conversationConfig?.agent?.prompt?.llm;
  return !llm || llm === 'default' ? usual?.provider : llm.split('/')[0];
}

/**
 * @param {{ tried: () => { agent: any, isSaved: boolean }, kept: { current: Record<string, any> }, onNode: (node: string | undefined) => void,
 *   onItem: (item: import('../lib/graph.js').Item) => void, onClose: () => void }} props
 *   `tried`: the agent as it is at this moment. `kept` is set to what is filled in. `onNode`: told where the call is in the agent's graph.
 *   `onItem`: a mistake in it is to be seen.
 */
export function Talk({ tried, kept, onNode, onItem, onClose }) {
  const sound = useLine(), { line } = sound;
  // The call that is held in text, and words that are not sent yet.
  const [typed, setTyped] = useState('');
  const [words, setWords] = useState('');
  const [refusal, setRefusal] = useState('');
  const isOn = sound.kind !== '' || typed !== '', problem = sound.problem || refusal;
  const [values, setValues] = useState(/** @type {Record<string, any>} */ ({ mode: stored('talk') === 'text' ? 'text' : 'voice', ...kept.current }));
  const [call, setCall] = useState(/** @type {import('../lib/api.js').Answer | null} */ (null));
  const [graph, setGraph] = useState(() => readGraph(null));
  const wrong = findingsOf(graph, problem.slice(Math.max(0, problem.indexOf('`workflow')))).findings;
  const [ended, setEnded] = useState('');
  const heading = useRef(/** @type {HTMLElement | null} */ (null)), hangUp = useRef(/** @type {HTMLElement | null} */ (null));
  // The focus follows from the form to the button that ends the call or to the words, and back to the heading.
  useEffect(() => { if (!typed) (isOn ? hangUp : heading).current?.focus(); }, [isOn]);
  // A typed call that is not over ends with the component or the page.
  const own = useRef(''), isGone = useRef(false);
  function end() {
    if (own.current) post(`/conversations/${own.current}/end`, {}, { keepalive: true }).catch(() => {});
    own.current = '';
  }
  useEffect(() => {
    addEventListener('pagehide', end);
    return () => { removeEventListener('pagehide', end); isGone.current = true; end(); };
  }, []);
  useUnsaved(isOn, t('talk.leave'));
  // A test call has no number to call back.
  const agent = inForm(tried), wanted = placeholdersOf(agent, ['phoneNumber']), isInterviewer = useModel(agent) === 'interviewer';
  /** @type {import('../components/form.js').Field[]} */
  const fields = [
    ...wanted.map((name) => ({ name: `dynamicVariables.${name}`, label: name })),
    { name: 'mode', label: t('talk.mode'), type: 'select', required: true, help: t('talk.modeHelp'),
      options: ['voice', 'text'].map((value) => ({ value, label: t(`talk.modes.${value}`) })) },
    { name: 'actions', label: t('talk.actions'), type: 'checkbox', help: t('talk.actionsHelp') },
  ];
  /** @param {string} mode @param {Record<string, any>} given */
  async function beginCall(mode, given) {
    const { agent, isSaved } = tried(), { agentId, metadata: _, phoneNumbers: __, ...document } = agent;
    setGraph(readGraph(agent.workflow));
    const filled = wanted.map((name) => [name, given[`dynamicVariables.${name}`]]).filter(([, value]) => value);
    const about = { mode, actions: !!given.actions, dynamicVariables: Object.fromEntries(filled) };
    const answer = await post('/agents/test-call', { ...about, ...(isSaved ? { agentId } : { agent: document }) });
    setCall(answer);
    return answer.data;
  }
  function stop() {
    sound.stop();
    end();
    setTyped('');
    setEnded(t('talk.over'));
  }
  /** A typed call has ended by itself. @param {string} id @param {string} text */
  function over(id, text) {
    if (own.current !== id) return;
    own.current = '';
    setTyped('');
    setEnded(text);
  }
  /** @param {Record<string, any>} given */
  async function begin(given) {
    setValues(given);
    store('talk', given.mode);
    setCall(null);
    setEnded('');
    setRefusal('');
    sound.stop();
    if (given.mode === 'text') {
      try {
        own.current = (await beginCall('text', given)).conversationId;
        if (isGone.current) return end();
        setTyped(own.current);
      } catch (error) {
        setRefusal(problemText(error));
      }
      return;
    }
    await sound.open('talk', {
      start: { event: 'start', format: 'pcm_16000', buffers: true }, farewell: { event: 'stop' }, withMicrophone: true,
      url: async () => (await beginCall('voice', given)).mediaUrl,
      onEnd: (code, reason) => setEnded(code === 1000 ? t('talk.over') : endText(code, reason)),
    });
  }
  const id = call?.data.conversationId, said = ended || (!isOn ? '' : typed ? t('talk.onText') : line ? t('talk.on') : t('callNow.opening'));
  return html`<section class="card talk" aria-labelledby="talk">
    <div class="head"><h2 id="talk" tabindex="-1" ref=${heading}>${t('talk.title')}</h2>
      <button class="plain" onClick=${() => { if (!isOn || confirm(t('talk.leave'))) onClose(); }}>${t('common.close')}</button></div>
    <p class="help">${t(isOn ? 'talk.helpOn' : 'talk.help')} ${isInterviewer && t('talk.interviewer')}</p>
    <p role="status" class=${said ? 'who' : 'hidden'}>${said}</p>
    ${problem && html`<div class="alert bad" role="alert">${wrong.length ? t('talk.graphRefused') : problem}
      ${sound.problem && !wrong.length && ` ${t('talk.orType')}`}
      ${wrong.length > 0 && html`<ul>${wrong.map(({ item, path, message }, at) => html`<li key=${at}>
        ${item && html`<button class="plain" onClick=${() => onItem(item)}>${itemName(graph, item)}</button>`} ${path} ${message}</li>`)}</ul>`}</div>`}
    ${isOn && call?.warning && html`<p class="alert warn">${sentence(call.warning)}</p>`}
    ${call && html`<${Talked} key=${id} id=${id} isOn=${isOn} graph=${graph} onNode=${onNode} onOver=${() => over(id, t('talk.over'))} />`}
    ${!isOn && words && html`<p><b>${t('talk.unsent')}</b> ${words}</p>`}
    ${isOn ? html`${line && html`<${Sound} line=${line} />`}
      ${typed && html`<${Typing} id=${typed} text=${words} setText=${setWords} onOver=${(/** @type {string} */ text) => over(typed, text)} />`}
      <div class="actions"><button class="danger" ref=${hangUp} onClick=${stop}>${t('talk.hangUp')}</button></div>`
    : html`<${Form} fields=${fields} values=${values} submit=${t(call ? 'talk.again' : 'talk.begin')} onSubmit=${begin}
        onEdit=${(/** @type {Record<string, any>} */ changed) => { kept.current = { ...values, ...changed }; }} />`}
    ${call && html`<p><a href=${`/calls/${id}`} target=${isOn ? '_blank' : undefined}>${t('talk.seeCall')}</a></p>`}
  </section>`;
}

/**
 * Words of the user, in text.
 * @param {{ id: string, text: string, setText: (text: string | ((old: string) => string)) => void, onOver: (said: string) => void }} props
 */
function Typing({ id, text, setText, onOver }) {
  const [isWaiting, setWaiting] = useState(false);
  const [problem, setProblem] = useState('');
  const field = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => field.current?.focus(), []);
  /** @param {Event} event */
  async function send(event) {
    event.preventDefault();
    if (isWaiting || !text.trim()) return;
    const wrong = checkLength(text.trim());
    setProblem(wrong ?? '');
    if (wrong) return;
    setWaiting(true);
    setText('');
    try {
      const { data } = await post(`/conversations/${id}/text`, { text });
      if (data.next === 'nobody') onOver(t('talk.agentHungUp'));
    } catch (error) {
      setText((later) => [text, later].filter(Boolean).join(' '));
      setProblem(problemText(error));
      if (OVER.includes(/** @type {any} */ (error).status)) onOver(t('talk.over'));
    }
    setWaiting(false);
  }
  return html`<form class="form" onSubmit=${send}>
    <div class="field"><label for="talk-words">${t('talk.words')}</label>
      <input id="talk-words" ref=${field} type="text" autocomplete="off" value=${text}
        onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></div>
    <p role="status" class=${isWaiting ? 'help' : 'hidden'}>${isWaiting && t('talk.answering')}</p>
    ${problem && html`<p class="alert bad" role="alert">${problem}</p>`}
    <div class="actions"><button class="primary" aria-disabled=${isWaiting}>${t('talk.send')}</button></div></form>`;
}

/**
 * What was said, with latencies, tools and passages.
 * @param {{ id: string, isOn: boolean, graph: import('../lib/graph.js').Graph, onNode: (node: string | undefined) => void,
 *   onOver: () => void }} props
 */
function Talked({ id, isOn, graph, onNode, onOver }) {
  const { turns, events, readOn, refresh } = useCallRecord(id);
  // No event of the account tells of a test call.
  useEffect(() => { const timer = setTimeout(isOn ? readOn : refresh, RECORDED_AFTER_MS); return () => clearTimeout(timer); }, [isOn]);
  return html`${turns && html`<${Transcript} turns=${turns} events=${events} heard=${null} found=${null} isLive=${true} onHear=${null}
      graph=${graph} />`}
    ${isOn && html`<${Following} id=${id} onTurn=${() => setTimeout(readOn, TURN_RECORDED_AFTER_MS)} onNode=${onNode} onOver=${onOver} />`}`;
}

/** @param {{ id: string, onTurn: () => void, onNode: (node: string | undefined) => void, onOver: () => void }} props */
function Following({ id, onTurn, onNode, onOver }) {
  const feed = useCallFeed(id, onTurn);
  useEffect(() => onNode(feed.node), [feed.node]);
  useEffect(() => () => onNode(undefined), []);
  // There is no stream of a call that is over.
  useEffect(() => { if (OVER.includes(feed.refusal?.status)) onOver(); }, [feed.refusal]);
  return html`<div class="row"><${State} state=${feed.state} /></div><${Present} feed=${feed} />`;
}
