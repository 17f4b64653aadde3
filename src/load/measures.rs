//! Measurements of the worker threads' load and of the memory in use.
//!
//! The runtime counts a worker's busy time from waking to sleeping. It therefore includes the time that other
//! processes take from the worker in between, and nothing of what they take while it sleeps.

use std::{fs, path::PathBuf, time::Duration};

use domain::admission::Sample;
use tokio::{runtime::Handle, time::Instant};

const MEMORY_OF_MACHINE: &str = "/proc/meminfo";
const CGROUPS: &str = "/sys/fs/cgroup";

/// Last measurement.
#[derive(Debug)]
pub(super) struct Measures {
    busy: Duration,
    at: Instant,
    /// Folder of this process's control group, if there is one.
    group: Option<PathBuf>,
}

impl Measures {
    pub(super) fn begin() -> Self {
        Self {
            busy: busy(),
            at: Instant::now(),
            group: group(),
        }
    }

    /// Returns the present load and the time since the last measurement.
    pub(super) fn take(&mut self, lag: Duration) -> (Sample, Duration) {
        let (busy, now) = (busy(), Instant::now());
        let (worked, passed) = (busy.saturating_sub(self.busy), now.duration_since(self.at));
        (self.busy, self.at) = (busy, now);
        let workers = u32::try_from(Handle::current().metrics().num_workers()).unwrap_or(1);
        let could = passed.as_secs_f64() * f64::from(workers.max(1));
        let sample = Sample {
            cpu: (could > 0.0).then(|| (worked.as_secs_f64() / could).min(1.0)),
            memory: self.memory(),
            lag,
        };
        (sample, passed)
    }

    /// Returns the fuller of machine and control group.
    fn memory(&self) -> Option<f64> {
        let of_machine = fs::read_to_string(MEMORY_OF_MACHINE).ok().as_deref().and_then(machine);
        let of_group = self.group.as_ref().and_then(|folder| {
            let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
            in_group(&read("memory.max")?, &read("memory.current")?, &read("memory.stat")?)
        });
        of_machine.into_iter().chain(of_group).reduce(f64::max)
    }
}

/// Returns the total busy time of the workers.
fn busy() -> Duration {
    let metrics = Handle::current().metrics();
    (0..metrics.num_workers())
        .map(|worker| metrics.worker_total_busy_duration(worker))
        .sum()
}

/// Returns the control group's folder. Supports version 2 only: `0::/path`.
fn group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let own = PathBuf::from(CGROUPS).join(path);
    // A container sees its own group as the root.
    [own, CGROUPS.into()]
        .into_iter()
        .find(|folder| folder.join("memory.max").exists())
}

/// Returns the share in use, out of `/proc/meminfo`. Memory that is available without swapping counts as free.
fn machine(text: &str) -> Option<f64> {
    let figure = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().split(' ').next()?.parse::<f64>().ok()
    };
    share(figure("MemTotal:")? - figure("MemAvailable:")?, figure("MemTotal:")?)
}

/// Returns the share in use of a control group, or `None` if it has no limit. Inactive pages of files count
/// as free, because the kernel drops them first.
fn in_group(most: &str, current: &str, stat: &str) -> Option<f64> {
    let most = most.trim().parse::<f64>().ok()?;
    let idle = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
    let idle = idle.and_then(|bytes| bytes.trim().parse::<f64>().ok()).unwrap_or(0.0);
    share(current.trim().parse::<f64>().ok()? - idle, most)
}

fn share(used: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| (used / of).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_what_linux_tells() {
        let text = "MemTotal:       8000 kB\nMemFree:         100 kB\nMemAvailable:   2000 kB\n";
        assert_eq!(machine(text), Some(0.75));
        assert_eq!(machine("MemTotal: 8000 kB\n"), None);
        assert_eq!(machine("nonsense"), None);
        assert_eq!(in_group("1000\n", "900\n", "anon 1\ninactive_file 400\n"), Some(0.5));
        assert_eq!(in_group("1000\n", "900\n", ""), Some(0.9));
        assert_eq!(in_group("max\n", "900\n", ""), None);
        assert_eq!(in_group("0\n", "900\n", ""), None);
    }

    #[tokio::test]
    async fn a_worker_that_never_sleeps_is_busy() {
        let mut measures = Measures::begin();
        let until = std::time::Instant::now() + Duration::from_millis(200);
        while std::time::Instant::now() < until {
            tokio::task::yield_now().await;
        }
        // The runtime counts a stretch when the worker sleeps.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let (sample, passed) = measures.take(Duration::ZERO);
        assert!(passed >= Duration::from_millis(200));
        assert!(sample.cpu.is_some_and(|cpu| (0.0..=1.0).contains(&cpu)), "{sample:?}");
    }
}
