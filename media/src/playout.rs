//! Playout of the agent's speech: the account of every sample sent ([`Ledger`]), and the speech from which
//! samples are sent ([`Speech`]).

mod ledger;
mod speech;

pub use ledger::{Ledger, LineAbilities};
pub use speech::{Speech, WordEnd};
