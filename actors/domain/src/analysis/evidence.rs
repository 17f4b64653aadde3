//! Evidence for collected values: the turn in which the callee said a value, or affirmed a question with it.

use chrono::NaiveDate;

use crate::{
    agent::{Agent, Entity, EntityKind},
    knowledge::{is_function_word, language_of, terms},
    ports::{
        language_model::Speaker,
        store::{Evidence, TurnFact},
    },
    prompt::main_code,
    spoken::{Word, known, read, time, tokens},
};

/// Most turns over which a value may be spread.
const MOST_SPREAD: usize = 4;
/// Fewest digits of a number that may be spread over turns, such as a telephone number.
const LONG_NUMBER: usize = 5;
/// Longest quote that is kept, in characters.
const MOST_QUOTED: usize = 500;

const YES: [&str; 2] = ["<yes>", "<fine>"];
const NO: [&str; 3] = ["<no>", "<not>", "<un>"];

/// A value that is looked for in a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sought<'a> {
    /// Name of its entity.
    pub name: &'a str,
    /// The entity.
    pub entity: &'a Entity,
    /// The value.
    pub value: &'a str,
}

/// A turn as it is read in one language.
struct Reading {
    language: &'static str,
    words: Vec<Word>,
}

/// The turns of a call, in comparable words.
pub(crate) struct Record<'a> {
    turns: &'a [TurnFact],
    readings: Vec<Vec<Reading>>,
    today: NaiveDate,
}

impl<'a> Record<'a> {
    /// Reads the turns of a call of this day. Each is read in its own language and in the agent's.
    pub fn of(turns: &'a [TurnFact], agent: &Agent, today: NaiveDate) -> Self {
        let own = known(&main_code(&agent.conversation_config.agent.primary_language));
        let mut before = None;
        let read_turn = |turn: &TurnFact| {
            let its = language_of(&turn.text);
            let mut languages: Vec<&'static str> = [own, its, before].into_iter().flatten().collect();
            before = its;
            languages.push("en");
            if own.or(its).is_some() && languages.first() != Some(&"en") && its != Some("en") {
                languages.pop();
            }
            languages.sort_unstable();
            languages.dedup();
            let readings = languages.into_iter().map(|language| Reading {
                language,
                words: read(heard(turn), language),
            });
            readings.collect()
        };
        Self {
            readings: turns.iter().map(read_turn).collect(),
            turns,
            today,
        }
    }

    /// Returns the evidence for a value in the turn that a quote is from; without a quote, in the last turn that
    /// is any. None if the callee took the value back later.
    pub fn evidence(&self, sought: Sought<'_>, quote: Option<&str>) -> Option<Evidence> {
        let callee: Vec<usize> = (0..self.turns.len()).filter(|at| self.is_callee(*at)).collect();
        let said = callee.iter().filter_map(|at| Some((*at, self.stance(*at, sought)?)));
        let said: Vec<(usize, bool)> = said.collect();
        let (last, true) = *said.last()? else { return None };
        let at = match quote {
            None => last,
            Some(quote) => {
                let mut found = said.iter().filter(|(_, stands)| *stands).map(|(at, _)| *at);
                found.find(|at| self.is_from(quote, *at, sought))?
            }
        };
        let turn = self.turns.get(at)?;
        let its_own = quote.map(str::trim).filter(|quote| turn.text.contains(quote));
        Some(Evidence {
            turn: turn.seq,
            quote: its_own.unwrap_or(&turn.text).chars().take(MOST_QUOTED).collect(),
        })
    }

    fn is_callee(&self, at: usize) -> bool {
        self.turns.get(at).is_some_and(|turn| turn.speaker == Speaker::User)
    }

    /// Returns whether a quote is from this turn of the callee, from one before over which the value is spread, or
    /// from the question that the turn answers. Some of its words may be changed, since models rephrase.
    fn is_from(&self, quote: &str, at: usize, sought: Sought<'_>) -> bool {
        let quoted = |turn: usize, roughly: bool| {
            let mut readings = self.readings.get(turn).into_iter().flatten();
            readings.any(|reading| {
                let quote = read(quote, reading.language);
                let its: Vec<&Word> = quote.iter().filter(|word| !is_link(word)).collect();
                let same = its
                    .iter()
                    .filter(|word| reading.words.iter().any(|other| other.text == word.text));
                match roughly {
                    true => !its.is_empty() && same.count() * 3 >= its.len() * 2,
                    false => contains(&reading.words, &quote, false),
                }
            })
        };
        let is_changed = !(0..self.turns.len()).any(|turn| quoted(turn, false));
        let is_of = |turn: usize| quoted(turn, is_changed);
        let question = self.question(at).filter(|_| self.says(at, sought, true).is_none());
        let spread = (0..at)
            .rev()
            .filter(|before| self.is_callee(*before))
            .take(MOST_SPREAD - 1);
        let mut spread = spread.filter(|_| question.is_none() && self.says(at, sought, true).is_none());
        is_of(at) || question.is_some_and(is_of) || spread.any(is_of)
    }

    /// Returns whether a turn of the callee stands for a value or against it.
    fn stance(&self, at: usize, sought: Sought<'_>) -> Option<bool> {
        if let Some(flag) = sought.flag() {
            return self.flag(at, sought).map(|said| said == flag);
        }
        if let Some(said) = self.says(at, sought, true) {
            return Some(said);
        }
        let mut callee_before = (0..at).rev().filter(|before| self.is_callee(*before));
        let before = callee_before.next();
        if before.is_some_and(|before| self.says(before, sought, true) == Some(true) && self.corrects(at, before)) {
            return Some(false);
        }
        self.answers(at, sought)
            .or_else(|| self.spread(at, sought).then_some(true))
    }

    /// Returns whether a turn says a value: true if it does, false if the value is negated or corrected in it.
    fn says(&self, at: usize, sought: Sought<'_>, all: bool) -> Option<bool> {
        let readings = self.readings.get(at)?;
        let said = |words: &[Word], reading: &Reading| sought.is_in(words, reading.language, self.today);
        if readings.iter().any(|reading| said(&settled(&reading.words), reading)) {
            return Some(true);
        }
        let taken_back = all && readings.iter().any(|reading| said(&reading.words, reading));
        // "It does not start" is negated, and so is the value.
        taken_back.then(|| readings.iter().any(|reading| sought.is_negative(reading.language)))
    }

    /// Returns whether a turn corrects the callee's turn before: it names another number or day behind a "no".
    fn corrects(&self, at: usize, before: usize) -> bool {
        let readings = self.readings.get(at).into_iter().flatten();
        let mut both = readings.zip(self.readings.get(before).into_iter().flatten());
        both.any(|(now, before)| {
            let marked = now
                .words
                .iter()
                .enumerate()
                .find(|(at, _)| is_correction(&now.words, *at));
            let later = now.words.iter().skip(marked.map_or(usize::MAX, |(at, _)| at));
            let mut later = later.filter(|word| word.kind().is_some());
            later.any(|word| {
                before
                    .words
                    .iter()
                    .any(|old| old.kind() == word.kind() && old.text != word.text)
            })
        })
    }

    /// Returns the turn of the agent directly before, if it ends with a question or was interrupted in one.
    fn question(&self, at: usize) -> Option<usize> {
        let before = at.checked_sub(1)?;
        let turn = self.turns.get(before)?;
        let asks = turn.text.trim_end().ends_with(['?', '？']) || turn.interrupted;
        (asks && turn.speaker != Speaker::User).then_some(before)
    }

    /// Returns whether a turn affirms or denies the agent's question with a value in it.
    fn answers(&self, at: usize, sought: Sought<'_>) -> Option<bool> {
        let text = heard(self.turns.get(self.question(at)?)?);
        let open = !self.turns.get(at)?.text.trim_end().ends_with('?');
        let readings = self.readings.get(at)?.iter();
        let mut answers = readings.filter_map(|reading| {
            let last = last_sentence(text);
            let has = |text: &str| sought.is_in(&read(text, reading.language), reading.language, self.today);
            let refers = |word: &Word| word.is(&YES) || word.is(&["<this>"]);
            let is_choice = |text: &str| read(text, reading.language).iter().any(|word| word.is(&["<or>"]));
            let asked = match has(last) {
                true => last,
                false => Some(text).filter(|_| read(last, reading.language).iter().any(refers) && has(text))?,
            };
            let answer = yes_or_no(&reading.words)?;
            let question = read(asked, reading.language);
            let is_new = |word: &Word| word.kind().is_some() && !question.iter().any(|other| other.text == word.text);
            let plain = |word: &Word| !word.is(&NO) && !word.is(&["<but>", "<fix>", "<or>"]) && !is_new(word);
            match answer {
                true => (open && !is_choice(asked) && reading.words.iter().all(plain)).then_some(true),
                false => Some(false),
            }
        });
        answers.next()
    }

    /// Returns whether a value is spread over turns of the callee, of which this one is the last.
    fn spread(&self, at: usize, sought: Sought<'_>) -> bool {
        let digits = sought.value.chars().filter(char::is_ascii_digit).count();
        if sought.is_number() && digits < LONG_NUMBER {
            return false;
        }
        let callee: Vec<usize> = (0..at)
            .rev()
            .filter(|before| self.is_callee(*before))
            .take(MOST_SPREAD - 1)
            .collect();
        let readings = self.readings.get(at).into_iter().flatten();
        readings.into_iter().any(|last| {
            let mut earlier: Vec<Word> = Vec::new();
            callee.iter().any(|before| {
                let words = self.readings.get(*before).into_iter().flatten();
                let mut words = words.filter(|reading| reading.language == last.language);
                let mut words = words.next().map(|reading| settled(&reading.words)).unwrap_or_default();
                words.append(&mut earlier);
                earlier = words;
                let later = settled(&last.words);
                let clauses = 1 + earlier.iter().map(|word| word.clause).max().unwrap_or_default();
                let later = later.into_iter().map(|word| Word {
                    clause: word.clause + clauses,
                    ..word
                });
                let both: Vec<Word> = earlier.iter().cloned().chain(later).collect();
                let has = |words: &[Word]| sought.is_in(words, last.language, self.today);
                has(&both) && !has(&earlier)
            })
        })
    }

    /// Returns the flag that a turn gives: by a yes or no to a question about it, or by a statement.
    fn flag(&self, at: usize, sought: Sought<'_>) -> Option<bool> {
        let turn = self.turns.get(at)?;
        if turn.text.trim_end().ends_with('?') {
            return None;
        }
        let readings = self.readings.get(at)?.iter();
        let asked = self.question(at).and_then(|question| self.turns.get(question));
        let asked = asked
            .map(|turn| last_sentence(heard(turn)))
            .filter(|asked| sought.is_topic_of(asked));
        let mut flags = readings.filter_map(|reading| {
            let answer = yes_or_no(&reading.words);
            let is_negative = |words: &[Word]| words.iter().any(|word| word.is(&NO));
            if let Some(asked) = asked {
                let hedged = reading.words.iter().any(|word| word.is(&["<but>", "<fix>", "<or>"]));
                return answer.filter(|_| !hedged && !is_negative(&read(asked, reading.language)));
            }
            let stated = answer.is_none() || reading.words.len() > 3;
            (stated && sought.shares_words(&turn.text)).then(|| !is_negative(&reading.words))
        });
        flags.next()
    }
}

impl Sought<'_> {
    fn is_number(&self) -> bool {
        let is_kind = matches!(self.entity.kind, EntityKind::Integer | EntityKind::Number);
        is_kind && self.value.parse::<f64>().is_ok()
    }

    /// Returns the flag that the value is, also if it is the text "yes" or "no".
    fn flag(&self) -> Option<bool> {
        match (self.entity.kind, self.value, read(self.value, "en").as_slice()) {
            (EntityKind::Boolean, "true", _) => Some(true),
            (EntityKind::Boolean, "false", _) => Some(false),
            (_, _, [word]) if word.is(&["<yes>"]) => Some(true),
            (_, _, [word]) if word.is(&["<no>"]) => Some(false),
            _ => None,
        }
    }

    fn is_negative(&self, language: &str) -> bool {
        read(self.value, language).iter().any(|word| word.is(&NO))
    }

    /// Returns whether words contain the value.
    fn is_in(&self, words: &[Word], language: &str, today: NaiveDate) -> bool {
        if self.is_number() {
            return self.is_counted_in(words);
        }
        let value = self.value.replace('_', " ");
        let is_international = value.trim_start().starts_with('+');
        let digits: String = value.chars().filter(char::is_ascii_digit).collect();
        let national = (1..=3)
            .filter(|_| is_international)
            .filter_map(|code| digits.get(code..));
        let mut national = national.filter(|digits| digits.len() > LONG_NUMBER + 1);
        let told = |text: &str, language: &str| {
            let value = read(text, language);
            [false, true].iter().any(|loosely| contains(words, &value, *loosely))
        };
        [language, "en"]
            .iter()
            .any(|language| told(&value, language) || is_timed(&value, language, words, today))
            || national.any(|digits| told(digits, "en") || told(&format!("0{digits}"), "en"))
    }

    /// Returns whether words contain the number, alone or digit by digit, other than in a time or a date.
    fn is_counted_in(&self, words: &[Word]) -> bool {
        let Ok(wanted) = self.value.parse::<f64>() else {
            return false;
        };
        if wanted >= 10_f64.powi(4) && contains(words, &read(self.value, "en"), false) {
            return true;
        }
        let mut runs = words.chunk_by(|a, b| a.clause == b.clause && a.figure().is_some() == b.figure().is_some());
        let mut at = 0;
        runs.any(|run| {
            let before = at.min(words.len()).checked_sub(1).and_then(|at| words.get(at));
            at += run.len();
            let behind = words.get(at);
            let is_time = before
                .is_some_and(|word| word.is(&["<at>", "ⓣ", "<past>"]) && wanted <= 24.0 || word.text.contains(':'))
                || behind.is_some_and(|word| {
                    word.is(&["<h>", "<am>", "<pm>", "ⓣ", "<past>"]) || word.text.starts_with("<month")
                });
            let sign = if before.is_some_and(|word| word.is(&["ⓗ"])) {
                -1.0
            } else {
                1.0
            };
            let text: String = run.iter().map(|word| word.text.as_str()).collect();
            let is_figure = run.first().is_some_and(|word| word.figure().is_some());
            is_figure
                && !is_time
                && text
                    .parse::<f64>()
                    .is_ok_and(|number| (number * sign - wanted).abs() < 1e-9)
        })
    }

    /// Returns whether a question is about the entity. One in another language than the description's cannot be
    /// compared and counts as being about it.
    fn is_topic_of(&self, question: &str) -> bool {
        let asked = language_of(question).unwrap_or("en");
        let described = language_of(&self.entity.description).unwrap_or("en");
        self.shares_words(question) || asked != described
    }

    fn shares_words(&self, text: &str) -> bool {
        let apart = |c: char| {
            if c.is_uppercase() {
                format!(" {c}")
            } else {
                c.to_string()
            }
        };
        let name: String = self.name.replace('_', " ").chars().map(apart).collect();
        let own = terms(&format!("{name} {}", self.entity.description), text);
        terms(text, text).iter().any(|term| own.contains(term))
    }
}

/// Returns the words of a turn that count: the last word of an interrupted turn may have been heard in part.
fn heard(turn: &TurnFact) -> &str {
    let text = turn.text.trim_end();
    let cut = turn.interrupted && !text.ends_with(['?', '？', '.', '!']);
    text.rfind(char::is_whitespace)
        .filter(|_| cut)
        .map_or(text, |at| &text[..at])
}

/// Returns the last sentence of a text. The point of "6. Januar" ends none.
fn last_sentence(text: &str) -> &str {
    let body = text.trim_end().trim_end_matches(['?', '\u{ff1f}', '.', '!', ' ']);
    let ends = body.match_indices(['.', '!', '?', '\u{964}', '\u{ff1f}']);
    let mut ends = ends.filter_map(|(at, end)| {
        let behind = &body[at + end.len()..];
        let next = behind.split_whitespace().next()?.to_lowercase();
        let is_date = tokens(&next).any(|token| token.starts_with("<month")) && body[..at].ends_with(char::is_numeric);
        (behind.starts_with(char::is_whitespace) && !is_date).then_some(at + end.len())
    });
    &text[ends.next_back().unwrap_or_default()..]
}

/// Returns the answer that the first yes or no gives. A word such as "good" answers only in a few words.
fn yes_or_no(words: &[Word]) -> Option<bool> {
    let first = words.iter().find(|word| word.is(&YES) || word.is(&NO))?;
    let answers = !first.is(&["<fine>"]) || words.len() <= 6;
    answers.then(|| first.is(&YES))
}

/// Returns whether a word only links others, or says nothing.
fn is_link(word: &Word) -> bool {
    let tokens = [
        "<at>", "<to>", "<past>", "<in>", "<and>", "<as>", "<the>", "<um>", "<th>", "<this>", "<yes>", "<fine>", "<h>",
        "<next>", "<date>", "<1>", "<pm>", "<am>",
    ];
    word.is(&tokens) || is_function_word(&word.text)
}

/// Returns whether the words contain a value, in one or several words: "a d a" contains "Ada". Loosely, words that
/// only link others are passed over.
fn contains(words: &[Word], value: &[Word], loosely: bool) -> bool {
    let counts = |word: &&Word| !(word.is(&["<um>", "<th>", "ⓗ"]) || loosely && is_link(word));
    let text = |word: &Word| {
        if word.is(&["<at>"]) {
            "ⓐ".to_owned()
        } else {
            word.text.clone()
        }
    };
    let wanted: String = value.iter().filter(counts).map(text).collect();
    let words: Vec<&Word> = words.iter().filter(counts).collect();
    let is_figure = |at: Option<usize>| {
        at.and_then(|at| words.get(at))
            .is_some_and(|word| word.figure().is_some())
    };
    let same = |a: usize, b: usize| words.get(a).map(|word| word.clause) == words.get(b).map(|word| word.clause);
    !wanted.is_empty()
        && (0..words.len()).any(|begin| {
            let mut rest = wanted.as_str();
            let used = words[begin..].iter().take_while(|word| {
                let left = rest
                    .strip_prefix(text(word).as_str())
                    .filter(|_| !rest.is_empty() && !word.text.is_empty());
                rest = left.unwrap_or(rest);
                left.is_some()
            });
            let end = begin + used.count();
            let goes_on = is_figure(end.checked_sub(1)) && is_figure(Some(end)) && same(end - 1, end);
            let began =
                is_figure(begin.checked_sub(1)) && is_figure(Some(begin)) && same(begin.saturating_sub(1), begin);
            rest.is_empty() && !goes_on && !began
        })
}

/// Returns whether words contain the date and the time of a value, whatever else it says.
fn is_timed(value: &str, language: &str, words: &[Word], today: NaiveDate) -> bool {
    let (date, time) = time::written(value);
    let read = read(value, language);
    let is_clock = |word: &Word| word.is(&["<h>", "<am>", "<pm>", "ⓣ"]) || word.text.contains(':');
    let written = date.is_some() || time.is_some();
    let dates = date.map_or_else(|| time::dates(&read, today), |date| vec![date]);
    let times = match time {
        Some(time) => vec![time],
        None if !written && read.iter().any(is_clock) => time::times(&read),
        None => Vec::new(),
    };
    if dates.is_empty() && times.is_empty() {
        return false;
    }
    let (said, told) = (time::dates(words, today), time::times(words));
    let is_rest =
        |word: &&Word| !written && word.kind().is_none() && !word.text.starts_with(['<', 'ⓣ']) && !is_link(word);
    (dates.is_empty() || dates.iter().any(|date| said.contains(date)))
        && (times.is_empty() || times.iter().any(|time| told.contains(time)))
        && read
            .iter()
            .filter(is_rest)
            .all(|word| words.iter().any(|other| other.text == word.text))
}

/// Returns whether a word takes back what was said before it.
fn is_correction(words: &[Word], at: usize) -> bool {
    let Some(word) = words.get(at) else { return false };
    let first = at == 0 || words.get(at - 1).is_none_or(|before| before.clause != word.clause);
    let alone = first && words.get(at + 1).is_none_or(|behind| behind.clause != word.clause);
    word.is(&["<fix>"]) || word.is(&["<no>"]) && first || word.is(&["<not>"]) && alone
}

/// Returns the words with those left empty that the speaker negated, corrected or left open.
fn settled(words: &[Word]) -> Vec<Word> {
    let mut kept = words.to_vec();
    let clauses: Vec<&[Word]> = words.chunk_by(|a, b| a.clause == b.clause).collect();
    for (at, clause) in clauses.iter().enumerate() {
        let is_no = |word: &Word| word.is(&NO);
        let begun = usize::from(clause.first().is_some_and(|word| word.is(&["<no>"])));
        let negated = clause.iter().skip(begun).any(is_no) && clause.len() > 1;
        // "Tuesday? That doesn't work."
        let bare = clause
            .iter()
            .all(|word| word.kind().is_some() || is_link(word) && !word.is(&YES));
        let denied = clauses.get(at + 1).is_some_and(|next| {
            bare && next.len() <= 4 && next.iter().any(is_no) && !(next.len() > 1 && next.first().is_some_and(is_no))
        });
        let rivals = |word: &Word| {
            clause
                .iter()
                .any(|other| word.kind().is_some() && word.kind() == other.kind() && word.text != other.text)
        };
        let open = clause.iter().any(|word| word.is(&["<or>"])) && clause.iter().any(rivals);
        if negated || denied || open {
            let its = kept
                .iter_mut()
                .filter(|word| clause.first().is_some_and(|first| first.clause == word.clause));
            its.for_each(|word| word.text.clear());
        }
    }
    for at in (0..words.len()).filter(|at| is_correction(words, *at)) {
        let later: Vec<&Word> = words.iter().skip(at + 1).collect();
        let kinds: Vec<char> = later.iter().filter_map(|word| word.kind()).collect();
        let anew = kinds.is_empty() && (1..=2).contains(&later.len());
        let clause = words.get(at).map_or(0, |word| word.clause);
        for word in kept.iter_mut().take(at) {
            let is_old = word.kind().is_some_and(|kind| kinds.contains(&kind));
            if is_old || anew && word.clause + 1 >= clause {
                word.text.clear();
            }
        }
    }
    kept
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod evidence_tests;
