import { html, useEffect, useRef, useState } from '../lib/ui.js';

const PAUSE_MS = 250;

/** A search field that searches once somebody stops typing. @param {{ label: string, value: string, onSearch: (text: string) => void, id?: string }} props */
export function Search({ label, value, onSearch, id }) {
  const [text, setText] = useState(value);
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const onInput = (/** @type {any} */ { target }) => {
    setText(target.value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onSearch(target.value), PAUSE_MS);
  };
  return html`<input type="search" id=${id} aria-label=${label} placeholder=${label} value=${text} onInput=${onInput} />`;
}
