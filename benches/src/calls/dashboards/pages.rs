//! Pages of the dashboard as far as the service sees them: the requests of `dashboard/pages`, and when they are
//! repeated (`useEvents` in `dashboard/lib/data.js`).

use std::time::Duration;

use tokio::time::Instant;

/// Shortest wait after an event, so that events that come together cause one read.
const LEAST: Duration = Duration::from_millis(20);

/// Events of one interval that make the next one no longer; with more it grows, to [`LONGEST`] times at most.
const CALM: f64 = 2.0;
const LONGEST: f64 = 5.0;

/// Interval at which the overview reads the counted calls again.
const COUNTING: Duration = Duration::from_secs(30);

const SECOND: Duration = Duration::from_secs(1);

/// Requests that are repeated together.
struct Reads {
    /// Beginnings of the event types that cause them; empty if only time does.
    types: &'static [&'static str],
    every: Duration,
    paths: fn() -> Vec<String>,
    /// Events since the last read.
    heard: u32,
    /// End of the present interval.
    next: Option<Instant>,
    due: Option<Instant>,
}

impl Reads {
    fn new(types: &'static [&'static str], every: Duration, paths: fn() -> Vec<String>) -> Self {
        Self {
            types,
            every,
            paths,
            heard: 0,
            next: None,
            due: None,
        }
    }

    fn hear(&mut self, event_type: &str, now: Instant) {
        if self.types.iter().any(|one| event_type.starts_with(one)) {
            self.heard += 1;
            let due = self.next.unwrap_or(now).max(now + LEAST);
            self.due.get_or_insert(due);
        }
    }

    fn begin(&mut self, now: Instant) -> Vec<String> {
        let longer = (f64::from(std::mem::take(&mut self.heard)) / CALM).clamp(1.0, LONGEST);
        let apart = if longer > 1.0 {
            rand::random_range(0.75..1.25)
        } else {
            1.0
        };
        self.next = Some(now + self.every.mul_f64(longer * apart));
        self.due = self.types.is_empty().then(|| now + self.every);
        (self.paths)()
    }
}

/// An open page.
pub struct Page {
    /// Requests that are made once.
    once: fn() -> Vec<String>,
    repeated: Vec<Reads>,
}

impl Page {
    /// Returns the page of the dashboard with this number: an overview, the campaigns or the calls.
    pub fn of(number: u32) -> Self {
        match number % 3 {
            0 => Self {
                once: || vec!["/agents?pageSize=1".to_owned()],
                repeated: vec![
                    Reads::new(&["call."], 5 * SECOND, live_calls),
                    Reads::new(&["call."], SECOND, latest_calls),
                    Reads::new(&["campaign."], SECOND, active_campaigns),
                    Reads::new(&["campaign."], 5 * SECOND, problems),
                    Reads::new(&[], COUNTING, counted_calls),
                ],
            },
            1 => Self {
                once: Vec::new,
                repeated: vec![Reads::new(&["campaign.", "call.ended"], 2 * SECOND, || {
                    vec!["/campaigns?pageSize=50".to_owned()]
                })],
            },
            _ => Self {
                once: || vec!["/agents?pageSize=100".to_owned(), "/campaigns?pageSize=100".to_owned()],
                repeated: vec![Reads::new(&["call."], 2 * SECOND, || {
                    vec!["/conversations?pageSize=50".to_owned()]
                })],
            },
        }
    }

    /// Returns the requests at the start. The first event after it is not held back, as in the dashboard.
    pub fn first_reads(&mut self) -> Vec<String> {
        let now = Instant::now();
        let mut paths = (self.once)();
        for reads in &mut self.repeated {
            paths.extend(reads.begin(now));
            reads.next = None;
        }
        paths
    }

    /// Notes that an event of this type came.
    pub fn hear(&mut self, event_type: &str, now: Instant) {
        self.repeated.iter_mut().for_each(|reads| reads.hear(event_type, now));
    }

    /// Returns the time of the next requests.
    pub fn next_due(&self) -> Option<Instant> {
        self.repeated.iter().filter_map(|reads| reads.due).min()
    }

    /// Returns the requests that are due.
    pub fn due_reads(&mut self, now: Instant) -> Vec<String> {
        let due = self
            .repeated
            .iter_mut()
            .filter(|reads| reads.due.is_some_and(|due| due <= now));
        due.flat_map(|reads| reads.begin(now)).collect()
    }
}

fn live_calls() -> Vec<String> {
    vec!["/conversations?status=in_progress&pageSize=100".to_owned()]
}

fn latest_calls() -> Vec<String> {
    let until = chrono::Utc::now().timestamp() + 1;
    vec![format!("/conversations?startedBefore={until}&pageSize=10")]
}

fn active_campaigns() -> Vec<String> {
    vec![
        "/campaigns?active=true&pageSize=5".to_owned(),
        "/campaigns?pageSize=1".to_owned(),
    ]
}

/// Without a campaign in trouble, the overview reads no single campaign.
fn problems() -> Vec<String> {
    vec![
        "/campaigns?status=delayed&pageSize=3".to_owned(),
        "/campaigns?status=failed&pageSize=3".to_owned(),
        "/webhooks?pageSize=20".to_owned(),
    ]
}

fn counted_calls() -> Vec<String> {
    let now = chrono::Utc::now().timestamp();
    let (from, until) = (now - now % 86_400, now - now % 86_400 + 86_400);
    vec![format!(
        "/analytics?groupBy=hour&startedAfter={from}&startedBefore={until}&pageSize=100"
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_event_is_followed_at_once_and_later_ones_within_the_interval() {
        let mut page = Page::of(2);
        page.first_reads();
        assert_eq!(page.next_due(), None);
        let start = Instant::now();
        page.hear("campaign.paused", start);
        assert_eq!(page.next_due(), None);
        page.hear("call.started", start);
        page.hear("call.ended", start + LEAST / 2);
        assert_eq!(page.next_due(), Some(start + LEAST));
        assert_eq!(page.due_reads(start), Vec::<String>::new());
        assert_eq!(page.due_reads(start + LEAST), ["/conversations?pageSize=50"]);
        page.hear("call.started", start + 2 * LEAST);
        assert_eq!(page.next_due(), Some(start + LEAST + 2 * SECOND));
    }

    #[test]
    fn many_events_make_the_next_interval_longer_and_few_make_it_short_again() {
        let mut page = Page::of(2);
        page.first_reads();
        let mut now = Instant::now();
        for (events, least, most) in [(1_000, 7.5, 12.5), (3, 3.0, 5.0), (1, 2.0, 2.0)] {
            (0..events).for_each(|_| page.hear("call.ended", now));
            now = page.next_due().unwrap();
            assert_eq!(page.due_reads(now).len(), 1);
            page.hear("call.started", now);
            let wait = (page.next_due().unwrap() - now).as_secs_f64();
            assert!((least..=most).contains(&wait), "{events} events: {wait} s");
        }
    }
}
