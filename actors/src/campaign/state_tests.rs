//! Checks every (state, event) pair of a campaign against a table, and sequences of events.

use proptest::prelude::*;

use super::*;

const PAUSED: State = State::Paused { resumes: false };
const RESTING: State = State::Paused { resumes: true };
const STATES: [State; 9] = [
    State::Draft,
    State::Waiting,
    State::Running,
    State::Delayed,
    PAUSED,
    RESTING,
    State::Stopped,
    State::Completed,
    State::Failed,
];
const EVENTS: [Event; 15] = [
    Event::Launch,
    Event::Schedule,
    Event::Unschedule { dialed: false },
    Event::Unschedule { dialed: true },
    Event::Pause,
    Event::Stop,
    Event::ContactsReplaced,
    Event::TimeCame,
    Event::WindowClosed,
    Event::WindowOpened,
    Event::OnlyLater,
    Event::NothingLeft,
    Event::Obstacle,
    Event::ObstacleGone,
    Event::CannotGoOn,
];

/// Allowed transitions. A pair that is not listed is refused.
#[rustfmt::skip]
const TABLE: &[(State, Event, State)] = &[
    (State::Draft, Event::Launch, State::Running),
    (State::Draft, Event::Schedule, State::Waiting),
    (State::Draft, Event::ContactsReplaced, State::Draft),
    (State::Waiting, Event::Launch, State::Running),
    (State::Waiting, Event::TimeCame, State::Running),
    (State::Waiting, Event::Schedule, State::Waiting),
    (State::Waiting, Event::ContactsReplaced, State::Waiting),
    (State::Waiting, Event::Unschedule { dialed: false }, State::Draft),
    (State::Waiting, Event::Unschedule { dialed: true }, State::Stopped),
    (State::Waiting, Event::Pause, PAUSED),
    (State::Waiting, Event::Stop, State::Stopped),
    (State::Running, Event::Pause, PAUSED),
    (State::Running, Event::Stop, State::Stopped),
    (State::Running, Event::WindowClosed, RESTING),
    (State::Running, Event::OnlyLater, State::Waiting),
    (State::Running, Event::NothingLeft, State::Completed),
    (State::Running, Event::Obstacle, State::Delayed),
    (State::Running, Event::CannotGoOn, State::Failed),
    (State::Delayed, Event::Pause, PAUSED),
    (State::Delayed, Event::Stop, State::Stopped),
    (State::Delayed, Event::WindowClosed, RESTING),
    (State::Delayed, Event::ObstacleGone, State::Running),
    (State::Delayed, Event::CannotGoOn, State::Failed),
    (PAUSED, Event::Launch, State::Running),
    (PAUSED, Event::Schedule, State::Waiting),
    (PAUSED, Event::Stop, State::Stopped),
    (PAUSED, Event::ContactsReplaced, PAUSED),
    (PAUSED, Event::Unschedule { dialed: false }, State::Draft),
    (PAUSED, Event::Unschedule { dialed: true }, State::Stopped),
    (RESTING, Event::Launch, State::Running),
    (RESTING, Event::Schedule, State::Waiting),
    (RESTING, Event::Stop, State::Stopped),
    (RESTING, Event::ContactsReplaced, RESTING),
    (RESTING, Event::Unschedule { dialed: false }, State::Draft),
    (RESTING, Event::Unschedule { dialed: true }, State::Stopped),
    (RESTING, Event::Pause, PAUSED),
    (RESTING, Event::WindowOpened, State::Running),
    (State::Stopped, Event::Launch, State::Running),
    (State::Stopped, Event::Schedule, State::Waiting),
    (State::Stopped, Event::ContactsReplaced, State::Stopped),
    (State::Failed, Event::Launch, State::Running),
    (State::Failed, Event::Schedule, State::Waiting),
    (State::Failed, Event::ContactsReplaced, State::Failed),
    (State::Completed, Event::ContactsReplaced, State::Draft),
];

#[test]
fn every_pair_of_state_and_event_leads_where_the_contract_says() {
    for state in STATES {
        for event in EVENTS {
            let expected = TABLE
                .iter()
                .find(|(s, e, _)| (*s, *e) == (state, event))
                .map(|row| row.2);
            let got = state.apply(event);
            match expected {
                Some(next) => assert_eq!(got.map(|(s, _)| s), Ok(next), "{state:?} {event:?}"),
                None => assert_eq!(got, Err(InvalidTransition(state)), "{state:?} {event:?}"),
            }
        }
    }
}

#[test]
fn only_a_stop_cancels_what_waits() {
    for (state, event, _) in TABLE {
        let (_, effects) = state.apply(*event).unwrap();
        assert_eq!(
            effects.contains(&Effect::CancelWaiting),
            *event == Event::Stop,
            "{state:?} {event:?}"
        );
    }
}

#[test]
fn a_refusal_names_the_present_state() {
    assert_eq!(
        State::Completed.apply(Event::Pause).unwrap_err().to_string(),
        "campaign is completed"
    );
}

proptest! {
    /// From any state, after any events, the user can bring the campaign to rest with one stop, and nothing panics.
    #[test]
    fn any_sequence_can_be_brought_to_rest(start in 0..STATES.len(), events in prop::collection::vec(0..EVENTS.len(), 0..40)) {
        let mut state = STATES[start];
        for event in events {
            if let Ok((next, _)) = state.apply(EVENTS[event]) {
                state = next;
            }
        }
        let end = state.apply(Event::Stop).map_or(state, |(next, _)| next);
        prop_assert!(!end.active());
        prop_assert!(end.apply(Event::Stop).is_err());
    }
}
