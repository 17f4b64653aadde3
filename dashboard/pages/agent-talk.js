// Talks with an agent through the microphone or by typing, as it is saved or as it is in the form.
import { html, useEffect, useRef, useState } from '../lib/ui.js';
import { post } from '../lib/api.js';
import { useCallFeed } from '../lib/call-feed.js';
import { useCallRecord } from '../lib/call-record.js';
import { findingsOf, readGraph } from '../lib/graph.js';
import { itemName } from '../lib/graph-text.js';
import { t } from '../lib/i18n.js';
import { Form } from '../components/form.js';
import { Sound, endText, problemText, useLine } from '../components/sound.js';
import { Present, State } from './call-now.js';
import { Transcript } from './call-transcript.js';
import { placeholdersOf } from './placeholders.js';

const RECORDED_AFTER_MS = 1500, TURN_RECORDED_AFTER_MS = 500, TEXT_LENGTH = 1000;

/** None where the form cannot be read; that is said when the talk begins. @param {() => { agent: any }} tried */
function placeholders(tried) {
  try { return placeholdersOf(tried().agent); } catch { return []; }
}

/**
 * @param {{ tried: () => { agent: any, isSaved: boolean }, onNode: (node: string | undefined) => void,
 *   onItem: (item: import('../lib/graph.js').Item) => void, onClose: () => void }} props
 *   `tried`: the agent as it is at this moment. `onNode`: told where the call is in the agent's graph. `onItem`: a mistake in it is to be seen.
 */
export function Talk({ tried, onNode, onItem, onClose }) {
  const sound = useLine(), { line } = sound;
  // The call that is held in text.
  const [typed, setTyped] = useState('');
  const [refusal, setRefusal] = useState('');
  const isOn = sound.kind !== '' || typed !== '', problem = sound.problem || refusal;
  const [values, setValues] = useState(/** @type {Record<string, any>} */ ({}));
  const [call, setCall] = useState(/** @type {import('../lib/api.js').Answer | null} */ (null));
  const [graph, setGraph] = useState(() => readGraph(null));
  const wrong = findingsOf(graph, problem.slice(Math.max(0, problem.indexOf('`workflow')))).findings;
  const [ended, setEnded] = useState('');
  const heading = useRef(/** @type {HTMLElement | null} */ (null)), hangUp = useRef(/** @type {HTMLElement | null} */ (null));
  // The focus follows from the form to the button that ends the call or to the words, and back to the heading.
  useEffect(() => { if (!typed) (isOn ? hangUp : heading).current?.focus(); }, [isOn]);
  // It ends with the component. Perhaps it is over already.
  useEffect(() => (typed ? () => { post(`/conversations/${typed}/end`).catch(() => {}); } : undefined), [typed]);
  const wanted = placeholders(tried);
  /** @type {import('../components/form.js').Field[]} */
  const fields = [
    ...wanted.map((name) => ({ name: `dynamicVariables.${name}`, label: name })),
    { name: 'mode', label: t('talk.mode'), type: 'select', required: true, default: 'voice', help: t('talk.modeHelp'),
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
    setTyped('');
    setEnded(t('talk.over'));
  }
  /** @param {Record<string, any>} given */
  async function begin(given) {
    setValues(given);
    setCall(null);
    setEnded('');
    setRefusal('');
    sound.stop();
    if (given.mode === 'text') {
      try { setTyped((await beginCall('text', given)).conversationId); } catch (error) { setRefusal(problemText(error)); }
      return;
    }
    await sound.open('talk', {
      start: { event: 'start', format: 'pcm_16000', buffers: true }, farewell: { event: 'stop' }, withMicrophone: true,
      url: async () => (await beginCall('voice', given)).mediaUrl,
      onEnd: (code, reason) => setEnded(code === 1000 ? t('talk.over') : endText(code, reason)),
    });
  }
  const said = ended || (!isOn ? '' : typed ? t('talk.onText') : line ? t('talk.on') : t('callNow.opening'));
  return html`<section class="card talk" aria-labelledby="talk">
    <div class="head"><h2 id="talk" tabindex="-1" ref=${heading}>${t('talk.title')}</h2>
      <button class="plain" onClick=${onClose}>${t('common.close')}</button></div>
    <p class="help">${t('talk.help')}</p>
    <p role="status" class=${said ? 'who' : 'hidden'}>${said}</p>
    ${problem && html`<div class="alert bad" role="alert">${wrong.length ? t('talk.graphRefused') : problem}
      ${wrong.length > 0 && html`<ul>${wrong.map(({ item, path, message }, at) => html`<li key=${at}>
        ${item && html`<button class="plain" onClick=${() => onItem(item)}>${itemName(graph, item)}</button>`} ${path} ${message}</li>`)}</ul>`}</div>`}
    ${call?.warning && html`<p class="alert warn">${call.warning}</p>`}
    ${isOn ? html`${line && html`<${Sound} line=${line} />`}${typed && html`<${Typing} id=${typed} onOver=${stop} />`}
      <div class="actions"><button class="danger" ref=${hangUp} onClick=${stop}>${t('talk.hangUp')}</button></div>`
    : html`<${Form} fields=${fields} values=${values} submit=${t(call ? 'talk.again' : 'talk.begin')} onSubmit=${begin} />`}
    ${call && html`<${Talked} key=${call.data.conversationId} id=${call.data.conversationId} isOn=${isOn} onNode=${onNode}
      graph=${graph} />`}
  </section>`;
}

/** Words of the user, in text. @param {{ id: string, onOver: () => void }} props */
function Typing({ id, onOver }) {
  const [text, setText] = useState('');
  const [isWaiting, setWaiting] = useState(false);
  const [problem, setProblem] = useState('');
  const field = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => field.current?.focus(), []);
  /** @param {Event} event */
  async function send(event) {
    event.preventDefault();
    if (isWaiting || !text.trim()) return;
    setWaiting(true);
    setProblem('');
    setText('');
    try {
      const { data } = await post(`/conversations/${id}/text`, { text });
      if (data.next === 'nobody') onOver();
    } catch (error) {
      setText(text);
      setProblem(problemText(error));
    }
    setWaiting(false);
  }
  return html`<form class="form" onSubmit=${send}>
    <div class="field"><label for="talk-words">${t('talk.words')}</label>
      <input id="talk-words" ref=${field} type="text" autocomplete="off" maxlength=${TEXT_LENGTH} value=${text}
        onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></div>
    <p role="status" class="help">${isWaiting && t('talk.answering')}</p>
    ${problem && html`<p class="alert bad" role="alert">${problem}</p>`}
    <div class="actions"><button class="primary" aria-disabled=${isWaiting}>${t('talk.send')}</button></div></form>`;
}

/**
 * What was said, with latencies, tools and passages.
 * @param {{ id: string, isOn: boolean, graph: import('../lib/graph.js').Graph, onNode: (node: string | undefined) => void }} props
 */
function Talked({ id, isOn, graph, onNode }) {
  const { turns, events, readOn, refresh } = useCallRecord(id);
  // No event of the account tells of a test call.
  useEffect(() => { const timer = setTimeout(isOn ? readOn : refresh, RECORDED_AFTER_MS); return () => clearTimeout(timer); }, [isOn]);
  return html`${isOn && html`<${Following} id=${id} onTurn=${() => setTimeout(readOn, TURN_RECORDED_AFTER_MS)} onNode=${onNode} />`}
    ${turns && html`<${Transcript} turns=${turns} events=${events} heard=${null} found=${null} isLive=${isOn} onHear=${null}
      graph=${graph} />`}
    <p><a href=${`/calls/${id}`}>${t('talk.seeCall')}</a></p>`;
}

/** @param {{ id: string, onTurn: () => void, onNode: (node: string | undefined) => void }} props */
function Following({ id, onTurn, onNode }) {
  const feed = useCallFeed(id, onTurn);
  useEffect(() => onNode(feed.node), [feed.node]);
  useEffect(() => () => onNode(undefined), []);
  return html`<div class="row"><${State} state=${feed.state} /></div><${Present} feed=${feed} />`;
}
