//! Combines a listener's events into utterances.

use super::listener::ListenerEvent;

/// Marks missing words in a text.
pub const MISSING: char = '…';

/// A finished utterance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Utterance {
    /// The verified words, with [`MISSING`] in place of lost ones.
    pub text: String,
    /// Whether something is lost.
    pub damaged: bool,
}

/// The utterance in progress.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transcript {
    verified: Utterance,
    interim: String,
}

impl Transcript {
    /// Takes an event. Returns the utterance if the event ends it.
    pub fn take(&mut self, heard: ListenerEvent) -> Option<Utterance> {
        self.interim.clear();
        match heard {
            ListenerEvent::Interim { text } => {
                self.interim = text;
                None
            }
            ListenerEvent::Packet { text, last, .. } => {
                self.verified.text.push_str(&text);
                last.then(|| std::mem::take(&mut self.verified))
            }
            ListenerEvent::Gap => {
                self.verified.damaged = true;
                self.verified.text.push(MISSING);
                None
            }
            ListenerEvent::End => Some(std::mem::take(&mut self.verified)),
        }
    }

    /// Returns the verified words so far, followed by the unverified ones of the packet in progress.
    pub fn so_far(&self) -> String {
        format!("{}{}", self.verified.text, self.interim)
    }

    /// Returns the verified words so far.
    pub fn verified(&self) -> &Utterance {
        &self.verified
    }

    /// Returns whether nothing has been heard since the last utterance.
    pub fn is_empty(&self) -> bool {
        self.interim.is_empty() && self.verified == Utterance::default()
    }
}
