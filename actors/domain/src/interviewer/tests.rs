//! Scripted interviews, and interviews with random answers.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::StreamExt;
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

use super::*;
use crate::{
    agent::Agent,
    knowledge::Knowledge,
    ports::{
        language_model::{HistoryItem, Speaker},
        store::CallDirection,
        tool_runner::ToolOffer,
        usage::Meter,
    },
    time::Timestamp,
};

fn agent(entities: &Value) -> Agent {
    serde_json::from_value(json!({
        "name": "Garage Nord",
        "conversationConfig": { "agent": { "prompt": {
            "prompt": "Be brief.", "builtInTools": { "endCall": { "enabled": true } }
        } } },
        "platformSettings": { "dataCollection": { "entities": entities } }
    }))
    .unwrap()
}

fn garage() -> Agent {
    agent(&json!({
        "name": { "type": "string", "description": "the caller's full name" },
        "day": { "type": "string", "description": "preferred day for a visit" },
        "guests": { "type": "integer", "description": "number of guests" },
        "car": { "type": "boolean", "description": "whether they own a car" }
    }))
}

/// A call in which everything said is heard.
struct Call {
    agent: Arc<Agent>,
    history: Vec<HistoryItem>,
    ended: Option<String>,
    collected: Vec<(String, Value)>,
    /// Time of the promised call.
    later: Option<String>,
    /// Destination of a transfer.
    handed_on: Option<String>,
    direction: CallDirection,
    /// Answer of the documents to the last words.
    knowledge: Knowledge,
    /// Tools outside the call.
    tools: Vec<ToolOffer>,
    /// Runs of them, with their arguments.
    runs: Vec<(String, Value)>,
}

impl Call {
    fn new(agent: Agent) -> Self {
        let (history, ended, collected) = (Vec::new(), None, Vec::new());
        Self {
            agent: Arc::new(agent),
            history,
            ended,
            collected,
            later: None,
            handed_on: None,
            direction: CallDirection::Outbound,
            knowledge: Knowledge::default(),
            tools: Vec::new(),
            runs: Vec::new(),
        }
    }

    fn greeted(agent: Agent) -> Self {
        let mut call = Self::new(agent);
        call.said(Speaker::Agent, "Hello, this is Garage Nord.", false, false);
        call
    }

    fn said(&mut self, speaker: Speaker, text: &str, interrupted: bool, damaged: bool) {
        let text = text.to_owned();
        self.history.push(HistoryItem::Said {
            speaker,
            text,
            interrupted,
            damaged,
        });
    }

    /// Adds the reply to the history and returns its words.
    fn reply(&mut self) -> String {
        let mut words = String::new();
        for event in plan(&self.request()) {
            match event {
                ReplyEvent::Text(text) => words.push_str(&text),
                ReplyEvent::Tool { name, arguments, .. } => self.run(name, arguments),
            }
        }
        if !words.is_empty() {
            self.said(Speaker::Agent, &words, false, false);
        }
        words
    }

    fn request(&self) -> ReplyRequest {
        let tools = Arc::from(self.tools.clone());
        let variables = Arc::new(BTreeMap::new());
        ReplyRequest {
            agent: Arc::clone(&self.agent),
            variables,
            tools,
            direction: self.direction,
            history: self.history.clone(),
            now: Timestamp(0),
            notes: Vec::new(),
            knowledge: self.knowledge.clone(),
            failures: 0,
            meter: Meter::default(),
        }
    }

    fn run(&mut self, name: String, arguments: Value) {
        let text = |key: &str| arguments[key].as_str().unwrap().to_owned();
        match name.as_str() {
            "collect" => self.collected.push((text("entity"), arguments["value"].clone())),
            "callLater" => self.later = Some(text("at")),
            "endCall" => self.ended = Some(text("reason")),
            "skipTurn" => {}
            "transferToNumber" => self.handed_on = Some(text("transfer_number")),
            "transferToAgent" => self.handed_on = Some(arguments["agent_number"].to_string()),
            _ => self.runs.push((name.clone(), arguments.clone())),
        }
        self.history.push(HistoryItem::Tool {
            name,
            arguments,
            result: json!({}),
            echo: None,
        });
    }

    fn hears(&mut self, text: &str) -> String {
        self.said(Speaker::User, text, false, false);
        self.reply()
    }

    fn waits(&mut self) -> String {
        self.history.push(HistoryItem::Silence);
        self.reply()
    }

    fn collected(&self) -> Value {
        self.collected.iter().cloned().collect()
    }
}

#[test]
fn an_interview_asks_for_each_entity_in_order_and_ends() {
    let mut call = Call::greeted(garage());
    for (heard, expected) in [
        ("Hello?", "What is your full name?"),
        (
            "My name is Ada Lovelace.",
            "Thank you. What is your preferred day for a visit?",
        ),
        ("Uh, Tuesday please.", "Got it. How many guests?"),
        ("Four, I think.", "Great. Do you own a car?"),
        ("No, I don't.", "Thank you, that's everything. Goodbye!"),
    ] {
        assert_eq!(call.hears(heard), expected, "after {heard}");
    }
    assert_eq!(
        call.collected(),
        json!({ "name": "Ada Lovelace", "day": "Tuesday", "guests": 4, "car": false })
    );
    assert_eq!(call.ended.as_deref(), Some("completed"));
}

#[test]
fn without_a_greeting_it_greets() {
    assert_eq!(Call::new(garage()).reply(), "Hello! What is your full name?");
    assert_eq!(Call::new(garage()).hears("Hello?"), "Hello! What is your full name?");
    assert_eq!(Call::new(garage()).waits(), "Hello! What is your full name?");
}

#[test]
fn an_answer_not_understood_is_asked_for_twice_more_then_dropped() {
    let mut call = Call::greeted(agent(&json!({
        "guests": { "type": "integer", "description": "number of guests" }, "day": {}
    })));
    call.hears("Hello");
    assert_eq!(
        call.hears("Plenty"),
        "Sorry, I didn't catch that. Once more, please say a number: How many guests?"
    );
    assert_eq!(
        call.hears("Lots"),
        "Sorry, I didn't catch that. Once more, please say a number: How many guests?"
    );
    assert_eq!(call.hears("Very many"), "Never mind. What is your day?");
    assert_eq!(call.hears("Monday"), "Thank you, that's everything. Goodbye!");
    assert_eq!(call.collected(), json!({ "day": "Monday" }));
}

#[test]
fn damaged_speech_is_asked_for_again() {
    let mut call = Call::greeted(garage());
    call.hears("Hello");
    call.said(Speaker::User, "Ada Love", false, true);
    assert_eq!(
        call.reply(),
        "Sorry, I didn't catch that. Could you tell me your full name once more?"
    );
    assert_eq!(
        call.hears("Ada Lovelace"),
        "Thank you. What is your preferred day for a visit?"
    );
    assert_eq!(call.collected(), json!({ "name": "Ada Lovelace" }));
}

#[test]
fn a_question_that_was_cut_short_is_asked_again() {
    let mut call = Call::greeted(garage());
    call.hears("Hello");
    call.hears("Ada Lovelace");
    call.history.pop();
    call.said(Speaker::Agent, "Thank you. What is", true, false);
    assert_eq!(
        call.hears("Wait, I forgot something"),
        "All right. What is your preferred day for a visit?"
    );
    assert_eq!(call.hears("Tuesday"), "Got it. How many guests?");
    call.history.pop();
    call.said(Speaker::Agent, "Got it. How many", true, false);
    assert_eq!(
        call.hears("Four!"),
        "Great. Do you own a car?",
        "a number can only be the answer"
    );
    assert_eq!(
        call.collected(),
        json!({ "name": "Ada Lovelace", "day": "Tuesday", "guests": 4 })
    );
}

fn dentist() -> Agent {
    let mut agent = agent(&json!({
        "day": { "type": "string", "description": "Which day suits you for a visit?" },
        "firstVisit": { "type": "boolean", "description": "Is this your first visit?" },
    }));
    let greeting = "Hello, this is Ava. Which day suits you for a visit?";
    agent.conversation_config.agent.greeting_message = Some(greeting.into());
    agent
}

#[test]
fn an_answer_of_the_asked_kind_into_a_question_counts() {
    let mut call = Call::new(dentist());
    call.said(Speaker::Agent, "Hello, this is Ava. Which day suits", true, false);
    assert_eq!(
        call.hears("Friday suits me best."),
        "Thank you. Is this your first visit?"
    );
    assert_eq!(call.collected(), json!({ "day": "Friday" }));
    for other in ["Wait, I am on the stairs", "Who, me?"] {
        let mut call = Call::new(dentist());
        call.said(Speaker::Agent, "Hello, this is Ava. Which day suits", true, false);
        call.hears(other);
        assert_eq!(call.collected(), json!({}), "{other}");
    }
    let mut call = Call::new(dentist());
    call.said(Speaker::Agent, "Hello, this is", true, false);
    call.hears("On Friday I am away");
    assert_eq!(call.collected(), json!({}), "what day was asked for is not known yet");
}

#[test]
fn an_answer_that_speaks_of_the_question_counts_before_it_was_heard() {
    for (said, first) in [
        ("Yes, it is my very first visit, and I am nervous.", Some(true)),
        ("No, not my first visit.", Some(false)),
        ("Yes.", None),
    ] {
        let mut call = Call::new(dentist());
        call.said(
            Speaker::Agent,
            "Hello, this is Ava. Which day suits you for a visit?",
            false,
            false,
        );
        call.hears("Friday.");
        call.history.pop();
        call.said(Speaker::Agent, "Thank you.", true, false);
        call.hears(said);
        let collected = call.collected.iter().find(|(name, _)| name == "firstVisit");
        assert_eq!(
            collected.map(|(_, value)| value.clone()),
            first.map(Value::from),
            "{said}"
        );
    }
}

#[test]
fn an_answer_goes_on_while_no_reply_was_heard() {
    let asked = || {
        let mut call = Call::new(dentist());
        call.said(
            Speaker::Agent,
            "Hello, this is Ava. Which day suits you for a visit?",
            false,
            false,
        );
        assert_eq!(call.hears("Friday."), "Thank you. Is this your first visit?");
        call
    };
    let mut call = asked();
    call.history.pop();
    assert_eq!(
        call.hears("At ten o'clock, please."),
        "Thank you. Is this your first visit?"
    );
    assert_eq!(call.collected(), json!({ "day": "Friday. At ten o'clock" }));
    call.history.pop();
    assert_eq!(call.hears("Or at twelve."), "Thank you. Is this your first visit?");
    assert_eq!(
        call.collected(),
        json!({ "day": "Friday. At ten o'clock, please. Or at twelve" })
    );
    call.hears("Yes.");
    assert_eq!(call.collected()["firstVisit"], json!(true));

    for other in ["Thank you.", "Wait, I forgot something.", "Is ten fine?"] {
        let mut call = asked();
        call.history.pop();
        call.hears(other);
        assert_eq!(call.collected(), json!({ "day": "Friday" }), "{other}");
    }
    let mut call = asked();
    call.hears("At ten o'clock.");
    assert_eq!(
        call.collected(),
        json!({ "day": "Friday" }),
        "the next question was heard"
    );
}

fn reachable() -> Agent {
    agent(&json!({
        "phone": { "type": "string", "description": "a phone number to reach you" },
    }))
}

/// Records that only this part of the agent's last reply was heard.
fn cut_short(call: &mut Call, heard: &str) {
    let said = |item: &HistoryItem| {
        matches!(
            item,
            HistoryItem::Said {
                speaker: Speaker::Agent,
                ..
            }
        )
    };
    call.history.retain({
        let last = call.history.iter().rposition(said);
        let mut at = 0;
        move |_| {
            at += 1;
            Some(at - 1) != last
        }
    });
    if !heard.is_empty() {
        call.said(Speaker::Agent, heard, true, false);
    }
}

#[test]
fn digits_that_come_late_belong_to_the_number_before() {
    for heard in ["", "Thank you, that's", "Thank you, that's everything. Goodbye!"] {
        let mut call = Call::greeted(reachable());
        call.hears("Hello");
        assert_eq!(
            call.hears("My number is 823 151"),
            "Thank you, that's everything. Goodbye!"
        );
        cut_short(&mut call, heard);
        assert_eq!(call.hears("9126."), "Thank you, that's everything. Goodbye!", "{heard}");
        assert_eq!(call.collected(), json!({ "phone": "8231519126" }), "{heard}");
    }
    let mut call = Call::greeted(reachable());
    call.hears("Hello");
    call.hears("My number is 823 151");
    cut_short(&mut call, "Thank you");
    call.hears("823 151 9126");
    assert_eq!(call.collected(), json!({ "phone": "8231519126" }), "said anew");
}

#[test]
fn digits_that_answer_the_next_question_do_not_go_on_with_the_number() {
    for (kind, description, said, phone) in [
        ("integer", "number of guests", "4", "823151"),
        ("string", "preferred day for a visit", "9126", "8231519126"),
        ("string", "order number", "9126", "823151"),
    ] {
        let mut call = Call::greeted(agent(&json!({
            "phone": { "type": "string", "description": "a phone number to reach you" },
            "then": { "type": kind, "description": description },
        })));
        call.hears("Hello");
        call.hears("823 151");
        call.hears(said);
        assert_eq!(call.collected()["phone"], json!(phone), "{description}");
    }
}

#[test]
fn first_digits_are_no_number_and_are_kept_for_the_rest() {
    let mut call = Call::greeted(reachable());
    call.hears("Hello");
    let again = "Sorry, I didn't catch that. Could you tell me a phone number to reach you once more?";
    assert_eq!(call.hears("My number is 823"), again);
    cut_short(&mut call, "Sorry, I");
    assert_eq!(call.hears("151 9126."), "Thank you, that's everything. Goodbye!");
    assert_eq!(call.collected(), json!({ "phone": "8231519126" }));

    let mut call = Call::greeted(reachable());
    call.hears("Hello");
    assert_eq!(call.hears("My number is 823"), again);
    call.hears("555 123 4567");
    assert_eq!(
        call.collected(),
        json!({ "phone": "5551234567" }),
        "asked again, it was said anew"
    );
}

#[test]
fn yes_answers_a_question_that_wants_yes_or_no_whatever_its_type() {
    for (said, value) in [("Yes.", "Yes"), ("Yeah, sure.", "Yes"), ("No.", "No")] {
        let mut call = Call::greeted(agent(&json!({ "car": { "description": "whether you own a car" } })));
        call.hears("Hello");
        call.hears(said);
        assert_eq!(call.collected(), json!({ "car": value }), "{said}");
    }
}

#[test]
fn a_sound_of_attention_is_no_try_at_an_answer() {
    let mut call = Call::greeted(garage());
    call.hears("Hello");
    for sound in ["Uh-huh.", "Mm-hm.", "Okay.", "Uh-huh."] {
        assert_eq!(call.hears(sound), "", "{sound}");
    }
    assert_eq!(call.waits(), "Are you still there? What is your full name?");
    assert_eq!(
        call.hears("Ada Lovelace"),
        "Thank you. What is your preferred day for a visit?"
    );
    assert_eq!(call.collected(), json!({ "name": "Ada Lovelace" }));
}

#[test]
fn a_greeting_that_was_not_understood_is_said_again() {
    for (greeting, again) in [
        (
            "Hello, this is Garage Nord.",
            "Hello, this is Garage Nord. What is your full name?",
        ),
        (
            "Hello, this is Garage Nord. Is this a good time?",
            "Hello, this is Garage Nord. Is this a good time?",
        ),
        ("Hello! What is your full name?", "Hello! What is your full name?"),
    ] {
        let mut agent = garage();
        agent.conversation_config.agent.greeting_message = Some(greeting.into());
        let mut call = Call::new(agent);
        call.said(Speaker::Agent, greeting, false, false);
        assert_eq!(call.hears("Could you repeat that?"), format!("Of course. {again}"));
        if again.ends_with("time?") {
            assert_eq!(call.hears("No"), "Of course. When would suit you?");
        }
    }
}

#[test]
fn what_was_not_heard_is_said_again() {
    let mut call = Call::new(dentist());
    assert_eq!(
        call.hears("Hello? Anna here."),
        "Hello, this is Ava. Which day suits you for a visit?"
    );
    let mut call = Call::new(dentist());
    call.said(Speaker::Agent, "Hello, this", true, false);
    assert_eq!(
        call.hears("Sorry, could you say that again?"),
        "Of course. Hello, this is Ava. Which day suits you for a visit?"
    );
    call.hears("Friday.");
    call.history.pop();
    call.said(Speaker::Agent, "Thank you.", true, false);
    assert_eq!(call.hears("Sorry?"), "Of course. Is this your first visit?");
}

#[test]
fn an_answer_into_the_end_of_a_question_counts() {
    let mut call = Call::greeted(garage());
    call.hears("Hello");
    call.hears("Ada Lovelace");
    call.history.pop();
    call.said(
        Speaker::Agent,
        "Thank you. What is your preferred day for a",
        true,
        false,
    );
    assert_eq!(call.hears("Tuesday"), "Got it. How many guests?");
}

#[test]
fn a_greeting_that_was_cut_short_goes_on() {
    let mut agent = garage();
    agent.conversation_config.agent.greeting_message = Some("Hello, this is Garage Nord about your visit.".into());
    let mut call = Call::new(agent);
    call.said(Speaker::Agent, "Hello, this is", true, false);
    assert_eq!(
        call.hears("Hello?"),
        "Garage Nord about your visit. What is your full name?"
    );
}

#[test]
fn the_history_may_hold_the_words_before_the_tool() {
    let mut call = Call::greeted(garage());
    call.hears("Hello");
    call.hears("Ada Lovelace");
    let last = call.history.len() - 1;
    call.history.swap(last - 1, last);
    assert_eq!(call.hears("Tuesday"), "Got it. How many guests?");
}

#[test]
fn silence_is_met_twice_with_the_open_question_and_then_with_goodbye() {
    let mut call = Call::greeted(garage());
    call.hears("Hello");
    assert_eq!(call.waits(), "Are you still there? What is your full name?");
    assert_eq!(call.hears("Ada"), "Thank you. What is your preferred day for a visit?");
    call.waits();
    call.waits();
    assert_eq!(call.ended, None);
    assert_eq!(call.waits(), "I can't hear you, so I'll hang up now. Goodbye!");
    assert_eq!(call.ended.as_deref(), Some("silence"));
}

#[test]
fn what_ends_a_call_ends_it_politely() {
    for (heard, reason, words) in [
        (
            "Please don't call me again",
            "opt_out",
            "Understood. Sorry for the trouble. Goodbye.",
        ),
        ("Wrong number", "wrong_number", "I'm sorry for the trouble. Goodbye."),
        (
            "I'm not interested",
            "not_interested",
            "All right. Thank you for your time. Goodbye.",
        ),
        (
            "Can you call me in ten minutes?",
            "call_back",
            "Of course. We'll call you in 10 minutes. Goodbye.",
        ),
        ("Goodbye", "goodbye", "Thank you for your time. Goodbye!"),
    ] {
        let mut call = Call::greeted(garage());
        call.hears("Hello");
        assert_eq!(call.hears(heard), words);
        assert_eq!(call.ended.as_deref(), Some(reason));
        assert!(call.collected.is_empty(), "{heard}");
    }
    let mut agent = garage();
    agent.platform_settings.call_actions.smart_opt_out = true;
    let said = Call::greeted(agent).hears("Stop calling me");
    assert_eq!(said, "Understood, we won't call you again. Goodbye.");
}

#[test]
fn asides_are_answered_and_the_question_stands() {
    let mut call = Call::greeted(garage());
    call.hears("Hello");
    assert_eq!(
        call.hears("Who is this?"),
        "This is an automated call from Garage Nord. What is your full name?"
    );
    assert_eq!(call.hears("One moment"), "Of course, take your time.");
    assert_eq!(call.hears("Ada"), "Thank you. What is your preferred day for a visit?");
    assert_eq!(
        call.hears("Sorry?"),
        "Of course. Could you tell me your preferred day for a visit once more?"
    );
    assert_eq!(
        call.hears("Hello? Are you still there?"),
        "Of course. Could you tell me your preferred day for a visit once more?"
    );
    assert_eq!(call.hears("I don't know yet"), "No problem. How many guests?");
    assert_eq!(
        call.hears("Four"),
        "Got it. Do you own a car?",
        "what was refused is not asked again"
    );
    assert_eq!(call.collected(), json!({ "name": "Ada", "guests": 4 }));
}

#[test]
fn a_user_who_never_comes_back_is_not_waited_for() {
    let mut call = Call::greeted(agent(&json!({ "name": {} })));
    call.hears("Hello");
    for _ in 0..9 {
        assert_eq!(call.hears("One moment"), "Of course, take your time.");
    }
    assert_eq!(
        call.hears("One moment"),
        "I have to go now. Thank you for your time. Goodbye!"
    );
    assert_eq!(call.ended.as_deref(), Some("too_long"));
}

#[test]
fn a_greeting_that_asks_for_the_name_is_answered_with_it() {
    let mut call = Call::new(garage());
    call.said(Speaker::Agent, "Hello! May I have your full name?", false, false);
    assert_eq!(
        call.hears("Ada Lovelace"),
        "Thank you. What is your preferred day for a visit?"
    );
    let mut call = Call::new(garage());
    call.said(Speaker::Agent, "Hello! Is this a good time?", false, false);
    assert_eq!(call.hears("Yes"), "What is your full name?");
    let mut call = Call::new(garage());
    call.said(Speaker::Agent, "Hello! Is this a good time?", false, false);
    assert_eq!(call.hears("No"), "Of course. When would suit you?");
    call.hears("At half past four");
    assert_eq!(call.ended.as_deref(), Some("call_back"));
}

#[test]
fn who_wants_to_be_called_later_is_asked_when_once() {
    let asked = |greeting: &str| {
        let mut call = Call::greeted(garage());
        call.hears("Hello");
        assert_eq!(call.hears(greeting), "Of course. When would suit you?");
        assert_eq!((call.ended.as_deref(), call.later.as_deref()), (None, None));
        call
    };
    for (answer, at) in [
        ("Tomorrow at three", "tomorrow at 3"),
        ("ten minutes", "in 10 minutes"),
        ("maybe on Monday morning", "on Monday in the morning"),
    ] {
        let mut call = asked("Can you call me later?");
        assert_eq!(call.hears(answer), format!("Of course. We'll call you {at}. Goodbye."));
        assert_eq!(
            (call.ended.as_deref(), call.later.as_deref()),
            (Some("call_back"), Some(at))
        );
        assert!(call.collected.is_empty());
    }
    let mut call = asked("This is a bad time");
    assert_eq!(
        call.hears("I really don't know"),
        "Of course. Another time, then. Goodbye."
    );
    assert_eq!((call.ended.as_deref(), call.later), (Some("call_back"), None));

    let mut call = asked("I'm driving");
    assert_eq!(call.hears("Sorry?"), "Sorry, I didn't catch that. When would suit you?");
    assert_eq!(call.hears("What?"), "Of course. Another time, then. Goodbye.");
    let mut call = asked("I'm busy");
    assert_eq!(
        call.hears("Never call me again"),
        "Understood. Sorry for the trouble. Goodbye."
    );
    assert_eq!(call.ended.as_deref(), Some("opt_out"));
    let mut call = asked("I'm busy");
    assert_eq!(call.waits(), "Are you still there? When would suit you?");
    call.hears("In two hours");
    assert_eq!(call.later.as_deref(), Some("in 2 hours"));
}

/// Adds a transfer to another agent for questions about bills.
fn with_billing(mut agent: Agent) -> Agent {
    agent.conversation_config.agent.prompt.built_in_tools.transfer_to_agent = serde_json::from_value(json!({
        "enabled": true,
        "transfers": [{ "agentId": crate::id::AgentId::new(), "condition": "asks about a bill or an invoice" }],
    }))
    .unwrap();
    agent
}

#[test]
fn a_request_that_is_another_agents_is_no_answer_to_the_question() {
    let request = "I have a question about my bill.";
    let mut call = Call::greeted(with_billing(garage()));
    call.hears("Hello");
    call.hears("Ada Lovelace");
    assert_eq!(call.hears(request), "");
    assert_eq!(call.handed_on.as_deref(), Some("0"));
    assert_eq!(call.collected(), json!({ "name": "Ada Lovelace" }));
    // The other agent continues with the questions.
    assert_eq!(call.reply(), "What is your preferred day for a visit?");
    assert_eq!(call.hears("Tuesday"), "Got it. How many guests?");

    let reason = json!({ "reason": { "type": "string", "description": "reason for the call" } });
    let mut call = Call::greeted(with_billing(agent(&reason)));
    call.hears("Hello");
    call.hears(request);
    assert_eq!(call.handed_on.as_deref(), Some("0"));
    let kept = json!({ "reason": "I have a question about my bill" });
    assert_eq!(call.collected(), kept, "it was asked for");

    let mut call = Call::greeted(garage());
    call.hears("Hello");
    call.hears("Ada Lovelace");
    call.hears("On Tuesday, about the bill and the invoice.");
    assert_eq!(call.handed_on, None, "an answer stays one");
}

#[test]
fn a_no_to_the_question_about_an_opt_out_is_no_answer_to_the_one_before() {
    for (answer, kept) in [
        ("No, it is fine.", None),
        ("No, go on.", None),
        ("Tuesday.", Some("Tuesday")),
    ] {
        let mut call = Call::greeted(garage());
        call.hears("Hello");
        call.hears("Ada Lovelace");
        call.said(Speaker::User, "I am fed up with calls.", false, false);
        call.said(Speaker::Agent, "Do you want us never to call you again?", false, false);
        let next = call.hears(answer);
        assert_eq!(call.collected().get("day").and_then(Value::as_str), kept, "{answer}");
        if kept.is_none() {
            assert_eq!(next, "What is your preferred day for a visit?");
            assert_eq!(call.hears("Tuesday"), "Got it. How many guests?");
        }
    }
}

#[test]
fn a_placeholder_in_a_question_is_never_read_aloud() {
    let entities = json!({ "day": { "type": "string", "description": "preferred day for {{what}} your visit" } });
    let mut call = Call::greeted(agent(&entities));
    let asked = call.hears("Hello");
    assert!(
        asked.contains("preferred day for your visit") && !asked.contains('{'),
        "{asked}"
    );
}

#[test]
fn a_time_counts_where_a_message_is_taken() {
    let mut call = Call::greeted(agent(&json!({})));
    call.hears("Hello");
    call.hears("Please call me tomorrow at three");
    assert_eq!(call.later.as_deref(), Some("tomorrow at 3"));
}

#[test]
fn with_nothing_to_collect_a_message_is_taken() {
    let mut call = Call::greeted(agent(&json!({})));
    assert_eq!(call.hears("Hello"), "How can I help you today?");
    assert_eq!(
        call.hears("My tyres are flat"),
        "Thank you, I've made a note of that. Goodbye!"
    );
    assert_eq!(call.ended.as_deref(), Some("completed"));
    assert!(call.collected.is_empty());
    let mut asking = agent(&json!({}));
    asking.conversation_config.agent.prompt.prompt = "You are kind. Ask: \"How was your stay?\" Be brief.".into();
    assert_eq!(Call::greeted(asking).hears("Hello"), "How was your stay?");
}

#[test]
fn a_call_back_is_an_answer_where_it_was_asked_about() {
    let entities = json!({ "callback": { "type": "boolean", "description": "whether they want a callback" } });
    let mut call = Call::greeted(agent(&entities));
    assert_eq!(call.hears("Hi"), "Do you want a callback?");
    call.hears("Yes, please call me back");
    assert_eq!(call.collected(), json!({ "callback": true }));
}

#[tokio::test]
async fn the_plan_is_streamed() {
    let call = Call::greeted(garage());
    let streamed: Vec<_> = Interviewer.reply(call.request()).collect().await;
    assert_eq!(streamed, plan(&call.request()).into_iter().map(Ok).collect::<Vec<_>>());
}

fn words() -> impl Strategy<Value = String> {
    let known = select(vec![
        "Hello?",
        "Yes.",
        "No",
        "Ada Lovelace",
        "four",
        "Sorry?",
        "hold on",
        "Who is this?",
        "I don't know",
        "the first one",
        "call me back",
        "?",
        "",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => "\\PC{0,30}"]
}

fn item() -> impl Strategy<Value = HistoryItem> {
    let speaker = select(vec![Speaker::Agent, Speaker::User]);
    let said = (speaker, words(), any::<bool>(), any::<bool>()).prop_map(|(speaker, text, interrupted, damaged)| {
        HistoryItem::Said {
            speaker,
            text,
            interrupted,
            damaged,
        }
    });
    let tool = (
        select(vec!["collect", "endCall", "other"]),
        select(vec![json!({ "entity": "name" }), json!(null)]),
    )
        .prop_map(|(name, arguments)| HistoryItem::Tool {
            name: name.into(),
            arguments,
            result: Value::Null,
            echo: None,
        });
    prop_oneof![4 => said, 1 => tool, 1 => Just(HistoryItem::Silence)]
}

fn any_agent() -> impl Strategy<Value = Agent> {
    select(vec![
        garage(),
        agent(&json!({})),
        agent(&json!({ "x": { "enum": ["a", "b"] } })),
        agent(&json!({ "": 7 })),
    ])
}

proptest! {
    #[test]
    fn any_history_has_a_reply(agent in any_agent(), history in vec(item(), 0..12)) {
        let request = ReplyRequest { agent: Arc::new(agent), variables: Arc::default(), tools: Arc::default(), direction: CallDirection::Outbound, history, now: Timestamp(0), knowledge: Knowledge::default(), notes: Vec::new(), failures: 0, meter: Meter::default() };
        let reply = plan(&request);
        prop_assert!(!reply.is_empty());
        prop_assert!(!reply.contains(&ReplyEvent::Text(String::new())));
        prop_assert_eq!(plan(&request), reply);
    }

    #[test]
    fn an_interview_with_anybody_ends(agent in any_agent(), user in vec((option::weighted(0.9, words()), any::<bool>()), 100)) {
        let mut call = Call::greeted(agent);
        let mut turns = 0;
        for (text, cut_short) in user {
            match text {
                Some(text) => call.hears(&text),
                None => call.waits(),
            };
            if let (true, Some(HistoryItem::Said { text, interrupted, .. })) = (cut_short, call.history.last_mut()) {
                text.truncate(text.char_indices().nth(8).map_or(text.len(), |(at, _)| at));
                *interrupted = true;
            }
            turns += 1;
            if call.ended.is_some() {
                break;
            }
        }
        // At most 6 + 4 × 4 turns of the user, each with two silences, and the last.
        prop_assert!(call.ended.is_some() && turns <= 23 * 3, "{} turns", turns);
    }
}

fn with_desks() -> Agent {
    let mut agent = garage();
    let tool = json!({ "enabled": true, "transfers": [
        { "condition": "anything else", "transferDestination": { "phoneNumber": "+15550100001" } },
        { "condition": "The caller asks about an invoice.", "transferDestination": { "phoneNumber": "+15550100002" } },
    ] });
    agent.conversation_config.agent.prompt.built_in_tools.transfer_to_number = serde_json::from_value(tool).unwrap();
    agent
}

#[test]
fn who_asks_for_a_person_is_handed_on_where_it_fits_best() {
    for (asks, to) in [
        ("Can I speak to a person, please?", "+15550100001"),
        ("Please transfer me, it is about my invoice.", "+15550100002"),
        ("Operator!", "+15550100001"),
    ] {
        let mut call = Call::greeted(with_desks());
        call.hears("Hello?");
        call.hears(asks);
        assert_eq!(call.handed_on.as_deref(), Some(to), "{asks}");
    }
}

#[test]
fn after_a_transfer_that_failed_the_interview_goes_on() {
    let mut call = Call::greeted(with_desks());
    call.hears("Hello?");
    call.hears("Put me through to somebody.");
    call.said(
        Speaker::Agent,
        "I'm sorry, nobody could be reached there. Is there something I can do for you?",
        false,
        false,
    );
    assert!(call.waits().contains("name"), "{:?}", call.history);
    call.hears("My name is Maria Lopez");
    assert_eq!(call.collected.len(), 1);
}

#[test]
fn without_anybody_to_hand_on_to_it_says_so_and_asks_on() {
    let mut call = Call::greeted(garage());
    call.hears("Hello?");
    let reply = call.hears("Can I talk to a human?");
    assert!(
        reply.starts_with("I'm sorry, I can't put you through.") && reply.contains('?'),
        "{reply}"
    );
    assert_eq!(call.handed_on, None);
}

#[test]
fn a_number_that_is_typed_is_understood() {
    let guests = json!({ "guests": { "type": "integer", "description": "number of guests" } });
    let mut call = Call::greeted(agent(&guests));
    call.hears("Hello?");
    call.hears("12");
    assert_eq!(call.collected, [("guests".to_owned(), json!(12))]);
    let phone = json!({ "phone": { "type": "string", "description": "phone number to call back" } });
    let mut call = Call::greeted(agent(&phone));
    call.hears("Hello?");
    call.hears("5551234567");
    assert_eq!(call.collected[0].1, json!("5551234567"));
}

#[test]
fn who_called_is_promised_no_call() {
    for words in ["Could you call me back later?", "Call me tomorrow at five, please."] {
        let mut call = Call::greeted(garage());
        call.direction = CallDirection::Inbound;
        let reply = call.hears(words);
        assert!(
            reply.starts_with("I can't arrange a call from here"),
            "{words}: {reply}"
        );
        assert_eq!((call.later, call.ended), (None, None), "{words}");
    }
    let mut call = Call::greeted(garage());
    call.direction = CallDirection::Inbound;
    assert!(call.hears("Who is this?").contains("an automated assistant"));
}

/// Creates a call to an agent whose documents give this answer to everything.
fn knowing(entities: &Value, answer: Option<&str>) -> Call {
    let mut agent = agent(entities);
    agent.conversation_config.agent.prompt.knowledge_base = vec!["hours".into()];
    let mut call = Call::greeted(agent);
    call.knowledge.answer = answer.map(str::to_owned);
    call
}

#[test]
fn a_question_is_answered_from_the_documents_and_the_interview_goes_on() {
    let entities = json!({
        "name": { "type": "string", "description": "the caller's full name" },
        "car": { "type": "boolean", "description": "whether they own a car" }
    });
    let mut call = knowing(&entities, Some("We are open from nine to five."));
    call.reply();
    for _ in 0..4 {
        let said = call.hears("What are your opening hours?");
        assert_eq!(said, "We are open from nine to five. What is your full name?");
    }
    assert_eq!(call.collected, [], "no answer was taken");
    call.hears("Maria Lopez.");
    let said = call.hears("Yes. And when are you open?");
    assert!(said.starts_with("We are open from nine to five."), "{said}");
    assert_eq!(
        call.collected,
        [("name".into(), "Maria Lopez".into()), ("car".into(), true.into())]
    );
}

#[test]
fn a_question_that_no_document_answers_costs_no_question_of_the_interview() {
    let entities = json!({ "guests": { "type": "integer", "description": "number of guests" } });
    let mut call = knowing(&entities, None);
    call.reply();
    for _ in 0..4 {
        let said = call.hears("Do you have a swimming pool?");
        assert!(said.starts_with("I'm sorry, I can't tell you that."), "{said}");
    }
    call.hears("Four.");
    assert_eq!(call.collected, [("guests".into(), 4.into())]);
    // Without documents the question is not understood, as before.
    let mut call = Call::greeted(agent(&entities));
    call.reply();
    let said = call.hears("Do you have a swimming pool?");
    assert!(said.starts_with("Sorry, I didn't catch that."), "{said}");
}

#[test]
fn an_agent_that_asks_for_nothing_answers_one_question_after_the_other() {
    let mut call = knowing(&json!({}), Some("Parking is free."));
    call.reply();
    for words in ["where can I park", "Is parking free?", "and how much is parking"] {
        assert_eq!(call.hears(words), "Parking is free. What else can I help you with?");
    }
    call.knowledge = Knowledge::default();
    assert!(
        call.hears("Is there a pool?")
            .starts_with("I'm sorry, I can't tell you that.")
    );
    call.hears("No, that's all, goodbye.");
    assert!(call.ended.is_some());
}

/// A garage whose model may not end the call.
fn garage_without_end() -> Agent {
    let mut agent = garage();
    agent.conversation_config.agent.prompt.built_in_tools.end_call.enabled = false;
    agent
}

#[test]
fn without_its_tool_the_interviewer_never_ends_a_call() {
    for words in [
        "Goodbye.",
        "Wrong number.",
        "I'm not interested.",
        "Call me tomorrow at ten.",
    ] {
        let mut call = Call::greeted(garage_without_end());
        call.said(Speaker::User, words, false, false);
        assert!(call.reply().contains("oodbye"), "{words}");
        assert_eq!(call.ended, None, "{words}");
    }
    let mut call = Call::greeted(garage_without_end());
    for _ in 0..5 {
        call.history.push(HistoryItem::Silence);
        call.reply();
    }
    assert_eq!(call.ended, None);
    // An opt-out that the agent honours ends the call, as a language model may.
    for honours in [false, true] {
        let mut agent = garage_without_end();
        agent.platform_settings.call_actions.smart_opt_out = honours;
        let mut call = Call::greeted(agent);
        call.said(Speaker::User, "Never call me again.", false, false);
        call.reply();
        assert_eq!(call.ended.as_deref(), honours.then_some("opt_out"));
    }
}

#[test]
fn a_tool_that_fits_is_asked_and_its_answer_is_told_before_the_interview_goes_on() {
    let mut call = Call::greeted(garage());
    call.tools = vec![ToolOffer {
        name: "repairStatus".into(),
        description: "Looks up the status of a repair.".into(),
        parameters: json!({ "type": "object", "properties": { "name": {} }, "required": ["name"] }),
        within: std::time::Duration::from_secs(5),
        key: "1".into(),
    }];
    call.said(Speaker::User, "Hello?", false, false);
    call.reply();
    call.said(Speaker::User, "What is the status of my repair?", false, false);
    call.reply();
    assert_eq!(call.runs, [], "the name was not collected");
    call.said(Speaker::User, "My name is Ada Lovelace.", false, false);
    assert!(call.reply().contains("day"));
    call.said(Speaker::User, "What is the status of my repair?", false, false);
    assert_eq!(call.reply(), "");
    assert_eq!(
        call.runs,
        [("repairStatus".to_owned(), json!({ "name": "Ada Lovelace" }))]
    );
    if let Some(HistoryItem::Tool { result, .. }) = call.history.last_mut() {
        *result = json!({ "status": 200, "answer": { "message": "Your car is ready." } });
    }
    call.said(Speaker::Agent, "One moment, please.", false, false);
    let told = call.reply();
    assert!(told.starts_with("Your car is ready.") && told.contains("day"), "{told}");
    call.said(Speaker::User, "On Friday.", false, false);
    call.reply();
    assert_eq!(call.collected.last().unwrap().0, "day");
    assert_eq!(call.runs.len(), 1);
}
