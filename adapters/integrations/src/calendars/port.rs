//! Interface of calendars and their errors.

use async_trait::async_trait;
use chrono_tz::Tz;
use domain::{
    ports::{
        store::{Appointment, BookingSettled},
        tool_runner::ToolFault,
    },
    time::Timestamp,
};

/// Time span in which free times are searched.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Beginning of the span.
    pub from: Timestamp,
    /// End of the span.
    pub to: Timestamp,
    /// Time zone of the people.
    pub zone: Tz,
}

/// Appointment as the calendar reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booked {
    /// Calendar's id of the appointment.
    pub event: String,
    /// Beginning of the appointment.
    pub starts_at: Timestamp,
    /// End of the appointment.
    pub ends_at: Timestamp,
    /// Whether the host has confirmed it.
    pub confirmed: bool,
}

/// Maximum characters of a calendar's id of an appointment.
const EVENT_CHARACTERS: usize = 1_024;

impl Booked {
    /// Checks what a calendar reports. Returns `None` if it cannot be an appointment.
    pub(super) fn told(event: &str, starts_at: Timestamp, ends_at: Timestamp, confirmed: bool) -> Option<Self> {
        let sound = (1..=EVENT_CHARACTERS).contains(&event.chars().count()) && !event.contains(char::is_control);
        (sound && starts_at < ends_at).then(|| Self {
            event: event.to_owned(),
            starts_at,
            ends_at,
            confirmed,
        })
    }
}

impl From<Booked> for BookingSettled {
    fn from(booked: Booked) -> Self {
        Self::Booked {
            event: booked.event,
            starts_at: booked.starts_at,
            ends_at: booked.ends_at,
            confirmed: booked.confirmed,
        }
    }
}

/// Reason why a calendar did not fulfil a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalendarError {
    /// Somebody else has this time. Nothing was booked.
    #[error("this time is not free any more: offer another one")]
    Taken,
    /// The calendar takes no requests at present. Nothing was booked.
    #[error("the calendar takes no requests at present")]
    Busy,
    /// The calendar cannot be reached. Nothing was booked.
    #[error("the calendar cannot be reached at present")]
    Unavailable,
    /// The calendar refused. Nothing was booked.
    #[error("the calendar refused it: {0}")]
    Refused(String),
    /// The answer is missing or unclear. The appointment may have been booked.
    #[error("the calendar gave no clear answer, so nobody knows yet: {0}")]
    Unknown(String),
}

impl From<CalendarError> for ToolFault {
    fn from(error: CalendarError) -> Self {
        match error {
            CalendarError::Taken | CalendarError::Refused(_) => Self::Refused(error.to_string()),
            CalendarError::Busy | CalendarError::Unavailable | CalendarError::Unknown(_) => {
                Self::Failed(error.to_string())
            }
        }
    }
}

/// Calendar of one provider.
#[async_trait]
pub trait Calendar: Send + Sync {
    /// Returns the starts of appointments that could be booked now, in order.
    async fn free(&self, calendar: &str, span: Span) -> Result<Vec<Timestamp>, CalendarError>;

    /// Books an appointment, marked with its id.
    async fn book(&self, wanted: &Appointment) -> Result<Booked, CalendarError>;

    /// Finds an appointment by its mark, if it was booked.
    async fn find(&self, wanted: &Appointment) -> Result<Option<Booked>, CalendarError>;
}
