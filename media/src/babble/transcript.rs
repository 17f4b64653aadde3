//! Puts what a listener heard together into utterances.

use super::listener::ListenerEvent;

/// Stands in a text where something is missing.
pub const MISSING: char = '…';

/// A finished utterance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Utterance {
    /// The verified words; [`MISSING`] where some are lost.
    pub text: String,
    /// Something is lost.
    pub damaged: bool,
}

/// The utterance in progress.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transcript {
    verified: Utterance,
    interim: String,
}

impl Transcript {
    /// Takes an event; returns the utterance when the event ends it.
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

    /// The verified words so far, and behind them the unverified ones of the packet in progress.
    pub fn so_far(&self) -> String {
        format!("{}{}", self.verified.text, self.interim)
    }

    /// The verified words so far.
    pub fn verified(&self) -> &Utterance {
        &self.verified
    }

    /// Nothing has been heard since the last utterance.
    pub fn is_empty(&self) -> bool {
        self.interim.is_empty() && self.verified == Utterance::default()
    }
}
