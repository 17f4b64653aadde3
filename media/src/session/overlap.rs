//! The user's speech over the agent's: whether it interrupts, or is a backchannel that only shows attention or
//! turns out to be an answer. Times are milliseconds of the stream.

use std::ops::Range;

use super::speaking::Speaking;
use crate::turn::{
    barge_in::{
        BargeIn, Observation, Verdict,
        floor::{self, Floor},
    },
    endpointing::Utterance,
    expectation::Expectation,
};

/// Time in milliseconds before the agent's last word within which a backchannel counts as an answer after all.
const ANSWER_SLACK_MS: u64 = 1_500;

pub(super) struct Overlap {
    barge_in: BargeIn,
    /// Time since which the user's speech interrupts, or `None` while it does not.
    interrupts_from_ms: Option<u64>,
    /// Time at which the agent last began to speak.
    began_ms: u64,
    /// Time span of the agent's last words, unless it was interrupted.
    spoke_ms: Option<Range<u64>>,
    /// A backchannel during playout that may turn out to be an answer.
    backchannel: Option<Utterance>,
}

impl Overlap {
    /// Creates the state in which nothing interrupts yet.
    pub(super) fn new() -> Self {
        Self {
            barge_in: BargeIn::new(0),
            interrupts_from_ms: None,
            began_ms: 0,
            spoke_ms: None,
            backchannel: None,
        }
    }

    /// Sets whether the user's speech interrupts from now on.
    pub(super) fn allow_barge_in(&mut self, allowed: bool, at_ms: u64) {
        self.interrupts_from_ms = allowed.then_some(at_ms);
        self.barge_in.count_from(at_ms);
    }

    pub(super) fn agent_began(&mut self, at_ms: u64) {
        self.barge_in = BargeIn::new(at_ms);
        self.began_ms = at_ms;
    }

    /// Notes that the agent's words are over, said to their end or not.
    pub(super) fn agent_said(&mut self, to_the_end: bool, at_ms: u64) {
        self.spoke_ms = to_the_end.then_some(self.began_ms..at_ms);
    }

    /// Returns what to do with playout at a moment.
    pub(super) fn observe(&mut self, speaking: &Speaking, seen: &Observation<'_>) -> Option<Verdict> {
        if speaking.is_interruptible() && self.interrupts_from_ms.is_some() {
            return self.barge_in.observe(seen);
        }
        speaking.is_paused().then(|| {
            self.barge_in = BargeIn::new(seen.at_ms);
            Verdict::Resume
        })
    }

    /// Returns when [`Self::observe`] is needed without audio.
    pub(super) fn deadline(&self, speaking: &Speaking, seen: &Observation<'_>) -> Option<u64> {
        let due = self.barge_in.deadline(seen.last_voiced_ms, seen.floor, seen.is_asked);
        due.filter(|_| speaking.is_paused())
    }

    /// Returns whether a turn that is over interrupts: words begun earlier belong to the pick-up, however late they
    /// are recognised, and others may be misheard.
    pub(super) fn interrupts(&self, utterance: &Utterance) -> bool {
        let counts = |from_ms| utterance.started_ms >= from_ms;
        self.interrupts_from_ms.is_some_and(counts) && Floor::of_turn(&utterance.text) >= Floor::Likely
    }

    /// Returns whether a turn is only a backchannel: it began at `began_ms`, while the agent was speaking, and
    /// its words are no answer that the agent expects.
    pub(super) fn is_only_attention(&self, began_ms: u64, text: &str, expected: &Expectation) -> bool {
        let over_agent = self.spoke_ms.as_ref().is_some_and(|spoke| spoke.contains(&began_ms));
        over_agent && floor::is_nod(text) && !expected.takes_backchannel(text)
    }

    /// Keeps a backchannel until the agent's words are over.
    pub(super) fn keep_backchannel(&mut self, utterance: Utterance) {
        self.backchannel = Some(utterance);
    }

    pub(super) fn forget_backchannel(&mut self) {
        self.backchannel = None;
    }

    /// Returns the backchannel if it is an answer to the agent's words, which are over at `at_ms`.
    pub(super) fn take_answer(&mut self, expected: &Expectation, at_ms: u64) -> Option<Utterance> {
        let said = self.backchannel.take();
        said.filter(|said| said.ended_ms + ANSWER_SLACK_MS >= at_ms && expected.takes_backchannel(&said.text))
    }
}
