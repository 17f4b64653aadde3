//! Replies made ahead: when they become the reply, when they are discarded, and that nothing of them is said,
//! kept or done before that.

use super::*;

fn paused(text: &str) -> Event {
    Event::Stream(StreamEvent::Session(SessionEvent::TurnPaused {
        text: text.into(),
        at_ms: 2_100,
    }))
}

fn resumed() -> Event {
    Event::Stream(StreamEvent::Session(SessionEvent::TurnResumed { at_ms: 2_200 }))
}

fn tool(name: &str, arguments: serde_json::Value) -> Event {
    Event::Reply(Some(Ok(ReplyEvent::Tool {
        name: name.into(),
        arguments,
        echo: None,
    })))
}

/// Applies events in order to a call in which the user has the turn, and returns their effects.
fn after(events: Vec<Event>) -> (State, Vec<Effect>) {
    let (mut state, mut all) = (at(CallPhase::Listening), Vec::new());
    for event in events {
        let (next, effects) = state.apply(event, 2_300);
        state = next;
        all.extend(effects);
    }
    (state, all)
}

fn asks(effects: &[Effect]) -> usize {
    effects.iter().filter(|effect| **effect == Effect::StartReply).count()
}

fn names(effects: &[Effect]) -> Vec<&str> {
    let names = effects.iter().filter_map(|effect| match effect {
        Effect::Record(Fact::Event(event)) => Some(event.name.as_str()),
        _ => None,
    });
    names.collect()
}

/// Returns the words said, and whether they were held.
fn says(effects: &[Effect]) -> Vec<(&str, bool)> {
    let says = effects.iter().filter_map(|effect| match effect {
        Effect::Say(Say { text, held, .. }) if !text.is_empty() => Some((text.as_str(), *held)),
        _ => None,
    });
    says.collect()
}

#[test]
fn the_model_is_asked_in_the_pause_on_words_that_the_history_does_not_hold() {
    let (state, effects) = after(vec![paused("What is it?")]);
    assert_eq!(asks(&effects), 1);
    assert_eq!(state.phase(), CallPhase::Listening);
    assert_eq!(state.asked().len(), state.history().items().len() + 1);
    assert!(matches!(
        state.asked().last(),
        Some(HistoryItem::Said { text, .. }) if text == "What is it?"
    ));
}

#[test]
fn a_turn_that_ends_with_the_same_words_releases_what_was_made_ahead() {
    let (state, effects) = after(vec![
        paused("what is it"),
        text("A survey. It is short. "),
        Event::Reply(None),
        said("What is it?"),
    ]);
    assert_eq!(says(&effects), [("A survey. ", true), ("It is short. ", false)]);
    assert_eq!(
        effects.iter().filter(|e| **e == Effect::Release(SpeechId(1))).count(),
        1
    );
    assert_eq!(asks(&effects), 1);
    assert_eq!(state.phase(), CallPhase::Speaking);
    assert!(names(&effects).contains(&"speculation_used") && !names(&effects).contains(&"speculation_wasted"));
    assert_eq!(turns(&effects), ["What is it?"]);
}

#[test]
fn a_reply_under_way_goes_on_after_the_turn_has_ended() {
    let (state, effects) = after(vec![paused("What is it?"), said("What is it?")]);
    assert_eq!((asks(&effects), state.phase()), (1, CallPhase::Thinking));
    let (state, effects) = state.apply(text("A survey. "), 2_500);
    assert_eq!(says(&effects), [("A survey. ", false)]);
    assert_eq!(state.phase(), CallPhase::Speaking);
}

#[test]
fn other_words_or_more_voice_discard_it() {
    for (end, why) in [
        (said("What is it for?"), "other_words"),
        (said("What is 3.5?"), "other_words"),
        (paused("What is it really"), "other_words"),
        (not_understood(), "other_words"),
        (resumed(), "resumed"),
        (Event::Timer(CallTimer::Turn), "overtaken"),
        (Event::Timer(CallTimer::MaxDuration), "overtaken"),
        (found(Verdict::Voicemail, Reason::MachineWords), "overtaken"),
        (Event::HangUp, "overtaken"),
        (Event::Stream(StreamEvent::MediaClosed { clean: false }), "overtaken"),
    ] {
        let (state, effects) = after(vec![paused("What is 35?"), text("A survey. It"), end.clone()]);
        let detail = effects.iter().find_map(|effect| match effect {
            Effect::Record(Fact::Event(event)) if event.name == "speculation_wasted" => Some(event.detail.clone()),
            _ => None,
        });
        let detail: serde_json::Value = serde_json::from_str(&detail.unwrap_or_default()).unwrap();
        assert_eq!(detail["why"], why, "{end:?}");
        assert_eq!(detail["characters"], 12);
        assert_eq!(detail["tokens"], 3);
        assert_eq!(detail["voiceCharacters"], 10);
        assert!(effects.contains(&Effect::StopSpeaking) && effects.contains(&Effect::CancelReply));
        assert!(
            !effects.iter().any(|effect| matches!(effect, Effect::Release(_))),
            "{end:?}"
        );
        assert!(!turns(&effects).contains(&"A survey."));
        assert!(state.early.is_none() || end == paused("What is it really"));
    }
}

#[test]
fn tools_wait_for_the_end_of_the_turn() {
    let opted = || {
        vec![
            paused("No more of this."),
            tool("collect", json!({ "entity": "mood", "value": "bad" })),
            text("Understood. "),
            tool("endCall", json!({ "reason": "opt_out" })),
            Event::Reply(None),
        ]
    };
    let agent = || {
        let mut state = at(CallPhase::Listening);
        state.rules.smart_opt_out = true;
        state
    };
    let run = |events: Vec<Event>| {
        events
            .into_iter()
            .fold((agent(), Vec::new()), |(state, mut all), event| {
                let (state, effects) = state.apply(event, 2_300);
                all.extend(effects);
                (state, all)
            })
    };
    let (state, effects) = run(opted());
    assert!(!effects.contains(&Effect::WriteOptOut));
    assert!(state.history().collected().is_empty());
    let items = state.history().items().len();
    let (state, effects) = run(opted()
        .into_iter()
        .chain([resumed(), said("No more of this?")])
        .collect());
    assert!(effects.contains(&Effect::StartReply) && !effects.contains(&Effect::WriteOptOut));
    assert_eq!(state.history().items().len(), items + 1);
    let (state, effects) = run(opted().into_iter().chain([said("no more of this")]).collect());
    assert!(effects.contains(&Effect::WriteOptOut));
    assert_eq!(state.history().items().len(), items + 3);
    assert_eq!(state.history().collected().len(), 1);
    let (state, effects) = state.apply(ended(1), 3_000);
    assert_eq!(state.phase(), CallPhase::Closing, "{effects:?}");
}

#[test]
fn what_fails_ahead_costs_nothing_and_the_turn_asks_anew() {
    let error = SpeechError::Unavailable("x".into());
    let voice = Event::Stream(StreamEvent::SpeechFailed {
        speech: SpeechId(1),
        error,
    });
    let model = Event::Reply(Some(Err(LanguageError::Busy { retry_after: None })));
    for failure in [model, voice] {
        let (state, effects) = after(vec![paused("What is it?"), text("A survey. "), failure.clone()]);
        assert_eq!(state.phase(), CallPhase::Listening, "{failure:?}");
        assert_eq!(says(&effects), [("A survey. ", true)]);
        let (state, effects) = state.apply(said("What is it?"), 2_400);
        assert_eq!((asks(&effects), state.phase()), (1, CallPhase::Thinking));
        let (_, effects) = state.apply(
            Event::Reply(Some(Err(LanguageError::Busy { retry_after: None }))),
            2_500,
        );
        assert_eq!(says(&effects).len(), 1, "an apology, not the end of the call");
    }
}

#[test]
fn a_turn_has_three_tries_each_warier_and_the_next_turn_has_three_again() {
    let words = ["One.", "One two.", "One two three.", "One two three four."];
    let (mut state, mut waits, mut asked) = (at(CallPhase::Listening), Vec::new(), 0);
    for text in words {
        let (next, effects) = state.apply(paused(text), 2_000);
        asked += asks(&effects);
        let wait = effects.iter().find_map(|effect| match effect {
            Effect::SetTimer(CallTimer::Speculate, ms) => Some(*ms),
            _ => None,
        });
        waits.push(wait);
        let (next, effects) = next.apply(Event::Timer(CallTimer::Speculate), 2_100);
        asked += asks(&effects);
        state = next.apply(resumed(), 2_200).0;
    }
    assert_eq!(waits, [None, Some(100), Some(200), None]);
    assert_eq!(asked, 3);
    let state = state.apply(said("One two three four five."), 3_000).0;
    let state = state.apply(tool("skipTurn", json!({})), 3_000).0;
    let state = state.apply(Event::Reply(None), 3_000).0;
    assert_eq!(asks(&state.apply(paused("Again."), 4_000).1), 1);
}

#[test]
fn words_that_more_will_follow_wait_longer_and_voice_ends_the_wait() {
    for words in ["my number is", "five five one", "I want to"] {
        let (state, effects) = after(vec![paused(words)]);
        assert!(
            effects.contains(&Effect::SetTimer(CallTimer::Speculate, 500)),
            "{words}"
        );
        let (state, effects) = state.apply(resumed(), 2_500);
        assert_eq!(effects, [Effect::CancelTimer(CallTimer::Speculate)]);
        assert_eq!(asks(&state.apply(Event::Timer(CallTimer::Speculate), 2_600).1), 0);
    }
}

#[test]
fn the_setting_says_how_far_it_goes() {
    for (mode, asked, held) in [
        (crate::call::Speculation::Off, 0, 0),
        (crate::call::Speculation::Text, 1, 0),
        (crate::call::Speculation::Voice, 1, 1),
    ] {
        let mut state = at(CallPhase::Listening);
        state.rules.speculation = mode;
        let (state, effects) = state.apply(paused("What is it?"), 2_000);
        assert_eq!(asks(&effects), asked, "{mode:?}");
        let (state, effects) = state.apply(text("A survey. "), 2_000);
        assert_eq!(says(&effects).len(), held, "{mode:?}");
        let (_, effects) = state.apply(said("What is it?"), 2_000);
        assert_eq!(asks(&effects), 1 - asked, "{mode:?}");
        let said_now = says(&effects).len();
        assert_eq!(
            said_now,
            usize::from(mode == crate::call::Speculation::Text),
            "{mode:?}"
        );
    }
}

#[test]
fn only_while_the_user_has_the_turn() {
    for phase in PHASES {
        let (_, effects) = at(phase).apply(paused("What is it?"), 2_000);
        assert_eq!(asks(&effects), usize::from(phase == CallPhase::Listening), "{phase:?}");
    }
}

fn any_pause() -> impl Strategy<Value = Event> {
    let words = || {
        prop::sample::select(vec![
            "yes",
            "Yes.",
            "no",
            "my number is",
            "leave a message after the tone",
        ])
    };
    prop_oneof![
        4 => words().prop_map(paused),
        1 => Just(resumed()),
        2 => words().prop_map(said),
        2 => Just(Event::Timer(CallTimer::Speculate)),
        2 => Just(text("Well, this is it. And so on. ")),
        1 => Just(tool("endCall", json!({ "reason": "opt_out" }))),
        1 => Just(Event::Reply(None)),
    ]
}

fn is_reply(event: &Event) -> bool {
    matches!(event, Event::Reply(_))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn nothing_of_a_reply_made_ahead_is_said_kept_or_done(
        events in prop::collection::vec(prop_oneof![2 => any_pause(), 1 => any_event()], 0..80),
    ) {
        let mut state = at(CallPhase::Listening);
        state.rules.smart_opt_out = true;
        let mut held: Option<SpeechId> = None;
        for (n, event) in events.into_iter().enumerate() {
            let ahead = state.early.is_some();
            let items = state.history().items().to_vec();
            let (next, effects) = state.apply(event.clone(), n as u64 * 100);
            state = next;
            if ahead && is_reply(&event) {
                prop_assert_eq!(state.history().items(), items.as_slice());
                prop_assert!(!effects.contains(&Effect::WriteOptOut) && turns(&effects).is_empty());
                prop_assert_eq!(state.phase(), CallPhase::Listening);
            }
            for effect in effects {
                match effect {
                    Effect::Say(Say { speech, held: true, .. }) => {
                        prop_assert_eq!(held, None, "two replies alive after {:?}", event);
                        held = Some(speech);
                    }
                    Effect::Say(_) => prop_assert_eq!(held, None, "{:?} speaks past what is held", event),
                    Effect::Release(speech) => {
                        prop_assert_eq!(held, Some(speech));
                        held = None;
                    }
                    Effect::StopSpeaking => held = None,
                    _ => {}
                }
            }
            prop_assert_eq!(held, state.early.as_ref().and_then(EarlyReply::held));
            prop_assert!(state.early.is_none() || state.phase() == CallPhase::Listening, "{:?}", event);
        }
    }

    /// Whatever happened, once no further event comes from outside, the call's own timers end it.
    #[test]
    fn a_call_around_which_all_falls_silent_still_ends(
        events in prop::collection::vec(prop_oneof![1 => any_pause(), 2 => any_event()], 0..60),
        from in 0..PHASES.len(),
    ) {
        let (mut state, first) = State::new(rules());
        let mut timers = std::collections::BTreeMap::new();
        let mut now_ms = 0;
        set(&mut timers, &first, now_ms);
        // A permit, a dial and an operator have limits of their own, after which they report.
        let limits = [
            Event::Permitted(PermitAnswer::Unanswered),
            Event::Dialed(Err(DialError::Unknown("?".into()))),
            Event::OperatorLeft(OperatorLeft::Lost),
            Event::Stream(StreamEvent::OperatorSilent),
        ];
        for event in way_to(PHASES[from]).into_iter().chain(events).chain(limits) {
            now_ms += 100;
            if let Event::Timer(timer) = event
                && timers.remove(&format!("{timer:?}")).is_none()
            {
                continue;
            }
            let (next, effects) = state.apply(event, now_ms);
            state = next;
            set(&mut timers, &effects, now_ms);
        }
        for _ in 0..10_000 {
            let Some((name, (due_ms, timer))) = timers.iter().min_by_key(|(_, (due, _))| *due).map(|(n, t)| (n.clone(), *t)) else {
                break;
            };
            timers.remove(&name);
            now_ms = now_ms.max(due_ms);
            let (next, effects) = state.apply(Event::Timer(timer), now_ms);
            state = next;
            set(&mut timers, &effects, now_ms);
        }
        prop_assert_eq!(state.phase(), CallPhase::Ended);
    }
}

/// The first words may begin before the closing sentence is due and end after it.
#[test]
fn time_that_is_up_before_the_greeting_ends_the_call_all_the_same() {
    let mut state = at(CallPhase::Answered);
    for event in [
        Event::Timer(CallTimer::MaxDuration),
        Event::Timer(CallTimer::PickUp),
        Event::Timer(CallTimer::Closing),
    ] {
        state = state.apply(event, 2_000).0;
    }
    assert_eq!(state.phase(), CallPhase::Closing);
}

fn set(timers: &mut std::collections::BTreeMap<String, (u64, CallTimer)>, effects: &[Effect], now_ms: u64) {
    for effect in effects {
        match effect {
            Effect::SetTimer(timer, after_ms) => {
                timers.insert(format!("{timer:?}"), (now_ms + after_ms, *timer));
            }
            Effect::CancelTimer(timer) => {
                timers.remove(&format!("{timer:?}"));
            }
            _ => {}
        }
    }
}
