//! The pauses of a turn, and the habits of its caller.

/// Longest pause within a turn, in milliseconds.
pub(super) const MAX_PAUSE_MS: u64 = 3_000;

/// Shortest silence in milliseconds within a turn that counts as a pause.
pub(super) const PAUSE_MS: u64 = 180;

/// Pauses of a caller that are remembered.
const REMEMBERED: usize = 15;

/// Pauses within a turn so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pauses {
    /// Their number.
    pub count: u32,
    /// Length of the last one in milliseconds.
    pub last_ms: u64,
    /// Voice of the turn in milliseconds.
    pub voiced_ms: u64,
    /// The same since the last pause.
    pub voiced_since_ms: u64,
    /// Words that were known when the voice continued after the last pause.
    pub words_before: i16,
}

impl Pauses {
    /// Notes voice.
    pub(super) fn voice(&mut self, voiced_ms: u64) {
        self.voiced_ms += voiced_ms;
        self.voiced_since_ms += voiced_ms;
    }

    /// Notes that the voice continues after a pause.
    pub(super) fn pause(&mut self, ms: u64, words: usize) {
        self.count += 1;
        self.last_ms = ms;
        self.voiced_since_ms = 0;
        self.words_before = i16::try_from(words).unwrap_or(i16::MAX);
    }
}

/// How a caller has paused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Habits {
    /// Turns so far.
    pub turns: u32,
    /// Turns that the agent answered into: the caller went on before the agent could be heard.
    pub cut_offs: u32,
    /// Pauses within turns so far.
    count: u32,
    /// The last of them in milliseconds; a later one replaces the oldest.
    last_ms: [u16; REMEMBERED],
}

impl Habits {
    /// Notes a pause within a turn.
    pub(super) fn pause(&mut self, ms: u64) {
        let at = self.count as usize % REMEMBERED;
        if let Some(place) = self.last_ms.get_mut(at) {
            *place = u16::try_from(ms).unwrap_or(u16::MAX);
        }
        self.count = self.count.saturating_add(1);
    }

    /// Returns ten times the mean number of pauses of a turn, or -1 before the second turn.
    pub(super) fn pauses_a_turn(&self) -> i16 {
        match self.turns {
            0 => -1,
            turns => i16::try_from(10 * self.count / turns).unwrap_or(i16::MAX),
        }
    }

    /// Returns the median of the last pauses, or 0 if there were none.
    pub(super) fn median_ms(&self) -> u64 {
        let mut sorted = self.last_ms;
        let known = sorted.len().min(self.count as usize);
        let known = sorted.get_mut(..known).unwrap_or_default();
        known.sort_unstable();
        known.get(known.len() / 2).map_or(0, |ms| u64::from(*ms))
    }

    /// Returns the longest of the last pauses, or 0 if there were none.
    pub(super) fn longest_ms(&self) -> u64 {
        self.last_ms.iter().copied().max().map_or(0, u64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_are_those_of_the_last_pauses() {
        let mut habits = Habits::default();
        assert_eq!(
            (habits.median_ms(), habits.longest_ms(), habits.pauses_a_turn()),
            (0, 0, -1)
        );
        for ms in [2_000, 300, 500] {
            habits.pause(ms);
        }
        habits.turns = 2;
        assert_eq!(
            (habits.median_ms(), habits.longest_ms(), habits.pauses_a_turn()),
            (500, 2_000, 15)
        );
        (0..REMEMBERED).for_each(|_| habits.pause(400));
        assert_eq!((habits.median_ms(), habits.longest_ms()), (400, 400));
    }

    #[test]
    fn a_pause_begins_a_new_stretch_of_voice() {
        let mut pauses = Pauses::default();
        pauses.voice(800);
        pauses.pause(600, 5);
        pauses.voice(300);
        let expected = Pauses {
            count: 1,
            last_ms: 600,
            voiced_ms: 1_100,
            voiced_since_ms: 300,
            words_before: 5,
        };
        assert_eq!(pauses, expected);
    }
}
