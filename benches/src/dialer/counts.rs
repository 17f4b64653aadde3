//! Resources that the service holds at one moment, counted from outside: actors and tasks by its metrics,
//! sockets and memory by the system.

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::super::{BenchError, connection::Connection, processes::Process};
use super::Bench;

/// Window over which idle processor time is taken; the system counts in hundredths of a second.
const WINDOW: Duration = Duration::from_secs(1);

/// An idle service uses at most this share of a core.
pub const IDLE_CORES: f64 = 0.02;

/// Longest time for the service to come to rest. It closes a connection that idles for 10 s, and takes as
/// long to close its own.
const REST_WITHIN: Duration = Duration::from_secs(30);

/// Counts that must return to their former values when all calls are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Actors, from the root to the audio streams.
    pub actors: u64,
    /// Tasks of the runtime.
    pub tasks: u64,
    /// Sockets, including listening ones.
    pub sockets: u64,
}

impl Counts {
    /// Reads the counts now, over a connection that is counted each time.
    async fn read(bench: &Bench) -> Result<Self, BenchError> {
        let mut connection = Connection::open(bench.site.settings.listen).await?;
        let answer = connection.get("/metrics", "").await?;
        let text = String::from_utf8(answer.body)?;
        Ok(Self {
            actors: gauge(&text, "ringback_actors")?,
            tasks: gauge(&text, "ringback_tasks")?,
            sockets: bench.service.sockets()?,
        })
    }
}

/// Returns a gauge without labels.
fn gauge(metrics: &str, name: &str) -> Result<u64, BenchError> {
    let value = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let value = value.ok_or_else(|| format!("no `{name}` in the metrics"))?;
    Ok(value.trim().parse()?)
}

/// The service at rest.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rest {
    /// Counts.
    pub counts: Counts,
    /// Resident memory.
    pub resident_mib: f64,
    /// Seconds until it used no more than [`IDLE_CORES`].
    pub quiet_after_s: f64,
    /// Cores used in the last window.
    pub idle_cores: f64,
}

/// Waits until the service is idle and its counts are those of `before` (or, at first, stay the same for a
/// while), and returns its state. If the service never comes to rest, returns the state at the end of the wait.
pub async fn rest(bench: &Bench, before: Option<Counts>) -> Result<Rest, BenchError> {
    let began = Instant::now();
    let mut quiet_after = None;
    let mut expected = before;
    loop {
        let idle_cores = cores(&bench.service).await?;
        let idle = idle_cores <= IDLE_CORES;
        if idle {
            quiet_after.get_or_insert(began.elapsed().saturating_sub(WINDOW));
        }
        let counts = Counts::read(bench).await?;
        let settled = idle && expected == Some(counts);
        if settled || began.elapsed() > REST_WITHIN {
            return Ok(Rest {
                counts,
                resident_mib: bench.service.resident_mib()?,
                quiet_after_s: quiet_after.unwrap_or(REST_WITHIN).as_secs_f64(),
                idle_cores,
            });
        }
        if before.is_none() {
            expected = Some(counts);
        }
    }
}

/// Returns the cores used over one window.
async fn cores(service: &Process) -> Result<f64, BenchError> {
    let (began, before) = (Instant::now(), service.cpu_seconds()?);
    tokio::time::sleep(WINDOW).await;
    Ok((service.cpu_seconds()? - before) / began.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_is_told_from_one_whose_name_begins_alike() {
        let metrics = "# TYPE ringback_tasks gauge\nringback_tasks_more 9\nringback_tasks 41\n";
        assert_eq!(gauge(metrics, "ringback_tasks").unwrap(), 41);
        assert!(gauge(metrics, "ringback_actors").is_err());
    }
}
