//! Checks of calls that are ended from both ends, also inbound ones.

use serde_json::{Value, json};
use sim::exchange::Step;
use support::words::{interviewing_agent, lines};

use crate::site::{COOPERATIVE, Carrier, NUMBER, SILENT, Setup, Site, say, until};

pub async fn ending_a_call_ends_what_rings_and_what_talks(of: Carrier) {
    let site = Site::start(of, Setup::default()).await;
    let ringing = site.ringing().await;
    assert_eq!(site.end(&ringing).await["status"], "cancelled");
    until(10, "end", || site.stub.live_calls() == 0).await;
    let talking = site.call(COOPERATIVE).await;
    let is_open = || {
        site.phones()
            .calls()
            .pop()
            .is_some_and(|phone| phone.media_opened().is_some())
    };
    until(30, "media", is_open).await;
    site.world.pass(4).await;
    assert_eq!(site.end(&talking).await["status"], "completed");
    site.ends_tidy(2).await;
    let expected = match of {
        Carrier::Twilio | Carrier::SignalWire => ["canceled", "completed"],
        Carrier::Telnyx => ["hangup"; 2],
        Carrier::Vonage => ["cancelled", "completed"],
        Carrier::AsteriskWebSocket | Carrier::AudioSocket => ["normal"; 2],
    };
    assert_eq!(site.stub.endings(), expected);
}

pub async fn a_callee_who_hangs_up_ends_the_call(of: Carrier) {
    let steps = vec![say("Hello?"), Step::UntilAgentSaid, say("No, thank you."), Step::HangUp];
    let over = Site::start(of, Setup::told(steps))
        .await
        .over(interviewing_agent(), NUMBER)
        .await;
    over.check_completed();
    assert!(lines(&over.conversation, "User").contains(&"No, thank you.".to_owned()));
    assert_eq!(over.sockets(), 1);
    over.site.ends_tidy(1).await;
    if of == Carrier::Telnyx {
        assert_eq!(over.site.stub.endings(), Vec::<String>::new());
    }
}

pub async fn a_call_that_came_in_is_ended_by_us(of: Carrier) {
    let site = Site::answering(of, Setup::default()).await;
    site.stub.call_in(site.base(), SILENT).await;
    let id = site.came_in().await;
    site.world.pass(5).await;
    let state = site.world.read(&id).await["status"].clone();
    assert_eq!((site.stub.live_calls(), state), (1, json!("in_progress")));
    let over = site.end(&id).await;
    let end = (&over["status"], &over["errorMessage"]);
    assert_eq!(end, (&json!("completed"), &Value::Null), "{over:#}");
    site.ends_tidy(0).await;
    let expected = match of {
        Carrier::Twilio | Carrier::SignalWire | Carrier::Vonage => "completed",
        Carrier::Telnyx => "hangup",
        Carrier::AsteriskWebSocket | Carrier::AudioSocket => "normal",
    };
    assert_eq!(site.stub.endings(), [expected]);
}
