//! The calls that are being handed on: which leg belongs to which try, so that a late webhook of an earlier try fails no
//! later one, each caller is joined once, and nobody is rung for a caller who is gone.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use actors::{id::AttemptId, ports::carrier::CarrierCallId};

/// Attempts that are remembered; the oldest one makes room.
const REMEMBERED: usize = 4_096;

/// How the two legs come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joining {
    /// Telnyx joins them.
    ByTelnyx,
    /// We do, when the destination answers.
    ByUs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Rings,
    /// The two are being joined, or talk.
    Joined,
    Failed,
}

/// The latest try of a call.
#[derive(Debug, Clone)]
struct Handover {
    try_no: u32,
    joining: Joining,
    caller: CarrierCallId,
    /// The destination's leg, once it is known.
    destination: Option<CarrierCallId>,
    stage: Stage,
}

/// What is to be done about a destination that answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// Join its caller with it.
    Join(CarrierCallId),
    /// Telnyx joins them, or they are joined.
    Nothing,
    /// Nobody waits for it any more.
    Nobody,
}

/// All of a node. Ids of attempts are in the order of time.
#[derive(Debug, Default)]
pub(super) struct Handovers(Mutex<BTreeMap<AttemptId, Handover>>);

impl Handovers {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<AttemptId, Handover>> {
        // No panic leaves the map half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A destination is about to be rung for this caller; the number of the try.
    pub(super) fn begin(&self, attempt: AttemptId, caller: &CarrierCallId, joining: Joining) -> u32 {
        let mut all = self.lock();
        let try_no = all.get(&attempt).map_or(1, |last| last.try_no.wrapping_add(1));
        let handover = Handover {
            try_no,
            joining,
            caller: caller.clone(),
            destination: None,
            stage: Stage::Rings,
        };
        all.insert(attempt, handover);
        while all.len() > REMEMBERED {
            all.pop_first();
        }
        try_no
    }

    /// Does something with the handover of this try, if somebody still waits for it.
    fn with<T>(&self, (attempt, try_no): (AttemptId, u32), act: impl FnOnce(&mut Handover) -> T) -> Option<T> {
        let mut all = self.lock();
        let handover = all.get_mut(&attempt)?;
        (handover.try_no == try_no && handover.stage != Stage::Failed).then(|| act(handover))
    }

    /// The destination's leg has a name; false when nobody waits for it any more.
    pub(super) fn rings(&self, which: (AttemptId, u32), destination: &CarrierCallId) -> bool {
        let rings = |handover: &mut Handover| handover.destination = Some(destination.clone());
        self.with(which, rings).is_some()
    }

    /// A destination answers.
    pub(super) fn answered(&self, which: (AttemptId, u32), destination: &CarrierCallId) -> Answered {
        let answered = self.with(which, |handover| {
            handover.destination = Some(destination.clone());
            match (handover.joining, handover.stage) {
                (Joining::ByUs, Stage::Rings) => {
                    handover.stage = Stage::Joined;
                    Answered::Join(handover.caller.clone())
                }
                (Joining::ByTelnyx, _) | (Joining::ByUs, Stage::Joined | Stage::Failed) => Answered::Nothing,
            }
        });
        answered.unwrap_or(Answered::Nobody)
    }

    /// The two talk; whether somebody waited for that.
    pub(super) fn bridged(&self, which: (AttemptId, u32)) -> bool {
        self.with(which, |handover| handover.stage = Stage::Joined).is_some()
    }

    /// A caller talks with somebody, whoever that is.
    pub(super) fn caller_bridged(&self, attempt: AttemptId) -> bool {
        let latest = self.lock().get(&attempt).map(|handover| handover.try_no);
        latest.is_some_and(|try_no| self.bridged((attempt, try_no)))
    }

    /// It failed, whatever its stage: whether somebody waited for it.
    pub(super) fn failed(&self, which: (AttemptId, u32)) -> bool {
        self.with(which, |handover| handover.stage = Stage::Failed).is_some()
    }

    /// The destination's leg is over. Where that is a failure, and not the end of a talk: whose.
    pub(super) fn failed_to_answer(&self, which: (AttemptId, u32)) -> Option<CarrierCallId> {
        let failed = self.with(which, |handover| {
            (handover.stage == Stage::Rings).then(|| {
                handover.stage = Stage::Failed;
                handover.caller.clone()
            })
        });
        failed.flatten()
    }

    /// A caller is gone: the leg that rings for nobody now, if it is known.
    pub(super) fn caller_left(&self, caller: &CarrierCallId) -> Option<CarrierCallId> {
        let mut all = self.lock();
        let handover = all.values_mut().find(|handover| handover.caller == *caller)?;
        let rang = std::mem::replace(&mut handover.stage, Stage::Failed) == Stage::Rings;
        handover.destination.take().filter(|_| rang)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leg(name: &str) -> CarrierCallId {
        CarrierCallId(name.to_owned())
    }

    #[test]
    fn a_caller_is_joined_once_however_often_the_answer_is_told() {
        let (all, attempt) = (Handovers::default(), AttemptId::new());
        let which = (attempt, all.begin(attempt, &leg("caller"), Joining::ByUs));
        assert!(all.rings(which, &leg("desk")));
        assert_eq!(all.answered(which, &leg("desk")), Answered::Join(leg("caller")));
        assert_eq!(all.answered(which, &leg("desk")), Answered::Nothing);
        assert!(all.bridged(which) && all.caller_bridged(attempt));
        // The end of a talk is no failure to answer, and the desk is left alone.
        assert_eq!(all.failed_to_answer(which), None);
        assert_eq!(all.caller_left(&leg("caller")), None);
        assert_eq!(all.answered(which, &leg("desk")), Answered::Nobody);
    }

    #[test]
    fn what_telnyx_joins_is_left_to_it() {
        let (all, attempt) = (Handovers::default(), AttemptId::new());
        let which = (attempt, all.begin(attempt, &leg("caller"), Joining::ByTelnyx));
        assert_eq!(all.answered(which, &leg("desk")), Answered::Nothing);
        // Answered and not joined yet: a hang-up is still a failure.
        assert_eq!(all.failed_to_answer(which), Some(leg("caller")));
        assert_eq!(all.failed_to_answer(which), None);
        assert!(!all.bridged(which));
    }

    #[test]
    fn a_late_word_of_an_earlier_try_changes_nothing() {
        let (all, attempt) = (Handovers::default(), AttemptId::new());
        let first = (attempt, all.begin(attempt, &leg("caller"), Joining::ByTelnyx));
        assert!(all.failed_to_answer(first).is_some());
        let second = (attempt, all.begin(attempt, &leg("caller"), Joining::ByUs));
        assert_ne!(first, second);
        assert_eq!(all.failed_to_answer(first), None);
        assert!(!all.bridged(first) && !all.rings(first, &leg("late")));
        assert_eq!(all.answered(first, &leg("late")), Answered::Nobody);
        assert_eq!(all.answered(second, &leg("desk")), Answered::Join(leg("caller")));
    }

    #[test]
    fn nobody_is_rung_for_a_caller_who_is_gone() {
        let (all, attempt) = (Handovers::default(), AttemptId::new());
        let which = (attempt, all.begin(attempt, &leg("caller"), Joining::ByUs));
        assert!(all.rings(which, &leg("desk")));
        assert_eq!(all.caller_left(&leg("caller")), Some(leg("desk")));
        assert_eq!(all.caller_left(&leg("caller")), None);
        assert_eq!(all.failed_to_answer(which), None);
        assert!(!all.rings(which, &leg("desk")) && !all.caller_bridged(attempt));
        assert_eq!(all.answered(which, &leg("desk")), Answered::Nobody);
    }

    #[test]
    fn only_so_many_are_remembered() {
        let all = Handovers::default();
        for _ in 0..REMEMBERED + 10 {
            all.begin(AttemptId::new(), &leg("caller"), Joining::ByUs);
        }
        assert_eq!(all.lock().len(), REMEMBERED);
    }
}
