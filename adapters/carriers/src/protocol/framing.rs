//! Writers for carriers whose audio messages have a least length or must hold whole frames.

use domain::ports::media_leg::OutboundItem;
use media::{codec, format::LineFormat};

use super::stream::{MediaMessage, MediaWriter};

/// Lengths of audio messages, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    /// Each message is a multiple of this.
    pub(crate) unit: usize,
    pub(crate) least: usize,
    pub(crate) most: usize,
}

impl Lengths {
    /// Returns the lengths of messages that hold at least one frame, and whole frames only.
    pub(crate) fn of_frames(format: LineFormat, frame_ms: u32, most_ms: u32) -> Self {
        let frame = format.bytes_for_ms(frame_ms);
        Self {
            unit: frame,
            least: frame,
            most: format.bytes_for_ms(most_ms),
        }
    }
}

/// The messages that a carrier understands.
pub(crate) trait Wording: Send {
    fn audio(&self, piece: Vec<u8>) -> MediaMessage;

    /// Returns the message that asks for a mark. `None` if the carrier would not take this name.
    fn mark(&self, name: &str) -> Option<MediaMessage>;

    fn clear(&self) -> MediaMessage;

    /// Returns whether the carrier takes more audio now. Otherwise it is dropped.
    fn takes_audio(&self) -> bool {
        true
    }
}

/// Writer of one stream. Audio that fills no message waits for more. Before a mark it is padded with silence, because
/// nothing more may follow.
pub(crate) struct FramedWriter<W> {
    wording: W,
    lengths: Lengths,
    silence: u8,
    waiting: Vec<u8>,
}

impl<W: Wording> FramedWriter<W> {
    pub(crate) fn new(wording: W, format: LineFormat, lengths: Lengths) -> Self {
        Self {
            wording,
            lengths,
            silence: codec::silence(format.encoding),
            waiting: Vec::new(),
        }
    }

    fn send(&mut self, messages: &mut Vec<MediaMessage>) {
        let Lengths { unit, least, most } = self.lengths;
        let mut rest = &*self.waiting;
        while rest.len() >= least {
            let (piece, after) = rest.split_at(rest.len().min(most) / unit * unit);
            messages.push(self.wording.audio(piece.to_vec()));
            rest = after;
        }
        let left = rest.len();
        self.waiting.drain(..self.waiting.len() - left);
    }
}

impl<W: Wording> MediaWriter for FramedWriter<W> {
    fn write(&mut self, item: &OutboundItem, messages: &mut Vec<MediaMessage>) {
        match item {
            OutboundItem::Audio(audio) if self.wording.takes_audio() => {
                self.waiting.extend_from_slice(audio);
                self.send(messages);
            }
            OutboundItem::Audio(_) => self.waiting.clear(),
            OutboundItem::Mark(name) => {
                if !self.waiting.is_empty() {
                    self.waiting.resize(self.lengths.least, self.silence);
                    self.send(messages);
                }
                messages.extend(self.wording.mark(name));
            }
            OutboundItem::Clear => {
                self.waiting.clear();
                messages.push(self.wording.clear());
            }
            OutboundItem::Digit(_) | OutboundItem::Close => {}
        }
    }
}
