//! Rates that can be converted, and the error for those that cannot.

/// Rates accepted by [`super::Resampler`], in Hz.
pub const RATES_HZ: std::ops::RangeInclusive<u32> = 4_000..=192_000;

/// Error: a pair of rates that cannot be converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResampleError {
    /// A rate is out of range.
    #[error("a sample rate of {0} Hz is outside {min} to {max} Hz", min = RATES_HZ.start(), max = RATES_HZ.end())]
    Rate(u32),
    /// The two rates have no small common measure, so the filter would be huge.
    #[error(
        "no converter from {from_hz} to {to_hz} Hz: {problem}; use a common rate such as 8000, 16000, 24000 or 48000"
    )]
    Pair {
        /// The rate of the input.
        from_hz: u32,
        /// The rate of the output.
        to_hz: u32,
        /// Reason why there is no converter.
        problem: String,
    },
}
