//! Account of every sample sent to the line: played, cleared or outstanding. Marks tell the carrier's
//! position, and the clock fills in between them.

use std::collections::VecDeque;

/// Delay in milliseconds after which a mark counts as lost.
const LOST_MARK_MS: u64 = 1_000;

/// Abilities of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineAbilities {
    /// Whether it buffers audio sent ahead of time and plays it in order.
    pub buffers: bool,
    /// Whether it returns a mark when the audio before it has been played.
    pub marks: bool,
    /// Whether it can drop its buffered audio.
    pub clear: bool,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    id: u64,
    position: u64,
}

/// A position and the time at which the line played it.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    position: u64,
    at_ms: u64,
}

/// The account. Positions count samples sent since the start, including cleared ones.
#[derive(Debug)]
pub struct Ledger {
    abilities: LineAbilities,
    samples_per_ms: u64,
    sent: u64,
    cleared: u64,
    /// Position before which everything is settled: played or cleared.
    floor: u64,
    anchor: Option<Anchor>,
    /// Marks not returned yet, in order.
    marks: VecDeque<Mark>,
    next_mark: u64,
}

impl Ledger {
    /// Creates an empty account for a line of `sample_rate` Hz.
    pub fn new(abilities: LineAbilities, sample_rate: u32) -> Self {
        Self {
            abilities,
            samples_per_ms: u64::from(sample_rate / 1_000).max(1),
            sent: 0,
            cleared: 0,
            floor: 0,
            anchor: None,
            marks: VecDeque::new(),
            next_mark: 0,
        }
    }

    /// Returns the number of samples sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the number of samples cleared.
    pub fn cleared(&self) -> u64 {
        self.cleared
    }

    /// Returns the number of samples played by `now_ms`.
    pub fn played(&self, now_ms: u64) -> u64 {
        self.head(now_ms) - self.cleared
    }

    /// Returns the number of samples sent and neither played nor cleared.
    pub fn outstanding(&self, now_ms: u64) -> u64 {
        self.sent - self.head(now_ms)
    }

    /// Returns the position of playout, between the last settled position and the last sent one.
    pub fn head(&self, now_ms: u64) -> u64 {
        let clock = self.clock(now_ms);
        let lost = LOST_MARK_MS * self.samples_per_ms;
        let awaited = self.marks.iter().find(|mark| clock < mark.position + lost);
        clock
            .min(awaited.map_or(self.sent, |mark| mark.position))
            .clamp(self.floor, self.sent)
    }

    /// Returns the position at which the frame that the line plays now ends; `frame` is the length of a frame in
    /// samples. A line plays a frame that it has begun to its end, even after a clear.
    pub fn frame_end(&self, now_ms: u64, frame: u64) -> u64 {
        let head = self.head(now_ms);
        let begun = self.anchor.map_or(head, |anchor| anchor.position);
        let played = head.saturating_sub(begun) % frame;
        let rest = if played == 0 { 0 } else { frame - played };
        (head + rest).min(self.sent)
    }

    /// Notes that `samples` were sent.
    pub fn send(&mut self, samples: u64, now_ms: u64) {
        let head = self.head(now_ms);
        if self.anchor.is_none() || head == self.sent {
            self.settle(head);
            // Marks that count as lost are dropped.
            let settled = self.clock(now_ms).saturating_sub(LOST_MARK_MS * self.samples_per_ms);
            self.marks.retain(|mark| mark.position > settled);
            self.anchor = Some(Anchor {
                position: self.sent,
                at_ms: now_ms,
            });
        }
        self.sent += samples;
    }

    /// Notes a mark after the last audio sent. Returns its number if the line supports marks.
    pub fn mark(&mut self) -> Option<u64> {
        if !self.abilities.marks {
            return None;
        }
        let id = self.next_mark;
        self.next_mark += 1;
        self.marks.push_back(Mark {
            id,
            position: self.sent,
        });
        Some(id)
    }

    /// Handles a returned mark. A cleared or unknown mark is ignored.
    pub fn marked(&mut self, id: u64, now_ms: u64) {
        let Some(index) = self.marks.iter().position(|mark| mark.id == id) else {
            return;
        };
        let head = self.head(now_ms);
        let Some(mark) = self.marks.drain(..=index).next_back() else {
            return;
        };
        // A mark that counted as lost must not move playout back.
        if mark.position >= head {
            self.settle(mark.position);
            self.anchor = Some(Anchor {
                position: mark.position,
                at_ms: now_ms,
            });
        }
    }

    /// Drops the outstanding audio if the line can, and returns the position at which playout stopped. A line
    /// that cannot drop audio plays to the end.
    pub fn clear(&mut self, now_ms: u64) -> u64 {
        if !self.abilities.clear {
            return self.sent;
        }
        let head = self.head(now_ms);
        self.cleared += self.sent - head;
        self.floor = self.sent;
        self.anchor = None;
        self.marks.clear();
        head
    }

    /// Returns whether everything sent is settled, including marks that are still awaited.
    pub fn is_idle(&self, now_ms: u64) -> bool {
        now_ms >= self.idle_at_ms()
    }

    /// Returns when everything sent will be settled, as far as known.
    pub fn idle_at_ms(&self) -> u64 {
        let Some(anchor) = self.anchor else {
            return 0;
        };
        let position = self.sent.max(anchor.position);
        let end = self.reached_at_ms(position);
        match self.marks.is_empty() {
            true => end,
            false => end + LOST_MARK_MS,
        }
    }

    /// Returns when the clock reaches a position that was sent. This is now or earlier if it already has.
    pub fn reached_at_ms(&self, position: u64) -> u64 {
        self.anchor.map_or(0, |anchor| {
            anchor.at_ms + position.saturating_sub(anchor.position).div_ceil(self.samples_per_ms)
        })
    }

    /// Returns the position of playout by the clock alone.
    fn clock(&self, now_ms: u64) -> u64 {
        self.anchor.map_or(self.floor, |anchor| {
            anchor.position + now_ms.saturating_sub(anchor.at_ms) * self.samples_per_ms
        })
    }

    /// Notes that everything before `position` was played.
    fn settle(&mut self, position: u64) {
        self.floor = self.floor.max(position);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CARRIER: LineAbilities = LineAbilities {
        buffers: true,
        marks: true,
        clear: true,
    };

    fn ledger(marks: bool) -> Ledger {
        Ledger::new(LineAbilities { marks, ..CARRIER }, 8_000)
    }

    #[test]
    fn without_marks_the_clock_tells_the_position() {
        let mut ledger = ledger(false);
        ledger.send(1_600, 1_000);
        assert_eq!(ledger.head(1_100), 800);
        assert_eq!(ledger.head(5_000), 1_600);
        ledger.send(1_600, 5_000);
        assert_eq!(ledger.head(5_100), 2_400, "playout begins anew after a pause");
        assert!(!ledger.is_idle(5_199) && ledger.is_idle(5_200));
    }

    #[test]
    fn a_frame_that_the_line_has_begun_is_played_to_its_end() {
        let mut ledger = ledger(true);
        ledger.send(1_600, 1_000);
        let mark = ledger.mark().unwrap();
        ledger.send(1_640, 1_000);
        for (now_ms, end) in [(1_000, 0), (1_001, 160), (1_020, 160), (1_021, 320), (1_199, 1_600)] {
            assert_eq!(ledger.frame_end(now_ms, 160), end, "{now_ms}");
        }
        // The line was slower than the clock, and its frames begin with its mark.
        ledger.marked(mark, 1_213);
        for (now_ms, end) in [(1_213, 1_600), (1_214, 1_760), (1_233, 1_760), (1_417, 3_240)] {
            assert_eq!(ledger.frame_end(now_ms, 160), end, "{now_ms}");
        }
    }

    #[test]
    fn the_clock_never_runs_past_the_next_mark() {
        let mut ledger = ledger(true);
        ledger.send(1_600, 0);
        let first = ledger.mark().unwrap();
        ledger.send(1_600, 0);
        ledger.mark();
        assert_eq!(ledger.head(300), 1_600);
        ledger.marked(first, 340);
        assert_eq!(ledger.head(390), 2_000, "counted from the mark's return");
    }

    #[test]
    fn marks_outstanding_at_a_clear_never_count() {
        let mut ledger = ledger(true);
        ledger.send(1_600, 0);
        let first = ledger.mark().unwrap();
        ledger.send(1_600, 0);
        let second = ledger.mark().unwrap();
        ledger.marked(first, 200);
        assert_eq!(ledger.clear(300), 2_400);
        ledger.marked(second, 310);
        assert_eq!(
            (ledger.played(400), ledger.cleared(), ledger.outstanding(400)),
            (2_400, 800, 0)
        );
        ledger.send(800, 500);
        assert_eq!(ledger.played(550), 2_800);
    }

    #[test]
    fn a_lost_mark_does_not_stop_playout_for_ever() {
        let mut ledger = ledger(true);
        ledger.send(1_600, 0);
        let lost = ledger.mark().unwrap();
        assert!(!ledger.is_idle(1_199) && ledger.is_idle(1_200));
        ledger.send(1_600, 1_300);
        assert_eq!(ledger.head(1_400), 2_400);
        ledger.marked(lost, 1_450);
        assert!(ledger.head(1_450) >= 2_400);
    }

    #[test]
    fn a_line_that_cannot_clear_plays_what_it_has() {
        let mut ledger = Ledger::new(
            LineAbilities {
                clear: false,
                ..CARRIER
            },
            8_000,
        );
        ledger.send(1_600, 0);
        assert_eq!(ledger.clear(100), 1_600);
        assert_eq!(ledger.outstanding(100), 800);
    }

    proptest! {
        #[test]
        fn sent_is_played_and_cleared_and_outstanding(
            marks in any::<bool>(),
            steps in prop::collection::vec((0u8..5, 0u64..500, 0u64..4_000), 1..200),
        ) {
            let mut ledger = ledger(marks);
            let (mut now, mut head, mut played) = (0, 0, 0);
            for (step, wait, number) in steps {
                now += wait;
                match step {
                    0 | 1 => ledger.send(number, now),
                    2 => drop(ledger.mark()),
                    3 => ledger.marked(number % 40, now),
                    _ => drop(ledger.clear(now)),
                }
                prop_assert_eq!(ledger.sent(), ledger.played(now) + ledger.cleared() + ledger.outstanding(now));
                prop_assert!(ledger.head(now) >= head, "playout never goes back");
                prop_assert!(ledger.played(now) >= played);
                (head, played) = (ledger.head(now), ledger.played(now));
            }
            let end = now.max(ledger.idle_at_ms());
            prop_assert_eq!(ledger.outstanding(end), 0);
        }
    }
}
