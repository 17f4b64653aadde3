//! Slots: what an interviewer asks for, and how its question and answers are recognised.

use std::collections::BTreeMap;

use media::turn::{
    barge_in::floor,
    expectation::{Expectation, Progress},
};
use serde_json::Value;

use super::{
    answer, phrases,
    question::{Question, in_words},
};
use crate::{
    agent::{Agent, Entity, EntityKind},
    opt_out,
    phrases::asks_about_opt_out,
};

/// Share of a question's words by which an agent's own wording, or an early answer, is recognised.
const RECOGNISED: f64 = 0.67;
/// Number of words of a question after which its topic is clear.
const BEGUN_WORDS: usize = 2;

/// A value to ask for.
pub(super) struct Slot {
    /// Name of the entity; none for the message that is taken if there is nothing to collect.
    pub name: Option<String>,
    pub entity: Entity,
    pub question: Question,
}

impl Slot {
    /// Returns whether a text of the agent asks for this.
    pub fn asked_in(&self, text: &str) -> bool {
        if text.contains(&self.question.first) || text.contains(&self.question.again) || self.nearly_asked_in(text) {
            return true;
        }
        let Some(question) = last_question(text) else {
            return false;
        };
        let plain = phrases::plain(question);
        if self.name.is_none() {
            return phrases::contains(&plain, "help") || phrases::contains(&plain, "do for you");
        }
        self.is_spoken_of(&plain)
    }

    /// Returns whether the text contains enough of the question's words.
    pub fn is_spoken_of(&self, plain: &str) -> bool {
        let keywords = &self.question.keywords;
        let said = keywords.iter().filter(|word| phrases::contains(plain, word)).count();
        #[expect(clippy::cast_precision_loss, reason = "a handful of words")]
        let share = said as f64 / keywords.len().max(1) as f64;
        share >= RECOGNISED
    }

    /// Returns whether a text was cut off within the question, after enough words to make its topic clear.
    pub fn is_begun_in(&self, text: &str) -> bool {
        let question = self.question.first.as_str();
        let heard = question.match_indices(' ').map(|(at, _)| &question[..at]);
        let text = text.trim_end();
        heard.skip(BEGUN_WORDS - 1).any(|heard| text.ends_with(heard))
    }

    /// Returns whether the words are of the requested kind, for example a day or digits.
    pub fn wants(&self, text: &str) -> bool {
        Expectation::of(&self.question.first).progress(text) != Progress::Unknown
    }

    /// Returns whether `text` answers the call's opt-out question in `said`, or is of its kind rather than of
    /// this question's.
    pub fn is_passed_over(&self, said: &str, text: &str) -> bool {
        asks_about_opt_out(said) && (opt_out::answer(text).is_some() || !self.wants(text))
    }

    /// Returns the value in a text. A question for plain words may also be phrased so that it is answered
    /// with yes or no.
    pub fn understand(&self, text: &str) -> Option<Value> {
        let plain = || {
            let wanted = self.entity.kind == EntityKind::String && self.entity.allowed.is_empty();
            let asks = wanted && Expectation::of(&self.question.first) == Expectation::YesNo;
            let yes = asks.then(|| answer::yes_or_no(text)).flatten()?;
            Some(Value::from(if yes { "Yes" } else { "No" }))
        };
        answer::understand(&self.entity, text).or_else(plain)
    }

    /// Returns whether the words are only a sound of attention and cannot be the answer.
    pub fn is_only_attended_to_by(&self, text: &str) -> bool {
        self.entity.kind != EntityKind::Boolean
            && floor::is_nod(text)
            && !Expectation::of(&self.question.first).takes_backchannel(text)
    }

    /// Returns whether any words are an answer.
    pub fn takes_anything(&self) -> bool {
        self.entity.kind == EntityKind::String && self.entity.allowed.is_empty()
    }

    /// Returns whether the answer is dictated in pieces.
    pub fn is_dictated(&self) -> bool {
        matches!(Expectation::of(&self.question.first), Expectation::Dictation(_))
    }

    /// Returns whether digits said after this question are its answer, rather than the rest of the previous
    /// one `answered`.
    pub fn takes_digits(&self, text: &str, answered: &str, before: &Self) -> bool {
        let short = Expectation::of(&before.question.first).progress(answered) == Progress::Short;
        let wanted = match self.entity.kind {
            EntityKind::Integer | EntityKind::Number => true,
            EntityKind::Boolean => false,
            EntityKind::String => self.is_dictated() || !short && self.wants(text),
        };
        wanted && answer::understand(&self.entity, text).is_some()
    }

    /// Returns whether a text was cut off so near the question's end that the question was clear.
    fn nearly_asked_in(&self, text: &str) -> bool {
        let question = self.question.first.as_str();
        let ends = question
            .char_indices()
            .map(|(at, _)| at)
            .filter(|at| *at * 4 >= question.len() * 3);
        let text = text.trim_end();
        ends.map(|end| question[..end].trim_end())
            .any(|heard| !heard.is_empty() && text.ends_with(heard))
    }

    pub fn is_about_a_name(&self) -> bool {
        self.question.keywords.iter().any(|word| word == "name")
    }

    /// Returns whether the answer describes the user's wish.
    pub fn is_about_a_wish(&self) -> bool {
        [
            "reason", "request", "question", "concern", "problem", "issue", "topic", "subject", "purpose", "help",
            "call",
        ]
        .iter()
        .any(|word| self.is_about(word))
    }

    /// Returns whether the answer may contain words about calls or goodbyes, which then do not end the interview.
    pub fn is_about(&self, word: &str) -> bool {
        self.question.keywords.iter().any(|keyword| keyword.starts_with(word))
    }
}

/// Returns what to ask for: the agent's entities, or a message if there are none.
pub(super) fn slots(agent: &Agent, variables: &BTreeMap<String, String>, open_question: &str) -> Vec<Slot> {
    // A placeholder must not be read aloud.
    let entities = agent.platform_settings.data_collection.filled(variables);
    if entities.is_empty() {
        let question = Question {
            first: open_question.to_owned(),
            again: format!("Once more: {open_question}"),
            keywords: Vec::new(),
        };
        let entity = Entity::default();
        return vec![Slot {
            name: None,
            entity,
            question,
        }];
    }
    let slots = entities.into_iter().map(|(name, mut entity)| {
        let question = Question::of(&name, &entity);
        if entity.description.trim().is_empty() {
            entity.description = in_words(&name);
        }
        Slot {
            question,
            name: Some(name),
            entity,
        }
    });
    slots.collect()
}

/// Returns the last question in a text.
pub(super) fn last_question(text: &str) -> Option<&str> {
    let end = text.rfind('?')?;
    let start = text[..end].rfind(['.', '!', '?']).map_or(0, |at| at + 1);
    text.get(start..=end).map(str::trim)
}
