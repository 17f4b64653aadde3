//! Limits on concurrent deliveries: in total, per lane, and for failing lanes, so that working lanes always
//! have room. A slow try gives its slot back, but its lane gets no other until it ends.

use std::collections::{HashMap, HashSet};

use domain::ports::store::{DueLane, Standing};

/// Maximum number of concurrent tries.
const ALL: usize = 256;

/// Part of those for failing lanes and for lanes never tried. The rest is for lanes that work.
const FAILING: usize = 64;
const NEW: usize = 96;

/// Maximum number of slow tries beside them, in lanes that are not known to fail.
const SLOW: usize = 512;

/// Maximum number of concurrent tries in one lane, by its standing.
const fn of_one_lane(standing: Standing) -> usize {
    match standing {
        Standing::Proven => 16,
        Standing::Shaky => 2,
        Standing::New | Standing::Failing => 1,
    }
}

const fn of_all_lanes(standing: Standing) -> usize {
    match standing {
        Standing::Proven | Standing::Shaky => ALL,
        Standing::New => NEW,
        Standing::Failing => FAILING,
    }
}

/// Tries in progress, counted by lane and standing.
#[derive(Debug, Default)]
pub struct Places {
    lanes: HashMap<String, InLane>,
    standings: HashMap<Standing, usize>,
    all: usize,
    slow: usize,
    /// Last turn of each lane, as a count of turns. Only lanes that had something due at the last look are kept.
    turns: HashMap<String, u64>,
    turn: u64,
}

#[derive(Debug, Default)]
struct InLane {
    all: usize,
    slow: usize,
}

/// Deliveries that may be leased now.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Lanes with their standing and maximum number of deliveries.
    pub lanes: Vec<(String, Standing, usize)>,
    /// Whether more may be due than there are free slots.
    pub more: bool,
}

impl Places {
    /// Returns whether a failing lane would find a slot.
    pub fn for_failing(&self) -> bool {
        self.room_of_all(Standing::Failing) > 0
    }

    /// Distributes the free slots among lanes, one each in turn, beginning with the lane whose turn is longest ago.
    pub fn share(&mut self, mut due: Vec<DueLane>, failing_too: bool) -> Shares {
        if failing_too {
            let names: HashSet<&String> = due.iter().map(|due| &due.lane).collect();
            self.turns.retain(|lane, _| names.contains(lane));
        }
        due.sort_by_key(|due| self.turns.get(&due.lane).copied().unwrap_or(0));
        let mut shares = vec![0; due.len()];
        let mut taken: HashMap<Standing, usize> = HashMap::new();
        let mut free = ALL.saturating_sub(self.all);
        let mut more = false;
        let mut went = true;
        while std::mem::replace(&mut went, false) {
            for (share, lane) in shares.iter_mut().zip(&due) {
                let of_standing = taken.entry(lane.standing).or_default();
                let full = free == 0 || *of_standing >= self.room_of_all(lane.standing) || self.is_full(lane, *share);
                more |= full;
                if !full {
                    *share += 1;
                    *of_standing += 1;
                    free -= 1;
                    went = true;
                }
            }
        }
        let given = due.into_iter().zip(shares).filter(|(_, share)| *share > 0);
        let lanes = given.map(|(due, share)| (due.lane, due.standing, share)).collect();
        Shares { lanes, more }
    }

    /// Returns whether a lane may get no more beside its tries and this share.
    fn is_full(&self, due: &DueLane, share: usize) -> bool {
        let most = of_one_lane(due.standing);
        let used = self.lanes.get(&due.lane);
        used.map_or(share >= most, |used| used.slow > 0 || used.all + share >= most)
    }

    fn room_of_all(&self, standing: Standing) -> usize {
        let used = self.standings.get(&standing).copied().unwrap_or(0);
        of_all_lanes(standing).saturating_sub(used)
    }

    /// Counts a try that starts.
    pub fn take(&mut self, lane: &str, standing: Standing) {
        self.lanes.entry(lane.to_owned()).or_default().all += 1;
        *self.standings.entry(standing).or_default() += 1;
        self.all += 1;
        self.turn += 1;
        self.turns.insert(lane.to_owned(), self.turn);
    }

    /// Marks a try as slow, which frees its slot. Returns false if it keeps its slot: in failing lanes, and
    /// if too many are slow.
    pub fn make_slow(&mut self, lane: &str, standing: Standing) -> bool {
        if standing == Standing::Failing || self.slow >= SLOW {
            return false;
        }
        self.slow += 1;
        self.leave(standing);
        if let Some(used) = self.lanes.get_mut(lane) {
            used.slow += 1;
        }
        true
    }

    /// Counts a try that ended.
    pub fn free(&mut self, lane: &str, standing: Standing, slow: bool) {
        if slow {
            self.slow -= 1;
        } else {
            self.leave(standing);
        }
        if let Some(used) = self.lanes.get_mut(lane) {
            used.all -= 1;
            used.slow -= usize::from(slow);
            if used.all == 0 {
                self.lanes.remove(lane);
            }
        }
    }

    fn leave(&mut self, standing: Standing) {
        self.all -= 1;
        if let Some(used) = self.standings.get_mut(&standing) {
            *used -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(names: impl IntoIterator<Item = String>, standing: Standing) -> Vec<DueLane> {
        names.into_iter().map(|lane| DueLane { lane, standing }).collect()
    }

    fn named(prefix: &str, count: usize) -> impl Iterator<Item = String> {
        (0..count).map(move |n| format!("{prefix}{n}"))
    }

    /// Takes all offered slots. Returns the number per lane.
    fn take(places: &mut Places, due: Vec<DueLane>) -> Vec<(String, usize)> {
        let shares = places.share(due, true);
        for (lane, standing, share) in &shares.lanes {
            (0..*share).for_each(|_| places.take(lane, *standing));
        }
        shares.lanes.into_iter().map(|(lane, _, share)| (lane, share)).collect()
    }

    #[test]
    fn lanes_that_fail_leave_places_to_those_that_work() {
        let mut places = Places::default();
        assert_eq!(
            take(&mut places, due(named("dead", 1_000), Standing::Failing)).len(),
            FAILING
        );
        assert!(!places.for_failing());
        assert_eq!(take(&mut places, due(named("new", 1_000), Standing::New)).len(), NEW);
        let well = take(&mut places, due(named("well", 1), Standing::Proven));
        assert_eq!(well, [("well0".to_owned(), 16)]);
        assert_eq!(take(&mut places, due(named("well", 1), Standing::Proven)), []);
        places.free("well0", Standing::Proven, false);
        assert_eq!(
            take(&mut places, due(named("well", 1), Standing::Proven)),
            [("well0".to_owned(), 1)]
        );
        let rest: usize = take(&mut places, due(named("other", 100), Standing::Proven))
            .iter()
            .map(|(_, n)| n)
            .sum();
        assert_eq!(rest, ALL - FAILING - NEW - 16);
    }

    #[test]
    fn places_are_shared_one_by_one_and_turns_go_round() {
        let mut places = Places::default();
        // With more lanes than slots, each lane gets at most one, and none a second before all had one.
        let lanes = || due(named("dead", 150), Standing::Failing);
        let mut seen: HashMap<String, usize> = HashMap::new();
        for _ in 0..9 {
            let given = take(&mut places, lanes());
            for (lane, share) in given {
                assert_eq!(share, 1);
                *seen.entry(lane.clone()).or_default() += 1;
                places.free(&lane, Standing::Failing, false);
            }
        }
        let (least, most) = (seen.values().min().unwrap(), seen.values().max().unwrap());
        assert!(seen.len() == 150 && most - least <= 1, "{least} to {most}");
        let even = take(&mut places, due(named("well", 20), Standing::Proven));
        assert!(even.iter().all(|(_, share)| (12..=13).contains(share)), "{even:?}");
    }

    #[test]
    fn a_try_that_takes_long_leaves_its_place_and_its_lane_waits_for_it() {
        let mut places = Places::default();
        let lanes = || due(named("was-well", 40), Standing::Proven);
        let hang = |places: &mut Places| {
            let given = take(places, lanes());
            for (lane, share) in &given {
                (0..*share).for_each(|_| assert!(places.make_slow(lane, Standing::Proven)));
            }
            given.len()
        };
        assert_eq!(hang(&mut places), 40, "six or seven of each");
        assert_eq!(hang(&mut places), 0, "each has one that takes long");
        assert_eq!(
            take(&mut places, due(named("well", 1), Standing::Proven)),
            [("well0".to_owned(), 16)]
        );
        assert!(!places.make_slow("dead", Standing::Failing));
        places.free("was-well0", Standing::Proven, true);
        assert_eq!(take(&mut places, due(named("was-well", 1), Standing::Proven)), []);
    }

    #[test]
    fn more_is_said_when_a_lane_did_not_get_all_that_it_could_want() {
        let mut places = Places::default();
        assert!(!places.share(Vec::new(), true).more);
        assert!(places.share(due(named("new", 1), Standing::New), true).more);
    }
}
