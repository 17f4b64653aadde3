//! The effect of each verdict on who answered in each phase, and the reaction of each kind of machine to each event.

use super::*;

/// Returns rules with the message "Call us.", or without a message.
fn with_message(message: bool) -> Rules {
    Rules {
        voicemail_message: message.then(|| "Call us.".to_owned()),
        introduction: "This is Ava.".into(),
        ..rules()
    }
}

/// Returns a call that was answered in silence, has greeted, and now has this machine on the line.
fn machine(verdict: Verdict, reason: Reason) -> State {
    let (mut state, _) = State::new(with_message(true));
    for event in way_to(CallPhase::Listening) {
        state = state.apply(event, 1_000).0;
    }
    state.apply(found(verdict, reason), 3_000).0
}

fn said_texts(effects: &[Effect]) -> Vec<&str> {
    let texts = effects.iter().filter_map(|effect| match effect {
        Effect::Say(Say { text, .. }) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Returns an utterance from 4 to 5 s of the stream.
fn later(text: &str) -> Event {
    Event::Stream(StreamEvent::Session(SessionEvent::UtteranceEnded(Utterance {
        text: text.into(),
        damaged: false,
        started_ms: 4_000,
        ended_ms: 5_000,
        final_ms: None,
    })))
}

fn beep() -> Event {
    Event::Stream(StreamEvent::Session(SessionEvent::BeepEnded { at_ms: 4_000 }))
}

fn voice() -> Event {
    Event::Stream(StreamEvent::Session(SessionEvent::SpeechStarted { at_ms: 4_000 }))
}

const TALKING: [CallPhase; 5] = [
    CallPhase::Answered,
    CallPhase::Greeting,
    CallPhase::Listening,
    CallPhase::Thinking,
    CallPhase::Speaking,
];

#[test]
fn a_machine_stops_the_agent_in_every_phase_of_the_conversation() {
    for phase in TALKING {
        for (verdict, reason) in [
            (Verdict::Voicemail, Reason::MachineWords),
            (Verdict::Ivr, Reason::Menu),
            (Verdict::Ivr, Reason::Screening),
        ] {
            let (state, effects) = at(phase).apply(found(verdict, reason), 3_000);
            assert_eq!(state.phase(), CallPhase::Voicemail, "{verdict:?} in {phase:?}");
            assert!(effects.contains(&Effect::CancelReply), "{verdict:?} in {phase:?}");
            let speaks = matches!(phase, CallPhase::Greeting | CallPhase::Speaking);
            assert_eq!(
                effects.contains(&Effect::StopSpeaking),
                speaks,
                "{verdict:?} in {phase:?}"
            );
            assert!(!effects.contains(&Effect::StartReply));
        }
    }
}

#[test]
fn a_verdict_outside_the_conversation_does_nothing() {
    let talking = |phase: &CallPhase| TALKING.contains(phase) || *phase == CallPhase::Voicemail;
    for phase in PHASES.into_iter().filter(|phase| !talking(phase)) {
        let (state, effects) = at(phase).apply(found(Verdict::Voicemail, Reason::MachineWords), 3_000);
        assert_eq!((state.phase(), effects), (phase, Vec::new()));
    }
}

#[test]
fn a_person_or_nobody_changes_nothing_of_a_conversation() {
    for phase in TALKING {
        for (verdict, reason) in [
            (Verdict::Human, Reason::ShortAndWaits),
            (Verdict::Unknown, Reason::Silence),
        ] {
            let (state, effects) = at(phase).apply(found(verdict, reason), 3_000);
            assert_eq!(state.phase(), phase);
            assert!(
                effects.iter().all(|effect| matches!(effect, Effect::Record(_))),
                "{effects:?}"
            );
        }
    }
}

#[test]
fn an_announcement_ends_the_call_and_counts_as_a_mailbox_if_the_callee_exists() {
    for (reason, counts) in [
        (Reason::MailboxFull, true),
        (Reason::NotReachable, true),
        (Reason::NotInService, false),
        (Reason::SpecialTones, false),
    ] {
        let state = machine(Verdict::Unavailable, reason);
        assert_eq!(state.phase(), CallPhase::Closing);
        let (_, effects) = state.apply(Event::Timer(CallTimer::EndReport), 5_000);
        let [Ending::Outcome(outcome)] = &finishes(&effects)[..] else {
            panic!("no outcome: {effects:?}");
        };
        assert_eq!((outcome.status.as_str(), outcome.voicemail), ("completed", counts));
    }
}

/// Returns the words after `event` for each machine: a mailbox that is waited for, a message without and with
/// a beep, a menu, an assistant.
fn answers(event: &Event) -> [(Vec<String>, CallPhase); 5] {
    let waiting = || machine(Verdict::Voicemail, Reason::MachineWords);
    let states = [
        waiting(),
        waiting().apply(Event::Timer(CallTimer::Quiet), 3_500).0,
        waiting().apply(beep(), 3_500).0,
        machine(Verdict::Ivr, Reason::Menu),
        machine(Verdict::Ivr, Reason::Screening),
    ];
    states.map(|state| {
        let (state, effects) = state.apply(event.clone(), 5_200);
        let said = said_texts(&effects).into_iter().map(str::to_owned).collect();
        (said, state.phase())
    })
}

#[test]
fn every_machine_knows_what_each_event_means() {
    use CallPhase::{Closing as C, Greeting as G, Voicemail as V};
    const MESSAGE: &[&str] = &["Call us."];
    const GREETING: &[&str] = &["Hello."];
    const NAME: &[&str] = &["This is Ava."];
    const NOTHING: &[&str] = &[];
    let picked_up = found(Verdict::Human, Reason::PickedUp);
    let lost = Event::Stream(StreamEvent::MediaClosed { clean: true });
    let (quiet, limit) = (Event::Timer(CallTimer::Quiet), Event::Timer(CallTimer::Machine));
    let table = [
        (
            "a beep",
            beep(),
            [(MESSAGE, V), (MESSAGE, V), (NOTHING, V), (NOTHING, V), (NOTHING, V)],
        ),
        (
            "silence",
            quiet,
            [(MESSAGE, V), (NOTHING, V), (NOTHING, V), (NOTHING, V), (GREETING, G)],
        ),
        (
            "its time is over",
            limit,
            [(MESSAGE, V), (NOTHING, V), (NOTHING, V), (NOTHING, C), (NOTHING, C)],
        ),
        (
            "somebody picked up",
            picked_up,
            [(GREETING, G), (GREETING, G), (GREETING, G), (GREETING, G), (NOTHING, V)],
        ),
        (
            "please hold",
            later("One moment, please."),
            [(NOTHING, V), (NOTHING, V), (NOTHING, V), (NOTHING, V), (NOTHING, V)],
        ),
        (
            "asked again",
            later("Sorry, who is calling?"),
            [(NOTHING, V), (NOTHING, V), (NOTHING, V), (NOTHING, V), (NAME, V)],
        ),
        (
            "a hello",
            later("Hello, this is Bo."),
            [(NOTHING, V), (NOTHING, V), (NOTHING, V), (NOTHING, V), (GREETING, G)],
        ),
        (
            "it hung up",
            lost,
            [(NOTHING, C), (NOTHING, C), (NOTHING, C), (NOTHING, C), (NOTHING, C)],
        ),
    ];
    for (name, event, expected) in table {
        let found = answers(&event);
        for ((said, phase), (texts, wanted)) in found.iter().zip(expected) {
            let phase = if *phase == CallPhase::Ended { C } else { *phase };
            assert_eq!(
                (said, phase),
                (&texts.iter().map(|t| (*t).to_owned()).collect(), wanted),
                "{name}"
            );
        }
    }
}

#[test]
fn a_machine_without_a_message_is_hung_up_on() {
    let (mut state, _) = State::new(with_message(false));
    for event in way_to(CallPhase::Greeting) {
        state = state.apply(event, 1_000).0;
    }
    let (state, effects) = state.apply(found(Verdict::Voicemail, Reason::MachineWords), 3_000);
    assert_eq!(state.phase(), CallPhase::Closing);
    assert!(said_texts(&effects).is_empty() && effects.iter().any(|e| matches!(e, Effect::HangUpLeg(_))));
}

#[test]
fn a_beep_before_the_verdict_counts_unless_voice_followed_it() {
    let start = at(CallPhase::Answered).apply(beep(), 2_000).0;
    let verdict = found(Verdict::Voicemail, Reason::MachineWords);
    let (_, effects) = start.clone().apply(verdict.clone(), 3_000);
    assert_eq!(said_texts(&effects), ["Call us."]);
    let (_, effects) = start.apply(voice(), 2_500).0.apply(verdict, 3_000);
    assert!(said_texts(&effects).is_empty(), "{effects:?}");
}

#[test]
fn an_assistant_is_told_twice_at_most_and_its_question_is_answered_once() {
    let mut state = machine(Verdict::Ivr, Reason::Screening);
    // The question itself, reported after the verdict on it.
    let question = Event::Stream(StreamEvent::Session(SessionEvent::UtteranceEnded(Utterance {
        text: "Who is calling, and why?".into(),
        damaged: false,
        started_ms: 500,
        ended_ms: 1_800,
        final_ms: None,
    })));
    let (next, effects) = state.apply(question, 3_000);
    assert!(said_texts(&effects).is_empty(), "{effects:?}");
    state = next;
    let (next, effects) = state.apply(later("Who is it? Why are you calling?"), 3_500);
    assert_eq!(said_texts(&effects), ["This is Ava."]);
    let (_, effects) = next.apply(later("Who is it?"), 3_500);
    assert_eq!(said_texts(&effects), ["Hello."], "then whoever asks is spoken to");
}

#[test]
fn every_verdict_is_kept_as_a_fact() {
    let (_, effects) = at(CallPhase::Greeting).apply(found(Verdict::Ivr, Reason::Menu), 3_000);
    let facts: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Record(Fact::Event(fact)) if fact.name == "amd" => Some(fact.detail.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(facts, [r#"{"verdict":"ivr","reason":"menu","atMs":2500}"#]);
}
