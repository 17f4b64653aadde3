//! `{{variable}}` in the texts of an agent: finding variables and filling them in.
//!
//! Values are inserted unchanged: braces in a value are not parsed again. The output is limited, however
//! often a text repeats a long value.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Longest value of a variable, in bytes.
pub const VALUE_BYTES: usize = 4096;
/// Longest text that is spoken or read in one piece, in characters: about ten minutes of speech.
pub const SPOKEN_CHARS: usize = 10_000;
/// Longest text that tells that an AI speaks, in characters. Nothing interrupts it.
pub const DISCLOSURE_CHARS: usize = 500;
/// Longest instructions, in characters.
pub const INSTRUCTION_CHARS: usize = 500_000;

/// Longest subject of an e-mail, in characters.
pub const SUBJECT_CHARS: usize = 250;

/// Placeholder for the seconds since the call was answered.
pub const CALL_DURATION: &str = "system__call_duration_secs";
/// Placeholder for the calling number: our caller ID, or the person's number in an inbound call. If caller
/// IDs rotate, its value is known only once the permit is granted.
pub const CALLER_NUMBER: &str = "system__caller_number";
/// Placeholder for the called number: the person's number, or ours in an inbound call.
pub const CALLED_NUMBER: &str = "system__called_number";
/// Placeholders that the service fills itself.
pub const SYSTEM_VARIABLES: [&str; 7] = [
    "system__agent_id",
    "system__conversation_id",
    CALLER_NUMBER,
    CALLED_NUMBER,
    "system__time",
    "system__timezone",
    CALL_DURATION,
];

/// Further placeholders that the service fills itself in the subject of a mail.
pub const MAIL_VARIABLES: [&str; 2] = ["status", "agentName"];

/// Returns whether a value leaves its placeholder empty.
pub fn is_blank(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().is_empty(),
        other => other.is_null(),
    }
}

/// Kind of an agent's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `prompt.prompt`.
    Prompt,
    /// `greetingMessage`.
    Greeting,
    /// `listeningAnnouncement`.
    ListeningAnnouncement,
    /// `disclosure.text`.
    Disclosure,
    /// `voicemailDetection.voicemailMessage`.
    VoicemailMessage,
    /// The `description` of an entity.
    EntityDescription,
    /// The `description` of a built-in tool.
    ToolDescription,
    /// `postCallEmail.emailConfiguration.subject`.
    MailSubject,
}

impl Place {
    fn field(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Greeting => "greetingMessage",
            Self::ListeningAnnouncement => "listeningAnnouncement",
            Self::Disclosure => "disclosure.text",
            Self::VoicemailMessage => "voicemailMessage",
            Self::EntityDescription | Self::ToolDescription => "description",
            Self::MailSubject => "subject",
        }
    }

    /// Returns the limit of the text with its variables filled in, in characters.
    fn max_chars(self) -> usize {
        match self {
            Self::Prompt => INSTRUCTION_CHARS,
            Self::Greeting | Self::ListeningAnnouncement | Self::VoicemailMessage => SPOKEN_CHARS,
            Self::EntityDescription | Self::ToolDescription => SPOKEN_CHARS,
            // One more than are said tell that the text is too long.
            Self::Disclosure => 2 * DISCLOSURE_CHARS + 1,
            Self::MailSubject => SUBJECT_CHARS,
        }
    }
}

/// A piece of a template.
enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// Returns the names in a text, in order of first use, without duplicates.
pub fn placeholders(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    pieces(text)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Variable(name) if seen.insert(name) => Some(name.to_owned()),
            Piece::Variable(_) | Piece::Text(_) => None,
        })
        .collect()
}

/// Returns the text with its placeholders filled in. A placeholder without a value, or with a blank one, is
/// removed together with the gap around it: no double space, no space before a comma, and no comma before the end
/// of a sentence. The text is cut at the limit of its place.
pub fn render(place: Place, text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut gap = false;
    let max_chars = place.max_chars();
    for piece in pieces(text) {
        // A character has at most 4 bytes, so this is too long already.
        if out.len() > max_chars * 4 {
            break;
        }
        match piece {
            Piece::Text(text) if gap => {
                push_after_gap(&mut out, text);
                gap = false;
            }
            Piece::Text(text) => out.push_str(text),
            Piece::Variable(name) => match variables.get(name).filter(|value| !value.trim().is_empty()) {
                Some(value) => {
                    out.push_str(value);
                    gap = false;
                }
                None => gap = true,
            },
        }
    }
    if gap {
        out.truncate(out.trim_end_matches(' ').len());
    }
    if let Some((end, _)) = out.char_indices().nth(max_chars) {
        tracing::warn!(
            field = place.field(),
            max_chars,
            "text with variables too long; truncated"
        );
        out.truncate(end);
    }
    out
}

/// Closes the gap that an empty variable left between `out` and `text`.
fn push_after_gap(out: &mut String, text: &str) {
    let open = out.is_empty() || out.ends_with([' ', '\n']);
    if open && text.starts_with(' ') {
        out.push_str(&text[1..]);
    } else {
        if text.starts_with([',', '.', '!', '?', ';', ':']) {
            out.truncate(out.trim_end_matches(' ').len());
        }
        if text.starts_with(['.', '!', '?']) {
            out.truncate(out.trim_end_matches([' ', ',']).len());
        }
        out.push_str(text);
    }
}

/// Splits a text at its placeholders; braces that do not form a placeholder are text.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut rest, mut from) = (text, 0);
    while let Some(at) = rest[from..].find("{{").map(|at| at + from) {
        let inside = &rest[at + 2..];
        let end = inside.find(['{', '}']).filter(|end| inside[*end..].starts_with("}}"));
        let name = end.map(|end| inside[..end].trim()).filter(|name| !name.is_empty());
        let (Some(end), Some(name)) = (end, name) else {
            from = at + 1;
            continue;
        };
        if at > 0 {
            pieces.push(Piece::Text(&rest[..at]));
        }
        pieces.push(Piece::Variable(name));
        rest = &inside[end + 2..];
        from = 0;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(text: &str) -> String {
        let variables = [("name", "Ada"), ("trick", "{{name}}"), ("blank", " ")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        render(Place::Greeting, text, &BTreeMap::from(variables))
    }

    #[test]
    fn a_variable_becomes_its_value() {
        assert_eq!(filled("Hello {{name}}, {{ name }}!"), "Hello Ada, Ada!");
    }

    #[test]
    fn a_variable_without_a_value_closes_its_gap() {
        for (text, spoken) in [
            ("Hello {{x}} there", "Hello there"),
            ("Hello {{x}}, there", "Hello, there"),
            ("Have you got a moment, {{x}}?", "Have you got a moment?"),
            ("Bye, {{x}} {{y}}. Yes,? no", "Bye. Yes,? no"),
            ("{{x}} hello {{blank}}", "hello"),
            ("{{x}}{{y}}", ""),
            ("a {{x}} {{y}} b", "a b"),
            ("a{{x}}b", "ab"),
        ] {
            assert_eq!(filled(text), spoken, "{text}");
        }
    }

    #[test]
    fn a_value_is_never_read_as_a_template() {
        assert_eq!(filled("{{trick}}"), "{{name}}");
    }

    #[test]
    fn braces_that_make_no_placeholder_are_text() {
        for text in ["{{", "{name}", "{{name}", "{{}}", "{{ }}", "}}{{", "{{a{b}}"] {
            assert_eq!(filled(text), text);
        }
        assert_eq!(filled("{{{name}}}"), "{Ada}");
    }

    #[test]
    fn a_text_that_repeats_a_long_value_is_cut_between_two_characters() {
        for (value, places) in [
            ("é".repeat(VALUE_BYTES / 2), [Place::Greeting, Place::Prompt]),
            ("a".repeat(500_000), [Place::VoicemailMessage, Place::EntityDescription]),
        ] {
            let variables = BTreeMap::from([("a".to_owned(), value)]);
            for place in places {
                let spoken = render(place, &"{{a}} ".repeat(1_666), &variables);
                assert_eq!(spoken.chars().count(), place.max_chars(), "{place:?}");
                assert!(
                    spoken.capacity() < 8 * place.max_chars() + 1_000_000,
                    "{place:?} is never held whole"
                );
            }
        }
    }

    #[test]
    fn names_come_once_in_order() {
        assert_eq!(placeholders("{{b}} {{ a }} {{b}} {{"), ["b", "a"]);
    }

    proptest! {
        #[test]
        fn any_text_renders_and_leaves_no_placeholder_of_its_own(text in "[a{} ,é]{0,40}") {
            prop_assert!(placeholders(&render(Place::Prompt, &text, &BTreeMap::new())).len() <= text.matches("{{").count());
        }

        #[test]
        fn a_text_without_braces_stays_as_it_is(text in "[^{}]{0,40}") {
            prop_assert_eq!(render(Place::Prompt, &text, &BTreeMap::new()), text);
        }
    }
}
