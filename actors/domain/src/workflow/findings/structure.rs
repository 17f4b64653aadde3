//! Findings about the structure of a graph: its start, ends of edges, duplicates, unreachable nodes, cycles.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::workflow::{
    expression::is_true,
    finding::{Found, named},
    graph::{Graph, NodeKind, Test, Way},
};

/// Reports what is wrong with the structure.
pub(super) fn report(graph: &Graph, found: &mut Found) {
    let starts: Vec<&str> = graph
        .nodes
        .iter()
        .filter(|(_, node)| node.kind == NodeKind::Start)
        .map(|(id, _)| &**id)
        .collect();
    match starts.as_slice() {
        [] => found.block("workflow.nodes", "has no node of type `start`; add one"),
        [_] => {}
        [_, others @ ..] => {
            for id in others {
                found.block(&format!("workflow.nodes.{id}"), "is a second `start`; keep one");
            }
        }
    }
    report_edges(graph, found);
    let ends = graph.nodes.keys().filter(|id| is_end(graph, id));
    for way in ends.flat_map(|id| graph.ways(id)) {
        let message = "leads out of an `end` node, so it is never taken";
        found.warn(&format!("workflow.edges.{}", way.edge), message);
    }
    for id in graph.nodes.keys().filter(|id| !is_end(graph, id)) {
        report_never_taken(graph, id, found);
    }
    if !starts.is_empty() {
        let reached = reached(graph, &starts);
        for id in graph.nodes.keys().filter(|id| !reached.contains(id.as_str())) {
            found.block(
                &format!("workflow.nodes.{id}"),
                "cannot be reached; add an edge to it, or remove it",
            );
        }
    }
    if let [first, others @ ..] = cycle(graph).as_slice() {
        let named = named(others);
        let others = if named.is_empty() {
            String::new()
        } else {
            format!(" with {named}")
        };
        let message = format!(
            "is on a cycle{others} that goes round without a word of the caller; give an edge of it a condition that is not \
             always true, or add an `override_agent` node"
        );
        found.block(&format!("workflow.nodes.{first}"), message);
    }
}

fn report_edges(graph: &Graph, found: &mut Found) {
    let mut seen = HashSet::new();
    for (id, edge) in &graph.edges {
        for (field, end) in [("source", &edge.source), ("target", &edge.target)] {
            if graph.node(end).is_none() {
                let message = format!("`{end:.100}` is not a node; add it to workflow.nodes");
                found.block(&format!("workflow.edges.{id}.{field}"), message);
            }
        }
        for (field, test) in edge.tests() {
            let ends = match field {
                "forwardCondition" => (&edge.source, &edge.target),
                _ => (&edge.target, &edge.source),
            };
            if !seen.insert((ends, format!("{test:?}"))) {
                let message =
                    "leads from the same node to the same node under the same condition as another edge; remove one";
                found.block(&format!("workflow.edges.{id}.{field}"), message);
            }
        }
    }
}

/// Reports the ways out of a node that are never taken, because an unconditional one is taken instead. If that is behind
/// `llm` ways, the model chooses among all of those first, unless the node failed.
fn report_never_taken(graph: &Graph, id: &str, found: &mut Found) {
    let ways = graph.ways(id).iter();
    let ways: Vec<(&Way, &Test)> = ways
        .filter_map(|way| Some((way, &graph.condition(way)?.test)))
        .collect();
    let is_unconditional = |test: &Test| *test == Test::Unconditional;
    let mut places = ways.iter().enumerate();
    let Some((place, (taken, _))) = places.find(|(_, (_, test))| is_unconditional(test)) else {
        return;
    };
    let mut before = ways.iter().take(place);
    let is_after_llm = before.any(|(_, test)| matches!(test, Test::Llm { .. }));
    for (at, (way, test)) in ways.iter().enumerate().filter(|(at, _)| *at != place) {
        let is_never_taken = match test {
            Test::Else => true,
            Test::Unconditional | Test::Result { successful: false } => at > place,
            Test::Llm { .. } | Test::Result { .. } | Test::Expression { .. } => at > place && !is_after_llm,
        };
        // Those to the same node are reported as the same edge.
        if is_never_taken && !(is_unconditional(test) && way.to == taken.to) {
            let field = if way.backward {
                "backwardCondition"
            } else {
                "forwardCondition"
            };
            let message = format!(
                "is never taken, because edge `{:.100}` out of the same node is unconditional; give that one a condition, or \
                 remove this one",
                taken.edge
            );
            found.warn(&format!("workflow.edges.{}.{field}", way.edge), message);
        }
    }
}

fn is_end(graph: &Graph, id: &str) -> bool {
    let node = graph.node(id);
    node.is_some_and(|node| matches!(node.kind, NodeKind::End { .. }))
}

/// Returns the nodes that a node of this agent leads to: by its edges, or because it stands for another node.
fn next<'a>(graph: &'a Graph, id: &'a str) -> impl Iterator<Item = &'a str> {
    let jump = graph.node(id).and_then(|node| match &node.kind {
        NodeKind::StandaloneAgent {
            agent_id: None,
            node_id,
            ..
        } => node_id.as_deref().or(graph.start()),
        _ => None,
    });
    let ways = graph.ways(id).iter().filter(move |_| !is_end(graph, id));
    ways.map(|way| way.to.as_str()).chain(jump)
}

fn reached<'a>(graph: &'a Graph, starts: &[&'a str]) -> BTreeSet<&'a str> {
    let global = graph.nodes.iter().filter(|(_, node)| node.global.is_some());
    let mut open: Vec<&str> = starts
        .iter()
        .copied()
        .chain(global.map(|(id, _)| id.as_str()))
        .collect();
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            open.extend(next(graph, id));
        }
    }
    reached
}

/// Returns whether a call that reaches the condition of a way out of a node always takes it.
fn always_holds(graph: &Graph, id: &str, way: &Way) -> bool {
    match graph.condition(way).map(|condition| &condition.test) {
        Some(Test::Unconditional) => true,
        Some(Test::Expression { expression }) => expression.constant().is_some_and(|value| is_true(&value)),
        Some(Test::Else) => graph.ways(id).len() == 1,
        // A transfer is left only after it failed.
        Some(Test::Result { successful: false }) => {
            let node = graph.node(id);
            node.is_some_and(|node| matches!(node.kind, NodeKind::PhoneNumber { .. }))
        }
        _ => false,
    }
}

/// Returns nodes of cycles that a call goes round without waiting for the caller: by edges whose condition always holds,
/// and through no node in which the agent talks.
fn cycle(graph: &Graph) -> Vec<&str> {
    let passes = |id: &str| match graph.node(id).map(|node| &node.kind) {
        Some(NodeKind::Say {
            wait_for_user_response, ..
        }) => !wait_for_user_response,
        Some(NodeKind::StandaloneAgent { agent_id, .. }) => agent_id.is_none(),
        // A transfer leads on after it failed.
        Some(NodeKind::Start | NodeKind::UpdateState { .. } | NodeKind::Tool { .. } | NodeKind::PhoneNumber { .. }) => {
            true
        }
        _ => false,
    };
    let mut onward: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for id in graph.nodes.keys().filter(|id| passes(id)) {
        let own = graph.ways(id).iter().filter(|way| always_holds(graph, id, way));
        let own: BTreeSet<&str> = own.map(|way| way.to.as_str()).collect();
        let all: BTreeSet<&str> = graph.ways(id).iter().map(|way| way.to.as_str()).collect();
        let is_certain = |to: &&str| passes(to) && (own.contains(to) || !all.contains(to));
        onward.insert(id, next(graph, id).filter(is_certain).collect());
    }
    // Nodes that lead to none of the others, or that none of the others leads to, are on no cycle.
    loop {
        let led_to: BTreeSet<&str> = onward.values().flatten().copied().collect();
        let leads = |next: &Vec<&str>| next.iter().any(|to| onward.contains_key(to));
        let ends = onward.iter().filter(|(id, next)| !led_to.contains(*id) || !leads(next));
        let ends: Vec<&str> = ends.map(|(id, _)| *id).collect();
        if ends.is_empty() {
            break;
        }
        for id in ends {
            onward.remove(id);
        }
    }
    onward.into_keys().collect()
}
