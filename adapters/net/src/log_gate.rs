//! Rate limit for log lines that strangers can trigger: one line a second per kind, with the number of lines left out.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Pause between two lines of one kind.
const PAUSE: Duration = Duration::from_secs(1);

/// Kind of a line: the endpoint and the event.
type Kind = (&'static str, &'static str);

#[derive(Debug)]
struct Last {
    at: Instant,
    left_out: u64,
}

/// The gate of this process.
static GATE: LogGate = LogGate(Mutex::new(None));

/// The kinds are constants in the code, so there are few.
#[derive(Debug)]
struct LogGate(Mutex<Option<HashMap<Kind, Last>>>);

impl LogGate {
    fn opens(&self, kind: Kind) -> Option<u64> {
        let now = Instant::now();
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kinds = kinds.get_or_insert_default();
        match kinds.get_mut(&kind) {
            Some(last) if now.duration_since(last.at) < PAUSE => {
                last.left_out += 1;
                None
            }
            last => {
                let left_out = last.map_or(0, |last| last.left_out);
                kinds.insert(kind, Last { at: now, left_out: 0 });
                Some(left_out)
            }
        }
    }
}

/// Returns `None` if a line must not be written now; otherwise returns how many lines of its kind were left
/// out since the last one.
pub fn opens(endpoint: &'static str, what: &'static str) -> Option<u64> {
    GATE.opens((endpoint, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_one_line_a_second_that_counts_the_others() {
        let gate = LogGate(Mutex::new(None));
        assert_eq!(gate.opens(("twilio", "status")), Some(0));
        for _ in 0..1_000 {
            assert_eq!(gate.opens(("twilio", "status")), None);
        }
        assert_eq!(gate.opens(("vonage", "status")), Some(0));
        tokio::time::advance(PAUSE).await;
        assert_eq!(gate.opens(("twilio", "status")), Some(1_000));
        assert_eq!(gate.opens(("twilio", "status")), None);
        tokio::time::advance(PAUSE * 5).await;
        assert_eq!(gate.opens(("twilio", "status")), Some(1));
    }
}
