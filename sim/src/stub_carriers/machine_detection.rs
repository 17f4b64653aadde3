//! Detection of a mailbox's beep, for a carrier that offers it.

use media::{codec, format::Encoding, tone::BeepDetector};

/// Detector that stops after the first beep.
pub struct MachineDetection(Option<BeepDetector>);

impl MachineDetection {
    pub fn new(listens: bool) -> Self {
        Self(listens.then(BeepDetector::new))
    }

    /// Returns whether this audio, in mu-law, contains the beep.
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
