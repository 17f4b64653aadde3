//! Cal.com, which keeps event types with their host, length and free times.
//!
//! API v2 with slots of version 2024-09-04 and bookings of version 2024-08-13, chosen by `cal-api-version`
//! (<https://cal.com/docs/api-reference/v2/introduction>). Our mark is in a booking's metadata.

use async_trait::async_trait;
use domain::{
    ports::store::{Appointment, AppointmentDetails},
    time::Timestamp,
};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::{
    api::{Answered, send, time, utc},
    port::{Booked, Calendar, CalendarError, Span},
};
use net::key::Key;

/// Versions of the API, by resource.
const SLOTS: &str = "2024-09-04";
const BOOKINGS: &str = "2024-08-13";

/// Name of the metadata field that holds our id.
const MARK: &str = "ringback";

/// Maximum number of one person's bookings that are searched.
const MOST_FOUND: usize = 100;

/// Error messages for a time that is not free.
const TAKEN: [&str; 5] = [
    "already has booking",
    "not available",
    "no_available_users",
    "no available users",
    "already booked",
];

/// Cal.com client.
pub(super) struct CalCom {
    client: Client,
    base: String,
    key: Key,
}

impl CalCom {
    pub(super) fn new(client: Client, base: &str, key: Key) -> Self {
        let base = base.trim_end_matches('/').trim_end_matches("/v2").to_owned();
        Self { client, base, key }
    }

    fn request(&self, method: Method, path: &str, version: &str) -> RequestBuilder {
        self.client
            .request(method, format!("{}{path}", self.base))
            .bearer_auth(self.key.secret())
            .header("cal-api-version", version)
    }
}

/// Adds what an event type requires and a refusal names: fields for a telephone number, the title, or the person's
/// telephone as the place. Returns whether anything was added. An event type's own fields have names that its owner
/// chose; those with "phone" in them are taken for the number.
fn add_required(body: &mut Value, refusal: &str, details: &AppointmentDetails) -> bool {
    let before = body.clone();
    let names = refusal.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_'));
    for name in names {
        let value = match (name, &details.phone) {
            ("title", _) => &details.title,
            ("location" | "attendeePhone", Some(phone)) => {
                body["location"] = json!({ "type": "attendeePhone", "phone": phone });
                continue;
            }
            // The attendee's number, which is sent already.
            ("attendeePhoneNumber" | "phoneNumber", _) => continue,
            ("smsReminderNumber", Some(phone)) => phone,
            (name, Some(phone)) if name.to_lowercase().contains("phone") => phone,
            _ => continue,
        };
        body["bookingFieldsResponses"][name] = json!(value);
    }
    *body != before
}

/// Reads the answer to a booking. Cal.com reports an occupied time with status 400 or 409 and an error message.
fn not_booked(answered: Answered) -> Result<Value, CalendarError> {
    let said = answered.words().to_lowercase();
    let refused = matches!(answered.status.as_u16(), 400 | 409 | 422);
    if refused && TAKEN.iter().any(|words| said.contains(words)) {
        return Err(CalendarError::Taken);
    }
    answered.body()
}

/// Reads a booking. Returns `None` if it is unreadable or not at the requested time.
fn booked(booking: &Value, wanted: &Appointment) -> Option<Booked> {
    let (starts_at, ends_at) = (time(&booking["start"])?, time(&booking["end"])?);
    let confirmed = booking["status"] != "pending";
    let booked = Booked::told(booking["uid"].as_str()?, starts_at, ends_at, confirmed)?;
    (booked.starts_at == wanted.wish.starts_at).then_some(booked)
}

/// Returns whether a booking is the wanted appointment. The mark is in the booking, or in the attendee if the
/// event has seats.
fn is_of(booking: &Value, wanted: &Appointment) -> bool {
    let over = matches!(booking["status"].as_str(), Some("cancelled" | "rejected"));
    let mark = wanted.id.to_string();
    let mut seats = booking["attendees"].as_array().into_iter().flatten();
    !over && (booking["metadata"][MARK] == mark || seats.any(|seat| seat["metadata"][MARK] == mark))
}

#[async_trait]
impl Calendar for CalCom {
    async fn free(&self, calendar: &str, span: Span) -> Result<Vec<Timestamp>, CalendarError> {
        let request = self.request(Method::GET, "/v2/slots", SLOTS).query(&[
            ("eventTypeId", calendar),
            ("start", &utc(span.from)),
            ("end", &utc(span.to)),
            ("timeZone", span.zone.name()),
        ]);
        let body = send(request).await?.body()?;
        let days = body["data"].as_object().into_iter().flatten();
        let slots = days.filter_map(|(_, slots)| slots.as_array()).flatten();
        let mut free: Vec<Timestamp> = slots
            .filter_map(|slot| time(&slot["start"]).or_else(|| time(slot)))
            .filter(|at| (span.from..span.to).contains(at))
            .collect();
        free.sort_unstable();
        free.dedup();
        Ok(free)
    }

    async fn book(&self, wanted: &Appointment) -> Result<Booked, CalendarError> {
        let details = &wanted.wish.details;
        let event_type: u32 = wanted
            .wish
            .calendar
            .parse()
            .map_err(|_| CalendarError::Refused("its event type is not a number".into()))?;
        let mut body = json!({
            "start": utc(wanted.wish.starts_at),
            "eventTypeId": event_type,
            "attendee": { "name": details.name, "email": details.email, "timeZone": details.timezone },
            "metadata": { MARK: wanted.id.to_string() },
        });
        if let Some(phone) = &details.phone {
            body["attendee"]["phoneNumber"] = json!(phone);
        }
        if let Some(notes) = &details.notes {
            body["bookingFieldsResponses"] = json!({ "notes": notes });
        }
        let post = |body: &Value| send(self.request(Method::POST, "/v2/bookings", BOOKINGS).json(body));
        let mut answered = post(&body).await?;
        // A refusal books nothing, so the request may be repeated with what it lacked.
        if answered.status == StatusCode::BAD_REQUEST && add_required(&mut body, &answered.words(), details) {
            answered = post(&body).await?;
        }
        let answer = not_booked(answered)?;
        // For a recurring event type all bookings are returned; the first is the requested one.
        let data = &answer["data"];
        let booking = data.get(0).unwrap_or(data);
        booked(booking, wanted).ok_or_else(|| CalendarError::Unknown("its answer is not the booking".into()))
    }

    async fn find(&self, wanted: &Appointment) -> Result<Option<Booked>, CalendarError> {
        let since = Timestamp(wanted.wish.starts_at.0 - 60_000_000);
        let email = wanted.wish.details.email.as_deref().unwrap_or_default();
        let request = self.request(Method::GET, "/v2/bookings", BOOKINGS).query(&[
            ("eventTypeId", wanted.wish.calendar.as_str()),
            ("attendeeEmail", email),
            ("afterStart", &utc(since)),
            ("take", &MOST_FOUND.to_string()),
        ]);
        let body = send(request).await?.body()?;
        let bookings = body["data"]
            .as_array()
            .ok_or_else(|| CalendarError::Unknown("its answer is not a list of bookings".into()))?;
        // A booking with our mark exists, even if it is unreadable.
        let unread = || CalendarError::Unknown("its booking cannot be read, or was moved".into());
        let ours = bookings.iter().find(|booking| is_of(booking, wanted));
        ours.map(|booking| booked(booking, wanted).ok_or_else(unread))
            .transpose()
    }
}
