//! Evidence for collected values: the turn in which the callee said a value, or affirmed a question with it.

mod sought;

use chrono::NaiveDate;

pub(crate) use self::sought::Sought;
use self::sought::contains;
use crate::{
    agent::Agent,
    knowledge::language_of,
    ports::{
        language_model::Speaker,
        store::{Evidence, TurnFact},
    },
    prompt::main_code,
    spoken::{Word, is_correction, is_link, known, read, settled, token, yes_or_no},
};

/// Most turns over which a value may be spread.
const MOST_SPREAD: usize = 4;
/// Longest quote that is kept, in characters.
const MOST_QUOTED: usize = 500;
/// Words that leave an answer open.
const HEDGES: [&str; 3] = ["<but>", "<fix>", "<or>"];

/// A turn's words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// Number of the turn.
    pub seq: i64,
    pub speaker: Speaker,
    pub text: &'a str,
    pub interrupted: bool,
}

impl<'a> From<&'a TurnFact> for Line<'a> {
    fn from(turn: &'a TurnFact) -> Self {
        Self {
            seq: turn.seq,
            speaker: turn.speaker,
            text: &turn.text,
            interrupted: turn.interrupted,
        }
    }
}

impl<'a> Line<'a> {
    fn is_callee(&self) -> bool {
        self.speaker == Speaker::User
    }

    fn asks(&self) -> bool {
        self.text.trim_end().ends_with(['?', '？'])
    }

    /// Returns the words that count: the last word of an interrupted turn may have been heard in part.
    fn heard(&self) -> &'a str {
        let text = self.text.trim_end();
        let is_cut = self.interrupted && !text.ends_with(['?', '？', '.', '!']);
        let end = text.rfind(char::is_whitespace).filter(|_| is_cut);
        &text[..end.unwrap_or(text.len())]
    }
}

/// A turn as it is read in one language.
struct Reading {
    language: &'static str,
    words: Vec<Word>,
    settled: Vec<Word>,
}

struct Turn<'a> {
    line: Line<'a>,
    readings: Vec<Reading>,
}

/// The turns of a call, in comparable words.
pub(crate) struct Record<'a> {
    turns: Vec<Turn<'a>>,
    today: NaiveDate,
}

impl<'a> Record<'a> {
    /// Reads the turns of a call on the day `today`. Each is read in its own language, that of the turn before, and the
    /// agent's.
    pub fn of(lines: impl IntoIterator<Item = Line<'a>>, agent: &Agent, today: NaiveDate) -> Self {
        let own = known(&main_code(&agent.conversation_config.agent.primary_language));
        let mut before = None;
        let turn = |line: Line<'a>| {
            let its = language_of(line.text);
            let english = own.or(its).is_none().then_some("en");
            let mut languages: Vec<&'static str> = [own, its, before, english].into_iter().flatten().collect();
            before = its;
            languages.sort_unstable();
            languages.dedup();
            let reading = |language| {
                let words = read(line.heard(), language);
                Reading {
                    language,
                    settled: settled(&words),
                    words,
                }
            };
            let readings = languages.into_iter().map(reading).collect();
            Turn { line, readings }
        };
        Self {
            turns: lines.into_iter().map(turn).collect(),
            today,
        }
    }

    /// Returns the evidence for a value: the turn that the quote is from, or without a quote the last turn that supports
    /// the value. None if the callee took the value back later.
    pub fn evidence(&self, sought: Sought<'_>, quote: Option<&str>) -> Option<Evidence> {
        let callee = (0..self.turns.len()).filter(|at| self.is_callee(*at));
        let stances: Vec<_> = callee.filter_map(|at| Some((at, self.stance(at, sought)?))).collect();
        stances.last().filter(|(_, stands)| *stands)?;
        let mut standing = stances.iter().filter(|(_, stands)| *stands).map(|(at, _)| *at);
        let at = match quote {
            None => standing.next_back(),
            Some(quote) => standing.find(|at| self.is_from(quote, *at, sought)),
        };
        let line = self.turns.get(at?)?.line;
        let its_own = quote.map(str::trim).filter(|quote| line.text.contains(quote));
        Some(Evidence {
            turn: line.seq,
            quote: its_own.unwrap_or(line.text).chars().take(MOST_QUOTED).collect(),
        })
    }

    fn is_callee(&self, at: usize) -> bool {
        self.turns.get(at).is_some_and(|turn| turn.line.is_callee())
    }

    /// Returns the turns of the callee before one, over which a value may be spread; the latest first.
    fn earlier(&self, at: usize) -> impl Iterator<Item = usize> {
        let callee = (0..at).rev().filter(|before| self.is_callee(*before));
        callee.take(MOST_SPREAD - 1)
    }

    fn readings(&self, at: usize) -> &[Reading] {
        self.turns.get(at).map_or(&[], |turn| &turn.readings)
    }

    /// Returns whether a quote is from this turn of the callee, from one before over which the value is spread, or
    /// from the question that the turn answers. Some of its words may be changed, since models rephrase.
    fn is_from(&self, quote: &str, at: usize, sought: Sought<'_>) -> bool {
        let quote = quote.trim_start_matches("User:");
        let is_exact = (0..self.turns.len()).any(|turn| self.quotes(turn, quote, false));
        let is_of = |turn: usize| self.quotes(turn, quote, !is_exact);
        if is_of(at) || self.says(at, sought).is_some() {
            return is_of(at);
        }
        match self.question(at) {
            Some(question) => is_of(question),
            None => self.earlier(at).any(is_of),
        }
    }

    /// Returns whether a quote is from a turn; roughly, if two thirds of its words are.
    fn quotes(&self, at: usize, quote: &str, roughly: bool) -> bool {
        self.readings(at).iter().any(|reading| {
            let quote = read(quote, reading.language);
            let its: Vec<&Word> = quote.iter().filter(|word| !is_link(word)).collect();
            let is_same = |word: &&&Word| reading.words.iter().any(|other| other.text == word.text);
            match roughly {
                true => !its.is_empty() && its.iter().filter(is_same).count() * 3 >= its.len() * 2,
                false => contains(&reading.words, &quote, false),
            }
        })
    }

    /// Returns whether a turn of the callee stands for a value or against it.
    fn stance(&self, at: usize, sought: Sought<'_>) -> Option<bool> {
        if let Some(flag) = sought.flag() {
            return self.flag(at, sought).map(|said| said == flag);
        }
        if let Some(said) = self.says(at, sought) {
            return Some(said);
        }
        let before = self.earlier(at).next();
        if before.is_some_and(|before| self.says(before, sought) == Some(true) && self.corrects(at, before, sought)) {
            return Some(false);
        }
        self.answers(at, sought)
            .or_else(|| self.completes(at, sought).then_some(true))
    }

    /// Returns whether a turn says a value: true if it does, false if the value is negated or corrected in it.
    fn says(&self, at: usize, sought: Sought<'_>) -> Option<bool> {
        let has = |words: &[Word], reading: &Reading| sought.is_in(words, reading.language, self.today);
        let mut readings = self.readings(at).iter();
        if readings.clone().any(|reading| has(&reading.settled, reading)) {
            return Some(true);
        }
        // "It does not start" is negated, and so is the value.
        let is_negative = |reading: &Reading| sought.is_negative(reading.language);
        let is_taken_back = readings.clone().any(|reading| has(&reading.words, reading));
        is_taken_back.then(|| readings.any(is_negative))
    }

    /// Returns whether a turn corrects the callee's turn before: it names another number or day behind a "no".
    fn corrects(&self, at: usize, before: usize, sought: Sought<'_>) -> bool {
        // A "no" to a question about something else corrects nothing.
        let is_other = self
            .question(at)
            .is_some_and(|question| self.says(question, sought).is_none());
        let mut both = self.readings(at).iter().zip(self.readings(before));
        both.any(|(now, before)| {
            let marks = |at: &usize| is_correction(&now.words, *at) && !(is_other && now.words[*at].is(&Word::NO));
            let marked = (0..now.words.len()).find(marks);
            let later = &now.words[marked.unwrap_or(now.words.len())..];
            later.iter().any(|word| before.words.iter().any(|old| old.rivals(word)))
        })
    }

    /// Returns the turn of the agent directly before, if it ends with a question or was interrupted in one.
    fn question(&self, at: usize) -> Option<usize> {
        let before = at.checked_sub(1)?;
        let line = self.turns.get(before)?.line;
        ((line.asks() || line.interrupted) && !line.is_callee()).then_some(before)
    }

    /// Returns whether a turn affirms or denies the agent's question with a value in it.
    fn answers(&self, at: usize, sought: Sought<'_>) -> Option<bool> {
        let text = self.turns.get(self.question(at)?)?.line.heard();
        let is_open = self.turns.get(at)?.line.asks();
        self.readings(at).iter().find_map(|reading| {
            let read = |text: &str| read(text, reading.language);
            let has = |text: &str| sought.is_in(&settled(&read(text)), reading.language, self.today);
            let refers = |word: &Word| word.is(&Word::YES) || word.is(&["<this>"]);
            let last = last_sentence(text);
            let asked = match has(last) {
                true => last,
                false => Some(text).filter(|_| read(last).iter().any(refers) && has(text))?,
            };
            let question = read(asked);
            let is_same = |word: &Word| question.iter().any(|other| other.text == word.text);
            let is_plain =
                |word: &Word| !word.is(&Word::NO) && !word.is(&HEDGES) && (word.kind().is_none() || is_same(word));
            match yes_or_no(&reading.words)? {
                true if is_open || question.iter().any(|word| word.is(&["<or>"])) => None,
                true => reading.words.iter().all(is_plain).then_some(true),
                false => Some(false),
            }
        })
    }

    /// Returns whether a turn completes a value that is spread over turns of the callee.
    fn completes(&self, at: usize, sought: Sought<'_>) -> bool {
        sought.may_be_spread()
            && self.readings(at).iter().any(|last| {
                let mut earlier: Vec<Word> = Vec::new();
                self.earlier(at).any(|before| {
                    let mut readings = self.readings(before).iter();
                    let reading = readings.find(|reading| reading.language == last.language);
                    let words = reading.map(|reading| reading.settled.clone()).unwrap_or_default();
                    earlier = joined(words, &earlier);
                    let has = |words: &[Word]| sought.is_in(words, last.language, self.today);
                    has(&joined(earlier.clone(), &last.settled)) && !has(&earlier)
                })
            })
    }

    /// Returns the flag that a turn gives: by a yes or no to a question about it, or by a statement.
    fn flag(&self, at: usize, sought: Sought<'_>) -> Option<bool> {
        let line = self.turns.get(at)?.line;
        let asked = self.question(at).and_then(|question| self.turns.get(question));
        let asked = asked.map(|turn| last_sentence(turn.line.heard()));
        let asked = asked.filter(|asked| sought.is_topic_of(asked));
        let readings = self.readings(at).iter().filter(|_| !line.asks());
        let flag = |reading: &Reading| {
            let answer = yes_or_no(&reading.words);
            let is_negative = |words: &[Word]| words.iter().any(|word| word.is(&Word::NO));
            if let Some(asked) = asked {
                let is_hedged = reading.words.iter().any(|word| word.is(&HEDGES));
                return answer.filter(|_| !is_hedged && !is_negative(&read(asked, reading.language)));
            }
            let is_statement = answer.is_none() || reading.words.len() > 2;
            (is_statement && sought.shares_words(line.text)).then(|| !is_negative(&reading.words))
        };
        readings.filter_map(flag).next()
    }
}

/// Returns the words with further ones behind them, in clauses of their own.
fn joined(mut words: Vec<Word>, further: &[Word]) -> Vec<Word> {
    let clauses = 1 + words.last().map_or(0, |word| word.clause);
    words.extend(further.iter().cloned().map(|mut word| {
        word.clause += clauses;
        word
    }));
    words
}

/// Returns the last sentence of a text. The point of "6. Januar" ends none.
fn last_sentence(text: &str) -> &str {
    let body = text.trim_end().trim_end_matches(['?', '？', '.', '!', ' ']);
    let ends = body.match_indices(['.', '!', '?', '।', '？']);
    let mut ends = ends.filter_map(|(at, end)| {
        let behind = &body[at + end.len()..];
        let next = behind.split_whitespace().next()?;
        let is_month = token("de", &next.to_lowercase()).is_some_and(|token| token.starts_with("<month"));
        let is_date = body[..at].ends_with(char::is_numeric) && (is_month || next.starts_with(char::is_lowercase));
        (behind.starts_with(char::is_whitespace) && !is_date).then_some(at + end.len())
    });
    &text[ends.next_back().unwrap_or_default()..]
}

#[cfg(test)]
mod tests;
