//! Mishaps during a walk through a conversation graph: the call neither falls silent, nor answers twice, nor
//! outlives its end.

use serde_json::Value;

use super::{
    coming_back::left,
    midcall::{CLOSED, hangs_up, run, spoken, utterance},
    operator,
    opt_out::{LIKELY, written},
    workflow::{back_at_the_desk, events, graph_rules, listening},
    *,
};
use domain::{
    ports::{
        language_model::Speaker,
        store::{TOOL, TOOL_BEGUN, WORKFLOW_HOP},
    },
    workflow::{Choice, HandOver},
};

const HELLO: (Speaker, &str) = (Speaker::Agent, "Hello.");
const SEATS: &str = "I want to reserve seats.";

fn chosen(number: u64, choice: Choice) -> Event {
    Event::RouterAnswered {
        number,
        judgement: (choice, Vec::new()),
    }
}

fn tool_answered(ok: bool) -> Event {
    Event::ToolAnswered(ToolAnswer {
        run: 1,
        result: if ok { Ok(json!({})) } else { Err("500".to_owned()) },
        took_ms: 40,
    })
}

fn barged_in(speech: u64) -> Event {
    Event::Stream(StreamEvent::Session(SessionEvent::BargedIn {
        speech: SpeechId(speech),
        heard: "Hello.".into(),
        at_ms: 3_000,
    }))
}

fn asks_router(effects: &[Effect]) -> bool {
    let asks = |effect: &Effect| matches!(effect, Effect::AskRouter { .. });
    effects.iter().any(asks)
}

/// Returns a call whose tool node runs its tool, with all effects.
fn booking(rules: Rules) -> (State, Vec<Effect>) {
    let (state, mut all) = listening(rules);
    let chosen = Event::ArgumentsChosen {
        number: 1,
        chosen: vec![("book".to_owned(), json!({}))],
    };
    let (state, effects) = run(state, [(said(SEATS), 3_000), (chosen, 3_100)]);
    assert!(state.runs_tool() && state.node() == Some("book"), "{effects:?}");
    all.extend(effects);
    (state, all)
}

/// Returns a call in which the model was asked where the user's words lead.
fn judging() -> State {
    let (state, _) = listening(Rules {
        smart_opt_out: true,
        ..graph_rules(false)
    });
    let (state, effects) = run(state, [(said("Something else."), 3_000)]);
    assert!(asks_router(&effects), "{effects:?}");
    state
}

/// Returns a call that another process goes on with after these words and events, once its media is there.
fn heir(told: &[(Speaker, &str)], known: &[(String, Value)]) -> (State, Vec<Effect>) {
    let known: Vec<(&str, Value)> = known
        .iter()
        .map(|(name, detail)| (name.as_str(), detail.clone()))
        .collect();
    let (state, _) = State::taken_over(graph_rules(true), id(1), &left(told, &known));
    run(state, [(Event::MediaOpened, 30_500)])
}

#[test]
fn an_end_that_an_operator_prevented_comes_after_it() {
    let (state, _) = booking(graph_rules(true));
    let (state, effects) = run(state, [(tool_answered(true), 4_000)]);
    assert_eq!(spoken(&effects), ["Goodbye."]);
    let (state, _) = run(
        state,
        [
            (operator::joins("Ada"), 4_200),
            (ended(1), 4_300),
            (operator::gives_back(None), 9_000),
        ],
    );
    let (state, effects) = run(state, [(operator::SILENT, 9_100)]);
    assert!(hangs_up(&effects), "{:?} {effects:?}", state.phase());
}

#[test]
fn an_end_that_a_lost_line_prevented_comes_when_it_is_back() {
    let (state, _) = booking(graph_rules(true));
    let (state, _) = run(state, [(tool_answered(true), 4_000), (CLOSED, 4_100)]);
    let (state, effects) = run(state, [(Event::MediaOpened, 5_000)]);
    assert_eq!(spoken(&effects), [state.rules.phrases.cut_off]);
    let (_, effects) = run(state, [(ended(2), 7_000)]);
    assert!(hangs_up(&effects) || spoken(&effects) == ["Goodbye."], "{effects:?}");
}

#[test]
fn the_first_words_after_a_takeover_lead_on() {
    let all = back_at_the_desk();
    let user = (Speaker::User, "What are your opening hours?");
    let told = [HELLO, user, (Speaker::Agent, "We have a garden.")];
    let (state, effects) = heir(&told, &events(&all));
    assert_eq!(spoken(&effects), [state.rules.phrases.cut_off]);
    let (state, effects) = run(state, [(ended(0), 32_000), (said(SEATS), 34_000)]);
    assert_eq!(state.node(), Some("book"), "{effects:?}");
}

#[test]
fn a_tool_that_answered_before_a_takeover_was_successful() {
    let user = (Speaker::User, SEATS);
    let (_, all) = booking(graph_rules(true));
    let mut known = events(&all);
    known.retain(|(name, _)| [WORKFLOW_HOP, TOOL_BEGUN].contains(&name.as_str()));
    for (answers, node) in [
        (vec![], "desk"),
        (vec![json!({ "name": "book", "run": 1, "ok": false })], "desk"),
        (vec![json!({ "name": "book", "run": 1, "ok": true })], "bye"),
    ] {
        let answers = answers.into_iter().map(|detail| (TOOL.to_owned(), detail));
        let known: Vec<(String, Value)> = known.iter().cloned().chain(answers).collect();
        let (state, effects) = heir(&[HELLO, user], &known);
        assert_eq!(state.node(), Some(node));
        assert!(!state.runs_tool(), "{effects:?}");
    }
}

#[test]
fn a_message_that_was_heard_is_not_said_again_after_a_takeover() {
    let (state, mut all) = listening(graph_rules(true));
    let (_, effects) = run(state, [(said("What are your opening hours?"), 3_000)]);
    all.extend(effects);
    let user = (Speaker::User, "What are your opening hours?");
    let mut call = left(&[HELLO, user, (Speaker::Agent, "Nine to five.")], &[]);
    for (heard_ms, again) in [(9_000, true), (12_000, false)] {
        call.turns[2].ended_ms = heard_ms;
        let known = events(&all).into_iter();
        call.events = known
            .map(|(name, detail)| EventFact {
                name,
                at_ms: 10_000,
                detail: detail.to_string(),
            })
            .collect();
        let (state, _) = State::taken_over(graph_rules(true), id(1), &call);
        let (state, effects) = run(state, [(Event::MediaOpened, 30_500)]);
        assert_eq!(spoken(&effects).concat().contains("Nine to five."), again);
        assert_eq!(state.node(), Some(if again { "hours" } else { "note" }));
    }
}

#[test]
fn a_hand_over_keeps_the_walk_for_a_new_owner_and_one_that_failed_leaves_it() {
    let (state, mut all) = listening(graph_rules(false));
    let (_, effects) = run(
        state,
        [
            (said("Somebody else."), 3_000),
            (chosen(1, Choice::Candidate(3)), 3_100),
            (ended(1), 5_000),
        ],
    );
    all.extend(effects);
    let mut known = events(&all);
    assert_eq!(known.last().map(|(name, _)| name.as_str()), Some("agent_transfer"));
    let user = (Speaker::User, "Somebody else.");
    let told: Vec<(&str, Value)> = known
        .iter()
        .map(|(name, detail)| (name.as_str(), detail.clone()))
        .collect();
    let (state, _) = State::taken_over(graph_rules(true), id(1), &left(&[HELLO, user], &told));
    let back = HandOver {
        agent: state.graph().unwrap().agent,
        entry: None,
        delay_ms: 0,
        message: None,
        greets: false,
    };
    let walk = json!(state.walking.as_ref().unwrap().handed_to(&back));
    // Two agents from before, and the one it is given back to.
    assert_eq!(walk["agents"].as_array().map(Vec::len), Some(3), "{walk}");
    assert_eq!(state.node(), None);
    known.push(("agent_transfer_failed".to_owned(), json!({})));
    let (state, _) = heir(&[HELLO, user], &known);
    assert_eq!(state.node(), Some("desk"), "it goes back to where the agent talked");
}

#[test]
fn words_over_a_message_are_judged_after_the_messages_that_follow() {
    let (state, _) = listening(graph_rules(true));
    let (state, _) = run(
        state,
        [
            (said("What are your opening hours?"), 3_000),
            (barged_in(1), 3_500),
            (said(SEATS), 5_000),
        ],
    );
    assert_eq!(state.node(), Some("note"));
    let follows = [
        (text("We have a garden. "), 5_100),
        (Event::Reply(None), 5_200),
        (ended(2), 8_000),
    ];
    let (state, effects) = run(state, follows);
    assert_eq!(state.node(), Some("book"), "{effects:?}");
}

#[test]
fn an_opt_out_question_waits_for_its_answer_whatever_the_router_was_asked() {
    let (state, _) = run(judging(), [(said(LIKELY), 4_000)]);
    let (state, effects) = run(state, [(ended(1), 6_000)]);
    assert_eq!(state.phase(), CallPhase::Listening, "{effects:?}");
    let (_, effects) = run(state, [(said("Yes."), 8_000)]);
    assert_eq!(written(&effects), 1);
}

#[test]
fn an_opt_out_question_waits_for_its_answer_though_a_tool_answers() {
    let (state, _) = booking(Rules {
        smart_opt_out: true,
        ..graph_rules(true)
    });
    let (state, effects) = run(
        state,
        [
            (said(LIKELY), 4_000),
            (ended(1), 6_000),
            (tool_answered(true), 6_500),
            (utterance("", 6_600, 6_700), 6_800),
        ],
    );
    assert_eq!(state.phase(), CallPhase::Listening, "{effects:?}");
    let (_, wished) = run(state.clone(), [(said("Yes."), 8_000)]);
    assert_eq!(written(&wished), 1);
    let (state, _) = run(state, [(said("No, go on."), 8_000)]);
    assert_eq!(state.node(), Some("bye"));
}

#[test]
fn words_whose_judgement_came_during_a_noise_are_judged_all_the_same() {
    let (state, effects) = run(judging(), [(Event::Timer(CallTimer::Filler), 4_600)]);
    assert_eq!(spoken(&effects).len(), 1);
    let (state, _) = run(state, [(barged_in(1), 5_000), (chosen(1, Choice::Candidate(0)), 5_100)]);
    assert_eq!(state.node(), Some("desk"), "somebody else speaks");
    let (state, effects) = run(state, [(utterance("", 5_000, 5_400), 5_600)]);
    assert!(asks_router(&effects), "{:?} {effects:?}", state.phase());
}

#[test]
fn words_are_judged_once_though_the_line_is_lost_during_the_reply() {
    let (state, effects) = run(judging(), [(chosen(1, Choice::Stay), 3_500)]);
    assert!(effects.contains(&Effect::StartReply));
    let (_, effects) = run(state, [(CLOSED, 3_600), (Event::MediaOpened, 5_000)]);
    assert!(
        effects.contains(&Effect::StartReply) && !asks_router(&effects),
        "{effects:?}"
    );
}

#[test]
fn words_that_an_operator_answered_lead_nowhere() {
    let operated = |words: Option<&str>| {
        let (state, _) = run(judging(), [(operator::joins("Ada"), 4_000)]);
        let words = words.map(|words| (Event::Stream(operator::said(words, 5_000)), 6_000));
        let (state, _) = run(state, words);
        let back = [(operator::gives_back(None), 9_000), (operator::SILENT, 9_100)];
        run(state, back).1
    };
    assert!(asks_router(&operated(None)));
    assert!(!asks_router(&operated(Some("I did that for you."))));
}

#[test]
fn a_tool_that_answers_after_the_time_was_up_leads_nowhere() {
    let (state, _) = booking(graph_rules(true));
    let (state, effects) = run(
        state,
        [
            (Event::Timer(CallTimer::MaxDuration), 4_000),
            (tool_answered(true), 4_500),
        ],
    );
    assert_eq!((state.node(), state.phase()), (Some("book"), CallPhase::Closing));
    assert_eq!(spoken(&effects), [state.rules.phrases.time_is_up]);
}
