//! Replies that leave the other person in silence. They fail, unless the model skips its turn or ends the call.

use super::*;

const PARDON: &str = "Sorry, could you say that again?";

fn tool(name: &str, arguments: serde_json::Value) -> Event {
    Event::Reply(Some(Ok(ReplyEvent::Tool {
        name: name.into(),
        arguments,
        echo: None,
    })))
}

fn collect() -> Event {
    tool("collect", json!({ "entity": "day", "value": "Monday" }))
}

const OVER: Event = Event::Reply(None);

/// Applies events while the model is asked. Returns the call, the words it said, and how often the model was asked.
fn after(mut state: State, events: Vec<Event>) -> (State, Vec<String>, usize) {
    let (mut said, mut asked) = (Vec::new(), 0);
    for event in events {
        let (next, effects) = state.apply(event, 2_300);
        state = next;
        asked += effects.iter().filter(|effect| **effect == Effect::StartReply).count();
        said.extend(effects.into_iter().filter_map(|effect| match effect {
            Effect::Say(Say { text, .. }) if !text.is_empty() => Some(text),
            _ => None,
        }));
    }
    (state, said, asked)
}

#[test]
fn a_reply_without_a_word_is_apologised_for_and_the_next_one_ends_the_call() {
    for nothing in [vec![OVER], vec![text("… "), text("**"), OVER]] {
        let (state, said, _) = after(at(CallPhase::Thinking), nothing.clone());
        assert_eq!((state.phase(), said), (CallPhase::Speaking, vec![PARDON.to_owned()]));
        let again: Vec<Event> = [ended(1), super::said("What is it?")]
            .into_iter()
            .chain(nothing)
            .collect();
        let (state, said, _) = after(state, again);
        assert_eq!(state.phase(), CallPhase::Closing);
        assert!(said[0].ends_with("Goodbye."), "{said:?}");
    }
}

#[test]
fn a_filler_is_no_reply() {
    let (state, said, _) = after(at(CallPhase::Thinking), vec![Event::Timer(CallTimer::Filler), OVER]);
    assert_eq!(state.phase(), CallPhase::Speaking);
    assert_eq!(said, ["One moment, please. ", PARDON]);
}

#[test]
fn a_model_that_only_calls_tools_is_told_a_few_times_and_has_failed_then() {
    for call in [collect(), tool("nonsense", json!({}))] {
        let rounds = (0..4).flat_map(|_| [call.clone(), OVER]).collect();
        let (state, said, asked) = after(at(CallPhase::Thinking), rounds);
        assert_eq!((state.phase(), asked), (CallPhase::Speaking, 3));
        assert_eq!(said, [PARDON]);
        let events = [ended(1), super::said("What is it?"), call, OVER, OVER].into();
        let (state, ..) = after(state, events);
        assert_eq!(
            state.phase(),
            CallPhase::Closing,
            "tools alone do not make up for a failure"
        );
    }
}

#[test]
fn who_skips_a_turn_or_ends_the_call_may_be_silent() {
    let skip = || tool("skipTurn", json!({}));
    for events in [
        vec![skip(), OVER],
        vec![collect(), skip(), OVER],
        vec![collect(), OVER, skip(), OVER],
    ] {
        let (state, said, _) = after(at(CallPhase::Thinking), events);
        assert_eq!((state.phase(), said), (CallPhase::Listening, Vec::new()));
    }
    let (state, said, _) = after(at(CallPhase::Thinking), vec![tool("endCall", json!({})), OVER]);
    assert_eq!((state.phase(), said), (CallPhase::Closing, Vec::new()));
}

#[test]
fn nothing_made_ahead_is_discarded_and_counts_as_no_failure() {
    let paused = Event::Stream(StreamEvent::Session(SessionEvent::TurnPaused {
        text: "What is it?".into(),
        at_ms: 2_100,
    }));
    let turn = || vec![paused.clone(), OVER, super::said("What is it?")];
    let (mut state, said, asked) = after(at(CallPhase::Listening), turn());
    assert_eq!((state.phase(), said.len(), asked), (CallPhase::Thinking, 0, 2));
    for _ in 0..3 {
        let (next, said, asked) = after(state, vec![text("A survey. "), OVER, ended(1)]);
        assert_eq!((said.as_slice(), asked), (["A survey. ".to_owned()].as_slice(), 0));
        state = after(next, turn()).0;
    }
    let (state, said, _) = after(state, vec![OVER]);
    assert_eq!((state.phase(), said), (CallPhase::Speaking, vec![PARDON.to_owned()]));
}

#[test]
fn a_model_ends_a_call_only_with_its_tool_or_for_an_opt_out_that_is_honoured() {
    for (enabled, honours, reason, ends) in [
        (true, false, "completed", true),
        (false, false, "completed", false),
        (false, false, "opt_out", false),
        (false, true, "completed", false),
        (false, true, "opt_out", true),
    ] {
        let mut state = at(CallPhase::Thinking);
        (state.rules.end_call, state.rules.smart_opt_out) = (enabled, honours);
        let (state, ..) = after(state, vec![tool("endCall", json!({ "reason": reason })), OVER]);
        assert_eq!(
            state.phase() == CallPhase::Closing,
            ends,
            "{enabled} {honours} {reason}"
        );
    }
}
