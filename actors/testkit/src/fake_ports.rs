//! All fakes around a given store, with a clock that follows tokio's.

use std::sync::Arc;

use super::{
    fake_carrier::FakeCarrier,
    fake_health::FakeHealth,
    fake_knowledge::FakeKnowledge,
    fake_language::ScriptedModel,
    fake_speech::{FakeRecordings, FakeSynthesizer, FakeTranscriber},
    fake_tools::FakeTools,
};
use domain::{
    ports::{
        Ports,
        analyst::{Analyst, NoAnalyst},
        carrier::Carriers,
        store::Store,
    },
    time::{Clock, Timestamp, TokioClock},
};

/// Start of the fake clock: 2026-01-05T12:00:00Z, a Monday.
pub const CLOCK_START: Timestamp = Timestamp(1_767_614_400_000_000);

/// The fakes behind a [`Ports`], for scripting and for inspecting requests.
#[derive(Clone)]
pub struct FakePorts {
    /// The carrier.
    pub carrier: Arc<FakeCarrier>,
    /// Speech to text (stt).
    pub transcriber: FakeTranscriber,
    /// Text to speech (tts).
    pub synthesizer: FakeSynthesizer,
    /// The language model.
    pub language_model: Arc<ScriptedModel>,
    /// Analyst that makes fixed sentences; none unless a test sets it.
    pub analyst: Arc<dyn Analyst>,
    /// Tools that run outside the call.
    pub tools: Arc<FakeTools>,
    /// Knowledge of agents.
    pub knowledge: Arc<FakeKnowledge>,
    /// Provider health.
    pub health: Arc<FakeHealth>,
    /// Recordings.
    pub recordings: FakeRecordings,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// The given store.
    pub store: Arc<dyn Store>,
}

impl FakePorts {
    /// Creates fakes around `store`, with the clock at [`CLOCK_START`].
    pub fn around(store: Arc<dyn Store>) -> Self {
        Self::with_clock(store, Arc::new(TokioClock::starting_at(CLOCK_START)))
    }

    /// Creates fakes around `store` and a clock that it may share.
    pub fn with_clock(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self {
            carrier: Arc::default(),
            transcriber: FakeTranscriber::default(),
            synthesizer: FakeSynthesizer::default(),
            language_model: Arc::default(),
            analyst: Arc::new(NoAnalyst),
            tools: Arc::default(),
            knowledge: Arc::default(),
            health: Arc::default(),
            recordings: FakeRecordings::default(),
            clock,
            store,
        }
    }

    /// Returns the ports for actors.
    pub fn ports(&self) -> Ports {
        Ports {
            store: self.store.clone(),
            carriers: Carriers::new(self.carrier.clone(), Vec::new()),
            transcriber: Arc::new(self.transcriber.clone()),
            synthesizer: Arc::new(self.synthesizer.clone()),
            language_model: self.language_model.clone(),
            analyst: self.analyst.clone(),
            tools: self.tools.clone(),
            knowledge: self.knowledge.clone(),
            health: self.health.clone(),
            readiness: Arc::new(|_| Ok(())),
            recordings: Arc::new(self.recordings.clone()),
            clock: self.clock.clone(),
        }
    }
}
