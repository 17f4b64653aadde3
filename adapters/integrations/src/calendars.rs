//! Appointments that agents make during calls (`scheduleOnCalendar`): two tools, and the calendars behind them.
//!
//! A requested appointment is stored before the calendar is asked, with the id under which it can be found
//! there. So a repeated request returns the same appointment, and a lost answer or a crash neither duplicates
//! nor loses one.

mod api;
mod booking;
mod calcom;
mod google;
mod invitation;
mod keeper;
mod port;
mod settings;
mod times;
mod wishes;

use std::sync::Arc;

use async_trait::async_trait;
use chrono_tz::Tz;
use domain::{
    agent::{Agent, CalendarProvider},
    ports::{
        NotReady,
        store::{Appointment, Begun, MOST_BOOKED, Store, StoreError, StoreResult},
        tool_runner::{ToolFault, ToolOffer, ToolRun, ToolRunner, ToolScope},
    },
    time::Clock,
};
use serde_json::{Value, json};

use self::{
    calcom::CalCom,
    google::Google,
    wishes::{Asked, Person, offers},
};

pub use domain::ports::tool_runner::BOOK_APPOINTMENT;
pub use google::token::CredentialsError;
pub use invitation::{Organiser, ics};
pub use port::{Booked, Calendar, CalendarError, Span};
pub use settings::{CalendarConfig, CalendarConfigError};
pub use wishes::FIND_SLOTS;

/// Maximum number of free times in one answer to a model.
const MOST_SLOTS: usize = 24;

/// Configured calendars, as tools of agents.
pub struct Calendars {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    calcom: Option<Arc<dyn Calendar>>,
    google: Option<Arc<dyn Calendar>>,
    mail: bool,
}

impl Calendars {
    /// Sets up the configured calendars. `mail` tells whether mail can be sent.
    ///
    /// # Errors
    ///
    /// Returns an error that names the wrong setting.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: &CalendarConfig,
        mail: bool,
    ) -> Result<Self, CalendarConfigError> {
        let client = api::client()?;
        let calcom = config.calcom_api_key.clone().map(|key| {
            let calcom = CalCom::new(client.clone(), config.calcom_url(), key);
            Arc::new(calcom) as Arc<dyn Calendar>
        });
        let subject = config.google_calendar_subject.as_deref();
        let google = match &config.google_calendar_credentials {
            Some(file) => {
                let google = Google::new(client, config.google_url(), file, subject, clock.clone())?;
                Some(Arc::new(google) as Arc<dyn Calendar>)
            }
            None => None,
        };
        Ok(Self {
            store,
            clock,
            calcom,
            google,
            mail,
        })
    }

    /// Checks that an agent's appointments can be made.
    ///
    /// # Errors
    ///
    /// Returns an error that names the setting to add.
    pub fn ready_for(&self, agent: &Agent) -> Result<(), NotReady> {
        settings::missing(agent, |provider| self.has(provider))
    }

    fn has(&self, provider: CalendarProvider) -> bool {
        match provider {
            CalendarProvider::Ics => self.mail,
            CalendarProvider::CalCom | CalendarProvider::Google => self.calendar(provider).is_some(),
        }
    }

    fn calendar(&self, provider: CalendarProvider) -> Option<Arc<dyn Calendar>> {
        match provider {
            CalendarProvider::Ics => None,
            CalendarProvider::CalCom => self.calcom.clone(),
            CalendarProvider::Google => self.google.clone(),
        }
    }

    /// Looks once at the appointments that nobody settled in time.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn settle_late(&self) -> StoreResult<()> {
        keeper::settle_late(&*self.store, &*self.clock, |provider| self.calendar(provider)).await
    }

    /// Returns the provider of the call's agent. Returns `None` if none is enabled or configured.
    fn provider(&self, scope: &ToolScope) -> Option<CalendarProvider> {
        let wish = &scope.agent.platform_settings.call_actions.schedule_on_calendar;
        wish.calendar().filter(|provider| wish.enabled && self.has(*provider))
    }

    async fn person(&self, scope: &ToolScope) -> Result<Person, ToolFault> {
        match self.store.contact_of(scope.attempt).await {
            Ok(contact) => Ok(Person {
                name: contact.name,
                email: contact.email,
            }),
            Err(StoreError::NotFound) => Ok(Person::default()),
            Err(error) => Err(unread(scope, &error)),
        }
    }

    async fn find_slots(&self, asked: Asked<'_>) -> Result<Value, ToolFault> {
        let missing = || ToolFault::Refused("this calendar does not report free times".into());
        let calendar = self.calendar(asked.provider).ok_or_else(missing)?;
        let (name, span) = (asked.calendar()?, asked.span()?);
        let free = calendar.free(&name, span).await?;
        let slots: Vec<Value> = free
            .iter()
            .filter(|at| **at > asked.now)
            .take(MOST_SLOTS)
            .map(|at| json!({ "start": at.to_iso8601_in(span.zone), "said": times::said(*at, span.zone) }))
            .collect();
        Ok(json!({ "timezone": span.zone.name(), "slots": slots, "more": free.len() > MOST_SLOTS }))
    }

    async fn book(&self, asked: Asked<'_>) -> Result<Value, ToolFault> {
        let person = self.person(asked.scope).await?;
        let wanted = asked.appointment(person)?;
        let zone = wishes::zone(&asked.scope.agent);
        let begun = self.store.begin_appointment(wanted).await;
        let held = match begun.map_err(|error| unread(asked.scope, &error))? {
            Begun::Ask(held) => held,
            Begun::Booked(appointment) => return Ok(told(&appointment, zone)),
            Begun::UnderWay => {
                let message = "it is being made already, and its result is not known yet".to_owned();
                return Err(ToolFault::Failed(message));
            }
            Begun::Taken => return Err(CalendarError::Taken.into()),
            Begun::TooMany => {
                let message = format!("a call makes {MOST_BOOKED} appointments at most");
                return Err(ToolFault::Refused(message));
            }
        };
        let missing = || ToolFault::Refused("this calendar is not configured".into());
        let calendar = self.calendar(asked.provider).ok_or_else(missing)?;
        // A separate task makes the agreed appointment even if the person hangs up at once.
        let made = tokio::spawn(booking::book(self.store.clone(), calendar, held.clone())).await;
        let booked = made.map_err(|_| ToolFault::Failed("it crashed".into()))??;
        let mut appointment = held;
        appointment.wish.starts_at = booked.starts_at;
        appointment.wish.ends_at = booked.ends_at;
        appointment.confirmed = booked.confirmed;
        Ok(told(&appointment, zone))
    }
}

/// Settles late appointments regularly until it is dropped.
pub async fn keep(calendars: Arc<Calendars>) {
    loop {
        tokio::time::sleep(keeper::LOOK_EVERY).await;
        if let Err(error) = calendars.settle_late().await {
            tracing::debug!(%error, "reading appointments failed, trying again");
        }
    }
}

/// Logs a store error and returns a fault without its details.
fn unread(scope: &ToolScope, error: &StoreError) -> ToolFault {
    tracing::warn!(attempt = %scope.attempt, %error, "appointment not stored");
    ToolFault::Failed("appointments cannot be made at present".into())
}

/// Returns an appointment as it is described to the model.
fn told(appointment: &Appointment, zone: Tz) -> Value {
    let wish = &appointment.wish;
    let mut told = json!({
        "booked": true,
        "start": wish.starts_at.to_iso8601_in(zone),
        "said": times::said(wish.starts_at, zone),
        "minutes": wish.ends_at.since(wish.starts_at).as_secs() / 60,
        "name": wish.details.name,
    });
    if !appointment.confirmed {
        told["note"] = json!("it is asked for; its host still has to confirm it, and they are told by mail");
    }
    if let (CalendarProvider::Ics, Some(email)) = (wish.provider, &wish.details.email) {
        told["invitationSentTo"] = json!(email);
    }
    told
}

#[async_trait]
impl ToolRunner for Calendars {
    async fn offered(&self, scope: &ToolScope) -> Result<Vec<ToolOffer>, ToolFault> {
        let Some(provider) = self.provider(scope) else {
            return Ok(Vec::new());
        };
        let calendars = scope
            .agent
            .platform_settings
            .call_actions
            .schedule_on_calendar
            .calendars();
        Ok(offers(provider, &calendars, &self.person(scope).await?))
    }

    async fn run(&self, run: ToolRun) -> Result<Value, ToolFault> {
        let gone = || ToolFault::Refused("no appointments are made here".into());
        let asked = Asked {
            provider: self.provider(&run.scope).ok_or_else(gone)?,
            scope: &run.scope,
            arguments: &run.arguments,
            now: self.clock.now(),
        };
        match run.offer.key.as_str() {
            FIND_SLOTS => self.find_slots(asked).await,
            BOOK_APPOINTMENT => self.book(asked).await,
            _ => Err(gone()),
        }
    }
}
