//! Removes words of the agent that the recogniser heard in an echo from the user's words.

use crate::{babble::MISSING, turn::words::bare};

/// Number of the agent's words that are remembered.
const REMEMBERED: usize = 40;

/// Number of successive words that a recogniser may get wrong, add or leave out in an echo: "choose day" for "Tuesday".
const MISHEARD: usize = 2;

/// Numbers of words heard and words said that a mishearing passes over, the likeliest first; at most
/// [`MISHEARD`] of each.
const PASSED_OVER: [(usize, usize); 8] = [(1, 1), (0, 1), (1, 0), (2, 1), (1, 2), (0, 2), (2, 0), (2, 2)];

/// Removes words at the front of `text` that are a stretch of the agent's words. The last word may be half
/// recognised, and missing text matches anything.
pub(super) fn without_own<'a>(text: &'a str, said: &str) -> &'a str {
    without(text, said, matching)
}

/// Does the same if no voice but the agent's was heard. Words that differ slightly from the agent's are
/// misheard ones: up to [`MISHEARD`] of them in a row, and at the end, where the word that would decide may
/// still come.
pub(super) fn without_misheard<'a>(text: &'a str, said: &str) -> &'a str {
    let rest = without(text, said, misheard);
    match rest.split_whitespace().count() <= MISHEARD {
        true => "",
        false => rest,
    }
}

/// Removes as many words from the front of `text` as `count` finds in the best stretch of the agent's words.
fn without<'a>(text: &'a str, said: &str, count: impl Fn(&[String], &[String]) -> usize) -> &'a str {
    let said: Vec<String> = said.split_whitespace().map(bare).collect();
    let said = said.get(said.len().saturating_sub(REMEMBERED)..).unwrap_or_default();
    let heard: Vec<String> = text.split_whitespace().map(bare).collect();
    let longest = (0..said.len())
        .map(|from| count(&heard, said.get(from..).unwrap_or_default()))
        .max()
        .unwrap_or(0);
    let mut rest = text.trim();
    for _ in 0..longest {
        rest = rest
            .split_once(char::is_whitespace)
            .map_or("", |(_, rest)| rest.trim_start());
    }
    // Some of the agent's words are lost too.
    rest.trim_start_matches(|c: char| c == MISSING || c.is_whitespace())
}

/// Returns how many words from the front are the agent's, some of them misheard. The last of them is not misheard.
fn misheard(heard: &[String], said: &[String]) -> usize {
    let run = |heard_at: usize, said_at: usize| {
        let rest = heard.get(heard_at..).zip(said.get(said_at..));
        rest.map_or(0, |(heard, said)| matching(heard, said))
    };
    let first = run(0, 0);
    let (mut at, mut said_at) = (first, first);
    loop {
        let next = PASSED_OVER.iter().find_map(|(over, under)| {
            let same = run(at + over, said_at + under);
            (same > 0).then_some((at + over + same, said_at + under + same))
        });
        let Some(next) = next else { return at };
        (at, said_at) = next;
    }
}

/// Returns how many words from the front are the same.
fn matching(heard: &[String], said: &[String]) -> usize {
    let last = heard.len().saturating_sub(1);
    let same = heard.iter().zip(said).enumerate().take_while(|(at, (heard, said))| {
        heard == said || heard.is_empty() || (*at == last && said.starts_with(heard.as_str()))
    });
    same.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_words_are_taken_out_and_the_users_stay() {
        let said = "Good morning, this is Ann. Is noon good for you?";
        for (text, rest) in [
            ("this is", ""),
            ("This is Ann. Is no", ""),
            ("is noon", ""),
            ("this is Ann. Stop, please.", "Stop, please."),
            ("this … Ann. Stop.", "Stop."),
            ("noon good … Stop.", "Stop."),
            ("…Stop.", "Stop."),
            ("Stop this", "Stop this"),
            ("", ""),
            ("yes", "yes"),
        ] {
            assert_eq!(without_own(text, said), rest, "{text:?}");
        }
        assert_eq!(without_own("hello", ""), "hello");
    }

    #[test]
    fn an_echo_that_is_misheard_is_the_agents_and_other_words_are_not() {
        let said = "Thank you, Ann. Which Tuesday is good for you, and is this your first visit?";
        for (text, rest) in [
            ("which choose day is good", ""),
            ("Which uh Tuesday", ""),
            ("witch Tuesday is could for you", ""),
            ("is good you and", ""),
            ("is this your this v", ""),
            ("is this your so fir", ""),
            ("them some", ""),
            ("Stop", ""),
            ("is this your first wait I am on", "wait I am on"),
            ("no I am busy", "no I am busy"),
            ("…", ""),
            ("", ""),
        ] {
            assert_eq!(without_misheard(text, said), rest, "{text:?}");
        }
    }
}
