//! The end of a call: its outcome is written, and the call is over once the outcome is on disk.

use super::EffectHandler;
use crate::{
    audio_stream::StreamMessage,
    call::{
        CallReport,
        outcome::{Ending, NoOutcome},
        timers::Timers,
        writer::Write,
    },
    live_feed::LiveEvent,
};
use domain::ports::{store::StoreResult, usage::usage};

impl EffectHandler {
    pub(super) fn finish(&mut self, ending: Ending) {
        self.timers = Timers::default();
        if ending != Ending::Nothing {
            self.followers.tell(|| LiveEvent::End);
        }
        if let Ending::Outcome(outcome) | Ending::Written(outcome) = &ending {
            self.outcome = Ok(outcome.clone());
        }
        let at_ms = self
            .machine
            .as_ref()
            .map_or(0, |machine| machine.elapsed_ms(self.now_ms()));
        if let Some(usage) = usage(&self.meter, at_ms) {
            self.record(usage);
        }
        let hang_ups = std::mem::take(&mut self.hang_ups);
        let call_back = self.call_back.take();
        self.write(Write::Finish {
            ending,
            ended_at: self.with.ports.clock.now(),
            call_back,
            hang_ups,
        });
    }

    /// Ends the call, now that its outcome is on disk or could not be written.
    pub(super) fn finished(&mut self, result: StoreResult<()>) {
        let attempt = self.plan.attempt.claim.attempt;
        let outcome = match result {
            Ok(()) => std::mem::replace(&mut self.outcome, Err(NoOutcome::ItsOwn)),
            Err(error) => {
                tracing::error!(%attempt, %error, "outcome not written");
                Err(NoOutcome::ItsOwn)
            }
        };
        if let Ok(outcome) = &outcome {
            let status = outcome.status.as_str();
            tracing::info!(%attempt, status, error = outcome.error.as_deref(), "call ended");
        }
        self.tell_stream(StreamMessage::Close);
        self.tell_lines(CallReport::Ended(outcome));
        self.me.stop(None);
    }
}
