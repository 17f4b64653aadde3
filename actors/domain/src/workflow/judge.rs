//! Judgement of conditions without a model: by shared words, numbers, yes and no, and what was collected.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use serde_json::Value;

use super::{
    expression::Question,
    graph::{Graph, Test},
    step::{Candidate, Choice},
};
use crate::{
    agent::{Entity, EntityKind},
    analysis::values::in_words,
    interviewer::{
        corrected, number,
        phrases::{Intent, contains, intent, plain},
        understand, yes_or_no,
    },
    knowledge::terms,
};

/// Fewest words of content of a condition that can be judged.
const FEWEST_WORDS: usize = 2;
/// A condition with more words of content must share two of them.
const SHORT_WORDS: usize = 6;

/// Words of conditions that do not tell what the caller says.
const ABOUT_CALLERS: &str = "caller callers user users customer client contact says said asks asked wants wanted needs mentions \
    mentioned talks speaks requests requested question questions conversation call agrees agree accepts accept confirms confirm declines decline \
    refuses refuse rejects reject disagrees interested willing says yes no never without";
/// Stems of [`ABOUT_CALLERS`].
static ABOUT: LazyLock<BTreeSet<Box<str>>> =
    LazyLock::new(|| terms(ABOUT_CALLERS, ABOUT_CALLERS).into_iter().collect());
/// Words that a caller who asks for a person may mean.
const PERSON: &str = "person human operator people staff representative";
/// Words of conditions under which the caller says yes.
const YES: [&str; 12] = [
    "yes",
    "agrees",
    "agree",
    "agreed",
    "accepts",
    "accept",
    "confirms",
    "confirm",
    "confirmed",
    "affirms",
    "interested",
    "willing",
];
/// Words of conditions under which the caller says no.
const NO: [&str; 9] = [
    "no",
    "declines",
    "decline",
    "declined",
    "refuses",
    "refuse",
    "rejects",
    "reject",
    "disagrees",
];
/// Words that turn a condition round.
const NOT: [&str; 7] = ["not", "never", "without", "isn't", "doesn't", "don't", "won't"];
/// Words with which the caller gives no answer, and words with which an answer begins.
const NOT_KNOWN: [&str; 5] = ["don't know", "do not know", "no idea", "not sure", "don't remember"];
const ANSWERS: [&str; 4] = ["yes", "yeah", "no", "nope"];
/// Words of conditions that make a number a lower or an upper limit.
const LOWER_LIMIT: [&str; 7] = ["at least", "or more", "more than", "over", "above", "greater", "older"];
const UPPER_LIMIT: [&str; 8] = [
    "at most",
    "or less",
    "or fewer",
    "less than",
    "fewer",
    "under",
    "below",
    "younger",
];
/// Those among them that include the limit.
const INCLUDING: [&str; 5] = ["at least", "or more", "at most", "or less", "or fewer"];

/// Returns the choice among the candidates and the values, as the words of the caller tell them. `values` are those
/// that the graph set.
pub fn by_words(
    candidates: &[Candidate],
    questions: &[Question],
    said: &str,
    values: &BTreeMap<String, Value>,
) -> (Choice, Vec<Option<Value>>) {
    let conditions: Vec<&str> = candidates
        .iter()
        .map(|candidate| candidate.condition.as_str())
        .collect();
    let choice = choice(&conditions, said, values).map_or(Choice::Stay, Choice::Candidate);
    let mut answered: BTreeSet<&'static str> = BTreeSet::new();
    let answers = questions
        .iter()
        .map(|question| answer(question, said, values, &mut answered));
    (choice, answers.collect())
}

/// Returns the paths of the conditions that are never judged without a model. Blank ones are findings of the graph.
pub fn unjudged(graph: &Graph) -> Vec<String> {
    let edges = graph.edges.iter().flat_map(|(id, edge)| {
        edge.tests().filter_map(move |(name, test)| match test {
            Test::Llm { condition } => Some((format!("workflow.edges.{id}.{name}"), condition)),
            _ => None,
        })
    });
    let global = graph.nodes.iter().filter_map(|(id, node)| {
        let global = node.global.as_ref()?;
        Some((format!("workflow.nodes.{id}.global"), &global.condition))
    });
    let unjudged = edges
        .chain(global)
        .filter(|(_, condition)| !condition.trim().is_empty() && !Condition::of(condition).can_be_judged());
    unjudged.map(|(path, _)| path).collect()
}

/// A condition in words.
struct Condition {
    plain: String,
    /// All words of content.
    content: usize,
    /// Those that tell what the caller says.
    telling: BTreeSet<Box<str>>,
    /// Whether the caller says yes or no, if the condition names that.
    answer: Option<bool>,
    is_negative: bool,
    number: Option<f64>,
}

impl Condition {
    fn of(text: &str) -> Self {
        let plain = plain(text);
        let has = |words: &[&str]| words.iter().any(|word| contains(&plain, word));
        let content = terms(text, text);
        let is_negated = has(&NOT);
        let answer = match (has(&YES), has(&NO)) {
            (true, false) => Some(!is_negated),
            (false, true) => Some(is_negated),
            _ => None,
        };
        Self {
            content: content.len(),
            telling: content.into_iter().filter(|term| !ABOUT.contains(term)).collect(),
            answer,
            is_negative: is_negated || answer == Some(false),
            number: number(text),
            plain,
        }
    }

    fn can_be_judged(&self) -> bool {
        let tells = !self.telling.is_empty() || self.answer.is_some() || self.number.is_some();
        self.content >= FEWEST_WORDS && tells
    }

    /// Returns whether a number satisfies the condition's.
    fn takes(&self, said: f64, wanted: f64) -> bool {
        let has = |words: &[&str]| words.iter().any(|word| contains(&self.plain, word));
        match said.total_cmp(&wanted) {
            Ordering::Equal => has(&INCLUDING) || !has(&LOWER_LIMIT) && !has(&UPPER_LIMIT),
            Ordering::Greater => has(&LOWER_LIMIT),
            Ordering::Less => has(&UPPER_LIMIT),
        }
    }

    /// Returns false if no form of a word is in the condition.
    fn may_name(&self, word: &str) -> bool {
        let begin: String = word.to_lowercase().chars().take(2).collect();
        self.plain.contains(&begin) || plain(&begin) != begin
    }

    /// Returns whether a collected value satisfies the condition, which must name the variable.
    fn holds_for(&self, name: &str, value: &Value) -> bool {
        let name = name.replace(['_', '-'], " ");
        // Most names fail here. Stems cost much more.
        if !name.split(' ').all(|word| self.may_name(word)) {
            return false;
        }
        let words = terms(&name, &self.plain);
        let is_named = !words.is_empty() && words.iter().all(|word| self.telling.contains(word));
        let said = || terms(&in_words(value), &self.plain);
        is_named
            && match (value, self.number) {
                (Value::Bool(truth), _) => *truth != self.is_negative,
                (Value::Number(number), Some(wanted)) => number.as_f64().is_some_and(|said| self.takes(said, wanted)),
                (Value::String(_), _) => !said().is_empty() && said().iter().all(|word| self.telling.contains(word)),
                _ => false,
            }
    }

    /// Returns how well the words satisfy the condition, of whose own words this many were said.
    fn score(
        &self,
        said_number: Option<f64>,
        said_yes: Option<bool>,
        shared: usize,
        values: &BTreeMap<String, Value>,
    ) -> usize {
        if !self.can_be_judged() {
            return 0;
        }
        let collected = values.iter().any(|(name, value)| self.holds_for(name, value));
        let number = match (self.number, said_number) {
            (None, _) => 0,
            (Some(wanted), Some(said)) if self.takes(said, wanted) => 3,
            (Some(_), _) if collected => 0,
            (Some(_), _) => return 0,
        };
        let answer = match (self.answer, said_yes) {
            (Some(wanted), Some(said)) if wanted == said => 2,
            (Some(_), Some(_)) => return 0,
            _ => 0,
        };
        let needed = if self.telling.len() > SHORT_WORDS { 2 } else { 1 };
        let shared = if shared >= needed { shared } else { 0 };
        number + answer + 2 * usize::from(collected) + shared
    }
}

/// Returns the condition that the words satisfy best; none if no condition or several do equally.
fn choice(conditions: &[&str], said: &str, values: &BTreeMap<String, Value>) -> Option<usize> {
    let conditions: Vec<Condition> = conditions.iter().map(|text| Condition::of(text)).collect();
    let (said_number, said_yes) = (number(said), says_yes(said));
    let padded = format!(" {} ", plain(said));
    let is_telling = |words: &&str| {
        let tells = |one: &Condition| heard(words, &one.plain).iter().any(|term| one.telling.contains(term));
        conditions.iter().any(tells)
    };
    let last_said = corrected(&padded, false).filter(is_telling).unwrap_or(said);
    let asks_for_a_person = intent(said) == Some(Intent::Person);
    let words = |condition: &Condition| -> [BTreeSet<Box<str>>; 2] {
        let person = if asks_for_a_person { PERSON } else { "" };
        let person = terms(person, &condition.plain).into_iter().collect();
        [heard(last_said, &condition.plain), person]
    };
    let words: Vec<_> = conditions.iter().map(words).collect();
    let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
    for term in conditions.iter().flat_map(|condition| &condition.telling) {
        *holders.entry(term).or_default() += 1;
    }
    let scores = |counts_person: bool| -> Vec<usize> {
        let score = |(condition, [heard, person]): (&Condition, &[BTreeSet<Box<str>>; 2])| {
            // A word of several conditions does not tell them apart.
            let own = condition.telling.iter().filter(|term| holders[&***term] == 1);
            let shared = own.filter(|term| match person.contains(*term) {
                true => counts_person,
                false => heard.contains(*term),
            });
            condition.score(said_number, said_yes, shared.count(), values)
        };
        conditions.iter().zip(&words).map(score).collect()
    };
    // "Somebody in sales" asks for sales rather than for a person.
    let mut scored = scores(false);
    if asks_for_a_person && best(&scored).is_none() {
        scored = scores(true);
    }
    best(&scored).or_else(|| {
        // "Yes" and "no" alone answer the question that the only such condition is about.
        let said_yes = said_yes.filter(|_| scored.iter().all(|score| *score == 0))?;
        let fits = |condition: &Condition| {
            condition.can_be_judged() && condition.number.is_none() && condition.is_negative != said_yes
        };
        let fitting: Vec<usize> = conditions
            .iter()
            .map(|condition| usize::from(fits(condition)))
            .collect();
        best(&fitting)
    })
}

/// Returns the place of the highest score above zero; none if two have it.
fn best(scores: &[usize]) -> Option<usize> {
    let most = scores.iter().copied().max().filter(|most| *most > 0)?;
    let mut places = scores.iter().enumerate().filter(|(_, score)| **score == most);
    let (place, _) = places.next()?;
    places.next().is_none().then_some(place)
}

/// Returns the words that were said, without those that were denied ("not sales"; "no, sales" denies nothing).
fn heard(said: &str, like: &str) -> BTreeSet<Box<str>> {
    let words: Vec<&str> = said.split_whitespace().collect();
    let is_denial = |word: &str| {
        ["not", "no", "except"]
            .iter()
            .any(|denial| word.eq_ignore_ascii_case(denial))
    };
    let kept = words.iter().enumerate().filter(|(at, _)| {
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        !before.is_some_and(|before| is_denial(before))
    });
    let kept: Vec<&str> = kept.map(|(_, word)| *word).collect();
    terms(&kept.join(" "), like).into_iter().collect()
}

/// Returns whether the caller only asks for time, for the question again or who calls, or does not know.
fn is_aside(said: &str) -> bool {
    let plain = plain(said);
    matches!(intent(said), Some(Intent::HoldOn | Intent::Repeat | Intent::WhoIsThis))
        || NOT_KNOWN.iter().any(|phrase| contains(&plain, phrase))
}

/// Returns whether the caller says yes or no.
fn says_yes(said: &str) -> Option<bool> {
    if is_aside(said) {
        return None;
    }
    let plain = plain(said);
    let padded = format!(" {plain} ");
    let begins = |words: &&str| ANSWERS.iter().any(|word| words.starts_with(&format!(" {word} ")));
    let last = corrected(&padded, false).filter(begins).and_then(yes_or_no);
    let has = |words: &[&str]| words.iter().any(|word| contains(&plain, word));
    let named = || match (has(&YES), has(&NO)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    };
    last.or_else(|| yes_or_no(said))
        .or_else(|| named().filter(|_| !asks(said)))
}

fn asks(said: &str) -> bool {
    said.trim_end().ends_with('?')
}

/// Returns the value that the caller's words give for a variable.
pub(super) fn told(entity: &Entity, said: &str) -> Option<Value> {
    match entity.kind {
        EntityKind::Boolean if entity.allowed.is_empty() => says_yes(said).map(Value::Bool),
        _ => understand(entity, said),
    }
}

/// Returns the value that the words give for a question. Only the first question of a type takes them, unless it has
/// choices.
fn answer(
    question: &Question,
    said: &str,
    values: &BTreeMap<String, Value>,
    answered: &mut BTreeSet<&'static str>,
) -> Option<Value> {
    let entity = question.entity();
    let kind = match entity.kind {
        EntityKind::String => "text",
        EntityKind::Number | EntityKind::Integer => "number",
        EntityKind::Boolean => "flag",
    };
    let is_said = || choice(&[entity.description.as_str()], said, values).is_some();
    let is_open = || !asks(said) && !is_aside(said) && says_yes(said) != Some(false);
    if entity.kind == EntityKind::Boolean && is_open() && is_said() {
        return Some(Value::Bool(true));
    }
    let is_free = !entity.allowed.is_empty() || !answered.contains(kind);
    let value = is_free.then(|| told(&entity, said)).flatten()?;
    if entity.allowed.is_empty() {
        answered.insert(kind);
    }
    Some(value)
}
