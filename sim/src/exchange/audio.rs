//! Sounds of a telephone line, the frames that carry them, and what was played.

pub(super) mod faults;
pub(super) mod line;
pub(super) mod played;
pub(super) mod sound;
pub(super) mod stagger;
