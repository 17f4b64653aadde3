// A conversation graph as a drawing that one can move, enlarge and draw edges in.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/ui.js';
import { links } from '../lib/graph.js';
import { curve, layoutOf, neighbour, NODE } from '../lib/graph-layout.js';
import { cut, edgeText, nodeName, textOf, typeName } from '../lib/graph-text.js';
import { t } from '../lib/i18n.js';
import { same } from '../lib/merge.js';

/** Enlargements; a drawing that is not touched yet stays readable. */
const LEAST = 0.15, READABLE = 0.6, MOST = 2, STEP = 1.25;

/** @typedef {import('../lib/graph.js').Item} Item */
/**
 * @typedef {object} View
 * @property {import('../lib/graph.js').Graph} graph
 * @property {string} label
 * @property {Item | null} [selected]
 * @property {(item: Item | null) => void} [onSelect] Without it the drawing is only looked at.
 * @property {() => void} [onOpen] The form of what is selected is wanted.
 * @property {() => void} [onRemove]
 * @property {(source: string, target: string) => void} [onConnect]
 * @property {Set<string>} [wrong] What has findings, as `nodes.ID` and `edges.ID`.
 * @property {string} [present] The node where a call is.
 * @property {Map<string, string>} [steps] When a call was in each node, such as `2, 5`.
 */

/** @param {View} props */
export function GraphView({ graph, label, selected = null, onSelect, onOpen, onRemove, onConnect, wrong = new Set(), present, steps }) {
  const svg = useRef(/** @type {SVGSVGElement | null} */ (null));
  const shape = JSON.stringify([Object.entries(graph.nodes).map(([id, { type }]) => [id, type === 'start']), links(graph).map(({ edge: _, ...link }) => link)]);
  const layout = useMemo(() => layoutOf(graph), [shape]);
  const { view, zoom, fit, pan, show } = useView(svg, layout);
  const wasDrag = useRef(false);
  const [line, setLine] = useState(/** @type {{ from: string, x: number, y: number } | null} */ (null));
  useEffect(() => show(selected?.kind === 'nodes' ? selected.id : present), [selected, present, layout]);

  /** Where a pointer is on the drawing. @param {PointerEvent} event */
  function spot({ clientX, clientY }) {
    const box = /** @type {SVGSVGElement} */ (svg.current).getBoundingClientRect();
    return { x: (clientX - box.x - view.x) / view.k, y: (clientY - box.y - view.y) / view.k };
  }
  const nodeAt = (/** @type {PointerEvent} */ { clientX, clientY }) =>
    document.elementFromPoint(clientX, clientY)?.closest('[data-node]')?.getAttribute('data-node');
  const onPointerDown = (/** @type {any} */ event) => {
    if (event.button !== 0) return;
    const from = onConnect && event.target.closest('.handle')?.parentNode.getAttribute('data-node');
    wasDrag.current = !!from;
    if (from) setLine({ from, ...spot(event) });
    if (from || !event.target.closest('[data-node], .edge')) event.currentTarget.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (/** @type {any} */ event) => {
    if (line) setLine({ from: line.from, ...spot(event) });
    else if (event.currentTarget.hasPointerCapture(event.pointerId)) {
      wasDrag.current = true;
      pan(event.movementX, event.movementY);
    }
  };
  const onPointerUp = (/** @type {any} */ event) => {
    const target = line && nodeAt(event);
    if (line && target) onConnect?.(line.from, target);
    setLine(null);
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith('Arrow')) {
      const id = neighbour(layout, selected?.kind === 'nodes' ? selected.id : undefined, event.key);
      if (id !== undefined) onSelect?.({ kind: 'nodes', id });
    } else if (event.key === 'Enter') onOpen?.();
    else if (event.key === 'Delete' || event.key === 'Backspace') onRemove?.();
    else if (event.key === 'Escape') onSelect?.(null);
    else if (event.key === '+' || event.key === '=') zoom(STEP);
    else if (event.key === '-') zoom(1 / STEP);
    else if (event.key === '0') fit();
    else return;
    event.preventDefault();
  };
  const stateOf = (/** @type {Item['kind']} */ kind, /** @type {string} */ id) =>
    `${same(selected, { kind, id }) ? ' selected' : ''}${wrong.has(`${kind}.${id}`) ? ' wrong' : ''}`;
  const from = line && layout.nodes.get(line.from);
  const listeners = onSelect ? { role: 'application', tabindex: 0, onKeyDown, 'aria-describedby': 'graph-keys' } : { role: 'img' };
  return html`<div class="graph-view">
    <svg ref=${svg} ...${listeners} aria-label=${label} style=${{ height: `${Math.min(560, Math.max(240, layout.height + 48))}px` }}
      onPointerDown=${onPointerDown} onPointerMove=${onPointerMove} onPointerUp=${onPointerUp}
      onPointerCancel=${() => setLine(null)} onClick=${(/** @type {any} */ event) => event.target === svg.current && !wasDrag.current && onSelect?.(null)}>
      <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto-start-reverse">
        <path d="M0 0 8 4 0 8z" /></marker>
      <g transform=${`translate(${view.x} ${view.y}) scale(${view.k})`}>
        ${links(graph).map(({ id, edge }) => {
          const place = layout.edges.get(id), text = place && edgeText(edge);
          return place && html`<g key=${`edge ${id}`} class=${`edge${stateOf('edges', id)}`} onClick=${() => onSelect?.({ kind: 'edges', id })}>
            <path class="hit" d=${curve(place.points)} />
            <path class="line" d=${curve(place.points)} marker-end="url(#arrow)" marker-start=${edge.backwardCondition ? 'url(#arrow)' : null} />
            ${text && html`<text x=${place.label.x} y=${place.label.y + 4}>${cut(text, 24)}<title>${text}</title></text>`}</g>`;
        })}
        ${[...layout.nodes].map(([id, { x, y }]) => html`<${Node} key=${`node ${id}`} id=${id} x=${x} y=${y} node=${graph.nodes[id]} name=${nodeName(graph, id)}
          state=${`${stateOf('nodes', id)}${id === present ? ' present' : ''}${steps?.has(id) ? ' visited' : ''}`} step=${steps?.get(id)} isOpen=${!!onConnect}
          onClick=${() => onSelect?.({ kind: 'nodes', id })} />`)}
        ${line && from && html`<path class="line drawn" d=${`M${from.x},${from.y + NODE.height / 2}L${line.x},${line.y}`} marker-end="url(#arrow)" />`}
      </g>
    </svg>
    <div class="graph-zoom">${/** @type {const} */ ([['larger', '+', () => zoom(STEP)], ['smaller', '−', () => zoom(1 / STEP)], ['whole', '⤢', () => fit()]])
      .map(([key, sign, act]) => html`<button type="button" key=${key} class="small" aria-label=${t(`graph.${key}`)} onClick=${act}>${sign}</button>`)}</div>
  </div>`;
}

/**
 * @param {{ id: string, x: number, y: number, node: any, name: string, state: string, step?: string, isOpen: boolean, onClick: () => void }} props
 *   `isOpen`: edges can be drawn from it.
 */
function Node({ id, x, y, node, name, state, step, isOpen, onClick }) {
  const { width, height } = NODE, type = `${typeName(node.type)}${node.global ? ` · ${t('graph.global')}` : ''}`;
  return html`<g class=${`node ${textOf(node.type).replace(/[^a-z_]/g, '')}${state}`} data-node=${id} onClick=${onClick}
    transform=${`translate(${x - width / 2} ${y - height / 2})`}>
    <rect width=${width} height=${height} rx="9" /><rect class="type-mark" x="6" y="9" width="4" height=${height - 18} rx="2" />
    <text class="type" x="18" y="21">${cut(type, 26)}</text><text class="name" x="18" y="40">${cut(name, step ? 16 : 21)}<title>${name}</title></text>
    ${state.includes('wrong') && html`<text class="sign" x=${width - 14} y="22">!</text>`}
    ${step && html`<text class="step" x=${width - 10} y="42">${cut(step, 8)}</text>`}
    ${isOpen && node.type !== 'end' && html`<circle class="handle" cx=${width / 2} cy=${height} r="7"><title>${t('graph.draw')}</title></circle>`}
  </g>`;
}

/**
 * The part of a drawing that is in sight: all of it, until somebody moves it.
 * @param {{ current: SVGSVGElement | null }} svg @param {import('../lib/graph-layout.js').Layout} layout
 */
function useView(svg, layout) {
  const [view, setView] = useState({ x: 0, y: 0, k: 1 });
  const isMoved = useRef(false), latest = useRef(layout);
  latest.current = layout;
  const limited = (/** @type {number} */ k) => Math.min(MOST, Math.max(LEAST, k));
  function fit(least = LEAST) {
    const { width, height } = latest.current, box = svg.current?.getBoundingClientRect();
    if (!box?.width) return;
    isMoved.current = false;
    const k = Math.max(least, Math.min(1, box.width / width, box.height / height)), first = latest.current.nodes.values().next().value;
    setView({ k, x: width * k > box.width && first ? box.width / 2 - first.x * k : (box.width - width * k) / 2,
      y: Math.max(0, Math.min(24, (box.height - height * k) / 2)) });
  }
  /** Around a point of the screen, or the middle. @param {number} factor @param {{ clientX: number, clientY: number }} [around] */
  function zoom(factor, around) {
    const box = /** @type {SVGSVGElement} */ (svg.current).getBoundingClientRect();
    const x = around ? around.clientX - box.x : box.width / 2, y = around ? around.clientY - box.y : box.height / 2;
    isMoved.current = true;
    setView((old) => { const k = limited(old.k * factor); return { k, x: x - (x - old.x) * (k / old.k), y: y - (y - old.y) * (k / old.k) }; });
  }
  function pan(/** @type {number} */ x, /** @type {number} */ y) {
    isMoved.current = true;
    setView((old) => ({ ...old, x: old.x + x, y: old.y + y }));
  }
  /** Moves a node into the middle, if it is out of sight. @param {string | undefined} id */
  function show(id) {
    const node = latest.current.nodes.get(id ?? ''), box = svg.current?.getBoundingClientRect();
    if (!node || !box?.width) return;
    const isIn = (/** @type {number} */ place, /** @type {number} */ half, /** @type {number} */ size) => place > half && place < size - half;
    setView((old) => (isIn(old.x + node.x * old.k, NODE.width / 2 * old.k, box.width) && isIn(old.y + node.y * old.k, NODE.height / 2 * old.k, box.height)
      ? old : { ...old, x: box.width / 2 - node.x * old.k, y: box.height / 2 - node.y * old.k }));
  }
  useLayoutEffect(() => { if (!isMoved.current) fit(READABLE); }, [layout]);
  useLayoutEffect(() => {
    const element = /** @type {SVGSVGElement} */ (svg.current), watcher = new ResizeObserver(() => { if (!isMoved.current) fit(READABLE); });
    // Without a key, the wheel scrolls the page.
    const onWheel = (/** @type {WheelEvent} */ event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(STEP ** (-event.deltaY / 100), event);
    };
    watcher.observe(element);
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => { watcher.disconnect(); element.removeEventListener('wheel', onWheel); };
  }, []);
  return { view, zoom, fit, pan, show };
}
