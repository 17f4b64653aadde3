//! Sounds of the caller while the agent speaks.

use media::session::SessionEvent;

use super::{Call, CallError, LONGEST_SPEECH_MS};
use crate::{grammar::OverlapKind, line::FRAME_MS, record::OverlapRecord, voice::Spoken};

/// Silence of the agent in milliseconds from which it counts as a stop. Babble has gaps that are shorter.
const GAP_MS: u64 = 160;

/// Time in milliseconds within which a session must have decided after a sound was over.
const DECIDED_MS: u64 = 3_000;

impl Call<'_> {
    /// Lets the agent speak and the caller make a sound meanwhile. Returns `None` if the agent fell silent before.
    pub(super) fn overlap(
        &mut self,
        kind: OverlapKind,
        speech: &str,
        spoken: &Spoken,
        offset_ms: u64,
    ) -> Result<Option<OverlapRecord>, CallError> {
        self.say(speech);
        let begun = self.until(LONGEST_SPEECH_MS, |event| {
            matches!(event, SessionEvent::SpeakingStarted { .. })
        })?;
        let begun_ms = begun.map_or(self.now_ms, |(at_ms, _)| at_ms);
        let start_ms = match kind {
            OverlapKind::Answer => begun_ms + self.speech_ms.saturating_sub(offset_ms),
            _ => begun_ms + offset_ms.min(self.speech_ms / 2),
        };
        let left_ms = start_ms.saturating_sub(self.now_ms);
        let early = self.until(left_ms, |event| matches!(event, SessionEvent::BargedIn { .. }))?;
        if early.is_some() {
            self.stopped_by_line += 1;
            return Ok(None);
        }
        self.line.take_voiced();
        let start_ms = self.sound(spoken);
        let end_ms = start_ms + spoken.length_ms();
        let (stopped_ms, taken_ms) = self.outcome(kind, start_ms, end_ms)?;
        let voiced = self.line.take_voiced();
        self.session.stop_speaking(self.now_ms);
        Ok(Some(OverlapRecord {
            kind,
            text: String::new(),
            stopped: stopped_ms.is_some(),
            silence_ms: stopped_ms.map(|_| silence_after(&voiced, start_ms)),
            stutters: returns(&voiced)
                .filter(|back| stopped_ms.is_some() || *back < end_ms)
                .count(),
            back_ms: match stopped_ms {
                Some(_) => None,
                None => back_after(&voiced, end_ms),
            },
            answered: taken_ms.is_some_and(|at_ms| at_ms >= start_ms),
        }))
    }

    /// Waits until it is clear what became of a sound. Returns the times at which the speech was dropped and at which
    /// a turn was taken.
    fn outcome(
        &mut self,
        kind: OverlapKind,
        start_ms: u64,
        end_ms: u64,
    ) -> Result<(Option<u64>, Option<u64>), CallError> {
        let (mut stopped_ms, mut ended_ms, mut taken_ms) = (None, None, None);
        let goes_on = !matches!(kind, OverlapKind::Interruption | OverlapKind::Answer);
        let limit_ms = end_ms + DECIDED_MS;
        loop {
            // An interruption is decided soon after it; anything else once the agent's speech is over, too.
            let limit_ms = match goes_on && stopped_ms.is_none() {
                true => ended_ms.map_or(start_ms + LONGEST_SPEECH_MS, |ended_ms| {
                    limit_ms.min(ended_ms + DECIDED_MS)
                }),
                false => limit_ms,
            };
            let left_ms = limit_ms.saturating_sub(self.now_ms);
            let event = self.until(left_ms, |event| {
                matches!(
                    event,
                    SessionEvent::BargedIn { .. }
                        | SessionEvent::SpeakingEnded { .. }
                        | SessionEvent::UtteranceEnded(_)
                )
            })?;
            match event {
                Some((at_ms, SessionEvent::BargedIn { .. })) => stopped_ms = Some(at_ms),
                Some((at_ms, SessionEvent::SpeakingEnded { .. })) => ended_ms = Some(at_ms),
                Some((at_ms, _)) => taken_ms = Some(at_ms),
                None => return Ok((stopped_ms, taken_ms)),
            }
            // After the caller's last word nothing more is to come once the turn was taken.
            let is_over = stopped_ms.is_some() || ended_ms.is_some();
            if is_over && taken_ms.is_some_and(|at_ms| at_ms >= end_ms) {
                return Ok((stopped_ms, taken_ms));
            }
        }
    }
}

/// Returns the milliseconds from a time to the end of the agent's last sound.
fn silence_after(voiced: &[u64], start_ms: u64) -> u64 {
    voiced
        .last()
        .map_or(0, |last_ms| (last_ms + FRAME_MS).saturating_sub(start_ms))
}

/// Returns the times at which the agent's voice came back after a gap.
fn returns(voiced: &[u64]) -> impl Iterator<Item = u64> {
    voiced
        .windows(2)
        .filter(|pair| pair[1] - pair[0] >= GAP_MS + FRAME_MS)
        .map(|pair| pair[1])
}

/// Returns the milliseconds from the end of a sound to the agent's return, if the agent fell silent.
fn back_after(voiced: &[u64], end_ms: u64) -> Option<u64> {
    returns(voiced).last().map(|back_ms| back_ms.saturating_sub(end_ms))
}
