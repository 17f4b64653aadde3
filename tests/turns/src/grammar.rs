//! Grammars: plain text files with lists of names and sections of sentences.
//!
//! - `[list NAME]`: a thing in each line.
//! - `[turn KIND]`: `? …` is a question of the agent, and the lines after the questions are answers to them.
//! - `[overlap KIND]`: the words said while the agent speaks.
//! - `[talk]` and `[ask]`: long statements of the agent, the second kind ending in a question.
//!
//! In a sentence `(a|b)` is a choice and `{NAME}` something of a list. `{digits 3}` and `{digits 2-4}` are
//! digits in a row, `{groups 7-10}` digits in groups with pauses, `{pairs 4}` numbers of two digits with pauses,
//! and `{spell NAME}` the letters of something with pauses. `~um` is a filled pause. `<pause 400-900>` is a
//! pause in milliseconds after words that are unfinished, `<pause 400-900 whole>` one after words that could be
//! the end of the turn.

mod drawing;
mod template;

use std::collections::BTreeMap;

pub use template::Template;

use crate::{chance::Chance, sentence::Sentence};

/// Error: a file that is no grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {problem}")]
pub struct GrammarError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1 on.
    pub line: usize,
    /// The problem and the way out.
    pub problem: String,
}

/// Kinds of sound over the agent's voice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OverlapKind {
    /// The caller takes the floor.
    Interruption,
    /// A backchannel.
    Nod,
    /// An `okay` that means no more than a nod.
    OkayNod,
    /// An `okay` that answers the question with which the agent ends.
    Answer,
    /// Words to somebody else.
    Aside,
    /// A cough.
    Cough,
    /// Laughter.
    Laughter,
}

impl OverlapKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Interruption,
        Self::Nod,
        Self::OkayNod,
        Self::Answer,
        Self::Aside,
        Self::Cough,
        Self::Laughter,
    ];

    /// Returns its name in the grammars.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interruption => "interruption",
            Self::Nod => "nod",
            Self::OkayNod => "okay-nod",
            Self::Answer => "answer",
            Self::Aside => "aside",
            Self::Cough => "cough",
            Self::Laughter => "laughter",
        }
    }

    /// Returns whether it consists of words.
    pub fn has_words(self) -> bool {
        !matches!(self, Self::Cough | Self::Laughter)
    }
}

/// A sentence of a section, with the questions of the agent before it.
#[derive(Debug, Clone)]
pub struct TurnRule {
    /// Questions to which it is an answer.
    pub questions: Vec<String>,
    /// The sentence.
    pub template: Template,
}

/// A grammar.
#[derive(Debug, Clone, Default)]
pub struct Grammar {
    lists: BTreeMap<String, Vec<String>>,
    turns: BTreeMap<String, Vec<TurnRule>>,
    overlaps: BTreeMap<OverlapKind, Vec<Template>>,
    talk: Vec<String>,
    ask: Vec<String>,
}

impl Grammar {
    /// Reads a grammar from its text, and the lists in `shared`.
    ///
    /// # Errors
    /// Returns an error with the line if a section is unknown or a sentence cannot be read or drawn.
    pub fn parse(file: &str, text: &str, shared: &str) -> Result<Self, GrammarError> {
        let mut grammar = Self::default();
        grammar.read(&format!("shared words of {file}"), shared)?;
        grammar.read(file, text)?;
        Ok(grammar)
    }

    /// Returns the lists, with the shared ones.
    pub fn lists(&self) -> &BTreeMap<String, Vec<String>> {
        &self.lists
    }

    /// Returns the sentences of each kind of turn.
    pub fn turns(&self) -> &BTreeMap<String, Vec<TurnRule>> {
        &self.turns
    }

    /// Returns the sentences of a kind of overlap.
    pub fn overlaps(&self, kind: OverlapKind) -> &[Template] {
        self.overlaps.get(&kind).map_or(&[], Vec::as_slice)
    }

    /// Returns the long statements of the agent.
    pub fn talk(&self) -> &[String] {
        &self.talk
    }

    /// Returns the statements of the agent that end in a question.
    pub fn ask(&self) -> &[String] {
        &self.ask
    }

    /// Returns all sentences.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let turns = self.turns.values().flatten().map(|rule| &rule.template);
        turns.chain(self.overlaps.values().flatten())
    }

    /// Draws a sentence. A `pace` above 1 makes pauses longer.
    pub fn draw(&self, template: &Template, pace: f64, chance: &mut Chance) -> Sentence {
        drawing::draw(self, template, pace, chance)
    }

    fn read(&mut self, file: &str, text: &str) -> Result<(), GrammarError> {
        let mut section = Section::None;
        let mut templates = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            let fail = |problem: String| GrammarError {
                file: file.to_owned(),
                line: at + 1,
                problem,
            };
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = Section::parse(header).map_err(fail)?;
            } else if let Some(template) = self.take(&mut section, line).map_err(fail)? {
                templates.push((at + 1, template));
            }
        }
        for (line, template) in templates {
            template.check(&self.lists).map_err(|problem| GrammarError {
                file: file.to_owned(),
                line,
                problem,
            })?;
        }
        Ok(())
    }

    /// Takes a line of a section. Returns the sentence if it is one.
    fn take(&mut self, section: &mut Section, line: &str) -> Result<Option<Template>, String> {
        let template = match section {
            Section::None => return Err("begin a section first, such as [list name]".to_owned()),
            Section::List(name) => {
                self.lists.entry(name.clone()).or_default().push(line.to_owned());
                return Ok(None);
            }
            Section::Talk => {
                self.talk.push(line.to_owned());
                return Ok(None);
            }
            Section::Ask => {
                self.ask.push(line.to_owned());
                return Ok(None);
            }
            Section::Turn {
                questions, answered, ..
            } if line.starts_with("? ") => {
                if std::mem::take(answered) {
                    questions.clear();
                }
                questions.push(line[2..].to_owned());
                return Ok(None);
            }
            Section::Turn {
                kind,
                questions,
                answered,
            } => {
                *answered = true;
                let template = Template::parse(line)?;
                let rules = self.turns.entry(kind.clone()).or_default();
                rules.push(TurnRule {
                    questions: questions.clone(),
                    template: template.clone(),
                });
                template
            }
            Section::Overlap(kind) => {
                let template = Template::parse(line)?;
                self.overlaps.entry(*kind).or_default().push(template.clone());
                template
            }
        };
        Ok(Some(template))
    }
}

/// The section in which a line is.
enum Section {
    None,
    List(String),
    Turn {
        kind: String,
        questions: Vec<String>,
        /// Whether answers followed the questions.
        answered: bool,
    },
    Overlap(OverlapKind),
    Talk,
    Ask,
}

impl Section {
    fn parse(header: &str) -> Result<Self, String> {
        let (kind, name) = header.split_once(' ').unwrap_or((header, ""));
        match (kind, name) {
            ("list", name) if !name.is_empty() => Ok(Self::List(name.to_owned())),
            ("turn", kind) if !kind.is_empty() => Ok(Self::Turn {
                kind: kind.to_owned(),
                questions: Vec::new(),
                answered: false,
            }),
            ("overlap", name) => {
                let mut kinds = OverlapKind::ALL.into_iter();
                let kind = kinds.find(|kind| kind.name() == name && kind.has_words());
                kind.map(Self::Overlap)
                    .ok_or_else(|| format!("[{header}]: no overlap with words is called {name:?}"))
            }
            ("talk", "") => Ok(Self::Talk),
            ("ask", "") => Ok(Self::Ask),
            _ => Err(format!(
                "[{header}]: write [list NAME], [turn KIND], [overlap KIND], [talk] or [ask]"
            )),
        }
    }
}
