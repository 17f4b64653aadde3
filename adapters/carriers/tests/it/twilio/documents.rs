//! Tests of the instructions that SignalWire fetches. Its API takes only their address.

use super::{post_signed, sound};
use crate::site::{Carrier, DESK, NUMBER, asks_and_thanks, phone, with_desk};

#[tokio::test(start_paused = true)]
async fn signalwire_is_given_an_address_that_only_it_can_ask_and_not_for_ever() {
    let (site, stub) = sound(Carrier::SignalWire).await;
    let conversation = site.ringing().await;
    let order = stub.last_order();
    let (url, method) = (order["Url"].clone(), order["Method"].as_str());
    assert_eq!((order.get("Twiml"), method), (None, "POST"));
    let start = format!("{}/carriers/signalwire/document/", site.base());
    assert!(url.starts_with(&start) && !url.contains(&conversation), "{url}");
    let form = [("CallSid", "CA1"), ("CallStatus", "in-progress")];
    let unsigned = reqwest::Client::new()
        .post(&url)
        .body("CallSid=CA1")
        .send()
        .await
        .unwrap();
    assert_eq!(unsigned.status(), 403);
    let (status, twiml) = post_signed(&stub, &url, &form).await;
    assert!(
        status == 200 && twiml.contains("<Connect><Stream url=\"ws") && twiml.contains(&conversation),
        "{status} {twiml}"
    );
    let other = format!("{start}{}", "A".repeat(url.len() - start.len()));
    assert_eq!(post_signed(&stub, &other, &form).await.0, 404);
    site.world.pass(15 * 60).await;
    assert_eq!(post_signed(&stub, &url, &form).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn new_instructions_of_a_call_are_fetched_too() {
    let settings = asks_and_thanks().stub();
    let (site, stub) = super::at(Carrier::SignalWire, settings, Default::default()).await;
    let over = site.over(with_desk("blind", &phone(DESK)), NUMBER).await;
    assert!(over.is_transferred(), "{:#}", over.conversation);
    let change = stub.last_change();
    assert!(change["Url"].contains("/carriers/signalwire/document/"), "{change:?}");
    assert_eq!((change.get("Twiml"), &*change["Method"]), (None, "POST"));
}
