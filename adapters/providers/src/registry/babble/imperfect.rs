//! Recogniser with the faults of real ones: its results are late, change their words, lack punctuation and
//! contain wrong words. All of it follows from a seed and from the text said, so that a conversation always
//! goes the same way, whatever other calls there are.

mod delay;
mod errors;
mod faults;
mod hash;

use std::sync::Arc;

use domain::ports::transcriber::{Capabilities, Transcriber, TranscriberConfig, TranscriptSink, TranscriptStream};
use tokio::task::AbortHandle;

pub use self::{delay::Delay, faults::Imperfection};
use self::{
    delay::{Late, Queue},
    errors::Errors,
};

impl Imperfection {
    /// Returns a recogniser with these faults. Without any fault it is the given recogniser.
    pub fn applied_to(self, inner: impl Transcriber + 'static) -> Arc<dyn Transcriber> {
        let faultless = Self {
            seed: self.seed,
            ..Self::default()
        };
        if self == faultless {
            return Arc::new(inner);
        }
        Arc::new(ImperfectTranscriber { inner, faults: self })
    }
}

/// Recogniser whose events come late and with errors.
struct ImperfectTranscriber<T> {
    inner: T,
    faults: Imperfection,
}

impl<T: Transcriber> Transcriber for ImperfectTranscriber<T> {
    fn sample_rate(&self, wanted: u32) -> u32 {
        self.inner.sample_rate(wanted)
    }

    /// Opens a stream. Must be called within a tokio runtime, because a task delivers the events when they are due.
    fn open(&self, config: TranscriberConfig, sink: TranscriptSink) -> Box<dyn TranscriptStream> {
        let queue = Arc::new(Queue::new(Late::new(self.faults.delay, self.faults.seed)));
        let waiting = queue.clone();
        let mut errors = Errors::new(self.faults);
        let task = tokio::spawn(async move {
            loop {
                let event = waiting.next().await;
                if let Some(event) = errors.apply(event) {
                    sink(event);
                }
            }
        });
        let inner = self.inner.open(config, Box::new(move |event| queue.push(event)));
        Box::new(ImperfectStream {
            inner,
            task: task.abort_handle(),
        })
    }
}

struct ImperfectStream {
    inner: Box<dyn TranscriptStream>,
    task: AbortHandle,
}

impl TranscriptStream for ImperfectStream {
    fn push(&mut self, samples: &[i16]) {
        self.inner.push(samples);
    }

    fn speech_started(&mut self) {
        self.inner.speech_started();
    }

    fn finalize(&mut self) {
        self.inner.finalize();
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
}

impl Drop for ImperfectStream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests;
