//! Calendars for an agent's appointments, and the checks of an agent's calendar settings.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{platform::ScheduleOnCalendar, schema::shape::at};
use crate::problem::{Problem, shown};

/// Path of `scheduleOnCalendar` in an agent's document.
pub(super) const PLACE: &str = "platformSettings.callActions.scheduleOnCalendar";

/// The values of `scheduleOnCalendar.provider`.
pub(super) const CALENDARS: [&str; 3] = ["ics", "cal.com", "google"];

/// Provider of a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CalendarProvider {
    /// No calendar: the person gets an invitation by e-mail.
    Ics,
    /// Cal.com.
    CalCom,
    /// Google Calendar.
    Google,
}

impl CalendarProvider {
    /// Returns the spelling used in settings and rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ics => CALENDARS[0],
            Self::CalCom => CALENDARS[1],
            Self::Google => CALENDARS[2],
        }
    }

    /// Parses that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Ics, Self::CalCom, Self::Google]
            .into_iter()
            .find(|provider| provider.as_str() == text)
    }

    /// Returns whether an appointment needs the person's e-mail address.
    pub fn needs_email(self) -> bool {
        match self {
            Self::Ics | Self::CalCom => true,
            Self::Google => false,
        }
    }
}

impl ScheduleOnCalendar {
    /// Returns the calendar provider. Without a provider it is an invitation; an unknown name gives none.
    pub fn calendar(&self) -> Option<CalendarProvider> {
        self.provider
            .as_deref()
            .map_or(Some(CalendarProvider::Ics), CalendarProvider::parse)
    }

    /// Returns the calendars for appointments: Cal.com event types or Google calendars; an invitation has none.
    pub fn calendars(&self) -> Vec<String> {
        match (self.calendar(), self.events_ids.is_empty()) {
            (Some(CalendarProvider::Google), true) => vec!["primary".to_owned()],
            (Some(CalendarProvider::Ics) | None, _) => Vec::new(),
            (Some(CalendarProvider::Google | CalendarProvider::CalCom), _) => self.events_ids.clone(),
        }
    }
}

/// Returns the problems of `eventsIds` that the provider cannot use, or that it needs.
pub(super) fn calendar_problems(document: &Map<String, Value>) -> Vec<Problem> {
    let wish = at(document, PLACE).and_then(|wish| ScheduleOnCalendar::deserialize(wish).ok());
    let Some((wish, provider)) = wish.and_then(|wish| wish.calendar().map(|provider| (wish, provider))) else {
        return Vec::new();
    };
    let place = format!("{PLACE}.eventsIds");
    let problem = |path: String, message: String| Problem::new(path, "invalid", message);
    match (provider, wish.events_ids.is_empty()) {
        (CalendarProvider::Ics, false) if wish.enabled => vec![problem(
            place,
            "an invitation by e-mail has no calendar; leave them out, or set provider to \"cal.com\" or \"google\""
                .into(),
        )],
        (CalendarProvider::CalCom, true) if wish.enabled => {
            vec![problem(
                place,
                "name the Cal.com event type to book, such as \"123456\"".into(),
            )]
        }
        (CalendarProvider::Ics, _) => Vec::new(),
        (CalendarProvider::CalCom | CalendarProvider::Google, _) => {
            let wrong = wish
                .events_ids
                .iter()
                .enumerate()
                .filter(|(_, id)| !is_id(provider, id));
            wrong
                .map(|(index, id)| problem(format!("{place}[{index}]"), why_not(provider, id)))
                .collect()
        }
    }
}

fn is_id(provider: CalendarProvider, id: &str) -> bool {
    match provider {
        CalendarProvider::CalCom => id.parse::<u32>().is_ok_and(|number| number > 0),
        CalendarProvider::Google | CalendarProvider::Ics => {
            id.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"@._%+-#".contains(&byte))
                && !id.starts_with('.')
                && !id.is_empty()
        }
    }
}

fn why_not(provider: CalendarProvider, id: &str) -> String {
    let expected = match provider {
        CalendarProvider::CalCom => "the number of a Cal.com event type, such as \"123456\"",
        CalendarProvider::Google | CalendarProvider::Ics => {
            "the id of a Google calendar, such as \"primary\" or \"team@example.com\""
        }
    };
    format!("{} is not {expected}", shown(&id.into()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::validate_create;

    fn problems(wish: &Value) -> Vec<(String, String)> {
        let agent = json!({
            "name": "Ada",
            "platformSettings": { "callActions": { "scheduleOnCalendar": wish } },
        });
        let refused = validate_create(&agent).err().unwrap_or_default();
        let told = refused.into_iter().filter(|problem| problem.path.starts_with(PLACE));
        told.map(|problem| (problem.path[PLACE.len()..].to_owned(), problem.message))
            .collect()
    }

    #[test]
    fn an_agents_calendar_is_one_that_there_is() {
        for good in [
            json!({ "enabled": true }),
            json!({ "enabled": true, "provider": "ics" }),
            json!({ "enabled": true, "provider": "cal.com", "eventsIds": ["123456"] }),
            json!({ "enabled": true, "provider": "google" }),
            json!({ "enabled": true, "provider": "google", "eventsIds": ["primary", "a.b@group.calendar.google.com"] }),
            json!({ "enabled": false, "eventsIds": ["123456"] }),
            json!({ "enabled": false, "provider": "cal.com" }),
        ] {
            assert_eq!(problems(&good), [], "{good}");
        }
        for (bad, at, says) in [
            (json!({ "provider": "caldav" }), ".provider", "cal.com"),
            (json!({ "enabled": true, "eventsIds": ["1"] }), ".eventsIds", "mail"),
            (
                json!({ "enabled": true, "provider": "cal.com" }),
                ".eventsIds",
                "event type",
            ),
            (
                json!({ "provider": "cal.com", "eventsIds": ["1", "x"] }),
                ".eventsIds[1]",
                "\"x\"",
            ),
            (
                json!({ "provider": "google", "eventsIds": ["../users"] }),
                ".eventsIds[0]",
                "Google calendar",
            ),
        ] {
            let found = problems(&bad);
            assert_eq!(found.len(), 1, "{bad}: {found:?}");
            assert!(found[0].0 == at && found[0].1.contains(says), "{bad}: {found:?}");
        }
    }
}
