//! What a callee's telephone measures of its caller: gaps in its voice, how fast it answers, how fast it stops. Pure;
//! times in microseconds.

use serde::{Deserialize, Serialize};

/// Measurements of one call, taken at the far end of the caller's socket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// From the callee's last voiced frame to the first voiced audio of the agent, one for each reply.
    pub response_us: Vec<u64>,
    /// From the callee's first voiced frame over the agent's voice to the `clear`, one for each barge-in.
    pub barge_in_us: Vec<u64>,
    /// Times the callee talked over the agent and no `clear` came before the agent had finished.
    pub barge_ins_ignored: u32,
    /// Times playout ran dry in the middle of an utterance.
    pub gaps: u32,
    /// The longest of them.
    pub longest_gap_us: u64,
    /// Bytes of audio thrown away because more than ten minutes were waiting.
    pub discarded_bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct Meter {
    figures: Figures,
    /// When playout ran dry, if it has and nothing has arrived since.
    dry_since_us: Option<u64>,
    /// A gap of which it is not yet known whether it fell between two utterances, where it does no harm.
    gap_us: u64,
    /// The last voiced frame of the callee's speech.
    voice_until_us: Option<u64>,
    voice_open: bool,
    /// The callee's speech is over and the agent has not answered.
    unanswered_since_us: Option<u64>,
    /// Since when the callee talks over the agent.
    over_since_us: Option<u64>,
}

impl Meter {
    /// Audio of the agent came in.
    pub(super) fn audio_arrived(&mut self, now_us: u64, voiced: bool) {
        if let Some(dry) = self.dry_since_us.take() {
            self.gap_us = self.gap_us.max(now_us.saturating_sub(dry));
        }
        if voiced && let Some(since) = self.unanswered_since_us.take() {
            self.figures.response_us.push(now_us - since);
        }
    }

    /// A frame begins in which `bytes` of the agent's audio are played; `last` when nothing waits behind them.
    pub(super) fn played(&mut self, now_us: u64, bytes: usize, last: bool) {
        if bytes > 0 {
            // A byte of mu-law lasts 125 µs.
            self.dry_since_us = last.then_some(now_us + bytes as u64 * 125);
        }
    }

    /// Whether the next voiced audio is an answer.
    pub(super) fn awaits_answer(&self) -> bool {
        self.unanswered_since_us.is_some()
    }

    /// The agent's words go on: the gap before them fell inside an utterance, unless they open a new one.
    pub(super) fn packet(&mut self, first: bool) {
        let gap_us = std::mem::take(&mut self.gap_us);
        if !first && gap_us > 0 {
            self.figures.gaps += 1;
            self.figures.longest_gap_us = self.figures.longest_gap_us.max(gap_us);
        }
    }

    pub(super) fn agent_started(&mut self) {
        self.unanswered_since_us = None;
    }

    pub(super) fn agent_ended(&mut self) {
        if self.over_since_us.take().is_some() {
            self.figures.barge_ins_ignored += 1;
        }
    }

    /// The agent's unplayed audio was dropped: a silence behind it is meant.
    pub(super) fn cleared(&mut self, now_us: u64) {
        self.dry_since_us = None;
        self.gap_us = 0;
        if let Some(since) = self.over_since_us.take() {
            self.figures.barge_in_us.push(now_us - since);
        }
    }

    /// A voiced frame of the callee was sent.
    pub(super) fn voice_sent(&mut self, now_us: u64, agent_talks: bool) {
        if !self.voice_open && agent_talks {
            self.over_since_us = Some(now_us);
        }
        self.voice_open = true;
        self.unanswered_since_us = None;
        self.voice_until_us = Some(now_us);
    }

    /// The callee's speech is over. An agent who talks through its end is not answering it.
    pub(super) fn voice_ended(&mut self, agent_talks: bool) {
        self.voice_open = false;
        self.unanswered_since_us = self.voice_until_us.take().filter(|_| !agent_talks);
    }

    pub(super) fn figures(&mut self, discarded_bytes: u64) -> Figures {
        self.figures.discarded_bytes = discarded_bytes;
        self.figures.clone()
    }
}
