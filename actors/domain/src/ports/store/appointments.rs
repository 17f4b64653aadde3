//! Appointments that calls make. The row of an appointment is written before its calendar is asked.
//!
//! A booking is leased while its calendar is asked. If the holder of the lease dies, another worker takes the
//! booking when the lease ends. That worker looks it up in the calendar, and keeps it or gives it up. So a
//! crash neither books a time twice nor loses a booking.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::error::StoreResult;
use crate::{
    agent::CalendarProvider,
    id::{AccountId, AgentId, AppointmentId, AttemptId, CampaignId},
    phone_number::PhoneNumber,
    time::Timestamp,
};

/// Duration of a booking's lease. Asking the calendar takes at most this long.
pub const BOOKING_LEASE: Duration = Duration::from_secs(60);

/// Most appointments of one call.
pub const MOST_BOOKED: usize = 3;

/// Most different times that one call may try to book.
pub const MOST_TRIED: usize = 20;

/// Period after a booking in which other calls cannot book the same time. After it the calendar shows the event.
pub const SHOWN_WITHIN: Duration = Duration::from_secs(60);

/// Details of an appointment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AppointmentDetails {
    /// Title of the event.
    pub title: String,
    /// IANA time zone in which it was agreed.
    pub timezone: String,
    /// Name of the person.
    pub name: String,
    /// E-mail address of the person.
    pub email: Option<String>,
    /// Telephone number of the person in E.164.
    pub phone: Option<String>,
    /// Subject and notes.
    pub notes: Option<String>,
}

/// A requested appointment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAppointment {
    /// Owner of the call.
    pub account: AccountId,
    /// Call that makes it.
    pub attempt: AttemptId,
    /// Provider of the calendar.
    pub provider: CalendarProvider,
    /// Event type or calendar id; empty for an invitation.
    pub calendar: String,
    /// Start of the appointment.
    pub starts_at: Timestamp,
    /// End of the appointment.
    pub ends_at: Timestamp,
    /// Details.
    pub details: AppointmentDetails,
}

/// State of an appointment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AppointmentState {
    /// The calendar is being asked, or its answer is unknown.
    Pending,
    /// The calendar has booked it.
    Booked,
    /// The calendar has certainly not booked it.
    Failed,
}

spelled!(AppointmentState, Pending "pending", Booked "booked", Failed "failed");

/// An appointment with its present state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appointment {
    /// Its id, from which the calendar's own id is made where possible.
    pub id: AppointmentId,
    /// The request; once booked, with the times that the calendar returned.
    pub wish: NewAppointment,
    /// Present state.
    pub state: AppointmentState,
    /// The calendar's id of the event, once booked.
    pub event: Option<String>,
    /// Whether it is definite; the calendar's owner may still have to confirm it.
    pub confirmed: bool,
    /// Number of leases; a holder of an older lease is fenced.
    pub lease: i64,
    /// Time of the first request.
    pub created_at: Timestamp,
}

/// The store's answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It is leased: ask the calendar. If this is not the first lease, first check whether the event exists already.
    Ask(Appointment),
    /// The call has booked this time already.
    Booked(Appointment),
    /// Another worker is asking the calendar now.
    UnderWay,
    /// Another call has booked this time.
    Taken,
    /// The call has reached its limit of appointments.
    TooMany,
}

/// The calendar's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BookingSettled {
    /// The calendar has booked it.
    Booked {
        /// The calendar's id of the event.
        event: String,
        /// Start, as the calendar returned it.
        starts_at: Timestamp,
        /// End, as the calendar returned it.
        ends_at: Timestamp,
        /// Whether it is definite. If not, the calendar's owner must still confirm it.
        confirmed: bool,
    },
    /// The calendar has certainly not booked it.
    Failed,
}

/// Filters of a list of booked appointments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppointmentFilter {
    /// Agent of the call.
    pub agent: Option<AgentId>,
    /// Campaign of the call.
    pub campaign: Option<CampaignId>,
    /// Earliest start.
    pub from: Option<Timestamp>,
    /// Only appointments that start before this.
    pub to: Option<Timestamp>,
    /// The cursor: list only appointments after this one (by start, then id).
    pub after: Option<(Timestamp, AppointmentId)>,
}

/// A booked appointment with its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedAppointment {
    /// The appointment.
    pub appointment: Appointment,
    /// Agent of the call.
    pub agent: AgentId,
    /// Name of the agent.
    pub agent_name: String,
    /// Campaign of the call.
    pub campaign: Option<CampaignId>,
    /// Number of the person in the call.
    pub contact_number: PhoneNumber,
    /// Name of the contact, as the call knew it.
    pub contact_name: Option<String>,
}

/// Appointments.
#[async_trait]
pub trait AppointmentStore: Send + Sync {
    /// Stores a request before its calendar is asked. A call has one appointment per time, however often it
    /// is requested. An invitation is booked at once, and its e-mail is added to the outbox of deliveries.
    async fn begin_appointment(&self, new: NewAppointment) -> StoreResult<Begun>;

    /// Stores the calendar's answer. Returns `Fenced` if the lease no longer belongs to its holder.
    async fn settle_appointment(&self, id: AppointmentId, lease: i64, settled: BookingSettled) -> StoreResult<()>;

    /// Leases bookings that their holder did not settle in time, the longest waiting first.
    async fn lease_appointments(&self, limit: i64) -> StoreResult<Vec<Appointment>>;

    /// Returns an appointment, or `NotFound` once its person is erased.
    async fn appointment(&self, id: AppointmentId) -> StoreResult<Appointment>;

    /// Returns the appointments of a call in the order they were requested.
    async fn appointments_of(&self, attempt: AttemptId) -> StoreResult<Vec<Appointment>>;

    /// Returns booked appointments of an account, those with the earliest start first, at most `limit`.
    async fn appointments(
        &self,
        account: AccountId,
        filter: AppointmentFilter,
        limit: i64,
    ) -> StoreResult<Vec<ListedAppointment>>;
}
