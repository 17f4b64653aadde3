//! Google Calendar. Appointments are events of a calendar that is shared with a service account.
//!
//! API v3 (<https://developers.google.com/workspace/calendar/api/v3/reference>): `freeBusy.query`,
//! `events.insert` with an id of our own, by which an event is found again, and `events.get`.

pub(super) mod token;

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use domain::{
    ports::store::Appointment,
    time::{Clock, Timestamp},
};
use reqwest::{Client, Method, RequestBuilder, StatusCode, Url};
use serde_json::{Value, json};

use self::token::Tokens;
use super::{
    api::{Answered, send, time, utc},
    port::{Booked, Calendar, CalendarError, Span},
    settings::CalendarConfigError,
    times,
};

/// Google Calendar client.
pub(super) struct Google {
    client: Client,
    base: Url,
    tokens: Tokens,
}

impl Google {
    /// Creates a client.
    ///
    /// # Errors
    ///
    /// Returns an error that says which setting is wrong.
    pub(super) fn new(
        client: Client,
        base: &str,
        credentials: &Path,
        subject: Option<&str>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, CalendarConfigError> {
        let url = Url::parse(base).map_err(|error| CalendarConfigError::GoogleUrl {
            url: base.to_owned(),
            error,
        })?;
        let tokens = Tokens::read(client.clone(), credentials, subject, clock);
        let tokens = tokens.map_err(|error| CalendarConfigError::GoogleCredentials {
            file: credentials.to_owned(),
            error,
        })?;
        Ok(Self {
            client,
            base: url,
            tokens,
        })
    }

    /// Builds an address. Calendar ids contain characters that must be escaped in a path.
    fn url(&self, path: &[&str]) -> Result<Url, CalendarError> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| CalendarError::Refused("its address takes no path".into()))?
            .pop_if_empty()
            .extend(path);
        Ok(url)
    }

    /// Sends a request with a token. If Google no longer accepts the token, sends it again with a new one.
    async fn send(&self, request: RequestBuilder) -> Result<Answered, CalendarError> {
        let again = request.try_clone();
        let token = self.tokens.get().await?;
        let answer = send(request.bearer_auth(&token)).await?;
        match again {
            Some(again) if answer.status == StatusCode::UNAUTHORIZED => {
                self.tokens.forget(&token).await;
                send(again.bearer_auth(self.tokens.get().await?)).await
            }
            Some(_) | None => Ok(answer),
        }
    }

    async fn busy(
        &self,
        calendar: &str,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<(Timestamp, Timestamp)>, CalendarError> {
        let body = json!({ "timeMin": utc(from), "timeMax": utc(to), "items": [{ "id": calendar }] });
        let request = self.client.post(self.url(&["freeBusy"])?).json(&body);
        let body = usual(self.send(request).await?)?;
        // One calendar was requested, so there is one, under its own id or its owner's.
        let calendars = body["calendars"].as_object();
        let told = calendars.and_then(|calendars| calendars.values().next());
        let told = told.ok_or_else(|| CalendarError::Unknown("its answer contains no calendar".into()))?;
        if let Some(reason) = told["errors"][0]["reason"].as_str() {
            tracing::warn!(calendar, reason, "calendar not shared with the service account");
            return Err(CalendarError::Refused("the service has no access to it".into()));
        }
        let busy = told["busy"].as_array().into_iter().flatten();
        Ok(busy
            .filter_map(|one| Some((time(&one["start"])?, time(&one["end"])?)))
            .collect())
    }

    fn event(&self, wanted: &Appointment) -> Value {
        let details = &wanted.wish.details;
        let at = |at: Timestamp| json!({ "dateTime": utc(at), "timeZone": details.timezone });
        let person = [
            Some(details.name.as_str()),
            details.email.as_deref(),
            details.notes.as_deref(),
        ];
        let description: Vec<&str> = person.into_iter().flatten().collect();
        let mut event = json!({
            "id": event_id(wanted),
            "summary": details.title,
            "description": description.join("\n"),
            "start": at(wanted.wish.starts_at),
            "end": at(wanted.wish.ends_at),
            "extendedProperties": { "private": { "ringback": wanted.id.to_string() } },
        });
        // A service account that acts in its own name may not invite anybody.
        if let (Some(email), true) = (&details.email, self.tokens.invites()) {
            event["attendees"] = json!([{ "email": email, "displayName": details.name }]);
        }
        event
    }
}

/// Returns the event id. It uses the characters of base32hex and is the same in all attempts.
fn event_id(wanted: &Appointment) -> String {
    format!("rb{}", wanted.id.to_string().replace('-', ""))
}

/// Reads an answer. Google also reports rate limits with status 403.
fn usual(answered: Answered) -> Result<Value, CalendarError> {
    let reason = answered.body["error"]["errors"][0]["reason"].as_str();
    let limits = ["rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded"];
    if answered.status == StatusCode::FORBIDDEN && reason.is_some_and(|reason| limits.contains(&reason)) {
        return Err(CalendarError::Busy);
    }
    answered.body()
}

fn booked(event: &Value) -> Result<Booked, CalendarError> {
    let told = || {
        let (starts_at, ends_at) = (time(&event["start"]["dateTime"])?, time(&event["end"]["dateTime"])?);
        Booked::told(event["id"].as_str()?, starts_at, ends_at, true)
    };
    told().ok_or_else(|| CalendarError::Unknown("its answer is not an event".into()))
}

#[async_trait]
impl Calendar for Google {
    async fn free(&self, calendar: &str, span: Span) -> Result<Vec<Timestamp>, CalendarError> {
        let busy = self.busy(calendar, span.from, span.to).await?;
        Ok(times::between(&busy, span))
    }

    async fn book(&self, wanted: &Appointment) -> Result<Booked, CalendarError> {
        let wish = &wanted.wish;
        // Google itself allows overlapping events.
        if !self
            .busy(&wish.calendar, wish.starts_at, wish.ends_at)
            .await?
            .is_empty()
        {
            return Err(CalendarError::Taken);
        }
        let url = self.url(&["calendars", &wish.calendar, "events"])?;
        let told = if self.tokens.invites() { "all" } else { "none" };
        let request = self
            .client
            .request(Method::POST, url)
            .query(&[("sendUpdates", told)])
            .json(&self.event(wanted));
        let answered = self.send(request).await?;
        if answered.status == StatusCode::CONFLICT {
            // The id is ours, so the event was created before and may have been removed since.
            let found = self.find(wanted).await?;
            return found.ok_or_else(|| CalendarError::Refused("it was cancelled there".into()));
        }
        booked(&usual(answered)?)
    }

    async fn find(&self, wanted: &Appointment) -> Result<Option<Booked>, CalendarError> {
        let url = self.url(&["calendars", &wanted.wish.calendar, "events", &event_id(wanted)])?;
        let answered = self.send(self.client.get(url)).await?;
        if matches!(answered.status, StatusCode::NOT_FOUND | StatusCode::GONE) {
            return Ok(None);
        }
        let event = usual(answered)?;
        if event["status"] == "cancelled" {
            return Ok(None);
        }
        booked(&event).map(Some)
    }
}
