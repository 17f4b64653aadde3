//! Walks through a conversation graph: takeovers at each move, and properties of any sequence of events.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{
    coming_back::left,
    midcall::{run, spoken},
    *,
};
use crate::call::state::GraphRules;
use domain::{
    id::AgentId,
    ports::{language_model::Speaker, store::WORKFLOW_HOP},
    workflow::{Choice, Graph},
};

/// Returns the rules of an agent with a graph of every type of node.
pub(super) fn graph_rules(by_words: bool) -> Rules {
    let edge = |source: &str, target: &str, condition: Value| json!({ "source": source, "target": target, "forwardCondition": condition });
    let llm = |condition: &str| json!({ "type": "llm", "condition": condition });
    let result = |successful: bool| json!({ "type": "result", "successful": successful });
    let always = || json!({ "type": "unconditional" });
    let say = |text: &str| json!({ "type": "say", "message": { "type": "literal", "text": text } });
    let agent: Agent = serde_json::from_value(json!({
        "conversationConfig": { "agent": { "greetingMessage": "Hello." }, "turn": { "silenceEndCallTimeout": 20 } },
        "workflow": {
            "nodes": {
                "start": { "type": "start" },
                "desk": { "type": "override_agent", "additionalPrompt": "Ask." },
                "hours": say("Nine to five."),
                "note": { "type": "say", "message": { "type": "prompt", "prompt": "Tell them." } },
                "set": { "type": "update_state", "updates": [{ "variableName": "seats", "expression":
                    { "type": "llm", "prompt": "Seats", "valueSchema": { "type": "number" } } }] },
                "book": { "type": "tool", "tools": [{ "toolId": "6d1c5a52-0d5e-4a3b-9a57-0a6a2f9f0c11" }] },
                "person": { "type": "phone_number", "transferDestination": { "type": "phone", "phoneNumber": "+15550100001" } },
                "other": { "type": "standalone_agent", "agentId": AgentId::new(), "transferMessage": "One moment." },
                "angry": { "type": "say", "message": { "type": "literal", "text": "I am sorry." },
                    "global": { "condition": "The caller is angry about something", "goBack": true } },
                "bye": { "type": "end", "outcome": "success" },
            },
            "edges": {
                "a": edge("start", "desk", always()),
                "b": edge("desk", "hours", llm("The caller asks about opening hours")),
                "c": edge("desk", "set", llm("The caller wants to reserve seats")),
                "d": edge("desk", "person", llm("The caller wants a person")),
                "e": edge("desk", "other", llm("The caller wants the other agent")),
                "f": edge("hours", "note", always()),
                "g": edge("note", "desk", always()),
                "h": edge("set", "book", always()),
                "i": edge("book", "bye", result(true)),
                "j": edge("book", "desk", result(false)),
            },
        },
    }))
    .unwrap();
    let graph = Graph::read(&agent.workflow).unwrap();
    Rules {
        graph: Some(GraphRules {
            graph: Arc::new(graph),
            agent: AgentId::new(),
            known: Arc::default(),
            by_words,
        }),
        ..Rules::of(&agent, &BTreeMap::new(), Duration::from_secs(30))
    }
}

pub(super) fn listening(rules: Rules) -> (State, Vec<Effect>) {
    let (state, _) = State::new(rules);
    let way = way_to(CallPhase::Listening).into_iter();
    run(state, way.map(|event| (event, 1_000)))
}

pub(super) fn events(effects: &[Effect]) -> Vec<(String, Value)> {
    let facts = effects.iter().filter_map(|effect| match effect {
        Effect::Record(Fact::Event(event)) => Some((event.name.clone(), serde_json::from_str(&event.detail).unwrap())),
        _ => None,
    });
    facts.collect()
}

/// Returns the effects of a call that told the opening hours and came back to its desk.
pub(super) fn back_at_the_desk() -> Vec<Effect> {
    let (state, mut all) = listening(graph_rules(true));
    let (_, effects) = run(
        state,
        [
            (said("What are your opening hours?"), 3_000),
            (ended(1), 5_000),
            (text("We have a garden. "), 5_100),
            (Event::Reply(None), 5_200),
            (ended(2), 8_000),
        ],
    );
    all.extend(effects);
    all
}

#[test]
fn a_call_that_is_taken_over_after_any_move_goes_on_in_its_node() {
    let all = back_at_the_desk();
    let events = events(&all);
    let hops = events.iter().filter(|(name, _)| name == WORKFLOW_HOP);
    let hops: Vec<&Value> = hops.map(|(_, detail)| detail).collect();
    let to: Vec<&str> = hops.iter().filter_map(|hop| hop["to"].as_str()).collect();
    assert_eq!(to, ["start", "desk", "hours", "note", "desk"]);
    let told = [
        (Speaker::Agent, "Hello."),
        (Speaker::User, "What are your opening hours?"),
    ];
    for (at, hop) in hops.iter().enumerate().filter(|(_, hop)| !hop["walk"].is_null()) {
        let known: Vec<(&str, Value)> = hops[..=at].iter().map(|hop| (WORKFLOW_HOP, (*hop).clone())).collect();
        let (state, _) = State::taken_over(graph_rules(true), id(1), &left(&told, &known));
        assert_eq!(state.node(), hop["to"].as_str());
        let (state, effects) = run(state, [(Event::MediaOpened, 30_500)]);
        assert!(state.node().is_some(), "{effects:?}");
        let words = spoken(&effects).concat();
        assert_eq!(words.contains("Nine to five."), hop["to"] == "hours", "{words}");
    }
}

#[test]
fn a_walk_before_another_agent_took_over_is_not_resumed() {
    let (_, all) = listening(graph_rules(true));
    let mut known = events(&all);
    known.push(("agent_transfer".to_owned(), json!({ "agentId": AgentId::new() })));
    let known: Vec<(&str, Value)> = known
        .iter()
        .map(|(name, detail)| (name.as_str(), detail.clone()))
        .collect();
    let (state, _) = State::taken_over(graph_rules(true), id(1), &left(&[], &known));
    assert_eq!(state.node(), None, "its graph is yet to be entered");
}

#[test]
fn an_agent_without_a_graph_has_no_walk() {
    let (state, effects) = listening(rules());
    assert!(state.walking.is_none() && state.node().is_none());
    let (_, more) = run(state, [(said("What is it?"), 3_000)]);
    let walks = |effect: &Effect| {
        matches!(
            effect,
            Effect::AskRouter { .. } | Effect::AdoptNode(_) | Effect::SetVariables(_) | Effect::CancelRouter
        )
    };
    assert!(!effects.iter().chain(&more).any(walks), "{more:?}");
}

fn any_answer() -> impl Strategy<Value = Event> {
    let choice = prop_oneof![
        4 => (0..5usize).prop_map(Choice::Candidate),
        2 => Just(Choice::Stay),
        1 => Just(Choice::Missed),
    ];
    let value = prop_oneof![Just(None), Just(Some(json!(4))), Just(Some(json!("x")))];
    let lacks = Err(crate::call::state::AgentUnavailable::NoAnswer);
    prop_oneof![
        4 => (0..8u64, choice, prop::collection::vec(value, 0..3)).prop_map(|(number, choice, values)| {
            Event::RouterAnswered { number, judgement: (choice, values) }
        }),
        2 => (0..8u64, any::<bool>()).prop_map(|(number, some)| Event::ArgumentsChosen {
            number,
            chosen: if some { vec![("lookUp".to_owned(), json!({}))] } else { Vec::new() },
        }),
        1 => (0..3u32).prop_map(move |try_no| Event::AgentFound { try_no, found: lacks.clone() }),
        1 => (0..3u32, any::<bool>()).prop_map(|(try_no, has)| Event::AgentFound {
            try_no,
            found: Ok(Box::new(if has { graph_rules(true) } else { rules() })),
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_sequence_of_events_hangs_a_call_with_a_graph(
        by_words in any::<bool>(),
        events in prop::collection::vec(prop_oneof![2 => any_event(), 1 => any_answer()], 0..80),
    ) {
        let (mut state, mut all) = listening(graph_rules(by_words));
        for (n, event) in events.into_iter().chain(the_end()).enumerate() {
            let (next, effects) = state.apply(event.clone(), 2_000 + n as u64 * 100);
            state = next;
            let awaits = state.reply.open
                || walking::is_walking(&state)
                || state.runs_tool()
                || state.handovers.is_changing();
            prop_assert!(state.phase != Phase::Thinking || awaits, "nothing is awaited after {event:?}");
            all.extend(effects);
        }
        prop_assert_eq!(state.phase(), CallPhase::Ended);
        prop_assert_eq!(finishes(&all).len(), 1);
    }
}
