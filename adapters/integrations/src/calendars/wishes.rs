//! Tools that a model may use for a calendar, and the checks of their arguments. Arguments come from a
//! caller's words, so each one is checked.

use std::time::Duration;

use chrono_tz::Tz;
use domain::{
    agent::{Agent, CalendarProvider},
    email,
    ports::{
        store::{AppointmentDetails, NewAppointment},
        tool_runner::{BOOK_APPOINTMENT, ToolFault, ToolOffer, ToolScope},
    },
    time::Timestamp,
};
use serde_json::{Map, Value, json};

use super::{port::Span, times};

/// Name of the tool that finds free times.
pub const FIND_SLOTS: &str = "findSlots";

/// Time limit of one run: two requests without an answer, a look-up of their outcome, and one more attempt.
const WITHIN: Duration = Duration::from_secs(25);

/// Longest time span that is searched for free times.
const LONGEST_SPAN: Duration = Duration::from_secs(14 * 24 * 3_600);

/// Maximum characters of a name and of notes.
const NAME_CHARS: usize = 100;
const NOTES_CHARS: usize = 1_000;

/// Person of a call, as far as known.
#[derive(Debug, Clone, Default)]
pub(super) struct Person {
    pub name: Option<String>,
    pub email: Option<String>,
}

/// Returns the agent's time zone. Only IANA zones are accepted when an agent is saved.
pub(super) fn zone(agent: &Agent) -> Tz {
    agent
        .conversation_config
        .agent
        .prompt
        .timezone
        .parse()
        .unwrap_or(Tz::UTC)
}

/// Returns the tools of an agent.
pub(super) fn offers(provider: CalendarProvider, calendars: &[String], person: &Person) -> Vec<ToolOffer> {
    let mut offers = Vec::new();
    if provider != CalendarProvider::Ics {
        offers.push(find_slots(calendars));
    }
    offers.push(book_appointment(provider, calendars, person));
    offers
}

fn offer(name: &str, description: String, properties: &Value, required: &[&str]) -> ToolOffer {
    ToolOffer {
        name: name.to_owned(),
        description,
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
        within: WITHIN,
        key: name.to_owned(),
    }
}

/// Returns the parameter that chooses a calendar, if there are several.
fn choice(calendars: &[String]) -> Option<Value> {
    (calendars.len() > 1).then(|| {
        json!({
            "type": "string",
            "enum": calendars,
            "description": "Which calendar; the first one if nothing tells.",
        })
    })
}

fn find_slots(calendars: &[String]) -> ToolOffer {
    let mut properties = json!({
        "from": { "type": "string", "description": "First day or time to look at, such as 2026-11-24 or 2026-11-24T14:00." },
        "to": { "type": "string", "description": "Last day or time to look at, at most two weeks later." },
    });
    if let Some(choice) = choice(calendars) {
        properties["calendar"] = choice;
    }
    let description = "Tells the times that are free for an appointment. Offer two or three of them, as `said` has \
                       them, and none that is not listed.";
    offer(FIND_SLOTS, description.to_owned(), &properties, &["from", "to"])
}

fn book_appointment(provider: CalendarProvider, calendars: &[String], person: &Person) -> ToolOffer {
    let mut description = "Makes an appointment. First agree on day and time and read both back. Say that it is made \
                           only once the result says so."
        .to_owned();
    if provider == CalendarProvider::Ics {
        description += " They get an invitation by mail. Nobody knows here which times are free: keep to what your \
                        instructions say about them.";
    }
    let mut required = vec!["start"];
    let mut properties = json!({
        "start": { "type": "string", "description": "When it begins, such as 2026-11-24T15:00, in your time zone." },
        "notes": { "type": "string", "description": "What it is about, in a sentence." },
    });
    if person.name.is_none() {
        properties["name"] = json!({ "type": "string", "description": "Their name." });
        required.push("name");
    }
    if person.email.is_none() {
        properties["email"] = json!({ "type": "string", "description": "Their e-mail address, read back to them." });
        if provider.needs_email() {
            required.push("email");
        }
    }
    if let Some(choice) = choice(calendars) {
        properties["calendar"] = choice;
    }
    offer(BOOK_APPOINTMENT, description, &properties, &required)
}

/// Request of a model and its context.
pub(super) struct Asked<'a> {
    pub scope: &'a ToolScope,
    pub provider: CalendarProvider,
    pub arguments: &'a Value,
    pub now: Timestamp,
}

impl Asked<'_> {
    fn zone(&self) -> Tz {
        zone(&self.scope.agent)
    }

    fn text(&self, name: &str, most: usize) -> Result<Option<String>, ToolFault> {
        let empty = Map::new();
        let given = self.arguments.as_object().unwrap_or(&empty).get(name);
        let text = match given {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) => text,
            Some(_) => return Err(ToolFault::Arguments(format!("`{name}` must be a text"))),
        };
        let text: String = text.split(|c: char| c.is_control()).collect::<Vec<_>>().join(" ");
        let text = text.trim().to_owned();
        match text.chars().count() {
            0 => Ok(None),
            count if count > most => Err(ToolFault::Arguments(format!(
                "`{name}` is longer than {most} characters"
            ))),
            _ => Ok(Some(text)),
        }
    }

    /// Returns the requested calendar, which must be one of the agent's own.
    pub(super) fn calendar(&self) -> Result<String, ToolFault> {
        let own = self
            .scope
            .agent
            .platform_settings
            .call_actions
            .schedule_on_calendar
            .calendars();
        let named = self.text("calendar", 200)?;
        match named {
            None => Ok(own.into_iter().next().unwrap_or_default()),
            Some(named) if own.contains(&named) => Ok(named),
            Some(_) => Err(ToolFault::Refused("there is no such calendar".into())),
        }
    }

    /// Returns the time span to search, from now on.
    pub(super) fn span(&self) -> Result<Span, ToolFault> {
        let zone = self.zone();
        let end = |name: &str, last: bool| {
            let text = self.text(name, NAME_CHARS)?.unwrap_or_default();
            let read = times::read_end(&text, last, self.now, zone);
            read.ok_or_else(|| {
                ToolFault::Arguments(format!(
                    "`{name}` must be a day or a time, such as 2026-11-24 or 2026-11-24T14:00"
                ))
            })
        };
        let from = end("from", false)?.max(self.now);
        let to = end("to", true)?
            .min(self.now.plus(times::FARTHEST))
            .min(from.plus(LONGEST_SPAN));
        if to <= from {
            return Err(ToolFault::Arguments(
                "the time from `from` to `to` is in the past, or more than 90 days ahead".into(),
            ));
        }
        Ok(Span { from, to, zone })
    }

    /// Returns the requested appointment. If the person's name and address are known, they win over words in the call.
    pub(super) fn appointment(&self, person: Person) -> Result<NewAppointment, ToolFault> {
        let zone = self.zone();
        let start = self.text("start", NAME_CHARS)?.unwrap_or_default();
        let starts_at = times::read(&start, self.now, zone)
            .ok_or_else(|| ToolFault::Arguments("`start` must be a day and a time, such as 2026-11-24T15:00".into()))?;
        if starts_at <= self.now || starts_at > self.now.plus(times::FARTHEST) {
            let now = self.now.to_iso8601_in(zone);
            let why = format!("`start` must be in the future, within 90 days; it is {now} now");
            return Err(ToolFault::Arguments(why));
        }
        let given = self.text("name", NAME_CHARS)?;
        let name = person
            .name
            .or(given)
            .ok_or_else(|| ToolFault::Arguments("ask for their name".into()))?;
        let details = AppointmentDetails {
            title: format!("{}: {name}", self.scope.agent.name.trim()),
            timezone: zone.name().to_owned(),
            name,
            email: self.email(person.email)?,
            phone: (!self.scope.number.is_nobodys()).then(|| self.scope.number.to_string()),
            notes: self.text("notes", NOTES_CHARS)?,
        };
        Ok(NewAppointment {
            account: self.scope.account,
            attempt: self.scope.attempt,
            provider: self.provider,
            calendar: self.calendar()?,
            starts_at,
            ends_at: starts_at.plus(times::LENGTH),
            details,
        })
    }

    fn email(&self, known: Option<String>) -> Result<Option<String>, ToolFault> {
        if known.is_some() {
            return Ok(known);
        }
        match self.text("email", 2 * email::MAX_CHARS)? {
            Some(given) if email::is_valid(&given) => Ok(Some(given)),
            Some(given) => email::spoken(&given).map(Some).ok_or_else(|| {
                ToolFault::Arguments("`email` is not an e-mail address; ask them to spell it, and read it back".into())
            }),
            None if self.provider.needs_email() => Err(ToolFault::Arguments("ask for their e-mail address".into())),
            None => Ok(None),
        }
    }
}
