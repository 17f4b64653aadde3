//! The destinations that are rung while their callers still talk with the agent, so that each caller is joined once and
//! nobody is rung for a caller who is gone.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use actors::{
    id::AttemptId,
    ports::carrier::{CarrierCallId, CarrierError, DialError, EndCause},
};

/// Attempts that are remembered; the oldest one makes room.
const REMEMBERED: usize = 4_096;

/// One that is to come about.
#[derive(Debug, Clone)]
struct Conference {
    caller: CarrierCallId,
    /// The destination's leg, once it is known.
    destination: Option<CarrierCallId>,
    joined: bool,
}

/// What is to be done about a destination that answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// Join its caller with it.
    Join(CarrierCallId),
    /// It was told twice.
    Already,
    /// Nobody waits for it any more.
    Nobody,
}

/// All of a node. Ids of attempts are in the order of time.
#[derive(Debug, Default)]
pub(super) struct Conferences(Mutex<BTreeMap<AttemptId, Conference>>);

impl Conferences {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<AttemptId, Conference>> {
        // No panic leaves the map half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A destination is about to be rung for this caller.
    pub(super) fn begin(&self, attempt: AttemptId, caller: &CarrierCallId) {
        let mut all = self.lock();
        while all.len() >= REMEMBERED {
            all.pop_first();
        }
        let conference = Conference {
            caller: caller.clone(),
            destination: None,
            joined: false,
        };
        all.insert(attempt, conference);
    }

    /// The destination's leg has a name; false when nobody waits for it any more.
    pub(super) fn rings(&self, attempt: AttemptId, destination: &CarrierCallId) -> bool {
        let mut all = self.lock();
        let Some(conference) = all.get_mut(&attempt) else {
            return false;
        };
        conference.destination.get_or_insert_with(|| destination.clone());
        true
    }

    /// A destination answers.
    pub(super) fn answered(&self, attempt: AttemptId, destination: &CarrierCallId) -> Answered {
        let mut all = self.lock();
        let Some(conference) = all.get_mut(&attempt) else {
            return Answered::Nobody;
        };
        if std::mem::replace(&mut conference.joined, true) {
            return Answered::Already;
        }
        conference.destination = Some(destination.clone());
        Answered::Join(conference.caller.clone())
    }

    /// A destination did not answer, or could not be joined: whether somebody waited for that.
    pub(super) fn failed(&self, attempt: AttemptId) -> bool {
        self.lock().remove(&attempt).is_some()
    }

    /// Whether a destination rings that nobody has answered yet; it has failed from then on.
    pub(super) fn failed_to_answer(&self, attempt: AttemptId) -> bool {
        let mut all = self.lock();
        let rings = all.get(&attempt).is_some_and(|conference| !conference.joined);
        if rings {
            all.remove(&attempt);
        }
        rings
    }

    /// A caller is gone: the leg that rings for nobody now, if it is known.
    pub(super) fn caller_left(&self, caller: &CarrierCallId) -> Option<CarrierCallId> {
        let mut all = self.lock();
        let (attempt, _) = all.iter().find(|(_, conference)| conference.caller == *caller)?;
        let attempt = *attempt;
        let conference = all.remove(&attempt)?;
        conference.destination.filter(|_| !conference.joined)
    }
}

/// What a dial that failed means for a wish of which it was a part.
pub(super) fn of_destination(error: DialError) -> CarrierError {
    match error {
        DialError::InvalidNumber(words) | DialError::Rejected(words) | DialError::AccountRefused(words) => {
            CarrierError::Refused(words)
        }
        DialError::Busy { .. } => CarrierError::Unavailable("too many requests".to_owned()),
        DialError::Unreachable(words) | DialError::Unknown(words) => CarrierError::Unavailable(words),
    }
}

/// Why nobody answered at a destination.
pub(super) fn words(cause: &EndCause) -> String {
    match cause {
        EndCause::Completed => "it was hung up",
        EndCause::Busy => "it is busy",
        EndCause::NoAnswer => "nobody answered",
        EndCause::Rejected => "it was declined",
        EndCause::InvalidNumber => "there is no such number",
        EndCause::Canceled => "it was canceled",
        EndCause::Failed(words) => words,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leg(name: &str) -> CarrierCallId {
        CarrierCallId(name.to_owned())
    }

    #[test]
    fn a_caller_is_joined_once_however_often_the_answer_is_told() {
        let (all, attempt) = (Conferences::default(), AttemptId::new());
        all.begin(attempt, &leg("caller"));
        assert!(all.rings(attempt, &leg("desk")));
        assert_eq!(all.answered(attempt, &leg("desk")), Answered::Join(leg("caller")));
        assert_eq!(all.answered(attempt, &leg("desk")), Answered::Already);
        // The end of a talk is no failure to answer, and the desk is left alone.
        assert!(!all.failed_to_answer(attempt));
        assert_eq!(all.caller_left(&leg("caller")), None);
        assert_eq!(all.answered(attempt, &leg("desk")), Answered::Nobody);
    }

    #[test]
    fn nobody_is_rung_for_a_caller_who_is_gone() {
        let (all, attempt) = (Conferences::default(), AttemptId::new());
        all.begin(attempt, &leg("caller"));
        assert!(all.rings(attempt, &leg("desk")));
        assert_eq!(all.caller_left(&leg("caller")), Some(leg("desk")));
        assert_eq!(all.caller_left(&leg("caller")), None);
        assert!(!all.rings(attempt, &leg("desk")) && !all.failed_to_answer(attempt) && !all.failed(attempt));
        assert_eq!(all.answered(attempt, &leg("desk")), Answered::Nobody);
    }

    #[test]
    fn only_so_many_are_remembered() {
        let all = Conferences::default();
        for _ in 0..REMEMBERED + 10 {
            all.begin(AttemptId::new(), &leg("caller"));
        }
        assert_eq!(all.lock().len(), REMEMBERED);
    }
}
