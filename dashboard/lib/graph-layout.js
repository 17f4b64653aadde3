// Layout of a graph: its nodes in layers, from the start downwards, and its edges between them.
import { Graph as Drawing, layout } from '../vendor/dagre.js';
import { links } from './graph.js';

export const NODE = { width: 184, height: 54 };
const LABEL = { width: 120, height: 22 };
/** Of a graph with more edges, only one to each node decides where things are, which keeps the drawing quick. */
const MANY_EDGES = 80;

/**
 * @typedef {{ x: number, y: number }} Point
 * @typedef {{ nodes: Map<string, Point>, edges: Map<string, { points: Point[], label: Point }>, width: number, height: number }} Layout
 *   `nodes`: their middles, from top to bottom.
 */

/** @param {Point} from @param {Point} to */
const straight = (from, to) => {
  const down = from.y < to.y ? 1 : -1, half = NODE.height / 2, middle = { x: (from.x + to.x) / 2 + 12 * down, y: (from.y + to.y) / 2 };
  return { points: [{ x: from.x, y: from.y + half * down }, middle, { x: to.x, y: to.y - half * down }], label: middle };
};

/** From the bottom of a node, at its right, back to its side. @param {Point} node */
const loop = ({ x, y }) => {
  const right = x + NODE.width / 2, bottom = y + NODE.height / 2, corner = { x: right + 12, y: bottom + 14 };
  return { points: [{ x: right - 30, y: bottom }, { x: right - 30, y: corner.y }, corner, { x: corner.x, y: y + 10 }, { x: right, y: y + 10 }],
    label: { x: x + 40, y: corner.y + 8 } };
};

/** @param {import('./graph.js').Graph} graph @returns {Layout} */
export function layoutOf(graph) {
  const ids = Object.keys(graph.nodes).sort((a, b) => Number(graph.nodes[b].type === 'start') - Number(graph.nodes[a].type === 'start'));
  const edges = links(graph).sort((a, b) => ids.indexOf(a.source) - ids.indexOf(b.source));
  const seen = new Set(), shaping = new Set(edges.filter(({ source, target }) => source !== target
    && (edges.length <= MANY_EDGES || (!seen.has(target) && seen.add(target)))));
  // Numbers instead of ids, as any text may be an id.
  const key = new Map(ids.map((id, at) => [id, String(at)])), of = (/** @type {string} */ id) => /** @type {string} */ (key.get(id));
  const drawing = new Drawing({ multigraph: true });
  drawing.setGraph({ nodesep: 28, ranksep: 34, edgesep: 18, marginx: 12, marginy: 12, ranker: 'tight-tree' });
  for (const id of ids) drawing.setNode(of(id), { ...NODE });
  for (const edge of [...shaping].reverse()) drawing.setEdge(of(edge.source), of(edge.target), { ...LABEL, labelpos: 'c' }, edge.id);
  if (ids.length) layout(drawing);
  const nodes = new Map(ids.map((id) => /** @type {[string, Point]} */ ([id, drawing.node(of(id))])).sort(([, a], [, b]) => a.y - b.y || a.x - b.x));
  const { width = 0, height = 0 } = drawing.graph();
  return { nodes, width, height, edges: new Map(edges.map((edge) => {
    const { id, source, target } = edge;
    if (source === target) return [id, loop(/** @type {Point} */ (nodes.get(source)))];
    if (!shaping.has(edge)) return [id, straight(/** @type {Point} */ (nodes.get(source)), /** @type {Point} */ (nodes.get(target)))];
    const { points, x, y } = drawing.edge({ v: of(source), w: of(target), name: id }), middle = points[points.length >> 1];
    return [id, { points, label: { x: x ?? middle.x, y: y ?? middle.y } }];
  })) };
}

/** A smooth line through points. @param {Point[]} points */
export function curve(points) {
  const [first, ...others] = points, last = others.pop() ?? first;
  const bends = others.map((point, at) => {
    const next = others[at + 1] ?? last, end = at === others.length - 1 ? last : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q${point.x},${point.y} ${end.x},${end.y}`;
  });
  return `M${first.x},${first.y}${bends.join('') || `L${last.x},${last.y}`}`;
}

/** The node that lies nearest in a direction. @param {Layout} layout @param {string | undefined} from @param {string} key Of an arrow. */
export function neighbour({ nodes }, from, key) {
  const here = nodes.get(from ?? '');
  if (!here) return nodes.keys().next().value;
  const sign = key === 'ArrowUp' || key === 'ArrowLeft' ? -1 : 1, isVertical = key === 'ArrowUp' || key === 'ArrowDown';
  let best, least = Infinity;
  for (const [id, { x, y }] of nodes) {
    const [along, across] = isVertical ? [(y - here.y) * sign, Math.abs(x - here.x)] : [(x - here.x) * sign, Math.abs(y - here.y)];
    const far = along + 2 * across;
    if (along > 1 && far < least) [best, least] = [id, far];
  }
  return best ?? from;
}
