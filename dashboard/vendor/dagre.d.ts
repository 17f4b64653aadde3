// What the dashboard uses of the vendored file, for the check of types.
export class Graph {
  constructor(options: { multigraph: boolean });
  setGraph(options: Record<string, any>): void;
  graph(): { width?: number, height?: number };
  setNode(id: string, size: { width: number, height: number }): void;
  node(id: string): { x: number, y: number };
  setEdge(source: string, target: string, label: { width: number, height: number, labelpos: 'c' }, id: string): void;
  edge(edge: { v: string, w: string, name: string }): { points: { x: number, y: number }[], x?: number, y?: number };
}
export function layout(graph: Graph): void;
