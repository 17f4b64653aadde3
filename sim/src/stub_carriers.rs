//! Carriers for tests: the APIs of the real ones, their signed callbacks and media sockets, on real sockets
//! and in front of the phones of an exchange. They are written from the carriers' documents and not from our
//! clients, so that a mistake in one is not repeated in the other. On request they lose responses, repeat and
//! reorder callbacks, and refuse requests.

pub mod asterisk;
mod base;
mod bridge;
mod caller;
mod flow;
mod legs;
mod line;
mod machine_detection;
pub mod run;
mod settings;
mod sound;
pub mod telnyx;
pub mod twilio;
pub mod vonage;

pub use self::{
    base::{Handle, StubBase, delivery::Callbacks, stall::Stall},
    settings::{Delivered, Dial, DialFault, NUMBER, NUMBERS, SERVICE, StubCarrierSettings},
};

use self::run::StubKind;

/// Carriers whose stubs can be run.
pub static KINDS: &[&StubKind] = &[&twilio::KIND, &twilio::SIGNALWIRE, &telnyx::KIND, &vonage::KIND];

/// Returns the titles of the carriers whose untidy reports are also late and in another order.
pub fn reordering() -> String {
    let titles: Vec<&str> = KINDS
        .iter()
        .filter(|kind| kind.reorders)
        .map(|kind| kind.title)
        .collect();
    titles.join(" and ")
}
