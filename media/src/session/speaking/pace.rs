//! How far ahead, and in which messages, a line is fed.

use crate::session::messages::SessionConfig;

/// Pace at which a line is fed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Most samples sent ahead.
    pub(super) ahead: u64,
    /// Samples of a media message.
    pub(super) message: u64,
    /// With fewer samples ahead, a shorter message is sent rather than waiting for more.
    pub(super) low: u64,
    /// Whether every message must be whole, because the line plays it as it comes.
    pub(super) whole: bool,
}

impl Pace {
    /// Returns the pace: lines that buffer and can be cleared get a second and a half ahead, others 20 ms at a time.
    pub(super) fn of(config: &SessionConfig) -> Self {
        let ms = u64::from(config.format.sample_rate / 1_000);
        match config.abilities.buffers && config.abilities.clear {
            true => Self {
                ahead: 1_500 * ms,
                message: 200 * ms,
                low: 100 * ms,
                whole: false,
            },
            false => Self {
                ahead: 60 * ms,
                message: 20 * ms,
                low: 20 * ms,
                whole: !config.abilities.buffers,
            },
        }
    }
}
