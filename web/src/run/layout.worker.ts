// Lays the graph of a run out, away from the page's own thread.
import dagre from '@dagrejs/dagre';

export interface GraphNode {
  id: string;
  width: number;
  height: number;
}
export interface GraphRequest {
  nodes: GraphNode[];
  edges: [string, string][];
}
export interface Placed {
  width: number;
  height: number;
  nodes: { id: string; x: number; y: number; width: number; height: number }[];
  edges: { from: string; to: string; points: { x: number; y: number }[] }[];
}

self.onmessage = (message: MessageEvent<GraphRequest>) => {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 18, ranksep: 54, marginx: 12, marginy: 12, ranker: 'tight-tree' });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of message.data.nodes) graph.setNode(node.id, { width: node.width, height: node.height });
  for (const [from, to] of message.data.edges) graph.setEdge(from, to);
  dagre.layout(graph);
  const size = graph.graph();
  const placed: Placed = {
    width: size.width ?? 0,
    height: size.height ?? 0,
    nodes: graph.nodes().map((id) => ({ id, ...graph.node(id) })),
    edges: graph.edges().map((edge) => ({ from: edge.v, to: edge.w, points: graph.edge(edge).points })),
  };
  self.postMessage(placed);
};
