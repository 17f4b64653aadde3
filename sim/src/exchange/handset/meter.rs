//! Measurements that a callee's telephone makes of its caller: gaps in its voice, how fast it answers, how
//! fast it stops. Pure; times in microseconds.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Frames later than this are counted together.
const LATEST_MS: usize = 200;

/// A sound that ended longer ago did not cause a `clear`.
const ASIDE_MATTERS_US: u64 = 1_000_000;

/// Measurements of one call, taken at the far end of the caller's socket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// From the callee's last voiced frame to the first voiced audio of the agent, one for each reply.
    pub response_us: Vec<u64>,
    /// From the callee's first voiced frame over the agent's voice to the `clear`, one for each barge-in.
    pub barge_in_us: Vec<u64>,
    /// Number of times the callee talked over the agent and no `clear` came before the agent had finished.
    pub barge_ins_ignored: u32,
    /// Number of times audio was cleared although the callee had not spoken to the agent: after a cough,
    /// "mm-hm", noise or an echo.
    #[serde(default)]
    pub false_stops: u32,
    /// From the end of the sound behind a false stop to the next voiced audio of the agent; from the `clear`
    /// if there was no such sound.
    #[serde(default)]
    pub resume_us: Vec<u64>,
    /// Number of times the agent began to talk while the callee was in the middle of its speech.
    #[serde(default)]
    pub cut_offs: u32,
    /// Number of times playout ran dry in the middle of an utterance.
    pub gaps: u32,
    /// Longest of these gaps.
    pub longest_gap_us: u64,
    /// Histogram of the lateness of the phone's own frames: counts for 0, 1, 2 … ms, the last one for all
    /// that were later. It tells a late answer from a late question.
    #[serde(default)]
    pub frames_late: Vec<u32>,
    /// Bytes of audio discarded because more than ten minutes were waiting.
    pub discarded_bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct Meter {
    figures: Figures,
    /// Time at which playout ran dry, if nothing has arrived since.
    dry_since_us: Option<u64>,
    /// Gap that may turn out to lie between two utterances, where it does no harm.
    gap_us: u64,
    /// Last voiced frame of the callee's speech.
    voice_until_us: Option<u64>,
    voice_open: bool,
    /// End of the callee's speech, while the agent has not answered.
    unanswered_since_us: Option<u64>,
    /// Start of the callee's speech over the agent.
    over_since_us: Option<u64>,
    /// End so far of the last sound that was not meant for the agent.
    aside_until_us: Option<u64>,
    /// End of the sound behind a false stop, while the agent's voice is missing.
    stopped_since_us: Option<u64>,
}

impl Meter {
    /// Counts the lateness of one of the phone's own frames.
    pub(super) fn frame_late(&mut self, by: Duration) {
        let late = &mut self.figures.frames_late;
        let ms = (by.as_millis() as usize).min(LATEST_MS);
        if late.len() <= ms {
            late.resize(ms + 1, 0);
        }
        late[ms] += 1;
    }

    /// Handles incoming audio of the agent. Returns how long its voice had been missing after a false stop.
    pub(super) fn audio_arrived(&mut self, now_us: u64, voiced: bool) -> Option<u64> {
        if let Some(dry) = self.dry_since_us.take() {
            self.gap_us = self.gap_us.max(now_us.saturating_sub(dry));
        }
        if !voiced {
            return None;
        }
        if let Some(since) = self.unanswered_since_us.take() {
            self.figures.response_us.push(now_us - since);
        }
        let after_us = now_us.saturating_sub(self.stopped_since_us.take()?);
        self.figures.resume_us.push(after_us);
        Some(after_us)
    }

    /// Handles the start of a frame in which `bytes` of the agent's audio play; `last` if nothing waits behind them.
    pub(super) fn played(&mut self, now_us: u64, bytes: usize, last: bool) {
        if bytes > 0 {
            // A byte of mu-law lasts 125 µs.
            self.dry_since_us = last.then_some(now_us + bytes as u64 * 125);
        }
    }

    /// Returns whether the next voiced audio is an answer or the rest of a stopped speech.
    pub(super) fn awaits_voice(&self) -> bool {
        self.unanswered_since_us.is_some() || self.stopped_since_us.is_some()
    }

    /// Handles further words of the agent: the gap before them was inside an utterance, unless they open a new one.
    pub(super) fn packet(&mut self, first: bool) {
        let gap_us = std::mem::take(&mut self.gap_us);
        if !first && gap_us > 0 {
            self.figures.gaps += 1;
            self.figures.longest_gap_us = self.figures.longest_gap_us.max(gap_us);
        }
    }

    pub(super) fn agent_started(&mut self) {
        self.unanswered_since_us = None;
        if self.voice_open && self.over_since_us.is_none() {
            self.figures.cut_offs += 1;
        }
    }

    pub(super) fn agent_ended(&mut self) {
        if self.over_since_us.take().is_some() {
            self.figures.barge_ins_ignored += 1;
        }
    }

    /// Handles a `clear`. `unplayed` says whether it discarded audio; a silence after it is intended.
    pub(super) fn cleared(&mut self, now_us: u64, unplayed: bool) {
        self.dry_since_us = None;
        self.gap_us = 0;
        if let Some(since) = self.over_since_us.take() {
            self.figures.barge_in_us.push(now_us - since);
        } else if unplayed && !self.voice_open {
            self.figures.false_stops += 1;
            let recent = |end: &u64| *end + ASIDE_MATTERS_US > now_us;
            let from_us = self.aside_until_us.filter(recent).unwrap_or(now_us);
            self.stopped_since_us = Some(from_us);
        }
    }

    /// Handles a voiced frame of the callee; `meant` if it belongs to words for the agent.
    pub(super) fn voice_sent(&mut self, now_us: u64, agent_talks: bool, meant: bool) {
        if !meant {
            self.aside_until_us = Some(now_us);
            // A stop in the middle of the sound is measured from the end of the sound.
            self.stopped_since_us = self.stopped_since_us.map(|_| now_us);
            return;
        }
        if !self.voice_open && agent_talks {
            self.over_since_us = Some(now_us);
        }
        self.voice_open = true;
        self.unanswered_since_us = None;
        // The stopped speech is answered, not resumed.
        self.stopped_since_us = None;
        self.voice_until_us = Some(now_us);
    }

    /// Handles the end of the callee's sound. An agent that talks through this end is not answering it.
    pub(super) fn voice_ended(&mut self, agent_talks: bool) {
        if std::mem::take(&mut self.voice_open) {
            self.unanswered_since_us = self.voice_until_us.take().filter(|_| !agent_talks);
        }
    }

    pub(super) fn figures(&mut self, discarded_bytes: u64) -> Figures {
        self.figures.discarded_bytes = discarded_bytes;
        self.figures.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_for_a_cough_is_false_and_its_resumption_is_timed_from_the_cough_s_end() {
        let mut meter = Meter::default();
        for now_us in (1_000_000..=1_240_000).step_by(20_000) {
            meter.voice_sent(now_us, true, false);
            if now_us == 1_160_000 {
                meter.cleared(now_us, true);
            }
        }
        meter.voice_ended(true);
        assert!(meter.awaits_voice());
        assert_eq!(meter.audio_arrived(1_400_000, true), Some(160_000));
        assert_eq!(meter.audio_arrived(1_500_000, true), None);
        let figures = meter.figures(0);
        assert_eq!((figures.false_stops, figures.resume_us), (1, vec![160_000]));
        assert!(figures.barge_in_us.is_empty() && figures.response_us.is_empty());
    }

    #[test]
    fn a_stop_out_of_nothing_is_false_and_one_with_nothing_to_stop_is_none() {
        let mut meter = Meter::default();
        meter.cleared(5_000_000, false);
        assert_eq!(meter.figures(0).false_stops, 0);
        meter.cleared(6_000_000, true);
        assert_eq!(meter.audio_arrived(6_300_000, true), Some(300_000));
        assert_eq!(meter.figures(0).false_stops, 1);
    }

    #[test]
    fn words_over_the_agent_are_a_barge_in_and_no_false_stop() {
        let mut meter = Meter::default();
        meter.voice_sent(1_000_000, true, true);
        meter.cleared(1_200_000, true);
        meter.cleared(1_700_000, true);
        meter.voice_sent(1_720_000, true, true);
        meter.voice_ended(false);
        assert_eq!(meter.audio_arrived(2_200_000, true), None);
        let figures = meter.figures(0);
        assert_eq!((figures.barge_in_us, figures.false_stops), (vec![200_000], 0));
        assert_eq!(figures.response_us, [480_000]);
    }

    #[test]
    fn an_agent_that_begins_in_a_callee_s_pause_cuts_it_off() {
        let mut meter = Meter::default();
        meter.voice_sent(1_000_000, false, true);
        meter.agent_started();
        meter.voice_ended(true);
        meter.agent_started();
        assert_eq!(meter.figures(0).cut_offs, 1);
    }
}
