//! Lenient reading of a graph, in our spelling and in that of the official `elevenlabs` package.

use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    fields,
    finding::{Found, named},
    graph::{Changes, Condition, Edge, Graph, Node, NodeKind, Test, Way},
};
use crate::agent::{Entity, Workflow, config_problems, graph_problems};

/// Most silence before a hand-over, in milliseconds: as for a transfer to an agent.
const MOST_DELAY_MS: u64 = 600_000;

/// Most conditions out of a node that are judged at once, with those of global nodes.
const MOST_CONDITIONS: usize = 100;
/// Most variables that a node extracts.
const MOST_EXTRACTED: usize = 50;

const PLAIN: Condition = Condition {
    label: None,
    test: Test::Unconditional,
};

impl Graph {
    /// Reads the graph of an agent; none if it has neither nodes nor edges. A graph beyond a limit is read as an empty
    /// one, with that finding.
    pub fn read(workflow: &Workflow) -> Option<Self> {
        if workflow.nodes.is_empty() && workflow.edges.is_empty() {
            return None;
        }
        let mut found = Found::default();
        for problem in graph_problems(&workflow.nodes, &workflow.edges) {
            found.block(&problem.path, problem.message);
        }
        let (mut nodes, mut edges, mut ways) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        if found.is_empty() {
            let mut orders: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (id, given) in &workflow.nodes {
                let path = format!("workflow.nodes.{id}");
                let mut tools = given.get("tools").and_then(Value::as_array).into_iter().flatten();
                let overrides = |tool: &Value| tool.get("schema_overrides").or(tool.get("schemaOverrides")).cloned();
                if tools.any(|tool| overrides(tool).is_some_and(|overrides| !overrides.is_null())) {
                    found.warn(
                        &format!("{path}.tools"),
                        "has `schemaOverrides`, which have no effect here",
                    );
                }
                let given = in_our_spelling(given);
                orders.insert(id.clone(), edge_order(&path, &given, &mut found));
                nodes.insert(id.clone(), node(&path, &given, &mut found));
            }
            for (id, given) in &workflow.edges {
                let path = format!("workflow.edges.{id}");
                let given = in_our_spelling(given);
                fields::report_edge(&path, &given, &mut found);
                if let Some(mut edge) = read::<Edge>(&path, &given, &mut found) {
                    if edge.backward_condition.is_none() {
                        // An edge without any condition leads on as soon as its source is done.
                        edge.forward_condition.get_or_insert(PLAIN);
                    }
                    add_ways(&mut ways, id, &edge);
                    edges.insert(id.clone(), edge);
                }
            }
            for (node, ways) in &mut ways {
                let order = orders.get(node).into_iter().flatten().map(String::as_str);
                let places = places(ways.iter().map(|way| way.edge.as_str()), order);
                let mut placed: Vec<_> = places.into_iter().zip(std::mem::take(ways)).collect();
                placed.sort_by_key(|(place, _)| *place);
                ways.extend(placed.into_iter().map(|(_, way)| way));
            }
            report_orders(&orders, &edges, &workflow.edges, &mut found);
        }
        let mut graph = Self {
            nodes,
            edges,
            ways,
            prevents_loops: workflow.prevent_subagent_loops,
            router: workflow.router.clone().filter(|router| !router.trim().is_empty()),
            found: Vec::new(),
        };
        graph.report_too_much(&mut found);
        graph.found = found.list();
        Some(graph)
    }

    /// Reports nodes with more conditions or variables than can be judged between two words of the caller.
    fn report_too_much(&self, found: &mut Found) {
        let everywhere = self.nodes.values().filter(|node| node.global.is_some()).count();
        for (id, node) in &self.nodes {
            let path = format!("workflow.nodes.{id}");
            let tests = self.ways(id).iter().filter_map(|way| self.condition(way));
            let judged = tests.filter(|condition| matches!(condition.test, Test::Llm { .. } | Test::Expression { .. }));
            let count = judged.count() + everywhere;
            if count > MOST_CONDITIONS {
                let message =
                    format!("has {count} conditions to judge at once; at most {MOST_CONDITIONS} are possible");
                found.block(&path, message);
            }
            let count = node.extract.len();
            if count > MOST_EXTRACTED {
                let message = format!("has {count} entries; at most {MOST_EXTRACTED} are possible");
                found.block(&format!("{path}.extract"), message);
            }
        }
    }
}

fn read<T: DeserializeOwned>(path: &str, given: &Value, found: &mut Found) -> Option<T> {
    let read = T::deserialize(given);
    read.map_err(|error| found.block(path, format!("cannot be read: {error}")))
        .ok()
}

fn node(path: &str, given: &Value, found: &mut Found) -> Node {
    fields::report_node(path, given, found);
    let mut kind = read(path, given, found).unwrap_or(NodeKind::Unknown);
    match &mut kind {
        NodeKind::StandaloneAgent { delay_ms, .. } => *delay_ms = (*delay_ms).min(MOST_DELAY_MS),
        NodeKind::Tool { tools } if tools.is_empty() => found.block(path, "names no tool"),
        _ => {}
    }
    let global = given.get("global");
    let extract = given["extract"].as_object().into_iter().flatten();
    let changes = read::<Changes>(path, given, found).unwrap_or_default();
    for problem in config_problems(&changes.config) {
        found.block(&format!("{path}.{}", problem.path), problem.message);
    }
    Node {
        kind,
        changes,
        global: global.and_then(|given| read(&format!("{path}.global"), given, found)),
        extract: extract
            .map(|(name, entity)| (name.clone(), Entity::read(entity)))
            .collect(),
    }
}

/// Reads the order in which the ways out of a node are judged.
fn edge_order(path: &str, given: &Value, found: &mut Found) -> Vec<String> {
    let Some(order) = given.get("edgeOrder") else {
        return Vec::new();
    };
    Vec::deserialize(order).unwrap_or_else(|_| {
        let message = "is not a list of ids of edges, so it has no effect";
        found.warn(&format!("{path}.edgeOrder"), message);
        Vec::new()
    })
}

/// Returns the place of each id in an order, or the largest number for an id that is not in it. Of an id that is there
/// twice, the first place counts.
pub(super) fn places<Id: Ord>(ids: impl Iterator<Item = Id>, order: impl Iterator<Item = Id>) -> Vec<usize> {
    let mut places = BTreeMap::new();
    for (place, id) in order.enumerate() {
        places.entry(id).or_insert(place);
    }
    ids.map(|id| places.get(&id).copied().unwrap_or(usize::MAX)).collect()
}

/// Reports edges in the order of a node that do not lead out of it. Edges that cannot be read are reported already.
fn report_orders(
    orders: &BTreeMap<String, Vec<String>>,
    edges: &BTreeMap<String, Edge>,
    given: &Map<String, Value>,
    found: &mut Found,
) {
    for (node, order) in orders {
        let is_strange = |id: &&String| match edges.get(*id) {
            Some(edge) => edge.source != *node && (edge.target != *node || edge.backward_condition.is_none()),
            None => !given.contains_key(*id),
        };
        let named = named(order.iter().filter(is_strange));
        if !named.is_empty() {
            let message = format!("names edges that do not lead out of this node: {named}");
            found.warn(&format!("workflow.nodes.{node}.edgeOrder"), message);
        }
    }
}

fn add_ways(ways: &mut BTreeMap<String, Vec<Way>>, id: &str, edge: &Edge) {
    let ends = [
        (&edge.source, &edge.target, edge.forward_condition.is_some()),
        (&edge.target, &edge.source, edge.backward_condition.is_some()),
    ];
    for (place, (from, to, _)) in ends.into_iter().enumerate().filter(|(_, (_, _, is_way))| *is_way) {
        ways.entry(from.clone()).or_default().push(Way {
            edge: id.to_owned(),
            to: to.clone(),
            backward: place == 1,
        });
    }
}

/// Returns a part of a graph with its names in camelCase, without `null`, with the ids of tools and documents alone, and
/// with our names for fields of an agent. The names of variables are the client's own.
pub(super) fn in_our_spelling(given: &Value) -> Value {
    match given {
        Value::Array(items) => items.iter().map(in_our_spelling).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(name, value)| {
                let name = match camel_case(name).as_str() {
                    "firstMessage" => "greetingMessage".to_owned(),
                    name => name.to_owned(),
                };
                let value = match name.as_str() {
                    "extract" | "dynamicVariablePlaceholders" => value.clone(),
                    "dynamicVariables" => match value.get("dynamic_variable_placeholders") {
                        Some(placeholders) => placeholders.clone(),
                        None => value.clone(),
                    },
                    "tools" => ids(value, ["toolId", "tool_id"]),
                    "knowledgeBase" | "additionalKnowledgeBase" => ids(value, ["id", "documentId"]),
                    _ => in_our_spelling(value),
                };
                (name, value)
            });
            let mut fields: Map<String, Value> = fields.collect();
            if let Some(Value::Object(agent)) = fields.get_mut("agent")
                && let Some(language) = agent.shift_remove("language")
            {
                agent.insert("primaryLanguage".to_owned(), language);
            }
            Value::Object(fields)
        }
        other => other.clone(),
    }
}

/// Returns a list in which each object with an id is replaced by that id.
fn ids(list: &Value, names: [&str; 2]) -> Value {
    let Some(items) = list.as_array() else {
        return list.clone();
    };
    let id = |item: &Value| names.iter().find_map(|name| item.get(name)).unwrap_or(item).clone();
    items.iter().map(id).collect()
}

/// Returns a name in camelCase. One with an underscore too many is no field of the official types, and stays as it is.
fn camel_case(name: &str) -> String {
    if name.starts_with('_') || name.ends_with('_') || name.contains("__") {
        return name.to_owned();
    }
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}
