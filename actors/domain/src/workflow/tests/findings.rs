//! Findings about graphs: each mistake at its path, and the limits.

use std::time::Instant;

use serde_json::{Map, Value, json};

use super::*;
use crate::agent::{Agent, merge_patch, validate_create};

/// Returns the findings of an agent with this graph, which knows the tool `t1`.
pub(super) fn found_in(workflow: &Value) -> Vec<Finding> {
    let agent: Agent = serde_json::from_value(json!({ "workflow": workflow,
        "conversationConfig": { "agent": { "dynamicVariables": { "seats": 1 } } } }))
    .unwrap();
    let references = References {
        tools: ["t1".to_owned()].into(),
        ..References::default()
    };
    findings(&read(workflow), &Known::of(&agent, references))
}

/// Returns `path blocks` for each finding.
pub(super) fn found(workflow: &Value) -> Vec<String> {
    let found = found_in(workflow);
    let told = found
        .iter()
        .map(|finding| format!("{} {}", finding.path, finding.blocks));
    told.collect()
}

/// Returns each finding in words.
pub(super) fn told(nodes: &Value, edges: &Value) -> Vec<String> {
    found_in(&with(nodes, edges)).iter().map(ToString::to_string).collect()
}

pub(super) fn literal(value: f64) -> Value {
    json!({ "type": "number_literal", "value": value })
}

pub(super) fn with(nodes: &Value, edges: &Value) -> Value {
    let workflow = json!({ "nodes": { "s": { "type": "start" }, "a": { "type": "override_agent" } },
        "edges": { "e": { "source": "s", "target": "a" } } });
    extended(workflow, nodes, edges)
}

pub(super) fn to(target: &str, condition: &Value) -> Value {
    json!({ "source": "a", "target": target, "forwardCondition": condition })
}

pub(super) fn expression(operator: &str, left: &Value, right: &Value) -> Value {
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
            vec!["workflow.nodes.a.transferDestination.phoneNumber true"],
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
            json!({ "nodes": { "n".repeat(101): { "type": "start" } } }),
            &*format!("workflow.nodes.{}", "n".repeat(100)),
        ),
        (
            json!({ "nodes": { "a": {} }, "edges": { "ä".repeat(101): { "source": "a", "target": "a" } } }),
            &*format!("workflow.edges.{}", "ä".repeat(100)),
        ),
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
    let mut found = found(&with(&json!({}), &edges));
    found.retain(|finding| finding.ends_with(" true"));
    assert_eq!(found, ["workflow.edges.f true"]);
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
fn unknown_fields_are_named_with_the_likely_one_and_do_not_keep_an_agent_from_dialing() {
    let llm = json!({ "type": "expression", "expression": { "type": "gt_operator", "right": literal(1.0),
        "left": { "type": "llm", "valueSchema": { "type": "number", "x": 1 }, "promt": "How many?" } } });
    let nodes = json!({ "a": { "type": "override_agent", "additional_promt": "x", "zebra": 1, "message": {}, "none": null,
            "extract": { "my_own": { "type": "string", "x": 1 } }, "conversationConfig": { "quality": { "x": 1 } } },
        "b": { "type": "say", "message": { "type": "literal", "text": "Hi.", "txt": "x" }, "global": { "condition": "wants b", "cooldown": 1 } },
        "c": { "type": "update_state", "updates": [{ "variableName": "n", "expression": literal(1.0), "expresion": 1 }] } });
    let edges = json!({ "f": { "source": "a", "target": "c", "lable": "x", "forwardCondition": llm } });
    assert_eq!(
        told(&nodes, &edges),
        [
            "`workflow.nodes.a.additionalPromt` is not a field of a node of type `override_agent` and has no effect; did you mean \
             `additionalPrompt`?",
            "`workflow.nodes.a.zebra` is not a field of a node of type `override_agent` and has no effect",
            "`workflow.nodes.a.message` is not a field of a node of type `override_agent` and has no effect",
            "`workflow.nodes.b.message.txt` is not a field of a message and has no effect; did you mean `text`?",
            "`workflow.nodes.b.global.cooldown` is not a field of `global` and has no effect; did you mean `cooldownTurns`?",
            "`workflow.nodes.c.updates[0].expresion` is not a field of an update and has no effect; did you mean `expression`?",
            "`workflow.edges.f.lable` is not a field of an edge and has no effect",
            "`workflow.edges.f.forwardCondition.expression.left.promt` is not a field of an expression and has no effect; did you \
             mean `prompt`?",
        ]
    );
    assert!(found_in(&with(&nodes, &edges)).iter().all(|finding| !finding.blocks));
}

#[test]
fn a_transfers_official_fields_are_known_and_have_no_effect() {
    let node = json!({ "a": { "type": "phone_number", "label": "Desk", "position": { "x": 0, "y": 0 }, "edge_order": [],
        "transfer_destination": { "type": "phone", "phone_number": "+15550100001" }, "transfer_type": "blind",
        "post_dial_digits": { "type": "static", "value": "12" }, "uui": { "type": "static", "value": "x" },
        "custom_sip_headers": [{ "type": "static", "key": "X-A", "value": "b" }], "sip_refer_play_dialtone": false } });
    let expected = ["postDialDigits", "uui", "customSipHeaders"];
    let expected = expected.map(|field| format!("`workflow.nodes.a.{field}` has no effect here"));
    assert_eq!(told(&node, &json!({})), expected);
}

#[test]
fn many_unknown_fields_do_not_hide_a_mistake() {
    let mut node: Map<String, Value> = (0..150).map(|at| (format!("x{at}"), json!(1))).collect();
    node.insert("type".into(), "override_agent".into());
    let nodes = json!({ "a": node, "b": { "type": "start" } });
    let found = found(&with(&nodes, &json!({})));
    assert_eq!(found.len(), 101);
    assert_eq!(found.last().unwrap(), "workflow.nodes.s true");
}

#[test]
fn a_division_by_0_is_reported() {
    let seats = json!({ "type": "dynamic_variable", "name": "seats" });
    let zero_text = json!({ "type": "string_literal", "value": " 0.0 " });
    let difference = json!({ "type": "sub_operator", "left": literal(2.0), "right": literal(2.0) });
    let ratio = |divisor: &Value| {
        json!({ "type": "expression", "expression": { "type": "gt_operator", "right": literal(1.0),
            "left": { "type": "div_operator", "left": seats, "right": divisor } } })
    };
    for (divisor, divides) in [
        (literal(0.0), true),
        (zero_text, true),
        (difference, true),
        (literal(2.0), false),
        (seats.clone(), false),
    ] {
        let expected = "`workflow.edges.f.forwardCondition` divides by 0, which has no result";
        let edges = json!({ "f": to("a", &ratio(&divisor)) });
        assert_eq!(
            told(&json!({}), &edges),
            Vec::from_iter(divides.then_some(expected)),
            "{divisor}"
        );
    }
}

#[test]
fn texts_that_are_needed_and_blank_keep_an_agent_from_dialing() {
    let say = |message: Value| json!({ "type": "say", "message": message });
    let nodes = json!({ "b": say(json!({ "type": "literal", "text": " \n" })), "c": say(json!({ "type": "prompt", "prompt": "" })),
        "d": say(json!({ "type": "literal", "text": "{{seats}}" })),
        "g": { "type": "override_agent", "global": { "condition": " " } } });
    let llm = |target: &str, condition: &str| to(target, &json!({ "type": "llm", "condition": condition }));
    let edges = json!({ "f": llm("b", ""), "h": llm("c", " "), "i": llm("d", "The caller wants seats") });
    let workflow = with(&nodes, &edges);
    let expected = [
        "`workflow.nodes.b.message.text` has no words; write what the agent says",
        "`workflow.nodes.c.message.prompt` has no words; write what the agent says",
        "`workflow.nodes.g.global.condition` is blank; write when the node is entered",
        "`workflow.edges.f.forwardCondition.condition` is blank; write when the edge is taken",
        "`workflow.edges.h.forwardCondition.condition` is blank; write when the edge is taken",
    ];
    assert_eq!(told(&nodes, &edges), expected);
    assert!(found_in(&workflow).iter().all(|finding| finding.blocks));
    assert_eq!(judge::unjudged(&read(&workflow)), [""; 0], "they are reported once");
}

#[test]
fn a_transfer_is_told_what_its_destination_and_its_type_need() {
    let number = "needs a number with + and country code, such as +15550100010";
    for (kind, field, value, transfer_type, expected) in [
        (
            "phone",
            "phoneNumber",
            "030 555 1234",
            "blind",
            vec![("transferDestination.phoneNumber", number)],
        ),
        ("phone", "phoneNumber", "+49 30 555 1234", "conference", vec![]),
        (
            "sip_uri",
            "sipUri",
            "desk",
            "sip_refer",
            vec![(
                "transferDestination.sipUri",
                "needs a SIP address, such as sip:desk@pbx.example",
            )],
        ),
        (
            "phone",
            "phoneNumber",
            "0",
            "warm",
            vec![
                ("transferType", "must be `blind`, `conference` or `sip_refer`"),
                ("transferDestination.phoneNumber", number),
            ],
        ),
        (
            "phone_dynamic_variable",
            "phoneNumber",
            "seats",
            "warm",
            vec![("transferType", "must be `blind`, `conference` or `sip_refer`")],
        ),
    ] {
        let nodes = json!({ "a": { "type": "phone_number", "transferType": transfer_type,
            "transferDestination": { "type": kind, field: value } } });
        let expected = expected
            .iter()
            .map(|(field, message)| format!("`workflow.nodes.a.{field}` {message}"));
        assert_eq!(
            told(&nodes, &json!({})),
            expected.collect::<Vec<_>>(),
            "{value} {transfer_type}"
        );
    }
}

#[test]
fn a_variable_that_nothing_sets_is_reported_in_the_words_of_the_api_and_of_the_dashboard() {
    let unset = json!({ "type": "dynamic_variable", "name": "colour" });
    let edges = json!({ "f": to("a", &expression("eq_operator", &unset, &literal(1.0))) });
    let expected = "`workflow.edges.f.forwardCondition` uses the variable `colour`, which nothing sets; give it a default value in \
                    `dynamicVariables` (dashboard: default values of placeholders), or extract or update it in a node";
    assert_eq!(told(&json!({}), &edges), [expected]);
}

#[test]
fn of_a_graph_with_too_much_json_the_expressions_are_not_looked_at() {
    let mut deep = json!({ "type": "null_literal" });
    for _ in 0..32 {
        deep = json!({ "type": "and_operator", "children": [deep] });
    }
    let edges = json!({ "f": to("a", &json!({ "type": "expression", "expression": deep })) });
    for (label, expected) in [
        (
            60_000,
            "`workflow.edges.f` has an expression of 33 levels; at most 32 are allowed",
        ),
        (
            65_536,
            "`workflow` is larger than 65536 bytes as JSON; shorten texts or remove nodes",
        ),
    ] {
        let nodes = json!({ "a": { "type": "override_agent", "label": "x".repeat(label) } });
        assert_eq!(told(&nodes, &edges), [expected]);
    }
}
