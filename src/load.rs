//! Load of this node: measured four times a second, and reported to everything that starts new work.
//!
//! [`domain::admission`] decides; this module contains the measurements, the settings, and `GET /ready`.

mod measures;
mod ready;

use std::{sync::Arc, time::Duration};

use actors::{lines::LinesMessage, switchboard::Switchboard};
use clap::Args;
use domain::admission::{Admission, Gate, Level, Limits};
use tokio::time::{Instant, MissedTickBehavior, interval};

use measures::Measures;
use net::setting::whole;
pub use ready::{ReadyEndpoint, database_awaited};
use storage::SqlStore;

/// Interval between measurements. Only a share of the requests is refused at a time, so it may be short.
const EVERY: Duration = Duration::from_millis(250);

/// Interval between measurements of the waiting time in the mailboxes of shared actors.
const MAILBOXES_EVERY: Duration = Duration::from_secs(5);

/// A message that waits longer for its actor than this raises an alarm: mailboxes have no limit of their own.
const MAILBOX_ALARM: Duration = Duration::from_secs(1);

/// Longest wait for an actor's answer.
const MAILBOX_PATIENCE: Duration = Duration::from_secs(10);

/// Limits at which new work is refused.
#[derive(Debug, Clone, Copy, Args)]
pub struct LoadConfig {
    /// Percent of the worker threads' time above which new work is refused; 100 turns this off
    #[arg(long = "shed-cpu", env = "RINGBACK_SHED_CPU", default_value_t = 85, value_parser = whole(20..=100_u8))]
    pub cpu: u8,

    /// Percent of the machine's or container's memory above which new work is refused; 100 turns this off
    #[arg(long = "shed-memory", env = "RINGBACK_SHED_MEMORY", default_value_t = 90, value_parser = whole(20..=100_u8))]
    pub memory: u8,

    /// Milliseconds a write may wait for the database before new work is refused; 0 turns this off
    #[arg(long = "shed-lag-ms", env = "RINGBACK_SHED_LAG_MS", default_value_t = 2_000, value_parser = whole(0..=600_000_u64))]
    pub lag_ms: u64,
}

impl LoadConfig {
    /// Limits that are never reached.
    pub const NEVER: Self = Self {
        cpu: 100,
        memory: 100,
        lag_ms: 0,
    };

    fn limits(self) -> Limits {
        Limits {
            cpu: f64::from(self.cpu) / 100.0,
            memory: f64::from(self.memory) / 100.0,
            lag: match self.lag_ms {
                0 => Duration::MAX,
                limit => Duration::from_millis(limit),
            },
        }
    }
}

/// Measures until it is dropped; sets the gate, and informs the line pool.
pub async fn watch(config: LoadConfig, gate: Gate, store: Arc<SqlStore>, to: Switchboard) {
    let mut admission = Admission::new(config.limits());
    let mut measures = Measures::begin();
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = Level::Calm;
    tick.tick().await;
    loop {
        tick.tick().await;
        let (sample, since_last) = measures.take(store.lag());
        admission.observe(sample, since_last);
        gate.set(&admission);
        let level = admission.level();
        // Sent every time, because a restarted line pool does not know the level yet. A failed send is
        // repeated at the next tick.
        let _ = to.lines.cast(LinesMessage::Load(level));
        if level != told {
            let (cpu, memory) = (admission.cpu(), sample.memory);
            let lag_ms = sample.lag.as_millis();
            if level > told {
                tracing::warn!(
                    level = level.as_str(),
                    cpu,
                    memory,
                    lag_ms,
                    "overloaded, refusing new work"
                );
            } else {
                tracing::info!(
                    level = level.as_str(),
                    cpu,
                    memory,
                    lag_ms,
                    "load reduced, accepting work again"
                );
            }
            told = level;
        }
        metrics::gauge!("ringback_load_level").set(f64::from(level.figure()));
        metrics::gauge!("ringback_load_pressure").set(admission.pressure());
        metrics::gauge!("ringback_load_cpu").set(admission.cpu().unwrap_or_default());
        metrics::gauge!("ringback_load_memory").set(sample.memory.unwrap_or_default());
        metrics::gauge!("ringback_database_lag_seconds").set(sample.lag.as_secs_f64());
    }
}

/// Measures until it is dropped how long messages wait in the mailboxes that all calls share, and raises an alarm.
pub async fn watch_mailboxes(to: Switchboard) {
    let mut tick = interval(MAILBOXES_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut alarmed = [false; 2];
    loop {
        tick.tick().await;
        let lines = async {
            let asked = Instant::now();
            let answer = to.lines.ask(LinesMessage::Inspect, MAILBOX_PATIENCE).await;
            (answer.is_some(), asked.elapsed())
        };
        // This call asks the campaigns and the line pool, one after the other.
        let switchboard = async {
            let asked = Instant::now();
            to.inspect().await;
            (true, asked.elapsed())
        };
        let (lines, switchboard) = tokio::join!(lines, switchboard);
        for ((name, (answered, waited)), alarmed) in [("lines", lines), ("switchboard", switchboard)]
            .into_iter()
            .zip(&mut alarmed)
        {
            metrics::gauge!("ringback_mailbox_wait_seconds", "actor" => name).set(waited.as_secs_f64());
            let late = !answered || waited >= MAILBOX_ALARM;
            if late && !*alarmed {
                let waited_ms = waited.as_millis();
                tracing::error!(actor = name, answered, waited_ms, "actor mailbox slow");
            }
            *alarmed = late;
        }
    }
}
