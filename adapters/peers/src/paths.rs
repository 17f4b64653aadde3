//! Paths of the commands between nodes, and how long one may take.

use std::time::Duration;

use domain::id::AttemptId;

/// Time limit for another node to carry out a command.
pub(super) const DONE_WITHIN: Duration = Duration::from_secs(2);

/// Path of the command to drop cached speech that may contain personal data.
pub(super) const FORGET_SPEECH: &str = "/peers/speech/forget";

/// Path of the question for the present states of calls.
pub(super) const PRESENT: &str = "/peers/calls/present";

/// Path of the command to end a call that the node holds.
pub(super) fn end_of(attempt: AttemptId) -> String {
    format!("/peers/calls/{attempt}/end")
}

/// Path of a client's command to a call that the node holds.
pub(super) fn command_of(attempt: AttemptId) -> String {
    format!("/peers/calls/{attempt}/command")
}

/// Path of the command that says a call of the node was taken over.
pub(super) fn taken_over(attempt: AttemptId) -> String {
    format!("/peers/calls/{attempt}/taken-over")
}
