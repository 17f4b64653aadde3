import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./browser.mjs";

const { changed, edgesAt, findingAt, itemOf, links, moved, readGraph, redone, undone, ways, withEdge, without, withNode } = await load("lib/graph.js");

const START = { nodes: { start: { type: "start" } }, edges: {} };
/** Start, a talk and an end. */
function line() {
  const [first, talk] = withNode(readGraph(START), "override_agent", "start");
  const [graph, end] = withNode(first, "end", talk.id);
  return { graph, talk: talk.id, end: end.id };
}

test("a graph is read in either spelling, and of an agent", () => {
  const graph = readGraph({ workflow: { prevent_subagent_loops: true, nodes: { a_b: { type: "say", wait_for_user_response: true } }, edges: null } });
  assert.deepEqual(graph, { preventSubagentLoops: true, nodes: { a_b: { type: "say", waitForUserResponse: true } }, edges: {} });
  assert.deepEqual(readGraph("no graph"), { preventSubagentLoops: false, nodes: {}, edges: {} });
});

test("a node is connected to the one it follows; the graph before stays as it is", () => {
  const before = readGraph(START), kept = JSON.stringify(before), [graph, item] = withNode(before, "say", "start");
  assert.equal(JSON.stringify(before), kept);
  assert.deepEqual(links(graph).map(({ source, target }) => [source, target]), [["start", item.id]]);
});

test("a removed node takes its edges along", () => {
  const { graph, talk, end } = line();
  assert.equal(edgesAt(graph, talk).length, 2);
  const rest = without(graph, { kind: "nodes", id: talk });
  assert.deepEqual([Object.keys(rest.nodes), Object.keys(rest.edges)], [["start", end], []]);
  assert.equal(itemOf(rest, { kind: "nodes", id: talk }), undefined);
  assert.equal(itemOf(rest, { kind: "nodes", id: "constructor" }), undefined);
});

test("edges are judged in their order, which can be changed", () => {
  const { graph, talk, end } = line();
  const [two] = withEdge(graph, talk, talk), [first, second] = ways(two, talk);
  assert.deepEqual(ways(moved(two, talk, second, -1), talk), [second, first]);
  assert.deepEqual(ways(moved(two, talk, first, -1), talk), [first, second], "the first one stays the first");
  assert.equal(two.edges[first].target, end);
});

test("steps are undone and redone", () => {
  const { graph } = line(), begun = { past: [], present: readGraph(START), future: [] };
  const history = changed(begun, graph);
  assert.deepEqual(undone(history).present, begun.present);
  assert.deepEqual(redone(undone(history)).present, graph);
  assert.deepEqual(undone(begun), begun);
});

test("a problem of the service is found at its node", () => {
  const { graph, talk } = line();
  assert.deepEqual(findingAt(graph, `workflow.nodes.${talk}.label`, "too long").item, { kind: "nodes", id: talk });
});
