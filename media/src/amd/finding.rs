//! Verdicts on who answered, and their evidence.

/// Kind of party on the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// A person.
    Human,
    /// A mailbox that takes a message.
    Voicemail,
    /// A menu, or an assistant that asks before it connects.
    Ivr,
    /// An announcement, or a mailbox that takes no message.
    Unavailable,
    /// Unknown.
    Unknown,
}

impl Verdict {
    /// Returns the name for facts and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Voicemail => "voicemail",
            Self::Ivr => "ivr",
            Self::Unavailable => "unavailable",
            Self::Unknown => "unknown",
        }
    }

    /// Returns whether no person is on the line.
    pub fn is_machine(self) -> bool {
        matches!(self, Self::Voicemail | Self::Ivr | Self::Unavailable)
    }
}

/// Evidence for a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A few words, then silence: somebody waits for the caller.
    ShortAndWaits,
    /// Words to somebody who can answer.
    Converses,
    /// A person's words after a machine's.
    PickedUp,
    /// Words that mailboxes use.
    MachineWords,
    /// Long steady talk, with words that hint at a mailbox.
    ShapeAndWords,
    /// A beep after a machine-like greeting.
    BeepAfterGreeting,
    /// A menu that wants a key.
    Menu,
    /// The same announcement again.
    Repeated,
    /// An assistant that asks who calls and why.
    Screening,
    /// A full mailbox, or one that is not set up.
    MailboxFull,
    /// The callee's telephone is off or out of reach.
    NotReachable,
    /// The number does not exist.
    NotInService,
    /// The three tones before an announcement.
    SpecialTones,
    /// Nobody said anything.
    Silence,
    /// The evidence is inconclusive.
    Undecided,
}

impl Reason {
    /// Returns the name for facts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ShortAndWaits => "short-and-waits",
            Self::Converses => "converses",
            Self::PickedUp => "picked-up",
            Self::MachineWords => "machine-words",
            Self::ShapeAndWords => "shape-and-words",
            Self::BeepAfterGreeting => "beep-after-greeting",
            Self::Menu => "menu",
            Self::Repeated => "repeated",
            Self::Screening => "screening",
            Self::MailboxFull => "mailbox-full",
            Self::NotReachable => "not-reachable",
            Self::NotInService => "not-in-service",
            Self::SpecialTones => "special-tones",
            Self::Silence => "silence",
            Self::Undecided => "undecided",
        }
    }
}

/// A verdict that is new or differs from the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// The verdict.
    pub verdict: Verdict,
    /// The evidence.
    pub reason: Reason,
    /// Time of the verdict in milliseconds of the stream.
    pub at_ms: u64,
}
