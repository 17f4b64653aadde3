//! The worst examples of each kind, to be listened to and explained.

use std::{cmp::Reverse, collections::BTreeSet};

use serde_json::{Value, json};

use crate::{
    grammar::OverlapKind,
    record::{CallRecord, OverlapRecord, TurnEnd, TurnRecord},
};

/// Examples of each kind.
const COUNT: usize = 10;

/// Kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A turn that was taken late, or never.
    LateTurn,
    /// A turn that was answered into; the shortest silence comes first.
    AnsweredInto,
    /// An interruption that stopped the agent late, or never.
    LateStop,
    /// A nod, a cough or laughter that stopped the agent for good.
    FalseStop,
    /// A false alarm after which the agent came back late.
    LateReturn,
}

/// Kinds of faults of a report.
pub const WORST: [Fault; 5] = [
    Fault::LateTurn,
    Fault::AnsweredInto,
    Fault::LateStop,
    Fault::FalseStop,
    Fault::LateReturn,
];

impl Fault {
    /// Returns its name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::LateTurn => "turns taken late",
            Self::AnsweredInto => "turns answered into",
            Self::LateStop => "interruptions that stopped the agent late",
            Self::FalseStop => "false stops for good",
            Self::LateReturn => "late returns after a false alarm",
        }
    }

    /// Returns how bad a turn is, and why in words.
    fn of_turn(self, turn: &TurnRecord) -> Option<(u64, String)> {
        match (self, &turn.end) {
            (Self::LateTurn, TurnEnd::Taken(wait_ms)) => Some((*wait_ms, format!("taken after {wait_ms} ms"))),
            (Self::LateTurn, TurnEnd::Lost) => Some((u64::MAX, "never taken".to_owned())),
            (Self::AnsweredInto, TurnEnd::AnsweredInto(cut)) => {
                let words = if cut.whole { "whole" } else { "unfinished" };
                let why = match cut.silent_ms {
                    0 => format!("taken while the caller spoke: {:?}", cut.taken),
                    silent_ms => format!(
                        "taken {silent_ms} ms into a pause after {words} words, {} ms before the next: {:?}",
                        cut.back_ms, cut.taken
                    ),
                };
                let unfinished = if cut.whole { 0 } else { 10_000 };
                Some((unfinished + 5_000_u64.saturating_sub(cut.silent_ms), why))
            }
            _ => None,
        }
    }

    /// Returns how bad an overlap is, and why in words.
    fn of_overlap(self, overlap: &OverlapRecord) -> Option<(u64, String)> {
        let is_interruption = overlap.kind == OverlapKind::Interruption;
        let is_false_alarm = matches!(
            overlap.kind,
            OverlapKind::Nod | OverlapKind::OkayNod | OverlapKind::Cough | OverlapKind::Laughter
        );
        match self {
            Self::LateStop if is_interruption => Some(match overlap.silence_ms {
                Some(ms) => (
                    ms,
                    format!("silent after {ms} ms, voice back {} times", overlap.stutters),
                ),
                None => (u64::MAX, "never stopped".to_owned()),
            }),
            Self::FalseStop if is_false_alarm && overlap.stopped => {
                let ms = overlap.silence_ms.unwrap_or_default();
                Some((ms, format!("silent for good after {ms} ms")))
            }
            Self::LateReturn if is_false_alarm => overlap.back_ms.map(|ms| (ms, format!("back after {ms} ms"))),
            _ => None,
        }
    }
}

/// An example.
#[derive(Debug, Clone)]
pub struct Example {
    /// Id of the conversation.
    pub conversation: String,
    /// Name of the recogniser.
    pub recogniser: &'static str,
    /// Name of the voice.
    pub voice: &'static str,
    /// Noise and echo of the line.
    pub line: String,
    /// Kind of the turn or overlap.
    pub kind: String,
    /// Words with the pauses in milliseconds.
    pub text: String,
    /// The fault in words.
    pub why: String,
}

impl Example {
    fn new(call: &CallRecord, kind: &str, text: &str, why: String) -> Self {
        Self {
            conversation: call.id.clone(),
            recogniser: call.recogniser,
            voice: call.voice.name(),
            line: call.line.clone(),
            kind: kind.to_owned(),
            text: text.to_owned(),
            why,
        }
    }

    /// Returns it as a line of text.
    pub fn line(&self) -> String {
        let Self {
            conversation,
            recogniser,
            voice,
            line,
            kind,
            text,
            why,
        } = self;
        format!("{conversation}, {recogniser}, {voice}, {line}, {kind}: `{text}`: {why}")
    }

    /// Returns it as JSON.
    pub fn json(&self) -> Value {
        json!({
            "conversation": self.conversation, "recogniser": self.recogniser, "voice": self.voice,
            "line": self.line, "kind": self.kind, "text": self.text, "why": self.why,
        })
    }
}

/// Returns the ten worst examples of a fault. One sentence of a conversation comes once.
pub fn worst(calls: &[CallRecord], fault: Fault) -> Vec<Example> {
    let mut found: Vec<(u64, Example)> = Vec::new();
    for call in calls {
        for turn in &call.turns {
            let bad = fault.of_turn(turn);
            found.extend(bad.map(|(score, why)| (score, Example::new(call, &turn.kind, &turn.text, why))));
        }
        for overlap in &call.overlaps {
            let bad = fault.of_overlap(overlap);
            let kind = overlap.kind.name();
            found.extend(bad.map(|(score, why)| (score, Example::new(call, kind, &overlap.text, why))));
        }
    }
    found.sort_by_key(|(score, _)| Reverse(*score));
    let mut seen = BTreeSet::new();
    found
        .into_iter()
        .map(|(_, example)| example)
        .filter(|example| seen.insert((example.conversation.clone(), example.kind.clone(), example.text.clone())))
        .take(COUNT)
        .collect()
}
