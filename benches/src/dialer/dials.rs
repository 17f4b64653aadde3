//! Dials in the exchange's log: when, to whom, how often, and how many calls at once.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use domain::time::Timestamp;

use super::super::BenchError;
use sim::{
    exchange::{LogEvent, read_log},
    samples::Samples,
};

const SECOND_US: i64 = 1_000_000;

/// One accepted dial.
#[derive(Debug, Clone)]
pub struct Dial {
    /// Time at which the exchange accepted it.
    pub at: Timestamp,
    /// Number.
    pub to: String,
    attempt: String,
}

/// All dials on record, and the ends of their calls.
#[derive(Debug, Default)]
pub struct Dials {
    /// Dials in the order of their times.
    pub dials: Vec<Dial>,
    ends: Vec<Timestamp>,
    /// Milliseconds from the callee's first words, or from the pick-up if there were none, to the agent's voice.
    pub greeting_ms: Samples,
}

/// A call that was picked up and has not heard the agent yet.
#[derive(Default)]
struct Silence {
    answered: Option<Timestamp>,
    media_opened: Option<Timestamp>,
    /// End of the words, in milliseconds from the opening of the media.
    said_to_ms: Option<u64>,
}

impl Dials {
    /// Reads the dials and ends since a moment.
    pub fn since(log: &Path, from: Timestamp) -> Result<Self, BenchError> {
        let mut found = Self::default();
        let mut silent: HashMap<String, Silence> = HashMap::new();
        for entry in read_log(log)?.into_iter().filter(|entry| entry.at >= from) {
            let at = entry.at;
            match entry.event {
                LogEvent::Accepted { to, attempt, .. } => found.dials.push(Dial { at, to, attempt }),
                LogEvent::Ended { .. } => found.ends.push(at),
                LogEvent::Answered => silent.entry(entry.call_id).or_default().answered = Some(at),
                LogEvent::MediaOpened => silent.entry(entry.call_id).or_default().media_opened = Some(at),
                LogEvent::Said { to_ms, .. } => {
                    // Later words belong to a call that has heard the agent.
                    if let Some(silence) = silent.get_mut(&entry.call_id) {
                        silence.said_to_ms = Some(to_ms);
                    }
                }
                LogEvent::Heard { from_ms, .. } => {
                    let silence = silent.remove(&entry.call_id);
                    found
                        .greeting_ms
                        .extend(silence.and_then(|silence| silence.until_ms(from_ms)));
                }
                _ => {}
            }
        }
        found.dials.sort_by_key(|dial| dial.at);
        found.ends.sort();
        Ok(found)
    }

    /// Returns the attempts and the numbers that were dialed more than once.
    pub fn twice(&self) -> Vec<String> {
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for dial in &self.dials {
            *times.entry(&dial.attempt).or_default() += 1;
            *times.entry(&dial.to).or_default() += 1;
        }
        let twice = times.into_iter().filter(|(_, times)| *times > 1);
        twice.map(|(what, _)| what.to_owned()).collect()
    }

    /// Returns the highest number of dials within one second.
    pub fn fastest_second(&self) -> usize {
        let mut from = 0;
        let mut most = 0;
        for (index, dial) in self.dials.iter().enumerate() {
            while dial.at.0 - self.dials[from].at.0 >= SECOND_US {
                from += 1;
            }
            most = most.max(index + 1 - from);
        }
        most
    }

    /// Returns the highest number of concurrent calls.
    pub fn most_at_once(&self) -> usize {
        let mut ended = 0;
        let mut most = 0;
        for (index, dial) in self.dials.iter().enumerate() {
            while self.ends.get(ended).is_some_and(|end| *end <= dial.at) {
                ended += 1;
            }
            most = most.max(index + 1 - ended);
        }
        most
    }
}

impl Silence {
    /// Returns its length if the voice came `from_ms` after the opening of the media.
    fn until_ms(&self, from_ms: u64) -> Option<f64> {
        if let Some(to_ms) = self.said_to_ms {
            return Some(from_ms.saturating_sub(to_ms) as f64);
        }
        let opening = self.media_opened?.since(self.answered?);
        Some(opening.as_secs_f64() * 1_000.0 + from_ms as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dials(times: &[(i64, &str)], ends: &[i64]) -> Dials {
        let dial = |(at, to): &(i64, &str)| Dial {
            at: Timestamp(*at),
            to: (*to).to_owned(),
            attempt: format!("{at}"),
        };
        Dials {
            dials: times.iter().map(dial).collect(),
            ends: ends.iter().copied().map(Timestamp).collect(),
            ..Dials::default()
        }
    }

    #[test]
    fn calls_at_once_dials_a_second_and_repeats_are_counted() {
        let found = dials(
            &[(0, "+1"), (10, "+2"), (20, "+3"), (1_000_005, "+1")],
            &[10, 30, 40, 1_000_010],
        );
        assert_eq!(found.most_at_once(), 2);
        assert_eq!(found.fastest_second(), 3);
        assert_eq!(found.twice(), ["+1"]);
        assert_eq!(
            (Dials::default().most_at_once(), Dials::default().fastest_second()),
            (0, 0)
        );
    }
}
