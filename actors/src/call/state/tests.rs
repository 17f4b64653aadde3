//! Tables of the reaction of each phase to each event, and properties of any sequence of events.

mod another_agent;
mod coming_back;
mod handing_on;
mod inbound;
mod live;
mod machines;
mod midcall;
mod operator;
mod opt_out;
mod outside_tools;
mod silent_replies;
mod speculation;
mod walk_mishaps;
mod workflow;

use std::time::Duration;

use media::{
    amd::{Finding, Reason, Verdict},
    session::SessionEvent,
    turn::endpointing::Utterance,
};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    audio_stream::{Say, SpeechId, StreamEvent},
    call::outcome::Ending,
};
use domain::{
    agent::Agent,
    ports::{
        carrier::{CallProgress, DialError, EndCause, MachineVerdict},
        language_model::{LanguageError, ReplyEvent},
        synthesizer::SpeechError,
    },
};

fn rules() -> Rules {
    let agent: Agent = serde_json::from_value(json!({ "conversationConfig": {
        "agent": {
            "greetingMessage": "Hello.",
            "prompt": { "builtInTools": {
                "endCall": { "enabled": true },
                "voicemailDetection": { "enabled": true, "voicemailMessage": "Call us." },
                "transferToNumber": { "enabled": true, "transfers": [
                    { "transferDestination": { "type": "phone", "phoneNumber": "+15550100001" } },
                    { "transferType": "sip_refer",
                      "transferDestination": { "type": "sip_uri", "sipUri": "sip:desk@pbx.example" } },
                    { "transferType": "conference",
                      "transferDestination": { "type": "phone", "phoneNumber": "+15550100002" } },
                ] },
            } }
        },
        "turn": { "silenceEndCallTimeout": 20 }
    } }))
    .unwrap();
    Rules::of(&agent, &std::collections::BTreeMap::new(), Duration::from_secs(30))
}

fn id(n: u8) -> CarrierCallId {
    CarrierCallId(format!("leg-{n}"))
}

fn said(text: &str) -> Event {
    Event::Stream(StreamEvent::Session(SessionEvent::UtteranceEnded(Utterance {
        text: text.into(),
        damaged: false,
        started_ms: 2_000,
        ended_ms: 2_500,
        final_ms: None,
    })))
}

fn found(verdict: Verdict, reason: Reason) -> Event {
    let at_ms = 2_500;
    Event::Stream(StreamEvent::Session(SessionEvent::Amd(Finding {
        verdict,
        reason,
        at_ms,
    })))
}

fn not_understood() -> Event {
    Event::Stream(StreamEvent::Session(SessionEvent::UtteranceEnded(Utterance {
        text: String::new(),
        damaged: true,
        started_ms: 2_000,
        ended_ms: 2_500,
        final_ms: None,
    })))
}

fn ended(speech: u64) -> Event {
    Event::Stream(StreamEvent::Session(SessionEvent::SpeakingEnded {
        speech: SpeechId(speech),
        heard: "Hello.".into(),
        at_ms: 3_000,
    }))
}

fn text(words: &str) -> Event {
    Event::Reply(Some(Ok(ReplyEvent::Text(words.into()))))
}

fn tool(name: &str, arguments: serde_json::Value) -> Event {
    Event::Reply(Some(Ok(ReplyEvent::Tool {
        name: name.into(),
        arguments,
        echo: None,
    })))
}

/// Returns the events that lead from a new call to each phase.
fn way_to(phase: CallPhase) -> Vec<Event> {
    let dialing = vec![Event::Permitted(PermitAnswer::Granted)];
    let then = |before: Vec<Event>, event: Event| -> Vec<Event> { before.into_iter().chain([event]).collect() };
    match phase {
        CallPhase::Scheduled => Vec::new(),
        CallPhase::Dialing => dialing,
        CallPhase::Ringing => then(way_to(CallPhase::Dialing), Event::Dialed(Ok(id(1)))),
        CallPhase::Answered => then(way_to(CallPhase::Ringing), Event::MediaOpened),
        CallPhase::Greeting => then(way_to(CallPhase::Answered), Event::Timer(CallTimer::PickUp)),
        CallPhase::Listening => then(way_to(CallPhase::Greeting), ended(0)),
        CallPhase::Thinking => then(way_to(CallPhase::Listening), said("What is it?")),
        CallPhase::Speaking => then(way_to(CallPhase::Thinking), text("A survey. ")),
        CallPhase::Voicemail => then(
            way_to(CallPhase::Answered),
            found(Verdict::Voicemail, Reason::MachineWords),
        ),
        CallPhase::Transferring => {
            let to = json!({ "transfer_number": "+15550100001" });
            let handed_on = [
                tool("transferToNumber", to),
                Event::Reply(None),
                ended(1),
                Event::TransferAsked {
                    try_no: 1,
                    answer: TransferAnswer::Taken,
                },
            ];
            way_to(CallPhase::Speaking).into_iter().chain(handed_on).collect()
        }
        CallPhase::Operator => then(way_to(CallPhase::Listening), Event::OperatorJoined { by: "Ada".into() }),
        CallPhase::Closing => then(way_to(CallPhase::Listening), Event::Timer(CallTimer::MaxDuration)),
        CallPhase::Ended => {
            let cause = CallProgress::Ended(EndCause::Busy);
            then(way_to(CallPhase::Ringing), Event::Progress(cause))
        }
    }
}

const PHASES: [CallPhase; 13] = [
    CallPhase::Scheduled,
    CallPhase::Dialing,
    CallPhase::Ringing,
    CallPhase::Answered,
    CallPhase::Greeting,
    CallPhase::Listening,
    CallPhase::Thinking,
    CallPhase::Speaking,
    CallPhase::Voicemail,
    CallPhase::Transferring,
    CallPhase::Operator,
    CallPhase::Closing,
    CallPhase::Ended,
];

fn at(phase: CallPhase) -> State {
    let (mut state, _) = State::new(rules());
    for event in way_to(phase) {
        state = state.apply(event, 1_000).0;
    }
    assert_eq!(state.phase(), phase, "the way leads there");
    state
}

/// Returns the phase after `event` for each phase, in the order of [`PHASES`].
fn row(event: &Event) -> Vec<CallPhase> {
    PHASES
        .into_iter()
        .map(|phase| at(phase).apply(event.clone(), 2_000).0.phase())
        .collect()
}

#[test]
fn every_phase_knows_what_each_event_means() {
    use CallPhase::{
        Answered as A, Closing as C, Dialing as D, Ended as E, Greeting as G, Listening as L, Operator as O,
        Ringing as R, Scheduled as S, Speaking as P, Thinking as T, Transferring as X, Voicemail as V,
    };
    let progress = |fact| Event::Progress(fact);
    let lost = Event::Stream(StreamEvent::MediaClosed { clean: false });
    let bye = Event::Stream(StreamEvent::MediaClosed { clean: true });
    let failed = Event::Reply(Some(Err(LanguageError::Busy { retry_after: None })));
    let table = [
        (
            Event::Permitted(PermitAnswer::Granted),
            [D, D, R, A, G, L, T, P, V, X, O, C, E],
        ),
        (
            Event::Permitted(PermitAnswer::Late),
            [E, D, R, A, G, L, T, P, V, X, O, C, E],
        ),
        (
            Event::Permitted(PermitAnswer::Lost),
            [E, D, R, A, G, L, T, P, V, X, O, C, E],
        ),
        (Event::Dialed(Ok(id(2))), [S, R, R, A, G, L, T, P, V, X, O, C, E]),
        (
            Event::Dialed(Err(DialError::Busy { retry_after: None })),
            [S, E, R, A, G, L, T, P, V, X, O, C, E],
        ),
        (
            Event::Dialed(Err(DialError::Unknown("?".into()))),
            [S, D, R, A, G, L, T, P, V, X, O, C, E],
        ),
        (progress(CallProgress::Ringing), [S, R, R, A, G, L, T, P, V, X, O, C, E]),
        (
            progress(CallProgress::Answered),
            [S, A, A, A, G, L, T, P, V, X, O, C, E],
        ),
        (
            progress(CallProgress::Ended(EndCause::Completed)),
            [S, E, E, C, C, C, C, C, C, X, C, C, E],
        ),
        (
            progress(CallProgress::Ended(EndCause::NoAnswer)),
            [S, E, E, C, C, C, C, C, C, X, C, C, E],
        ),
        (Event::MediaOpened, [S, A, A, A, G, L, T, P, V, X, O, C, E]),
        (said("Yes."), [S, D, R, G, G, T, T, P, V, X, O, C, E]),
        (said(" "), [S, D, R, G, G, L, T, P, V, X, O, C, E]),
        (not_understood(), [S, D, R, G, G, T, T, P, V, X, O, C, E]),
        (
            found(Verdict::Voicemail, Reason::MachineWords),
            [S, D, R, V, V, V, V, V, V, X, O, C, E],
        ),
        (text("Good day to you. "), [S, D, R, A, G, L, P, P, V, X, O, C, E]),
        (failed, [S, D, R, A, G, L, P, P, V, X, O, C, E]),
        (Event::Reply(None), [S, D, R, A, G, L, P, P, V, X, O, C, E]),
        (ended(0), [S, D, R, A, L, L, T, P, V, X, O, C, E]),
        (lost, [S, D, R, C, C, C, C, C, C, X, C, C, E]),
        (bye, [S, D, R, E, E, E, E, E, E, X, E, E, E]),
        (
            Event::StreamGone { crashed: true },
            [S, D, R, E, E, E, E, E, E, X, E, E, E],
        ),
        (Event::Timer(CallTimer::Ring), [S, D, E, A, G, L, T, P, V, X, O, C, E]),
        (Event::Timer(CallTimer::PickUp), [S, D, R, G, G, L, T, P, V, X, O, C, E]),
        (Event::Timer(CallTimer::Turn), [S, D, R, A, G, T, T, P, V, X, O, C, E]),
        (
            Event::Timer(CallTimer::Silence),
            [S, D, R, A, G, C, T, P, V, X, O, C, E],
        ),
        (Event::Timer(CallTimer::Filler), [S, D, R, A, G, L, P, P, V, X, O, C, E]),
        (
            Event::Timer(CallTimer::MaxDuration),
            [S, D, R, A, C, C, C, C, V, X, O, C, E],
        ),
        (
            Event::Timer(CallTimer::Closing),
            [S, D, R, C, C, C, C, C, C, X, O, C, E],
        ),
        (Event::HangUp, [S, D, E, C, C, C, C, C, C, C, C, C, E]),
        (
            Event::OperatorJoined { by: "Ada".into() },
            [S, D, R, O, O, O, O, O, V, X, O, C, E],
        ),
        (
            Event::OperatorLeft(OperatorLeft::Lost),
            [S, D, R, A, G, L, T, P, V, X, P, C, E],
        ),
        (
            Event::OperatorLeft(OperatorLeft::GivenBack { note: None }),
            [S, D, R, A, G, L, T, P, V, X, O, C, E],
        ),
        (
            Event::Stream(StreamEvent::OperatorSilent),
            [S, D, R, A, G, L, T, P, V, X, O, C, E],
        ),
    ];
    for (event, expected) in table {
        assert_eq!(row(&event), expected, "{event:?}");
    }
}

fn finishes(effects: &[Effect]) -> Vec<Ending> {
    let endings = effects.iter().filter_map(|effect| match effect {
        Effect::Finish(ending) => Some(ending.clone()),
        _ => None,
    });
    endings.collect()
}

#[test]
fn a_hang_up_while_the_permit_is_out_sends_nothing() {
    let state = at(CallPhase::Scheduled).apply(Event::HangUp, 0).0;
    let (_, effects) = state.apply(Event::Permitted(PermitAnswer::Granted), 10);
    assert_eq!(effects, [Effect::Finish(Ending::NotSent { delay_ms: 0, why: None })]);
}

#[test]
fn a_permit_that_came_too_late_leaves_the_store_some_seconds() {
    let ending = Ending::NotSent {
        delay_ms: 5_000,
        why: None,
    };
    let (_, effects) = at(CallPhase::Scheduled).apply(Event::Permitted(PermitAnswer::Late), 6_000);
    assert_eq!(finishes(&effects), std::slice::from_ref(&ending));
    let held_back = Event::Dialed(Err(DialError::HeldBack("the permit is too old to be used".into())));
    let (_, effects) = at(CallPhase::Dialing).apply(held_back, 6_000);
    assert_eq!(finishes(&effects), [ending]);
}

#[test]
fn a_call_ended_for_good_is_cancelled_where_it_would_be_queued_again() {
    let cancelled = Ending::Outcome(EndReason::Cancelled.outcome(false, Default::default()));
    let only_ends = |effects: &[Effect]| {
        let [Effect::Record(Fact::Event(event)), Effect::Finish(ending)] = effects else {
            panic!("{effects:?}")
        };
        assert_eq!(event.detail, r#"{"status":"cancelled","by":"request"}"#);
        assert_eq!(*ending, cancelled);
    };
    for answer in [PermitAnswer::Granted, PermitAnswer::Late, PermitAnswer::Unanswered] {
        let state = at(CallPhase::Scheduled).apply(Event::End, 0).0;
        let (_, effects) = state.apply(Event::Permitted(answer), 10);
        only_ends(&effects);
    }
    let state = at(CallPhase::Dialing).apply(Event::End, 0).0;
    let busy = DialError::Busy { retry_after: None };
    let (_, effects) = state.apply(Event::Dialed(Err(busy)), 10);
    only_ends(&effects);
}

#[test]
fn a_leg_that_becomes_known_after_the_end_is_hung_up() {
    let cause = CallProgress::Ended(EndCause::Busy);
    let state = at(CallPhase::Dialing).apply(Event::Progress(cause), 5).0;
    let (_, effects) = state.apply(Event::Dialed(Ok(id(7))), 10);
    assert_eq!(effects, [Effect::HangUpLeg(Some(id(7)))]);
}

fn turns(effects: &[Effect]) -> Vec<&str> {
    let turns = effects.iter().filter_map(|effect| match effect {
        Effect::Record(Fact::Turn(turn)) => Some(turn.text.as_str()),
        _ => None,
    });
    turns.collect()
}

#[test]
fn words_over_a_protected_speech_follow_it_in_the_history_and_are_answered() {
    let (state, effects) = at(CallPhase::Greeting).apply(said("Hold on, please."), 2_000);
    assert!(turns(&effects).is_empty(), "{effects:?}");
    let (state, effects) = state.apply(ended(0), 3_000);
    assert_eq!(turns(&effects), ["Hello.", "Hold on, please."]);
    assert_eq!(state.phase(), CallPhase::Thinking);
    let last = state.history().items().last().cloned();
    assert!(matches!(last, Some(HistoryItem::Said { text, .. }) if text == "Hold on, please."));
}

#[test]
fn words_over_a_speech_are_kept_however_the_call_ends() {
    for end in [
        Event::StreamGone { crashed: true },
        Event::Stream(StreamEvent::MediaClosed { clean: true }),
    ] {
        let state = at(CallPhase::Greeting).apply(said("Hold on, please."), 2_000).0;
        let (state, mut all) = state.apply(end, 2_100);
        all.extend(state.apply(Event::Timer(CallTimer::EndReport), 4_000).1);
        assert_eq!(turns(&all), ["Hold on, please."]);
        let place = |wanted: fn(&Effect) -> bool| all.iter().position(wanted).unwrap();
        assert!(
            place(|effect| matches!(effect, Effect::Record(Fact::Turn(_))))
                < place(|effect| matches!(effect, Effect::Finish(_)))
        );
    }
}

#[test]
fn a_reply_of_which_nothing_was_heard_is_made_anew_when_the_user_goes_on() {
    let (state, effects) = at(CallPhase::Speaking).apply(said("And on Monday, too."), 2_000);
    assert_eq!(state.phase(), CallPhase::Thinking);
    assert!(effects.contains(&Effect::StopSpeaking) && effects.contains(&Effect::StartReply));
    assert_eq!(turns(&effects), ["And on Monday, too."]);
    // Later words are not part of the speech that was dropped.
    let (state, effects) = state.apply(text("Monday, then. "), 2_100);
    let says = |effect: &&Effect| {
        matches!(
            effect,
            Effect::Say(Say {
                speech: SpeechId(2),
                ..
            })
        )
    };
    assert_eq!(effects.iter().filter(says).count(), 1, "{effects:?}");
    assert_eq!(state.apply(ended(1), 2_200).0.phase(), CallPhase::Speaking);
}

#[test]
fn a_reply_that_is_being_heard_goes_on_under_words_that_do_not_stop_it() {
    let speech = SpeechId(1);
    let began = StreamEvent::Session(SessionEvent::SpeakingStarted {
        speech,
        at_ms: 1_900,
        audio_ms: None,
    });
    let state = at(CallPhase::Speaking).apply(Event::Stream(began), 1_900).0;
    let (state, effects) = state.apply(said("And on Monday, too."), 2_000);
    assert!(
        effects
            .iter()
            .all(|effect| !matches!(effect, Effect::StopSpeaking | Effect::StartReply))
    );
    assert_eq!(state.phase(), CallPhase::Speaking);
}

#[test]
fn a_noise_is_neither_a_turn_nor_asked_back() {
    let (_, effects) = at(CallPhase::Listening).apply(said(""), 2_000);
    assert!(turns(&effects).is_empty() && !effects.contains(&Effect::StartReply));
    let (_, effects) = at(CallPhase::Listening).apply(not_understood(), 2_000);
    assert!(effects.contains(&Effect::StartReply));
}

#[test]
fn a_noisy_line_fills_no_journal() {
    let (mut state, mut kept) = (at(CallPhase::Speaking), 0);
    for at_ms in 0..1_000 {
        let speech = SpeechId(1);
        for event in [
            StreamEvent::Session(SessionEvent::PlayoutPaused { speech, at_ms }),
            StreamEvent::Session(SessionEvent::PlayoutResumed { speech, at_ms }),
            StreamEvent::Session(SessionEvent::EchoIgnored { at_ms }),
        ] {
            let (next, effects) = state.apply(Event::Stream(event), 2_000);
            state = next;
            kept += effects.len();
        }
    }
    assert_eq!(kept, 200);
}

#[test]
fn what_was_heard_of_a_speech_that_failed_is_kept() {
    let state = at(CallPhase::Speaking);
    let speech = SpeechId(1);
    let error = SpeechError::Unavailable("x".into());
    let (state, _) = state.apply(Event::Stream(StreamEvent::SpeechFailed { speech, error }), 2_000);
    let (state, effects) = state.apply(ended(1), 2_000);
    assert_eq!(turns(&effects), ["Hello."]);
    assert_eq!(state.phase(), CallPhase::Speaking, "the apology goes on");
}

#[test]
fn the_agent_does_not_speak_up_only_to_hang_up() {
    let listening = || at(CallPhase::Listening);
    let speaks_up = |now_ms| {
        let (_, effects) = listening().apply(Event::Timer(CallTimer::Turn), now_ms);
        effects.contains(&Effect::StartReply)
    };
    assert!(speaks_up(20_999) && !speaks_up(21_000));
}

#[test]
fn callbacks_in_any_order_lead_to_one_outcome() {
    let facts = [
        CallProgress::Ringing,
        CallProgress::Answered,
        CallProgress::Ended(EndCause::Completed),
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut state = at(CallPhase::Dialing);
        let mut all = Vec::new();
        for index in order {
            for _ in 0..2 {
                let (next, effects) = state.apply(Event::Progress(facts[index].clone()), 50);
                state = next;
                all.extend(effects);
            }
        }
        let endings = finishes(&all);
        // No media came.
        let expected = EndReason::media_lost().outcome(false, std::collections::BTreeMap::new());
        assert_eq!(endings, [Ending::Outcome(expected)], "{order:?}");
        assert_eq!(all.iter().filter(|effect| **effect == Effect::WriteAnswered).count(), 1);
    }
}

fn any_cause() -> impl Strategy<Value = EndCause> {
    prop_oneof![
        Just(EndCause::Completed),
        Just(EndCause::Busy),
        Just(EndCause::NoAnswer),
        Just(EndCause::Rejected),
        Just(EndCause::InvalidNumber),
        Just(EndCause::Canceled),
        Just(EndCause::Failed("x".into())),
    ]
}

fn any_dial_result() -> impl Strategy<Value = Result<CarrierCallId, DialError>> {
    prop_oneof![
        4 => (0..3u8).prop_map(|n| Ok(id(n))),
        1 => Just(Err(DialError::InvalidNumber("x".into()))),
        1 => Just(Err(DialError::Rejected("x".into()))),
        1 => Just(Err(DialError::Unclassified { kind: "x".into(), words: "x".into() })),
        1 => Just(Err(DialError::Busy { retry_after: None })),
        1 => Just(Err(DialError::AccountRefused("x".into()))),
        1 => Just(Err(DialError::Unreachable("x".into()))),
        1 => Just(Err(DialError::HeldBack("x".into()))),
        2 => Just(Err(DialError::Unknown("x".into()))),
    ]
}

fn any_stream_event() -> impl Strategy<Value = StreamEvent> {
    let speech = || (0..6u64).prop_map(SpeechId);
    let words = prop_oneof![
        Just(String::new()),
        Just("yes".to_owned()),
        Just("leave a message after the tone".to_owned()),
    ];
    let error = || SpeechError::Unavailable("x".into());
    prop_oneof![
        2 => (0..50_000u64).prop_map(|at_ms| StreamEvent::Session(SessionEvent::SpeechStarted { at_ms })),
        1 => Just(StreamEvent::Session(SessionEvent::Interim { text: "ye".into() })),
        6 => (words, any::<bool>(), 0..50_000u64, 0..50_000u64).prop_map(|(text, damaged, started_ms, ended_ms)| {
            StreamEvent::Session(SessionEvent::UtteranceEnded(Utterance { text, damaged, started_ms, ended_ms, final_ms: None }))
        }),
        2 => (speech(), 0..50_000u64).prop_map(|(speech, at_ms)| StreamEvent::Session(SessionEvent::SpeakingStarted { speech, at_ms, audio_ms: None })),
        2 => (speech(), 0..50_000u64).prop_map(|(speech, at_ms)| {
            StreamEvent::Session(SessionEvent::BargedIn { speech, heard: "a".into(), at_ms })
        }),
        6 => (speech(), 0..50_000u64).prop_map(|(speech, at_ms)| {
            StreamEvent::Session(SessionEvent::SpeakingEnded { speech, heard: "a b".into(), at_ms })
        }),
        1 => speech().prop_map(move |speech| StreamEvent::SpeechFailed { speech, error: error() }),
        1 => (0..50_000u64).prop_map(|at_ms| StreamEvent::Session(SessionEvent::BeepEnded { at_ms })),
        3 => any_finding().prop_map(|finding| SessionEvent::Amd(finding).into()),
        2 => (prop::sample::select(vec!["yes", "ye", "and"]), 0..50_000u64).prop_map(|(text, at_ms)| {
            StreamEvent::Session(SessionEvent::TurnPaused { text: text.into(), at_ms })
        }),
        1 => (0..50_000u64).prop_map(|at_ms| StreamEvent::Session(SessionEvent::TurnResumed { at_ms })),
        1 => (speech(), 0..50_000u64).prop_map(|(speech, at_ms)| StreamEvent::Session(SessionEvent::PlayoutPaused { speech, at_ms })),
        1 => (speech(), 0..50_000u64).prop_map(|(speech, at_ms)| StreamEvent::Session(SessionEvent::PlayoutResumed { speech, at_ms })),
        1 => (0..50_000u64).prop_map(|at_ms| StreamEvent::Session(SessionEvent::EchoIgnored { at_ms })),
        2 => prop::sample::select(vec!['5', '#']).prop_map(StreamEvent::Digit),
        2 => (any::<bool>(), 0..50_000u64).prop_map(|(words, at_ms)| operator::said(if words { "Hi." } else { "" }, at_ms)),
        2 => Just(StreamEvent::OperatorSilent),
        1 => Just(StreamEvent::LineDied),
        1 => Just(StreamEvent::DeafnessBegan(SpeechError::Unavailable("x".into()))),
        1 => any::<bool>().prop_map(|clean| StreamEvent::MediaClosed { clean }),
    ]
}

fn any_finding() -> impl Strategy<Value = Finding> {
    let verdicts = prop::sample::select(vec![
        (Verdict::Human, Reason::PickedUp),
        (Verdict::Human, Reason::Converses),
        (Verdict::Voicemail, Reason::MachineWords),
        (Verdict::Ivr, Reason::Menu),
        (Verdict::Ivr, Reason::Screening),
        (Verdict::Unavailable, Reason::MailboxFull),
        (Verdict::Unavailable, Reason::NotInService),
        (Verdict::Unknown, Reason::Silence),
    ]);
    (verdicts, 0..50_000u64).prop_map(|((verdict, reason), at_ms)| Finding { verdict, reason, at_ms })
}

fn any_timer() -> impl Strategy<Value = CallTimer> {
    prop::sample::select(vec![
        CallTimer::Ring,
        CallTimer::MediaWait,
        CallTimer::PickUp,
        CallTimer::Turn,
        CallTimer::Silence,
        CallTimer::MaxDuration,
        CallTimer::Closing,
        CallTimer::Machine,
        CallTimer::Quiet,
        CallTimer::Settle,
        CallTimer::BargeIn,
        CallTimer::EndReport,
        CallTimer::Speculate,
        CallTimer::Filler,
        CallTimer::Keys,
        CallTimer::Transfer,
        CallTimer::Reopen,
    ])
}

fn any_event() -> impl Strategy<Value = Event> {
    let tools = prop::sample::select(vec![
        "collect",
        "endCall",
        "skipTurn",
        "transferToNumber",
        "lookUp",
        "other",
    ]);
    let answers = prop_oneof![
        2 => Just(TransferAnswer::Taken),
        1 => Just(TransferAnswer::Refused("no".into())),
        1 => Just(TransferAnswer::Lost("late".into())),
    ];
    let destinations = prop::sample::select(vec!["+15550100001", "+15550100002"]);
    let verdicts = prop::sample::select(vec![
        MachineVerdict::Human,
        MachineVerdict::Machine,
        MachineVerdict::Beep,
        MachineVerdict::Fax,
    ]);
    prop_oneof![
        3 => prop_oneof![
            6 => Just(PermitAnswer::Granted),
            1 => Just(PermitAnswer::Late),
            1 => Just(PermitAnswer::Forbidden("restricted")),
            1 => Just(PermitAnswer::NotAllowed("not-allowed: it is night".into())),
        ].prop_map(Event::Permitted),
        4 => any_dial_result().prop_map(Event::Dialed),
        2 => prop_oneof![
            3 => Just(CallProgress::Ringing),
            3 => Just(CallProgress::Answered),
            1 => verdicts.prop_map(CallProgress::Machine),
            1 => Just(CallProgress::Transferred),
            1 => Just(CallProgress::TransferFailed("busy".into())),
            1 => any_cause().prop_map(CallProgress::Ended),
        ].prop_map(Event::Progress),
        4 => Just(Event::MediaOpened),
        3 => live::any_command(),
        3 => operator::any_coming_or_going(),
        16 => any_stream_event().prop_map(Event::Stream),
        1 => any::<bool>().prop_map(|crashed| Event::StreamGone { crashed }),
        6 => Just(text("Well, this is it. And")),
        4 => (tools, destinations).prop_map(|(name, to)| Event::Reply(Some(Ok(ReplyEvent::Tool {
            name: name.into(),
            arguments: json!({ "entity": "a", "value": "b", "transfer_number": to }), echo: None })))),
        2 => (0..3u32, answers).prop_map(|(try_no, answer)| Event::TransferAsked { try_no, answer }),
        1 => (0..4u32).prop_map(|try_no| Event::NotReopened { try_no }),
        1 => any::<bool>().prop_map(|anothers| Event::NotOurLeg { anothers }),
        2 => Just(Event::ToolsOffered(vec!["lookUp".into()])),
        2 => (0..4u64, any::<bool>()).prop_map(|(run, ok)| Event::ToolAnswered(ToolAnswer {
            run, took_ms: 1, result: if ok { Ok(json!({ "n": run })) } else { Err("no".into()) } })),
        1 => Just(Event::Reply(Some(Err(LanguageError::Busy { retry_after: None })))),
        4 => Just(Event::Reply(None)),
        4 => any_timer().prop_map(Event::Timer),
        1 => Just(Event::HangUp),
    ]
}

/// Events that are certain to end any call.
fn the_end() -> [Event; 4] {
    [
        Event::HangUp,
        Event::Permitted(PermitAnswer::Lost),
        Event::Dialed(Err(DialError::Unknown("x".into()))),
        Event::Timer(CallTimer::EndReport),
    ]
}

fn is_cleanup(effect: &Effect) -> bool {
    matches!(effect, Effect::HangUpLeg(_) | Effect::Record(_))
}

#[test]
fn a_carrier_cannot_park_an_attempt_for_longer_than_an_hour() {
    for (asked, delay_ms) in [
        (None, 5_000),
        (Some(Duration::from_secs(7)), 7_000),
        (Some(Duration::MAX), 3_600_000),
    ] {
        let (state, _) = State::new(rules());
        let (state, _) = state.apply(Event::Permitted(PermitAnswer::Granted), 0);
        let busy = DialError::Busy { retry_after: asked };
        let why = Some("the carrier takes no more calls for the moment".to_owned());
        let (_, effects) = state.apply(Event::Dialed(Err(busy)), 0);
        assert_eq!(finishes(&effects), [Ending::NotSent { delay_ms, why }]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_sequence_of_events_ends_once_and_dials_at_most_once(
        events in prop::collection::vec(any_event(), 0..80),
        from in 0..PHASES.len(),
    ) {
        let (mut state, mut all) = State::new(rules());
        let commanded = events.iter().filter(|event| live::presses(event)).count();
        let events = way_to(PHASES[from]).into_iter().chain(events).chain(the_end());
        for (n, event) in events.enumerate() {
            let over = state.phase() == CallPhase::Ended;
            let (next, effects) = state.apply(event.clone(), n as u64 * 100);
            state = next;
            prop_assert!(!over || effects.iter().all(is_cleanup), "{event:?} after the end: {effects:?}");
            all.extend(effects);
        }
        prop_assert_eq!(state.phase(), CallPhase::Ended);
        prop_assert_eq!(finishes(&all).len(), 1);
        prop_assert!(all.iter().filter(|effect| **effect == Effect::Dial).count() <= 1);
        // One stream for the first socket, two for each transfer (there, and back if that socket died), and
        // three for lost sockets.
        let opened = all.iter().filter(|effect| **effect == Effect::OpenStream).count();
        let transfers = all.iter().filter(|effect| matches!(effect, Effect::Transfer { .. })).count();
        prop_assert!(opened <= 1 + 2 * transfers + 3, "{} {}", opened, transfers);
        let reopened = all.iter().filter(|effect| matches!(effect, Effect::ReopenMedia { .. })).count();
        let pressed = all.iter().filter(|effect| matches!(effect, Effect::Press(_))).count();
        // Two presses answer call screening.
        prop_assert!(reopened <= 3 + transfers && pressed <= 2 + commanded, "{} {}", reopened, pressed);
        prop_assert!(all.iter().filter(|effect| **effect == Effect::WriteAnswered).count() <= 1);
        let turns: Vec<i64> = all
            .iter()
            .filter_map(|effect| match effect {
                Effect::Record(Fact::Turn(turn)) => Some(turn.seq),
                _ => None,
            })
            .collect();
        prop_assert_eq!(turns.clone(), (0..turns.len() as i64).collect::<Vec<_>>());
    }


    #[test]
    fn an_unsent_attempt_never_gets_an_outcome_of_a_dialed_one(events in prop::collection::vec(any_event(), 0..40)) {
        let (mut state, mut all) = State::new(rules());
        for event in events {
            let (next, effects) = state.apply(event, 0);
            state = next;
            all.extend(effects);
        }
        let dialed = all.contains(&Effect::Dial);
        for ending in finishes(&all) {
            prop_assert!(dialed || !matches!(ending, Ending::Outcome(_)));
        }
    }
}
