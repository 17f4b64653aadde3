//! Calendar invitation according to RFC 5545, sent as a request according to RFC 5546 (`METHOD:REQUEST`).

use domain::{ports::store::Appointment, time::Timestamp};
use icalendar::{Calendar, Component, Event, EventLike, EventStatus, Property};

/// Organiser of an invitation.
#[derive(Debug, Clone, Copy)]
pub struct Organiser<'a> {
    /// Name beside the address.
    pub name: Option<&'a str>,
    /// Email address.
    pub email: &'a str,
}

/// Returns the invitation for `email`. Its times are in UTC, which calendar programs convert to local time.
pub fn ics(appointment: &Appointment, email: &str, organiser: Organiser<'_>, now: Timestamp) -> String {
    let wish = &appointment.wish;
    let domain = organiser.email.rsplit('@').next().unwrap_or("localhost");
    let mut event = Event::new();
    event
        .uid(&format!("{}@{domain}", appointment.id))
        .timestamp(now.to_utc())
        .starts(wish.starts_at.to_utc())
        .ends(wish.ends_at.to_utc())
        .sequence(0)
        .status(EventStatus::Confirmed)
        .summary(&lines(&wish.details.title))
        .append_property(person("ORGANIZER", organiser.name, organiser.email).done());
    if let Some(notes) = &wish.details.notes {
        event.description(&lines(notes));
    }
    let mut attendee = person("ATTENDEE", Some(&wish.details.name), email);
    attendee
        .add_parameter("CUTYPE", "INDIVIDUAL")
        .add_parameter("ROLE", "REQ-PARTICIPANT")
        .add_parameter("PARTSTAT", "NEEDS-ACTION")
        .add_parameter("RSVP", "TRUE");
    event.append_multi_property(attendee.done());
    let mut calendar = Calendar::empty();
    calendar
        .append_property(("VERSION", "2.0"))
        .append_property(("PRODID", "-//Ringback//Appointments//EN"))
        .append_property(("CALSCALE", "GREGORIAN"))
        .append_property(("METHOD", "REQUEST"))
        .push(event.done());
    calendar.to_string()
}

/// Removes control characters except line feeds, the only ones that the library escapes.
fn lines(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n').collect()
}

/// Builds a calendar address with a name. A parameter may contain neither quotes nor control characters (RFC
/// 5545, section 3.2).
fn person(property: &str, name: Option<&str>, email: &str) -> Property {
    let mut person = Property::new(property, format!("mailto:{email}"));
    let name: String = name
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_control() && *c != '"')
        .collect();
    if !name.trim().is_empty() {
        person.add_parameter("CN", name.trim());
    }
    person
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use domain::{
        agent::CalendarProvider,
        id::{AccountId, AppointmentId, AttemptId},
        ports::store::{AppointmentDetails, AppointmentState, NewAppointment},
    };
    use ical::{IcalParser, parser::ical::component::IcalEvent};

    use super::*;

    fn appointment(name: &str, notes: &str) -> Appointment {
        let starts_at = Timestamp(1_795_532_400_000_000);
        Appointment {
            id: AppointmentId::new(),
            wish: NewAppointment {
                account: AccountId::new(),
                attempt: AttemptId::new(),
                provider: CalendarProvider::Ics,
                calendar: String::new(),
                starts_at,
                ends_at: starts_at.plus(std::time::Duration::from_secs(1_800)),
                details: AppointmentDetails {
                    title: format!("Clinic; a, b: {name}"),
                    timezone: "Europe/Berlin".into(),
                    name: name.into(),
                    email: None,
                    phone: None,
                    notes: Some(notes.into()),
                },
            },
            state: AppointmentState::Booked,
            event: None,
            confirmed: true,
            lease: 1,
            created_at: starts_at,
        }
    }

    /// Parses the invitation with an independent library.
    fn parsed(text: &str) -> (Vec<(String, String)>, IcalEvent) {
        let mut parser = IcalParser::new(BufReader::new(text.as_bytes()));
        let mut calendar = parser.next().unwrap().unwrap();
        assert!(parser.next().is_none());
        let properties = calendar.properties.into_iter();
        let properties = properties
            .map(|one| (one.name, one.value.unwrap_or_default()))
            .collect();
        (properties, calendar.events.remove(0))
    }

    fn value(event: &IcalEvent, name: &str) -> String {
        let own: Vec<_> = event.properties.iter().filter(|one| one.name == name).collect();
        assert_eq!(own.len(), 1, "{name}");
        own[0].value.clone().unwrap_or_default()
    }

    #[test]
    fn an_invitation_is_read_by_a_parser_whatever_is_in_it() {
        let name = "Ada \"the\" Love;lace:\r\nMETHOD:CANCEL, Dr.";
        let notes = format!("First line\nBEGIN:VEVENT\n\\; {}", "ü".repeat(200));
        let made = appointment(name, &notes);
        let organiser = Organiser {
            name: Some("Clinic, Berlin"),
            email: "calls@example.com",
        };
        let text = ics(&made, "ada@example.com", organiser, made.created_at);
        assert!(text.split("\r\n").all(|line| line.len() <= 75), "{text}");
        assert!(!text.replace("\r\n", "").contains(['\n', '\r']));
        let (calendar, event) = parsed(&text);
        let method = calendar.iter().filter(|(name, _)| name == "METHOD");
        assert_eq!(method.map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["REQUEST"]);
        assert_eq!(value(&event, "UID"), format!("{}@example.com", made.id));
        assert_eq!(value(&event, "DTSTART"), "20261124T150000Z");
        assert_eq!(value(&event, "SEQUENCE"), "0");
        assert!(value(&event, "SUMMARY").starts_with("Clinic\\; a\\, b: Ada "));
        assert!(value(&event, "DESCRIPTION").starts_with("First line\\nBEGIN:VEVENT\\n\\\\\\; ü"));
        assert_eq!(value(&event, "ORGANIZER"), "mailto:calls@example.com");
        assert_eq!(value(&event, "ATTENDEE"), "mailto:ada@example.com");
        let attendee = event.properties.iter().find(|one| one.name == "ATTENDEE").unwrap();
        let named = attendee.params.iter().flatten().find(|(name, _)| name == "CN").unwrap();
        assert_eq!(named.1, ["Ada the Love;lace:METHOD:CANCEL, Dr."]);
    }
}
