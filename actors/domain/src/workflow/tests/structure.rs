//! Findings about the structure of graphs: orders and edges without effect, cycles.

use std::{cell::Cell, cmp::Ordering};

use serde_json::{Value, json};

use super::findings::{expression, found, found_in, literal, to, told, with};

#[test]
fn an_order_that_is_no_list_or_names_other_edges_is_reported() {
    let edges = json!({ "f": to("b", &json!({ "type": "llm", "condition": "The caller wants b" })),
        "g": { "source": "b", "target": "a", "backwardCondition": { "type": "llm", "condition": "The caller wants b, too" } },
        "h": { "source": "b", "target": "a" } });
    for (order, expected) in [
        (json!(["g", "f", "f"]), None),
        (json!(null), None),
        (
            json!(["f", "e", "gone", "h"]),
            Some("names edges that do not lead out of this node: `e`, `gone`, `h`"),
        ),
        (json!("f"), Some("is not a list of ids of edges, so it has no effect")),
        (json!([1]), Some("is not a list of ids of edges, so it has no effect")),
    ] {
        let nodes = json!({ "a": { "type": "override_agent", "edgeOrder": order }, "b": { "type": "override_agent" } });
        let expected = expected.map(|message| format!("`workflow.nodes.a.edgeOrder` {message}"));
        assert_eq!(told(&nodes, &edges), Vec::from_iter(expected), "{order}");
        let found = found_in(&with(&nodes, &edges));
        assert!(found.iter().all(|finding| !finding.blocks), "{order}");
    }
}

#[test]
fn an_edge_out_of_an_end_is_reported_and_leads_nowhere() {
    let (wants, end) = (
        json!({ "type": "llm", "condition": "The caller wants more" }),
        json!({ "z": { "type": "end" } }),
    );
    let edges = json!({ "f": { "source": "a", "target": "z", "forwardCondition": wants, "backwardCondition": wants },
        "g": { "source": "z", "target": "a" } });
    let expected =
        ["f", "g"].map(|edge| format!("`workflow.edges.{edge}` leads out of an `end` node, so it is never taken"));
    assert_eq!(told(&end, &edges), expected);
    assert!(found_in(&with(&end, &edges)).iter().all(|finding| !finding.blocks));

    let edges = json!({ "f": { "source": "a", "target": "z", "forwardCondition": wants },
        "g": { "source": "z", "target": "b" } });
    let nodes = json!({ "z": { "type": "end" }, "b": { "type": "override_agent" } });
    let expected = [
        "`workflow.edges.g` leads out of an `end` node, so it is never taken",
        "`workflow.nodes.b` cannot be reached; add an edge to it, or remove it",
    ];
    assert_eq!(told(&nodes, &edges), expected);
}

#[test]
fn edges_that_an_unconditional_one_precedes_are_reported_as_never_taken() {
    let never = |edge: &str, taken: &str| {
        format!(
            "`workflow.edges.{edge}.forwardCondition` is never taken, because edge `{taken}` out of the same node is unconditional; \
             give that one a condition, or remove this one"
        )
    };
    let nodes = |order: &[&str]| {
        let node = json!({ "type": "tool", "tools": [{ "toolId": "t1" }], "edgeOrder": order });
        json!({ "a": node, "b": { "type": "override_agent" }, "c": { "type": "override_agent" } })
    };
    let always = json!({ "type": "unconditional" });
    let (wants, otherwise) = (
        json!({ "type": "llm", "condition": "The caller wants c" }),
        json!({ "type": "else" }),
    );
    let result = |successful: bool| json!({ "type": "result", "successful": successful });
    let truth = expression(
        "gt_operator",
        &json!({ "type": "dynamic_variable", "name": "seats" }),
        &literal(1.0),
    );
    for (order, condition, is_taken) in [
        (["f", "g"], &always, false),
        (["f", "g"], &wants, false),
        (["f", "g"], &truth, false),
        (["f", "g"], &result(true), false),
        (["g", "f"], &wants, true),
        (["g", "f"], &truth, true),
        (["g", "f"], &result(false), true),
        (["g", "f"], &otherwise, false),
    ] {
        let edges = json!({ "f": to("b", &always), "g": to("c", condition) });
        let expected = (!is_taken).then(|| never("g", "f"));
        assert_eq!(
            told(&nodes(&order), &edges),
            Vec::from_iter(expected),
            "{order:?} {condition}"
        );
        assert!(
            found_in(&with(&nodes(&order), &edges))
                .iter()
                .all(|finding| !finding.blocks)
        );
    }
    // Behind an `llm` edge, the unconditional one waits for the model's choice.
    for (condition, is_taken) in [
        (&wants, true),
        (&truth, true),
        (&result(true), true),
        (&result(false), false),
        (&always, false),
        (&otherwise, false),
    ] {
        let edges = json!({ "e1": to("b", &wants), "f": to("b", &always), "g": to("c", condition) });
        let expected = (!is_taken).then(|| never("g", "f"));
        let told = told(&nodes(&["e1", "f", "g"]), &edges);
        assert_eq!(told, Vec::from_iter(expected), "{condition}");
    }
}

#[test]
fn a_transfer_that_dials_again_after_each_failure_is_on_a_cycle() {
    let transfer = json!({ "type": "phone_number",
        "transferDestination": { "type": "phone", "phoneNumber": "+15550100001" } });
    let say = json!({ "type": "say", "message": { "type": "literal", "text": "One moment." } });
    let (always, failed) = (
        json!({ "type": "unconditional" }),
        json!({ "type": "result", "successful": false }),
    );
    for (condition, other, is_cycle) in [
        (&always, None, true),
        (&failed, None, true),
        (&always, Some(&say), true),
        (&failed, Some(&say), true),
        (&always, Some(&json!({ "type": "override_agent" })), false),
        (&json!({ "type": "result", "successful": true }), None, false),
    ] {
        let (nodes, edges) = match other {
            None => (json!({ "a": transfer }), json!({ "f": to("a", condition) })),
            Some(other) => (
                json!({ "a": transfer, "b": other }),
                json!({ "f": to("b", condition), "g": { "source": "b", "target": "a" } }),
            ),
        };
        let expected = is_cycle.then(|| "workflow.nodes.a true".to_owned());
        assert_eq!(
            found(&with(&nodes, &edges)),
            Vec::from_iter(expected),
            "{condition} {other:?}"
        );
    }
}

#[test]
fn a_cycle_whose_conditions_always_hold_is_reported() {
    let condition = |expression: Value| json!({ "type": "expression", "expression": expression });
    let truth = |value: bool| condition(json!({ "type": "boolean_literal", "value": value }));
    let seats = json!({ "type": "dynamic_variable", "name": "seats" });
    let otherwise = json!({ "type": "else" });
    let nodes =
        json!({ "a": { "type": "update_state", "updates": [] }, "b": { "type": "update_state", "updates": [] } });
    for (there, back, is_cycle) in [
        (truth(true), truth(true), true),
        (truth(true), json!({ "type": "unconditional" }), true),
        (
            expression("lt_operator", &literal(1.0), &literal(2.0)),
            otherwise.clone(),
            true,
        ),
        (truth(true), truth(false), false),
        (truth(true), expression("gt_operator", &seats, &literal(1.0)), false),
    ] {
        let edges = json!({ "f": to("b", &there), "g": { "source": "b", "target": "a", "forwardCondition": back } });
        let expected = is_cycle.then(|| "workflow.nodes.a true".to_owned());
        assert_eq!(found(&with(&nodes, &edges)), Vec::from_iter(expected), "{there} {back}");
    }
    let edges = json!({ "f": to("b", &truth(true)), "g": { "source": "b", "target": "a", "forwardCondition": otherwise },
        "h": { "source": "b", "target": "s", "forwardCondition": expression("gt_operator", &seats, &literal(1.0)) } });
    assert_eq!(found(&with(&nodes, &edges)), [""; 0], "another edge may lead on");
}

/// An id that counts how often it is compared.
struct Counted<'a>(u32, &'a Cell<usize>);

impl Ord for Counted<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.1.set(self.1.get() + 1);
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Counted<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Counted<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Counted<'_> {}

#[test]
fn many_edges_with_a_huge_order_are_placed_with_few_comparisons() {
    let compared = Cell::new(0);
    let id = |id: u32| Counted(id, &compared);
    let places = crate::workflow::reading::places((0..1_000).map(id), (0..20_000).rev().chain(0..100).map(id));
    assert_eq!((places[0], places[999]), (19_999, 19_000), "the first place counts");
    assert!(compared.get() < 1_000_000, "{} comparisons", compared.get());
    let places = crate::workflow::reading::places([id(1), id(30_000)].into_iter(), (0..2).map(id));
    assert_eq!(places, [1, usize::MAX]);
}
