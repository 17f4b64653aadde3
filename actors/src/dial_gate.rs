//! Decides whether this process may dial now. It is asked before lines are granted, before a permit, and as
//! the last step before a dial request is sent.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;
use tokio::time::Instant;

use domain::{node_times::Times, ports::store::Pulse, time::Timestamp};

/// Largest difference in milliseconds between a node's clock and the database's with which the node may dial.
const CLOCKS_APART_MS: i64 = 5_000;

/// Number of heartbeats a node waits when it joins others, which share the dialing rate with it from then on.
const NEWCOMER_WAITS: u8 = 2;

/// Reason why this process does not dial at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldsBack {
    /// It has just started, and the others must notice it first.
    Starting,
    /// It was suspended for a while, and has not confirmed since that it still counts as alive.
    Suspect,
    /// Its last successful heartbeat is too long ago.
    Silent,
    /// Its clock and the database's are too far apart.
    ClockOff,
    /// Other nodes have declared it dead.
    Fenced,
}

impl HoldsBack {
    /// Returns the reason in one word, as in `GET /ready`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Suspect => "suspect",
            Self::Silent => "silent",
            Self::ClockOff => "clock_off",
            Self::Fenced => "fenced",
        }
    }
}

impl fmt::Display for HoldsBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Starting => "it is starting",
            Self::Suspect => "it was suspended and has not confirmed since that it still counts as alive",
            Self::Silent => "the database has not accepted its heartbeat for too long",
            Self::ClockOff => "its clock differs from the database's by more than 5 s; set the clock",
            Self::Fenced => "it was declared dead",
        })
    }
}

/// The gate. Clones share it.
#[derive(Debug, Clone)]
pub struct DialGate(Arc<Mutex<Gate>>);

#[derive(Debug)]
struct Gate {
    times: Times,
    /// Never closed, since there is no node behind it.
    unguarded: bool,
    /// Time of the last look at both clocks.
    ticked: Instant,
    wall: Timestamp,
    /// Number of times the process was found to have been suspended, and the number up to which a heartbeat
    /// has cleared that.
    suspicions: u64,
    cleared: u64,
    /// Start of the last successful heartbeat.
    beat: Option<Instant>,
    waits: u8,
    clock_off: bool,
    /// Whether other nodes are alive.
    other_nodes: bool,
    fenced: bool,
}

impl DialGate {
    /// Creates a gate that is closed until the node is registered.
    pub fn new(times: Times, wall: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(Gate {
            times,
            unguarded: false,
            ticked: Instant::now(),
            wall,
            suspicions: 0,
            cleared: 0,
            beat: None,
            waits: 0,
            clock_off: false,
            other_nodes: false,
            fenced: false,
        })))
    }

    /// Creates a gate that is always open, for calls without a node.
    pub fn unguarded() -> Self {
        let gate = Self::new(Times::default(), Timestamp(0));
        gate.locked().unguarded = true;
        gate
    }

    fn locked(&self) -> MutexGuard<'_, Gate> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns why nothing is dialed now, or `None` if dialing is allowed.
    pub fn holds_back(&self) -> Option<HoldsBack> {
        self.locked().holds_back(Instant::now())
    }

    /// Looks at both clocks: monotonic clocks stop while a machine sleeps, wall clocks may be set. Returns
    /// true if the process turns out to have been suspended.
    pub fn tick(&self, wall: Timestamp) -> bool {
        let (mut gate, now) = (self.locked(), Instant::now());
        let stood = now.duration_since(gate.ticked).max(wall.since(gate.wall));
        gate.ticked = now;
        gate.wall = wall;
        let suspect = stood > gate.times.heartbeat;
        gate.suspicions += u64::from(suspect);
        suspect
    }

    /// Returns the number of suspensions that a heartbeat starting now can clear.
    pub fn suspicions(&self) -> u64 {
        self.locked().suspicions
    }

    /// Notes the registration of the process, which began at `began`.
    pub fn registered(&self, began: Instant, pulse: Pulse) {
        let mut gate = self.locked();
        gate.fenced = false;
        gate.waits = if pulse.nodes > 1 { NEWCOMER_WAITS } else { 0 };
        gate.took(began, pulse);
    }

    /// Notes a successful heartbeat that began at `began` with `suspicions` known. Returns true if it clears one.
    pub fn beat(&self, began: Instant, suspicions: u64, pulse: Pulse) -> bool {
        let mut gate = self.locked();
        gate.waits = gate.waits.saturating_sub(1);
        gate.took(began, pulse);
        let answered = suspicions > gate.cleared;
        gate.cleared = gate.cleared.max(suspicions);
        answered
    }

    /// Returns whether other nodes were alive at the last successful heartbeat.
    pub fn has_other_nodes(&self) -> bool {
        self.locked().other_nodes
    }

    /// Notes that the store declared this process dead.
    pub fn fence(&self) {
        let mut gate = self.locked();
        gate.fenced = true;
        gate.beat = None;
    }
}

impl Gate {
    fn took(&mut self, began: Instant, pulse: Pulse) {
        self.beat = Some(began);
        self.clock_off = pulse.ahead_ms.abs() > CLOCKS_APART_MS;
        self.other_nodes = pulse.nodes > 1;
    }

    fn holds_back(&self, now: Instant) -> Option<HoldsBack> {
        if self.unguarded {
            return None;
        }
        if self.fenced {
            return Some(HoldsBack::Fenced);
        }
        // The look at the clocks may itself be late, so its own delay counts too.
        if self.suspicions > self.cleared || now.duration_since(self.ticked) > self.times.heartbeat {
            return Some(HoldsBack::Suspect);
        }
        let Some(beat) = self.beat.filter(|_| self.waits == 0) else {
            return Some(HoldsBack::Starting);
        };
        if now.duration_since(beat) > self.times.lease() {
            return Some(HoldsBack::Silent);
        }
        self.clock_off.then_some(HoldsBack::ClockOff)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    const ALONE: Pulse = Pulse { nodes: 1, ahead_ms: 0 };

    fn wall(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1_000_000)
    }

    fn beat(gate: &DialGate, pulse: Pulse) -> bool {
        gate.beat(Instant::now(), gate.suspicions(), pulse)
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_stood_still_waits_for_its_next_heartbeat() {
        let gate = DialGate::new(Times::default(), wall(0));
        assert_eq!(gate.holds_back(), Some(HoldsBack::Starting));
        gate.registered(Instant::now(), ALONE);
        assert_eq!(gate.holds_back(), None);
        advance(Duration::from_secs(3)).await;
        assert!(!gate.tick(wall(3)));
        // The suspension is noticed even before the next look at the clocks.
        advance(Duration::from_millis(3_001)).await;
        assert_eq!(gate.holds_back(), Some(HoldsBack::Suspect));
        // A heartbeat that began before it does not clear it.
        let before = gate.suspicions();
        assert!(gate.tick(wall(6)));
        assert!(!gate.beat(Instant::now(), before, ALONE));
        assert_eq!(gate.holds_back(), Some(HoldsBack::Suspect));
        assert!(beat(&gate, ALONE));
        assert_eq!(gate.holds_back(), None);
        // A machine that slept: only the wall clock advanced.
        assert!(gate.tick(wall(60)));
        assert_eq!(gate.holds_back(), Some(HoldsBack::Suspect));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_clocks_and_death_hold_back() {
        let gate = DialGate::new(Times::default(), wall(0));
        gate.registered(Instant::now(), ALONE);
        for second in 1..=11 {
            advance(Duration::from_secs(1)).await;
            gate.tick(wall(second));
            assert_eq!(gate.holds_back().is_some(), second > 10, "{second}");
        }
        assert_eq!(gate.holds_back(), Some(HoldsBack::Silent));
        beat(
            &gate,
            Pulse {
                nodes: 1,
                ahead_ms: -5_001,
            },
        );
        assert_eq!(gate.holds_back(), Some(HoldsBack::ClockOff));
        beat(
            &gate,
            Pulse {
                nodes: 1,
                ahead_ms: 5_000,
            },
        );
        assert_eq!(gate.holds_back(), None);
        gate.fence();
        assert_eq!(gate.holds_back(), Some(HoldsBack::Fenced));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_comes_to_others_waits_two_heartbeats() {
        let gate = DialGate::new(Times::default(), wall(0));
        let two = Pulse { nodes: 2, ahead_ms: 0 };
        gate.registered(Instant::now(), two);
        assert_eq!(gate.holds_back(), Some(HoldsBack::Starting));
        beat(&gate, two);
        assert_eq!(gate.holds_back(), Some(HoldsBack::Starting));
        beat(&gate, two);
        assert_eq!(gate.holds_back(), None);
    }
}
