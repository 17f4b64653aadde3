//! Expressions over variables, and their values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};

use crate::{
    agent::{Entity, EntityKind},
    analysis::values::in_words,
    template::VALUE_BYTES,
};

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A fixed value.
    Literal(Value),
    /// Value of a variable; `null` if it is not set.
    Variable(String),
    /// A value that the model gets from the conversation.
    Llm(Question),
    /// True if all are.
    And(Vec<Expression>),
    /// True if any is.
    Or(Vec<Expression>),
    /// Comparison of two values.
    Compare(Comparison, Box<Expression>, Box<Expression>),
    /// Calculation with two values.
    Calculate(Operation, Box<Expression>, Box<Expression>),
    /// Condition, value if it is true, and value if it is false.
    If(Box<[Expression; 3]>),
    /// A type that the service does not know. It has no value.
    Unknown(String),
}

/// Comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Equal.
    Eq,
    /// Not equal.
    Neq,
    /// Greater.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less.
    Lt,
    /// Less or equal.
    Lte,
}

/// Arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Sum; two texts are joined.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient.
    Div,
}

/// A question to the model for one value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Meaning of the value.
    pub prompt: String,
    /// JSON schema of the value.
    pub schema: Value,
    /// Whether the model must give it.
    pub required: bool,
}

/// Values known to an expression.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    /// Values that the graph set. They take precedence.
    pub set: &'a BTreeMap<String, Value>,
    /// Values of the call.
    pub known: &'a BTreeMap<String, String>,
}
