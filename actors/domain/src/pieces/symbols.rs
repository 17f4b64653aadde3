//! Characters that are visible but not spoken.

/// Returns whether a character is an emoji: pictures, arrows drawn as pictures, dingbats, flags, and
/// modifiers. Digits and letters do not count, although some of them can be turned into a picture.
pub(super) fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{1f000}'..='\u{1faff}'
        | '\u{2600}'..='\u{27bf}'
        | '\u{2b00}'..='\u{2bff}'
        | '\u{2500}'..='\u{25ff}'
        | '\u{231a}' | '\u{231b}' | '\u{2328}' | '\u{23cf}' | '\u{23e9}'..='\u{23fa}'
        | '\u{2934}' | '\u{2935}' | '\u{203c}' | '\u{2049}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{20e3}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{e0020}'..='\u{e007f}')
}

/// Returns whether a character is a control character, a direction mark, or zero-width white space.
pub(super) fn is_silent(c: char) -> bool {
    let mark = matches!(c,
        '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffd}');
    mark || c.is_control()
}
