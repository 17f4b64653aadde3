//! Rules that find the key moments of a call.

use std::collections::BTreeMap;

use crate::{
    interviewer::phrases::{self, Intent},
    opt_out,
    phrases::asks_about_opt_out,
    ports::{
        language_model::Speaker,
        store::{KeyMoment, TurnFact},
    },
};

/// The user answers the first question.
pub(super) const FIRST_ANSWER: &str = "first_answer";
/// The user says a value that was collected.
pub(super) const DATA_COLLECTED: &str = "data_collected";
/// The user talks over the agent.
pub(super) const INTERRUPTION: &str = "interruption";
/// The user declines or complains.
pub(super) const OBJECTION: &str = "objection";
/// The user wants to be called at another time.
pub(super) const CALL_BACK: &str = "call_back_requested";
/// The user does not want to be called again.
pub(super) const OPT_OUT: &str = "opt_out";
/// The number belongs to somebody else.
pub(super) const WRONG_NUMBER: &str = "wrong_number";
/// An appointment is mentioned.
pub(super) const APPOINTMENT: &str = "appointment";
/// Somebody says goodbye.
pub(super) const GOODBYE: &str = "goodbye";

/// Most moments of one kind; the first ones are kept.
const MAX_OF_A_KIND: usize = 10;
/// Score at or below which a turn of the user counts as a complaint, whatever its words.
const ANGRY: f64 = -0.5;

const COMPLAINTS: [&str; 16] = [
    "complaint",
    "complain",
    "unacceptable",
    "ridiculous",
    "scam",
    "spam",
    "too expensive",
    "not happy",
    "unhappy",
    "disappointed",
    "angry",
    "annoyed",
    "waste of time",
    "terrible",
    "harassment",
    "report you",
];
const APPOINTMENTS: [&str; 9] = [
    "appointment",
    "reservation",
    "booking",
    "book a",
    "booked",
    "schedule a",
    "scheduled",
    "rescheduled",
    "reschedule",
];

/// Returns the moments in order of time.
pub(super) fn find(turns: &[TurnFact], scores: &[f64], collected: &BTreeMap<String, String>) -> Vec<KeyMoment> {
    let mut found: Vec<(&TurnFact, &'static str)> = Vec::new();
    found.extend(first_answer(turns).map(|turn| (turn, FIRST_ANSWER)));
    found.extend(values(turns, collected).into_iter().map(|turn| (turn, DATA_COLLECTED)));
    let interrupted = turns
        .iter()
        .filter(|turn| turn.speaker == Speaker::Agent && turn.interrupted);
    found.extend(interrupted.map(|turn| (turn, INTERRUPTION)));
    for (turn, score) in turns
        .iter()
        .zip(scores)
        .filter(|(turn, _)| turn.speaker == Speaker::User)
    {
        found.extend(wish(turn, *score).map(|label| (turn, label)));
    }
    found.extend(opt_outs_on_asking(turns).map(|turn| (turn, OPT_OUT)));
    found.extend(
        turns
            .iter()
            .find(|turn| says(turn, &APPOINTMENTS))
            .map(|turn| (turn, APPOINTMENT)),
    );
    let leave = |turn: &&TurnFact| phrases::says_goodbye(&turn.text);
    found.extend(turns.iter().rev().find(leave).map(|turn| (turn, GOODBYE)));
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    found.retain(|(_, label)| {
        let count = kinds.entry(label).or_default();
        *count += 1;
        *count <= MAX_OF_A_KIND
    });
    found.sort_by_key(|(turn, _)| (turn.started_ms, turn.seq));
    found.into_iter().map(|(turn, label)| moment(turn, label)).collect()
}

fn moment(turn: &TurnFact, label: &str) -> KeyMoment {
    KeyMoment {
        text: turn.text.clone(),
        label: label.to_owned(),
        speaker: turn.speaker,
        timestamp: timestamp(turn.started_ms),
    }
}

/// Formats milliseconds into the call as `mm:ss`.
pub(super) fn timestamp(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    format!("{:02}:{:02}", seconds / 60, seconds % 60)
}

/// Returns the user's first turn after a question of the agent.
fn first_answer(turns: &[TurnFact]) -> Option<&TurnFact> {
    let pairs = turns
        .windows(2)
        .filter_map(|pair| <&[TurnFact; 2]>::try_from(pair).ok());
    pairs
        .filter(|[question, answer]| question.speaker == Speaker::Agent && answer.speaker == Speaker::User)
        .find(|[question, answer]| question.text.contains('?') && !answer.text.trim().is_empty())
        .map(|[_, answer]| answer)
}

/// Returns each "yes" to the question whether the user wants no more calls.
fn opt_outs_on_asking(turns: &[TurnFact]) -> impl Iterator<Item = &TurnFact> {
    let pairs = turns
        .windows(2)
        .filter_map(|pair| <&[TurnFact; 2]>::try_from(pair).ok());
    pairs
        .filter(|[question, answer]| question.speaker == Speaker::Agent && answer.speaker == Speaker::User)
        .filter(|[question, _]| asks_about_opt_out(&question.text))
        .map(|[_, answer]| answer)
        .filter(|answer| opt_out::answer(&answer.text) == Some(true))
        // A turn that says so in words is found by its words.
        .filter(|answer| phrases::intent(&answer.text) != Some(Intent::OptOut))
}

/// Returns the user's turns that contain collected values, each once.
fn values<'a>(turns: &'a [TurnFact], collected: &BTreeMap<String, String>) -> Vec<&'a TurnFact> {
    let wanted: Vec<String> = collected.values().map(|value| phrases::plain(value)).collect();
    let of_user = turns.iter().filter(|turn| turn.speaker == Speaker::User);
    let said = of_user.filter(|turn| {
        let plain = phrases::plain(&turn.text);
        wanted
            .iter()
            .any(|value| !value.is_empty() && phrases::contains(&plain, value))
    });
    said.collect()
}

/// Returns what a turn of the user asks for or objects to.
fn wish(turn: &TurnFact, score: f64) -> Option<&'static str> {
    match phrases::intent(&turn.text) {
        Some(Intent::OptOut) => Some(OPT_OUT),
        Some(Intent::CallBack) => Some(CALL_BACK),
        Some(Intent::WrongNumber) => Some(WRONG_NUMBER),
        Some(Intent::NotInterested) => Some(OBJECTION),
        Some(
            Intent::Person | Intent::WhoIsThis | Intent::Repeat | Intent::HoldOn | Intent::Refusal | Intent::Goodbye,
        )
        | None => (score <= ANGRY || says(turn, &COMPLAINTS)).then_some(OBJECTION),
    }
}

fn says(turn: &TurnFact, words: &[&str]) -> bool {
    let plain = phrases::plain(&turn.text);
    words.iter().any(|word| phrases::contains(&plain, word))
}
