// Dialogs and short messages.
import { html, useLayoutEffect, useRef } from '../lib/ui.js';
import { createStore, useStore } from '../lib/store.js';
import { sentence, t } from '../lib/i18n.js';
import { errorText } from './states.js';

/**
 * A modal dialog; the browser keeps the focus inside and gives it back.
 * @param {{ title: string, onClose?: () => void, children?: any }} props Without `onClose` it cannot be closed.
 */
export function Dialog({ title, onClose, children }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => {
    const dialog = element.current, before = /** @type {HTMLElement | null} */ (document.activeElement);
    dialog?.showModal();
    return () => {
      // While it is open, nothing else can get the focus.
      dialog?.close();
      if (before?.isConnected) before.focus();
    };
  }, []);
  // At the second Escape, browsers close a dialog that refused the first one.
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => { if (event.key === 'Escape' && !onClose) event.preventDefault(); };
  return html`<dialog ref=${element} aria-labelledby="dialog-title" onKeyDown=${onKeyDown}
    onCancel=${(/** @type {Event} */ event) => { event.preventDefault(); onClose?.(); }}>
    <h2 id="dialog-title">${title}</h2>${children}
  </dialog>`;
}

const question = createStore(/** @type {any} */ (null));
/**
 * Asks before something that matters.
 * @param {{ title: string, body?: any, action: string, danger?: boolean }} ask @returns {Promise<boolean>}
 */
export const confirm = (ask) =>
  new Promise((resolve) => question.set({ ...ask, answer: (/** @type {boolean} */ yes) => { question.set(null); resolve(yes); } }));

const messages = createStore(/** @type {{ id: number, text: string, bad: boolean }[]} */ ([]));
let nextId = 0;
/** Says something that needs no answer. @param {string} text @param {{ bad?: boolean }} [options] */
export function toast(text, options = {}) {
  const id = ++nextId;
  messages.set([...messages.get().slice(-3), { id, text: sentence(text), bad: !!options.bad }]);
  setTimeout(() => dismiss(id), options.bad ? 15_000 : 6_000);
}
/** @param {any} error */
export const toastError = (error) => toast(errorText(error), { bad: true });
const dismiss = (/** @type {number} */ id) => messages.set(messages.get().filter((each) => each.id !== id));

/** Where questions and messages appear; once, in the shell. */
export function Overlays() {
  const ask = useStore(question), all = useStore(messages);
  return html`
    ${ask && html`<${Dialog} title=${ask.title} onClose=${() => ask.answer(false)}>
      ${ask.body && html`<div>${ask.body}</div>`}
      <div class="actions">
        <button class=${ask.danger ? 'danger' : 'primary'} onClick=${() => ask.answer(true)}>${ask.action}</button>
        <button onClick=${() => ask.answer(false)}>${t('common.cancel')}</button>
      </div>
    <//>`}
    <div class="toasts" role="status" aria-live="polite">
      ${all.map((each) => html`<div key=${each.id} class=${`toast${each.bad ? ' bad' : ''}`}><span>${each.text}</span>
        <button class="plain" aria-label=${t('common.dismiss')} onClick=${() => dismiss(each.id)}>×</button></div>`)}
    </div>`;
}
