//! Machines that answer in place of a person, or before one does.

pub(super) mod ivr;
pub(super) mod screening;
pub(super) mod voicemail;
