//! Random graphs with random answers: no walk is stuck, and none goes beyond its bounds.

use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Map, Value, json};

use super::*;
use crate::id::ToolId;

const IDS: [&str; 8] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "gone"];

fn id(random: &mut StdRng) -> &'static str {
    IDS.choose(random).copied().unwrap()
}

fn expression(random: &mut StdRng, levels: u32) -> Value {
    let below = |random: &mut StdRng| expression(random, levels.saturating_sub(1));
    match random.random_range(0..if levels == 0 { 4 } else { 7 }) {
        0 => json!({ "type": "dynamic_variable", "name": id(random) }),
        1 => json!({ "type": "llm", "valueSchema": { "type": "integer" } }),
        2 => json!({ "type": "number_literal", "value": random.random_range(0..3) }),
        3 => json!({ "type": "boolean_literal", "value": random.random::<bool>() }),
        4 => json!({ "type": "or_operator", "children": [below(random), below(random)] }),
        5 => json!({ "type": "add_operator", "left": below(random), "right": below(random) }),
        _ => json!({ "type": "lt_operator", "left": below(random), "right": below(random) }),
    }
}

fn node(random: &mut StdRng) -> Value {
    let mut node = match random.random_range(0..10) {
        0 => json!({ "type": "start" }),
        1 => json!({ "type": "end" }),
        2 | 3 => {
            json!({ "type": "update_state", "updates": [{ "variableName": id(random), "expression": expression(random, 2) }] })
        }
        4 => {
            json!({ "type": "say", "message": { "type": "prompt", "prompt": "x" }, "waitForUserResponse": random.random::<bool>() })
        }
        5 => json!({ "type": "tool", "tools": [{ "toolId": ToolId::FIRST.to_string() }] }),
        6 => json!({ "type": "standalone_agent", "nodeId": id(random) }),
        7 => json!({ "type": "standalone_agent", "agentId": AgentId::FIRST.to_string(), "nodeId": id(random) }),
        8 => {
            json!({ "type": "phone_number", "transferDestination": { "type": "phone", "phoneNumber": "+15550100001" } })
        }
        _ => json!({ "type": "override_agent", "extract": { "n1": { "type": "integer" } } }),
    };
    if random.random_bool(0.2) {
        node["global"] =
            json!({ "condition": "x", "cooldownTurns": random.random_range(0..3), "goBack": random.random::<bool>() });
    }
    node
}

fn condition(random: &mut StdRng) -> Value {
    match random.random_range(0..6) {
        0 | 1 => json!({ "type": "unconditional" }),
        2 => json!({ "type": "llm", "condition": "x" }),
        3 => json!({ "type": "result", "successful": random.random::<bool>() }),
        4 => json!({ "type": "expression", "expression": expression(random, 3) }),
        _ => json!({ "type": "else" }),
    }
}

fn graph(random: &mut StdRng) -> Graph {
    let mut nodes: Map<String, Value> = IDS[1..7].iter().map(|id| ((*id).to_owned(), node(random))).collect();
    nodes.insert("n0".into(), json!({ "type": "start" }));
    let edges: Map<String, Value> = (0..random.random_range(1..14))
        .map(|at| {
            let mut edge = json!({ "source": id(random), "target": id(random), "forwardCondition": condition(random) });
            if random.random_bool(0.2) {
                edge["backwardCondition"] = condition(random);
            }
            (format!("e{at}"), edge)
        })
        .collect();
    read(&json!({ "nodes": nodes, "edges": edges, "preventSubagentLoops": random.random::<bool>() }))
}

/// Answers a step as some call would; none once the caller is to speak.
fn answer(random: &mut StdRng, step: &Step) -> Option<Input<'static>> {
    match step {
        Step::Judge { candidates, questions } => {
            let choice = match random.random_range(0..3) {
                0 => Choice::Missed,
                1 => Choice::Stay,
                _ => Choice::Candidate(random.random_range(0..=candidates.len())),
            };
            let value = |random: &mut StdRng| random.random_bool(0.7).then(|| json!(random.random_range(0..3)));
            let values = questions.iter().map(|_| value(random)).collect();
            Some(Input::Judged { choice, values })
        }
        Step::Say { .. } => Some(Input::Spoken),
        Step::RunTools { .. } if random.random_bool(0.1) => Some(Input::NotEntered),
        Step::RunTools { .. } => Some(Input::ToolsDone {
            successful: random.random(),
        }),
        Step::Transfer { .. } | Step::HandTo { .. } => Some(Input::NotEntered),
        Step::Reply | Step::Wait | Step::Adopt { .. } | Step::End { .. } => None,
    }
}

/// Walks through a random graph, with inputs out of turn among the others.
fn walk(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut call = Call {
        graph: graph(&mut random),
        walk: Walk::new(AgentId::new()),
        known: BTreeMap::from([("n2".to_owned(), "2".to_owned())]),
    };
    let stray = [
        Input::Spoken,
        Input::NotEntered,
        Input::ToolsDone { successful: true },
        Input::Resumed { done: None },
        Input::Resumed { done: Some(false) },
        Input::Begin,
    ];
    let mut input = Input::Begin;
    for turn in 0..6 {
        let mut moved = 0;
        let mut answers = 0;
        let step = loop {
            let Moves { hops, step } = call.walk.step(&call.graph, &call.known, &input);
            let is_move = |hop: &&Hop| !matches!(hop.cause, Cause::TooManyHops | Cause::NotEntered | Cause::GoBack);
            moved += hops.iter().filter(is_move).count();
            assert!(moved <= MOST_HOPS as usize, "seed {seed}: {moved} moves");
            if random.random_bool(0.05) {
                call.walk = serde_json::from_value(serde_json::to_value(&call.walk).unwrap()).unwrap();
            }
            let Some(next) = answer(&mut random, &step) else {
                break step;
            };
            answers += 1;
            assert!(
                answers <= 3 * MOST_HOPS,
                "seed {seed}: {answers} answers without a word of the caller"
            );
            input = next;
        };
        if matches!(step, Step::End { .. }) {
            return;
        }
        if turn > 0 && answers == 0 {
            let is_turn = matches!(step, Step::Reply | Step::Adopt { .. });
            assert!(is_turn, "seed {seed}: the caller's words have no effect: {step:?}");
        }
        if random.random_bool(0.1) {
            let Moves { hops, .. } = call
                .walk
                .step(&call.graph, &call.known, stray.choose(&mut random).unwrap());
            assert!(hops.len() <= MOST_HOPS as usize + 2, "seed {seed}");
        }
        input = Input::Heard { said: "Two." };
    }
}

#[test]
fn no_random_graph_hangs_a_call_or_goes_beyond_its_bounds() {
    (0..3_000).for_each(walk);
}

#[test]
#[ignore = "a million walks; .ci/nightly runs it"]
fn a_million_walks_end_within_their_bounds() {
    (0..1_000_000).for_each(walk);
}
