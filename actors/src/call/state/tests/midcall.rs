//! Events in the middle of a call: keys in and out, transfers, media lost and found, the carrier's own verdict.

use super::*;
use domain::ports::carrier::{CarrierAbilities, Destination, TransferKind};

pub(super) fn key(key: char) -> Event {
    Event::Stream(StreamEvent::Digit(key))
}

/// Applies events in order, and returns all their effects.
pub(super) fn run(mut state: State, events: impl IntoIterator<Item = (Event, u64)>) -> (State, Vec<Effect>) {
    let mut all = Vec::new();
    for (event, now_ms) in events {
        let (next, effects) = state.apply(event, now_ms);
        state = next;
        all.extend(effects);
    }
    (state, all)
}

pub(super) fn spoken(effects: &[Effect]) -> Vec<&str> {
    let texts = effects.iter().filter_map(|effect| match effect {
        Effect::Say(Say { text, .. }) if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

pub(super) fn outcomes(effects: &[Effect]) -> Vec<(&'static str, Option<String>, bool)> {
    let endings = finishes(effects).into_iter().filter_map(|ending| match ending {
        Ending::Outcome(outcome) => Some((outcome.status.as_str(), outcome.error, outcome.transferred)),
        _ => None,
    });
    endings.collect()
}

pub(super) fn hangs_up(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::HangUpLeg(_)))
}

pub(super) const CLOSED: Event = Event::Stream(StreamEvent::MediaClosed { clean: false });
pub(super) const BYE: Event = Event::Stream(StreamEvent::MediaClosed { clean: true });

// Incoming keys.

#[test]
fn keys_become_the_users_words_at_a_hash_or_after_a_pause() {
    let typed = [(key('4'), 2_000), (key('2'), 2_400)];
    let (state, effects) = run(at(CallPhase::Listening), typed.clone());
    assert_eq!(state.phase(), CallPhase::Listening);
    assert!(effects.contains(&Effect::SetTimer(CallTimer::Keys, 2_000)) && turns(&effects).is_empty());
    for (end, now_ms) in [(key('#'), 2_600), (Event::Timer(CallTimer::Keys), 4_400)] {
        let (state, effects) = run(state.clone(), [(end, now_ms)]);
        assert_eq!(turns(&effects), ["42"]);
        assert_eq!(state.phase(), CallPhase::Thinking);
    }
    let (_, effects) = run(at(CallPhase::Listening), [(key('#'), 2_000)]);
    assert_eq!(turns(&effects), ["#"], "alone it is a word, too");
    let (_, effects) = run(at(CallPhase::Listening), (0..200).map(|n| (key('1'), 2_000 + n)));
    assert_eq!(turns(&effects), [&*"1".repeat(64); 3]);
}

#[test]
fn a_key_stops_the_agent_at_once_where_its_voice_may_be_stopped() {
    let allowed = (Event::Timer(CallTimer::BargeIn), 1_600);
    let (state, effects) = run(
        at(CallPhase::Speaking),
        [allowed.clone(), (key('5'), 2_000), (key('6'), 2_100)],
    );
    let stops = effects.iter().filter(|effect| **effect == Effect::StopSpeaking).count();
    assert_eq!((stops, state.phase()), (1, CallPhase::Speaking));
    let (state, effects) = run(state, [(ended(1), 2_110)]);
    assert_eq!(state.phase(), CallPhase::Listening);
    assert!(effects.contains(&Effect::CancelReply));
    let interrupted = effects
        .iter()
        .any(|effect| matches!(effect, Effect::Record(Fact::Turn(turn)) if turn.interrupted));
    assert!(interrupted, "{effects:?}");
    let (state, effects) = run(state, [(Event::Timer(CallTimer::Keys), 4_100)]);
    assert_eq!((turns(&effects), state.phase()), (vec!["56"], CallPhase::Thinking));
    // Before barge-in is allowed, nothing stops.
    let (_, effects) = run(at(CallPhase::Speaking), [(key('5'), 2_000)]);
    assert!(!effects.contains(&Effect::StopSpeaking));
}

#[test]
fn keys_over_a_protected_speech_follow_it_and_are_answered() {
    let mut state = at(CallPhase::Listening);
    state.rules.end_call_protected = true;
    let goodbye = [
        (said("Bye."), 2_000),
        (text("Goodbye, then. "), 2_100),
        (tool("endCall", json!({})), 2_110),
        (text("Have a nice day. "), 2_120),
        (Event::Timer(CallTimer::BargeIn), 2_130),
    ];
    let (state, _) = run(state, goodbye);
    let (state, effects) = run(state, [(key('7'), 2_500), (key('#'), 2_600)]);
    assert!(!effects.contains(&Effect::StopSpeaking) && state.phase() == CallPhase::Speaking);
    let (_, effects) = run(state, [(Event::Reply(None), 2_700), (ended(1), 4_000)]);
    assert_eq!(turns(&effects), ["Hello.", "7"]);
}

#[test]
fn keys_that_were_typed_are_kept_when_the_call_ends() {
    let (_, effects) = run(at(CallPhase::Listening), [(key('9'), 2_000), (BYE, 2_500)]);
    assert_eq!(turns(&effects), ["9"]);
    assert_eq!(finishes(&effects).len(), 1);
}

// Outgoing keys.

pub(super) fn menu() -> State {
    at(CallPhase::Answered)
        .apply(found(Verdict::Ivr, Reason::Menu), 3_000)
        .0
}

pub(super) fn utterance(text: &str, started_ms: u64, ended_ms: u64) -> Event {
    Event::Stream(StreamEvent::Session(SessionEvent::UtteranceEnded(Utterance {
        text: text.into(),
        damaged: false,
        started_ms,
        ended_ms,
        final_ms: None,
    })))
}

pub(super) fn pressed(effects: &[Effect]) -> Vec<&str> {
    let keys = effects.iter().filter_map(|effect| match effect {
        Effect::Press(keys) => Some(keys.as_str()),
        _ => None,
    });
    keys.collect()
}

#[test]
fn the_key_to_a_person_is_pressed_twice_at_most_and_the_person_greeted() {
    let asks = "For sales, press 1. To speak to somebody, press 0.";
    let (state, effects) = run(
        menu(),
        [
            (utterance("Welcome to Northwind.", 0, 2_000), 3_100),
            (utterance(asks, 2_200, 6_000), 7_000),
        ],
    );
    assert_eq!(pressed(&effects), ["0"]);
    assert_eq!(state.phase(), CallPhase::Voicemail);
    let again = utterance("For an operator, press 9.", 7_500, 9_000);
    let third = utterance("For an operator, press 8.", 12_500, 14_000);
    let (state, effects) = run(state, [(again, 10_000), (third, 15_000)]);
    assert_eq!(pressed(&effects), ["9"]);
    let waits = utterance("Please hold the line. Connecting you.", 16_000, 18_000);
    let (state, effects) = run(state, [(waits, 18_500), (found(Verdict::Ivr, Reason::Menu), 18_600)]);
    assert!(spoken(&effects).is_empty());
    let person = utterance("Northwind, Dana speaking.", 20_000, 21_000);
    let (state, effects) = run(state, [(person, 21_500)]);
    assert_eq!((spoken(&effects), state.phase()), (vec!["Hello."], CallPhase::Greeting));
}

#[test]
fn a_menu_that_does_not_pause_is_answered_once_its_words_have_settled() {
    let interim = |text: &str| Event::Stream(StreamEvent::Session(SessionEvent::Interim { text: text.into() }));
    let (state, effects) = run(menu(), [(interim("for reception press 0"), 5_000)]);
    assert!(pressed(&effects).is_empty());
    let (_, effects) = run(state, [(interim("for reception press 0 our opening hours"), 6_000)]);
    assert_eq!(pressed(&effects), ["0"]);
}

#[test]
fn a_menu_without_such_a_key_is_left_after_its_time() {
    let (state, effects) = run(menu(), [(utterance("For sales, press 1.", 0, 2_000), 3_100)]);
    assert!(pressed(&effects).is_empty());
    let (_, effects) = run(state, [(Event::Timer(CallTimer::Machine), 23_000)]);
    assert!(hangs_up(&effects));
}

#[test]
fn nobody_who_comes_is_waited_for_no_longer_than_a_minute() {
    let (state, effects) = run(menu(), [(utterance("For reception, press 0.", 0, 2_000), 3_100)]);
    assert!(effects.contains(&Effect::SetTimer(CallTimer::Machine, 60_000)));
    assert!(effects.contains(&Effect::SetTimer(CallTimer::Quiet, 10_000)));
    assert_eq!(
        state.clone().apply(Event::Timer(CallTimer::Quiet), 13_000).0.phase(),
        CallPhase::Greeting
    );
    let (_, effects) = run(state, [(Event::Timer(CallTimer::Machine), 63_000)]);
    assert!(hangs_up(&effects));
}

// Transfers.

pub(super) fn wants(number: &str, message: &str) -> Event {
    tool(
        "transferToNumber",
        json!({ "transfer_number": number, "message": message }),
    )
}

pub(super) const TO: &str = "+15550100001";

pub(super) fn asked(answer: Result<(), &str>) -> Event {
    let answer = match answer {
        Ok(()) => TransferAnswer::Taken,
        Err(why) => TransferAnswer::Refused(why.to_owned()),
    };
    Event::TransferAsked { try_no: 1, answer }
}

#[test]
fn a_transfer_is_announced_heard_and_only_then_asked_for() {
    let (state, effects) = run(
        at(CallPhase::Thinking),
        [(wants(TO, ""), 2_000), (Event::Reply(None), 2_010)],
    );
    assert_eq!(spoken(&effects), ["One moment, I'll put you through."]);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Transfer { .. })));
    let (state, effects) = run(state, [(ended(1), 4_000)]);
    let to = Destination::Phone(domain::phone_number::PhoneNumber::parse(TO).unwrap());
    assert!(effects.contains(&Effect::Transfer {
        try_no: 1,
        kind: TransferKind::Blind,
        to
    }));
    assert_eq!(state.phase(), CallPhase::Transferring);

    let said = [(wants(TO, "I'll get Dana."), 2_000), (Event::Reply(None), 2_010)];
    let (_, effects) = run(at(CallPhase::Thinking), said);
    assert_eq!(spoken(&effects), ["I'll get Dana."]);
    let said = [(wants(TO, ""), 2_000), (Event::Reply(None), 2_010)];
    let (_, effects) = run(at(CallPhase::Speaking), said);
    assert!(spoken(&effects).is_empty(), "it was said already: {effects:?}");
}

#[test]
fn nothing_but_what_is_configured_is_reached() {
    for number in ["+15550100009", "", "sip:other@pbx.example"] {
        let (state, effects) = run(
            at(CallPhase::Thinking),
            [(wants(number, "Bye"), 2_000), (Event::Reply(None), 2_010)],
        );
        assert_eq!(state.phase(), CallPhase::Thinking, "the model is told, and asked again");
        assert!(spoken(&effects).is_empty() && effects.contains(&Effect::StartReply));
    }
}

#[test]
fn who_interrupts_the_announcement_keeps_the_agent() {
    let (state, _) = run(
        at(CallPhase::Thinking),
        [(wants(TO, ""), 2_000), (Event::Reply(None), 2_010)],
    );
    let barged_in = StreamEvent::Session(SessionEvent::BargedIn {
        speech: SpeechId(1),
        heard: "One".into(),
        at_ms: 3_000,
    });
    let (state, effects) = run(
        state,
        [
            (Event::Stream(barged_in), 3_000),
            (said("No, wait."), 4_000),
            (text("Yes? "), 4_500),
            (Event::Reply(None), 4_510),
            (ended(2), 6_000),
        ],
    );
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Transfer { .. })));
    assert_eq!(state.phase(), CallPhase::Listening);
}

#[test]
fn a_protected_announcement_is_protected() {
    let mut state = at(CallPhase::Thinking);
    state.rules.transfer_protected = true;
    let (_, effects) = run(state, [(wants(TO, ""), 2_000), (Event::Reply(None), 2_010)]);
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Say(Say { protected: true, .. })))
    );
}

/// Returns a call whose carrier was asked for a transfer and has not answered.
pub(super) fn handed_on() -> State {
    let events = [(wants(TO, ""), 2_000), (Event::Reply(None), 2_010), (ended(1), 4_000)];
    run(at(CallPhase::Speaking), events).0
}

#[test]
fn good_news_and_no_bad_news_end_a_call_as_transferred_and_hang_nothing_up() {
    let progress = |progress| Event::Progress(progress);
    let over = progress(CallProgress::Ended(EndCause::Completed));
    for events in [
        vec![asked(Ok(())), progress(CallProgress::Transferred)],
        vec![progress(CallProgress::Transferred), asked(Ok(()))],
        // The report of the destination's answer is later than that of the end.
        vec![asked(Ok(())), BYE, over.clone(), progress(CallProgress::Transferred)],
        vec![over.clone(), asked(Ok(())), progress(CallProgress::Transferred)],
        vec![asked(Ok(())), CLOSED, Event::Timer(CallTimer::Transfer)],
        vec![
            asked(Ok(())),
            Event::StreamGone { crashed: true },
            Event::Timer(CallTimer::Transfer),
        ],
        vec![
            asked(Ok(())),
            Event::Timer(CallTimer::MaxDuration),
            Event::Timer(CallTimer::Closing),
            progress(CallProgress::Transferred),
        ],
    ] {
        let told = format!("{events:?}");
        let events = events.into_iter().chain([Event::Timer(CallTimer::EndReport)]);
        let (state, effects) = run(handed_on(), events.map(|event| (event, 5_000)));
        assert_eq!(state.phase(), CallPhase::Ended, "{told}");
        assert_eq!(outcomes(&effects), [("completed", None, true)], "{told}");
        assert!(!hangs_up(&effects), "{told}");
    }
}

#[test]
fn a_caller_who_hangs_up_before_the_wish_was_taken_was_not_transferred() {
    let over = Event::Progress(CallProgress::Ended(EndCause::Completed));
    let (_, effects) = run(
        handed_on(),
        [
            (over, 5_000),
            (asked(Err("no such call")), 5_100),
            (Event::Timer(CallTimer::EndReport), 6_200),
        ],
    );
    assert_eq!(outcomes(&effects), [("completed", None, false)]);
}

#[test]
fn a_caller_who_hangs_up_while_it_rings_there_was_not_transferred() {
    let over = Event::Progress(CallProgress::Ended(EndCause::Completed));
    let unexplained = Event::Timer(CallTimer::Transfer);
    let failed = Event::Progress(CallProgress::TransferFailed("no-answer".into()));
    for events in [
        vec![asked(Ok(())), over.clone(), unexplained.clone()],
        vec![asked(Ok(())), BYE, over.clone(), unexplained.clone()],
        vec![over.clone(), asked(Ok(())), unexplained],
        vec![asked(Ok(())), over, failed],
    ] {
        let told = format!("{events:?}");
        let events = events.into_iter().chain([Event::Timer(CallTimer::EndReport)]);
        let (state, effects) = run(handed_on(), events.map(|event| (event, 5_000)));
        assert_eq!(state.phase(), CallPhase::Ended, "{told}");
        assert_eq!(outcomes(&effects), [("completed", None, false)], "{told}");
        let said = effects
            .iter()
            .any(|effect| matches!(effect, Effect::Record(Fact::Event(event)) if event.name == "transfer_failed"));
        assert!(said, "{told}");
    }
}

#[test]
fn a_peer_that_was_referred_and_leaves_was_transferred() {
    let mut state = at(CallPhase::Speaking);
    state.rules.carrier.refer = true;
    let (_, effects) = run(
        state,
        [
            (wants("sip:desk@pbx.example", ""), 2_000),
            (Event::Reply(None), 2_010),
            (ended(1), 4_000),
            (asked(Ok(())), 4_100),
            (Event::Progress(CallProgress::Ended(EndCause::Completed)), 4_500),
            (Event::Timer(CallTimer::EndReport), 5_600),
        ],
    );
    assert_eq!(outcomes(&effects), [("completed", None, true)]);
}

#[test]
fn bad_news_bring_the_agent_back_however_it_comes() {
    let failed = Event::Progress(CallProgress::TransferFailed("busy".into()));
    for events in [
        vec![asked(Ok(())), failed.clone()],
        vec![failed.clone(), asked(Ok(()))],
        vec![asked(Err("refused"))],
        vec![asked(Ok(())), BYE, failed.clone(), Event::MediaOpened],
        vec![asked(Ok(())), BYE, Event::MediaOpened, failed.clone()],
        vec![
            asked(Ok(())),
            BYE,
            Event::MediaOpened,
            Event::Timer(CallTimer::Transfer),
        ],
        vec![CLOSED, asked(Err("refused")), Event::MediaOpened],
    ] {
        let told = format!("{events:?}");
        let (state, effects) = run(handed_on(), events.into_iter().map(|event| (event, 5_000)));
        assert_eq!(state.phase(), CallPhase::Speaking, "{told}");
        assert_eq!(spoken(&effects), [state.rules.phrases.nobody_there], "{told}");
        let (state, _) = run(state, [(ended(2), 8_000), (failed.clone(), 8_100)]);
        assert_eq!(
            state.phase(),
            CallPhase::Listening,
            "{told}: a repeated report changes nothing"
        );
        // Another try may succeed.
        let again = [
            (said("Try again."), 9_000),
            (wants(TO, ""), 9_100),
            (Event::Reply(None), 9_200),
            (ended(3), 9_300),
        ];
        let (state, effects) = run(state, again);
        assert!(
            effects
                .iter()
                .any(|effect| matches!(effect, Effect::Transfer { try_no: 2, .. })),
            "{told}"
        );
        let (state, _) = run(state, [(asked(Err("late")), 9_400)]);
        assert_eq!(
            state.phase(),
            CallPhase::Transferring,
            "{told}: the answer to the first is nothing to the second"
        );
    }
}

#[test]
fn what_the_carrier_cannot_do_is_not_asked_for() {
    let sip = [
        (wants("sip:desk@pbx.example", ""), 2_000),
        (Event::Reply(None), 2_010),
        (ended(1), 4_000),
    ];
    let (state, effects) = run(at(CallPhase::Speaking), sip.clone());
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Transfer { .. })));
    assert_eq!(
        (state.phase(), spoken(&effects)),
        (CallPhase::Speaking, vec![state.rules.phrases.nobody_there])
    );
    let mut state = at(CallPhase::Speaking);
    state.rules.carrier = CarrierAbilities {
        refer: true,
        ..CarrierAbilities::default()
    };
    let (_, effects) = run(state, sip);
    assert!(effects.iter().any(|effect| matches!(
        effect,
        Effect::Transfer {
            kind: TransferKind::SipRefer,
            ..
        }
    )));
}

#[test]
fn time_that_was_up_during_a_transfer_ends_the_call_when_it_fails() {
    let failed = Event::Progress(CallProgress::TransferFailed("busy".into()));
    let (state, effects) = run(
        handed_on(),
        [(Event::Timer(CallTimer::MaxDuration), 4_500), (failed, 5_000)],
    );
    assert_eq!(
        (state.phase(), spoken(&effects)),
        (CallPhase::Closing, vec![state.rules.phrases.time_is_up])
    );
}

#[test]
fn a_hang_up_during_a_transfer_hangs_the_leg_up() {
    for end in [Event::HangUp, Event::End] {
        let (_, effects) = run(
            handed_on(),
            [
                (asked(Ok(())), 4_100),
                (end, 5_000),
                (Event::Timer(CallTimer::EndReport), 6_100),
            ],
        );
        assert!(hangs_up(&effects));
        assert_eq!(outcomes(&effects), [("completed", None, false)]);
    }
}

// Media lost and found.

pub(super) fn reopens(effects: &[Effect]) -> usize {
    effects
        .iter()
        .filter(|effect| matches!(effect, Effect::ReopenMedia { .. }))
        .count()
}

#[test]
fn lost_media_is_asked_for_and_the_call_goes_on_where_it_was() {
    for (phase, says) in [
        (CallPhase::Answered, None),
        (CallPhase::Greeting, Some("cut off")),
        (CallPhase::Listening, Some("cut off")),
        (CallPhase::Speaking, Some("cut off")),
        (CallPhase::Thinking, None),
    ] {
        let (state, effects) = run(
            at(phase),
            [(Event::Stream(StreamEvent::LineDied), 2_000), (CLOSED, 2_000)],
        );
        assert_eq!(reopens(&effects), 1, "{phase:?}");
        assert!(effects.contains(&Effect::SetTimer(CallTimer::EndReport, 8_000)));
        assert!(state.lacks_media() && !hangs_up(&effects));
        let (state, effects) = run(state, [(Event::MediaOpened, 4_000)]);
        assert!(!state.lacks_media() && effects.contains(&Effect::OpenStream));
        let expected: Vec<&str> = says.map(|_| state.rules.phrases.cut_off).into_iter().collect();
        assert_eq!(spoken(&effects), expected, "{phase:?}");
        assert_eq!(
            effects.contains(&Effect::StartReply),
            phase == CallPhase::Thinking,
            "{phase:?}"
        );
        assert_eq!(state.phase() == CallPhase::Answered, phase == CallPhase::Answered);
    }
}

#[test]
fn what_was_cut_off_counts_as_heard_only_as_far_as_it_was() {
    let cut = StreamEvent::Session(SessionEvent::SpeakingEnded {
        speech: SpeechId(1),
        heard: "A".into(),
        at_ms: 1_900,
    });
    let dies = [Event::Stream(StreamEvent::LineDied), Event::Stream(cut), CLOSED].map(|event| (event, 2_000));
    let (state, effects) = run(at(CallPhase::Speaking), dies);
    assert_eq!(turns(&effects), ["A"]);
    let interrupted = |effect: &Effect| matches!(effect, Effect::Record(Fact::Turn(turn)) if turn.interrupted);
    assert!(effects.iter().any(interrupted));
    // The call's times continue, and the stream's start anew.
    let (_, effects) = run(
        state,
        [
            (Event::MediaOpened, 6_000),
            (ended(2), 9_000),
            (utterance("Yes.", 4_000, 4_500), 10_500),
        ],
    );
    let times: Vec<i64> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Record(Fact::Turn(turn)) => Some(turn.started_ms),
            _ => None,
        })
        .collect();
    assert_eq!(
        times.last(),
        Some(&9_000),
        "4 s after the media came back at 5 s: {effects:?}"
    );
}

#[test]
fn media_is_asked_for_three_times_in_a_call() {
    let mut state = at(CallPhase::Listening);
    for n in 0..3 {
        let (next, effects) = run(state, [(CLOSED, 2_000 + n), (Event::MediaOpened, 2_500 + n)]);
        assert_eq!(reopens(&effects), 1);
        state = next;
    }
    let (state, effects) = run(state, [(CLOSED, 3_000)]);
    assert_eq!(reopens(&effects), 0);
    assert!(effects.contains(&Effect::SetTimer(CallTimer::EndReport, 3_000)) && !state.lacks_media());
    let (_, effects) = run(state, [(Event::Timer(CallTimer::EndReport), 6_000)]);
    assert_eq!(outcomes(&effects), [("failed", Some("media-lost".into()), false)]);
}

#[test]
fn a_carrier_that_does_not_open_it_again_has_three_seconds_to_tell_the_end() {
    let (state, _) = run(at(CallPhase::Listening), [(CLOSED, 2_000)]);
    let (_, effects) = run(state.clone(), [(Event::NotReopened { try_no: 1 }, 2_300)]);
    assert!(effects.contains(&Effect::SetTimer(CallTimer::EndReport, 2_700)));
    let (_, effects) = run(state, [(Event::NotReopened { try_no: 0 }, 2_300)]);
    assert!(effects.is_empty(), "of another loss");
}

#[test]
fn a_message_that_was_cut_off_is_left_again() {
    let state = at(CallPhase::Voicemail)
        .apply(
            Event::Stream(StreamEvent::Session(SessionEvent::BeepEnded { at_ms: 1_000 })),
            2_000,
        )
        .0;
    let cut = StreamEvent::Session(SessionEvent::SpeakingEnded {
        speech: SpeechId(0),
        heard: "Call".into(),
        at_ms: 1_900,
    });
    let dies = [Event::Stream(StreamEvent::LineDied), Event::Stream(cut), CLOSED].map(|event| (event, 2_500));
    let (state, effects) = run(state, dies);
    assert!(finishes(&effects).is_empty() && reopens(&effects) == 1);
    let (_, effects) = run(state, [(Event::MediaOpened, 4_000)]);
    assert_eq!(spoken(&effects), ["Call us."]);
}

#[test]
fn nobody_is_looked_for_on_a_stream_that_came_back() {
    let (state, _) = run(at(CallPhase::Listening), [(CLOSED, 2_000), (Event::MediaOpened, 3_000)]);
    let (state, effects) = run(state, [(found(Verdict::Voicemail, Reason::MachineWords), 4_000)]);
    assert_eq!((state.phase(), effects), (CallPhase::Speaking, Vec::new()));
}

#[test]
fn time_that_was_up_while_the_media_was_gone_is_up() {
    let lost = [
        (CLOSED, 2_000),
        (Event::Timer(CallTimer::MaxDuration), 2_500),
        (Event::MediaOpened, 3_000),
    ];
    let (state, effects) = run(at(CallPhase::Listening), lost);
    assert!(effects.contains(&Effect::SetTimer(CallTimer::Closing, 5_000)));
    let (_, effects) = run(state, [(Event::Timer(CallTimer::Closing), 7_500)]);
    assert!(hangs_up(&effects));
}

#[test]
fn a_second_socket_is_refused_while_one_is_open() {
    for phase in PHASES {
        let talks = [CallPhase::Greeting, CallPhase::Listening, CallPhase::Speaking].contains(&phase);
        let lacks = talks || phase == CallPhase::Transferring;
        assert!(!(lacks && at(phase).lacks_media()), "{phase:?}");
        assert_eq!(
            at(phase).replaces_media(),
            phase == CallPhase::Transferring,
            "{phase:?}"
        );
    }
}

#[test]
fn a_caller_may_come_back_by_another_socket_than_the_one_that_was_kept() {
    let failed = Event::Progress(CallProgress::TransferFailed("busy".into()));
    let (state, _) = run(handed_on(), [(asked(Ok(())), 5_000)]);
    assert!(state.replaces_media() && !state.lacks_media());
    // Before the report.
    let (early, effects) = run(state.clone(), [(Event::MediaOpened, 5_500)]);
    assert!(effects.contains(&Effect::OpenStream) && !early.replaces_media());
    let (early, effects) = run(early, [(failed.clone(), 5_600)]);
    assert_eq!(spoken(&effects), [early.rules.phrases.nobody_there]);
    assert!(!early.replaces_media());
    // After the report: words on the old socket reached nobody, and are said again once.
    let (late, effects) = run(state, [(failed, 5_500)]);
    assert_eq!(spoken(&effects), [late.rules.phrases.nobody_there]);
    assert!(late.replaces_media() && !late.lacks_media());
    let (late, effects) = run(late, [(Event::MediaOpened, 5_600)]);
    assert!(effects.contains(&Effect::OpenStream));
    assert_eq!(spoken(&effects), [late.rules.phrases.nobody_there]);
    assert!(late.phase() == CallPhase::Speaking && !late.replaces_media());
    let (late, effects) = run(late, [(Event::MediaOpened, 5_700), (ended(3), 8_000)]);
    assert!(!effects.contains(&Effect::OpenStream) && late.phase() == CallPhase::Listening);
}

// The carrier's own verdict.

pub(super) fn tells(verdict: MachineVerdict) -> Event {
    Event::Progress(CallProgress::Machine(verdict))
}

#[test]
fn the_carriers_verdict_outranks_ours() {
    // A mailbox that we did not detect.
    let (state, effects) = run(at(CallPhase::Listening), [(tells(MachineVerdict::Machine), 3_000)]);
    assert_eq!(state.phase(), CallPhase::Voicemail);
    assert!(effects.contains(&Effect::SetTimer(CallTimer::Quiet, 2_500)));
    let (state, _) = run(state, [(found(Verdict::Human, Reason::Converses), 3_500)]);
    assert_eq!(state.phase(), CallPhase::Voicemail, "whatever we think");
    let (_, effects) = run(state, [(tells(MachineVerdict::Beep), 6_000)]);
    assert_eq!(spoken(&effects), ["Call us."]);
    // A person whom we took for a mailbox.
    let (state, effects) = run(at(CallPhase::Voicemail), [(tells(MachineVerdict::Human), 3_000)]);
    assert_eq!((state.phase(), spoken(&effects)), (CallPhase::Greeting, vec!["Hello."]));
    let (state, _) = run(state, [(found(Verdict::Voicemail, Reason::MachineWords), 4_000)]);
    assert_eq!(state.phase(), CallPhase::Greeting);
    let (state, _) = run(state, [(found(Verdict::Ivr, Reason::Menu), 4_000)]);
    assert_eq!(state.phase(), CallPhase::Voicemail, "what only we hear stands");
}

#[test]
fn a_verdict_before_the_media_waits_for_it_and_a_repeated_one_is_nothing() {
    let (state, effects) = run(
        at(CallPhase::Ringing),
        [
            (Event::Progress(CallProgress::Answered), 1_000),
            (tells(MachineVerdict::Beep), 1_100),
            (tells(MachineVerdict::Beep), 1_200),
        ],
    );
    assert_eq!(state.phase(), CallPhase::Answered);
    assert!(spoken(&effects).is_empty());
    let (state, effects) = run(state, [(Event::MediaOpened, 1_300)]);
    assert_eq!(
        (state.phase(), spoken(&effects)),
        (CallPhase::Voicemail, vec!["Call us."])
    );
    let (_, effects) = run(state, [(tells(MachineVerdict::Beep), 1_400)]);
    assert!(effects.is_empty());
}

#[test]
fn a_fax_is_hung_up_on() {
    let (_, effects) = run(
        at(CallPhase::Listening),
        [
            (tells(MachineVerdict::Fax), 3_000),
            (Event::Timer(CallTimer::EndReport), 4_100),
        ],
    );
    assert!(hangs_up(&effects));
    assert_eq!(outcomes(&effects), [("completed", None, false)]);
}
