//! Clients' commands to a live call.

use super::{
    midcall::{run, spoken},
    *,
};
use crate::call::{CallCommand, CommandKind};
use domain::{
    agent::NumberTransfer,
    ports::{
        carrier::{Destination, TransferKind},
        language_model::NoteScope,
    },
};

pub(super) fn command(kind: CommandKind) -> Event {
    let by = "rb_key…".to_owned();
    Event::Commanded(Box::new(CallCommand { by, kind }))
}

pub(super) fn say(words: &str, interrupt: bool) -> CommandKind {
    let text = words.to_owned();
    CommandKind::Say { text, interrupt }
}

pub(super) fn transfer() -> CommandKind {
    announced_transfer(Some("I connect you."))
}

pub(super) fn announced_transfer(message: Option<&str>) -> CommandKind {
    let to = json!({ "transferType": "conference", "transferDestination": { "phoneNumber": "+15550100007" } });
    let transfer: NumberTransfer = serde_json::from_value(to).unwrap();
    CommandKind::Transfer {
        transfer,
        message: message.map(str::to_owned),
    }
}

fn instructions(text: &str) -> CommandKind {
    CommandKind::Instructions {
        text: text.to_owned(),
        holds_for: NoteScope::Call,
    }
}

fn whisper(text: &str) -> CommandKind {
    CommandKind::Instructions {
        text: text.to_owned(),
        holds_for: NoteScope::Turn,
    }
}

pub(super) fn notes(state: &State) -> Vec<&str> {
    state.notes().iter().map(|note| note.text.as_str()).collect()
}

pub(super) fn any_command() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => any::<bool>().prop_map(|interrupt| say("One moment.", interrupt)),
        1 => Just(transfer()),
        1 => Just(CommandKind::Digits { digits: "12".into() }),
        1 => Just(instructions("Be kind.")),
        1 => Just(whisper("Be brief.")),
    ]
    .prop_map(command)
}

/// Returns whether an event is a command to press keys.
pub(super) fn presses(event: &Event) -> bool {
    matches!(event, Event::Commanded(command) if matches!(command.kind, CommandKind::Digits { .. }))
}

pub(super) fn over(speech: u64, heard: &str) -> Event {
    Event::Stream(StreamEvent::Session(SessionEvent::SpeakingEnded {
        speech: SpeechId(speech),
        heard: heard.into(),
        at_ms: 4_000,
    }))
}

pub(super) const VOICE: Event = Event::Stream(StreamEvent::Session(SessionEvent::SpeechStarted { at_ms: 1_900 }));

pub(super) fn recorded(effects: &[Effect], name: &str) -> Vec<serde_json::Value> {
    let events = effects.iter().filter_map(|effect| match effect {
        Effect::Record(Fact::Event(event)) if event.name == name => serde_json::from_str(&event.detail).ok(),
        _ => None,
    });
    events.collect()
}

#[test]
fn words_are_said_at_once_to_a_silent_user_and_kept_as_heard() {
    let (state, effects) = run(at(CallPhase::Listening), [(command(say("One moment.", false)), 2_000)]);
    assert_eq!(
        (spoken(&effects), state.phase()),
        (vec!["One moment."], CallPhase::Speaking)
    );
    assert_eq!(
        recorded(&effects, "say"),
        [json!({ "by": "rb_key…", "text": "One moment.", "interrupt": false })]
    );
    let (state, effects) = run(state, [(over(1, "One"), 2_500)]);
    assert_eq!((turns(&effects), state.phase()), (vec!["One"], CallPhase::Listening));
}

#[test]
fn words_wait_for_the_agent_and_for_the_user_and_come_before_the_answer() {
    let (state, effects) = run(
        at(CallPhase::Speaking),
        [
            (command(say("First.", false)), 2_000),
            (command(say("Second.", false)), 2_010),
            (Event::Reply(None), 2_100),
        ],
    );
    assert_eq!(spoken(&effects), Vec::<&str>::new());
    let (state, effects) = run(
        state,
        [
            (ended(1), 3_000),
            (over(2, "First."), 4_000),
            (over(3, "Second."), 5_000),
        ],
    );
    assert_eq!(
        (spoken(&effects), state.phase()),
        (vec!["First.", "Second."], CallPhase::Listening)
    );

    let (state, effects) = run(state, [(VOICE, 5_500), (command(say("By the way.", false)), 5_600)]);
    assert_eq!((spoken(&effects), state.phase()), (vec![], CallPhase::Listening));
    let (state, effects) = run(state, [(said("And the price?"), 6_000)]);
    assert_eq!(
        (spoken(&effects), state.phase()),
        (vec!["By the way."], CallPhase::Speaking)
    );
    assert!(!effects.contains(&Effect::StartReply));
    let (state, effects) = run(state, [(over(4, "By the way."), 7_000)]);
    assert_eq!(
        (effects.contains(&Effect::StartReply), state.phase()),
        (true, CallPhase::Thinking)
    );
}

#[test]
fn words_wait_for_the_greeting_and_a_cough_lets_them_be_said() {
    let (state, _) = run(at(CallPhase::Answered), [(command(say("One moment.", true)), 1_500)]);
    let (state, effects) = run(state, [(Event::Timer(CallTimer::PickUp), 2_000), (ended(0), 3_000)]);
    assert_eq!(
        (spoken(&effects), state.phase()),
        (vec!["Hello.", "One moment."], CallPhase::Speaking)
    );

    let wait = [(VOICE, 2_000), (command(say("One moment.", false)), 2_100)];
    for free in [said(" "), Event::Timer(CallTimer::Turn)] {
        let (state, _) = run(at(CallPhase::Listening), wait.clone());
        let (state, effects) = run(state, [(free.clone(), 2_600), (free, 6_000)]);
        assert_eq!(spoken(&effects), ["One moment."], "{:?}", state.phase());
    }
}

#[test]
fn words_that_interrupt_cut_the_agent_off_and_an_answer_that_was_not_heard_is_made_again() {
    let started = Event::Stream(StreamEvent::Session(SessionEvent::SpeakingStarted {
        speech: SpeechId(1),
        at_ms: 1_500,
        audio_ms: None,
    }));
    for (before, thinks) in [(vec![(started, 1_900)], false), (vec![], true)] {
        let (state, effects) = run(
            at(CallPhase::Speaking),
            before.into_iter().chain([(command(say("Stop.", true)), 2_000)]),
        );
        assert!(effects.contains(&Effect::CancelReply) && effects.contains(&Effect::StopSpeaking));
        assert_eq!(spoken(&effects), Vec::<&str>::new(), "what was heard comes first");
        let (state, effects) = run(state, [(over(1, "A"), 2_100)]);
        assert_eq!((turns(&effects), spoken(&effects)), (vec!["A"], vec!["Stop."]));
        let (_, effects) = run(state, [(over(2, "Stop."), 3_000)]);
        assert_eq!(effects.contains(&Effect::StartReply), thinks);
    }
    let (state, effects) = run(at(CallPhase::Thinking), [(command(say("Stop.", true)), 2_000)]);
    assert!(effects.contains(&Effect::CancelReply));
    assert_eq!((spoken(&effects), state.phase()), (vec!["Stop."], CallPhase::Speaking));
    let (_, effects) = run(state, [(over(1, "Stop."), 3_000)]);
    assert!(effects.contains(&Effect::StartReply));
    let (_, effects) = run(
        at(CallPhase::Greeting),
        [(command(say("Stop.", true)), 2_000), (ended(0), 2_100)],
    );
    assert_eq!((turns(&effects), spoken(&effects)), (vec!["Hello."], vec!["Stop."]));
}

#[test]
fn words_are_said_before_the_agent_hangs_up() {
    let ends = [
        (command(say("One more thing.", false)), 2_000),
        (tool("endCall", json!({})), 2_010),
        (Event::Reply(None), 2_020),
    ];
    let (state, effects) = run(at(CallPhase::Thinking), ends);
    assert_eq!(
        (spoken(&effects), state.phase()),
        (vec!["One more thing."], CallPhase::Speaking)
    );
    let (_, effects) = run(state, [(over(1, "One more thing."), 3_000)]);
    assert!(midcall::hangs_up(&effects), "{effects:?}");
}

#[test]
fn a_transfer_is_announced_and_survives_an_interruption() {
    let (state, effects) = run(at(CallPhase::Listening), [(command(transfer()), 2_000)]);
    assert_eq!(spoken(&effects), ["I connect you."]);
    let wanted = json!({ "by": "rb_key…", "to": "+15550100007", "kind": "conference" });
    assert_eq!(recorded(&effects, "transfer_wanted"), [wanted]);
    assert_eq!(
        state.refusal(&transfer()).as_deref(),
        Some("the call is being transferred already")
    );
    let barged_in = Event::Stream(StreamEvent::Session(SessionEvent::BargedIn {
        speech: SpeechId(1),
        heard: "I".into(),
        at_ms: 2_500,
    }));
    let asked = |effects: &[Effect]| {
        effects.iter().any(|effect| {
            let to = Destination::Phone("+15550100007".parse().unwrap());
            *effect
                == Effect::Transfer {
                    try_no: 1,
                    kind: TransferKind::Conference,
                    to,
                }
        })
    };
    let (heard, effects) = run(state.clone(), [(over(1, "I connect you."), 3_000)]);
    assert!(asked(&effects) && heard.phase() == CallPhase::Transferring);
    let (cut, effects) = run(state, [(barged_in, 2_500)]);
    assert!(!asked(&effects));
    let (cut, effects) = run(cut, [(said("Wait."), 3_000)]);
    assert!(asked(&effects) && cut.phase() == CallPhase::Transferring);
}

#[test]
fn a_transfer_that_the_model_wanted_before_does_not_follow_one_that_failed() {
    let wants = midcall::wants("+15550100001", "");
    let (state, effects) = run(
        at(CallPhase::Speaking),
        [
            (wants, 2_000),
            (Event::Reply(None), 2_010),
            (command(transfer()), 2_020),
            (ended(1), 3_000),
            (over(2, "I connect you."), 4_000),
            (midcall::asked(Err("busy")), 4_100),
            (ended(3), 6_000),
        ],
    );
    let transfers = effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Transfer { .. }));
    assert_eq!((transfers.count(), state.phase()), (1, CallPhase::Listening));
}

#[test]
fn words_of_a_menu_are_forgotten_when_a_client_presses_keys() {
    let heard = (midcall::utterance("For reception.", 0, 3_000), 3_100);
    let next = (midcall::utterance("Press 0.", 7_500, 9_000), 9_100);
    let (_, effects) = run(midcall::menu(), [heard.clone(), next.clone()]);
    assert!(!midcall::pressed(&effects).is_empty(), "one menu");
    let digits = CommandKind::Digits { digits: "3".into() };
    let (state, _) = run(midcall::menu(), [heard, (command(digits), 4_000)]);
    let (_, effects) = run(state, [next]);
    assert!(midcall::pressed(&effects).is_empty(), "another menu");
}

#[test]
fn digits_are_pressed_also_in_a_menu_and_a_note_holds_for_the_rest_of_the_call() {
    let digits = CommandKind::Digits { digits: "12#".into() };
    for state in [at(CallPhase::Speaking), midcall::menu()] {
        assert_eq!(state.refusal(&digits), None);
        let (_, effects) = run(state, [(command(digits.clone()), 4_000)]);
        assert!(effects.contains(&Effect::Press("12#".into())));
        assert_eq!(
            recorded(&effects, "digits"),
            [json!({ "by": "rb_key…", "digits": "12#" })]
        );
    }
    let (state, effects) = run(at(CallPhase::Listening), [(command(instructions("Be kind.")), 2_000)]);
    assert_eq!((notes(&state), state.phase()), (vec!["Be kind."], CallPhase::Listening));
    assert_eq!(
        recorded(&effects, "instructions"),
        [json!({ "by": "rb_key…", "text": "Be kind.", "for": "call" })]
    );
}

#[test]
fn a_note_for_the_turn_is_in_its_requests_only() {
    let both = [
        (command(whisper("Ask once.")), 2_000),
        (command(instructions("Be kind.")), 2_010),
    ];
    let (state, effects) = run(at(CallPhase::Greeting), both);
    assert_eq!(
        recorded(&effects, "instructions")[0],
        json!({ "by": "rb_key…", "text": "Ask once.", "for": "turn" })
    );
    let (state, _) = run(state, [(ended(0), 3_000)]);
    assert_eq!(
        (notes(&state), state.phase()),
        (vec!["Ask once.", "Be kind."], CallPhase::Listening),
        "it waits for a request"
    );
    let (state, effects) = run(state, [(said("Yes?"), 4_000)]);
    assert!(effects.contains(&Effect::StartReply));
    assert_eq!(notes(&state), ["Ask once.", "Be kind."]);
    // Words before the reply is heard have it made anew.
    let (state, effects) = run(state, [(said("Who is it?"), 4_100)]);
    assert!(effects.contains(&Effect::StartReply));
    assert_eq!(notes(&state), ["Ask once.", "Be kind."]);
    let (state, _) = run(
        state,
        [
            (command(whisper("Ask again.")), 4_200),
            (text("It is me. "), 4_300),
            (Event::Reply(None), 4_310),
            (ended(1), 5_000),
        ],
    );
    assert_eq!(
        (notes(&state), state.phase()),
        (vec!["Be kind.", "Ask again."], CallPhase::Listening),
        "the one given after the request waits for the next"
    );
}

#[test]
fn a_call_that_cannot_names_its_state_and_what_waits_is_bounded() {
    for (phase, name) in [
        (CallPhase::Ringing, "`ringing`"),
        (CallPhase::Voicemail, "`voicemail`"),
        (CallPhase::Transferring, "`transferring`"),
        (CallPhase::Closing, "`closing`"),
        (CallPhase::Ended, "`ended`"),
    ] {
        for kind in [
            say("Hi.", true),
            transfer(),
            instructions("Hi."),
            CommandKind::Digits { digits: "1".into() },
        ] {
            let why = at(phase).refusal(&kind).unwrap();
            assert!(why.contains(name), "{why}");
            let (state, effects) = run(at(phase), [(command(kind), 2_000)]);
            assert!(effects.is_empty() && state.notes().is_empty());
        }
    }
    let lost = at(CallPhase::Listening).apply(midcall::CLOSED, 2_000).0;
    assert_eq!(
        lost.refusal(&say("Hi.", true)).as_deref(),
        Some("the call's audio connection is lost")
    );
    let mut state = at(CallPhase::Speaking);
    for _ in 0..10 {
        assert_eq!(state.refusal(&say("Hi.", false)), None);
        state = run(
            state,
            [
                (command(say("Hi.", false)), 2_000),
                (command(instructions("Hi.")), 2_000),
            ],
        )
        .0;
    }
    let why = [say("Hi.", false), transfer(), instructions("Hi.")].map(|kind| state.refusal(&kind).unwrap());
    assert!(why[0] == why[1] && why[0].starts_with("10 texts wait"), "{why:?}");
    assert!(why[2].starts_with("10 instructions"), "{why:?}");
}
