//! Inbound calls: they wait only for their media, greet at once, and are never retried.

use super::*;

fn from_outside() -> State {
    let (state, effects) = State::inbound(rules(), id(1));
    assert_eq!(effects.last(), Some(&Effect::SetTimer(CallTimer::MediaWait, 30_000)));
    assert!(!effects.contains(&Effect::AskPermit));
    state
}

fn on_the_line() -> (State, Vec<Effect>) {
    from_outside().apply(Event::MediaOpened, 400)
}

fn failed(error: &str) -> Vec<Ending> {
    vec![Ending::Outcome(
        EndReason::Failed(error.into()).outcome(false, Default::default()),
    )]
}

#[test]
fn it_greets_as_soon_as_its_media_is_open_and_may_be_interrupted_at_once() {
    let (state, effects) = on_the_line();
    assert_eq!(state.phase(), CallPhase::Greeting);
    assert!(effects.contains(&Effect::WriteAnswered) && effects.contains(&Effect::AllowBargeIn(true)));
    let says = |effect: &Effect| matches!(effect, Effect::Say(Say { text, last: true, protected: false, .. }) if text == "Hello.");
    assert!(effects.iter().any(says), "{effects:?}");
    let pick_up = |effect: &Effect| matches!(effect, Effect::SetTimer(CallTimer::PickUp | CallTimer::BargeIn, _));
    assert!(!effects.iter().any(pick_up), "{effects:?}");
}

#[test]
fn a_key_stops_the_greeting_from_its_first_moment() {
    let (state, _) = on_the_line();
    let (_, effects) = state.apply(Event::Stream(StreamEvent::Digit('1')), 600);
    assert!(effects.contains(&Effect::StopSpeaking), "{effects:?}");
}

#[test]
fn without_a_greeting_it_listens() {
    let silent = Rules {
        greeting: None,
        ..rules()
    };
    let (state, effects) = State::inbound(silent, id(1)).0.apply(Event::MediaOpened, 0);
    assert_eq!(state.phase(), CallPhase::Listening);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Say(_))));
}

#[test]
fn words_over_the_first_moments_of_the_greeting_are_answered() {
    let (state, _) = on_the_line();
    let early = Event::Stream(StreamEvent::Session(SessionEvent::UtteranceEnded(Utterance {
        text: "I want to cancel.".into(),
        damaged: false,
        started_ms: 200,
        ended_ms: 900,
        final_ms: None,
    })));
    let (state, _) = state.apply(early, 1_000);
    let (state, effects) = state.apply(ended(0), 2_000);
    assert_eq!(state.phase(), CallPhase::Thinking);
    assert!(effects.contains(&Effect::StartReply));
}

#[test]
fn what_ends_it_before_its_media_says_why() {
    let over = |cause| Event::Progress(CallProgress::Ended(cause));
    for (event, error) in [
        (over(EndCause::Completed), "media-lost"),
        (over(EndCause::Canceled), "no-answer"),
        (over(EndCause::NoAnswer), "no-answer"),
        (over(EndCause::Failed("congestion".into())), "carrier-error: congestion"),
        (Event::Timer(CallTimer::MediaWait), "media-lost"),
    ] {
        let hangs_up = matches!(event, Event::Timer(_));
        let (state, effects) = from_outside().apply(event.clone(), 30_000);
        assert_eq!(finishes(&effects), failed(error), "{event:?}");
        assert_eq!(state.phase(), CallPhase::Ended);
        let hung_up = effects.contains(&Effect::HangUpLeg(Some(id(1))));
        assert_eq!(hung_up, hangs_up, "{event:?}");
        assert!(!effects.contains(&Effect::WriteAnswered));
    }
}

#[test]
fn an_answer_that_the_carrier_reports_is_none_before_its_media() {
    let (state, effects) = from_outside().apply(Event::Progress(CallProgress::Answered), 100);
    assert_eq!((state.phase(), effects), (CallPhase::Ringing, vec![]));
    assert!(state.lacks_media());
}

#[test]
fn it_is_no_machine_whatever_it_sounds_like() {
    for (verdict, reason) in [
        (Verdict::Voicemail, Reason::MachineWords),
        (Verdict::Ivr, Reason::Menu),
        (Verdict::Ivr, Reason::Screening),
        (Verdict::Unavailable, Reason::MailboxFull),
    ] {
        let (state, effects) = on_the_line().0.apply(found(verdict, reason), 2_500);
        assert_eq!((state.phase(), effects), (CallPhase::Greeting, vec![]), "{verdict:?}");
    }
}

#[test]
fn a_caller_who_wants_to_be_called_is_promised_nothing() {
    let (state, _) = on_the_line();
    let (state, _) = state.apply(ended(0), 2_000);
    let (state, _) = state.apply(said("Call me tomorrow."), 3_000);
    let later = Event::Reply(Some(Ok(ReplyEvent::Tool {
        name: "callLater".into(),
        arguments: json!({ "at": "in ten minutes" }),
        echo: None,
    })));
    let (_, effects) = state.apply(later, 3_100);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::PlanCallBack(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_sequence_of_events_ends_once_and_dials_nobody(events in prop::collection::vec(any_event(), 0..80)) {
        let (mut state, mut all) = State::inbound(rules(), id(1));
        for (n, event) in events.into_iter().chain(the_end()).enumerate() {
            let over = state.phase() == CallPhase::Ended;
            let (next, effects) = state.apply(event.clone(), n as u64 * 100);
            state = next;
            prop_assert!(!over || effects.iter().all(is_cleanup), "{event:?} after the end: {effects:?}");
            all.extend(effects);
        }
        prop_assert_eq!(state.phase(), CallPhase::Ended);
        prop_assert_eq!(finishes(&all).len(), 1);
        let outcome = matches!(finishes(&all)[0], Ending::Outcome(_));
        prop_assert!(outcome, "it has an outcome, and is never queued");
        let dials = |effect: &&Effect| matches!(effect, Effect::Dial | Effect::AskPermit | Effect::WriteUnknown);
        prop_assert!(all.iter().find(dials).is_none());
        // One stream for the first socket, one for each transfer, and three for lost sockets.
        let opened = all.iter().filter(|effect| **effect == Effect::OpenStream).count();
        let transfers = all.iter().filter(|effect| matches!(effect, Effect::Transfer { .. })).count();
        prop_assert!(opened <= 1 + transfers + 3, "{} {}", opened, transfers);
    }
}
