//! Buffer of what a caller sent ahead: audio and marks in order, taken out in frames of 20 ms. Pure.

use std::collections::VecDeque;

/// Bytes of mu-law in a frame of 20 ms.
pub(crate) const FRAME: usize = 160;
/// Ten minutes of audio. Like Twilio, the buffer discards what exceeds it.
const MOST_BYTES: usize = 10 * 60 * 8_000;

#[derive(Debug)]
enum Waiting {
    Audio { bytes: Vec<u8>, played: usize },
    Mark(String),
}

/// The buffer of one stream.
#[derive(Debug, Default)]
pub(crate) struct Line {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Marks inside the frame that is playing now.
    passed: Vec<String>,
    /// Bytes of audio discarded because the buffer was full.
    pub(crate) discarded: u64,
}

impl Line {
    /// Returns whether nothing is left to play.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns the playing time of the remaining audio, in milliseconds.
    pub(crate) fn unplayed_ms(&self) -> u64 {
        (self.bytes / 8) as u64
    }

    /// Appends audio.
    pub(crate) fn audio(&mut self, mut bytes: Vec<u8>) {
        let room = MOST_BYTES - self.bytes;
        if bytes.len() > room {
            self.discarded += (bytes.len() - room) as u64;
            bytes.truncate(room);
        }
        self.bytes += bytes.len();
        self.waiting.push_back(Waiting::Audio { bytes, played: 0 });
    }

    /// Appends a mark. It is returned together with the frame after the audio before it.
    pub(crate) fn mark(&mut self, name: String) {
        self.waiting.push_back(Waiting::Mark(name));
    }

    /// Empties the buffer and returns all marks that were not yet returned.
    pub(crate) fn clear(&mut self) -> Vec<String> {
        self.bytes = 0;
        let mut marks = std::mem::take(&mut self.passed);
        marks.extend(self.waiting.drain(..).filter_map(|item| match item {
            Waiting::Mark(name) => Some(name),
            Waiting::Audio { .. } => None,
        }));
        marks
    }

    /// Called when the previous frame has been played: returns the marks that have come due. `frame` gets the
    /// next audio to play, up to [`FRAME`] bytes.
    pub(crate) fn tick(&mut self, frame: &mut Vec<u8>) -> Vec<String> {
        frame.clear();
        let mut due = std::mem::take(&mut self.passed);
        while let Some(item) = self.waiting.front_mut() {
            match item {
                Waiting::Mark(name) => {
                    let name = std::mem::take(name);
                    if frame.is_empty() {
                        due.push(name);
                    } else {
                        self.passed.push(name);
                    }
                    self.waiting.pop_front();
                }
                Waiting::Audio { bytes, played } => {
                    let take = (FRAME - frame.len()).min(bytes.len() - *played);
                    frame.extend_from_slice(&bytes[*played..*played + take]);
                    *played += take;
                    self.bytes -= take;
                    if *played < bytes.len() {
                        break;
                    }
                    self.waiting.pop_front();
                }
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tick(line: &mut Line) -> (usize, Vec<String>) {
        let mut frame = Vec::new();
        let marks = line.tick(&mut frame);
        (frame.len(), marks)
    }

    #[test]
    fn a_mark_returns_when_the_audio_before_it_has_been_played() {
        let mut line = Line::default();
        line.audio(vec![1; 200]);
        line.mark("a".into());
        line.audio(vec![2; 40]);
        line.mark("b".into());
        assert_eq!(tick(&mut line), (160, vec![]));
        assert_eq!(tick(&mut line), (80, vec![]));
        assert_eq!(tick(&mut line), (0, vec!["a".to_owned(), "b".to_owned()]));
        line.mark("c".into());
        assert_eq!(tick(&mut line), (0, vec!["c".to_owned()]));
    }

    #[test]
    fn clear_returns_every_mark_not_yet_returned() {
        let mut line = Line::default();
        line.audio(vec![1; 160]);
        line.mark("a".into());
        line.audio(vec![1; 1600]);
        line.mark("b".into());
        assert_eq!(tick(&mut line), (160, vec![]));
        assert_eq!(line.clear(), ["a", "b"]);
        assert!(line.is_empty());
        assert_eq!(tick(&mut line), (0, vec![]));
    }

    proptest! {
        #[test]
        fn everything_is_played_once_in_order(pieces in proptest::collection::vec((0_usize..500, any::<bool>()), 0..30)) {
            let mut line = Line::default();
            let mut sent = Vec::new();
            let mut marks = Vec::new();
            for (at, (length, marked)) in pieces.into_iter().enumerate() {
                let bytes = vec![u8::try_from(at).unwrap(); length];
                sent.extend_from_slice(&bytes);
                line.audio(bytes);
                if marked {
                    line.mark(at.to_string());
                    marks.push(at.to_string());
                }
            }
            let (mut played, mut returned, mut frame) = (Vec::new(), Vec::new(), Vec::new());
            loop {
                returned.extend(line.tick(&mut frame));
                if frame.is_empty() {
                    break;
                }
                played.extend_from_slice(&frame);
            }
            prop_assert_eq!(played, sent);
            prop_assert_eq!(returned, marks);
        }
    }
}
