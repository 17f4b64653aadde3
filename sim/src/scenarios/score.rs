//! Criteria for one call, and their sum over a suite. Definitions:
//!
//! - **Cut-off**: the agent's audio starts while the callee's scripted sentence still has words to come.
//! - **Dead air**: from the callee's last voiced frame to the first voiced audio of the agent that is played.
//! - **Missed barge-in**: the callee says at least two telling words over the agent, the agent goes on for more
//!   than half a second, and no `clear` comes within a second; or playout comes back while the words are being said.
//! - **False barge-in**: a reply is dropped for good although nothing was said to the agent: after a
//!   backchannel, a cough, noise, an echo.
//! - **Resume time**: from the end of the cause of a false stop to the agent's voice.
//! - **Heard mismatch**: the largest number of words in one place by which the agent's lines in the
//!   transcript differ from the words that the phone heard.

use serde_json::{Value, json};

use super::{
    Scenario,
    observed::{Observed, Span},
};
use crate::samples::Samples;

/// A stop later than this after the first voiced frame is a missed barge-in.
const STOPS_WITHIN_MS: u64 = 1_000;

/// An agent that has at most this much left to say need not stop.
const NEARLY_DONE_MS: u64 = 500;

/// An agent that starts within this time after the callee could not know.
const UNAWARE_MS: u64 = 200;

/// A callee's words that ended within this time may have caused a `clear`.
const STILL_HEARD_MS: u64 = 700;

/// Longest time from the end of the cause of a false stop until playout resumes.
pub const RESUMES_WITHIN_MS: u64 = 300;

/// Words in one place by which a transcript may differ from what was heard.
pub const MISMATCH_WORDS: usize = 1;

/// Words that carry no meaning by themselves.
const UNTELLING: [&str; 22] = [
    "yes", "yeah", "yep", "okay", "ok", "mm", "hm", "mhm", "uh", "huh", "um", "right", "sure", "well", "oh", "ah",
    "hello", "no", "so", "and", "i", "see",
];

/// Result of one call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// Number of times the callee spoke to the agent.
    pub turns: usize,
    /// Defined above.
    pub cut_offs: usize,
    /// One for each answered turn, in milliseconds.
    pub dead_air_ms: Vec<u64>,
    /// Number of times the callee said words at which the agent had to stop.
    pub barge_ins: usize,
    /// Defined above.
    pub missed_barge_ins: usize,
    /// Defined above.
    pub false_barge_ins: usize,
    /// One for each false stop that was taken back, in milliseconds.
    pub resume_ms: Vec<u64>,
    /// Stops caused only by the agent's own echo.
    pub echo_stops: usize,
    /// Defined above.
    pub heard_mismatch: usize,
    /// End of the call, if it is not the expected one.
    pub wrong_end: Option<String>,
}

impl Verdict {
    /// Judges a call.
    pub fn of(scenario: &Scenario, call: &Observed) -> Self {
        let mut verdict = Self {
            turns: call.said.len(),
            cut_offs: cut_offs(call),
            dead_air_ms: dead_air(call),
            heard_mismatch: mismatch(&call.agent_lines, &call.heard),
            wrong_end: wrong_end(scenario, call),
            ..Self::default()
        };
        verdict.judge_barge_ins(scenario, call);
        verdict.judge_false_stops(scenario, call);
        verdict
    }

    fn judge_barge_ins(&mut self, scenario: &Scenario, call: &Observed) {
        for said in call.said.iter().filter(|said| said.over_agent && tells(&said.text)) {
            let talk = call.heard.iter().position(|heard| heard.holds(said.from_ms));
            let Some(at) = talk.filter(|at| !(scenario.setup.protected && *at == 0)) else {
                continue;
            };
            let went_on_ms = call.heard[at].to_ms.saturating_sub(said.from_ms);
            let in_time = said.from_ms..=said.from_ms + STOPS_WITHIN_MS;
            let cleared = call.cleared_ms.iter().any(|at| in_time.contains(at));
            let back = call.resumed_ms.iter().any(|(at, _)| said.holds(*at));
            self.barge_ins += usize::from(cleared || went_on_ms > NEARLY_DONE_MS);
            self.missed_barge_ins += usize::from((!cleared && went_on_ms > NEARLY_DONE_MS) || (cleared && back));
        }
    }

    fn judge_false_stops(&mut self, scenario: &Scenario, call: &Observed) {
        let was_said = |at: u64| {
            call.said
                .iter()
                .any(|said| said.from_ms <= at && at <= said.to_ms + STILL_HEARD_MS)
        };
        let (meant, stops): (Vec<u64>, Vec<u64>) = call.cleared_ms.iter().copied().partition(|at| was_said(*at));
        let sounded = |at: u64| {
            let mut asides = call.asides.iter();
            asides.any(|aside| aside.from_ms <= at && at <= aside.to_ms + STILL_HEARD_MS)
        };
        if scenario.script.line.echo.is_some() {
            self.echo_stops = stops.iter().filter(|at| !sounded(**at)).count();
        }
        self.resume_ms = call.resumed_ms.iter().map(|(_, after)| *after).collect();
        // A callee that hangs up or drops off the line cuts a speech too.
        let left = usize::from(scenario.ends_early());
        let cut = call.agent_lines.iter().filter(|line| !is_whole(line)).count();
        let unresumed = stops.len().saturating_sub(call.resumed_ms.len());
        self.false_barge_ins = unresumed.max(cut.saturating_sub(meant.len() + left));
    }

    /// Returns whether the call has a fault that no agent of normal eagerness may have.
    fn fails(&self) -> bool {
        let late = self.resume_ms.iter().any(|ms| *ms > RESUMES_WITHIN_MS);
        self.cut_offs > 0 || self.missed_barge_ins > 0 || late || self.heard_mismatch > MISMATCH_WORDS
    }

    /// Returns the faults of the call in words; empty if there are none.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let counts = [
            (self.cut_offs, "cut-offs"),
            (self.missed_barge_ins, "missed barge-ins"),
            (self.false_barge_ins, "false barge-ins"),
            (self.echo_stops, "stops for its own echo"),
        ];
        for (count, what) in counts {
            if count > 0 {
                faults.push(format!("{count} {what}"));
            }
        }
        if let Some(slowest) = self.resume_ms.iter().max().filter(|ms| **ms > RESUMES_WITHIN_MS) {
            faults.push(format!("resumed after {slowest} ms"));
        }
        if self.heard_mismatch > MISMATCH_WORDS {
            faults.push(format!("{} words differ from what was heard", self.heard_mismatch));
        }
        faults.extend(self.wrong_end.clone());
        faults
    }
}

fn cut_offs(call: &Observed) -> usize {
    let cut = |said: &Span| {
        let starts = |heard: &Span| said.from_ms + UNAWARE_MS < heard.from_ms && heard.from_ms < said.to_ms;
        !said.over_agent && call.heard.iter().any(starts)
    };
    call.said.iter().filter(|said| cut(said)).count()
}

fn dead_air(call: &Observed) -> Vec<u64> {
    let answered = |said: &Span| {
        let talks = call
            .heard
            .iter()
            .any(|heard| heard.from_ms < said.to_ms && said.to_ms < heard.to_ms);
        let answer_ms = call
            .heard
            .iter()
            .map(|heard| heard.from_ms)
            .find(|from| *from >= said.to_ms)?;
        let goes_on = call
            .said
            .iter()
            .any(|next| said.to_ms < next.from_ms && next.from_ms < answer_ms);
        (!talks && !goes_on).then(|| answer_ms - said.to_ms)
    };
    call.said.iter().filter_map(answered).collect()
}

fn wrong_end(scenario: &Scenario, call: &Observed) -> Option<String> {
    let (status, error) = scenario.outcome();
    let right = call.status == status && call.error.as_deref() == error;
    (!right).then(|| format!("ended {} {}", call.status, call.error.as_deref().unwrap_or_default()))
}

fn tells(text: &str) -> bool {
    words(text)
        .iter()
        .filter(|word| !UNTELLING.contains(&word.as_str()))
        .count()
        >= 2
}

fn is_whole(line: &str) -> bool {
    line.trim_end().ends_with(['.', '?', '!'])
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let words = words.filter(|word| !word.is_empty()).map(str::to_lowercase);
    words.collect()
}

/// Returns the longest run of words that are in only one of the texts when they are aligned.
fn mismatch(lines: &[String], heard: &[Span]) -> usize {
    let written: Vec<String> = lines.iter().flat_map(|line| words(line)).collect();
    let heard: Vec<String> = heard.iter().flat_map(|heard| words(&heard.text)).collect();
    let (rows, columns) = (written.len() + 1, heard.len() + 1);
    // Length of the longest common remainder, from each pair of places on.
    let mut common = vec![0_usize; rows * columns];
    for row in (0..rows - 1).rev() {
        for column in (0..columns - 1).rev() {
            common[row * columns + column] = if written[row] == heard[column] {
                common[(row + 1) * columns + column + 1] + 1
            } else {
                common[(row + 1) * columns + column].max(common[row * columns + column + 1])
            };
        }
    }
    let (mut row, mut column, mut longest) = (0, 0, 0);
    let (mut only_written, mut only_heard) = (0_usize, 0_usize);
    while row < rows - 1 || column < columns - 1 {
        if row < rows - 1 && column < columns - 1 && written[row] == heard[column] {
            (row, column, only_written, only_heard) = (row + 1, column + 1, 0, 0);
        } else if column == columns - 1
            || (row < rows - 1 && common[(row + 1) * columns + column] >= common[row * columns + column + 1])
        {
            (row, only_written) = (row + 1, only_written + 1);
        } else {
            (column, only_heard) = (column + 1, only_heard + 1);
        }
        // A replaced word counts as one.
        longest = longest.max(only_written.max(only_heard));
    }
    longest
}

/// Sum over a suite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Score {
    /// Number of conversations judged.
    pub scenarios: usize,
    /// Sum of their figures.
    pub total: Verdict,
    /// Whether an agent of normal eagerness cut somebody off, missed a barge-in, took a false stop back late,
    /// or has words in the transcript that were not heard.
    failed: bool,
    /// Conversations with a fault: name and faults.
    pub faulty: Vec<(String, Vec<String>)>,
}

impl Score {
    /// Adds a conversation.
    pub fn add(&mut self, scenario: &Scenario, verdict: Verdict) {
        self.scenarios += 1;
        let faults = verdict.faults();
        if !faults.is_empty() {
            self.faulty.push((scenario.name.clone(), faults));
        }
        self.failed |= scenario.setup.eagerness == "normal" && verdict.fails();
        let total = &mut self.total;
        total.turns += verdict.turns;
        total.cut_offs += verdict.cut_offs;
        total.barge_ins += verdict.barge_ins;
        total.missed_barge_ins += verdict.missed_barge_ins;
        total.false_barge_ins += verdict.false_barge_ins;
        total.echo_stops += verdict.echo_stops;
        total.heard_mismatch = total.heard_mismatch.max(verdict.heard_mismatch);
        total.dead_air_ms.extend(verdict.dead_air_ms);
        total.resume_ms.extend(verdict.resume_ms);
    }

    /// Returns whether no agent of normal eagerness had one of the grave faults.
    pub fn holds(&self) -> bool {
        !self.failed
    }

    /// Returns the figures as JSON; percentiles in milliseconds.
    pub fn json(&self) -> Value {
        let total = &self.total;
        let faulty: serde_json::Map<String, Value> = self
            .faulty
            .iter()
            .map(|(name, faults)| (name.clone(), json!(faults)))
            .collect();
        json!({
            "scenarios": self.scenarios, "withoutFault": self.scenarios - self.faulty.len(),
            "turns": total.turns, "cutOffs": total.cut_offs,
            "deadAirMs": Samples::of_ms(&total.dead_air_ms).json(),
            "bargeIns": total.barge_ins, "missedBargeIns": total.missed_barge_ins,
            "falseBargeIns": total.false_barge_ins, "echoStops": total.echo_stops,
            "resumeMs": Samples::of_ms(&total.resume_ms).json(),
            "heardMismatchWords": total.heard_mismatch, "faults": faulty,
        })
    }
}
