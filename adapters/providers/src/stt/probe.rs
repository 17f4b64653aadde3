//! Probe of one recogniser with given speech.

use std::{sync::Arc, time::Duration};

use domain::ports::{
    transcriber::{TranscriberConfig, TranscriptEvent},
    usage::Meter,
};
use media::format::LineFormat;
use tokio::{
    sync::mpsc,
    time::{Instant, interval, sleep_until, timeout},
};

use crate::{
    failure::probe::ProbeError,
    stt::{SpeechToText, audio_buffer::BATCH_MS},
};

/// Silence after the speech.
const SILENCE: Duration = Duration::from_millis(300);

/// Time limit for the words after that.
const WITHIN: Duration = Duration::from_secs(10);

/// Result of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// Recognised words.
    pub words: String,
    /// Time from the end of the speech to the final words.
    pub final_after: Duration,
}

impl SpeechToText {
    /// Sends speech to one recogniser in real time and waits for its words. `name` is one of the configured
    /// names, as written there.
    pub async fn probe(&self, name: &str, samples: &[i16], sample_rate: u32) -> Result<ProbeReport, ProbeError> {
        let known = |index: &usize| self.choices[*index].name.to_string() == name;
        let index = (0..self.choices.len()).find(known);
        let index = index.ok_or_else(|| ProbeError::NotListed(name.to_owned()))?;
        let config = TranscriberConfig {
            language: "en".into(),
            hinglish: false,
            keywords: Vec::new(),
            format: LineFormat::of_rate(sample_rate),
            meter: Meter::default(),
        };
        let (tell, mut told) = mpsc::unbounded_channel();
        let sink = Box::new(move |event| {
            // The receiver may be gone already.
            let _ = tell.send(event);
        });
        let choice = &self.choices[index];
        let mut stream = match choice.inside() {
            Some(inside) => inside.open(config, sink),
            None => {
                let only: Arc<[_]> = Arc::from(vec![choice.clone()]);
                Box::new(super::CallStream::open(only, config, sink))
            }
        };
        stream.speech_started();
        let mut ticks = interval(Duration::from_millis(u64::from(BATCH_MS)));
        for batch in samples.chunks((sample_rate * BATCH_MS / 1_000) as usize) {
            ticks.tick().await;
            stream.push(batch);
        }
        let ended = Instant::now();
        sleep_until(ended + SILENCE).await;
        stream.push(&vec![0; sample_rate as usize * SILENCE.as_millis() as usize / 1_000]);
        stream.finalize();
        let words = timeout(WITHIN, words(&mut told)).await;
        let words = words.map_err(|_| ProbeError::NoWords(WITHIN))??;
        Ok(ProbeReport {
            words,
            final_after: ended.elapsed(),
        })
    }
}

/// Waits for the first final and returns its words. A failure keeps the provider's text.
async fn words(told: &mut mpsc::UnboundedReceiver<TranscriptEvent>) -> Result<String, ProbeError> {
    while let Some(event) = told.recv().await {
        match event {
            TranscriptEvent::Final { text, .. } if !text.is_empty() => return Ok(text),
            TranscriptEvent::Final { .. } => return Err(ProbeError::NothingUnderstood),
            TranscriptEvent::Failed(error) => return Err(error.into()),
            _ => {}
        }
    }
    Err(ProbeError::Gone)
}
