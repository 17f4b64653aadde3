//! The ear of a carrier that listens for a mailbox's beep.

use media::{codec, format::Encoding, tone::BeepDetector};

/// Listens until it has heard one.
pub struct Ear(Option<BeepDetector>);

impl Ear {
    pub fn new(listens: bool) -> Self {
        Self(listens.then(BeepDetector::new))
    }

    /// Whether the beep is heard with this audio, in mu-law.
    pub fn hears_beep(&mut self, mulaw: &[u8]) -> bool {
        let Some(beep) = &mut self.0 else { return false };
        let (mut samples, mut beeps) = (Vec::new(), Vec::new());
        codec::decode(Encoding::MuLaw, mulaw, &mut samples);
        beep.push(&samples, &mut beeps);
        if beeps.is_empty() {
            return false;
        }
        self.0 = None;
        true
    }
}
