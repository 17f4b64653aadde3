//! Tests of transfers by SIP REFER.

use serde_json::{Value, json};
use sim::exchange::Step;

use super::{Arc, TwilioStub, sound_with};
use crate::site::{BUSY_DESK, Carrier, DESK, NUMBER, OURS, Over, Setup, asks, asks_and_goes_on, phone, sip, with_desk};

/// Has the phone at [`NUMBER`] call in from a SIP peer, to an agent that refers its callers.
async fn called(setup: Setup, destination: &Value) -> (Over, Arc<TwilioStub>) {
    let (site, stub) = sound_with(Carrier::SignalWire, &setup).await;
    let mut agent = with_desk("sip_refer", destination);
    agent["direction"] = json!("inbound");
    agent["phoneNumbers"] = json!([{ "number": OURS, "provider": "signalwire" }]);
    site.world.agent(agent).await;
    site.world.pass(1).await;
    let parties = [NUMBER, OURS].map(|number| format!("sip:{number}@pbx.example.com"));
    let announced = stub.call_in(site.base(), "CA-in-1", &parties[0], &parties[1]).await;
    assert_eq!(announced.status, 200, "{announced:?}");
    let id = site.came_in().await;
    site.world.until_over(&id, 300).await;
    site.world.pass(2).await;
    let conversation = site.world.read(&id).await;
    site.check_tidy();
    (Over { site, conversation }, stub)
}

/// Returns why the transfer failed.
fn failure(over: &Over) -> String {
    let id = over.conversation["conversationId"].as_str().unwrap();
    let events = over.site.world.events(id);
    let failed = events.into_iter().find(|(name, _)| name == "transfer_failed");
    failed.unwrap().1["reason"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_caller_on_sip_is_referred_to_whom_its_peer_reaches() {
    let waits = asks(vec![Step::WaitMs(60_000)]);
    let (over, stub) = called(waits, &sip(DESK)).await;
    over.check_completed();
    assert!(over.is_transferred(), "{:#}", over.conversation);
    assert_eq!(over.conversation["callerNumber"], OURS, "{:#}", over.conversation);
    assert_eq!(over.conversation["contactNumber"], NUMBER, "{:#}", over.conversation);
    assert_eq!(stub.refers(), [format!("sip:{DESK}@pbx.example.com")]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_peer_reaches_nobody_has_the_agent_again() {
    for (target, why) in [
        (BUSY_DESK, "it is busy"),
        ("+15550100031", "it was declined"),
        ("+15550100037", "accepted it, but told of no call"),
    ] {
        let (over, stub) = called(asks_and_goes_on(), &sip(target)).await;
        over.check_came_back();
        assert!(failure(&over).contains(why), "{}", failure(&over));
        assert_eq!((over.sockets(), stub.refers().len()), (2, 1), "{target}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_on_the_telephone_network_keeps_the_line_to_the_agent() {
    for (destination, why) in [(sip(DESK), "a caller on SIP"), (phone(DESK), "a sip: address")] {
        let (site, stub) = sound_with(Carrier::SignalWire, &asks_and_goes_on()).await;
        let over = site.over(with_desk("sip_refer", &destination), NUMBER).await;
        over.check_came_back();
        assert!(failure(&over).contains(why), "{}", failure(&over));
        assert_eq!((over.sockets(), stub.refers()), (1, vec![]), "{destination}");
    }
}
