//! Appointments that calls make: each a row from before its calendar is asked until its fate is known.
//!
//! A booking is leased while its calendar is asked. One whose holder died comes back when the lease ends, is looked for
//! in the calendar, and then kept or given up, so that no crash books anything twice or forgets what was booked.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreResult;
use crate::{
    agent::CalendarProvider,
    id::{AccountId, AppointmentId, AttemptId},
    time::Timestamp,
};

/// For how long a booking is left to whoever asks the calendar; longer than that takes at worst.
pub const BOOKING_LEASE: Duration = Duration::from_secs(60);

/// Appointments of one call.
pub const MOST_BOOKED: usize = 3;

/// Times of one call at which one was wished for.
pub const MOST_TRIED: usize = 20;

/// For how long what was booked keeps its time from other calls: from then on the calendar itself shows it.
pub const SHOWN_WITHIN: Duration = Duration::from_secs(60);

/// What is told with an appointment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AppointmentDetails {
    /// Its title.
    pub title: String,
    /// IANA zone in which it was agreed.
    pub timezone: String,
    /// The person.
    pub name: String,
    /// Theirs.
    pub email: Option<String>,
    /// What it is about.
    pub notes: Option<String>,
}

/// An appointment that is wished for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAppointment {
    /// Whose.
    pub account: AccountId,
    /// The call.
    pub attempt: AttemptId,
    /// Who keeps the calendar.
    pub provider: CalendarProvider,
    /// An event type, or a calendar's id; empty for an invitation.
    pub calendar: String,
    /// When it begins.
    pub starts_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
    /// What is told with it.
    pub details: AppointmentDetails,
}

/// How an appointment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AppointmentState {
    /// The calendar is being asked, or its answer is not known.
    Pending,
    /// It is made.
    Booked,
    /// It is not made.
    Failed,
}

spelled!(AppointmentState, Pending "pending", Booked "booked", Failed "failed");

/// An appointment as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appointment {
    /// Its id, of which the calendar's own is made where that is possible.
    pub id: AppointmentId,
    /// What was wished for; once booked, with the times that the calendar gave it.
    pub wish: NewAppointment,
    /// How it stands.
    pub state: AppointmentState,
    /// The calendar's id of it, once booked.
    pub event: Option<String>,
    /// Whether it holds; the calendar's owner may still have to agree.
    pub confirmed: bool,
    /// Counts its leases: whoever has an older one is fenced.
    pub lease: i64,
    /// When it was wished for first.
    pub created_at: Timestamp,
}

/// What the store says to a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It is leased: ask the calendar; if the lease is not the first one, whether it is there already.
    Ask(Appointment),
    /// It is made already.
    Booked(Appointment),
    /// Somebody is asking the calendar at this moment.
    UnderWay,
    /// Another call has this time.
    Taken,
    /// The call has made as many as it may.
    TooMany,
}

/// What the calendar said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BookingSettled {
    /// It is made.
    Booked {
        /// The calendar's id of it.
        event: String,
        /// When it begins.
        starts_at: Timestamp,
        /// When it ends.
        ends_at: Timestamp,
        /// Whether it holds.
        confirmed: bool,
    },
    /// It certainly is not.
    Failed,
}

/// Appointments.
#[async_trait]
pub trait AppointmentStore: Send + Sync {
    /// Writes down what is wished for, before its calendar is asked; a time of a call is one appointment, however often
    /// it is wished for. An invitation is made at once, with the mail that brings it in the outbox of deliveries.
    async fn begin_appointment(&self, new: NewAppointment) -> StoreResult<Begun>;

    /// Keeps what the calendar said. `Fenced` when the lease is no longer its holder's.
    async fn settle_appointment(&self, id: AppointmentId, lease: i64, settled: BookingSettled) -> StoreResult<()>;

    /// Leases bookings whose holder did not settle them in time, the longest waiting first.
    async fn lease_appointments(&self, limit: i64) -> StoreResult<Vec<Appointment>>;

    /// One appointment; `NotFound` once its person is erased.
    async fn appointment(&self, id: AppointmentId) -> StoreResult<Appointment>;

    /// The appointments of a call, in the order they were wished for.
    async fn appointments_of(&self, attempt: AttemptId) -> StoreResult<Vec<Appointment>>;
}
