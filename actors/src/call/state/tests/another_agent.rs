//! Hand-over to another agent and changes of language in mid-call, and the protection of speech around every tool.

use super::{midcall::*, *};
use crate::call::{Speculation, state::floor::opt_out::OptOut};
use domain::{
    agent::Successor,
    id::AgentId,
    ports::{language_model::HistoryItem, store::StoreError},
};

fn successor(condition: &str, message: Option<&str>, greets: bool) -> Successor {
    Successor {
        agent: AgentId::new(),
        condition: condition.into(),
        delay_ms: 700,
        message: message.map(str::to_owned),
        greets,
    }
}

/// Returns a call with two agents that can take over. The second one greets.
fn with_agents(phase: CallPhase) -> State {
    let mut state = at(phase);
    let sales = successor("asks for sales", Some("I'll get my colleague."), false);
    state.rules.agents = vec![sales, successor("", None, true)];
    state
}

fn hands_over(number: &serde_json::Value) -> Event {
    tool("transferToAgent", json!({ "agent_number": number }))
}

fn looked_up(effects: &[Effect]) -> Vec<(u32, AgentId, u64)> {
    let looks = effects.iter().filter_map(|effect| match effect {
        Effect::LookUpAgent {
            try_no,
            agent,
            after_ms,
        } => Some((*try_no, *agent, *after_ms)),
        _ => None,
    });
    looks.collect()
}

fn found(try_no: u32) -> Event {
    let mut theirs = rules();
    theirs.greeting = Some("This is sales.".into());
    Event::AgentFound {
        try_no,
        found: Ok(Box::new(theirs)),
    }
}

fn last_result(state: &State) -> serde_json::Value {
    let items = state.history().items().iter().rev();
    let mut results = items.filter_map(|item| match item {
        HistoryItem::Tool { result, .. } => Some(result.clone()),
        _ => None,
    });
    results.next().unwrap()
}

#[test]
fn the_message_is_heard_before_the_other_agent_goes_on_without_a_greeting() {
    let (state, effects) = run(
        with_agents(CallPhase::Thinking),
        [(hands_over(&json!(0)), 2_000), (Event::Reply(None), 2_010)],
    );
    assert_eq!(spoken(&effects), ["I'll get my colleague."]);
    assert!(looked_up(&effects).is_empty());
    let (state, effects) = run(state, [(ended(1), 4_000)]);
    assert_eq!(looked_up(&effects), [(1, state.rules.agents[0].agent, 700)]);
    assert_eq!(state.phase(), CallPhase::Thinking);
    // The other agent answers words spoken meanwhile.
    let (state, effects) = run(state, [(said("Hello?"), 4_300)]);
    assert!(!effects.contains(&Effect::StartReply) && turns(&effects) == ["Hello?"]);
    let (state, effects) = run(state, [(found(1), 4_700)]);
    let adopted = effects
        .iter()
        .position(|effect| *effect == Effect::AdoptAgent { try_no: 1 });
    let asked = effects.iter().position(|effect| *effect == Effect::StartReply);
    assert!(adopted.unwrap() < asked.unwrap(), "{effects:?}");
    assert!(spoken(&effects).is_empty() && last_result(&state)["ok"] == true);
    let (_, effects) = run(state, [(found(1), 4_800)]);
    assert!(effects.is_empty(), "a second answer does nothing");
}

#[test]
fn an_agent_without_a_message_is_reached_in_silence_and_may_greet() {
    for named in [json!(1), json!("1")] {
        let (state, effects) = run(
            with_agents(CallPhase::Thinking),
            [(hands_over(&named), 2_000), (Event::Reply(None), 2_010)],
        );
        assert_eq!(looked_up(&effects), [(1, state.rules.agents[1].agent, 700)]);
        let (state, effects) = run(state, [(found(1), 2_800)]);
        assert_eq!(spoken(&effects), ["This is sales."]);
        assert_eq!(state.phase(), CallPhase::Greeting);
    }
    let by_condition = hands_over(&json!("asks for sales"));
    let (state, _) = run(with_agents(CallPhase::Thinking), [(by_condition, 2_000)]);
    assert_eq!(
        state.reply.another.map(|wanted| wanted.to.agent),
        Some(state.rules.agents[0].agent)
    );
}

#[test]
fn no_other_agent_is_reached() {
    for named in [
        json!(2),
        json!(-1),
        json!(0.5),
        json!("2"),
        json!("٠"),
        json!("００"),
        json!("0 "),
        json!(""),
        json!("__proto__"),
        json!(AgentId::new()),
        json!([0]),
        json!(null),
        json!({ "agent_number": 0 }),
        json!("18446744073709551616"),
    ] {
        let (state, effects) = run(
            with_agents(CallPhase::Thinking),
            [(hands_over(&named), 2_000), (Event::Reply(None), 2_010)],
        );
        assert!(
            looked_up(&effects).is_empty() && !state.handovers.is_changing(),
            "{named}"
        );
        assert!(last_result(&state)["error"].is_string(), "{named}");
    }
    let (state, _) = run(at(CallPhase::Thinking), [(hands_over(&json!(0)), 2_000)]);
    assert_eq!(last_result(&state), json!({ "error": "not available" }));
}

#[test]
fn an_agent_that_is_gone_leaves_the_present_one_and_interruptions_keep_it() {
    let gone = Event::AgentFound {
        try_no: 1,
        found: Err(AgentUnavailable::Store(StoreError::NotFound)),
    };
    let (state, _) = run(
        with_agents(CallPhase::Thinking),
        [(hands_over(&json!(1)), 2_000), (Event::Reply(None), 2_010)],
    );
    let (state, effects) = run(state, [(gone, 2_800)]);
    assert!(effects.contains(&Effect::StartReply) && !effects.contains(&Effect::AdoptAgent { try_no: 1 }));
    assert!(last_result(&state)["error"].is_string());

    let cut = Event::Stream(StreamEvent::Session(SessionEvent::BargedIn {
        speech: SpeechId(1),
        heard: "I'll".into(),
        at_ms: 2_300,
    }));
    let (state, effects) = run(
        with_agents(CallPhase::Thinking),
        [
            (hands_over(&json!(0)), 2_000),
            (Event::Reply(None), 2_010),
            (cut, 2_300),
        ],
    );
    assert_eq!(state.phase(), CallPhase::Listening);
    assert!(looked_up(&effects).is_empty() && last_result(&state)["error"].is_string());
}

#[test]
fn agents_hand_a_call_to_and_fro_five_times_at_most() {
    let mut state = with_agents(CallPhase::Thinking);
    for n in 0..8u32 {
        let now_ms = 2_000 + u64::from(n) * 1_000;
        let agents = state.rules.agents.clone();
        let (next, effects) = run(
            state,
            [(hands_over(&json!(1)), now_ms), (Event::Reply(None), now_ms + 10)],
        );
        assert_eq!(looked_up(&effects).len(), usize::from(n < 5), "{n}");
        let mut theirs = rules();
        (theirs.greeting, theirs.agents) = (None, agents);
        let answer = Event::AgentFound {
            try_no: n + 1,
            found: Ok(Box::new(theirs)),
        };
        state = run(next, [(answer, now_ms + 20)]).0;
    }
    assert!(last_result(&state)["error"].as_str().unwrap().contains("too often"));
}

#[test]
fn a_call_that_ended_takes_no_other_agent() {
    let (state, _) = run(
        with_agents(CallPhase::Thinking),
        [
            (hands_over(&json!(1)), 2_000),
            (Event::Reply(None), 2_010),
            (Event::HangUp, 2_100),
        ],
    );
    let (_, effects) = run(state, [(found(1), 2_800)]);
    assert!(effects.is_empty(), "{effects:?}");
}

fn closes_badly() -> Event {
    Event::Stream(StreamEvent::MediaClosed { clean: false })
}

#[test]
fn a_wish_for_another_agent_does_not_outlive_what_drops_the_reply() {
    let mut wishes = with_agents(CallPhase::Thinking);
    (wishes.rules.smart_opt_out, wishes.rules.agents_protected) = (true, true);
    let (wishes, _) = run(wishes, [(hands_over(&json!(0)), 2_000), (Event::Reply(None), 2_010)]);
    assert!(wishes.reply.another.is_some());
    let machine = super::found(Verdict::Voicemail, Reason::MachineWords);
    let ways = [
        vec![(said("Leave me alone."), 2_100), (ended(1), 2_200), (ended(2), 3_000)],
        vec![(closes_badly(), 2_100), (Event::MediaOpened, 2_500), (ended(2), 4_000)],
        vec![
            (machine, 2_100),
            (tells(MachineVerdict::Human), 2_500),
            (ended(2), 4_000),
        ],
    ];
    for way in ways {
        let (state, effects) = run(wishes.clone(), way);
        assert!(looked_up(&effects).is_empty(), "{effects:?}");
        assert_eq!(state.phase(), CallPhase::Listening);
        assert!(last_result(&state)["error"].is_string());
    }
}

/// Returns a call in the middle of a silent hand-over to the agent that greets.
fn handing_over() -> State {
    let mut state = with_agents(CallPhase::Thinking);
    state.rules.smart_opt_out = true;
    let (state, effects) = run(state, [(hands_over(&json!(1)), 2_000), (Event::Reply(None), 2_010)]);
    assert_eq!(looked_up(&effects).len(), 1);
    state
}

/// Returns a call in which, during the look-up of the other agent, a machine was on the line and then a
/// person, who was greeted.
fn greeted_meanwhile() -> State {
    let machine = super::found(Verdict::Voicemail, Reason::MachineWords);
    let events = [
        (machine, 2_100),
        (tells(MachineVerdict::Human), 2_200),
        (ended(1), 2_300),
    ];
    let (state, effects) = run(handing_over(), events);
    assert_eq!(
        (state.phase(), spoken(&effects)),
        (CallPhase::Listening, vec!["Hello."])
    );
    state
}

#[test]
fn media_that_comes_back_while_another_agent_is_looked_up_waits_for_it() {
    let (state, effects) = run(handing_over(), [(closes_badly(), 2_100), (Event::MediaOpened, 2_500)]);
    assert!(!effects.contains(&Effect::StartReply), "{effects:?}");
    assert_eq!(state.phase(), CallPhase::Thinking);
    let (state, effects) = run(state, [(found(1), 2_800)]);
    assert_eq!(spoken(&effects), ["This is sales."]);
    assert!(!state.reply.open && !effects.contains(&Effect::StartReply));
}

#[test]
fn a_likely_opt_out_while_another_agent_is_looked_up_keeps_the_present_one() {
    let (state, effects) = run(handing_over(), [(said("Leave me alone."), 2_100)]);
    assert_eq!(spoken(&effects), ["Do you want us never to call you again?"]);
    assert!(last_result(&state)["error"].is_string());
    let (state, effects) = run(state, [(found(1), 2_300)]);
    assert!(effects.is_empty(), "{effects:?}");
    let (_, effects) = run(state.clone(), [(ended(1), 4_000), (said("Yes."), 5_000)]);
    assert!(effects.contains(&Effect::WriteOptOut));
    let (_, effects) = run(state, [(ended(1), 4_000), (said("No, go on."), 5_000)]);
    assert!(effects.contains(&Effect::StartReply), "somebody answers");
}

#[test]
fn what_the_agent_before_was_about_to_say_is_dropped() {
    let thinks = (Event::Timer(CallTimer::Turn), 20_000);
    let (state, _) = run(greeted_meanwhile(), [thinks.clone()]);
    assert!(state.reply.open);
    let (state, effects) = run(state, [(found(1), 21_000)]);
    assert_eq!(spoken(&effects), ["This is sales."]);
    assert!(effects.contains(&Effect::CancelReply) && !state.reply.open);
    // The agent has begun to speak: its words are heard, then the other agent continues.
    let (state, _) = run(greeted_meanwhile(), [thinks, (text("A survey. And "), 20_500)]);
    let (state, effects) = run(state, [(found(1), 21_000), (text("more. "), 21_100)]);
    assert!(effects.contains(&Effect::CancelReply) && spoken(&effects).iter().all(|said| said.is_empty()));
    let (_, effects) = run(state, [(ended(2), 22_000)]);
    assert!(effects.contains(&Effect::StartReply));
    // The reply was made ahead.
    let mut state = greeted_meanwhile();
    state.rules.speculation = Speculation::Text;
    let paused = StreamEvent::Session(SessionEvent::TurnPaused {
        text: "What is it?".into(),
        at_ms: 2_900,
    });
    let (state, _) = run(state, [(Event::Stream(paused), 3_000), (text("A survey. "), 3_100)]);
    assert!(state.early.is_some());
    let (state, effects) = run(state, [(found(1), 3_200), (said("What is it?"), 3_300)]);
    assert!(effects.contains(&Effect::StartReply) && spoken(&effects).is_empty());
    assert!(state.early.is_none());
}

#[test]
fn who_spoke_while_another_agent_was_looked_up_is_answered_by_it() {
    for found in [
        found(1),
        Event::AgentFound {
            try_no: 1,
            found: Err(AgentUnavailable::Store(StoreError::NotFound)),
        },
    ] {
        let (state, effects) = run(greeted_meanwhile(), [(said("Who is it?"), 3_000)]);
        assert!(!effects.contains(&Effect::StartReply));
        assert_eq!(state.phase(), CallPhase::Listening);
        let (_, effects) = run(state, [(found, 3_200)]);
        assert!(effects.contains(&Effect::StartReply), "{effects:?}");
    }
}

#[test]
fn a_yes_to_another_agents_greeting_is_no_opt_out() {
    let events = [(hands_over(&json!(1)), 2_000), (Event::Reply(None), 2_010)];
    let (mut state, _) = run(with_agents(CallPhase::Thinking), events);
    state.rules.smart_opt_out = true;
    state.user.opt_out = OptOut::Asked;
    let (state, effects) = run(state, [(found(1), 2_800), (ended(1), 4_000)]);
    assert_eq!(spoken(&effects), ["This is sales."]);
    assert_eq!(state.user.opt_out, OptOut::NotSaid);
}

fn switches(effects: &[Effect]) -> Vec<&str> {
    let codes = effects.iter().filter_map(|effect| match effect {
        Effect::SwitchLanguage(code) => Some(code.as_str()),
        _ => None,
    });
    codes.collect()
}

#[test]
fn the_language_changes_to_one_that_is_configured_and_to_no_other() {
    let speaks = |code: &serde_json::Value| tool("languageDetection", json!({ "language": code }));
    let mut state = at(CallPhase::Thinking);
    state.rules.languages = vec!["en".into(), "de".into(), "pt-BR".into()];
    let (state, effects) = run(state, [(speaks(&json!("DE")), 2_000), (Event::Reply(None), 2_010)]);
    assert_eq!(switches(&effects), ["de"]);
    assert!(effects.contains(&Effect::StartReply), "it goes on in that language");
    let (state, effects) = run(state, [(speaks(&json!("de")), 2_100), (speaks(&json!("en")), 2_110)]);
    assert_eq!(switches(&effects), ["en"]);
    for code in [
        json!("fr"),
        json!(""),
        json!(1),
        json!(null),
        json!("de\u{0}"),
        json!("../de"),
        json!(["de"]),
    ] {
        let (next, effects) = run(state.clone(), [(speaks(&code), 2_200)]);
        assert!(
            switches(&effects).is_empty() && last_result(&next)["error"].is_string(),
            "{code}"
        );
    }
    let (next, effects) = run(at(CallPhase::Thinking), [(speaks(&json!("en")), 2_000)]);
    assert!(switches(&effects).is_empty());
    assert_eq!(last_result(&next), json!({ "error": "not available" }));
}

#[test]
fn what_is_said_around_each_tool_is_protected_where_its_agent_wants_that() {
    let number = json!({ "transfer_number": TO, "message": "" });
    let tools = [
        ("endCall", json!({ "reason": "goodbye" })),
        ("languageDetection", json!({ "language": "de" })),
        ("skipTurn", json!({})),
        ("transferToAgent", json!({ "agent_number": 0 })),
        ("transferToNumber", number),
    ];
    for (name, arguments) in tools {
        for protects in [true, false] {
            let mut state = with_agents(CallPhase::Thinking);
            state.rules.languages = vec!["en".into(), "de".into()];
            for flag in [
                &mut state.rules.end_call_protected,
                &mut state.rules.language_protected,
                &mut state.rules.skip_turn_protected,
                &mut state.rules.agents_protected,
                &mut state.rules.transfer_protected,
            ] {
                *flag = false;
            }
            let flag = match name {
                "endCall" => &mut state.rules.end_call_protected,
                "languageDetection" => &mut state.rules.language_protected,
                "skipTurn" => &mut state.rules.skip_turn_protected,
                "transferToAgent" => &mut state.rules.agents_protected,
                _ => &mut state.rules.transfer_protected,
            };
            *flag = protects;
            let events = [
                (tool(name, arguments.clone()), 2_000),
                (text("So be it. "), 2_010),
                (Event::Reply(None), 2_020),
            ];
            let (_, effects) = run(state, events);
            let guarded: Vec<bool> = effects
                .iter()
                .filter_map(|effect| match effect {
                    Effect::Say(Say { protected, .. }) => Some(*protected),
                    _ => None,
                })
                .collect();
            assert!(
                !guarded.is_empty() && guarded.iter().all(|guarded| *guarded == protects),
                "{name}"
            );
        }
    }
}
