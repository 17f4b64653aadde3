//! Probe of a voice provider with one small real request, to see whether it works and how fast.

use std::time::Duration;

use domain::ports::synthesizer::SpeechError;
use futures_util::StreamExt;
use tokio::time::{Instant, timeout};

use crate::{
    failure::probe::ProbeError,
    tts::{
        connections::Candidate,
        plain_config,
        sound_check::{is_audible, least_samples, sounding},
    },
};

/// Text that is spoken.
const TEXT: &str = "Hello, this is Ringback.";

/// Time limit.
const WITHIN: Duration = Duration::from_secs(15);

/// Result of a probe.
#[derive(Debug, Clone)]
pub struct ProbeReport {
    /// Name of the provider.
    pub provider: String,
    /// Voice that spoke.
    pub voice: String,
    /// Time from the request to the first audio, including the connection.
    pub first_audio: Duration,
    /// Time from the request to the last audio.
    pub total: Duration,
    /// Audio, mono.
    pub samples: Vec<i16>,
    /// Sample rate in Hz.
    pub sample_rate: u32,
    /// Number of words with an end time.
    pub timed_words: usize,
    /// Number of characters charged.
    pub characters: usize,
}

pub(super) async fn probe(candidate: &Candidate) -> Result<ProbeReport, ProbeError> {
    let config = plain_config(&candidate.voice);
    let started = Instant::now();
    let mut pieces = sounding(TEXT, candidate.source.open(&config).speak(TEXT));
    let mut sounded = 0;
    let mut report = ProbeReport {
        provider: candidate.provider.clone(),
        voice: candidate.voice.clone(),
        first_audio: Duration::ZERO,
        total: Duration::ZERO,
        samples: Vec::new(),
        sample_rate: config.sample_rate,
        timed_words: 0,
        characters: TEXT.chars().count(),
    };
    let speaking = async {
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(SpeechError::from)?;
            if report.samples.is_empty() {
                report.first_audio = started.elapsed();
            }
            sounded += if is_audible(&piece) {
                piece.samples.len() as u64
            } else {
                0
            };
            report.samples.extend(piece.samples);
            report.timed_words += piece.words.len();
        }
        report.total = started.elapsed();
        let sounded_ms = sounded * 1_000 / u64::from(config.sample_rate);
        match sounded < least_samples(TEXT, &config) {
            true => Err(ProbeError::TooShort {
                provider: report.provider.clone(),
                sounded_ms,
                text: TEXT,
            }),
            false => Ok(()),
        }
    };
    let spoken = timeout(WITHIN, speaking).await;
    spoken.map_err(|_| ProbeError::NoMoreSpeech(WITHIN))??;
    Ok(report)
}
