//! Counts and times of some calls.

use crate::{
    call::REPLY_MS,
    grammar::OverlapKind,
    record::{CallRecord, OverlapRecord, TurnEnd, TurnRecord},
};

/// Counts and times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Turns of callers.
    pub turns: usize,
    /// Times from the caller's last sound until a turn was taken, of turns that were not answered into.
    pub waits_ms: Vec<u64>,
    /// Turns taken while the caller had words to say.
    pub answered_into: usize,
    /// Of these, those after words that were unfinished.
    pub answered_unfinished: usize,
    /// Of these, those in which the agent would have been heard before the caller went on.
    pub answered_heard: usize,
    /// Turns that were not taken.
    pub lost: usize,
    /// Interruptions.
    pub interruptions: usize,
    /// Times from the first sound of an interruption to the agent's last.
    pub silences_ms: Vec<u64>,
    /// Interruptions that did not stop the agent.
    pub missed: usize,
    /// Interruptions during which the agent's voice came back.
    pub stuttered: usize,
    /// Nods, coughs and laughter.
    pub false_alarms: usize,
    /// Of these, those that stopped the agent for good.
    pub false_stops: usize,
    /// Of these, those that were taken as a turn.
    pub false_turns: usize,
    /// Times from the end of a nod, a cough or laughter that paused the agent to its voice.
    pub backs_ms: Vec<u64>,
    /// Answers at the end of the agent's question.
    pub answers: usize,
    /// Of these, those that were not taken as a turn.
    pub answers_lost: usize,
    /// Words to somebody else.
    pub asides: usize,
    /// Of these, those that stopped the agent.
    pub asides_stopped: usize,
    /// Speeches of the agent.
    pub speeches: usize,
    /// Of these, those stopped while the caller was silent.
    pub stopped_by_line: usize,
}

impl Tally {
    /// Sums several up.
    pub fn sum<'a>(tallies: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for tally in tallies {
            sum.join(tally);
        }
        sum
    }

    /// Adds a call.
    pub fn add(&mut self, call: &CallRecord) {
        self.speeches += call.speeches;
        self.stopped_by_line += call.stopped_by_line;
        for turn in &call.turns {
            self.add_turn(turn);
        }
        for overlap in &call.overlaps {
            self.add_overlap(overlap);
        }
    }

    fn add_turn(&mut self, turn: &TurnRecord) {
        self.turns += 1;
        match &turn.end {
            TurnEnd::Taken(wait_ms) => self.waits_ms.push(*wait_ms),
            TurnEnd::AnsweredInto(cut) => {
                self.answered_into += 1;
                self.answered_unfinished += usize::from(!cut.whole);
                self.answered_heard += usize::from(cut.back_ms > REPLY_MS);
            }
            TurnEnd::Lost => self.lost += 1,
        }
    }

    fn add_overlap(&mut self, overlap: &OverlapRecord) {
        match overlap.kind {
            OverlapKind::Interruption => {
                self.interruptions += 1;
                self.missed += usize::from(!overlap.stopped);
                self.stuttered += usize::from(overlap.stutters > 0);
                self.silences_ms.extend(overlap.silence_ms);
            }
            OverlapKind::Answer => {
                self.answers += 1;
                self.answers_lost += usize::from(!overlap.answered);
            }
            OverlapKind::Aside => {
                self.asides += 1;
                self.asides_stopped += usize::from(overlap.stopped);
            }
            OverlapKind::Nod | OverlapKind::OkayNod | OverlapKind::Cough | OverlapKind::Laughter => {
                self.false_alarms += 1;
                self.false_stops += usize::from(overlap.stopped);
                self.false_turns += usize::from(overlap.answered);
                self.backs_ms.extend(overlap.back_ms);
            }
        }
    }

    fn join(&mut self, other: &Self) {
        self.turns += other.turns;
        self.waits_ms.extend(&other.waits_ms);
        self.answered_into += other.answered_into;
        self.answered_unfinished += other.answered_unfinished;
        self.answered_heard += other.answered_heard;
        self.lost += other.lost;
        self.interruptions += other.interruptions;
        self.silences_ms.extend(&other.silences_ms);
        self.missed += other.missed;
        self.stuttered += other.stuttered;
        self.false_alarms += other.false_alarms;
        self.false_stops += other.false_stops;
        self.false_turns += other.false_turns;
        self.backs_ms.extend(&other.backs_ms);
        self.answers += other.answers;
        self.answers_lost += other.answers_lost;
        self.asides += other.asides;
        self.asides_stopped += other.asides_stopped;
        self.speeches += other.speeches;
        self.stopped_by_line += other.stopped_by_line;
    }
}
