//! Settings of an exchange.

use std::{collections::BTreeMap, net::SocketAddr, ops::RangeInclusive, path::PathBuf, sync::Arc, time::Duration};

use domain::time::{Clock, SystemClock};

use super::{persona::Person, script::Script};

/// Time from the accepted dial to the first ring, or to a busy tone.
pub(super) const SET_UP: Duration = Duration::from_millis(100);

/// Settings of an exchange.
#[derive(Debug, Clone)]
pub struct ExchangeSettings {
    /// Listen address of the dial API; port 0 takes a free port.
    pub listen: SocketAddr,
    /// Record file. A dial is written to it before the dial is answered.
    pub log: Option<PathBuf>,
    /// Keeps the record in memory too, for [`ExchangeHandle::entries`].
    pub keep_log: bool,
    /// Keeps the audio that the phones play in memory, for [`ExchangeHandle::played`].
    pub keep_audio: bool,
    /// Seed that varies the callees and their words.
    pub seed: u64,
    /// Number of lines; a dial beyond them is refused with 429.
    pub max_calls: usize,
    /// Range of the ringing time before pick-up; the number determines the time within the range.
    pub pick_up: RangeInclusive<Duration>,
    /// White noise behind every callee, as root mean square relative to full scale; `None` is digital silence.
    pub line_noise_dbfs: Option<f64>,
    /// Spreads the phones' frame times evenly, even if the phones pick up at the same moment.
    pub spread_frames: bool,
    /// Scripts for callees, by the name in a contact's `script` field.
    pub scripts: BTreeMap<String, Script>,
    /// Sends every status callback twice.
    pub duplicate_statuses: bool,
    /// Default address to announce a phone's own call to.
    pub announce_to: Option<String>,
    /// Longest call; the exchange ends a call that is still up after this time.
    pub longest_call: Duration,
    /// Wall clock of the record and of the list of calls.
    pub clock: Arc<dyn Clock>,
}

impl ExchangeSettings {
    /// Returns the settings of an exchange at `listen` with 1,000 lines, callees that pick up after one or
    /// two rings, and no record.
    pub fn at(listen: SocketAddr) -> Self {
        Self {
            listen,
            log: None,
            keep_log: false,
            keep_audio: false,
            seed: 0,
            max_calls: 1_000,
            pick_up: Duration::from_secs(2)..=Duration::from_secs(6),
            line_noise_dbfs: None,
            spread_frames: false,
            scripts: BTreeMap::new(),
            duplicate_statuses: false,
            announce_to: None,
            longest_call: Duration::from_secs(3_600),
            clock: Arc::new(SystemClock),
        }
    }

    /// Returns the settings of an exchange on a free loopback port that keeps its record in memory.
    pub fn on_loopback() -> Self {
        Self {
            keep_log: true,
            ..Self::at(SocketAddr::from(([127, 0, 0, 1], 0)))
        }
    }

    /// Returns the ringing time of a number before pick-up: one ring or two, always the same for the same number.
    pub(super) fn pick_up_after(&self, number: &str) -> Duration {
        let steps = Person::new(number, self.seed).choice("pick-up", 1_001);
        let (least, most) = (self.pick_up.start(), self.pick_up.end());
        *least + most.saturating_sub(*least).mul_f64(steps as f64 / 1_000.0)
    }
}
