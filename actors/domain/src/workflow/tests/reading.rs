//! Graphs as they are read: both spellings, operators of expressions, what is not known.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::workflow::expression::{Expression, Scope};

fn value(expression: &Value, answers: &[Option<Value>]) -> Option<Value> {
    let expression: Expression = serde_json::from_value(expression.clone()).unwrap();
    let (set, known) = (
        BTreeMap::new(),
        BTreeMap::from([("city".to_owned(), "Berlin".to_owned())]),
    );
    expression.value(
        &Scope {
            set: &set,
            known: &known,
        },
        &mut answers.iter(),
    )
}

fn two(operator: &str, left: &Value, right: &Value) -> Value {
    let literal = |value: &Value| match value {
        Value::Null => json!({ "type": "null_literal" }),
        Value::Bool(_) => json!({ "type": "boolean_literal", "value": value }),
        Value::Number(_) => json!({ "type": "number_literal", "value": value }),
        Value::String(_) => json!({ "type": "string_literal", "value": value }),
        other => other.clone(),
    };
    json!({ "type": format!("{operator}_operator"), "left": literal(left), "right": literal(right) })
}

#[test]
fn operators_take_numbers_as_texts_and_have_no_result_for_types_that_do_not_fit() {
    let no = Value::Null;
    for (operator, left, right, expected) in [
        ("eq", json!("5"), json!(5.0), json!(true)),
        ("eq", json!(" YES"), json!("yes"), json!(true)),
        ("neq", json!(null), json!(""), json!(false)),
        ("gt", json!("10"), json!("9"), json!(true)),
        ("lt", json!("apple"), json!("Pear"), json!(true)),
        ("gte", json!(true), json!(1), no.clone()),
        ("lte", json!(null), json!(1), no.clone()),
        ("add", json!(2), json!(0.5), json!(2.5)),
        ("add", json!("a"), json!(1), json!("a1")),
        ("add", json!(true), json!(1), no.clone()),
        ("sub", json!("a"), json!(1), no.clone()),
        ("mul", json!(3), json!("4"), json!(12)),
        ("div", json!(1), json!(0), no.clone()),
        ("add", json!("x".repeat(4000)), json!("y".repeat(200)), no.clone()),
    ] {
        let given = two(operator, &left, &right);
        assert_eq!(
            value(&given, &[]).unwrap_or_default(),
            expected,
            "{left} {operator} {right}"
        );
    }
}

#[test]
fn and_or_are_decided_without_the_answers_that_they_do_not_need() {
    let (yes, asked) = (
        json!({ "type": "boolean_literal", "value": true }),
        json!({ "type": "llm", "prompt": "Is it?" }),
    );
    let all =
        |operator: &str, children: &[&Value]| json!({ "type": format!("{operator}_operator"), "children": children });
    assert_eq!(value(&all("or", &[&asked, &yes]), &[]), Some(json!(true)));
    assert_eq!(value(&all("and", &[&asked, &yes]), &[]), None);
    assert_eq!(
        value(&all("and", &[&asked, &yes]), &[Some(json!(true))]),
        Some(json!(true))
    );
    let chosen = json!({ "type": "conditional_operator", "condition": two("eq", &json!({ "type": "dynamic_variable", "name": "city" }),
        &json!("berlin")), "trueExpression": asked, "falseExpression": yes });
    assert_eq!(value(&chosen, &[Some(json!("false"))]), Some(json!(false)));
}
