//! Transfers in progress, and the try that each leg belongs to. A late webhook of an earlier try neither
//! fails nor joins a later one, each caller is joined once, and no destination keeps ringing for a caller who
//! has hung up.

use std::{collections::BTreeMap, fmt, sync::Mutex};

use domain::{id::AttemptId, ports::carrier::CarrierCallId};

use crate::lock::locked;

/// Attempts that are remembered; the oldest is dropped first.
const REMEMBERED: usize = 4_096;

/// A try to transfer a call. It is written as `{attempt}.{number}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Try {
    pub(crate) attempt: AttemptId,
    /// Number of the try within the attempt.
    pub(crate) number: u32,
}

impl fmt::Display for Try {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.attempt, self.number)
    }
}

impl Try {
    /// Parses the try in an address.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (attempt, number) = text.split_once('.')?;
        let (attempt, number) = (attempt.parse().ok()?, number.parse().ok()?);
        Some(Self { attempt, number })
    }
}

/// Way in which the two legs are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joining {
    /// The carrier joins them.
    ByCarrier,
    /// We join them when the destination answers.
    ByUs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Rings,
    /// The two legs are being joined, or talk.
    Joined,
    Failed,
}

/// Latest transfer try of a call.
#[derive(Debug, Clone)]
struct Handover {
    number: u32,
    joining: Joining,
    caller: CarrierCallId,
    /// Destination's leg, once known.
    destination: Option<CarrierCallId>,
    stage: Stage,
}

impl Handover {
    /// Returns whether this is the destination's leg. The first leg that reports becomes it.
    fn is_to(&mut self, leg: &CarrierCallId) -> bool {
        self.destination.get_or_insert_with(|| leg.clone()) == leg
    }

    /// Marks the try as failed. Returns the leg that still rings, if known.
    fn let_go(&mut self) -> Option<CarrierCallId> {
        let rang = std::mem::replace(&mut self.stage, Stage::Failed) == Stage::Rings;
        self.destination.take().filter(|_| rang)
    }
}

/// Action for a destination that answers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// Join the caller with it.
    Join(CarrierCallId),
    /// Nothing to do: the carrier joins them, or they are already joined.
    Nothing,
    /// Nobody waits for it any more.
    Nobody,
}

/// Transfers of a node. Attempt ids sort by time.
#[derive(Debug, Default)]
pub(crate) struct Handovers(Mutex<BTreeMap<AttemptId, Handover>>);

impl Handovers {
    /// Starts a try to ring a destination for this caller.
    pub(crate) fn begin(&self, attempt: AttemptId, caller: &CarrierCallId, joining: Joining) -> Try {
        let mut all = locked(&self.0);
        let number = all.get(&attempt).map_or(1, |last| last.number.wrapping_add(1));
        while all.len() >= REMEMBERED && !all.contains_key(&attempt) {
            all.pop_first();
        }
        let handover = Handover {
            number,
            joining,
            caller: caller.clone(),
            destination: None,
            stage: Stage::Rings,
        };
        all.insert(attempt, handover);
        Try { attempt, number }
    }

    /// Abandons the current try before another one. Returns the leg that still rings, if known.
    pub(crate) fn abandon(&self, attempt: AttemptId) -> Option<CarrierCallId> {
        locked(&self.0).get_mut(&attempt)?.let_go()
    }

    /// Calls `act` with the handover of this try, unless it has failed or a later try has replaced it.
    fn with<T>(&self, which: Try, act: impl FnOnce(&mut Handover) -> T) -> Option<T> {
        let mut all = locked(&self.0);
        let handover = all.get_mut(&which.attempt)?;
        (handover.number == which.number && handover.stage != Stage::Failed).then(|| act(handover))
    }

    /// Records the name of the destination's leg. Returns false if nobody waits for it any more, or if
    /// another leg is expected.
    pub(crate) fn rings(&self, which: Try, destination: &CarrierCallId) -> bool {
        self.with(which, |handover| handover.is_to(destination))
            .unwrap_or(false)
    }

    /// Marks the try as failed after a dial error. Returns false if the leg has reported anyway.
    pub(crate) fn not_dialed(&self, which: Try) -> bool {
        let failed = self.with(which, |handover| {
            let failed = handover.destination.is_none();
            if failed {
                handover.stage = Stage::Failed;
            }
            failed
        });
        failed.unwrap_or(true)
    }

    /// Handles a destination that answers.
    pub(crate) fn answered(&self, which: Try, destination: &CarrierCallId) -> Answered {
        let answered = self.with(which, |handover| {
            if !handover.is_to(destination) {
                return Answered::Nobody;
            }
            match (handover.joining, handover.stage) {
                (Joining::ByUs, Stage::Rings) => {
                    handover.stage = Stage::Joined;
                    Answered::Join(handover.caller.clone())
                }
                (Joining::ByCarrier, _) | (Joining::ByUs, Stage::Joined | Stage::Failed) => Answered::Nothing,
            }
        });
        answered.unwrap_or(Answered::Nobody)
    }

    /// Records that the two legs talk. Returns whether the try was still active.
    pub(crate) fn bridged(&self, which: Try) -> bool {
        self.with(which, |handover| handover.stage = Stage::Joined).is_some()
    }

    /// Records that a caller talks with a destination, whichever it is.
    pub(crate) fn caller_bridged(&self, attempt: AttemptId) -> bool {
        let latest = locked(&self.0).get(&attempt).map(|handover| handover.number);
        latest.is_some_and(|number| self.bridged(Try { attempt, number }))
    }

    /// Marks the try as failed at any stage. Returns whether the try was still active.
    pub(crate) fn failed(&self, which: Try) -> bool {
        self.with(which, |handover| handover.stage = Stage::Failed).is_some()
    }

    /// Handles the end of the destination's leg. If it ended before it was joined, returns the caller.
    pub(crate) fn failed_to_answer(&self, which: Try, destination: &CarrierCallId) -> Option<CarrierCallId> {
        let failed = self.with(which, |handover| {
            (handover.stage == Stage::Rings && handover.is_to(destination)).then(|| {
                handover.stage = Stage::Failed;
                handover.caller.clone()
            })
        });
        failed.flatten()
    }

    /// Handles a caller who has hung up. Returns the leg that still rings, if known.
    pub(crate) fn caller_left(&self, caller: &CarrierCallId) -> Option<CarrierCallId> {
        let mut all = locked(&self.0);
        let handover = all.values_mut().find(|handover| handover.caller == *caller)?;
        handover.let_go()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leg(name: &str) -> CarrierCallId {
        CarrierCallId(name.to_owned())
    }

    fn rung(all: &Handovers, attempt: AttemptId, joining: Joining) -> Try {
        all.begin(attempt, &leg("caller"), joining)
    }

    #[test]
    fn a_caller_is_joined_once_however_often_the_answer_is_told() {
        let (all, attempt) = (Handovers::default(), AttemptId::new());
        let which = rung(&all, attempt, Joining::ByUs);
        assert!(all.rings(which, &leg("desk")));
        assert_eq!(all.answered(which, &leg("desk")), Answered::Join(leg("caller")));
        assert_eq!(all.answered(which, &leg("desk")), Answered::Nothing);
        assert!(all.bridged(which) && all.caller_bridged(attempt));
        // The end of a conversation is not a failure to answer, and the desk's leg is left alone.
        assert_eq!(all.failed_to_answer(which, &leg("desk")), None);
        assert_eq!(all.caller_left(&leg("caller")), None);
        assert_eq!(all.answered(which, &leg("desk")), Answered::Nobody);
    }

    #[test]
    fn what_the_carrier_joins_is_left_to_it() {
        let (all, attempt) = (Handovers::default(), AttemptId::new());
        let which = rung(&all, attempt, Joining::ByCarrier);
        assert_eq!(all.answered(which, &leg("desk")), Answered::Nothing);
        // Answered but not joined yet: a hang-up is still a failure.
        assert_eq!(all.failed_to_answer(which, &leg("desk")), Some(leg("caller")));
        assert_eq!(all.failed_to_answer(which, &leg("desk")), None);
        assert!(!all.bridged(which));
    }

    #[test]
    fn a_late_word_of_an_earlier_try_changes_nothing() {
        let (all, attempt) = (Handovers::default(), AttemptId::new());
        let first = rung(&all, attempt, Joining::ByCarrier);
        assert!(all.failed_to_answer(first, &leg("first")).is_some());
        let second = rung(&all, attempt, Joining::ByUs);
        assert_ne!(first, second);
        assert_eq!(all.failed_to_answer(first, &leg("first")), None);
        assert!(!all.bridged(first) && !all.rings(first, &leg("late")));
        assert_eq!(all.answered(first, &leg("late")), Answered::Nobody);
        assert_eq!(all.answered(second, &leg("desk")), Answered::Join(leg("caller")));
    }

    #[test]
    fn another_leg_at_the_address_of_a_try_is_nobody_s() {
        let (all, attempt) = (Handovers::default(), AttemptId::new());
        let which = rung(&all, attempt, Joining::ByUs);
        assert!(all.rings(which, &leg("desk")) && !all.rings(which, &leg("other")));
        assert_eq!(all.failed_to_answer(which, &leg("other")), None);
        assert_eq!(all.answered(which, &leg("other")), Answered::Nobody);
        assert_eq!(all.answered(which, &leg("desk")), Answered::Join(leg("caller")));
    }

    #[test]
    fn a_dial_whose_answer_is_lost_has_failed_unless_its_leg_tells_of_itself() {
        let (all, attempt) = (Handovers::default(), AttemptId::new());
        let silent = rung(&all, attempt, Joining::ByUs);
        assert!(all.not_dialed(silent) && !all.rings(silent, &leg("late")));
        let told = rung(&all, attempt, Joining::ByUs);
        assert!(all.rings(told, &leg("desk")) && !all.not_dialed(told));
        assert_eq!(all.answered(told, &leg("desk")), Answered::Join(leg("caller")));
    }

    #[test]
    fn the_leg_of_a_try_that_another_one_follows_is_let_go() {
        let (all, attempt) = (Handovers::default(), AttemptId::new());
        assert_eq!(all.abandon(attempt), None);
        let first = rung(&all, attempt, Joining::ByUs);
        assert!(all.rings(first, &leg("first")));
        assert_eq!(all.abandon(attempt), Some(leg("first")));
        assert_eq!(all.answered(first, &leg("first")), Answered::Nobody);
        assert_eq!(all.abandon(attempt), None);
    }

    #[test]
    fn nobody_is_rung_for_a_caller_who_is_gone() {
        let (all, attempt) = (Handovers::default(), AttemptId::new());
        let which = rung(&all, attempt, Joining::ByUs);
        assert!(all.rings(which, &leg("desk")));
        assert_eq!(all.caller_left(&leg("caller")), Some(leg("desk")));
        assert_eq!(all.caller_left(&leg("caller")), None);
        assert_eq!(all.failed_to_answer(which, &leg("desk")), None);
        assert!(!all.rings(which, &leg("desk")) && !all.caller_bridged(attempt));
        assert_eq!(all.answered(which, &leg("desk")), Answered::Nobody);
    }

    #[test]
    fn an_address_names_a_try() {
        let attempt = AttemptId::new();
        let which = Try { attempt, number: 7 };
        assert_eq!(Try::parse(&which.to_string()), Some(which));
        for wrong in [
            format!("{attempt}"),
            format!("{attempt}.x"),
            "x.1".to_owned(),
            String::new(),
        ] {
            assert_eq!(Try::parse(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_so_many_are_remembered() {
        let all = Handovers::default();
        for _ in 0..REMEMBERED + 10 {
            all.begin(AttemptId::new(), &leg("caller"), Joining::ByUs);
        }
        assert_eq!(locked(&all.0).len(), REMEMBERED);
    }
}
