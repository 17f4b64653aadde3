//! Times of the faults and repairs, determined by the seed alone. Pure.

use std::fmt;

use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{node::Link, proxy::Mode};

/// An action on the nodes or on what they depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Kill(usize),
    Start(usize),
    Stop(usize),
    Continue(usize),
    Set(usize, Link, Mode),
    KillDatabase,
    StartDatabase,
}

/// A kind of fault, for the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Kill,
    Pause,
    DatabaseCut,
    DatabaseStall,
    DatabaseKill,
    CarrierCut,
    CarrierStall,
    ProxyCut,
    ProxyStall,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kill => "kill -9 of a node",
            Self::Pause => "SIGSTOP of a node",
            Self::DatabaseCut => "node cut from the database",
            Self::DatabaseStall => "node's database stands still",
            Self::DatabaseKill => "PostgreSQL killed",
            Self::CarrierCut => "node cut from the carrier",
            Self::CarrierStall => "node's carrier stands still",
            Self::ProxyCut => "carrier cut from a node",
            Self::ProxyStall => "carrier's way to a node stands still",
        })
    }
}

/// A step and its time from the start. If it begins a fault, it names the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    pub at_ms: u64,
    pub step: Step,
    pub begins: Option<Kind>,
}

/// Parameters of a schedule.
#[derive(Debug, Clone, Copy)]
pub struct Outline {
    pub seed: u64,
    pub faults: u32,
    pub nodes: usize,
    pub postgres: bool,
    /// Whether it runs at one-tenth of real time.
    pub tenth: bool,
    /// Whether only nodes break, by kills.
    pub only_kills: bool,
}

/// Kinds and their weights.
const ON_POSTGRES: &[(Kind, u32)] = &[
    (Kind::Kill, 36),
    (Kind::Pause, 22),
    (Kind::DatabaseCut, 12),
    (Kind::DatabaseStall, 8),
    (Kind::DatabaseKill, 5),
    (Kind::CarrierCut, 5),
    (Kind::CarrierStall, 4),
    (Kind::ProxyCut, 5),
    (Kind::ProxyStall, 3),
];
const KILLS: &[(Kind, u32)] = &[(Kind::Kill, 1)];
const ON_SQLITE: &[(Kind, u32)] = &[
    (Kind::Kill, 60),
    (Kind::Pause, 20),
    (Kind::CarrierCut, 6),
    (Kind::CarrierStall, 4),
    (Kind::ProxyCut, 6),
    (Kind::ProxyStall, 4),
];

/// Returns the shortest and the longest duration of a fault of a kind, in milliseconds of real time.
fn lasts(kind: Kind, postgres: bool) -> (f64, f64) {
    match kind {
        Kind::Kill if postgres => (500.0, 40_000.0),
        Kind::Kill => (100.0, 5_000.0),
        Kind::Pause => (5_000.0, 120_000.0),
        Kind::DatabaseCut | Kind::DatabaseStall => (1_000.0, 60_000.0),
        Kind::DatabaseKill => (500.0, 30_000.0),
        Kind::CarrierCut | Kind::CarrierStall | Kind::ProxyCut | Kind::ProxyStall => (1_000.0, 30_000.0),
    }
}

/// Returns the steps, in order.
pub fn plan(outline: Outline) -> Vec<Planned> {
    let mut rng = StdRng::seed_from_u64(outline.seed);
    let scale = if outline.tenth { 0.1 } else { 1.0 };
    let kinds = match (outline.only_kills, outline.postgres) {
        (true, _) => KILLS,
        (false, true) => ON_POSTGRES,
        (false, false) => ON_SQLITE,
    };
    let total: u32 = kinds.iter().map(|(_, weight)| weight).sum();
    let mut steps = Vec::new();
    // Time for the first calls to begin.
    let mut now = 2_000.0;
    // Times at which each node's process, its links and the database are whole again.
    let mut busy = vec![[0.0_f64; 4]; outline.nodes];
    let mut database_busy = 0.0_f64;
    let mut faults = 0;
    while faults < outline.faults {
        now += rng.random_range(3_000.0..25_000.0) * scale;
        let mut drawn = rng.random_range(0..total);
        let kind = kinds.iter().find(|(_, weight)| {
            let hit = drawn < *weight;
            drawn = drawn.saturating_sub(*weight);
            hit
        });
        let Some(&(kind, _)) = kind else { continue };
        let node = rng.random_range(0..outline.nodes);
        let (shortest, longest) = lasts(kind, outline.postgres);
        // Short durations are as likely as long ones.
        let length = shortest * (longest / shortest).powf(rng.random_range(0.0..1.0)) * scale;
        let (begin, end, place) = match kind {
            Kind::Kill => (Step::Kill(node), Step::Start(node), 0),
            Kind::Pause => (Step::Stop(node), Step::Continue(node), 0),
            Kind::DatabaseKill => (Step::KillDatabase, Step::StartDatabase, 4),
            Kind::DatabaseCut => link(node, Link::Database, Mode::Cut, 1),
            Kind::DatabaseStall => link(node, Link::Database, Mode::Stalled, 1),
            Kind::CarrierCut => link(node, Link::Carrier, Mode::Cut, 2),
            Kind::CarrierStall => link(node, Link::Carrier, Mode::Stalled, 2),
            Kind::ProxyCut => link(node, Link::ProxySide, Mode::Cut, 3),
            Kind::ProxyStall => link(node, Link::ProxySide, Mode::Stalled, 3),
        };
        let until = match busy[node].get_mut(place) {
            Some(until) => until,
            None => &mut database_busy,
        };
        if *until > now {
            continue;
        }
        // Leaves a moment between two faults of one thing, or the second would find nothing to break.
        *until = now + length + 1_000.0 * scale;
        for (at, step, begins) in [(now, begin, Some(kind)), (now + length, end, None)] {
            steps.push(Planned {
                at_ms: at as u64,
                step,
                begins,
            });
        }
        faults += 1;
    }
    steps.sort_by_key(|planned| planned.at_ms);
    steps
}

fn link(node: usize, link: Link, mode: Mode, place: usize) -> (Step, Step, usize) {
    (Step::Set(node, link, mode), Step::Set(node, link, Mode::Open), place)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTLINE: Outline = Outline {
        seed: 7,
        faults: 200,
        nodes: 3,
        postgres: true,
        tenth: true,
        only_kills: false,
    };

    #[test]
    fn a_seed_repeats_its_schedule() {
        assert_eq!(plan(OUTLINE), plan(OUTLINE));
        assert_ne!(plan(OUTLINE), plan(Outline { seed: 8, ..OUTLINE }));
    }

    #[test]
    fn all_that_breaks_is_mended_before_it_breaks_again() {
        let steps = plan(OUTLINE);
        assert_eq!(steps.iter().filter(|planned| planned.begins.is_some()).count(), 200);
        let mut broken = std::collections::HashSet::new();
        for Planned { step, begins, .. } in steps {
            let what = match step {
                Step::Kill(node) | Step::Start(node) | Step::Stop(node) | Step::Continue(node) => {
                    format!("node {node}")
                }
                Step::Set(node, link, _) => format!("{link:?} of {node}"),
                Step::KillDatabase | Step::StartDatabase => "the database".to_owned(),
            };
            match begins {
                Some(_) => assert!(broken.insert(what.clone()), "{what} is broken already"),
                None => assert!(broken.remove(&what), "{what} was whole"),
            }
        }
        assert!(broken.is_empty(), "{broken:?}");
    }
}
