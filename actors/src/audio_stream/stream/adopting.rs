//! Switches a running stream to another agent: its voice, its recogniser and its turn-taking settings.

use std::sync::Arc;

use super::{
    super::{
        StreamSettings,
        terms::{pause_policy, transcribe},
    },
    Stream,
};
use domain::{
    agent::Agent,
    ports::{transcriber::Transcriber, usage::Meter},
};

/// Providers and settings of the stream, kept for a switch to another agent.
pub(super) struct Providers {
    pub(super) transcriber: Arc<dyn Transcriber>,
    pub(super) recogniser_rate: u32,
    pub(super) meter: Meter,
    pub(super) settings: StreamSettings,
    /// Settings of the present recogniser: language, Hinglish, terms.
    pub(super) hears: (String, bool, Vec<String>),
}

/// Returns the recogniser settings of an agent: language, Hinglish, terms.
pub(super) fn hears(agent: &Agent) -> (String, bool, Vec<String>) {
    let config = &agent.conversation_config;
    let section = &config.agent;
    (
        section.primary_language.clone(),
        section.hinglish_mode,
        config.asr.keywords.clone(),
    )
}

impl Stream {
    /// Switches the voice from the next text on, and the recogniser from the next sample on if its settings
    /// differ. An agent that keeps no audio ends the recording, and no later agent starts it again.
    pub(super) fn adopt(&mut self, agent: &Arc<Agent>) {
        let providers = &mut self.providers;
        self.voices.adopt(agent.clone());
        if !agent.platform_settings.privacy.record_voice
            && let Some(mut recording) = self.recording.take()
        {
            recording.write(self.session.stop_recording());
        }
        let turn = &agent.conversation_config.turn;
        self.session.set_pause_policy(pause_policy(turn, providers.settings));
        let wanted = hears(agent);
        if self.transcript.is_some() && std::mem::replace(&mut providers.hears, wanted.clone()) != wanted {
            let counted = (providers.recogniser_rate, providers.meter.clone());
            let (transcript, heard) = transcribe(&*providers.transcriber, agent, counted, &self.me);
            self.transcript = Some(transcript);
            self.heard = heard;
            self.session.recogniser_replaced();
        }
    }
}
