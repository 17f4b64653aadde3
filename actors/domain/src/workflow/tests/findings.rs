//! Findings about graphs: each mistake at its path, and the limits.

use std::time::Instant;

use serde_json::{Value, json};

use super::*;
use crate::agent::{Agent, merge_patch, validate_create};

/// Returns `path blocks` for each finding of an agent with this graph, which knows the tool `t1`.
fn found(workflow: &Value) -> Vec<String> {
    let agent: Agent = serde_json::from_value(json!({ "workflow": workflow,
        "conversationConfig": { "agent": { "dynamicVariables": { "seats": 1 } } } }))
    .unwrap();
    let references = References {
        tools: ["t1".to_owned()].into(),
        ..References::default()
    };
    let found = findings(&read(workflow), &Known::of(&agent, references));
    found
        .iter()
        .map(|finding| format!("{} {}", finding.path, finding.blocks))
        .collect()
}

fn with(nodes: &Value, edges: &Value) -> Value {
    let workflow = json!({ "nodes": { "s": { "type": "start" }, "a": { "type": "override_agent" } },
        "edges": { "e": { "source": "s", "target": "a" } } });
    extended(workflow, nodes, edges)
}

fn to(target: &str, condition: &Value) -> Value {
    json!({ "source": "a", "target": target, "forwardCondition": condition })
}

fn expression(operator: &str, left: &Value, right: &Value) -> Value {
    json!({ "type": "expression", "expression": { "type": operator, "left": left, "right": right } })
}

#[test]
fn a_sound_graph_has_no_finding_and_an_empty_one_is_no_graph() {
    let is_big = expression(
        "gt_operator",
        &json!({ "type": "dynamic_variable", "name": "seats" }),
        &json!({ "type": "number_literal", "value": 3 }),
    );
    let nodes = json!({ "t": { "type": "tool", "tools": [{ "tool_id": "t1" }] } });
    assert_eq!(found(&with(&nodes, &json!({ "f": to("t", &is_big) }))), [""; 0]);
    assert_eq!(Graph::read(&Workflow::default()), None);
}

#[test]
fn each_mistake_is_reported_at_its_place() {
    let yes = json!({ "type": "unconditional" });
    let unset = json!({ "type": "dynamic_variable", "name": "colour" });
    let (truth, number) = (
        json!({ "type": "boolean_literal", "value": true }),
        json!({ "type": "number_literal", "value": 1 }),
    );
    for (nodes, edges, expected) in [
        (
            json!({ "s": { "type": "override_agent" } }),
            json!({}),
            vec!["workflow.nodes true"],
        ),
        (
            json!({ "t": { "type": "start" } }),
            json!({}),
            vec!["workflow.nodes.t true"],
        ),
        (
            json!({ "b": { "type": "override_agent" } }),
            json!({}),
            vec!["workflow.nodes.b true"],
        ),
        (
            json!({ "a": { "type": "dance" } }),
            json!({}),
            vec!["workflow.nodes.a true"],
        ),
        (
            json!({ "a": { "type": "say" } }),
            json!({}),
            vec!["workflow.nodes.a true"],
        ),
        (
            json!({ "a": { "type": "tool", "tools": [{ "toolId": "t2" }] } }),
            json!({}),
            vec!["workflow.nodes.a.tools true"],
        ),
        (
            json!({ "a": { "type": "standalone_agent", "agentId": "x" } }),
            json!({}),
            vec!["workflow.nodes.a.agentId true"],
        ),
        (
            json!({ "a": { "type": "standalone_agent", "nodeId": "x" } }),
            json!({}),
            vec!["workflow.nodes.a.nodeId true"],
        ),
        (
            json!({ "a": { "type": "override_agent", "additionalKnowledgeBase": [{ "id": "d" }] } }),
            json!({}),
            vec!["workflow.nodes.a.additionalKnowledgeBase true"],
        ),
        (
            json!({ "a": { "type": "override_agent", "additionalToolIds": ["t2"] } }),
            json!({}),
            vec!["workflow.nodes.a.additionalToolIds true"],
        ),
        (
            json!({ "a": { "type": "phone_number", "transferDestination": { "type": "phone", "phoneNumber": "desk" } } }),
            json!({}),
            vec!["workflow.nodes.a.transferDestination true"],
        ),
        (
            json!({ "a": { "type": "phone_number", "transferDestination": { "type": "phone_dynamic_variable", "phoneNumber": "desk" },
            "uui": { "data": "x" } } }),
            json!({}),
            vec![
                "workflow.nodes.a.uui false",
                "workflow.nodes.a.transferDestination true",
            ],
        ),
        (
            json!({}),
            json!({ "f": to("a", &json!({ "type": "mood" })) }),
            vec!["workflow.edges.f true"],
        ),
        (
            json!({}),
            json!({ "f": to("a", &yes), "g": to("a", &yes) }),
            vec!["workflow.edges.g.forwardCondition true"],
        ),
        (
            json!({}),
            json!({ "f": { "source": "a", "target": "a", "reroutes": [{ "x": 1 }], "forwardCondition": yes } }),
            vec!["workflow.edges.f.reroutes false"],
        ),
        (
            json!({}),
            json!({ "f": to("a", &expression("eq_operator", &unset, &number)) }),
            vec!["workflow.edges.f.forwardCondition true"],
        ),
        (
            json!({}),
            json!({ "f": to("a", &expression("gt_operator", &truth, &number)) }),
            vec!["workflow.edges.f.forwardCondition true"],
        ),
        (
            json!({ "a": { "type": "update_state", "updates": [] } }),
            json!({ "f": to("a", &yes) }),
            vec!["workflow.nodes.a true"],
        ),
    ] {
        assert_eq!(found(&with(&nodes, &edges)), expected, "{nodes} {edges}");
    }
}

#[test]
fn a_graph_beyond_a_limit_is_refused_and_a_stored_one_keeps_no_other_field_from_changing() {
    let agent = |workflow: &Value| {
        json!({ "name": "A", "conversationConfig": { "agent": { "prompt": { "prompt": "x" } } },
        "workflow": workflow })
    };
    let mut deep = json!({ "type": "null_literal" });
    for _ in 0..32 {
        deep = json!({ "type": "and_operator", "children": [deep] });
    }
    let many = |count: usize, entry: Value| -> Value {
        (0..count)
            .map(|at| (format!("n{at}"), entry.clone()))
            .collect::<Map<_, _>>()
            .into()
    };
    for (workflow, path) in [
        (json!({ "nodes": many(201, json!({})) }), "workflow.nodes"),
        (
            json!({ "nodes": { "a": {} }, "edges": many(1001, json!({ "source": "a", "target": "a" })) }),
            "workflow.edges",
        ),
        (json!({ "nodes": { "a": { "label": "x".repeat(66_000) } } }), "workflow"),
        (
            with(
                &json!({}),
                &json!({ "f": to("a", &json!({ "type": "expression", "expression": deep })) }),
            ),
            "workflow.edges.f",
        ),
    ] {
        let begun = Instant::now();
        let problems = validate_create(&agent(&workflow)).unwrap_err();
        assert_eq!((&*problems[0].path, problems[0].code), (path, "too_long"));
        let blocking = findings(&read(&workflow), &Known::default());
        assert!(
            blocking.iter().any(|finding| finding.path == path && finding.blocks),
            "{blocking:?}"
        );
        assert!(begun.elapsed().as_millis() < 1_000, "{path}");
        let stored = agent(&workflow).as_object().unwrap().clone();
        assert!(merge_patch(&stored, &json!({ "name": "B" })).is_ok(), "{path}");
        assert!(
            merge_patch(&stored, &json!({ "workflow": { "router": "x" } })).is_err(),
            "{path}"
        );
    }
}

#[test]
fn more_than_can_be_judged_at_once_and_wrong_settings_of_a_node_keep_an_agent_from_dialing() {
    let llm = |at: usize| to("a", &json!({ "type": "llm", "condition": format!("wants item {at}") }));
    let ways = |count: usize| -> Value {
        (0..count)
            .map(|at| (format!("w{at}"), llm(at)))
            .collect::<Map<_, _>>()
            .into()
    };
    let extracts = |count: usize| {
        let entities = (0..count).map(|at| (format!("v{at}"), json!({ "type": "boolean" })));
        json!({ "a": { "type": "override_agent", "extract": entities.collect::<Map<_, _>>() } })
    };
    let config = |config: Value| json!({ "a": { "type": "override_agent", "conversationConfig": config } });
    let none = json!({});
    for (nodes, edges, path) in [
        (none.clone(), ways(100), None),
        (none.clone(), ways(101), Some("workflow.nodes.a")),
        (extracts(50), none.clone(), None),
        (extracts(51), none.clone(), Some("workflow.nodes.a.extract")),
        (
            config(json!({ "tts": { "speed": 1.1, "optimize": 3 } })),
            none.clone(),
            None,
        ),
        (
            config(json!({ "tts": { "speed": -1 } })),
            none,
            Some("workflow.nodes.a.conversationConfig.tts.speed"),
        ),
    ] {
        let blocking = found(&with(&nodes, &edges));
        let blocking: Vec<&str> = blocking.iter().filter_map(|one| one.strip_suffix(" true")).collect();
        assert_eq!(blocking, path.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_name_with_an_underscore_too_many_is_no_spelling_of_a_field() {
    let mut deep = json!({ "type": "null_literal" });
    for _ in 0..40 {
        deep = json!({ "type_": "and_operator", "children": [deep] });
    }
    let edges = json!({ "f": to("a", &json!({ "type": "expression", "expression": deep })) });
    assert_eq!(found(&with(&json!({}), &edges)), ["workflow.edges.f true"]);
}

#[test]
fn a_condition_of_one_word_is_not_judged_without_a_model() {
    let llm = |condition: &str| to("a", &json!({ "type": "llm", "condition": condition }));
    let graph = read(&with(
        &json!({}),
        &json!({ "f": llm("sales"), "g": llm("asks for sales"), "h": llm("The caller says yes") }),
    ));
    assert_eq!(judge::unjudged(&graph), ["workflow.edges.f.forwardCondition"]);
}

#[test]
fn words_numbers_yes_and_no_and_collected_values_decide_without_a_model() {
    let departments = [
        "The caller wants sales",
        "The caller needs technical support",
        "The caller asks for a person",
    ];
    let money = [
        "The budget is at least 1000 euros",
        "The budget is less than 1000 euros",
    ];
    let wish = [
        "The caller wants an appointment",
        "The caller does not want an appointment",
    ];
    for (conditions, said, chosen) in [
        (
            departments.as_slice(),
            "I have a question for support, not sales",
            Some(1),
        ),
        (&departments, "Sales or support", None),
        (&departments, "Can I speak to a human?", Some(2)),
        (&departments, "Hello", None),
        (&money, "About two thousand", Some(0)),
        (&money, "five hundred", Some(1)),
        (&wish, "Yes please", Some(0)),
        (&wish, "No thanks", Some(1)),
    ] {
        let candidates = conditions.iter().map(|condition| Candidate {
            edge: None,
            to: "x".into(),
            backward: false,
            condition: (*condition).to_owned(),
        });
        let candidates: Vec<Candidate> = candidates.collect();
        let (choice, _) = judge::by_words(&candidates, &[], said, &BTreeMap::new());
        assert_eq!(choice, chosen.map_or(Choice::Stay, Choice::Candidate), "{said}");
    }
}
