//! wip
pub(in crate::speech) mod alignment;
pub(in crate::speech) mod dialect;
pub(in crate::speech) mod frames;
pub(in crate::speech) mod http_audio;
pub(in crate::speech) mod mouth;
pub(in crate::speech) mod socket_voice;
pub(in crate::speech) mod spoken_text;
pub(in crate::speech) mod trouble;
