//! Load shedding: what a node gives up when it is overloaded. The least important work goes first, and live
//! calls are never given up. Free of I/O.
//!
//! Measurements move one value, the pressure, up and down: fast if the node is far over its limits, slowly if
//! it is near them. Each kind of request is refused in proportion to the pressure, so a node at its limit
//! answers as many as it can. Background work stops and resumes with the level, which has some slack in both
//! directions.

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU32, Ordering},
    },
    time::Duration,
};

/// Time over which the processor load is smoothed.
const SMOOTHED_OVER: Duration = Duration::from_secs(1);

/// Distance below its limit that a measurement must reach before work resumes: a tenth of the processor, a
/// twentieth of the memory, half of the lag.
const CPU_SLACK: f64 = 0.10;
const MEMORY_SLACK: f64 = 0.05;
const LAG_SLACK: f64 = 0.5;

/// Speed at which the pressure falls while a measurement is between its limit and its slack, in levels per
/// second. Pressure that another limit caused must go away even if this measurement stays there forever, as
/// memory of other processes may.
const BETWEEN: f64 = 0.1;

/// Speed of the pressure in levels per second: at a limit, and the additional speed at the greatest distance from it.
const SLOWLY: f64 = 0.5;
const FASTER: f64 = 1.5;

/// Highest pressure, beyond every limit.
const MOST: f64 = 7.0;

/// Work of a node besides its live calls, in the order in which it is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// Analyses of calls that are over.
    Analysis,
    /// Requests for lists, files and recordings.
    Lists,
    /// First tries of webhooks and e-mails.
    Deliveries,
    /// Requests that read one thing.
    Reads,
    /// Requests that change something.
    Writes,
    /// Outgoing calls.
    Dials,
    /// Incoming calls.
    Inbound,
}

spelled!(Work, Analysis "analysis", Lists "lists", Deliveries "deliveries", Reads "reads", Writes "writes",
    Dials "dials", Inbound "inbound");

impl Work {
    /// Returns the level at which this work is given up.
    pub fn given_up_at(self) -> Level {
        match self {
            Self::Analysis => Level::NoAnalysis,
            Self::Lists => Level::NoLists,
            Self::Deliveries => Level::NoDeliveries,
            Self::Reads => Level::NoReads,
            Self::Writes => Level::NoWrites,
            Self::Dials => Level::NoDials,
            Self::Inbound => Level::NoInbound,
        }
    }

    /// Returns the pressure up to which none of this work is refused.
    fn stands(self) -> f64 {
        f64::from(self.given_up_at().figure()) - 1.0
    }
}

/// Work that a node has given up: the level's own kind and all kinds before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Nothing is given up.
    #[default]
    Calm,
    /// Analyses are delayed.
    NoAnalysis,
    /// Lists are refused, too.
    NoLists,
    /// Deliveries are delayed, too.
    NoDeliveries,
    /// Reads are refused, too.
    NoReads,
    /// Writes are refused, too.
    NoWrites,
    /// No calls are placed, either.
    NoDials,
    /// Incoming calls are refused, too. Live calls continue.
    NoInbound,
}

spelled!(Level, Calm "calm", NoAnalysis "no analysis", NoLists "no lists", NoDeliveries "no deliveries",
    NoReads "no reads", NoWrites "no writes", NoDials "no dials", NoInbound "no calls from outside");

impl Level {
    /// Returns the level as a number from 0 to 7.
    pub fn figure(self) -> u8 {
        self as u8
    }

    /// Returns whether this work is delayed or refused.
    pub fn gives_up(self, work: Work) -> bool {
        self >= work.given_up_at()
    }

    fn of(figure: u8) -> Self {
        Self::ALL.get(usize::from(figure)).copied().unwrap_or(Self::NoInbound)
    }
}

/// Limits at which work is given up. A value that is never reached, such as 1 or [`Duration::MAX`], means no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Share of processor time, 0 to 1.
    pub cpu: f64,
    /// Share of memory, 0 to 1.
    pub memory: f64,
    /// Longest time that a write may wait for the database.
    pub lag: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu: 0.85,
            memory: 0.90,
            lag: Duration::from_secs(2),
        }
    }
}

/// Measurements. A value that the system does not provide is absent and counts as healthy.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sample {
    /// Share of processor time since the last sample.
    pub cpu: Option<f64>,
    /// Share of memory in use.
    pub memory: Option<f64>,
    /// Time that the oldest write has been waiting.
    pub lag: Duration,
}

/// Position of a measurement: its distance over the limit, or below the slack; both 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stand {
    Over(f64),
    Between,
    Under(f64),
}

impl Stand {
    fn of(value: f64, limit: f64, slack: f64, most: f64) -> Self {
        let leave = limit - slack;
        if limit >= most {
            return Self::Under(1.0);
        }
        if value >= limit {
            Self::Over(((value - limit) / (most - limit)).clamp(0.0, 1.0))
        } else if value >= leave || leave <= 0.0 {
            Self::Between
        } else {
            Self::Under(((leave - value) / leave).clamp(0.0, 1.0))
        }
    }

    /// Returns the worse of two.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Over(a), Self::Over(b)) => Self::Over(a.max(b)),
            (Self::Over(a), _) | (_, Self::Over(a)) => Self::Over(a),
            (Self::Between, _) | (_, Self::Between) => Self::Between,
            (Self::Under(a), Self::Under(b)) => Self::Under(a.min(b)),
        }
    }
}

/// State of a node's load shedding.
#[derive(Debug, Clone)]
pub struct Admission {
    limits: Limits,
    cpu: Option<f64>,
    pressure: f64,
    level: Level,
}

impl Admission {
    /// Creates the state without measurements; it gives up nothing.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            cpu: None,
            pressure: 0.0,
            level: Level::Calm,
        }
    }

    /// Processes a sample, `since_last` after the previous one.
    pub fn observe(&mut self, sample: Sample, since_last: Duration) {
        let seconds = since_last.as_secs_f64();
        self.smooth(sample.cpu, seconds);
        let share = |value: Option<f64>, limit, slack| {
            value.map_or(Stand::Under(1.0), |value| Stand::of(value, limit, slack, 1.0))
        };
        let lag_limit = self.limits.lag.as_secs_f64();
        let lag = match self.limits.lag {
            Duration::MAX => Stand::Under(1.0),
            // Twice the limit counts as the worst case.
            _ => Stand::of(
                sample.lag.as_secs_f64(),
                lag_limit,
                LAG_SLACK * lag_limit,
                2.0 * lag_limit,
            ),
        };
        let worst = share(self.cpu, self.limits.cpu, CPU_SLACK)
            .and(share(sample.memory, self.limits.memory, MEMORY_SLACK))
            .and(lag);
        let moved = match worst {
            Stand::Over(by) => SLOWLY + FASTER * by,
            Stand::Between => -BETWEEN,
            Stand::Under(by) => -(SLOWLY + FASTER * by),
        };
        self.pressure = (self.pressure + moved * seconds).clamp(0.0, MOST);
        self.settle();
    }

    fn smooth(&mut self, cpu: Option<f64>, seconds: f64) {
        let keeps = (-seconds / SMOOTHED_OVER.as_secs_f64()).exp();
        self.cpu = match (self.cpu, cpu) {
            (Some(before), Some(now)) => Some(before * keeps + now * (1.0 - keeps)),
            // A node that starts is busy with itself, which is not load yet.
            (None, Some(now)) => Some(now * (1.0 - keeps)),
            (_, None) => None,
        };
    }

    /// Moves the level after the pressure with one level of slack, so that stopped work does not resume at once.
    fn settle(&mut self) {
        let mut figure = self.level.figure();
        while figure < Level::NoInbound.figure() && self.pressure >= f64::from(figure) + 1.0 {
            figure += 1;
        }
        while figure > 0 && self.pressure <= f64::from(figure) - 1.0 {
            figure -= 1;
        }
        self.level = Level::of(figure);
    }

    /// Returns the present level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Returns the smoothed processor load.
    pub fn cpu(&self) -> Option<f64> {
        self.cpu
    }

    /// Returns the pressure, 0 to 7. Its fraction is the share of the next kind of requests that is refused.
    pub fn pressure(&self) -> f64 {
        self.pressure
    }
}

/// Gate that tells workers whether they may work. Clones share one gate; a new gate is open.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<GateState>);

#[derive(Debug, Default)]
struct GateState {
    level: AtomicU8,
    /// Pressure in thousandths.
    pressure: AtomicU32,
    asked: [AtomicU32; Work::ALL.len()],
}

impl Gate {
    /// Sets the gate to the state of the admission.
    pub fn set(&self, admission: &Admission) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 7000")]
        let pressure = (admission.pressure * 1_000.0) as u32;
        self.0.pressure.store(pressure, Ordering::Relaxed);
        self.0.level.store(admission.level.figure(), Ordering::Relaxed);
    }

    /// Returns the present level.
    pub fn level(&self) -> Level {
        Level::of(self.0.level.load(Ordering::Relaxed))
    }

    /// Returns whether background work of this kind must wait.
    pub fn holds(&self, work: Work) -> bool {
        self.level().gives_up(work)
    }

    /// Returns whether one more request of this kind is accepted. If a kind is refused in part, some requests pass.
    pub fn admits(&self, work: Work) -> bool {
        let pressure = f64::from(self.0.pressure.load(Ordering::Relaxed)) / 1_000.0;
        let refused = (pressure - work.stands()).clamp(0.0, 1.0);
        if refused <= 0.0 {
            return true;
        }
        let Some(asked) = self.0.asked.get(work as usize) else {
            return true;
        };
        let turn = f64::from(asked.fetch_add(1, Ordering::Relaxed) % 1_000);
        // Spread refusals evenly: of the first n requests, the number refused never differs from the share by
        // more than one.
        ((turn + 1.0) * refused).floor() <= (turn * refused).floor()
    }
}
