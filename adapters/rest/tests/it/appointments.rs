//! Tests of the list of appointments that calls booked.

use std::time::Duration;

use domain::{
    agent::CalendarProvider,
    id::AttemptId,
    ports::store::{
        AppointmentDetails, AppointmentStore, Begun, BookingSettled, ConversationStatus, NewAppointment, RecordStore,
    },
    time::Timestamp,
};
use serde_json::{Value, json};

use crate::conversations::Dialer;
use support::app::START;

const APPOINTMENTS: &str = "/public/v1/appointments";

/// Start of a slot of half an hour after the start of the tests.
fn start(slot: u32) -> Timestamp {
    START.plus(Duration::from_secs(1_800) * slot)
}

/// Books a slot in a call.
async fn book(dialer: &Dialer, attempt: AttemptId, slot: u32) {
    let wish = NewAppointment {
        account: dialer.app.account.id,
        attempt,
        provider: CalendarProvider::Google,
        calendar: "primary".to_owned(),
        starts_at: start(slot),
        ends_at: start(slot + 1),
        details: AppointmentDetails {
            title: "A check-up".to_owned(),
            timezone: "Europe/Berlin".to_owned(),
            name: "Ada L.".to_owned(),
            ..AppointmentDetails::default()
        },
    };
    let Begun::Ask(held) = dialer.app.store.begin_appointment(wish).await.unwrap() else {
        panic!("not leased");
    };
    let settled = BookingSettled::Booked {
        event: format!("event-{slot}"),
        starts_at: start(slot),
        ends_at: start(slot + 1),
        confirmed: true,
    };
    dialer
        .app
        .store
        .settle_appointment(held.id, held.lease, settled)
        .await
        .unwrap();
}

/// Returns the calendar's ids of the listed appointments.
async fn events(dialer: &Dialer, query: &str) -> Vec<String> {
    let answer = dialer
        .app
        .client
        .get(&format!("{APPOINTMENTS}?{query}"))
        .await
        .expect(200);
    let events = answer.data().as_array().unwrap().iter();
    let event = |row: &Value| row["appointmentScheduled"]["eventId"].as_str().unwrap().to_owned();
    events.map(event).collect()
}

#[tokio::test(start_paused = true)]
async fn appointments_are_listed_with_their_calls_by_start() {
    let dialer = Dialer::start(2).await;
    let saved = json!({ "phoneNumber": "+15550000000", "name": "Ada" });
    dialer.app.client.post("/public/v1/contacts", saved).await.expect(201);
    let one = dialer.dial().await;
    let two = dialer.dial().await;
    book(&dialer, one.claim.attempt, 30).await;
    book(&dialer, two.claim.attempt, 20).await;
    book(&dialer, one.claim.attempt, 10).await;
    dialer.finish(&one, ConversationStatus::Completed, &[]).await;
    let row = dialer
        .app
        .store
        .conversation(dialer.app.account.id, one.claim.attempt)
        .await
        .unwrap();
    let shown = format!("/public/v1/conversations/{}", one.claim.attempt);
    let shown = dialer.app.client.get(&shown).await.expect(200);
    let first = dialer
        .app
        .client
        .get(&format!("{APPOINTMENTS}?pageSize=1"))
        .await
        .expect(200);
    let listed = &first.data()[0];
    assert_eq!(listed["conversationId"], json!(one.claim.attempt));
    assert_eq!(
        (&listed["agentId"], &listed["agentName"]),
        (&json!(dialer.agent), &json!("Ann"))
    );
    assert_eq!(listed["campaignId"], json!(dialer.campaign));
    assert_eq!(listed["contactNumber"], json!(row.contact_number));
    assert_eq!(listed["contactName"], "Ada");
    // The conversation shows the appointment that was booked last.
    assert_eq!(listed["appointmentScheduled"], shown.data()["appointmentScheduled"]);
    assert_eq!(listed["appointmentScheduled"]["attendee"], json!({ "name": "Ada L." }));
    let other = dialer.app.client.get(APPOINTMENTS).await.expect(200);
    assert_eq!(other.data()[1].get("contactName"), None);

    assert_eq!(events(&dialer, "").await, ["event-10", "event-20", "event-30"]);
    let cursor = first.text("/pagination/nextCursor");
    assert_eq!(
        events(&dialer, &format!("pageSize=1&cursor={cursor}")).await,
        ["event-20"]
    );
    let span = format!("from={}&to={}", start(10).unix_seconds() + 1, start(30).unix_seconds());
    assert_eq!(events(&dialer, &span).await, ["event-20"]);
    let of = |name: &str, id: &str| format!("{name}={id}");
    assert_eq!(
        events(&dialer, &of("campaignId", &dialer.campaign.to_string()))
            .await
            .len(),
        3
    );
    let nobodys = AttemptId::new().to_string();
    for name in ["agentId", "campaignId"] {
        assert_eq!(events(&dialer, &of(name, &nobodys)).await, Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_of_appointments_belongs_to_its_account_and_refuses_what_it_does_not_know() {
    let dialer = Dialer::start(1).await;
    let call = dialer.dial().await;
    book(&dialer, call.claim.attempt, 10).await;
    book(&dialer, call.claim.attempt, 20).await;
    let stranger = dialer.app.stranger().await;
    assert_eq!(*stranger.get(APPOINTMENTS).await.expect(200).data(), json!([]));
    let first = dialer
        .app
        .client
        .get(&format!("{APPOINTMENTS}?pageSize=1"))
        .await
        .expect(200);
    let cursor = first.text("/pagination/nextCursor");
    for query in [format!("cursor={cursor}&to=9"), format!("cursor={cursor}&from=1")] {
        let refused = dialer
            .app
            .client
            .get(&format!("{APPOINTMENTS}?{query}"))
            .await
            .expect(400);
        assert_eq!(refused.fields(), [("cursor", "invalid_cursor")]);
    }
    let wrong = "agentId=x&campaignId=y&from=-1&to=tomorrow&sortDirection=asc";
    let refused = dialer
        .app
        .client
        .get(&format!("{APPOINTMENTS}?{wrong}"))
        .await
        .expect(400);
    let mut fields = refused.fields();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            ("agentId", "invalid_value"),
            ("campaignId", "invalid_value"),
            ("from", "invalid_value"),
            ("sortDirection", "unknown_parameter"),
            ("to", "invalid_value"),
        ]
    );
}
