//! Tools that run outside the call: who speaks meanwhile, and when the model gets which results.

use super::{midcall::*, *};
use domain::ports::language_model::HistoryItem;

fn offered(state: State) -> State {
    state.apply(Event::ToolsOffered(vec!["lookUp".into()]), 1_000).0
}

fn look_up() -> Event {
    tool("lookUp", json!({ "q": "x" }))
}

fn answered(run: u64, result: Result<serde_json::Value, &str>) -> Event {
    Event::ToolAnswered(ToolAnswer {
        run,
        result: result.map_err(str::to_owned),
        took_ms: 40,
    })
}

fn asks(effects: &[Effect]) -> usize {
    effects.iter().filter(|effect| **effect == Effect::StartReply).count()
}

fn runs(effects: &[Effect]) -> Vec<u64> {
    let runs = effects.iter().filter_map(|effect| match effect {
        Effect::RunTool { run, .. } => Some(*run),
        _ => None,
    });
    runs.collect()
}

fn results(state: &State) -> Vec<serde_json::Value> {
    let items = state.history().items().iter();
    let results = items.filter_map(|item| match item {
        HistoryItem::Tool { result, .. } => Some(result.clone()),
        _ => None,
    });
    results.collect()
}

#[test]
fn a_silent_reply_waits_for_its_tools_with_fillers_and_the_model_is_asked_on_the_result() {
    let (state, effects) = run(
        offered(at(CallPhase::Thinking)),
        [(look_up(), 2_000), (Event::Reply(None), 2_010)],
    );
    assert_eq!((runs(&effects), asks(&effects)), (vec![1], 0));
    assert_eq!(state.phase(), CallPhase::Thinking);
    assert_eq!(results(&state)[0]["status"], "running");
    let (state, effects) = run(state, [(Event::Timer(CallTimer::Filler), 3_600)]);
    assert_eq!(spoken(&effects), ["One moment, please. "]);
    let (state, effects) = run(state, [(answered(1, Ok(json!({ "price": 60 }))), 4_000)]);
    assert_eq!(asks(&effects), 1);
    assert_eq!(results(&state), [json!({ "price": 60 })]);
    let (state, effects) = run(
        state,
        [(text("It is sixty euros. "), 4_200), (Event::Reply(None), 4_300)],
    );
    assert_eq!(spoken(&effects), ["It is sixty euros. "]);
    assert_eq!(state.phase(), CallPhase::Speaking);
}

#[test]
fn words_with_the_call_are_heard_before_the_result_is_told() {
    let said = [
        (text("Let me look. "), 1_990),
        (look_up(), 2_000),
        (Event::Reply(None), 2_010),
    ];
    // The result comes while the words play, and after them.
    let (state, effects) = run(offered(at(CallPhase::Thinking)), said);
    assert_eq!(spoken(&effects), ["Let me look. "]);
    let (during, effects) = run(state.clone(), [(answered(1, Ok(json!(1))), 2_100)]);
    assert_eq!((asks(&effects), during.phase()), (0, CallPhase::Speaking));
    let (_, effects) = run(during, [(ended(1), 3_000)]);
    assert_eq!(asks(&effects), 1);
    let (after, effects) = run(state, [(ended(1), 3_000)]);
    assert_eq!((asks(&effects), after.phase()), (0, CallPhase::Thinking));
    let (_, effects) = run(after, [(answered(1, Err("no answer within 100 ms")), 3_500)]);
    assert_eq!(asks(&effects), 1);
}

#[test]
fn who_speaks_meanwhile_is_answered_and_the_result_is_kept() {
    let (state, _) = run(
        offered(at(CallPhase::Thinking)),
        [(look_up(), 2_000), (Event::Reply(None), 2_010)],
    );
    let (state, effects) = run(state, [(said("Are you there?"), 2_600)]);
    assert_eq!(asks(&effects), 1, "the words are answered at once");
    let (state, effects) = run(state, [(answered(1, Ok(json!("late"))), 2_700)]);
    assert_eq!(asks(&effects), 0, "a reply is being made");
    assert_eq!(results(&state), [json!("late")]);
    let (_, effects) = run(
        state,
        [(text("I am. "), 2_800), (Event::Reply(None), 2_810), (ended(1), 3_500)],
    );
    assert_eq!(asks(&effects), 1, "and the result is told after it");
}

#[test]
fn a_result_that_lands_while_the_user_listens_is_told_and_over_his_voice_kept() {
    let barge_in = |speech| {
        Event::Stream(StreamEvent::Session(SessionEvent::BargedIn {
            speech: SpeechId(speech),
            heard: "Let".into(),
            at_ms: 2_200,
        }))
    };
    let (state, _) = run(
        offered(at(CallPhase::Thinking)),
        [
            (text("Let me look. "), 1_990),
            (look_up(), 2_000),
            (Event::Reply(None), 2_010),
            (barge_in(1), 2_200),
        ],
    );
    assert_eq!(state.phase(), CallPhase::Listening);
    let (kept, effects) = run(state, [(answered(1, Ok(json!(7))), 2_300)]);
    assert_eq!((asks(&effects), results(&kept)), (0, vec![json!(7)]), "he is speaking");
    let (_, effects) = run(kept, [(said("Wait."), 2_900)]);
    assert_eq!(asks(&effects), 1);
}

#[test]
fn rounds_and_runs_are_bounded() {
    let mut state = offered(at(CallPhase::Thinking));
    let (mut asked, mut run_no) = (0, 0);
    for round in 0..10u64 {
        let now_ms = 2_000 + round * 100;
        let (next, effects) = run(state, [(look_up(), now_ms), (Event::Reply(None), now_ms + 10)]);
        state = next;
        asked += asks(&effects);
        for number in runs(&effects) {
            run_no = number;
            let (next, effects) = run(state, [(answered(number, Ok(json!(1))), now_ms + 20)]);
            state = next;
            asked += asks(&effects);
        }
    }
    assert_eq!((run_no, asked), (3, 3), "then the agent says that it has no answer");
    let many = (0..10).map(|n| (look_up(), 2_000 + n));
    let (state, effects) = run(offered(at(CallPhase::Thinking)), many);
    assert_eq!(runs(&effects), [1, 2, 3, 4]);
    assert_eq!(results(&state).len(), 10);
}

#[test]
fn what_is_not_offered_or_already_answered_does_nothing() {
    let (state, effects) = run(at(CallPhase::Thinking), [(look_up(), 2_000)]);
    assert!(runs(&effects).is_empty());
    assert_eq!(results(&state), [json!({ "error": "not available" })]);
    let (state, effects) = run(state, [(answered(1, Ok(json!(1))), 2_100)]);
    assert!(effects.is_empty() && results(&state).len() == 1);
    let (_, effects) = run(
        offered(state),
        [
            (tool("lookUp", json!("no object")), 2_200),
            (tool("lookup", json!({})), 2_210),
        ],
    );
    assert!(runs(&effects).is_empty());
}

#[test]
fn last_words_are_not_held_up_by_a_tool() {
    let goodbye = [
        (look_up(), 2_000),
        (text("Goodbye. "), 2_010),
        (tool("endCall", json!({ "reason": "goodbye" })), 2_020),
        (Event::Reply(None), 2_030),
        (ended(1), 3_000),
    ];
    let (_, effects) = run(offered(at(CallPhase::Thinking)), goodbye);
    assert!(hangs_up(&effects));
}

#[test]
fn a_result_does_not_take_the_answer_to_the_question_whether_they_opt_out() {
    for (filled, during) in [(false, true), (false, false), (true, true), (true, false)] {
        let mut state = offered(at(CallPhase::Thinking));
        state.rules.smart_opt_out = true;
        let (mut state, _) = run(state, [(look_up(), 2_000), (Event::Reply(None), 2_010)]);
        if filled {
            state = run(state, [(Event::Timer(CallTimer::Filler), 3_600)]).0;
        }
        let (state, effects) = run(state, [(said("Leave me alone."), 3_700)]);
        assert_eq!(spoken(&effects), ["Do you want us never to call you again?"]);
        let over = (ended(1 + u64::from(filled)), 5_000);
        let result = |at_ms| (answered(1, Ok(json!(7))), at_ms);
        let events = if during {
            [result(4_000), over]
        } else {
            [over, result(5_500)]
        };
        let (state, effects) = run(state, events);
        assert_eq!(
            (asks(&effects), state.phase()),
            (0, CallPhase::Listening),
            "{filled} {during}"
        );
        let (_, effects) = run(state.clone(), [(said("Yes."), 6_000)]);
        assert!(effects.contains(&Effect::WriteOptOut), "{filled} {during}");
        let (state, effects) = run(state, [(said("No, go on."), 6_000)]);
        assert_eq!((asks(&effects), results(&state)), (1, vec![json!(7)]));
    }
}

#[test]
fn who_is_asked_whether_they_opt_out_has_the_floor_while_a_tool_runs() {
    let mut state = offered(at(CallPhase::Thinking));
    state.rules.smart_opt_out = true;
    let events = [
        (look_up(), 2_000),
        (Event::Reply(None), 2_010),
        (said("Leave me alone."), 2_500),
        (ended(1), 4_000),
    ];
    assert_eq!(run(state, events).0.phase(), CallPhase::Listening);
}

/// Returns the details of the recorded events of this name.
fn recorded(effects: &[Effect], name: &str) -> Vec<serde_json::Value> {
    let events = effects.iter().filter_map(|effect| match effect {
        Effect::Record(Fact::Event(event)) if event.name == name => Some(&event.detail),
        _ => None,
    });
    events.map(|detail| serde_json::from_str(detail).unwrap()).collect()
}

#[test]
fn what_a_record_keeps_of_tools_is_bounded_and_has_no_secret() {
    let long = "ä".repeat(5_000);
    let arguments = json!({ "password": "p-4711", "q": long });
    let mut state = offered(at(CallPhase::Thinking));
    let mut kept = 0;
    let mut details = Vec::new();
    for n in 1..=4 {
        let (next, effects) = run(
            state,
            [
                (tool("lookUp", arguments.clone()), 2_000),
                (answered(n, Ok(json!(long))), 2_000),
            ],
        );
        state = next;
        let began = recorded(&effects, "tool_begun").remove(0);
        let done = recorded(&effects, "tool").remove(0);
        assert_eq!((&began["cut"], &done["cut"]), (&json!(true), &json!(true)));
        for text in [&began["arguments"], &done["result"]] {
            let text = text.as_str().unwrap();
            assert!(text.len() <= 4_096 && !text.contains("4711"), "{}", text.len());
            kept += text.len();
        }
        details.push(began);
    }
    assert!((6_000..=6_144).contains(&kept), "{kept}");
    assert!(
        details[0]["arguments"]
            .as_str()
            .unwrap()
            .starts_with("{\"password\":\"***\",\"q\":\"ää")
    );
    let (_, effects) = run(
        state,
        [(tool("collect", json!({ "entity": "pin", "value": "7" })), 64_000)],
    );
    let collected = recorded(&effects, "built_in_tool").remove(0);
    assert_eq!(
        collected["result"],
        json!({ "ok": true }),
        "the next minute has room again"
    );
}
