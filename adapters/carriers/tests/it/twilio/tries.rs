//! Tests of repeated transfers, slow responses and late webhooks at Twilio. An earlier try does not affect a
//! later one, webhooks respond at once, and no caller is left in silence.

use std::sync::{Arc, OnceLock};

use domain::{
    id::AttemptId,
    ports::carrier::{CarrierCallId, Destination, Transfer, TransferKind, WayBack},
};
use sim::{
    exchange::Step,
    stub_carriers::twilio::{Flavour, TwilioFaults, TwilioStub},
};

use super::{at, post_signed, sound, trunk};
use support::words::lines;

use crate::site::{Carrier, DESK, NO_ANSWER, NUMBER, Setup, Site, asks, phone, say, with_desk};

#[tokio::test(start_paused = true)]
async fn an_earlier_try_is_hung_up_and_its_late_words_change_nothing() {
    let steps = vec![
        say("Hello?"),
        Step::WaitMs(30_000),
        say("Thank you very much."),
        Step::WaitMs(5_000),
        Step::HangUp,
    ];
    let stub = Arc::new(
        TwilioStub::start(Flavour::Twilio, Setup::told(steps).stub())
            .await
            .unwrap(),
    );
    let carrier = Arc::new(OnceLock::new());
    let (trunk, kept) = (trunk(Flavour::Twilio, &stub), carrier.clone());
    let keeping = move |address: &str| {
        let trunk = trunk(address);
        let _ = kept.set(trunk.carrier.clone());
        trunk
    };
    let site = Site::of(Carrier::Twilio, stub.clone(), Arc::new(keeping), Setup::default().node).await;
    site.call(NUMBER).await;
    site.world.pass(10).await;
    let dial = stub.dials().remove(0);
    let (_, status) = dial.status_url.split_once("/status/").unwrap();
    let (_, media) = dial.stream_url.split_once("/media/").unwrap();
    let (attempt, status_token) = status.split_once('/').unwrap();
    let to = |desk: &str| Transfer {
        kind: TransferKind::Conference,
        to: Destination::Phone(desk.parse().unwrap()),
        from: None,
        back: WayBack {
            attempt: attempt.parse().unwrap(),
            status_token: status_token.to_owned(),
            media_token: media.split_once('.').unwrap().1.to_owned(),
        },
    };
    let (carrier, caller) = (carrier.get().unwrap(), CarrierCallId(stub.sids().remove(0)));
    carrier.transfer(&caller, &to(NO_ANSWER)).await.unwrap();
    let first = (stub.last_order()["StatusCallback"].clone(), stub.sids().remove(1));
    // Calls of the same moment have no order.
    site.world.pass(2).await;
    carrier.transfer(&caller, &to(DESK)).await.unwrap();
    for status in ["in-progress", "busy"] {
        let form = [("CallSid", &*first.1), ("CallStatus", status)];
        assert_eq!(post_signed(&stub, &first.0, &form).await.0, 204, "{status}");
    }
    site.world.pass(10).await;
    assert_eq!(stub.statuses(), ["in-progress", "canceled", "in-progress"]);
    site.world.pass(90).await;
    let desk = site.heard(DESK);
    assert!(desk.iter().any(|text| text.contains("Thank you")), "{desk:?}");
    assert_eq!((stub.live_calls(), stub.complaints()), (0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_join_that_fails_behind_its_webhook_brings_the_agent_back_and_lets_the_desk_go() {
    // The agent speaks before the join, and then says that nobody could be reached.
    let setup = asks(vec![Step::UntilAgentSaid, Step::UntilAgentSaid, Step::HangUp]);
    let deaf = TwilioFaults {
        deaf: true,
        ..TwilioFaults::default()
    };
    let (site, _) = at(Carrier::Twilio, setup.stub(), deaf).await;
    let over = site.over(with_desk("conference", &phone(DESK)), NUMBER).await;
    assert!(!over.is_transferred(), "{:#}", over.conversation);
    let agent = lines(&over.conversation, "Agent");
    assert!(
        agent.iter().any(|text| text.contains("nobody could be reached")),
        "{agent:?}"
    );
    over.site.ends_tidy(2).await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_call_is_over_is_hung_up_and_not_sent_to_a_socket() {
    let (site, stub) = sound(Carrier::Twilio).await;
    let (attempt, proof) = (AttemptId::new(), "5".repeat(64));
    let url = format!("{}/carriers/twilio/transfer/{attempt}.{proof}/{proof}", site.base());
    let form = [
        ("CallSid", "CA1"),
        ("CallStatus", "in-progress"),
        ("DialCallStatus", "busy"),
    ];
    let (status, twiml) = post_signed(&stub, &url, &form).await;
    assert_eq!(status, 200, "{twiml}");
    assert!(twiml.ends_with("<Response><Hangup/></Response>"), "{twiml}");
}
