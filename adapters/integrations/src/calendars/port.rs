//! What a calendar can do, and how it can fail.

use async_trait::async_trait;
use chrono_tz::Tz;
use domain::{
    ports::{
        store::{Appointment, BookingSettled},
        tool_runner::ToolFault,
    },
    time::Timestamp,
};

/// A stretch of time in which free ones are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Its beginning.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
    /// Where people are.
    pub zone: Tz,
}

/// An appointment as its calendar has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booked {
    /// The calendar's id of it.
    pub event: String,
    /// When it begins.
    pub starts_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
    /// False while its owner still has to agree.
    pub confirmed: bool,
}

/// Characters of a calendar's id of an appointment.
const EVENT_CHARACTERS: usize = 1_024;

impl Booked {
    /// What a calendar tells; none where it can be no appointment.
    pub(super) fn told(event: &str, (starts_at, ends_at): (Timestamp, Timestamp), confirmed: bool) -> Option<Self> {
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

/// Why a calendar did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalendarError {
    /// Somebody else has this time; nothing was made.
    #[error("this time is not free any more: offer another one")]
    Taken,
    /// It takes no requests at present; nothing was made.
    #[error("the calendar takes no requests at present")]
    Busy,
    /// It cannot be reached; nothing was made.
    #[error("the calendar cannot be reached at present")]
    Away,
    /// It does not want to; nothing was made.
    #[error("the calendar does not take it: {0}")]
    Refused(String),
    /// No answer that says; it may have been made.
    #[error("the calendar gave no clear answer, so nobody knows yet: {0}")]
    Unknown(String),
}

impl From<CalendarError> for ToolFault {
    fn from(error: CalendarError) -> Self {
        match error {
            CalendarError::Taken | CalendarError::Refused(_) => Self::Refused(error.to_string()),
            CalendarError::Busy | CalendarError::Away | CalendarError::Unknown(_) => Self::Failed(error.to_string()),
        }
    }
}

/// A calendar at one provider.
#[async_trait]
pub trait Calendar: Send + Sync {
    /// Beginnings of appointments that could be made now, in order.
    async fn free(&self, calendar: &str, span: Span) -> Result<Vec<Timestamp>, CalendarError>;

    /// Makes an appointment, marked with its id.
    async fn book(&self, wanted: &Appointment) -> Result<Booked, CalendarError>;

    /// The appointment, if it was made: looked for by the mark.
    async fn find(&self, wanted: &Appointment) -> Result<Option<Booked>, CalendarError>;
}
