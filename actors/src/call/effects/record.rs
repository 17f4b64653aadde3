//! What is written of a call: its facts, its outcome, and promises to the callee.

use serde_json::{Value, json};

use crate::attempt::Inheritance;
use crate::audio_stream::StreamMessage;
use crate::call::effects::{EffectHandler, streams, timers::Timers, writer::Write, writer::Writes};
use crate::call::{CallReport, NoOutcome, outcome::Ending};
use crate::live_feed::LiveEvent;
use domain::{
    callback_time::SpokenTime,
    history::Speaker,
    ports::{
        store::{CALL_BACK, EventFact, Fact, OPTED_OUT, Outcome, StoreResult, Tokens, TurnFact},
        usage::usage,
    },
    retry::CallBackWish,
};

/// What was written, and what the outcome will contain.
pub struct RecordSide {
    /// Tokens that were told with the turns so far.
    told_tokens: Tokens,
    writes: Writes,
    /// The callee's last call-back wish; written with the outcome.
    call_back: Option<CallBackWish>,
    opted_out: bool,
    /// Result that is reported to the line pool at the end.
    outcome: Result<Outcome, NoOutcome>,
}

impl RecordSide {
    pub fn new(writes: Writes, call_back: Option<CallBackWish>) -> Self {
        Self {
            told_tokens: Tokens::default(),
            writes,
            call_back,
            opted_out: false,
            outcome: Err(NoOutcome::ItsOwn),
        }
    }

    pub fn ends_without(&mut self, why: NoOutcome) {
        self.outcome = Err(why);
    }
}

pub fn record(call: &EffectHandler, fact: Fact) {
    if let (true, Fact::Event(event)) = (call.plan.is_text, &fact) {
        call.audio.followers().tell(|| LiveEvent::Recorded(event.clone()));
    }
    let attempt = &call.plan.attempt;
    let journal = &call.with.journal;
    journal.record(attempt.claim.attempt, attempt.campaign, fact);
}

/// Records a turn. The agent's is told with its voice, unless the call is held in text, and, if a model made its
/// words, with the model, the tokens used since the model's turn before, and the passages given to it in a test.
pub fn record_turn(call: &mut EffectHandler, mut turn: TurnFact) {
    if turn.speaker == Speaker::Agent && !call.plan.is_text {
        let config = &call.plan.agent.conversation_config;
        let usual = config.tts.usual(&config.agent.primary_language);
        let named = usual
            .and_then(|voice| voice.voice_id.as_ref())
            .unwrap_or(&config.tts.voice_id);
        let voice = call.meter.voice();
        turn.detail.voice = Some(voice.map_or_else(|| named.clone(), |voice| voice.to_string()));
    }
    if let Some(named) = &mut turn.detail.model {
        if let Some(model) = call.meter.model() {
            *named = model.to_string();
        }
        let tokens = call.meter.tokens();
        turn.detail.tokens = tokens.since(std::mem::replace(&mut call.record.told_tokens, tokens));
        turn.detail.passages = call.model.take_passages();
    }
    call.audio.followers().tell(|| LiveEvent::Turn(Box::new(turn.clone())));
    record(call, Fact::Turn(turn));
}

/// Records an event that happens now.
pub fn record_event(call: &EffectHandler, name: &str, detail: &Value) {
    let machine = call.machine.as_ref();
    record(
        call,
        Fact::Event(EventFact {
            name: name.to_owned(),
            at_ms: machine.map_or(0, |machine| machine.elapsed_ms(call.now_ms())),
            detail: detail.to_string(),
        }),
    );
}

pub fn write(call: &EffectHandler, write: Write) {
    call.record.writes.push(write);
}

/// Returns the call-back that was promised last, unless the callee has opted out of calls since.
pub fn planned_before(inherited: &Inheritance) -> Option<CallBackWish> {
    if inherited.call.opted_out {
        return None;
    }
    let events = &inherited.call.events;
    let last = events.iter().rfind(|event| event.name == CALL_BACK)?;
    serde_json::from_str(&last.detail).ok()
}

/// Plans another call at that time. The outcome will contain it, whichever process writes the outcome.
pub fn plan_call_back(call: &mut EffectHandler, time: SpokenTime) {
    let said_at = call.with.ports.clock.now();
    let wish = CallBackWish { time, said_at };
    call.record.call_back = Some(wish);
    record_event(call, CALL_BACK, &serde_json::to_value(wish).unwrap_or(Value::Null));
}

pub fn opt_out(call: &mut EffectHandler) {
    call.record.call_back = None;
    let attempt = &call.plan.attempt;
    let (account, number) = (attempt.account, attempt.contact.phone_number.clone());
    if !number.is_nobodys() && !std::mem::replace(&mut call.record.opted_out, true) {
        write(call, Write::OptOut(account, number));
        record_event(call, OPTED_OUT, &json!({}));
    }
}

pub fn finish(call: &mut EffectHandler, ending: Ending) {
    call.timers = Timers::default();
    if ending != Ending::Nothing {
        call.audio.followers().tell(|| LiveEvent::End);
    }
    if let Ending::Outcome(outcome) | Ending::Written(outcome) = &ending {
        call.record.outcome = Ok(outcome.clone());
    }
    let at_ms = call
        .machine
        .as_ref()
        .map_or(0, |machine| machine.elapsed_ms(call.now_ms()));
    if let Some(usage) = usage(&call.meter, at_ms) {
        record(call, usage);
    }
    let hang_ups = call.carrier.take_hang_ups();
    let call_back = call.record.call_back.take();
    write(
        call,
        Write::Finish {
            ending,
            ended_at: call.with.ports.clock.now(),
            call_back,
            hang_ups,
        },
    );
}

/// Ends the call, now that its outcome is on disk or could not be written.
pub fn finished(call: &mut EffectHandler, result: StoreResult<()>) {
    let attempt = call.plan.attempt.claim.attempt;
    let outcome = match result {
        Ok(()) => std::mem::replace(&mut call.record.outcome, Err(NoOutcome::ItsOwn)),
        Err(error) => {
            tracing::error!(%attempt, %error, "outcome not written");
            Err(NoOutcome::ItsOwn)
        }
    };
    if let Ok(outcome) = &outcome {
        let status = outcome.status.as_str();
        tracing::info!(%attempt, status, error = outcome.error.as_deref(), "call ended");
    }
    streams::tell_stream(call, StreamMessage::Close);
    call.tell_lines(CallReport::Ended(outcome));
    call.me.stop(None);
}
