//! A summary of a call in one to three sentences, made from its turns and known facts.

use std::collections::BTreeMap;

use super::{moments, subject::AnalysisInput};
use crate::{
    interviewer::phrases,
    ports::{
        language_model::Speaker,
        store::{KeyMoment, TurnFact},
    },
};

/// Longest quotation, in characters.
const QUOTED_CHARS: usize = 160;
/// Most values named in a summary, and most characters of each.
const VALUES: usize = 6;
const VALUE_CHARS: usize = 60;
/// Longest word that is too common to count for the weight of a sentence, in letters.
const SHORT_WORD: usize = 3;

/// Writes the summary.
pub(super) fn write(turns: &[TurnFact], moments: &[KeyMoment], input: AnalysisInput<'_>) -> String {
    if input.voicemail {
        let left = turns.iter().any(|turn| turn.speaker == Speaker::Agent);
        return if left {
            "Reached voicemail; a message was left.".into()
        } else {
            "Reached voicemail; no message was left.".into()
        };
    }
    if !input.answered {
        return not_reached(input);
    }
    let mut sentences = vec![opening(turns, input)];
    sentences.extend(turning_point(moments).or_else(|| quotation(turns, input)));
    sentences.extend(ending(input));
    sentences.join(" ")
}

fn not_reached(input: AnalysisInput<'_>) -> String {
    let reason = match input.error {
        Some("no-answer") => "no answer",
        Some("rejected") => "the call was declined",
        Some("invalid-number") => "the number is not valid",
        Some("do-not-call") => "the number is on the do-not-call list",
        Some("restricted") => "the number is restricted",
        Some(other) => other,
        None => "",
    };
    match (input.cancelled, reason) {
        (true, "") => "Cancelled before it was answered.".into(),
        (true, reason) => format!("Not called: {reason}."),
        (false, "") => "Not reached.".into(),
        (false, reason) => format!("Not reached: {reason}."),
    }
}

fn opening(turns: &[TurnFact], input: AnalysisInput<'_>) -> String {
    let agent = input.agent_name.trim();
    let spoke = turns
        .iter()
        .any(|turn| turn.speaker == Speaker::User && !turn.text.trim().is_empty());
    if !input.collected.is_empty() {
        return format!("{agent} collected {}.", values(input.collected));
    }
    if spoke {
        format!("{agent} spoke with the user; no data was collected.")
    } else {
        "The call was answered, but the user said nothing.".into()
    }
}

fn values(collected: &BTreeMap<String, String>) -> String {
    let named = collected.iter().take(VALUES);
    let mut named: Vec<String> = named
        .map(|(entity, value)| format!("{entity} \"{}\"", shortened(value, VALUE_CHARS)))
        .collect();
    if collected.len() > VALUES {
        named.push(format!("{} more", collected.len() - VALUES));
    }
    named.join(", ")
}

/// Returns the most serious wish or objection of the user.
fn turning_point(moments: &[KeyMoment]) -> Option<String> {
    let first = |label: &str| moments.iter().find(|moment| moment.label == label);
    if first(moments::OPT_OUT).is_some() {
        return Some("The user asked not to be called again.".into());
    }
    if first(moments::WRONG_NUMBER).is_some() {
        return Some("The user said it was the wrong number.".into());
    }
    if first(moments::CALL_BACK).is_some() {
        return Some("The user asked to be called at another time.".into());
    }
    let objection = first(moments::OBJECTION)?;
    Some(format!(
        "The user objected: \"{}\"",
        shortened(&objection.text, QUOTED_CHARS)
    ))
}

/// Returns the user's sentence with most of the call's topic, unless it only repeats collected values.
fn quotation(turns: &[TurnFact], input: AnalysisInput<'_>) -> Option<String> {
    if !input.collected.is_empty() {
        return None;
    }
    let mut frequency: BTreeMap<String, usize> = BTreeMap::new();
    for turn in turns {
        for word in weighty(&turn.text) {
            *frequency.entry(word).or_default() += 1;
        }
    }
    let weight = |text: &str| {
        weighty(text)
            .iter()
            .filter_map(|word| frequency.get(word))
            .sum::<usize>()
    };
    let mut best: Option<(usize, &TurnFact)> = None;
    for turn in turns
        .iter()
        .filter(|turn| turn.speaker == Speaker::User && !turn.damaged)
    {
        let weight = weight(&turn.text);
        // The earlier of two equal turns counts.
        if weight > best.map_or(0, |(most, _)| most) {
            best = Some((weight, turn));
        }
    }
    let (_, turn) = best?;
    Some(format!("The user said: \"{}\"", shortened(&turn.text, QUOTED_CHARS)))
}

fn weighty(text: &str) -> Vec<String> {
    let plain = phrases::plain(text);
    plain
        .split(' ')
        .filter(|word| word.chars().count() > SHORT_WORD)
        .map(str::to_owned)
        .collect()
}

fn ending(input: AnalysisInput<'_>) -> Option<String> {
    match input.error {
        Some(error) => Some(format!("The call broke off: {error}.")),
        None if input.transferred => Some("The call was transferred.".into()),
        None => None,
    }
}

/// Returns the text on one line, cut at a word if it is too long.
pub(super) fn shortened(text: &str, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((end, _)) = line.char_indices().nth(chars) else {
        return line;
    };
    let cut = line[..end].rfind(' ').unwrap_or(end);
    format!("{}…", &line[..cut])
}
