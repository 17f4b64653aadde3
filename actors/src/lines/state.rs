//! The accounting of lines: who holds a grant, who waits for one, and which calls live. Free of I/O.
//!
//! A line is free, granted to a dialer (a campaign, or the single calls), or held by a live call. Grants are bound to
//! their dialer, so that those of a campaign that died flow back.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

use domain::{
    admission::{Level, Work},
    id::AttemptId,
};

/// How much longer than a second the carrier's second is taken to be. A call asks for its permit and then opens a
/// connection, so the requests of two seconds can come closer at the carrier's door than they left here.
const JITTER: Duration = Duration::from_millis(50);

/// Dials per second: at most `limit` starts within any `window`. Idle time is not banked.
#[derive(Debug, Clone)]
struct Rate {
    limit: usize,
    window: Duration,
    starts: VecDeque<Instant>,
}

impl Rate {
    /// None for 0 or less: no limit. Fractions above one are cut off; below one, one call in `1/n` seconds.
    fn per_second(calls: f64) -> Option<Self> {
        if !calls.is_finite() || calls <= 0.0 {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive finite count, saturating"
        )]
        let limit = (calls.floor() as usize).max(1);
        let window = Duration::try_from_secs_f64((1.0 / calls).max(1.0)).unwrap_or(Duration::MAX);
        Some(Self {
            limit,
            window: window.saturating_add(JITTER),
            starts: VecDeque::new(),
        })
    }

    fn forget(&mut self, now: Instant) {
        while self
            .starts
            .front()
            .is_some_and(|at| now.duration_since(*at) >= self.window)
        {
            self.starts.pop_front();
        }
    }

    fn next_slot(&self) -> Option<Instant> {
        self.starts.front().and_then(|at| at.checked_add(self.window))
    }
}

/// The lines of a node, shared among dialers that are told apart by a `D`.
#[derive(Debug, Clone)]
pub struct LinePool<D> {
    lines: usize,
    /// Of all nodes together; 0 for no limit.
    calls_per_second: f64,
    rate: Option<Rate>,
    granted: BTreeMap<D, usize>,
    /// Dialers in the order of their turn; the next to be served is in front.
    wishes: VecDeque<(D, usize)>,
    live: HashMap<AttemptId, D>,
    draining: bool,
    /// Whether calls from outside are refused, too.
    closed: bool,
    /// What the node gives up because it has too much to do.
    level: Level,
}

impl<D: Copy + Ord> LinePool<D> {
    /// All lines free; at most `calls_per_second` starts in a second, 0 for no limit.
    pub fn new(lines: usize, calls_per_second: f64) -> Self {
        Self {
            lines,
            calls_per_second,
            rate: Rate::per_second(calls_per_second),
            granted: BTreeMap::new(),
            wishes: VecDeque::new(),
            live: HashMap::new(),
            draining: false,
            closed: false,
            level: Level::Calm,
        }
    }

    /// So many nodes share the dialing rate, in equal parts. What was dialed lately counts on.
    pub fn share_rate(&mut self, nodes: usize) {
        #[expect(clippy::cast_precision_loss, reason = "a few nodes")]
        let share = Rate::per_second(self.calls_per_second / nodes.max(1) as f64);
        let starts = self.rate.take().map(|rate| rate.starts).unwrap_or_default();
        self.rate = share.map(|share| Rate { starts, ..share });
    }

    /// Lines in all.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Lines granted and not yet used.
    pub fn granted(&self) -> usize {
        self.granted.values().sum()
    }

    /// Live calls.
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// Nothing is granted any more.
    pub fn drain(&mut self) {
        self.draining = true;
        self.wishes.clear();
    }

    /// No call from outside gets a line any more.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// What is given up from now on: a pool that may not dial grants nothing, and what was granted before goes on.
    pub fn set_level(&mut self, level: Level) {
        self.level = level;
    }

    /// Whether no line is granted at present, however many are free.
    fn holds_back(&self) -> bool {
        self.draining || self.level.gives_up(Work::Dials)
    }

    /// Replaces a dialer's wish; a dialer that waits already keeps its turn.
    pub fn wish(&mut self, dialer: D, want: usize) {
        if want == 0 || self.draining {
            self.wishes.retain(|(c, _)| *c != dialer);
        } else if let Some(wish) = self.wishes.iter_mut().find(|(c, _)| *c == dialer) {
            wish.1 = want;
        } else {
            self.wishes.push_back((dialer, want));
        }
    }

    /// Takes the dialer's wish and its unused grants back.
    pub fn reclaim(&mut self, dialer: D) {
        self.wish(dialer, 0);
        self.granted.remove(&dialer);
    }

    /// Grants that are not needed; more than the dialer holds are not counted.
    pub fn give_back(&mut self, dialer: D, lines: usize) {
        if let Some(held) = self.granted.get_mut(&dialer) {
            *held = held.saturating_sub(lines);
            if *held == 0 {
                self.granted.remove(&dialer);
            }
        }
    }

    fn allowance(&mut self, now: Instant) -> usize {
        let granted = self.granted();
        let free = self.lines.saturating_sub(self.live.len() + granted);
        match &mut self.rate {
            None => free,
            Some(rate) => {
                rate.forget(now);
                // A grant holds its place in the second, so that a dial never has to wait.
                free.min(rate.limit.saturating_sub(rate.starts.len() + granted))
            }
        }
    }

    /// Whether a dialer has a wish and nothing else, because every line is taken.
    pub fn starves(&self, dialer: D) -> bool {
        self.wishes.iter().any(|(waiting, _)| *waiting == dialer)
            && !self.granted.contains_key(&dialer)
            && !self.live.values().any(|holder| *holder == dialer)
            && self.live.len() + self.granted() >= self.lines
    }

    /// Grants what may be granted now, one line to each dialer in turn.
    pub fn grant(&mut self, now: Instant) -> BTreeMap<D, usize> {
        let mut grants = BTreeMap::new();
        let mut allowance = if self.holds_back() { 0 } else { self.allowance(now) };
        while allowance > 0 {
            let Some((dialer, want)) = self.wishes.pop_front() else {
                break;
            };
            allowance -= 1;
            *grants.entry(dialer).or_insert(0) += 1;
            *self.granted.entry(dialer).or_insert(0) += 1;
            if want > 1 {
                self.wishes.push_back((dialer, want - 1));
            }
        }
        grants
    }

    /// When the dialing rate allows more, if a wish waits for that and not for a line.
    pub fn next_slot(&self) -> Option<Instant> {
        let rate = self.rate.as_ref()?;
        let line_free = self.live.len() + self.granted() < self.lines;
        (line_free && !self.holds_back() && !self.wishes.is_empty())
            .then(|| rate.next_slot())
            .flatten()
    }

    /// A call begins on a line granted to its dialer, or, when the grant was reclaimed meanwhile, on a free one.
    /// False when there is none, when the rate forbids it, when nothing is dialed any more, or when the call lives
    /// already.
    pub fn start(&mut self, attempt: AttemptId, dialer: D, now: Instant) -> bool {
        if self.draining || self.live.contains_key(&attempt) {
            // The grant was for this call: kept, it would be waited for to the end of a drain.
            self.give_back(dialer, 1);
            return false;
        }
        if self.granted.contains_key(&dialer) {
            self.give_back(dialer, 1);
        } else if self.allowance(now) == 0 {
            return false;
        }
        self.live.insert(attempt, dialer);
        if let Some(rate) = &mut self.rate {
            rate.starts.push_back(now);
        }
        true
    }

    /// A call from outside takes a free line at once: no rate holds for it, and whoever waits for lines waits on. False
    /// when there is none, when none is given any more, or when the call lives already.
    pub fn take(&mut self, attempt: AttemptId, dialer: D) -> bool {
        let free = self.live.len() + self.granted() < self.lines;
        let taken = free && !self.refuses_inbound() && !self.live.contains_key(&attempt);
        if taken {
            self.live.insert(attempt, dialer);
        }
        taken
    }

    fn refuses_inbound(&self) -> bool {
        self.closed || self.level.gives_up(Work::Inbound)
    }

    /// Whether no call from outside would be given a line.
    pub fn is_full(&self) -> bool {
        self.refuses_inbound() || self.live.len() + self.granted() >= self.lines
    }

    /// A call that lives already, whatever the lines: it was found, not started.
    pub fn adopt(&mut self, attempt: AttemptId, dialer: D) {
        self.live.insert(attempt, dialer);
    }

    /// The live calls.
    pub fn calls(&self) -> Vec<AttemptId> {
        self.live.keys().copied().collect()
    }

    /// The live calls of one dialer.
    pub fn calls_of(&self, dialer: D) -> Vec<AttemptId> {
        let of = |(attempt, c): (&AttemptId, &D)| (*c == dialer).then_some(*attempt);
        self.live.iter().filter_map(of).collect()
    }

    /// A live call's dialer.
    pub fn dialer_of(&self, attempt: AttemptId) -> Option<D> {
        self.live.get(&attempt).copied()
    }

    /// A call is over; its dialer, the first time it is said.
    pub fn end(&mut self, attempt: AttemptId) -> Option<D> {
        self.live.remove(&attempt)
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
