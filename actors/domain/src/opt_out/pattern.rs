//! Patterns of words, and the tables of patterns per language.
//!
//! A pattern consists of words with spaces between: `a|b` is one of these, `$name` is a word of a class, `?`
//! after a word makes it optional, `..3` is up to three words of any kind, `!a|b` means not directly after
//! one of these, `~a|b` means not directly before one of these, and `<` and `>` are the beginning and end of
//! the clause.

use std::collections::BTreeSet;

/// Certainty of a wish never to be called again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// It may be meant, so it is worth asking once.
    Likely,
    /// It was said explicitly.
    Clear,
}

/// Condition on the words after a pattern, up to the end of the clause, for the wish to be permanent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Any words may follow.
    Free,
    /// No limit in time follows.
    Ever,
    /// No limit in time follows or comes before the pattern.
    Throughout,
    /// Only words follow that name and limit nothing: "me again", not "me sir".
    Good,
}

/// One way to express the wish.
pub(super) struct Rule {
    pub pattern: &'static str,
    pub then: Then,
    pub says: Wish,
}

/// Creates the rule of a clear wish.
pub(super) const fn clear(pattern: &'static str, then: Then) -> Rule {
    Rule {
        pattern,
        then,
        says: Wish::Clear,
    }
}

/// Creates the rule of a likely wish.
pub(super) const fn likely(pattern: &'static str, then: Then) -> Rule {
    Rule {
        pattern,
        then,
        says: Wish::Likely,
    }
}

/// Rules of one language. Words are written in the form used for comparison: lower case, no accents.
pub(super) struct Table {
    /// Classes: name and words.
    pub classes: &'static [(&'static str, &'static str)],
    pub rules: &'static [Rule],
    /// Words that limit a wish in time, or give a temporary reason.
    pub limits: &'static str,
    /// Phrases that look like a limit but are none.
    pub for_good: &'static [&'static str],
    /// Continuations after which a wish still counts.
    pub goes_on: &'static [&'static str],
    /// Words that begin another topic within the same clause.
    pub breaks: &'static str,
    /// Wishes to be called, which take back an earlier wish.
    pub asks: &'static [&'static str],
    /// Whether commas may stand within a phrase, so that the text is also read without them.
    pub joins: bool,
}

#[derive(Debug)]
enum Item {
    Word { any_of: BTreeSet<String>, optional: bool },
    Gap(usize),
    NotAfter(BTreeSet<String>),
    NotBefore(BTreeSet<String>),
    Begin,
    End,
}

#[derive(Debug)]
struct Pattern(Vec<Item>);

impl Pattern {
    fn of(text: &str, classes: &[(&str, &str)]) -> Self {
        Self(text.split(' ').map(|item| Item::of(item, classes)).collect())
    }

    /// Returns whether the clause contains all required words. Most patterns are excluded here at little cost.
    fn has_its_words(&self, words: &[String]) -> bool {
        self.0.iter().all(|item| match item {
            Item::Word {
                any_of,
                optional: false,
            } => words.iter().any(|word| any_of.contains(word)),
            _ => true,
        })
    }

    /// Calls `accept` with the end of every match of the pattern at `at`, until it returns true.
    fn stands(&self, words: &[String], at: usize, accept: &mut dyn FnMut(usize) -> bool) -> bool {
        stands(&self.0, words, at, accept)
    }
}

fn words_of(text: &str, classes: &[(&str, &str)]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for word in text.split('|') {
        let class = word
            .strip_prefix('$')
            .and_then(|name| classes.iter().find(|(known, _)| *known == name));
        match class {
            Some((_, words)) => all.extend(words_of(words, classes)),
            None => {
                all.insert(word.to_owned());
            }
        }
    }
    all
}

impl Item {
    fn of(text: &str, classes: &[(&str, &str)]) -> Self {
        let words = |text: &str| words_of(text, classes);
        match text {
            "<" => return Self::Begin,
            ">" => return Self::End,
            _ => {}
        }
        if let Some(count) = text.strip_prefix("..") {
            return Self::Gap(count.parse().unwrap_or(0));
        }
        if let Some(text) = text.strip_prefix('!') {
            return Self::NotAfter(words(text));
        }
        if let Some(text) = text.strip_prefix('~') {
            return Self::NotBefore(words(text));
        }
        match text.strip_suffix('?') {
            Some(text) => Self::Word {
                any_of: words(text),
                optional: true,
            },
            None => Self::Word {
                any_of: words(text),
                optional: false,
            },
        }
    }
}

fn stands(items: &[Item], words: &[String], at: usize, accept: &mut dyn FnMut(usize) -> bool) -> bool {
    let Some((item, rest)) = items.split_first() else {
        return accept(at);
    };
    let goes_on = |here: bool, accept: &mut dyn FnMut(usize) -> bool| here && stands(rest, words, at, accept);
    match item {
        Item::Begin => goes_on(at == 0, accept),
        Item::End => goes_on(at == words.len(), accept),
        Item::NotAfter(none_of) => {
            let before = at.checked_sub(1).and_then(|before| words.get(before));
            goes_on(before.is_none_or(|word| !none_of.contains(word)), accept)
        }
        Item::NotBefore(none_of) => goes_on(words.get(at).is_none_or(|word| !none_of.contains(word)), accept),
        Item::Gap(most) => (0..=*most)
            .take_while(|skipped| at + skipped <= words.len())
            .any(|skipped| stands(rest, words, at + skipped, accept)),
        Item::Word { any_of, optional } => {
            let is_there = words.get(at).is_some_and(|word| any_of.contains(word));
            (is_there && stands(rest, words, at + 1, accept)) || (*optional && stands(rest, words, at, accept))
        }
    }
}

/// A parsed table.
pub(super) struct Language {
    rules: Vec<(Pattern, Then, Wish)>,
    limits: BTreeSet<String>,
    for_good: Vec<Pattern>,
    goes_on: Vec<Pattern>,
    breaks: BTreeSet<String>,
    asks: Vec<Pattern>,
    joins: bool,
}

impl Language {
    pub(super) fn of(table: &Table) -> Self {
        let patterns = |all: &[&str]| all.iter().map(|text| Pattern::of(text, table.classes)).collect();
        let rules = table.rules.iter();
        Self {
            rules: rules
                .map(|rule| (Pattern::of(rule.pattern, table.classes), rule.then, rule.says))
                .collect(),
            limits: words_of(table.limits, table.classes),
            for_good: patterns(table.for_good),
            goes_on: patterns(table.goes_on),
            breaks: words_of(table.breaks, table.classes),
            asks: patterns(table.asks),
            joins: table.joins,
        }
    }

    /// Returns the most certain wish that later words do not take back.
    pub(super) fn wish(&self, clauses: &[Vec<String>]) -> Option<Wish> {
        let joined = self.joins.then(|| [clauses.concat()]);
        let whole = joined.and_then(|whole| self.wish_in(&whole));
        self.wish_in(clauses).max(whole)
    }

    fn wish_in(&self, clauses: &[Vec<String>]) -> Option<Wish> {
        let mut best = None;
        for (at, clause) in clauses.iter().enumerate() {
            let later = &clauses[at + 1..];
            for (pattern, then, says) in &self.rules {
                // "Don't call me, I'm driving" may apply only for now.
                let passes = *then != Then::Free && later.first().is_some_and(|next| self.is_limited(next));
                let says = if passes { Wish::Likely } else { *says };
                if Some(says) > best && self.holds(pattern, *then, clause, later) {
                    best = Some(says);
                }
            }
        }
        best
    }

    /// Returns whether the pattern matches anywhere in the clause, permanently, and is not taken back in the
    /// clauses after it.
    fn holds(&self, pattern: &Pattern, then: Then, clause: &[String], later: &[Vec<String>]) -> bool {
        pattern.has_its_words(clause)
            && (0..=clause.len()).any(|begin| {
                pattern.stands(clause, begin, &mut |end| {
                    self.is_for_good(then, clause, begin, end) && !self.is_taken_back(&clause[end..], later)
                })
            })
    }

    fn is_for_good(&self, then: Then, clause: &[String], begin: usize, end: usize) -> bool {
        let (before, after) = (&clause[..begin], &clause[end..]);
        match then {
            Then::Free => true,
            Then::Ever => !self.is_limited(after),
            Then::Throughout => !self.is_limited(before) && !self.is_limited(&clause[begin..]),
            Then::Good => self.only_goes_on(after) && !self.is_limited(after),
        }
    }

    fn is_limited(&self, words: &[String]) -> bool {
        let mut at = 0;
        while at < words.len() {
            match length(&self.for_good, words, at) {
                Some(length) => at += length,
                None if self.limits.contains(&words[at]) => return true,
                None => at += 1,
            }
        }
        false
    }

    fn only_goes_on(&self, words: &[String]) -> bool {
        let mut at = 0;
        while at < words.len() && !self.breaks.contains(&words[at]) {
            let length = length(&self.for_good, words, at).or_else(|| length(&self.goes_on, words, at));
            match length {
                Some(length) => at += length,
                None => return false,
            }
        }
        true
    }

    fn is_taken_back(&self, rest: &[String], clauses: &[Vec<String>]) -> bool {
        let asks = |words: &[String]| {
            let mut places = (0..words.len()).flat_map(|at| self.asks.iter().map(move |pattern| (at, pattern)));
            places.any(|(at, pattern)| pattern.stands(words, at, &mut |_| true))
        };
        asks(rest) || clauses.iter().any(|clause| asks(clause))
    }
}

/// Returns the number of words of the longest match of the patterns at `at`.
fn length(patterns: &[Pattern], words: &[String], at: usize) -> Option<usize> {
    let mut most = 0;
    for pattern in patterns {
        pattern.stands(words, at, &mut |end| {
            most = most.max(end - at);
            false
        });
    }
    (most > 0).then_some(most)
}
