//! Expressions over variables, and their values.

use std::{cmp::Ordering, collections::BTreeMap};

use serde::Deserialize;
use serde_json::{Number, Value, json};

use crate::{
    agent::{Entity, EntityKind},
    analysis::values::{checked, in_words},
    template::{VALUE_BYTES, is_blank},
};

/// Limit up to which a result is written as a whole number.
const MOST_WHOLE: f64 = 1e15;

/// An expression.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Expression {
    StringLiteral {
        value: String,
    },
    NumberLiteral {
        value: Number,
    },
    BooleanLiteral {
        value: bool,
    },
    NullLiteral,
    /// Value of a variable; `null` if it is not set.
    DynamicVariable {
        name: String,
    },
    /// A value that the model gets from the conversation.
    Llm(Question),
    AndOperator {
        children: Vec<Expression>,
    },
    OrOperator {
        children: Vec<Expression>,
    },
    ConditionalOperator {
        condition: Box<Expression>,
        true_expression: Box<Expression>,
        false_expression: Box<Expression>,
    },
    EqOperator(Pair),
    NeqOperator(Pair),
    GtOperator(Pair),
    GteOperator(Pair),
    LtOperator(Pair),
    LteOperator(Pair),
    /// Sum; two texts are joined.
    AddOperator(Pair),
    SubOperator(Pair),
    MulOperator(Pair),
    DivOperator(Pair),
}

/// The two sides of an operator.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Pair {
    pub left: Box<Expression>,
    pub right: Box<Expression>,
}

/// A question to the model for one value.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Question {
    /// Meaning of the value; may be empty if the schema describes it. Without a schema it is answered by true or false.
    pub prompt: String,
    /// JSON schema of the value; `null` for true or false.
    pub value_schema: Value,
    /// False if the model may leave it out.
    pub required: Option<bool>,
}

/// Values known to an expression.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    /// Values that the graph set. They take precedence.
    pub set: &'a BTreeMap<String, Value>,
    /// Values of the call.
    pub known: &'a BTreeMap<String, String>,
}

impl Scope<'_> {
    /// Returns the value of a variable; `null` if it is not set.
    pub fn get(&self, name: &str) -> Value {
        let set = self.set.get(name).cloned();
        set.or_else(|| self.known.get(name).map(|text| Value::from(text.as_str())))
            .unwrap_or_default()
    }
}

/// Answers of the model, in the order of the questions of an expression.
pub(super) type Answers<'a> = std::slice::Iter<'a, Option<Value>>;

impl Question {
    /// Returns the value as `dataCollection` describes one.
    pub fn entity(&self) -> Entity {
        let mut entity = Entity::read(&self.value_schema);
        if entity.description.trim().is_empty() {
            entity.description.clone_from(&self.prompt);
        }
        if self.value_schema.is_null() {
            entity.kind = EntityKind::Boolean;
        }
        entity
    }

    /// Creates the question for an entity.
    pub(super) fn of(name: &str, entity: &Entity) -> Self {
        let mut value_schema = json!({ "type": entity.kind, "description": entity.description });
        if !entity.allowed.is_empty() {
            value_schema["enum"] = json!(entity.allowed);
        }
        Self {
            prompt: name.to_owned(),
            value_schema,
            required: Some(false),
        }
    }
}

impl Expression {
    /// Returns the value. It has none if a type does not fit, or if the model gave no value for it.
    pub(super) fn value(&self, scope: &Scope<'_>, answers: &mut Answers<'_>) -> Option<Value> {
        // Each part takes its answers, whether or not it is needed.
        let mut of = |part: &Self| part.value(scope, answers);
        let pair = match self {
            Self::StringLiteral { value } => return Some(Value::from(value.as_str())),
            Self::NumberLiteral { value } => return Some(Value::Number(value.clone())),
            Self::BooleanLiteral { value } => return Some(Value::Bool(*value)),
            Self::NullLiteral => return Some(Value::Null),
            Self::DynamicVariable { name } => return Some(scope.get(name)),
            Self::Llm(question) => return checked(&question.entity(), answers.next()?.as_ref()?),
            Self::AndOperator { children } => return decided(children.iter().map(of), false),
            Self::OrOperator { children } => return decided(children.iter().map(of), true),
            Self::ConditionalOperator {
                condition,
                true_expression,
                false_expression,
            } => {
                let [condition, then, otherwise] = [condition, true_expression, false_expression].map(|part| of(part));
                return if is_true(&condition?) { then } else { otherwise };
            }
            other => other.pair()?,
        };
        let (left, right) = (of(&pair.left), of(&pair.right));
        self.operated(&left?, &right?)
    }

    /// Returns the result of this operator for two values.
    fn operated(&self, left: &Value, right: &Value) -> Option<Value> {
        let holds = match self {
            Self::EqOperator(_) => is_equal(left, right),
            Self::NeqOperator(_) => !is_equal(left, right),
            Self::GtOperator(_) => order(left, right)?.is_gt(),
            Self::GteOperator(_) => order(left, right)?.is_ge(),
            Self::LtOperator(_) => order(left, right)?.is_lt(),
            Self::LteOperator(_) => order(left, right)?.is_le(),
            _ => return self.calculated(left, right),
        };
        Some(Value::Bool(holds))
    }

    fn calculated(&self, left: &Value, right: &Value) -> Option<Value> {
        let result = match (self, number(left).zip(number(right))) {
            (Self::AddOperator(_), None) if left.is_string() || right.is_string() => {
                let joined = format!("{}{}", in_words(left), in_words(right));
                return (joined.len() <= VALUE_BYTES).then(|| Value::from(joined));
            }
            (Self::AddOperator(_), Some((left, right))) => left + right,
            (Self::SubOperator(_), Some((left, right))) => left - right,
            (Self::MulOperator(_), Some((left, right))) => left * right,
            (Self::DivOperator(_), Some((left, right))) => left / right,
            _ => return None,
        };
        if result.fract() == 0.0 && result.abs() < MOST_WHOLE {
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
            return Some(Value::from(result as i64));
        }
        Number::from_f64(result).map(Value::Number)
    }

    fn pair(&self) -> Option<&Pair> {
        match self {
            Self::EqOperator(pair) | Self::NeqOperator(pair) | Self::GtOperator(pair) | Self::GteOperator(pair) => {
                Some(pair)
            }
            Self::LtOperator(pair) | Self::LteOperator(pair) | Self::AddOperator(pair) | Self::SubOperator(pair) => {
                Some(pair)
            }
            Self::MulOperator(pair) | Self::DivOperator(pair) => Some(pair),
            _ => None,
        }
    }

    /// Returns this expression and all below it, in the order in which they take answers.
    pub(super) fn parts(&self) -> Vec<&Self> {
        let children: Vec<&Self> = match self {
            Self::AndOperator { children } | Self::OrOperator { children } => children.iter().collect(),
            Self::ConditionalOperator {
                condition,
                true_expression,
                false_expression,
            } => vec![&**condition, &**true_expression, &**false_expression],
            other => other
                .pair()
                .into_iter()
                .flat_map(|pair| [&*pair.left, &*pair.right])
                .collect(),
        };
        std::iter::once(self)
            .chain(children.into_iter().flat_map(Self::parts))
            .collect()
    }

    /// Returns the questions to the model, in the order of their answers.
    pub(super) fn questions(&self) -> impl Iterator<Item = &Question> {
        self.parts().into_iter().filter_map(|part| match part {
            Self::Llm(question) => Some(question),
            _ => None,
        })
    }

    /// Returns the value if it depends neither on a variable nor on the model.
    pub(super) fn constant(&self) -> Option<Value> {
        let depends = |part: &Self| matches!(part, Self::DynamicVariable { .. } | Self::Llm(_));
        if self.parts().into_iter().any(depends) {
            return None;
        }
        let scope = Scope {
            set: &BTreeMap::new(),
            known: &BTreeMap::new(),
        };
        self.value(&scope, &mut [].iter())
    }

    /// Returns whether this is a division by a constant 0.
    pub(super) fn divides_by_zero(&self) -> bool {
        let Self::DivOperator(pair) = self else { return false };
        pair.right.constant().and_then(|value| number(&value)) == Some(0.0)
    }

    /// Returns the type of the value, if it is certain.
    fn certain_type(&self) -> Option<&'static str> {
        match self {
            Self::NullLiteral => Some("null"),
            Self::BooleanLiteral { .. } | Self::AndOperator { .. } | Self::OrOperator { .. } => Some("a boolean"),
            Self::EqOperator(_) | Self::NeqOperator(_) | Self::GtOperator(_) => Some("a boolean"),
            Self::GteOperator(_) | Self::LtOperator(_) | Self::LteOperator(_) => Some("a boolean"),
            Self::NumberLiteral { .. } => Some("a number"),
            Self::SubOperator(_) | Self::MulOperator(_) | Self::DivOperator(_) => Some("a number"),
            // A text may be written for a number, or for true and false.
            Self::StringLiteral { value } => {
                let is_other =
                    value.trim().parse::<f64>().is_ok() || value.trim().to_lowercase().parse::<bool>().is_ok();
                (!is_other).then_some("a text")
            }
            Self::Llm(question) => match question.entity().kind {
                EntityKind::Boolean => Some("a boolean"),
                EntityKind::Number | EntityKind::Integer => Some("a number"),
                EntityKind::String => None,
            },
            Self::AddOperator(_) | Self::DynamicVariable { .. } | Self::ConditionalOperator { .. } => None,
        }
    }

    /// Returns the types of the two sides of an operator that never has a result, or always the same.
    pub(super) fn mismatch(&self) -> Option<String> {
        let pair = self.pair()?;
        let (left, right) = (pair.left.certain_type(), pair.right.certain_type());
        let has = |kind| left == Some(kind) || right == Some(kind);
        let are_alike = left.zip(right).is_none_or(|(left, right)| left == right);
        let fits = match self {
            Self::EqOperator(_) | Self::NeqOperator(_) => are_alike || has("null"),
            Self::AddOperator(_) => has("a text") || !has("null") && !has("a boolean"),
            Self::SubOperator(_) | Self::MulOperator(_) | Self::DivOperator(_) => {
                !has("a text") && !has("null") && !has("a boolean")
            }
            _ => are_alike && !has("null") && !has("a boolean"),
        };
        let shown = |side: Option<&'static str>| side.unwrap_or("a value");
        (!fits).then(|| format!("{} and {}", shown(left), shown(right)))
    }
}

/// Returns `decisive` if any part has that truth, its opposite if all parts have that, and otherwise none.
fn decided(parts: impl Iterator<Item = Option<Value>>, decisive: bool) -> Option<Value> {
    let mut truth = Some(!decisive);
    for part in parts {
        match part {
            Some(value) if is_true(&value) == decisive => truth = Some(decisive),
            None if truth == Some(!decisive) => truth = None,
            Some(_) | None => {}
        }
    }
    truth.map(Value::Bool)
}

/// Returns whether a value counts as true.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !matches!(text.trim().to_lowercase().as_str(), "" | "false" | "no" | "0"),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// Returns the number that a value is; a text may represent one.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    number.filter(|number: &f64| number.is_finite())
}

/// Returns whether two values are equal. Numbers may be written as texts, and case does not count.
fn is_equal(left: &Value, right: &Value) -> bool {
    if let (Some(left), Some(right)) = (number(left), number(right)) {
        return left.partial_cmp(&right) == Some(Ordering::Equal);
    }
    match (is_blank(left), is_blank(right)) {
        (false, false) => plain(left) == plain(right),
        (left, right) => left == right,
    }
}

/// Returns the order of two numbers, or of two texts.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    if let (Some(left), Some(right)) = (number(left), number(right)) {
        return left.partial_cmp(&right);
    }
    let are_texts = left.is_string() && right.is_string() && !is_blank(left) && !is_blank(right);
    are_texts.then(|| plain(left).cmp(&plain(right)))
}

fn plain(value: &Value) -> String {
    in_words(value).trim().to_lowercase()
}
