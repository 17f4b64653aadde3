//! One small real request to a provider, to see whether it works and how fast.

use std::time::Duration;

use domain::ports::synthesizer::SpeechError;
use futures_util::StreamExt;
use tokio::time::{Instant, timeout};

use crate::{
    probe::ProbeError,
    tts::{
        connections::Candidate,
        plain_config,
        sound_check::{is_audible, least_samples, sounding},
    },
};

/// What is said.
const TEXT: &str = "Hello, this is Ringback.";

/// How long it may take.
const WITHIN: Duration = Duration::from_secs(15);

/// What came of a check.
#[derive(Debug, Clone)]
pub struct ProbeReport {
    /// The provider's name.
    pub provider: String,
    /// Which of its voices spoke.
    pub voice: String,
    /// From the request, the connection included, to the first audio.
    pub first_audio: Duration,
    /// And to the last.
    pub total: Duration,
    /// What it said, mono.
    pub samples: Vec<i16>,
    /// In Hz.
    pub sample_rate: u32,
    /// Words whose end it told.
    pub timed_words: usize,
    /// Characters that were charged.
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
