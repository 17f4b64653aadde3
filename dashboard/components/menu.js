import { html, useEffect, useRef } from '../lib/ui.js';

/** A button that opens a small panel; closed by Escape, a click elsewhere, or a choice. @param {{ label: any, children?: any, button?: boolean }} props */
export function Menu({ label, children, button }) {
  const box = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  const close = () => box.current?.removeAttribute('open');
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== 'Escape' || !box.current?.open) return;
    event.stopPropagation();
    close();
    box.current.querySelector('summary')?.focus();
  };
  // What is clicked elsewhere may take no focus, and Escape may be pressed without one.
  useEffect(() => {
    const onPointerDown = (/** @type {Event} */ event) => box.current?.contains(/** @type {Node} */ (event.target)) || close();
    addEventListener('pointerdown', onPointerDown);
    addEventListener('keydown', onKeyDown);
    return () => { removeEventListener('pointerdown', onPointerDown); removeEventListener('keydown', onKeyDown); };
  }, []);
  const onFocusOut = (/** @type {FocusEvent} */ event) => {
    if (event.relatedTarget && !box.current?.contains(/** @type {Node} */ (event.relatedTarget))) close();
  };
  const onClick = (/** @type {Event} */ event) => {
    if (/** @type {Element} */ (event.target).closest('button, a')) close();
  };
  // To the right where it would cover what is left of the page's content.
  const onToggle = () => {
    const panel = box.current?.querySelector('.menu-body'), edge = document.getElementById('main')?.getBoundingClientRect().left ?? 0;
    if (panel) box.current?.classList.toggle('to-right', box.current.getBoundingClientRect().right - panel.clientWidth < edge);
  };
  return html`<details class="menu" ref=${box} onToggle=${onToggle} onKeyDown=${onKeyDown} onFocusOut=${onFocusOut}>
    <summary class=${button ? 'button' : ''}>${label}</summary><div class="menu-body" onClick=${onClick}>${children}</div>
  </details>`;
}
