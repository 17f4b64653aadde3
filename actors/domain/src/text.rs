//! Characters that do not belong in words, whatever their source: a NUL that no database stores, an escape
//! sequence that a terminal obeys, an override that reverses the text after it.

/// Returns whether a character moves a cursor, breaks a line or changes the text direction.
pub fn is_odd(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a character is invisible and only controls how others are shown (Unicode category Cf). It
/// can separate what belongs together, or change what is read.
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

/// Returns whether a text is invisible: spaces, control characters and format characters only.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_odd(c) || is_format(c))
}

/// Removes such characters from a text; those that separate words become spaces.
pub fn plain(words: &str) -> String {
    let signs = words.chars().filter_map(|c| match c {
        c if c.is_whitespace() => Some(' '),
        c => (!is_odd(c)).then_some(c),
    });
    signs.collect()
}

/// Returns the beginning of a text, at most `most` bytes long.
pub fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
