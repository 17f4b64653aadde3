//! Records facts of the call in the journal.

use serde_json::Value;

use super::EffectHandler;
use crate::live_feed::LiveEvent;
use domain::{
    history::Speaker,
    ports::store::{EventFact, Fact, TurnFact},
};

impl EffectHandler {
    pub(super) fn record(&self, fact: Fact) {
        if let (true, Fact::Event(event)) = (self.plan.is_text, &fact) {
            self.followers.tell(|| LiveEvent::Recorded(event.clone()));
        }
        let attempt = &self.plan.attempt;
        let journal = &self.with.journal;
        journal.record(attempt.claim.attempt, attempt.campaign, fact);
    }

    /// Records a turn. The agent's is told with its voice, unless the call is held in text, and, if a model made its
    /// words, with the model, the tokens used since the model's turn before, and the passages given to it in a test.
    pub(super) fn record_turn(&mut self, mut turn: TurnFact) {
        if turn.speaker == Speaker::Agent && !self.plan.is_text {
            let config = &self.plan.agent.conversation_config;
            let usual = config.tts.usual(&config.agent.primary_language);
            let named = usual
                .and_then(|voice| voice.voice_id.as_ref())
                .unwrap_or(&config.tts.voice_id);
            let voice = self.meter.voice();
            turn.detail.voice = Some(voice.map_or_else(|| named.clone(), |voice| voice.to_string()));
        }
        if let Some(named) = &mut turn.detail.model {
            if let Some(model) = self.meter.model() {
                *named = model.to_string();
            }
            let tokens = self.meter.tokens();
            turn.detail.tokens = tokens.since(std::mem::replace(&mut self.told_tokens, tokens));
            turn.detail.passages = std::mem::take(&mut self.passages);
        }
        self.followers.tell(|| LiveEvent::Turn(Box::new(turn.clone())));
        self.record(Fact::Turn(turn));
    }

    /// Records an event that happens now.
    pub(super) fn record_event(&self, name: &str, detail: &Value) {
        let machine = self.machine.as_ref();
        self.record(Fact::Event(EventFact {
            name: name.to_owned(),
            at_ms: machine.map_or(0, |machine| machine.elapsed_ms(self.now_ms())),
            detail: detail.to_string(),
        }));
    }
}
