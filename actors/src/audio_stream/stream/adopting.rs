//! Another agent goes on in the same stream: with its voice, its recogniser and its patience.

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

/// Who hears and speaks for the stream, for when another agent goes on.
pub(super) struct Providers {
    pub(super) transcriber: Arc<dyn Transcriber>,
    pub(super) recogniser_rate: u32,
    pub(super) meter: Meter,
    pub(super) settings: StreamSettings,
    /// What the present recogniser listens for.
    pub(super) hears: (String, bool, Vec<String>),
}

/// What a recogniser is to listen for: language, Hinglish, terms.
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
    /// Another voice from the next text on, and another recogniser from the next sample on, where they differ. One that
    /// keeps no audio ends the recording; nobody who comes later begins it.
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
