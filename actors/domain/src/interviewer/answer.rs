//! Extracts the answer from an utterance, by the type of the entity that was asked for.

use serde_json::{Number, Value};

use super::{
    dictated::Dictated,
    numbers,
    phrases::{contains, listed, plain},
};
use crate::{
    agent::{Entity, EntityKind},
    spoken,
};

/// Longest text collected, in characters.
const MAX_CHARS: usize = 500;
/// Similarity from which a word counts as a misheard option.
const ALIKE: f64 = 0.9;

/// In "my … is", the most words that can name the requested value, and the fewest letters that one of them must have.
const NAMING_WORDS: usize = 4;
const NAMING_CHARS: usize = 3;
/// Longest answer, in words, that is a place or a time after its preposition.
const PLACE_WORDS: usize = 5;

/// Words before an option that is not wanted.
const DENIALS: [&str; 5] = ["not", "not on", "not in the", "not the", "except"];
const ORDINALS: [&str; 6] = ["first", "second", "third", "fourth", "fifth", "sixth"];

/// Returns the value that an utterance gives for an entity; none if it gives none or more than one.
pub(crate) fn understand(entity: &Entity, text: &str) -> Option<Value> {
    if !entity.allowed.is_empty() {
        return option(&entity.allowed, text);
    }
    match entity.kind {
        EntityKind::Boolean => yes_or_no(text).map(Value::Bool),
        EntityKind::Integer => numbers::number(text).and_then(whole).map(Value::from),
        EntityKind::Number => numbers::number(text).and_then(figure),
        EntityKind::String => words(entity, text).map(Value::String),
    }
}

fn whole(number: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
    (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64)
}

fn figure(number: f64) -> Option<Value> {
    whole(number)
        .map(Value::from)
        .or_else(|| Number::from_f64(number).map(Value::Number))
}

/// Returns whether the text says yes or no.
pub(crate) fn yes_or_no(text: &str) -> Option<bool> {
    spoken::yes_or_no(&spoken::read(text, "en"))
}

/// Returns the option that the text names by its words, by its position, or with a slight mishearing.
fn option(allowed: &[Value], text: &str) -> Option<Value> {
    let said = plain(text);
    let names: Vec<String> = allowed.iter().map(|value| plain(&spoken(value))).collect();
    let heard = |name: &&String| !name.is_empty() && contains(&said, name);
    if names.iter().any(|name| {
        DENIALS
            .iter()
            .any(|denial| contains(&said, &format!("{denial} {name}")))
    }) {
        return None;
    }
    let named: Vec<usize> = (0..names.len())
        .filter(|index| names.get(*index).as_ref().is_some_and(heard))
        .collect();
    // "Extra large" also contains "large". If the longer one is an option and was said, only it counts.
    let within = |inner: usize| {
        named
            .iter()
            .any(|outer| *outer != inner && contains(&names[*outer], &names[inner]) && names[*outer] != names[inner])
    };
    let longest: Vec<usize> = named.iter().copied().filter(|index| !within(*index)).collect();
    match longest.as_slice() {
        [one] => allowed.get(*one).cloned(),
        [] => by_yes_or_no(&names, text)
            .or_else(|| by_place(&said, allowed.len()))
            .or_else(|| by_number(&names, text))
            .or_else(|| by_likeness(&names, &said))
            .and_then(|index| allowed.get(index).cloned()),
        _ => {
            let padded = format!(" {said} ");
            numbers::corrected(&padded, true).and_then(|after| option(allowed, after))
        }
    }
}

/// Returns an option as it is spoken.
pub(super) fn spoken(option: &Value) -> String {
    match option {
        Value::String(text) => text.replace('_', " "),
        other => other.to_string(),
    }
}

fn by_yes_or_no(names: &[String], text: &str) -> Option<usize> {
    let place = |wanted: &[&str]| names.iter().position(|name| wanted.contains(&name.as_str()));
    let (yes, no) = (place(&["yes", "true"])?, place(&["no", "false"])?);
    yes_or_no(text).map(|said| if said { yes } else { no })
}

fn by_place(said: &str, options: usize) -> Option<usize> {
    let bare = said
        .trim_start_matches("the ")
        .trim_end_matches(" one")
        .trim_end_matches(" option");
    if matches!(bare, "last" | "latter") {
        return options.checked_sub(1);
    }
    let ordinal = ORDINALS
        .iter()
        .position(|ordinal| *ordinal == bare || contains(said, &format!("the {ordinal} one")));
    ordinal.filter(|place| *place < options)
}

fn by_number(names: &[String], text: &str) -> Option<usize> {
    let said = numbers::number(text)?;
    names.iter().position(|name| numbers::number(name) == Some(said))
}

fn by_likeness(names: &[String], said: &str) -> Option<usize> {
    let words: Vec<&str> = said.split(' ').collect();
    let mut best: Option<(f64, usize)> = None;
    for (index, name) in names.iter().enumerate() {
        for window in words.windows(name.split(' ').count()) {
            let alike = strsim::jaro_winkler(&window.join(" "), name);
            if alike >= ALIKE && best.is_none_or(|(most, _)| alike > most) {
                best = Some((alike, index));
            }
        }
    }
    best.map(|(_, index)| index)
}

/// Returns the text without the phrases around an answer; none if nothing is left or if it is a question in return.
fn words(entity: &Entity, text: &str) -> Option<String> {
    if let Some(dictated) = Dictated::of(&entity.description) {
        return dictated.said_in(text);
    }
    let bare = without_preposition(own_words(entity, strip(text)));
    let question = bare.ends_with('?') && !entity.description.to_lowercase().contains("question");
    let kept = bare.trim_end_matches(['.', ',', '!', '?', ';', ':', ' ']).to_owned();
    if kept.is_empty() || question || yes_or_no_alone(&kept) {
        return None;
    }
    Some(numbers::digits(&kept).unwrap_or_else(|| kept.chars().take(MAX_CHARS).collect()))
}

/// Returns the words after "my e-mail address is" if that was asked for; "my car is broken" stays whole.
fn own_words<'a>(entity: &Entity, text: &'a str) -> &'a str {
    let Some(owned) = ["my", "our", "the"].iter().find_map(|owner| after(text, owner)) else {
        return text;
    };
    let lower = entity.description.to_lowercase();
    let is = [" is ", " are ", " would be "]
        .iter()
        .filter_map(|is| owned.find(is).map(|at| (at, at + is.len())))
        .min();
    let Some((named, said)) = is.and_then(|(at, end)| Some((owned.get(..at)?, owned.get(end..)?))) else {
        return text;
    };
    let plain = plain(named);
    let asked_for = plain
        .split(' ')
        .any(|word| word.len() >= NAMING_CHARS && lower.contains(word));
    if asked_for && plain.split(' ').count() <= NAMING_WORDS {
        said.trim_start()
    } else {
        text
    }
}

/// Removes a preposition: "on Friday" becomes Friday, "in Springfield" becomes Springfield.
fn without_preposition(text: &str) -> &str {
    let rest = ["on", "at", "in"]
        .iter()
        .find_map(|word| after(text, word))
        .filter(|rest| rest.starts_with(' '));
    match rest {
        Some(rest) if text.split_whitespace().count() <= PLACE_WORDS => rest.trim_start(),
        Some(_) | None => text,
    }
}

fn yes_or_no_alone(text: &str) -> bool {
    spoken::read(text, "en").len() == 1 && yes_or_no(text).is_some()
}

fn strip(text: &str) -> &str {
    let edge = |c: char| c.is_whitespace() || matches!(c, ',' | '.' | '-' | '!' | ';' | ':' | '\u{2026}');
    let mut rest = text.trim_matches(edge);
    while let Some(shorter) = listed("lead_ins")
        .iter()
        .filter_map(|lead| after(rest, lead))
        .min_by_key(|rest| rest.len())
    {
        rest = shorter.trim_start_matches(edge);
    }
    while let Some(shorter) = listed("lead_outs")
        .iter()
        .filter_map(|tail| before(rest, tail))
        .min_by_key(|rest| rest.len())
    {
        rest = shorter.trim_end_matches(edge);
    }
    // A question mark at the edge is kept so that the caller can see it.
    rest
}

/// Returns the text after a lead-in of whole words, in any case.
fn after<'a>(text: &'a str, lead: &str) -> Option<&'a str> {
    let (mut at, mut wanted) = (0, lead.chars());
    let mut given = text.char_indices();
    let mut next = wanted.next();
    while let Some(letter) = next {
        let (index, c) = given.next()?;
        let c = if c == '\u{2019}' { '\'' } else { c };
        if !c.eq_ignore_ascii_case(&letter) {
            return None;
        }
        at = index + text[index..].chars().next().map_or(1, char::len_utf8);
        next = wanted.next();
    }
    let rest = &text[at..];
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '\u{2019}');
    (!rest.starts_with(inside)).then_some(rest)
}

/// Returns the text before a lead-out of whole words, in any case.
fn before<'a>(text: &'a str, tail: &str) -> Option<&'a str> {
    let bare = text.trim_end_matches(['.', ',', '!', ' ']);
    let at = bare.len().checked_sub(tail.len())?;
    let matches = bare.get(at..)?.eq_ignore_ascii_case(tail);
    let whole = at == 0 || bare[..at].ends_with([' ', ',']);
    (matches && whole).then(|| &bare[..at])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn entity(kind: EntityKind, allowed: &[&str]) -> Entity {
        Entity {
            kind,
            description: String::new(),
            allowed: allowed.iter().map(|option| json!(option)).collect(),
        }
    }

    #[test]
    fn texts_lose_what_is_said_around_them() {
        let text = entity(EntityKind::String, &[]);
        for (said, expected) in [
            ("Ada Lovelace", Some("Ada Lovelace")),
            ("Uh, my name is Ada Lovelace.", Some("Ada Lovelace")),
            ("Hi! It\u{2019}s Ada, thanks.", Some("Ada")),
            ("Yes, I'd like Tuesday please", Some("Tuesday")),
            ("I'm Imre", Some("Imre")),
            ("Wellington", Some("Wellington")),
            ("Tuesday works for me.", Some("Tuesday")),
            ("Friday suits me best.", Some("Friday")),
            ("five five five, one two", Some("55512")),
            ("Yes.", None),
            ("no", None),
            ("Um...", None),
            ("Why do you ask?", None),
            ("On Friday.", Some("Friday")),
            ("In-N-Out", Some("In-N-Out")),
            ("Mm-hm, Tuesday", Some("Tuesday")),
            ("", None),
        ] {
            assert_eq!(understand(&text, said), expected.map(Value::from), "{said}");
        }
    }

    #[test]
    fn what_was_asked_for_is_not_part_of_the_answer() {
        for (description, said, expected) in [
            (
                "the user's email address",
                "My e-mail address is ada@example.com.",
                "ada@example.com",
            ),
            ("reason for the call", "My car is broken.", "My car is broken"),
            ("reason for the call", "The reason is a flat tyre.", "a flat tyre"),
        ] {
            let entity = Entity {
                description: description.into(),
                ..Entity::default()
            };
            assert_eq!(understand(&entity, said), Some(json!(expected)), "{said}");
        }
    }

    #[test]
    fn yes_and_no_are_told_apart() {
        let flag = entity(EntityKind::Boolean, &[]);
        for (said, expected) in [
            ("Yes, I do.", Some(true)),
            ("yeah", Some(true)),
            ("Exactly.", Some(true)),
            ("Not exactly.", Some(false)),
            ("No problem", Some(true)),
            ("I do own one", Some(true)),
            ("No.", Some(false)),
            ("I don't", Some(false)),
            ("I do not", Some(false)),
            ("We are not", Some(false)),
            ("No, I do have a bike though", Some(false)),
            ("Yes, why wouldn't I", Some(true)),
            ("A blue one", None),
            ("", None),
        ] {
            assert_eq!(understand(&flag, said), expected.map(Value::from), "{said}");
        }
    }

    #[test]
    fn whole_numbers_are_whole() {
        assert_eq!(
            understand(&entity(EntityKind::Integer, &[]), "four of us"),
            Some(json!(4))
        );
        assert_eq!(understand(&entity(EntityKind::Integer, &[]), "two point five"), None);
        assert_eq!(
            understand(&entity(EntityKind::Number, &[]), "two point five"),
            Some(json!(2.5))
        );
        assert_eq!(understand(&entity(EntityKind::Number, &[]), "four"), Some(json!(4)));
    }

    #[test]
    fn options_are_matched_by_word_place_and_likeness() {
        let time = entity(EntityKind::String, &["morning", "afternoon", "late_evening"]);
        for (said, expected) in [
            ("In the morning, please", Some("morning")),
            ("the first one", Some("morning")),
            ("the last one", Some("late_evening")),
            ("Late evening", Some("late_evening")),
            ("afternon", Some("afternoon")),
            ("not morning", None),
            ("not in the morning", None),
            ("In the morning, no, in the afternoon.", Some("afternoon")),
            ("morning or afternoon", None),
            ("whenever", None),
        ] {
            assert_eq!(understand(&time, said), expected.map(Value::from), "{said}");
        }
        let size = entity(EntityKind::String, &["large", "extra large"]);
        assert_eq!(understand(&size, "extra large"), Some(json!("extra large")));
        let choice = entity(EntityKind::String, &["yes", "no"]);
        assert_eq!(understand(&choice, "yeah, sure"), Some(json!("yes")));
        let count = Entity {
            allowed: vec![json!(1), json!(2)],
            ..Entity::default()
        };
        assert_eq!(understand(&count, "two"), Some(json!(2)));
    }

    proptest! {
        #[test]
        fn any_utterance_is_read_without_panic(said in "\\PC{0,40}") {
            for kind in [EntityKind::String, EntityKind::Integer, EntityKind::Number, EntityKind::Boolean] {
                let _ = understand(&entity(kind, &[]), &said);
            }
            let _ = understand(&entity(EntityKind::String, &["a b", "c"]), &said);
        }
    }
}
