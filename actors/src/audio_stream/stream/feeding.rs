//! Audio and words of the stream, for clients that follow the call.

use super::Stream;
use crate::live_feed::{LiveAudio, LiveEvent};
use domain::history::Speaker;

impl Stream {
    /// Passes both sides on, if anybody listens.
    pub(super) fn feed_audio(&mut self) {
        let Some(feed) = &self.feed else { return };
        if feed.audio.receiver_count() == 0 {
            self.session.stop_tap();
            return;
        }
        self.session.start_tap();
        let sample_rate = self.providers.line_rate;
        while let Some(samples) = self.session.take_tap() {
            let samples = samples.into();
            // An error means that the last listener has just left.
            let _ = feed.audio.send(LiveAudio { sample_rate, samples });
        }
    }

    /// Passes the words of the user or an operator on.
    pub(super) fn feed_words(&self, speaker: Speaker, text: String, is_final: bool) {
        if let Some(feed) = self.feed.as_ref().filter(|_| !text.is_empty()) {
            feed.tell(LiveEvent::Words {
                speaker,
                text,
                is_final,
            });
        }
    }
}
