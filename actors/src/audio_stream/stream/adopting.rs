//! Switches a running stream to another agent: its voice, its recogniser and its turn-taking settings.

use std::sync::Arc;

use super::{
    super::{
        StreamSettings,
        terms::{pause_policy, recogniser_format, transcribe},
    },
    Stream,
};
use domain::{
    agent::Agent,
    ports::{transcriber::Transcriber, usage::Meter},
};
use media::format::{Encoding, LineFormat};

/// Providers and settings of the stream, kept for a switch to another agent.
pub(super) struct Providers {
    pub(super) transcriber: Arc<dyn Transcriber>,
    pub(super) line_rate: u32,
    pub(super) encoding: Encoding,
    pub(super) meter: Meter,
    pub(super) settings: StreamSettings,
    pub(super) hears: Hears,
    /// The present agent.
    pub(super) agent: Arc<Agent>,
}

/// Settings of a recogniser: language, Hinglish, terms, format.
type Hears = (String, bool, Vec<String>, LineFormat);

/// Returns the recogniser settings of an agent.
pub(super) fn hears(agent: &Agent, format: LineFormat) -> Hears {
    let config = &agent.conversation_config;
    let section = &config.agent;
    (
        section.primary_language.clone(),
        section.hinglish_mode,
        config.asr.keywords.clone(),
        format,
    )
}

impl Stream {
    /// Switches the voice from the next text on, and the recogniser from the next sample on if its settings
    /// differ. An agent that keeps no audio ends the recording, and no later agent starts it again.
    pub(super) fn adopt(&mut self, agent: &Arc<Agent>) {
        let providers = &mut self.providers;
        self.voices.adopt(agent.clone());
        providers.agent = agent.clone();
        if !agent.platform_settings.privacy.record_voice
            && let Some(mut recording) = self.recording.take()
        {
            recording.write(self.session.stop_recording());
        }
        let turn = &agent.conversation_config.turn;
        self.session.set_pause_policy(pause_policy(turn, providers.settings));
        let format = recogniser_format(&*providers.transcriber, agent, providers.line_rate);
        let wanted = hears(agent, format);
        if self.transcript.is_some() && std::mem::replace(&mut providers.hears, wanted.clone()) != wanted {
            if let Err(error) = self.session.recogniser_replaced(format.sample_rate) {
                tracing::error!(%error, "recogniser not replaced");
                return;
            }
            let counted = (format, providers.meter.clone());
            let (transcript, heard) = transcribe(&*providers.transcriber, agent, counted, &self.me);
            self.transcript = Some(transcript);
            self.heard = heard;
        }
    }
}
