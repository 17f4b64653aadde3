//! Callees against the built-in interviewer, word for word and without audio. Whatever it asks, it gets an
//! answer it understands.

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    agent::Agent,
    interviewer::plan,
    knowledge::Knowledge,
    ports::{
        language_model::{HistoryItem, ReplyEvent, ReplyRequest, Speaker},
        store::CallDirection,
        usage::Meter,
    },
    time::Timestamp,
};
use serde_json::{Value, json};

use super::{
    act::{Act, Sense},
    character::Persona,
    person::Person,
};

struct Interview {
    agent: Arc<Agent>,
    history: Vec<HistoryItem>,
    collected: BTreeMap<String, Value>,
    ended: bool,
}

impl Interview {
    fn new(entities: &Value) -> Self {
        let agent: Agent = serde_json::from_value(json!({
            "name": "Garage Nord",
            "conversationConfig": { "agent": { "prompt": {
                "prompt": "Be brief.", "builtInTools": { "endCall": { "enabled": true } }
            } } },
            "platformSettings": { "dataCollection": { "entities": entities } }
        }))
        .unwrap();
        Self {
            agent: Arc::new(agent),
            history: Vec::new(),
            collected: BTreeMap::new(),
            ended: false,
        }
    }

    fn said(&mut self, speaker: Speaker, text: &str) {
        self.history.push(HistoryItem::Said {
            speaker,
            text: text.to_owned(),
            interrupted: false,
            damaged: false,
        });
    }

    fn reply(&mut self) -> String {
        let request = ReplyRequest {
            agent: self.agent.clone(),
            variables: Arc::default(),
            tools: Arc::default(),
            direction: CallDirection::Outbound,
            history: self.history.clone(),
            now: Timestamp(0),
            notes: Vec::new(),
            knowledge: Knowledge::default(),
            failures: 0,
            meter: Meter::default(),
        };
        let mut words = String::new();
        for event in plan(&request) {
            match event {
                ReplyEvent::Text(text) => words.push_str(&text),
                ReplyEvent::Tool { name, arguments, echo } => {
                    match &*name {
                        "collect" => {
                            let entity = arguments["entity"].as_str().unwrap().to_owned();
                            self.collected.insert(entity, arguments["value"].clone());
                        }
                        "endCall" => self.ended = true,
                        _ => {}
                    }
                    let result = json!({});
                    self.history.push(HistoryItem::Tool {
                        name,
                        arguments,
                        result,
                        echo,
                    });
                }
            }
        }
        self.said(Speaker::Agent, &words);
        words
    }
}

/// Lets both talk in turn until one of them ends the call; returns the words.
fn converse(interview: &mut Interview, number: &str) -> Vec<String> {
    let mut behaviour = Persona::Cooperative.behaviour(Person::new(number, 3));
    let mut lines = Vec::new();
    let mut now_ms = 0;
    for _ in 0..200_000 {
        now_ms += 20;
        match behaviour.sense(now_ms, Sense::Tick) {
            Some(Act::Say(text)) => {
                now_ms += 1_500;
                behaviour.sense(now_ms, Sense::Spoken);
                interview.said(Speaker::User, &text);
                lines.push(format!("User: {text}"));
            }
            Some(Act::HangUp) => break,
            _ => continue,
        }
        let words = interview.reply();
        lines.push(format!("Agent: {words}"));
        now_ms += 3_000;
        behaviour.sense(now_ms, Sense::AgentSaid(&words));
        if interview.ended {
            break;
        }
    }
    lines
}

#[test]
fn an_interviewer_gets_everything_it_asks_for() {
    let entities = json!({
        "name": { "type": "string", "description": "the caller's full name" },
        "email": { "type": "string", "description": "the caller's e-mail address" },
        "day": { "type": "string", "description": "preferred day for a visit" },
        "time": { "type": "string", "description": "preferred time of day" },
        "guests": { "type": "integer", "description": "number of guests" },
        "rating": { "type": "number", "description": "satisfaction from 1 to 10" },
        "city": { "type": "string", "description": "city of residence" },
        "car": { "type": "boolean", "description": "whether they own a car" }
    });
    for n in 0..200 {
        let mut interview = Interview::new(&entities);
        let lines = converse(&mut interview, &format!("+1555123{n:04}"));
        let collected = &interview.collected;
        assert!(
            interview.ended && collected.len() == 8,
            "{collected:?}\n{}",
            lines.join("\n")
        );
        assert!(lines.len() <= 24, "{}", lines.join("\n"));
        assert!(
            collected["guests"].is_i64() && collected["car"].is_boolean(),
            "{collected:?}"
        );
        assert!(
            collected["email"].as_str().unwrap().ends_with("@example.com"),
            "{collected:?}"
        );
        let name = collected["name"].as_str().unwrap();
        assert_eq!(name.split(' ').count(), 2, "{name}");
    }
}
