//! Tests of event types that require more than a name and an address: what the call knows is sent.

use serde_json::{Value, json};

use super::{AT_THREE, Bench, calcom, stub::Fault};

fn refused(message: &str) -> Fault {
    Fault::Status(400, json!({ "status": "error", "error": { "message": message } }))
}

#[tokio::test]
async fn the_number_of_the_call_is_sent_and_fills_the_fields_that_a_refusal_names() {
    let mut bench = Bench::new().await;
    let scope = bench.call(calcom()).await;
    let number = scope.number.to_string();
    bench.stub.fails(refused(
        "Missing required booking fields in bookingFieldsResponses: smsReminderNumber, mobile-phone, title",
    ));
    bench.book(&scope, AT_THREE).await.unwrap();
    let booking = bench.stub.desk().bookings[0].clone();
    assert_eq!(booking["attendees"][0]["phoneNumber"], number);
    let expected = json!({
        "notes": "A check-up", "smsReminderNumber": number, "mobile-phone": number, "title": "Ava: Näme 0",
    });
    assert_eq!(booking["bookingFieldsResponses"], expected);
    assert_eq!(booking["location"], Value::Null);
}

#[tokio::test]
async fn an_event_that_takes_place_by_telephone_is_booked_at_the_calls_number() {
    let mut bench = Bench::new().await;
    let scope = bench.call(calcom()).await;
    bench.stub.fails(refused("location is required: attendeePhone"));
    bench.book(&scope, AT_THREE).await.unwrap();
    let booking = bench.stub.desk().bookings[0].clone();
    assert_eq!(
        booking["location"],
        json!({ "type": "attendeePhone", "phone": scope.number.to_string() })
    );
}

#[tokio::test]
async fn what_the_call_does_not_know_is_asked_for_once_and_told() {
    let mut bench = Bench::new().await;
    let scope = bench.call(calcom()).await;
    bench.stub.fails(refused("Missing required booking field: shoe-size"));
    let told = bench.book(&scope, AT_THREE).await.unwrap_err().to_string();
    assert!(told.contains("shoe-size"), "{told}");
    assert_eq!((bench.stub.made(), bench.stub.asked_to_make()), (0, 1));
}
