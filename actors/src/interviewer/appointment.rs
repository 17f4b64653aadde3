//! An appointment at the end of an interview: a time is asked for, said back, and booked by the tool once it is agreed.
//! Where it stands is read off the history, as all of an interview is.

use chrono::{Datelike, NaiveDateTime};
use chrono_tz::Tz;
use serde_json::{Map, Value};

use super::answer;
use crate::{
    callback_time, campaign,
    ports::language_model::{HistoryItem, ReplyEvent, ReplyRequest, Speaker},
    time::Timestamp,
};

/// The tool that makes it.
const TOOL: &str = "bookAppointment";
/// The question for a time.
const ASK: &str = "What day and time would suit you for an appointment?";
/// Around a time that is said back.
const SAID: &str = "That would be ";
const CONFIRM: &str = ". Shall I book that?";
/// Said while the calendar is asked.
const WAIT: &str = "One moment, please.";
/// Said where a calendar does not take it.
const REFUSED: &str = "I'm sorry, that time can't be booked.";
/// How a time is said, and read again from what was said.
const SPOKEN: &str = "%A, %B %-d at %-I:%M %p";
/// How often a time is asked for.
const MOST_ASKED: usize = 3;

/// Where it stands.
#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// Nothing was said of it.
    Ahead,
    /// A time was asked for.
    Asked,
    /// It was said back.
    SaidBack(NaiveDateTime),
    /// The calendar is being asked.
    Running,
    /// It is made, for the time as it is said.
    Booked(String),
    /// It was not made.
    Refused,
}

/// What is said next, and whether that is all.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// The call goes on.
    Say(Vec<ReplyEvent>),
    /// Last words.
    End(String),
}

/// The appointment of an interview.
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

impl Booking {
    /// None where the agent makes no appointments.
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

    /// An e-mail address that was asked for before.
    fn collect(&mut self, arguments: &Value) {
        let entity = arguments["entity"].as_str().unwrap_or_default().to_lowercase();
        if let Some(value) = arguments["value"].as_str().filter(|_| entity.contains("mail")) {
            self.email = Some(value.to_owned());
        }
    }

    /// The time in the agent's own words; the year is the one in which it lies ahead.
    fn said_back(&self, text: &str) -> Option<NaiveDateTime> {
        let (_, rest) = text.rsplit_once(SAID)?;
        let (time, _) = rest.split_once(CONFIRM)?;
        let today = campaign::local(self.now, self.zone).date();
        (today.year()..=today.year() + 1)
            .filter_map(|year| NaiveDateTime::parse_from_str(&format!("{time} {year}"), &format!("{SPOKEN} %Y")).ok())
            .find(|time| time.date() >= today)
    }

    /// Whether a time was asked for: then nothing else is asked any more.
    pub fn is_begun(&self) -> bool {
        self.stage != Stage::Ahead
    }

    /// What is said when the other person said nothing new.
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

    /// What is said to an answer.
    pub fn hear(&self, text: &str, damaged: bool) -> Next {
        let agreed = answer::yes_or_no(text);
        match &self.stage {
            Stage::Ahead | Stage::Running | Stage::Booked(_) | Stage::Refused => return self.next(""),
            Stage::Asked | Stage::SaidBack(_) if damaged => return self.again(),
            Stage::SaidBack(time) if agreed == Some(true) => return self.book(*time),
            Stage::Asked | Stage::SaidBack(_) => {}
        }
        let time = callback_time::parse_answer(text).and_then(|time| time.instant(self.now, self.zone));
        match (time, &self.stage) {
            (Some(at), _) => say(said(campaign::local(at, self.zone))),
            (None, Stage::Asked) if agreed == Some(false) => {
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
