//! Replies of the stubs of language models: those of the interviewer, based on the fields of a request.

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    agent::{Agent, Entity, EntityKind},
    interviewer,
    knowledge::Knowledge,
    ports::{
        language_model::{HistoryItem, ReplyEvent, ReplyRequest, Speaker},
        store::CallDirection,
        usage::Meter,
    },
    prompt::{EntityLine, GREETING_HEADING, LINE_HEADING, NAME_HEADING, OPT_OUT_RULE, notes},
    time::Timestamp,
};
use serde_json::{Map, Value, json};

/// A request for a reply, as a provider receives it.
#[derive(Debug, Default)]
pub(super) struct ModelRequest {
    /// Instructions.
    pub system: String,
    /// Names and arguments of the tools, as JSON Schema.
    pub tools: Vec<(String, Value)>,
    /// The call so far.
    history: Vec<HistoryItem>,
    /// Ids of the calls in the history, and their positions in it.
    calls: Vec<(String, usize)>,
}

/// Words of a model that has nothing to say.
const LISTENING: &str = "I'm listening.";

/// Words and tool calls of a model.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ModelReply {
    pub words: String,
    /// Name and arguments.
    pub calls: Vec<(String, Value)>,
}

impl ModelReply {
    /// Creates a reply of words only.
    pub(super) fn words(words: String) -> Self {
        Self {
            words,
            calls: Vec::new(),
        }
    }

    /// Creates a reply of one call only.
    pub(super) fn call(name: &str, arguments: Value) -> Self {
        Self {
            words: String::new(),
            calls: vec![(name.to_owned(), arguments)],
        }
    }
}

impl ModelRequest {
    /// Adds a message of the user, line by line.
    pub(super) fn user(&mut self, text: &str) {
        for line in text.lines() {
            match line.trim() {
                "" | notes::CONNECTED | notes::YOUR_TURN => {}
                notes::SILENCE => self.history.push(HistoryItem::Silence),
                notes::INTERRUPTED => self.cut_short(),
                notes::DAMAGED => self.said(Speaker::User, "", true),
                // Only notes about the present moment follow.
                now if now.starts_with(notes::NOW) => break,
                words => match words.strip_prefix(notes::OPERATOR) {
                    Some(said) => self.said(Speaker::Operator, said.trim_end_matches(']'), false),
                    None => self.said(Speaker::User, words, false),
                },
            }
        }
    }

    /// Adds a message of the model itself.
    pub(super) fn agent(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.said(Speaker::Agent, text.trim(), false);
        }
    }

    /// Adds a tool call of the model itself.
    pub(super) fn call(&mut self, id: &str, name: &str, arguments: Value) {
        self.calls.push((id.to_owned(), self.history.len()));
        self.history.push(HistoryItem::Tool {
            name: name.to_owned(),
            arguments,
            result: Value::Null,
            echo: None,
        });
    }

    /// Adds the result of a call; returns `false` if there is no such call.
    pub(super) fn result(&mut self, id: &str, text: &str) -> bool {
        let Some(at) = self.calls.iter().position(|(called, _)| called == id) else {
            return false;
        };
        let (_, at) = self.calls.swap_remove(at);
        if let Some(HistoryItem::Tool { result, .. }) = self.history.get_mut(at) {
            *result = serde_json::from_str(text).unwrap_or_else(|_| text.into());
        }
        true
    }

    /// Returns whether a call has no result yet.
    pub(super) fn waits_for_results(&self) -> bool {
        !self.calls.is_empty()
    }

    fn said(&mut self, by: Speaker, words: &str, lost: bool) {
        match self.history.last_mut() {
            Some(HistoryItem::Said {
                speaker, text, damaged, ..
            }) if *speaker == by => {
                *damaged |= lost;
                if !text.is_empty() && !words.is_empty() {
                    text.push(' ');
                }
                text.push_str(words);
            }
            _ => self.history.push(HistoryItem::Said {
                speaker: by,
                text: words.to_owned(),
                interrupted: false,
                damaged: lost,
            }),
        }
    }

    fn cut_short(&mut self) {
        let spoken = self.history.iter_mut().rev().find_map(|item| match item {
            HistoryItem::Said {
                speaker: Speaker::Agent,
                interrupted,
                ..
            } => Some(interrupted),
            _ => None,
        });
        if let Some(interrupted) = spoken {
            *interrupted = true;
        }
    }

    /// Returns the interviewer's reply, as far as the offered tools allow it.
    pub(super) fn think(self) -> ModelReply {
        let entities = self.entities();
        let offered: Vec<String> = self.tools.iter().map(|(name, _)| name.clone()).collect();
        let request = ReplyRequest {
            agent: Arc::new(self.agent_of(&entities)),
            variables: Arc::new(BTreeMap::new()),
            tools: Arc::default(),
            // A model that may not schedule a call was called.
            direction: match offered.iter().any(|name| name == "callLater") {
                true => CallDirection::Outbound,
                false => CallDirection::Inbound,
            },
            history: self.history.into_iter().map(|item| typed(item, &entities)).collect(),
            now: Timestamp(0),
            notes: Vec::new(),
            knowledge: Knowledge::default(),
            failures: 0,
            meter: Meter::default(),
        };
        let mut reply = ModelReply::default();
        for event in interviewer::plan(&request) {
            match event {
                ReplyEvent::Text(text) => reply.words.push_str(&text),
                ReplyEvent::Tool {
                    name, mut arguments, ..
                } => {
                    if let Some(value) = arguments.get_mut("value") {
                        *value = in_words(value).into();
                    }
                    if offered.contains(&name) {
                        reply.calls.push((name, arguments));
                    }
                }
            }
        }
        // A model without `skipTurn` must say something.
        if reply == ModelReply::default() {
            reply.words.push_str(LISTENING);
        }
        reply
    }

    /// Returns the entities that `collect` is offered for.
    fn entities(&self) -> Vec<EntityLine> {
        let collect = self.tools.iter().find(|(name, _)| name == "collect");
        let Some(entity) = collect.and_then(|(_, schema)| schema.pointer("/properties/entity")) else {
            return Vec::new();
        };
        let told = entity["description"].as_str().unwrap_or_default();
        let told: Vec<EntityLine> = told.lines().filter_map(EntityLine::read).collect();
        let names = entity["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let lines = names.map(|name| {
            let plain = || EntityLine {
                name: name.to_owned(),
                entity: Entity::default(),
            };
            told.iter()
                .find(|line| line.name == name)
                .cloned()
                .unwrap_or_else(plain)
        });
        lines.collect()
    }

    fn agent_of(&self, entities: &[EntityLine]) -> Agent {
        let mut agent = Agent::default();
        let below = |heading: &str| {
            let (_, rest) = self.system.split_once(&format!("{heading}\n"))?;
            rest.lines().next().map(str::to_owned)
        };
        agent.name = below(NAME_HEADING).unwrap_or_default();
        let section = &mut agent.conversation_config.agent;
        section.prompt.built_in_tools.end_call.enabled = self.tools.iter().any(|(name, _)| name == "endCall");
        let prompt = self.system.split(LINE_HEADING).next().unwrap_or_default();
        prompt.trim().clone_into(&mut section.prompt.prompt);
        section.greeting_message = below(GREETING_HEADING);
        agent.platform_settings.call_actions.smart_opt_out = self.system.contains(OPT_OUT_RULE);
        agent.platform_settings.data_collection.entities = entities.iter().map(document).collect();
        agent
    }
}

fn document(line: &EntityLine) -> (String, Value) {
    let entity = json!({
        "type": line.entity.kind,
        "description": line.entity.description,
        "enum": line.entity.allowed,
    });
    (line.name.clone(), entity)
}

/// Values come back as text; restores the types that the interviewer knows.
fn typed(item: HistoryItem, entities: &[EntityLine]) -> HistoryItem {
    let HistoryItem::Tool {
        name,
        mut arguments,
        result,
        echo,
    } = item
    else {
        return item;
    };
    let line = entities.iter().find(|line| arguments["entity"] == line.name.as_str());
    if let Some((line, text)) = line.zip(arguments["value"].as_str().map(str::to_owned)) {
        arguments["value"] = value(&line.entity, &text);
    }
    HistoryItem::Tool {
        name,
        arguments,
        result,
        echo,
    }
}

fn value(entity: &Entity, text: &str) -> Value {
    if let Some(allowed) = entity.allowed.iter().find(|allowed| in_words(allowed) == text) {
        return allowed.clone();
    }
    match entity.kind {
        EntityKind::String => text.into(),
        EntityKind::Number | EntityKind::Integer | EntityKind::Boolean => {
            serde_json::from_str(text).unwrap_or_else(|_| text.into())
        }
    }
}

fn in_words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Splits words as a model writes them: token by token, about one for each word.
pub(super) fn tokens(words: &str) -> Vec<&str> {
    words.split_inclusive(' ').collect()
}

/// Splits a text into two pieces, as arguments are streamed.
pub(super) fn halves(text: &str) -> (String, String) {
    let middle = text.char_indices().map(|(at, _)| at).nth(text.chars().count() / 2);
    let (begin, end) = text.split_at(middle.unwrap_or(0));
    (begin.to_owned(), end.to_owned())
}

/// Returns the approximate number of tokens of a request.
pub(super) fn count(value: &Value) -> usize {
    value.to_string().len().div_ceil(4)
}

/// Returns the text of a message's content: a string, or a list of parts.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Returns the object in a value, or an empty object.
pub(super) fn object_of(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}
