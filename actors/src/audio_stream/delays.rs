//! Histograms of the delay that the service itself adds to audio.

use std::sync::LazyLock;

use metrics::Histogram;

/// Name of the histogram, in seconds.
pub const DELAY_SECONDS: &str = "ringback_media_delay_seconds";

/// Upper bounds of its buckets, in seconds.
pub const DELAY_BOUNDS: [f64; 14] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05,
];

/// Delay from reading a frame off the socket until its samples are in the session.
pub static FRAME_DELAYS: LazyLock<Histogram> = LazyLock::new(|| metrics::histogram!(DELAY_SECONDS, "of" => "frame"));

/// Delay from the decision to drop audio that the carrier has not played until `clear` is written to the socket.
pub static CLEAR_DELAYS: LazyLock<Histogram> = LazyLock::new(|| metrics::histogram!(DELAY_SECONDS, "of" => "clear"));
