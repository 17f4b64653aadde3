//! Patterns of words, and the tables in which each language keeps its own.
//!
//! A pattern is words with spaces between: `a|b` one of these, `$name` one of a class, `?` behind it may be missing,
//! `..3` up to three words of any kind, `!a|b` not right behind one of these, `~a|b` not right before one of these, `<`
//! and `>` the clause's begin and end.

use std::collections::BTreeSet;

use super::Wish;

/// What must follow a pattern, up to the end of its clause, for the wish to hold for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Anything.
    Free,
    /// Nothing that bounds it in time.
    Ever,
    /// The same, and nothing before the pattern does either.
    Throughout,
    /// Only what goes on without naming or bounding anything: "me again", not "me sir".
    Good,
}

/// One way to say it.
pub(super) struct Rule {
    pub pattern: &'static str,
    pub then: Then,
    pub says: Wish,
}

/// A clear wish.
pub(super) const fn clear(pattern: &'static str, then: Then) -> Rule {
    Rule {
        pattern,
        then,
        says: Wish::Clear,
    }
}

/// A likely one.
pub(super) const fn likely(pattern: &'static str, then: Then) -> Rule {
    Rule {
        pattern,
        then,
        says: Wish::Likely,
    }
}

/// One language's ways. Words are written as they are compared: lower case, no accents.
pub(super) struct Table {
    /// Name and words.
    pub classes: &'static [(&'static str, &'static str)],
    pub rules: &'static [Rule],
    /// Words that bound a wish in time, or give a reason that passes.
    pub limits: &'static str,
    /// What looks like a bound and is none.
    pub for_good: &'static [&'static str],
    /// How a wish may go on and stay one.
    pub goes_on: &'static [&'static str],
    /// Words behind which, in one breath, something else begins.
    pub breaks: &'static str,
    /// A wish to be called, which takes back one before it.
    pub asks: &'static [&'static str],
    /// Commas stand within what belongs together, so that it is read without them too.
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

    /// Whether every word that must be there is somewhere in the clause; most patterns fall here, at little cost.
    fn has_its_words(&self, words: &[String]) -> bool {
        self.0.iter().all(|item| match item {
            Item::Word {
                any_of,
                optional: false,
            } => words.iter().any(|word| any_of.contains(word)),
            _ => true,
        })
    }

    /// Calls `accept` with the end of every way in which the pattern stands at `at`, until it returns true.
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

/// A table, read.
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

    /// The surest wish that no later words take back.
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
                // "Don't call me, I'm driving": perhaps for now only.
                let passes = *then != Then::Free && later.first().is_some_and(|next| self.is_limited(next));
                let says = if passes { Wish::Likely } else { *says };
                if Some(says) > best && self.holds(pattern, *then, clause, later) {
                    best = Some(says);
                }
            }
        }
        best
    }

    /// Whether the pattern stands anywhere in the clause, for good, and is not taken back in the clauses after it.
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

/// How many words one of the patterns takes at `at`, the most.
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
