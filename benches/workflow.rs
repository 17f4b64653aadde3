//! Cost of reading a hostile conversation graph and reporting on it, from its JSON; target 10 ms each.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use domain::{
    agent::Workflow,
    workflow::{Graph, Known, findings},
};
use serde_json::{Map, Value, json};

/// Nodes and edges of the largest graph that is accepted.
const NODES: usize = 200;
const EDGES: usize = 1_000;

/// Characters of the huge texts: as many as a request's body holds.
const HUGE: usize = 1_000_000;

/// Levels of an expression that JSON readers still accept.
const DEEP: usize = 100;

fn node(number: usize) -> String {
    format!("n{number}")
}

fn nodes(of: impl Fn(usize) -> Value) -> Map<String, Value> {
    let start = (node(0), json!({ "type": "start" }));
    let others = (1..NODES).map(|number| (node(number), of(number)));
    std::iter::once(start).chain(others).collect()
}

fn edges(condition: &Value, ends: impl Fn(usize) -> (usize, usize)) -> Map<String, Value> {
    let edge = |number: usize| {
        let (source, target) = ends(number);
        json!({ "source": node(source), "target": node(target), "forwardCondition": condition,
            "backwardCondition": condition })
    };
    (0..EDGES).map(|number| (format!("e{number}"), edge(number))).collect()
}

fn nested(levels: usize) -> Value {
    let leaf = json!({ "type": "dynamic_variable", "name": "x" });
    (0..levels).fold(leaf, |inner, _| json!({ "type": "or_operator", "children": [inner] }))
}

/// Returns graphs by the way in which they are hostile.
fn hostile() -> Vec<(&'static str, Value)> {
    let plain = json!({ "type": "unconditional" });
    let speaks = |_| json!({ "type": "override_agent" });
    let sets = |_| json!({ "type": "update_state", "updates": [{ "variableName": "x", "expression": nested(20) }] });
    let ring = |number: usize| (number % NODES, (number + 1) % NODES);
    let star = |number: usize| (0, number % NODES);
    let wide: Vec<Value> = (0..EDGES).map(|_| nested(5)).collect();
    let allowed: Vec<Value> = (0..200).map(|_| nested(5)).collect();
    let order: Vec<String> = (0..HUGE / 5).map(|number| format!("e{}", number % EDGES)).collect();
    let huge = "x".repeat(HUGE);
    let mut ordered = nodes(speaks);
    ordered["n0"]["edgeOrder"] = json!(order);
    let expression = |expression: Value| json!({ "type": "expression", "expression": expression });
    vec![
        (
            "cycles without a stop",
            json!({ "nodes": nodes(sets), "edges": edges(&plain, ring) }),
        ),
        (
            "all edges out of one node",
            json!({ "nodes": nodes(speaks), "edges": edges(&plain, star) }),
        ),
        (
            "an expression on every edge",
            json!({ "nodes": nodes(sets), "edges": edges(&expression(nested(20)), ring) }),
        ),
        (
            "a deep expression",
            json!({ "nodes": nodes(speaks), "edges": { "e": { "source": "n0", "target": "n1",
                "forwardCondition": expression(nested(DEEP)) } } }),
        ),
        (
            "a wide expression",
            json!({ "nodes": nodes(speaks), "edges": { "e": { "source": "n0", "target": "n1",
                "forwardCondition": expression(json!({ "type": "and_operator", "children": wide })) } } }),
        ),
        (
            "a wide expression within the limits",
            json!({ "nodes": nodes(speaks), "edges": { "e": { "source": "n0", "target": "n1",
                "forwardCondition": expression(json!({ "type": "and_operator", "children": allowed })) } } }),
        ),
        (
            "a huge label",
            json!({ "nodes": { "n0": { "type": "start" }, "n1": { "type": "end", "label": huge } }, "edges": {} }),
        ),
        (
            "a huge id",
            json!({ "nodes": { "n0": { "type": "start" } }, "edges": { "e": { "source": "n0", "target": huge } } }),
        ),
        (
            "a huge edgeOrder",
            json!({ "nodes": ordered, "edges": edges(&plain, star) }),
        ),
        (
            "too many nodes",
            json!({ "nodes": (0..20_000).map(|number| (node(number), json!({ "type": "end" }))).collect::<Map<_, _>>(),
                "edges": {} }),
        ),
    ]
}

fn workflow(c: &mut Criterion) {
    let mut group = c.benchmark_group("workflow");
    group.sample_size(10);
    for (name, graph) in hostile() {
        let given: Workflow = serde_json::from_value(graph).unwrap();
        let report = || Graph::read(black_box(&given)).map(|graph| findings(&graph, &Known::default()));
        println!("{name}: {} findings", report().map_or(0, |found| found.len()));
        group.bench_function(name, |b| b.iter(report));
    }
    group.finish();
}

criterion_group!(benches, workflow);
criterion_main!(benches);
