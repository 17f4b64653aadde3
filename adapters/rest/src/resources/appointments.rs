//! `GET /public/v1/appointments`: appointments that the account's calls booked.

use axum::extract::State;
use domain::{
    conversation,
    id::{AgentId, AppointmentId, AttemptId, CampaignId},
    phone_number::PhoneNumber,
    ports::store::{AppointmentFilter, ListedAppointment},
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::{
    caller::Caller,
    described::{operation::Operation, samples},
    request::{
        cursor::Binding,
        query::{Paging, Parameters, Query, RawQuery},
    },
    resources::conversations::filters::TimeSpan,
    response::{envelope::Reply, error::ApiResult},
    state::RestState,
};

/// A booked appointment and its call.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Appointment {
    /// Id of the appointment.
    #[schema(value_type = String, format = "uuid")]
    appointment_id: AppointmentId,
    /// Conversation in which it was booked.
    #[schema(value_type = String, format = "uuid")]
    conversation_id: AttemptId,
    /// Agent that booked it.
    #[schema(value_type = String, format = "uuid")]
    agent_id: AgentId,
    /// Name of the agent.
    agent_name: String,
    /// Campaign of the conversation, if it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    campaign_id: Option<CampaignId>,
    /// Number of the person in the conversation. Left out if a caller withheld it.
    #[serde(skip_serializing_if = "Option::is_none")]
    contact_number: Option<PhoneNumber>,
    /// Name of the contact. The name that the person gave is in `appointmentScheduled.attendee`.
    #[serde(skip_serializing_if = "Option::is_none")]
    contact_name: Option<String>,
    /// The appointment, with the fields of `appointmentScheduled` of a conversation.
    #[schema(value_type = std::collections::BTreeMap<String, Value>)]
    appointment_scheduled: Map<String, Value>,
}

fn view(row: &ListedAppointment) -> Appointment {
    Appointment {
        appointment_id: row.appointment.id,
        conversation_id: row.appointment.wish.attempt,
        agent_id: row.agent,
        agent_name: row.agent_name.clone(),
        campaign_id: row.campaign,
        contact_number: Some(row.contact_number.clone()).filter(|number| !number.is_nobodys()),
        contact_name: row.contact_name.clone(),
        appointment_scheduled: conversation::appointment(&row.appointment),
    }
}

/// Parameters of the list.
#[derive(Debug, Clone)]
pub struct ListParameters {
    filter: AppointmentFilter,
    paging: Paging,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = &["agentId", "campaignId", "cursor", "from", "pageSize", "to"];

    fn read(query: &mut RawQuery) -> Self {
        let span = TimeSpan::read(query, "from", "to");
        Self {
            filter: AppointmentFilter {
                agent: query.parsed("agentId", "an agent's id (a UUID)", |text| text.parse().ok()),
                campaign: query.parsed("campaignId", "a campaign's id (a UUID)", |text| text.parse().ok()),
                from: span.start,
                to: span.end,
                after: None,
            },
            paging: Paging::read(query),
        }
    }
}

async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(ListParameters { mut filter, paging }): Query<ListParameters>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "appointments", format!("{filter:?}"));
    filter.after = binding.after(paging.cursor.as_deref())?;
    let rows = state
        .store
        .appointments(account.id, filter, paging.page_size + 1)
        .await?;
    let place = |row: &ListedAppointment| (row.appointment.wish.starts_at, row.appointment.id.to_string());
    Ok(binding.page(rows, paging.page_size, view, place))
}

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
    .by(list)
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
