//! An appointment at the end of an interview: the agent asks for a time, repeats it, and books it with the
//! tool once it is agreed. The stage is derived from the history, like everything in an interview.

use chrono::{Datelike, NaiveDateTime};
use chrono_tz::Tz;
use serde_json::{Map, Value};

use super::answer;
use crate::{
    callback_time,
    ports::{
        language_model::{HistoryItem, ReplyEvent, ReplyRequest, Speaker},
        tool_runner::BOOK_APPOINTMENT as TOOL,
    },
    schedule,
    time::Timestamp,
};

/// Name of the tool that finds times.
const FINDER: &str = "findSlots";
/// The question for a time.
const ASK: &str = "What day and time would suit you for an appointment?";
/// Text before and after a time that is repeated.
const SAID: &str = "That would be ";
const CONFIRM: &str = ". Shall I book that?";
/// Said while the calendar is asked.
const WAIT: &str = "One moment, please.";
/// Said if the calendar does not accept the time.
const REFUSED: &str = "I'm sorry, that time can't be booked.";
/// Format of a spoken time, also used to parse it back.
const SPOKEN: &str = "%A, %B %-d at %-I:%M %p";
/// Most times that a time is asked for.
const MOST_ASKED: usize = 3;

/// Stage of the appointment.
#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// It was not mentioned yet.
    Ahead,
    /// The agent has asked for a time.
    Asked,
    /// The agent has repeated this time.
    SaidBack(NaiveDateTime),
    /// The calendar is being asked.
    Running,
    /// It is booked, for the time in its spoken form.
    Booked(String),
    /// It was not booked.
    Refused,
}

/// Next reply, and whether it is the last one.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// The call continues with these events.
    Say(Vec<ReplyEvent>),
    /// Last words of the call.
    End(String),
}

/// Appointment of an interview.
pub(super) struct Booking {
    stage: Stage,
    asked: usize,
    now: Timestamp,
    zone: Tz,
    email: Option<String>,
}

fn say(text: impl Into<String>) -> Next {
    Next::Say(vec![ReplyEvent::Text(text.into())])
}

/// Returns whether a tool is one of the calendar's.
pub(super) fn is_tool(name: &str) -> bool {
    [TOOL, FINDER].contains(&name)
}

impl Booking {
    /// Reads the stage from a request; none if the agent makes no appointments.
    pub fn of(request: &ReplyRequest) -> Option<Self> {
        request.tools.iter().find(|offer| offer.name == TOOL)?;
        let zone = &request.agent.conversation_config.agent.prompt.timezone;
        let mut booking = Self {
            stage: Stage::Ahead,
            asked: 0,
            now: request.now,
            zone: zone.parse().unwrap_or(Tz::UTC),
            email: None,
        };
        for item in &request.history {
            booking.take(item);
        }
        Some(booking)
    }

    fn take(&mut self, item: &HistoryItem) {
        match item {
            HistoryItem::Said {
                speaker: Speaker::Agent,
                text,
                ..
            } => {
                if let Some(time) = self.said_back(text) {
                    self.stage = Stage::SaidBack(time);
                } else if text.contains(ASK) {
                    self.asked += 1;
                    self.stage = Stage::Asked;
                }
            }
            HistoryItem::Tool { name, result, .. } if name == TOOL => self.stage = stage_of(result),
            HistoryItem::Tool { name, arguments, .. } if name == "collect" => self.collect(arguments),
            HistoryItem::Said { .. } | HistoryItem::Tool { .. } | HistoryItem::Silence => {}
        }
    }

    /// Takes the e-mail address that was asked for before.
    fn collect(&mut self, arguments: &Value) {
        let entity = arguments["entity"].as_str().unwrap_or_default().to_lowercase();
        if let Some(value) = arguments["value"].as_str().filter(|_| entity.contains("mail")) {
            self.email = Some(value.to_owned());
        }
    }

    /// Parses the time from the agent's own words; the year is the one in which it lies ahead.
    fn said_back(&self, text: &str) -> Option<NaiveDateTime> {
        let (_, rest) = text.rsplit_once(SAID)?;
        let (time, _) = rest.split_once(CONFIRM)?;
        let today = schedule::local(self.now, self.zone).date();
        (today.year()..=today.year() + 1)
            .filter_map(|year| NaiveDateTime::parse_from_str(&format!("{time} {year}"), &format!("{SPOKEN} %Y")).ok())
            .find(|time| time.date() >= today)
    }

    /// Returns whether a time was asked for. Then nothing else is asked any more.
    pub fn is_begun(&self) -> bool {
        self.stage != Stage::Ahead
    }

    /// Returns the next reply if the other person said nothing new.
    pub fn next(&self, opening: &str) -> Next {
        let gap = if opening.is_empty() { "" } else { " " };
        match &self.stage {
            Stage::Ahead | Stage::Asked => say(format!("{opening}{gap}{ASK}")),
            Stage::SaidBack(time) => say(format!("{opening}{gap}{}", said(*time))),
            Stage::Running => say(WAIT),
            Stage::Booked(time) => Next::End(format!("You're booked for {time}. Thank you. Goodbye!")),
            Stage::Refused if self.asked < MOST_ASKED => say(format!("{REFUSED} {ASK}")),
            Stage::Refused => Next::End(format!("{REFUSED} Thank you for your time. Goodbye!")),
        }
    }

    /// Returns the reply to an answer.
    pub fn hear(&self, text: &str, damaged: bool) -> Next {
        let agreed = answer::yes_or_no(text);
        match &self.stage {
            Stage::Ahead | Stage::Running | Stage::Booked(_) => return self.next(""),
            Stage::Asked | Stage::Refused | Stage::SaidBack(_) if damaged => return self.again(),
            Stage::SaidBack(time) if agreed == Some(true) => return self.book(*time),
            Stage::Asked | Stage::Refused | Stage::SaidBack(_) => {}
        }
        let time = callback_time::parse_answer(text).and_then(|time| time.instant(self.now, self.zone));
        match (time, &self.stage) {
            (Some(at), _) => say(said(schedule::local(at, self.zone))),
            (None, Stage::Asked | Stage::Refused) if agreed == Some(false) => {
                Next::End("All right. Thank you for your time. Goodbye!".to_owned())
            }
            (None, Stage::SaidBack(_)) if agreed == Some(false) && self.asked < MOST_ASKED => {
                say(format!("All right. {ASK}"))
            }
            (None, _) => self.again(),
        }
    }

    fn again(&self) -> Next {
        match self.asked {
            MOST_ASKED.. => Next::End("I'm sorry, I can't make it out. Thank you for your time. Goodbye!".to_owned()),
            _ => self.next("Sorry, I didn't catch that."),
        }
    }

    fn book(&self, time: NaiveDateTime) -> Next {
        let mut arguments = Map::new();
        arguments.insert("start".into(), time.format("%Y-%m-%dT%H:%M").to_string().into());
        if let Some(email) = &self.email {
            arguments.insert("email".into(), email.clone().into());
        }
        Next::Say(vec![
            ReplyEvent::Text(WAIT.to_owned()),
            ReplyEvent::Tool {
                name: TOOL.to_owned(),
                arguments: Value::Object(arguments),
                echo: None,
            },
        ])
    }
}

fn said(time: NaiveDateTime) -> String {
    format!("{SAID}{}{CONFIRM}", time.format(SPOKEN))
}

fn stage_of(result: &Value) -> Stage {
    match (&result["said"], &result["error"]) {
        (Value::String(said), _) => Stage::Booked(said.clone()),
        (_, Value::Null) => Stage::Running,
        _ => Stage::Refused,
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use serde_json::json;

    use super::*;
    use crate::{
        interviewer::plan,
        ports::{store::CallDirection, tool_runner::ToolOffer, usage::Meter},
    };

    /// A call on Thursday, 1 January 2026, in which everything said is heard.
    struct Call(ReplyRequest);

    impl Call {
        fn new() -> Self {
            let agent = json!({
                "name": "Ava",
                "conversationConfig": { "agent": { "prompt": {
                    "prompt": "Be brief.", "timezone": "Europe/Berlin", "builtInTools": { "endCall": { "enabled": true } }
                } } },
                "platformSettings": { "dataCollection": { "entities": {
                    "email": { "type": "string", "description": "e-mail address" }
                } } }
            });
            let offer = ToolOffer {
                name: TOOL.into(),
                description: String::new(),
                parameters: json!({}),
                within: Duration::from_secs(1),
                key: String::new(),
            };
            Self(ReplyRequest {
                agent: Arc::new(serde_json::from_value(agent).unwrap()),
                variables: Arc::default(),
                tools: Arc::new([offer]),
                direction: CallDirection::Outbound,
                history: Vec::new(),
                now: Timestamp(1_767_261_600_000_000),
                notes: Vec::new(),
                knowledge: crate::knowledge::Knowledge::default(),
                failures: 0,
                meter: Meter::default(),
            })
        }

        /// Returns the agent's next words and tool calls.
        fn next(&mut self) -> (String, Vec<(String, Value)>) {
            let (mut words, mut tools) = (String::new(), Vec::new());
            for event in plan(&self.0) {
                match event {
                    ReplyEvent::Text(text) => words += &text,
                    ReplyEvent::Tool { name, arguments, .. } => tools.push((name, arguments)),
                }
            }
            for (name, arguments) in &tools {
                self.0.history.push(HistoryItem::Tool {
                    name: name.clone(),
                    arguments: arguments.clone(),
                    result: json!({ "status": "running" }),
                    echo: None,
                });
            }
            self.said(Speaker::Agent, &words);
            (words, tools)
        }

        fn said(&mut self, speaker: Speaker, text: &str) {
            self.0.history.push(HistoryItem::Said {
                speaker,
                text: text.into(),
                interrupted: false,
                damaged: false,
            });
        }

        fn hears(&mut self, text: &str) -> (String, Vec<(String, Value)>) {
            self.said(Speaker::User, text);
            self.next()
        }

        /// Lets the calendar answer.
        fn answers(&mut self, answer: &Value) -> (String, Vec<(String, Value)>) {
            for item in &mut self.0.history {
                if let HistoryItem::Tool { name, result, .. } = item
                    && name == TOOL
                {
                    result.clone_from(answer);
                }
            }
            self.next()
        }

        /// Creates a call in which everything was asked.
        fn asked() -> Self {
            let mut call = Self::new();
            call.next();
            let (words, _) = call.hears("ada@example.com");
            assert!(words.ends_with(ASK), "{words}");
            call
        }
    }

    #[test]
    fn a_time_is_said_back_and_booked_once_it_is_agreed() {
        let mut call = Call::asked();
        let (words, _) = call.hears("Hm, tomorrow at three?");
        assert_eq!(words, "That would be Friday, January 2 at 3:00 PM. Shall I book that?");
        let (words, _) = call.hears("No, make it half past four tomorrow.");
        assert_eq!(words, "That would be Friday, January 2 at 4:30 PM. Shall I book that?");
        let (words, tools) = call.hears("Yes, please.");
        assert_eq!(words, WAIT);
        let wanted = json!({ "start": "2026-01-02T16:30", "email": "ada@example.com" });
        assert_eq!(tools, [(TOOL.to_owned(), wanted)]);
        assert_eq!(call.hears("Hello?").0, WAIT);
        let (words, tools) = call.answers(&json!({ "booked": true, "said": "Friday, January 2 at 4:30 PM" }));
        assert!(
            words.starts_with("You're booked for Friday, January 2 at 4:30 PM."),
            "{words}"
        );
        assert_eq!(tools[0].0, "endCall");
    }

    #[test]
    fn a_time_that_is_refused_or_not_understood_is_asked_for_again_and_then_no_more() {
        let mut call = Call::asked();
        assert!(call.hears("The blue bicycle.").0.ends_with(ASK));
        call.hears("Tomorrow at three.");
        call.hears("Yes.");
        let (words, _) = call.answers(&json!({ "error": "taken" }));
        assert_eq!(words, format!("{REFUSED} {ASK}"));
        let (words, tools) = call.hears("The blue bicycle.");
        assert!(words.ends_with("Goodbye!") && tools[0].0 == "endCall", "{words}");
    }

    #[test]
    fn nobody_has_to_make_an_appointment() {
        let mut call = Call::asked();
        let (words, tools) = call.hears("No.");
        assert!(words.ends_with("Goodbye!") && tools[0].0 == "endCall", "{words}");
        let mut call = Call::asked();
        let (_, tools) = call.hears("Don't call me again.");
        assert_eq!(tools[0].0, "endCall");
    }
}
