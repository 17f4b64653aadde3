//! Signs that are no part of words, wherever the words come from: a NUL that no database takes, an escape that a terminal
//! obeys, an override that turns what stands behind it.

/// Whether a sign moves a cursor, breaks a line or turns the direction of what follows.
pub fn is_odd(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a sign is not seen at all and only tells how others are shown (Unicode's category Cf): it can part what belongs
/// together, or turn what is read.
pub fn is_format(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}'
            | '\u{e0020}'..='\u{e007f}'
    )
}

/// Whether nothing of it is seen: spaces, signs that move a cursor, and such as only tell how others are shown.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_odd(c) || is_format(c))
}

/// Words without such signs; those that part words become spaces.
pub fn plain(words: &str) -> String {
    let signs = words.chars().filter_map(|c| match c {
        c if c.is_whitespace() => Some(' '),
        c => (!is_odd(c)).then_some(c),
    });
    signs.collect()
}
