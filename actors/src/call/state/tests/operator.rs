//! An operator who has the call.

use super::{
    live::{VOICE, announced_transfer, command, over, recorded, say, transfer},
    midcall::{self, run, spoken},
    *,
};
use crate::call::CommandKind;
use domain::ports::language_model::Speaker;

pub(super) fn said(words: &str, at_ms: u64) -> StreamEvent {
    StreamEvent::OperatorSaid(Utterance {
        text: words.into(),
        damaged: false,
        started_ms: at_ms,
        ended_ms: at_ms + 500,
        final_ms: None,
    })
}

pub(super) const SILENT: Event = Event::Stream(StreamEvent::OperatorSilent);
const LOST: Event = Event::OperatorLeft(OperatorLeft::Lost);

pub(super) fn joins(by: &str) -> Event {
    Event::OperatorJoined { by: by.into() }
}

pub(super) fn gives_back(note: Option<&str>) -> Event {
    let note = note.map(str::to_owned);
    Event::OperatorLeft(OperatorLeft::GivenBack { note })
}

pub(super) fn any_coming_or_going() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(joins("Ada")),
        Just(gives_back(Some("Be kind."))),
        Just(gives_back(None)),
        Just(LOST),
    ]
}

/// Returns a call whose operator has it transferred, and the effects.
fn transferring() -> (State, Vec<Effect>) {
    let (state, effects) = run(
        at(CallPhase::Operator),
        [
            (command(announced_transfer(None)), 5_000),
            (midcall::asked(Ok(())), 5_100),
        ],
    );
    assert_eq!(
        (state.phase(), state.operator()),
        (CallPhase::Transferring, Some("Ada"))
    );
    (state, effects)
}

fn left_for(effects: &[Effect]) -> Vec<String> {
    let left = recorded(effects, "operator_left").into_iter();
    left.map(|detail| detail["reason"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns who said what, as the model reads it.
fn history(state: &State) -> Vec<(Speaker, String)> {
    let items = state.history().items().iter().filter_map(|item| match item {
        HistoryItem::Said { speaker, text, .. } => Some((*speaker, text.clone())),
        _ => None,
    });
    items.collect()
}

/// Returns whether the agent does something of its own: speaks, asks the model, runs a tool or ends the call.
fn acts(effects: &[Effect]) -> bool {
    let acts = |effect: &Effect| {
        matches!(
            effect,
            Effect::Say(_)
                | Effect::Release(_)
                | Effect::StartReply
                | Effect::RunTool { .. }
                | Effect::Transfer { .. }
                | Effect::LookUpAgent { .. }
                | Effect::HangUpLeg(_)
        )
    };
    effects.iter().any(acts)
}

#[test]
fn the_agent_stops_what_it_does_and_what_was_heard_is_kept() {
    for phase in [
        CallPhase::Answered,
        CallPhase::Greeting,
        CallPhase::Listening,
        CallPhase::Thinking,
        CallPhase::Speaking,
    ] {
        let (state, effects) = run(at(phase), [(joins("Ada"), 2_000)]);
        assert_eq!(
            (state.phase(), state.operator()),
            (CallPhase::Operator, Some("Ada")),
            "{phase:?}"
        );
        assert_eq!(recorded(&effects, "operator_joined"), [json!({ "by": "Ada" })]);
        assert!(effects.contains(&Effect::SeatOperator) && effects.contains(&Effect::CancelReply));
        assert!(!acts(&effects), "{phase:?}: {effects:?}");
    }
    let (state, effects) = run(at(CallPhase::Speaking), [(joins("Ada"), 2_000), (over(1, "A"), 2_050)]);
    assert_eq!((turns(&effects), state.phase()), (vec!["A"], CallPhase::Operator));
}

#[test]
fn the_agent_does_nothing_while_an_operator_has_the_call() {
    let timers = [
        CallTimer::PickUp,
        CallTimer::Turn,
        CallTimer::Silence,
        CallTimer::Filler,
        CallTimer::Speculate,
        CallTimer::MaxDuration,
        CallTimer::Closing,
    ];
    let events = timers.map(Event::Timer).into_iter().chain([
        VOICE,
        midcall::utterance("Yes.", 2_000, 2_500),
        Event::Reply(Some(Ok(ReplyEvent::Text("Well. ".into())))),
        tool("endCall", json!({})),
        Event::Reply(None),
        command(say("Hi.", true)),
        found(Verdict::Voicemail, Reason::MachineWords),
    ]);
    let (state, effects) = run(at(CallPhase::Thinking), [(joins("Ada"), 2_000)]);
    assert!(!acts(&effects));
    let (state, effects) = run(state, events.map(|event| (event, 3_000)));
    assert!(!acts(&effects), "{effects:?}");
    assert_eq!((turns(&effects), state.phase()), (vec!["Yes."], CallPhase::Operator));
}

#[test]
fn a_tool_that_was_running_answers_and_nobody_is_told_before_the_call_is_given_back() {
    let (state, _) = run(
        at(CallPhase::Thinking),
        [
            (Event::ToolsOffered(vec!["lookUp".into()]), 1_500),
            (tool("lookUp", json!({})), 1_600),
            (Event::Reply(None), 1_700),
            (joins("Ada"), 2_000),
        ],
    );
    let answer = ToolAnswer {
        run: 1,
        result: Ok(json!({ "price": 5 })),
        took_ms: 900,
    };
    let (state, effects) = run(state, [(Event::ToolAnswered(answer), 2_500)]);
    assert!(!acts(&effects));
    let (state, effects) = run(state, [(gives_back(None), 3_000), (SILENT, 3_100)]);
    assert!(effects.contains(&Effect::StartReply));
    let told = |item: &HistoryItem| matches!(item, HistoryItem::Tool { result, .. } if result["price"] == 5);
    assert!(state.history().items().iter().any(told));
}

#[test]
fn the_model_is_asked_once_the_last_words_of_the_operator_are_known() {
    let (state, effects) = run(
        at(CallPhase::Listening),
        [
            (joins("Ada"), 2_000),
            (Event::Stream(said("This is Ada.", 2_100)), 3_000),
            (midcall::utterance("Hello Ada.", 3_100, 3_500), 3_600),
            (gives_back(Some("Offer ten percent.")), 4_000),
        ],
    );
    assert_eq!((acts(&effects), state.phase()), (false, CallPhase::Operator));
    let (state, effects) = run(
        state,
        [(Event::Stream(said("Goodbye.", 3_700)), 4_200), (SILENT, 4_200)],
    );
    assert_eq!(
        (effects.contains(&Effect::StartReply), state.phase()),
        (true, CallPhase::Thinking)
    );
    let told = [
        (Speaker::Agent, "Hello."),
        (Speaker::Operator, "This is Ada."),
        (Speaker::User, "Hello Ada."),
        (Speaker::Operator, "Goodbye."),
    ];
    assert_eq!(history(&state), told.map(|(speaker, text)| (speaker, text.to_owned())));
    let notes: Vec<&str> = state.notes().iter().map(|note| &*note.text).collect();
    assert_eq!((&notes[..], state.operator()), (&["Offer ten percent."][..], None));
}

#[test]
fn the_next_operator_need_not_wait_for_the_last_words_of_the_one_before() {
    let given_back = [(joins("Ada"), 2_000), (gives_back(None), 4_000)];
    let (state, _) = run(at(CallPhase::Listening), given_back);
    assert_eq!((state.operator(), state.operate_refusal()), (None, None));
    // The stream may still report the first one's silence.
    let (state, effects) = run(state, [(joins("Bo"), 4_100), (SILENT, 4_200)]);
    assert!(effects.contains(&Effect::SeatOperator) && !acts(&effects));
    assert_eq!((state.operator(), state.phase()), (Some("Bo"), CallPhase::Operator));
}

#[test]
fn a_user_who_speaks_keeps_the_floor_when_the_call_is_given_back() {
    let back = [
        (joins("Ada"), 2_000),
        (VOICE, 3_900),
        (gives_back(None), 4_000),
        (SILENT, 4_100),
    ];
    let (state, effects) = run(at(CallPhase::Listening), back);
    assert_eq!((acts(&effects), state.phase()), (false, CallPhase::Listening));
    let (_, effects) = run(state, [(midcall::utterance("And the price?", 3_900, 4_500), 4_900)]);
    assert!(effects.contains(&Effect::StartReply));
}

#[test]
fn after_a_lost_operator_the_agent_speaks_at_once_and_then_goes_on() {
    let (state, effects) = run(at(CallPhase::Listening), [(joins("Ada"), 2_000), (LOST, 4_000)]);
    assert_eq!(spoken(&effects), [rules().phrases.back_with_you]);
    let left = json!({ "by": "Ada", "reason": "lost" });
    assert_eq!(recorded(&effects, "operator_left"), [left]);
    let not_allowed = Event::OperatorLeft(OperatorLeft::NotAllowed);
    let (_, revoked) = run(at(CallPhase::Listening), [(joins("Ada"), 2_000), (not_allowed, 4_000)]);
    assert_eq!(spoken(&revoked), [rules().phrases.back_with_you]);
    let left = json!({ "by": "Ada", "reason": "not_allowed" });
    assert_eq!(recorded(&revoked, "operator_left"), [left]);
    // The last words come while the sentence plays.
    let (state, effects) = run(
        state,
        [
            (Event::Stream(said("One mo", 3_500)), 4_500),
            (SILENT, 4_500),
            (over(1, "I'm with you again."), 6_000),
        ],
    );
    assert_eq!(turns(&effects), ["One mo", "I'm with you again."]);
    assert_eq!(
        (effects.contains(&Effect::StartReply), state.phase()),
        (true, CallPhase::Thinking)
    );
}

#[test]
fn a_second_operator_is_told_who_has_the_call() {
    let (state, _) = run(at(CallPhase::Listening), [(joins("Ada"), 2_000)]);
    assert_eq!(state.operate_refusal(), Some(OperateRefusal::Taken("Ada".into())));
    let (state, effects) = run(state, [(joins("Bob"), 2_100)]);
    assert!(effects.is_empty() && state.operator() == Some("Ada"));
    let (state, _) = run(state, [(LOST, 2_200)]);
    assert_eq!(state.operate_refusal(), None);
    for (phase, name) in [
        (CallPhase::Ringing, "`ringing`"),
        (CallPhase::Voicemail, "`voicemail`"),
        (CallPhase::Transferring, "`transferring`"),
        (CallPhase::Closing, "`closing`"),
    ] {
        let Some(OperateRefusal::NotNow(why)) = at(phase).operate_refusal() else {
            panic!("{phase:?}")
        };
        assert!(why.contains(name), "{why}");
        let (state, effects) = run(at(phase), [(joins("Ada"), 2_000)]);
        assert!(effects.is_empty() && state.operator().is_none());
    }
}

#[test]
fn the_end_of_the_call_and_of_its_media_ends_the_operator_too() {
    let ends = [
        (Event::HangUp, "call_ended"),
        (Event::Stream(StreamEvent::MediaClosed { clean: true }), "call_ended"),
        (Event::Progress(CallProgress::Ended(EndCause::Completed)), "call_ended"),
        (midcall::CLOSED, "lost"),
    ];
    for (event, reason) in ends {
        let (state, effects) = run(at(CallPhase::Operator), [(event.clone(), 4_000)]);
        let left = json!({ "by": "Ada", "reason": reason });
        assert_eq!(recorded(&effects, "operator_left"), [left], "{event:?}");
        assert!(effects.contains(&Effect::UnseatOperator) && state.operator().is_none());
        let (_, effects) = run(state, [(LOST, 4_100)]);
        assert!(effects.is_empty(), "told once: {effects:?}");
    }
}

#[test]
fn a_call_whose_time_is_up_waits_for_the_operator() {
    let (state, effects) = run(
        at(CallPhase::Operator),
        [
            (Event::Timer(CallTimer::MaxDuration), 3_000),
            (gives_back(None), 9_000),
            (SILENT, 9_100),
        ],
    );
    assert_eq!(
        (spoken(&effects), state.phase()),
        (vec![rules().phrases.time_is_up], CallPhase::Closing)
    );
}

#[test]
fn a_call_whose_time_is_up_ends_also_if_its_line_breaks_under_the_operator() {
    let overdue = [
        (Event::Timer(CallTimer::MaxDuration), 3_000),
        (midcall::CLOSED, 9_000),
        (Event::MediaOpened, 9_500),
    ];
    let (state, effects) = run(at(CallPhase::Operator), overdue);
    let closes = |effect: &Effect| matches!(effect, Effect::SetTimer(CallTimer::Closing, _));
    assert!(effects.iter().any(closes), "{effects:?}");
    let (_, effects) = run(state, [(Event::Timer(CallTimer::Closing), 30_000)]);
    assert!(midcall::hangs_up(&effects), "{effects:?}");
    // In time, nothing is set.
    let (_, effects) = run(at(CallPhase::Operator), [(midcall::CLOSED, 9_000)]);
    assert!(!effects.iter().any(closes), "{effects:?}");
}

#[test]
fn a_wish_never_to_be_called_again_holds_also_if_an_operator_hears_it() {
    let mut heard = at(CallPhase::Operator);
    heard.rules.smart_opt_out = true;
    let (state, effects) = run(
        heard,
        [(midcall::utterance("Never call me again.", 2_000, 2_500), 3_000)],
    );
    assert!(effects.contains(&Effect::WriteOptOut) && !acts(&effects));
    assert_eq!(
        (turns(&effects), state.phase()),
        (vec!["Never call me again."], CallPhase::Operator)
    );
}

#[test]
fn an_operator_presses_keys_and_has_nothing_said_for_them() {
    let digits = CommandKind::Digits { digits: "1w2".into() };
    let (state, effects) = run(at(CallPhase::Operator), [(command(digits), 4_000)]);
    assert!(effects.contains(&Effect::Press("1w2".into())) && state.phase() == CallPhase::Operator);
    for (kind, named) in [
        (
            say("Hi.", true),
            "the call is `operator`; Ada has it and can speak, or give it back first",
        ),
        (transfer(), "the operator announces the transfer: leave out `message`"),
    ] {
        assert_eq!(state.refusal(&kind).as_deref(), Some(named));
        let (_, effects) = run(state.clone(), [(command(kind), 5_000)]);
        assert!(effects.is_empty(), "{effects:?}");
    }
}

#[test]
fn an_operators_transfer_begins_at_once_and_ends_the_takeover() {
    let (state, effects) = transferring();
    let asked = |effect: &Effect| matches!(effect, Effect::Transfer { try_no: 1, .. });
    assert!(effects.iter().any(asked) && spoken(&effects).is_empty());
    assert_eq!(recorded(&effects, "transfer_wanted").len(), 1);
    assert!(left_for(&effects).is_empty());
    assert_eq!(state.operate_refusal(), Some(OperateRefusal::Taken("Ada".into())));
    // Both still talk, and the agent comforts nobody.
    let (state, effects) = run(
        state,
        [
            (Event::Stream(said("I connect you.", 5_200)), 6_000),
            (midcall::utterance("Thanks.", 6_100, 6_500), 6_600),
            (Event::Timer(CallTimer::Filler), 13_000),
        ],
    );
    assert_eq!(
        (turns(&effects), acts(&effects)),
        (vec!["I connect you.", "Thanks."], false)
    );
    let answered = Event::Progress(CallProgress::Transferred);
    let (state, effects) = run(state, [(answered, 20_000)]);
    assert_eq!(left_for(&effects), ["transferred"]);
    assert!(effects.contains(&Effect::UnseatOperator) && !midcall::hangs_up(&effects));
    let (_, effects) = run(state, [(LOST, 20_100)]);
    assert!(effects.is_empty(), "told once: {effects:?}");
}

#[test]
fn an_operator_keeps_a_call_whose_transfer_failed_while_the_line_stood() {
    let refused = [
        (command(announced_transfer(None)), 5_000),
        (midcall::asked(Err("busy")), 5_100),
    ];
    let (refused, effects) = run(at(CallPhase::Operator), refused);
    let failed = Event::Progress(CallProgress::TransferFailed("busy".into()));
    let (failed, later) = run(transferring().0, [(failed, 20_000)]);
    for (state, effects) in [(refused, effects), (failed, later)] {
        assert_eq!((state.phase(), state.operator()), (CallPhase::Operator, Some("Ada")));
        assert_eq!(recorded(&effects, "transfer_failed").len(), 1);
        assert!(left_for(&effects).is_empty() && !effects.contains(&Effect::UnseatOperator));
        assert!(spoken(&effects).is_empty());
        // The caller may come back over another socket, without the operator.
        let (state, effects) = run(state, [(Event::MediaOpened, 21_000)]);
        assert_eq!((left_for(&effects), state.operator()), (vec!["lost".to_owned()], None));
        assert_eq!(spoken(&effects), [rules().phrases.nobody_there]);
    }
    // Time that was up during the transfer is looked at again afterwards.
    let (state, _) = run(
        transferring().0,
        [
            (Event::Timer(CallTimer::MaxDuration), 6_000),
            (Event::Progress(CallProgress::TransferFailed("busy".into())), 20_000),
        ],
    );
    let (state, _) = run(state, [(LOST, 21_000)]);
    assert_eq!(state.phase(), CallPhase::Closing);
}

#[test]
fn a_transfer_goes_on_without_an_operator_who_is_gone_and_the_agent_is_back_if_it_fails() {
    let closed = Event::Stream(StreamEvent::MediaClosed { clean: true });
    for (event, reason) in [
        (closed, "transferred"),
        (Event::MediaOpened, "transferred"),
        (LOST, "lost"),
        (gives_back(Some("Be kind.")), "given_back"),
    ] {
        let (state, effects) = run(transferring().0, [(event.clone(), 6_000)]);
        assert_eq!(
            (left_for(&effects), state.operator()),
            (vec![reason.to_owned()], None),
            "{event:?}"
        );
        assert!(effects.contains(&Effect::UnseatOperator) && state.phase() == CallPhase::Transferring);
        let failed = Event::Progress(CallProgress::TransferFailed("busy".into()));
        let (state, mut effects) = run(state, [(failed, 20_000)]);
        if state.lacks_media() {
            effects.extend(run(state, [(Event::MediaOpened, 21_000)]).1);
        }
        assert_eq!(spoken(&effects), [rules().phrases.nobody_there], "{event:?}");
    }
}

#[test]
fn a_caller_who_hangs_up_during_an_operators_transfer_ends_the_call() {
    let ended = Event::Progress(CallProgress::Ended(EndCause::Completed));
    for (event, ms) in [(ended, 4_000), (Event::HangUp, 0)] {
        let (state, mut effects) = run(transferring().0, [(event, 6_000)]);
        effects.extend(run(state, [(Event::Timer(CallTimer::Transfer), 6_000 + ms)]).1);
        assert_eq!(left_for(&effects), ["call_ended"], "{effects:?}");
        assert!(recorded(&effects, "transferred").is_empty());
    }
}
