//! Appointments.

use serde_json::json;

use crate::described::{operation::Operation, samples};
use crate::resources::appointments::Appointment;

/// Returns the operations of appointments.
pub fn operations() -> Vec<Operation> {
    let uuid = || json!({ "type": "string", "format": "uuid" });
    let time = || json!({ "type": "integer", "minimum": 0 });
    let sample = json!({
        "appointmentId": samples::APPOINTMENT, "conversationId": samples::CONVERSATION, "agentId": samples::AGENT,
        "agentName": "Ava", "contactNumber": samples::PHONE, "contactName": "Maria",
        "appointmentScheduled": {
            "dateTime": "2026-06-09T09:30:00+01:00", "endDateTime": "2026-06-09T10:00:00+01:00",
            "timezone": "Europe/Lisbon", "provider": "google", "calendarId": "primary", "eventId": "a1b2",
            "confirmed": true, "attendee": { "name": "Maria", "email": "maria@example.com" },
        },
    });
    let operation = Operation::get(
        "/public/v1/appointments",
        "listAppointments",
        "List booked appointments by their start",
    )
    .ours()
    .note("Contains all appointments that calls booked, not those that were only agreed on.")
    .query("agentId", "Only appointments that this agent booked", uuid())
    .query("campaignId", "Only appointments of this campaign's calls", uuid())
    .query(
        "from",
        "Earliest start as a Unix time, in seconds or milliseconds",
        time(),
    )
    .query(
        "to",
        "Unix time before which they start, in seconds or milliseconds",
        time(),
    )
    .paged()
    .page::<Appointment>(sample);
    vec![operation]
}
