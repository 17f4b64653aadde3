//! Commands of clients to a live call, and their answers. Nodes pass them on as JSON.

use serde::{Deserialize, Serialize};

use domain::{
    agent::{NumberTransfer, UsableTransfer},
    ports::{carrier::TransferKind, language_model::NoteScope},
};

/// A command of a client to a live call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallCommand {
    /// Name of the API key that sent it.
    pub by: String,
    /// Action that is asked for.
    pub kind: CommandKind,
}

/// Action that a client asks of a live call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase")]
pub enum CommandKind {
    /// The agent says these words next.
    Say {
        /// The words.
        text: String,
        /// Whether they replace what the agent says or is about to say.
        interrupt: bool,
    },
    /// The call is transferred.
    Transfer {
        /// Kind and destination.
        transfer: NumberTransfer,
        /// Announcement; `None` for the standard sentence.
        message: Option<String>,
    },
    /// Keys are pressed.
    Digits {
        /// The keys.
        digits: String,
    },
    /// The model follows a note.
    Instructions {
        /// The note.
        text: String,
        /// How long it holds. A node of an older version sends nothing, and means the call.
        #[serde(default, rename = "for")]
        holds_for: NoteScope,
    },
    /// The user says these words, in a call that is held in text.
    Text {
        /// The words.
        text: String,
    },
}

impl CommandKind {
    /// Returns the kind of the transfer that is asked for.
    pub(super) fn transfer_kind(&self) -> Option<TransferKind> {
        match self {
            Self::Transfer { transfer, .. } => UsableTransfer::of(transfer).map(|usable| usable.kind),
            Self::Say { .. } | Self::Digits { .. } | Self::Instructions { .. } | Self::Text { .. } => None,
        }
    }
}

/// Answer to a client's command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandAnswer {
    /// It is carried out.
    Done,
    /// It is not possible now, for this reason.
    Refused(String),
    /// This node does not hold the call.
    NotHere,
}
