//! Words of the agent that the recogniser heard in an echo, taken out of the user's words.

use crate::{babble::MISSING, turn::words::bare};

/// Words of the agent that are remembered.
const REMEMBERED: usize = 40;

/// `text` without the words at its front that are a stretch of what the agent said. The last word may be half
/// recognised; what is missing matches anything.
pub(super) fn without_own<'a>(text: &'a str, said: &str) -> &'a str {
    let said: Vec<String> = said.split_whitespace().map(bare).collect();
    let said = said.get(said.len().saturating_sub(REMEMBERED)..).unwrap_or_default();
    let heard: Vec<String> = text.split_whitespace().map(bare).collect();
    let longest = (0..said.len())
        .map(|from| matching(&heard, said.get(from..).unwrap_or_default()))
        .max()
        .unwrap_or(0);
    let mut rest = text.trim();
    for _ in 0..longest {
        rest = rest
            .split_once(char::is_whitespace)
            .map_or("", |(_, rest)| rest.trim_start());
    }
    // Of the agent's words, too, some are lost.
    rest.trim_start_matches(|c: char| c == MISSING || c.is_whitespace())
}

/// How many words from the front are the same.
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
}
