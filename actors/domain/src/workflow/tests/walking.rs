//! Walks through graphs: each type of node and edge, global nodes, resuming, bounds.

use serde_json::{Value, json};

use super::*;
use crate::{id::ToolId, transfer::TransferKind};

fn edge(from: &str, to: &str, condition: Value) -> Value {
    let mut edge = json!({ "source": from, "target": to });
    edge["forwardCondition"] = condition;
    edge
}

fn plain(from: &str, to: &str) -> Value {
    edge(from, to, json!({ "type": "unconditional" }))
}

fn llm(from: &str, to: &str, condition: &str) -> Value {
    edge(from, to, json!({ "type": "llm", "condition": condition }))
}

/// A graph in which `a` and `b` talk, with more nodes and edges.
fn graph(nodes: &Value, edges: &Value) -> Value {
    let workflow = json!({
        "nodes": { "start": { "type": "start" }, "a": { "type": "override_agent" }, "b": { "type": "override_agent" },
            "end": { "type": "end", "outcome": "success" } },
        "edges": {},
    });
    extended(workflow, nodes, edges)
}

fn adopt(node: &str, reply: bool) -> Step {
    Step::Adopt {
        node: node.into(),
        reply,
    }
}

fn end(node: &str) -> Step {
    Step::End {
        node: node.into(),
        outcome: Some(Outcome::Success),
    }
}

#[test]
fn an_agent_waits_after_the_start_and_its_edges_are_taken_at_the_end_of_a_turn() {
    let mut call = Call::new(&graph(
        &json!({}),
        &json!({ "e1": plain("start", "a"), "e2": plain("a", "end") }),
    ));
    assert_eq!(
        call.take(&Input::Begin),
        (vec!["Begin>start".into(), "e1>a".into()], adopt("a", false))
    );
    assert_eq!(call.walk.adopted(), Some("a"));
    assert_eq!(call.hear("Yes."), (vec!["e2>end".into()], end("end")));
    assert_eq!(call.take(&Input::Heard { said: "Bye." }).1, Step::Wait);
}

#[test]
fn a_message_is_followed_by_the_next_node_once_it_was_heard_or_interrupted() {
    let say = json!({ "say": { "type": "say", "label": "Hi", "message": { "type": "literal", "text": "Hello." } } });
    let edges = json!({ "e1": plain("start", "say"), "e2": plain("say", "a") });
    let mut call = Call::new(&graph(&say, &edges));
    let message = Message::Literal { text: "Hello.".into() };
    let spoken = Step::Say {
        node: "say".into(),
        message,
    };
    assert_eq!(call.take(&Input::Begin).1, spoken);
    assert_eq!(call.take(&Input::Spoken), (vec!["e2>a".into()], adopt("a", false)));
    let mut call = Call::new(&graph(&say, &edges));
    call.take(&Input::Begin);
    let answered = call.take(&Input::Heard {
        said: "Wait, who is this?",
    });
    assert_eq!(answered.1, adopt("a", true), "words that interrupt are answered");
}

#[test]
fn a_model_chooses_among_all_its_conditions_in_one_step_and_the_call_stays_without_its_answer() {
    let edges = json!({ "e0": plain("start", "a"), "e1": llm("a", "b", "The caller has a question about sales"),
        "e2": llm("a", "end", "The caller says goodbye"), "e3": edge("a", "b", json!({ "type": "else" })) });
    let workflow = graph(&json!({}), &edges);
    for (choice, path, step) in [
        (Choice::Candidate(1), vec!["e2>end"], end("end")),
        (Choice::Stay, vec!["e3>b"], adopt("b", true)),
        (Choice::Missed, vec![], Step::Reply),
        (Choice::Candidate(9), vec![], Step::Reply),
    ] {
        let mut call = Call::new(&workflow);
        call.take(&Input::Begin);
        let Step::Judge { candidates, questions } = call.take(&Input::Heard { said: "Hm." }).1 else {
            panic!()
        };
        assert_eq!((candidates.len(), questions.len()), (2, 0));
        let values = Vec::new();
        let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
        assert_eq!(call.take(&Input::Judged { choice, values }), (path, step), "{choice:?}");
    }
}

#[test]
fn an_edge_without_a_model_is_taken_before_a_model_is_asked() {
    let is_big = json!({ "type": "expression", "expression": { "type": "gte_operator",
        "left": { "type": "dynamic_variable", "name": "seats" }, "right": { "type": "number_literal", "value": 50 } } });
    let edges = json!({ "e0": plain("start", "a"), "e1": llm("a", "b", "The caller wants a demo"),
        "e2": edge("a", "end", is_big) });
    let mut call = Call::new(&graph(&json!({}), &edges));
    call.known.insert("seats".into(), "120".into());
    call.take(&Input::Begin);
    assert_eq!(
        call.take(&Input::Heard { said: "A demo." }),
        (vec!["e2>end".into()], end("end"))
    );
}

#[test]
fn an_unconditional_edge_behind_an_llm_edge_waits_for_the_judgement() {
    let nodes = json!({ "a": { "type": "override_agent", "edgeOrder": ["z", "y"] } });
    let edges =
        json!({ "e0": plain("start", "a"), "y": plain("a", "end"), "z": llm("a", "b", "The caller wants a demo") });
    let mut call = Call::new(&graph(&nodes, &edges));
    call.take(&Input::Begin);
    assert_eq!(
        call.hear("I would like a demo please."),
        (vec!["z>b".into()], adopt("b", true))
    );
    let mut call = Call::new(&graph(&nodes, &edges));
    call.take(&Input::Begin);
    assert_eq!(call.hear("Nothing at all.").0, ["y>end"]);
}

#[test]
fn tools_lead_on_by_their_result_and_a_failure_without_an_edge_leads_back() {
    let id = ToolId::new();
    let nodes = json!({ "t": { "type": "tool", "tools": [{ "toolId": id.to_string() }] } });
    let result = |to, successful| edge("t", to, json!({ "type": "result", "successful": successful }));
    let mut edges = json!({ "e0": plain("start", "a"), "e1": plain("a", "t"), "e2": result("end", true), "e3": result("b", false) });
    for (successful, path, step) in [(true, "e2>end", end("end")), (false, "e3>b", adopt("b", true))] {
        let mut call = Call::new(&graph(&nodes, &edges));
        call.take(&Input::Begin);
        let run = Step::RunTools {
            node: "t".into(),
            tools: vec![id],
        };
        assert_eq!(call.take(&Input::Heard { said: "Go on." }), (vec!["e1>t".into()], run));
        assert_eq!(call.take(&Input::Heard { said: "Hello?" }).1, Step::Wait);
        assert_eq!(
            call.take(&Input::ToolsDone { successful }),
            (vec![path.to_owned()], step)
        );
    }
    edges.as_object_mut().unwrap().shift_remove("e3");
    for input in [Input::ToolsDone { successful: false }, Input::NotEntered] {
        let mut call = Call::new(&graph(&nodes, &edges));
        call.take(&Input::Begin);
        call.take(&Input::Heard { said: "Go on." });
        assert_eq!(call.take(&input), (vec!["NotEntered>a".into()], Step::Reply));
    }
}

#[test]
fn a_call_is_transferred_to_a_number_that_a_variable_holds_and_stays_if_it_cannot_be_dialed() {
    let to = json!({ "type": "phone_dynamic_variable", "phoneNumber": "desk" });
    let nodes = json!({ "p": { "type": "phone_number", "transferDestination": to, "transferType": "conference" } });
    let edges = json!({ "e0": plain("start", "a"), "e1": plain("a", "p") });
    let mut call = Call::new(&graph(&nodes, &edges));
    call.known.insert("desk".into(), "+15550100001".into());
    call.take(&Input::Begin);
    let Step::Transfer { transfer, .. } = call.take(&Input::Heard { said: "Sales." }).1 else {
        panic!()
    };
    assert_eq!(
        (transfer.kind, transfer.to.as_str()),
        (TransferKind::Conference, "+15550100001")
    );
    assert_eq!(
        call.take(&Input::NotEntered),
        (vec!["NotEntered>a".into()], Step::Reply)
    );
    call.known.insert("desk".into(), "reception".into());
    assert_eq!(call.hear("Sales.").0, ["e1>p", "NotEntered>a"]);
}

#[test]
fn a_call_is_handed_to_another_agent_but_not_round_in_a_circle() {
    let other = AgentId::new();
    let nodes =
        json!({ "s": { "type": "standalone_agent", "agentId": other.to_string(), "nodeId": "x", "delayMs": 5 } });
    let mut workflow = graph(&nodes, &json!({ "e0": plain("start", "a"), "e1": plain("a", "s") }));
    workflow["preventSubagentLoops"] = json!(true);
    let mut call = Call::new(&workflow);
    call.take(&Input::Begin);
    let Step::HandTo { to, .. } = call.take(&Input::Heard { said: "Sales." }).1 else {
        panic!()
    };
    assert_eq!(
        (to.agent, to.entry.as_deref(), to.delay_ms, to.greets),
        (other, Some("x"), 5, false)
    );
    call.walk = call.walk.handed_to(&to);
    assert_eq!(
        call.take(&Input::Begin),
        (vec!["Begin>start".into(), "e0>a".into()], adopt("a", true))
    );
    assert_eq!(
        call.hear("Sales.").0,
        ["e1>s", "NotEntered>a"],
        "the agent is on the way already"
    );
}

#[test]
fn variables_are_set_from_expressions_and_from_the_callers_words() {
    let count = json!({ "type": "add_operator", "left": { "type": "dynamic_variable", "name": "tries" },
        "right": { "type": "number_literal", "value": 1 } });
    let size = json!({ "type": "llm", "valueSchema": { "type": "integer", "description": "number of seats" } });
    let nodes = json!({
        "a": { "type": "override_agent", "extract": { "day": { "type": "string", "enum": ["Monday", "Tuesday"] } } },
        "u": { "type": "update_state", "label": "Count", "updates": [
            { "variableName": "tries", "expression": count }, { "variableName": "seats", "expression": size }] },
    });
    let is_set = json!({ "type": "expression", "expression": { "type": "eq_operator",
        "left": { "type": "dynamic_variable", "name": "tries" }, "right": { "type": "string_literal", "value": "2" } } });
    let edges = json!({ "e0": plain("start", "a"), "e1": plain("a", "u"), "e2": edge("u", "b", is_set) });
    let mut call = Call::new(&graph(&nodes, &edges));
    call.known.insert("tries".into(), "1".into());
    call.take(&Input::Begin);
    assert_eq!(call.hear("Tuesday, for twelve.").0, ["e1>u", "e2>b"]);
    let values = serde_json::to_value(call.walk.values()).unwrap();
    assert_eq!(values, json!({ "day": "Tuesday", "tries": 2, "seats": 12 }));
}

#[test]
fn a_global_node_is_reached_from_everywhere_and_leads_back_once_it_is_done() {
    let nodes = json!({ "g": { "type": "say", "label": "Hours", "message": { "type": "literal", "text": "Nine to five." },
        "global": { "condition": "The caller asks about opening hours", "cooldownTurns": 1, "goBack": true } } });
    let mut call = Call::new(&graph(
        &nodes,
        &json!({ "e0": plain("start", "a"), "e1": llm("a", "b", "The caller wants a demo") }),
    ));
    call.take(&Input::Begin);
    let (path, step) = call.hear("What are your opening hours?");
    assert!(
        matches!(step, Step::Say { .. }) && path == ["Global>g"],
        "{path:?} {step:?}"
    );
    assert_eq!(call.take(&Input::Spoken), (vec!["GoBack>a".into()], adopt("a", false)));
    assert_eq!(
        call.hear("And your opening hours?"),
        (vec![], Step::Reply),
        "not in the next turn"
    );
    assert_eq!(call.hear("Your opening hours, I said.").0, ["Global>g"]);
}

#[test]
fn an_edge_is_taken_back_under_its_backward_condition() {
    let both = json!({ "source": "a", "target": "b", "forwardCondition": { "type": "unconditional" },
        "backward_condition": { "type": "unconditional" } });
    let mut call = Call::new(&graph(&json!({}), &json!({ "e0": plain("start", "a"), "e1": both })));
    call.take(&Input::Begin);
    assert_eq!(call.hear("One."), (vec!["e1>b".into()], adopt("b", true)));
    assert_eq!(call.hear("Two."), (vec!["e1>a".into()], adopt("a", true)));
}

#[test]
fn twelve_moves_are_made_without_a_word_of_the_caller_and_then_the_call_talks_on() {
    let nodes = json!({ "u": { "type": "update_state", "label": "", "updates": [] },
        "v": { "type": "update_state", "label": "", "updates": [] } });
    let edges = json!({ "e0": plain("start", "u"), "e1": plain("u", "v"), "e2": plain("v", "u") });
    let mut call = Call::new(&graph(&nodes, &edges));
    let (path, step) = call.take(&Input::Begin);
    assert_eq!((path.len(), step), (13, Step::Wait), "{path:?}");
    assert!(path[12].starts_with("TooManyHops"), "{path:?}");
    assert_eq!(call.hear("Hello?").1, Step::Reply);
}

#[test]
fn a_node_can_stand_for_another_node_of_the_same_agent() {
    let nodes = json!({ "s": { "type": "standalone_agent", "nodeId": "b", "transferMessage": "One moment." } });
    let mut call = Call::new(&graph(
        &nodes,
        &json!({ "e0": plain("start", "a"), "e1": plain("a", "s") }),
    ));
    call.take(&Input::Begin);
    let (path, step) = call.hear("Go on.");
    assert!(
        path == ["e1>s"] && matches!(step, Step::Say { .. }),
        "{path:?} {step:?}"
    );
    assert_eq!(call.take(&Input::Spoken).0, ["Jump>b"]);
}

#[test]
fn a_walk_that_another_process_goes_on_with_does_nothing_outside_twice() {
    let nodes = json!({ "t": { "type": "tool", "tools": [{ "toolId": ToolId::new().to_string() }] } });
    let failed = edge("t", "b", json!({ "type": "result", "successful": false }));
    let edges = json!({ "e0": plain("start", "a"), "e1": plain("a", "t"), "e2": failed });
    let mut call = Call::new(&graph(&nodes, &edges));
    call.take(&Input::Begin);
    call.take(&Input::Heard { said: "Book it." });
    call.walk = serde_json::from_value(serde_json::to_value(&call.walk).unwrap()).unwrap();
    let resumed = Input::Resumed { done: None };
    assert_eq!(call.take(&resumed), (vec!["e2>b".into()], adopt("b", true)));
    assert_eq!(call.take(&resumed).1, Step::Wait);
}

#[test]
fn the_values_of_a_walk_have_a_bound() {
    let updates: Vec<Value> = (0..200)
        .map(|at| {
            let expression = json!({ "type": "string_literal", "value": "x".repeat(100) });
            json!({ "variableName": format!("v{at}"), "expression": expression })
        })
        .collect();
    let nodes = json!({ "u": { "type": "update_state", "label": "", "updates": updates } });
    let edges = json!({ "1": plain("start", "u"), "2": plain("u", "a") });
    let mut call = Call::new(&graph(&nodes, &edges));
    call.take(&Input::Begin);
    let values = call.walk.values();
    let bytes = |(name, value): (&String, &Value)| name.len() + value.as_str().unwrap().len();
    let bytes: usize = values.iter().map(bytes).sum();
    assert!((16_000..=16 * 1024).contains(&bytes), "{bytes}");
}
