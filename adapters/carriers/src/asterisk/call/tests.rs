//! Tests of a call's state machine, with events in and out of order.

use domain::ports::carrier::{CallProgress, CarrierError, EndCause, TransferKind};
use proptest::prelude::*;

use super::*;
use crate::asterisk::{cause::Gone, names::Part};

fn gone(cause: u64) -> Gone {
    Gone {
        cause,
        words: "words".to_owned(),
        technical: None,
    }
}

fn up() -> CallState {
    let mut state = CallState::new();
    state.on(Happening::Placed);
    state.on(Happening::Entered(Part::Call));
    state.on(Happening::Entered(Part::Media(1)));
    state
}

fn ended(steps: &[Step]) -> Option<&EndCause> {
    steps.iter().find_map(|step| match step {
        Step::Report(CallProgress::Ended(cause)) => Some(cause),
        _ => None,
    })
}

#[test]
fn a_call_is_answered_bridged_and_taken_down() {
    let mut state = CallState::new();
    assert_eq!(state.on(Happening::Placed), []);
    let rings = Happening::Dial(Part::Call, "RINGING".to_owned());
    assert_eq!(state.on(rings.clone()), [Step::Report(CallProgress::Ringing)]);
    assert_eq!(state.on(rings), []);
    let answered = [
        Step::Report(CallProgress::Answered),
        Step::Bridge,
        Step::Join(Part::Call),
        Step::OpenMedia(1),
    ];
    assert_eq!(state.on(Happening::Entered(Part::Call)), answered);
    assert_eq!(state.on(Happening::Entered(Part::Call)), []);
    let media = Happening::Entered(Part::Media(1));
    assert_eq!(state.on(media.clone()), [Step::Join(Part::Media(1))]);
    assert_eq!(state.on(media.clone()), []);
    let over = [
        Step::Report(CallProgress::Ended(EndCause::Completed)),
        Step::HangUp(Part::Media(1)),
        Step::Unbridge,
    ];
    assert_eq!(state.on(Happening::Gone(Part::Call, gone(16))), over);
    assert!(state.is_over());
    assert_eq!(state.on(Happening::Gone(Part::Call, gone(16))), []);
    // A channel that arrives too late is hung up, too.
    assert_eq!(state.on(media), [Step::HangUp(Part::Media(1))]);
}

#[test]
fn a_call_that_is_not_answered_ends_by_its_cause() {
    let mut busy = CallState::new();
    busy.on(Happening::Dial(Part::Call, "BUSY".to_owned()));
    let steps = busy.on(Happening::Gone(Part::Call, gone(17)));
    assert_eq!(steps, [Step::Report(CallProgress::Ended(EndCause::Busy))]);
    let mut ours = CallState::new();
    ours.on(Happening::HangingUp);
    let steps = ours.on(Happening::Gone(Part::Call, gone(16)));
    assert_eq!(ended(&steps), Some(&EndCause::Canceled));
}

#[test]
fn a_blind_transfer_swaps_the_agent_for_ringing_and_ringing_for_the_peer() {
    let mut state = up();
    let n = state.hand_on(TransferKind::Blind).unwrap();
    assert!(state.hand_on(TransferKind::Blind).is_err() && state.may_refer().is_err());
    let swapped = [Step::HangUp(Part::Media(1)), Step::StartRinging(n)];
    assert_eq!(state.on(Happening::PeerPlaced(n)), swapped);
    let joined = [
        Step::StopRinging(n),
        Step::Join(Part::Peer(n)),
        Step::Report(CallProgress::Transferred),
    ];
    assert_eq!(state.on(Happening::Entered(Part::Peer(n))), joined);
    // A media channel that was on its way is not wanted any more.
    assert_eq!(
        state.on(Happening::Entered(Part::Media(1))),
        [Step::HangUp(Part::Media(1))]
    );
    assert_eq!(state.on(Happening::MediaWanted), []);
    assert_eq!(
        state.on(Happening::Gone(Part::Peer(n), gone(16))),
        [Step::HangUp(Part::Call)]
    );
}

#[test]
fn a_peer_that_answers_before_its_dial_is_known_takes_the_call_too() {
    let mut state = up();
    let n = state.hand_on(TransferKind::Blind).unwrap();
    let steps = state.on(Happening::Entered(Part::Peer(n)));
    assert!(steps.contains(&Step::HangUp(Part::Media(1))) && steps.contains(&Step::Join(Part::Peer(n))));
    assert_eq!(state.on(Happening::PeerPlaced(n)), []);
}

#[test]
fn a_transfer_that_fails_brings_the_agent_back_and_may_be_tried_again() {
    let mut state = up();
    let n = state.hand_on(TransferKind::Blind).unwrap();
    state.on(Happening::PeerPlaced(n));
    let back = [
        Step::StopRinging(n),
        Step::OpenMedia(2),
        Step::Report(CallProgress::TransferFailed("words, cause 17".to_owned())),
    ];
    assert_eq!(state.on(Happening::Gone(Part::Peer(n), gone(17))), back);
    let n = state.hand_on(TransferKind::Conference).unwrap();
    assert_eq!((n, state.on(Happening::PeerPlaced(n))), (2, vec![]));
    let failed = state.on(Happening::Gone(Part::Peer(n), gone(17)));
    assert!(
        matches!(&*failed, [Step::Report(CallProgress::TransferFailed(_))]),
        "{failed:?}"
    );
    let n = state.hand_on(TransferKind::Blind).unwrap();
    assert_eq!(state.on(Happening::PeerRefused(n)), [Step::HangUp(Part::Peer(n))]);
    assert!(state.hand_on(TransferKind::Conference).is_ok());
}

#[test]
fn a_peer_that_is_here_stays_though_the_answer_to_its_dial_was_lost() {
    let mut state = up();
    let n = state.hand_on(TransferKind::Blind).unwrap();
    state.on(Happening::Entered(Part::Peer(n)));
    assert_eq!(state.on(Happening::PeerRefused(n)), []);
    assert!(
        state
            .on(Happening::Gone(Part::Call, gone(16)))
            .contains(&Step::HangUp(Part::Peer(n)))
    );
}

#[test]
fn a_call_that_ends_while_its_peer_rings_takes_the_peer_along() {
    let mut state = up();
    let n = state.hand_on(TransferKind::Conference).unwrap();
    state.on(Happening::PeerPlaced(n));
    let steps = state.on(Happening::Gone(Part::Call, gone(16)));
    assert!(steps.contains(&Step::HangUp(Part::Peer(n))) && steps.contains(&Step::HangUp(Part::Media(1))));
}

#[test]
fn a_refer_that_comes_to_nothing_leaves_the_caller_with_the_agent() {
    let mut state = up();
    assert_eq!(
        (state.may_refer(), CallState::new().may_refer()),
        (Ok(()), Err(CarrierError::NotFound))
    );
    state.on(Happening::Referred);
    assert!(state.hand_on(TransferKind::Blind).is_err() && state.may_refer().is_err());
    assert_eq!(state.waits_for(), Some(Wait::Refer));
    let failed = |steps: &[Step]| matches!(steps, [.., Step::Report(CallProgress::TransferFailed(_))]);
    let in_vain = state.on(Happening::InVain(Wait::Refer));
    assert!(
        failed(&in_vain) && in_vain.len() == 1,
        "the agent is still there: {in_vain:?}"
    );
    assert_eq!((state.waits_for(), state.may_refer()), (None, Ok(())));
    // Audio that was lost meanwhile is opened again.
    state.on(Happening::Referred);
    assert_eq!(state.on(Happening::Gone(Part::Media(1), gone(16))), []);
    let in_vain = state.on(Happening::InVain(Wait::Refer));
    assert!(failed(&in_vain) && in_vain[0] == Step::OpenMedia(2), "{in_vain:?}");
    assert_eq!(state.on(Happening::InVain(Wait::Refer)), []);
    // A REFER that is accepted ends the call.
    state.on(Happening::Referred);
    assert_eq!(
        ended(&state.on(Happening::Gone(Part::Call, gone(16)))),
        Some(&EndCause::Completed)
    );
}

#[test]
fn a_caller_who_hears_nobody_is_hung_up_in_the_end() {
    let mut state = up();
    assert_eq!(state.waits_for(), None);
    assert_eq!(state.on(Happening::InVain(Wait::SharedLimits)), []);
    assert_eq!(state.on(Happening::Gone(Part::Media(1), gone(16))), []);
    // Again and again, as long as the caller is there.
    for _ in 0..2 {
        assert_eq!(state.waits_for(), Some(Wait::SharedLimits));
        assert_eq!(
            state.on(Happening::InVain(Wait::SharedLimits)),
            [Step::HangUp(Part::Call)]
        );
    }
    let mut left = CallState::handed_on(1);
    assert_eq!(left.waits_for(), None);
    left.on(Happening::Gone(Part::Peer(1), gone(16)));
    assert_eq!(left.waits_for(), Some(Wait::SharedLimits));
}

#[test]
fn a_peer_of_whom_nothing_is_heard_is_given_up() {
    let mut state = up();
    let n = state.hand_on(TransferKind::Blind).unwrap();
    state.on(Happening::PeerPlaced(n));
    assert_eq!(state.waits_for(), Some(Wait::Peer));
    let steps = state.on(Happening::InVain(Wait::Peer));
    assert_eq!(steps[..2], [Step::HangUp(Part::Peer(n)), Step::StopRinging(n)]);
    assert!(steps.contains(&Step::OpenMedia(2)), "{steps:?}");
    assert!(matches!(
        steps.last(),
        Some(Step::Report(CallProgress::TransferFailed(_)))
    ));
}

#[test]
fn a_dial_of_which_nothing_is_heard_is_forgotten() {
    let mut state = CallState::new();
    assert_eq!(state.waits_for(), Some(Wait::Dial));
    assert_eq!(state.on(Happening::InVain(Wait::Dial)), []);
    assert!(state.is_over());
    let mut placed = CallState::new();
    placed.on(Happening::Placed);
    assert_eq!(
        (placed.waits_for(), placed.on(Happening::InVain(Wait::Dial))),
        (None, vec![])
    );
}

#[test]
fn what_was_missed_is_made_up_for() {
    let listed = |channels: &[(Part, bool)]| {
        Happening::Listed(Listed {
            channels: channels.to_vec(),
        })
    };
    // A dial on its way does not count as an end.
    assert_eq!(CallState::new().on(listed(&[])), []);
    let mut dialed = CallState::new();
    dialed.on(Happening::Placed);
    assert_eq!(dialed.on(listed(&[(Part::Call, false)])), []);
    assert!(dialed.on(listed(&[(Part::Call, true)])).contains(&Step::OpenMedia(1)));
    assert_eq!(
        dialed.on(listed(&[(Part::Call, true), (Part::Media(1), true)])),
        [Step::Join(Part::Media(1))]
    );
    assert_eq!(ended(&dialed.on(listed(&[]))), Some(&EndCause::Completed));
    let mut unanswered = CallState::new();
    unanswered.on(Happening::Placed);
    assert!(matches!(ended(&unanswered.on(listed(&[]))), Some(EndCause::Failed(_))));
    let mut handed = up();
    let n = handed.hand_on(TransferKind::Blind).unwrap();
    handed.on(Happening::PeerPlaced(n));
    let steps = handed.on(listed(&[(Part::Call, true), (Part::Peer(n), true)]));
    assert!(steps.contains(&Step::Report(CallProgress::Transferred)), "{steps:?}");
    let mut old = CallState::handed_on(3);
    assert_eq!(old.on(listed(&[(Part::Call, true)])), [Step::HangUp(Part::Call)]);
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        Just(Part::Call),
        (1..4_u32).prop_map(Part::Media),
        (1..4_u32).prop_map(Part::Peer)
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        Just(Happening::Placed),
        Just(Happening::HangingUp),
        Just(Happening::MediaWanted),
        Just(Happening::Referred),
        (1..4_u32).prop_map(Happening::PeerPlaced),
        (1..4_u32).prop_map(Happening::PeerRefused),
        (part(), prop::sample::select(vec!["", "RINGING", "ANSWER", "BUSY"]))
            .prop_map(|(part, status)| Happening::Dial(part, status.to_owned())),
        part().prop_map(Happening::Entered),
        (part(), 0..40_u64).prop_map(|(part, cause)| Happening::Gone(part, gone(cause))),
        prop::sample::select(vec![Wait::Peer, Wait::Refer, Wait::SharedLimits]).prop_map(Happening::InVain),
        proptest::collection::vec((part(), any::<bool>()), 0..5)
            .prop_map(|channels| Happening::Listed(Listed { channels })),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_a_call_is_answered_once_ends_once_and_leaves_no_channel(
        happenings in proptest::collection::vec((happening(), any::<bool>()), 0..40),
    ) {
        let mut state = CallState::new();
        let (mut answered, mut over, mut joined) = (0, 0, Vec::new());
        for (happening, hand_on) in happenings {
            if hand_on {
                let _ = state.hand_on(TransferKind::Blind);
            }
            match &happening {
                Happening::Gone(part, _) => joined.retain(|inside| inside != part),
                Happening::Listed(listed) => {
                    joined.retain(|inside| listed.channels.iter().any(|(part, _)| part == inside));
                }
                _ => {}
            }
            for step in state.on(happening) {
                match step {
                    Step::Report(CallProgress::Answered) => answered += 1,
                    Step::Report(CallProgress::Ended(_)) => over += 1,
                    Step::Join(part) => joined.push(part),
                    Step::HangUp(part) => joined.retain(|inside| *inside != part),
                    _ => {}
                }
            }
        }
        prop_assert!(answered <= 1 && over <= 1);
        prop_assert_eq!(over == 1, state.is_over());
        if state.is_over() {
            joined.retain(|part| *part != Part::Call);
            prop_assert_eq!(joined, vec![]);
        }
    }
}
