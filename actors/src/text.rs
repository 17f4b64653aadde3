//! Signs that are no part of words, wherever the words come from: a NUL that no database takes, an escape that a terminal
//! obeys, an override that turns what stands behind it.

/// Whether a sign moves a cursor, breaks a line or turns the direction of what follows.
pub fn is_odd(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Words without such signs; those that part words become spaces.
pub fn plain(words: &str) -> String {
    let signs = words.chars().filter_map(|c| match c {
        c if c.is_whitespace() => Some(' '),
        c => (!is_odd(c)).then_some(c),
    });
    signs.collect()
}
