//! Accounting of lines: who holds a grant, who waits for one, and which calls live. Free of I/O.
//!
//! A line is free, granted to a dialer (a campaign, or the single calls), or held by a live call. Grants are
//! bound to their dialer, so that the grants of a campaign that died are returned.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

use domain::{
    admission::{Level, Work},
    id::AttemptId,
};

/// Time added to the second in which the carrier counts requests. A call asks for its permit and then opens a
/// connection, so two requests can arrive at the carrier closer together than they left here.
const JITTER: Duration = Duration::from_millis(50);

/// Limit of dials: at most `limit` starts within any `window`. Idle time is not saved up.
#[derive(Debug, Clone)]
struct Rate {
    limit: usize,
    window: Duration,
    starts: VecDeque<(Instant, AttemptId)>,
}

impl Rate {
    /// Creates a rate, or returns `None` (no limit) for 0 or less. Fractions above one are cut off; below
    /// one, one call in `1/n` seconds is allowed.
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
            .is_some_and(|(at, _)| now.duration_since(*at) >= self.window)
        {
            self.starts.pop_front();
        }
    }

    fn next_slot(&self) -> Option<Instant> {
        self.starts.front().and_then(|(at, _)| at.checked_add(self.window))
    }
}

/// Lines of a node, shared among dialers that are identified by a `D`.
#[derive(Debug, Clone)]
pub struct LinePool<D> {
    lines: usize,
    /// Rate of all nodes together; 0 for no limit.
    calls_per_second: f64,
    rate: Option<Rate>,
    granted: BTreeMap<D, usize>,
    /// Dialers in the order of their turn; the next one is in front.
    wishes: VecDeque<(D, usize)>,
    live: HashMap<AttemptId, D>,
    draining: bool,
    /// Whether inbound calls are refused too.
    closed: bool,
    /// Level of work the node gives up because of overload.
    level: Level,
}

impl<D: Copy + Ord> LinePool<D> {
    /// Creates a pool with all lines free and at most `calls_per_second` starts in a second, 0 for no limit.
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

    /// Shares the dialing rate equally among this many nodes. Recent dials keep counting.
    pub fn share_rate(&mut self, nodes: usize) {
        #[expect(clippy::cast_precision_loss, reason = "a few nodes")]
        let share = Rate::per_second(self.calls_per_second / nodes.max(1) as f64);
        let starts = self.rate.take().map(|rate| rate.starts).unwrap_or_default();
        self.rate = share.map(|share| Rate { starts, ..share });
    }

    /// Returns the number of lines.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Returns the number of lines granted and not used yet.
    pub fn granted(&self) -> usize {
        self.granted.values().sum()
    }

    /// Returns the number of live calls.
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// Stops granting lines.
    pub fn drain(&mut self) {
        self.draining = true;
        self.wishes.clear();
    }

    /// Stops giving lines to inbound calls.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Sets the level of work that is given up. A pool that may not dial grants nothing, and earlier grants stay valid.
    pub fn set_level(&mut self, level: Level) {
        self.level = level;
    }

    /// Returns whether no lines are granted at present, because the node drains or gives up dialing under load.
    fn holds_back(&self) -> bool {
        self.draining || self.level.gives_up(Work::Dials)
    }

    /// Replaces a dialer's request. A dialer that waits already keeps its turn.
    pub fn wish(&mut self, dialer: D, want: usize) {
        if want == 0 || self.draining {
            self.wishes.retain(|(c, _)| *c != dialer);
        } else if let Some(wish) = self.wishes.iter_mut().find(|(c, _)| *c == dialer) {
            wish.1 = want;
        } else {
            self.wishes.push_back((dialer, want));
        }
    }

    /// Takes back the dialer's request and its unused grants.
    pub fn reclaim(&mut self, dialer: D) {
        self.wish(dialer, 0);
        self.granted.remove(&dialer);
    }

    /// Takes back unused grants. More than the dialer holds are not counted.
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
                // A grant reserves its place in the second, so that a dial never has to wait.
                free.min(rate.limit.saturating_sub(rate.starts.len() + granted))
            }
        }
    }

    /// Returns whether a dialer waits and has no lines, because every line is taken.
    pub fn starves(&self, dialer: D) -> bool {
        self.wishes.iter().any(|(waiting, _)| *waiting == dialer)
            && !self.granted.contains_key(&dialer)
            && !self.live.values().any(|holder| *holder == dialer)
            && self.live.len() + self.granted() >= self.lines
    }

    /// Grants as many lines as possible now, one line to each dialer in turn.
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

    /// Returns when the dialing rate allows more, if a request waits for that and not for a line.
    pub fn next_slot(&self) -> Option<Instant> {
        let rate = self.rate.as_ref()?;
        let line_free = self.live.len() + self.granted() < self.lines;
        (line_free && !self.holds_back() && !self.wishes.is_empty())
            .then(|| rate.next_slot())
            .flatten()
    }

    /// Starts a call on a line granted to its dialer, or on a free one if the grant was taken back meanwhile.
    /// Returns false if there is no line, if the rate forbids it, if nothing is dialed any more, or if the
    /// call lives already.
    pub fn start(&mut self, attempt: AttemptId, dialer: D, now: Instant) -> bool {
        if self.draining || self.live.contains_key(&attempt) {
            // The grant was for this call. If it were kept, a drain would wait for it to the end.
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
            rate.starts.push_back((now, attempt));
        }
        true
    }

    /// Gives back the dialing rate of a call that is not dialed. It keeps its line until it ends.
    pub fn not_dialed(&mut self, attempt: AttemptId) {
        if let Some(rate) = &mut self.rate {
            rate.starts.retain(|(_, started)| *started != attempt);
        }
    }

    /// Takes a free line for an inbound call at once: no rate applies, and waiting dialers keep waiting.
    /// Returns false if there is none, if none is given any more, or if the call lives already.
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

    /// Returns whether no inbound call would get a line.
    pub fn is_full(&self) -> bool {
        self.refuses_inbound() || self.live.len() + self.granted() >= self.lines
    }

    /// Adds a call that lives already, however many lines there are.
    pub fn adopt(&mut self, attempt: AttemptId, dialer: D) {
        self.live.insert(attempt, dialer);
    }

    /// Returns the live calls.
    pub fn calls(&self) -> Vec<AttemptId> {
        self.live.keys().copied().collect()
    }

    /// Returns the live calls of one dialer.
    pub fn calls_of(&self, dialer: D) -> Vec<AttemptId> {
        let of = |(attempt, c): (&AttemptId, &D)| (*c == dialer).then_some(*attempt);
        self.live.iter().filter_map(of).collect()
    }

    /// Returns a live call's dialer.
    pub fn dialer_of(&self, attempt: AttemptId) -> Option<D> {
        self.live.get(&attempt).copied()
    }

    /// Ends a call. Returns its dialer the first time it is called.
    pub fn end(&mut self, attempt: AttemptId) -> Option<D> {
        self.live.remove(&attempt)
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
