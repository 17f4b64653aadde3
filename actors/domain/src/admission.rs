//! What is given up when there is more to do than a node can: least missed first, and live calls never. Free of I/O.
//!
//! What is measured moves one figure, the pressure, up and down: fast when the node is far over its limits, slowly when it
//! is near them. Requests are refused by shares of it, so that a node at its limit answers as many as it can; work that goes
//! on by itself stops and begins again with the level, which has some slack each way.

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

/// Over how long the processor's load is smoothed.
const SMOOTHED_OVER: Duration = Duration::from_secs(1);

/// How far below its limit a figure has to fall before work is taken up again: a tenth of the processor, a twentieth of the
/// memory, half of the lag.
const CPU_SLACK: f64 = 0.10;
const MEMORY_SLACK: f64 = 0.05;
const LAG_SLACK: f64 = 0.5;

/// How fast it falls between a limit and its slack, in levels a second: what another limit raised must go, though this one
/// stays where it is for good, as memory of others may.
const BETWEEN: f64 = 0.1;

/// Levels a second by which the pressure moves: at a limit, and so much more where it could not be farther from it.
const SLOWLY: f64 = 0.5;
const FASTER: f64 = 1.5;

/// Beyond every limit.
const MOST: f64 = 7.0;

/// What a node may be asked for beside its live calls, in the order in which it is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// Analyses of calls that are over.
    Analysis,
    /// Requests for lists, files and recordings.
    Lists,
    /// First tries of webhooks and mail.
    Deliveries,
    /// Requests that read one thing.
    Reads,
    /// Requests that change something.
    Writes,
    /// Calls that we place.
    Dials,
    /// Calls from outside.
    Inbound,
}

spelled!(Work, Analysis "analysis", Lists "lists", Deliveries "deliveries", Reads "reads", Writes "writes",
    Dials "dials", Inbound "inbound");

impl Work {
    /// The level at which it is given up.
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

    /// How much pressure it stands before any of it is refused.
    fn stands(self) -> f64 {
        f64::from(self.given_up_at().figure()) - 1.0
    }
}

/// How much a node has given up: what the level names, and all before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Nothing.
    #[default]
    Calm,
    /// Analyses wait.
    NoAnalysis,
    /// And lists are refused.
    NoLists,
    /// And deliveries wait.
    NoDeliveries,
    /// And reads are refused.
    NoReads,
    /// And writes are refused.
    NoWrites,
    /// And nobody is dialed.
    NoDials,
    /// And calls from outside are refused. Live calls go on.
    NoInbound,
}

spelled!(Level, Calm "calm", NoAnalysis "no analysis", NoLists "no lists", NoDeliveries "no deliveries",
    NoReads "no reads", NoWrites "no writes", NoDials "no dials", NoInbound "no calls from outside");

impl Level {
    /// 0 to 7.
    pub fn figure(self) -> u8 {
        self as u8
    }

    /// Whether this work waits, or is refused.
    pub fn gives_up(self, work: Work) -> bool {
        self >= work.given_up_at()
    }

    fn of(figure: u8) -> Self {
        Self::ALL.get(usize::from(figure)).copied().unwrap_or(Self::NoInbound)
    }
}

/// From where on work is given up. A figure that is not reached ever, such as 1 or [`Duration::MAX`], is no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Share of the processor's time, 0 to 1.
    pub cpu: f64,
    /// Share of the memory, 0 to 1.
    pub memory: f64,
    /// How long the database may keep a write waiting.
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

/// What was measured. What a system does not tell is absent, and is taken for well.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sample {
    /// Share of the processor's time since the last sample.
    pub cpu: Option<f64>,
    /// Share of the memory in use.
    pub memory: Option<f64>,
    /// For how long the oldest write has been waiting.
    pub lag: Duration,
}

/// Where a figure stands: how far over its limit, or how far below what it must fall to; each 0 to 1.
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

    /// The worse of two.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Over(a), Self::Over(b)) => Self::Over(a.max(b)),
            (Self::Over(a), _) | (_, Self::Over(a)) => Self::Over(a),
            (Self::Between, _) | (_, Self::Between) => Self::Between,
            (Self::Under(a), Self::Under(b)) => Self::Under(a.min(b)),
        }
    }
}

/// The state of a node's admission.
#[derive(Debug, Clone)]
pub struct Admission {
    limits: Limits,
    cpu: Option<f64>,
    pressure: f64,
    level: Level,
}

impl Admission {
    /// One that has seen nothing yet, and gives up nothing.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            cpu: None,
            pressure: 0.0,
            level: Level::Calm,
        }
    }

    /// Takes in what was measured, so long after the last sample.
    pub fn observe(&mut self, sample: Sample, since_last: Duration) {
        let seconds = since_last.as_secs_f64();
        self.smooth(sample.cpu, seconds);
        let share = |value: Option<f64>, limit, slack| {
            value.map_or(Stand::Under(1.0), |value| Stand::of(value, limit, slack, 1.0))
        };
        let lag_limit = self.limits.lag.as_secs_f64();
        let lag = match self.limits.lag {
            Duration::MAX => Stand::Under(1.0),
            // Twice the limit is as bad as it gets.
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
            // A start is busy with itself; that is no load yet.
            (None, Some(now)) => Some(now * (1.0 - keeps)),
            (_, None) => None,
        };
    }

    /// The level follows the pressure with a level of slack, so that what it stops is not begun again at once.
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

    /// What is given up now.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The processor's load, smoothed.
    pub fn cpu(&self) -> Option<f64> {
        self.cpu
    }

    /// 0 to 7; the part behind the point is the share of requests that is refused of the next kind of work.
    pub fn pressure(&self) -> f64 {
        self.pressure
    }
}

/// Where those who do the work ask whether they may. Clones are one gate; it opens as it is made.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<GateState>);

#[derive(Debug, Default)]
struct GateState {
    level: AtomicU8,
    /// In thousandths.
    pressure: AtomicU32,
    asked: [AtomicU32; Work::ALL.len()],
}

impl Gate {
    /// Sets it as the admission stands.
    pub fn set(&self, admission: &Admission) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 7000")]
        let pressure = (admission.pressure * 1_000.0) as u32;
        self.0.pressure.store(pressure, Ordering::Relaxed);
        self.0.level.store(admission.level.figure(), Ordering::Relaxed);
    }

    /// What is given up now.
    pub fn level(&self) -> Level {
        Level::of(self.0.level.load(Ordering::Relaxed))
    }

    /// Whether work that goes on by itself waits.
    pub fn holds(&self, work: Work) -> bool {
        self.level().gives_up(work)
    }

    /// Whether one more request of this kind is taken. Of a kind that is given up in part every so many is.
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
        // Spread evenly: the share of the first n that are refused is never off by more than one.
        ((turn + 1.0) * refused).floor() <= (turn * refused).floor()
    }
}
