//! The corpus: conversations drawn from the grammars by a seed. Every caller has several turns, so that it can be
//! learned how this one pauses.

use crate::{
    caller::Caller,
    chance::Chance,
    grammar::{Grammar, GrammarError, OverlapKind},
    language::{Language, Third, grammar},
    sentence::Sentence,
};

/// Conversations of each language and third in the whole corpus.
pub const CONVERSATIONS: usize = 34;

/// Turns of a conversation.
pub const TURNS: usize = 10;

/// Overlaps of a conversation.
pub const OVERLAPS: usize = 4;

/// Sentences drawn again because the third has them already, before one may come twice.
const ATTEMPTS: usize = 12;

/// A part of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// The agent asks and the caller answers.
    Turn {
        /// Kind of the caller's turn, such as `date`.
        kind: String,
        /// The agent's question.
        question: String,
        /// The caller's words.
        sentence: Sentence,
        /// Time from the agent's last sound to the caller's first, in milliseconds.
        gap_ms: u64,
    },
    /// The caller makes a sound while the agent speaks.
    Overlap {
        /// Kind of the sound.
        kind: OverlapKind,
        /// The agent's words.
        speech: String,
        /// The caller's words; none for a cough or laughter.
        sentence: Sentence,
        /// Milliseconds from the agent's first sound to the caller's. For [`OverlapKind::Answer`], from the
        /// caller's first sound to the agent's last.
        offset_ms: u64,
    },
}

/// A conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// Name, such as `measure-de-07`.
    pub id: String,
    /// Its language.
    pub language: Language,
    /// Its third.
    pub third: Third,
    /// The caller.
    pub caller: Caller,
    /// Its parts, in order.
    pub items: Vec<Item>,
}

/// Draws `count` conversations of a language and a third.
///
/// # Errors
/// Returns an error if the grammar cannot be read.
pub fn conversations(
    seed: u64,
    third: Third,
    language: Language,
    count: usize,
) -> Result<Vec<Conversation>, GrammarError> {
    let grammar = grammar(language, third)?;
    let mut deck = Deck {
        grammar: &grammar,
        chance: Chance::new(seed, &format!("{third} {language}")),
        said: Vec::new(),
    };
    Ok((0..count)
        .map(|at| {
            let caller = Caller::draw(&mut deck.chance);
            let items = deck.items(at, caller.pace);
            Conversation {
                id: format!("{third}-{language}-{at:02}"),
                language,
                third,
                caller,
                items,
            }
        })
        .collect())
}

struct Deck<'a> {
    grammar: &'a Grammar,
    chance: Chance,
    /// Sentences of the third so far.
    said: Vec<String>,
}

impl Deck<'_> {
    /// Draws the parts of conversation number `at`.
    fn items(&mut self, at: usize, pace: f64) -> Vec<Item> {
        let mut kinds: Vec<&String> = self.grammar.turns().keys().collect();
        self.chance.shuffle(&mut kinds);
        let turns = kinds.iter().cycle().take(TURNS);
        let mut items: Vec<Item> = turns.filter_map(|kind| self.turn(kind, pace)).collect();
        for kind in self.overlap_kinds(at) {
            items.extend(self.overlap(kind, pace));
        }
        // The first turn comes first: nobody is interrupted before the greeting.
        if let Some((_, rest)) = items.split_first_mut() {
            self.chance.shuffle(rest);
        }
        items
    }

    fn turn(&mut self, kind: &str, pace: f64) -> Option<Item> {
        let rules = self.grammar.turns().get(kind)?;
        let mut drawn = None;
        for _ in 0..ATTEMPTS {
            let rule = self.chance.pick(rules)?;
            let sentence = self.grammar.draw(&rule.template, pace, &mut self.chance);
            let question = self.chance.pick(&rule.questions).cloned().unwrap_or_default();
            let is_new = !self.said.contains(&sentence.bare());
            drawn = Some((question, sentence));
            if is_new {
                break;
            }
        }
        let (question, sentence) = drawn?;
        self.said.push(sentence.bare());
        Some(Item::Turn {
            kind: kind.to_owned(),
            question,
            sentence,
            gap_ms: self.chance.between(250, 1_400),
        })
    }

    /// Draws the overlaps of conversation number `at`: an interruption, a nod, one of both, and something else in turn.
    fn overlap_kinds(&mut self, at: usize) -> [OverlapKind; OVERLAPS] {
        let nod = match self.chance.index(4) {
            0 => OverlapKind::OkayNod,
            _ => OverlapKind::Nod,
        };
        let either = match self.chance.index(2) {
            0 => OverlapKind::Interruption,
            _ => OverlapKind::Nod,
        };
        let others = [
            OverlapKind::Answer,
            OverlapKind::Aside,
            OverlapKind::Cough,
            OverlapKind::Laughter,
            OverlapKind::OkayNod,
        ];
        [OverlapKind::Interruption, nod, either, others[at % others.len()]]
    }

    fn overlap(&mut self, kind: OverlapKind, pace: f64) -> Option<Item> {
        let is_answer = kind == OverlapKind::Answer;
        let speeches = if is_answer {
            self.grammar.ask()
        } else {
            self.grammar.talk()
        };
        let speech = self.chance.pick(speeches)?.clone();
        let sentence = match kind.has_words() {
            true => {
                let template = self.chance.pick(self.grammar.overlaps(kind))?;
                self.grammar.draw(template, pace, &mut self.chance)
            }
            false => Sentence::default(),
        };
        let offset_ms = match is_answer {
            true => self.chance.between(60, 350),
            false => self.chance.between(900, 5_500),
        };
        Some(Item::Overlap {
            kind,
            speech,
            sentence,
            offset_ms,
        })
    }
}
