//! What a recogniser owes: the finals that were asked for, and a sign of life while a voice goes on.

use std::time::Duration;

use tokio::time::Instant;

/// Asked for the words of a voice it says nothing at all for so long: it hangs.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_millis(1_200);

/// Asked, it has so long for the answer, whatever else it says meanwhile: six times what the slowest hundredth takes.
const FINAL_WITHIN: Duration = Duration::from_millis(2_500);

/// It says nothing at all for so long while a voice goes on; interims come each second.
const WORDS_WITHIN: Duration = Duration::from_secs(4);

/// A final that was asked for and is outstanding.
pub(super) struct Asked {
    pub(super) since: Instant,
    /// Where on the buffer.
    position: u64,
    /// There may be words in what it asks for.
    voiced: bool,
}

/// The debts of one connection.
#[derive(Default)]
pub(super) struct Pending {
    asked: Vec<Asked>,
    /// Since when no words came although there was something to say.
    unheard_since: Option<Instant>,
}

impl Pending {
    /// Finals that are outstanding.
    pub(super) fn finals(&self) -> usize {
        self.asked.len()
    }

    /// The one that was asked for first.
    pub(super) fn first(&self) -> Option<&Asked> {
        self.asked.first()
    }

    /// A voice is being sent.
    pub(super) fn voice(&mut self) {
        self.unheard_since.get_or_insert_with(Instant::now);
    }

    /// A final is asked for, of all up to a position.
    pub(super) fn ask(&mut self, position: u64, voiced: bool) {
        self.asked.push(Asked {
            since: Instant::now(),
            position,
            voiced,
        });
    }

    /// Words came, which shows that somebody is there. What was asked for is owed all the same.
    pub(super) fn told(&mut self) {
        let owes = self.asked.iter().any(|asked| asked.voiced);
        self.unheard_since = owes.then(Instant::now);
    }

    /// The first is settled: its position.
    pub(super) fn settle(&mut self) -> Option<u64> {
        (!self.asked.is_empty()).then(|| self.asked.remove(0).position)
    }

    /// Whether there was something to say that it has not said.
    pub(super) fn is_owing(&self) -> bool {
        self.hung_at().is_some()
    }

    /// When it has kept us waiting for too long.
    pub(super) fn hung_at(&self) -> Option<Instant> {
        let Some(asked) = self.asked.iter().find(|asked| asked.voiced) else {
            return self.unheard_since.map(|since| since + WORDS_WITHIN);
        };
        let quiet_since = self.unheard_since.unwrap_or(asked.since);
        Some((quiet_since + ANSWER_WITHIN).min(asked.since + FINAL_WITHIN))
    }
}
