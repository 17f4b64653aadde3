//! Who answered: a person, or a machine and what it is given.

pub mod menu;
pub mod voicemail;
pub mod who_answered;

use self::menu::Menu;
use domain::ports::carrier::MachineVerdict;

/// The machine on the line, and what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// A mailbox greets; the call waits for its beep.
    Beep,
    /// The message plays. Tells whether it began after a beep.
    Message { beeped: bool },
    /// A menu talks.
    Menu,
    /// The menu's key to a person was pressed at `since_ms`, in the stream's time.
    Pressed { since_ms: u64 },
    /// An assistant asks who calls. `told` counts the introductions, `since_ms` is the stream's time of the last one.
    Screening { told: u8, since_ms: u64 },
}

/// What is known of who answered. Its fields are seen only here and by the steps below this module.
#[derive(Debug, Clone, Default)]
pub struct Answerer {
    menu: Menu,
    /// The carrier's verdict on who answered, and whether it must still be handled when the media is back.
    carrier_said: Option<MachineVerdict>,
    carrier_due: bool,
    voicemail: bool,
    /// Whether voice stopped the message to the mailbox.
    message_cut: bool,
    /// A beep came, and no voice after it.
    beep_heard: bool,
}

impl Answerer {
    pub fn inherited(machine: Option<Machine>, carrier_said: Option<MachineVerdict>) -> Self {
        Self {
            carrier_said,
            voicemail: matches!(machine, Some(Machine::Beep | Machine::Message { .. })),
            ..Self::default()
        }
    }

    pub fn is_voicemail(&self) -> bool {
        self.voicemail
    }

    pub fn carrier_said(&self) -> Option<MachineVerdict> {
        self.carrier_said
    }

    /// Returns the carrier's verdict if it came while media was lost, once.
    pub fn take_due(&mut self) -> Option<MachineVerdict> {
        self.carrier_said.filter(|_| std::mem::take(&mut self.carrier_due))
    }

    pub fn forget_beep(&mut self) {
        self.beep_heard = false;
    }
}
