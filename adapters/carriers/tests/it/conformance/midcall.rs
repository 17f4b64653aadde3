//! Checks of events in the middle of a call: transfers and pressed keys.

use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{CarrierAbilities, CarrierCallId, CarrierError, Destination, Transfer, TransferKind},
};
use serde_json::json;
use sim::exchange::{LogEvent, Step};
use support::words::{collected, interviewing_agent};

use crate::site::{
    BUSY_DESK, Carrier, DESK, NO_ANSWER, NUMBER, Setup, Site, asks, asks_and_goes_on, asks_and_thanks, phone, request,
    say, sip, start_stub, way_back, with_desk,
};

pub async fn a_caller_who_asks_for_a_person_is_handed_on_and_joined(of: Carrier) {
    for (kind, destination) in [
        ("blind", phone(DESK)),
        ("conference", phone(DESK)),
        ("blind", sip(DESK)),
    ] {
        check_handed_on(Site::start(of, asks_and_thanks()).await, kind, &destination).await;
    }
}

pub async fn check_handed_on(site: Site, kind: &str, destination: &serde_json::Value) {
    let over = site.over(with_desk(kind, destination), NUMBER).await;
    over.check_completed();
    assert!(over.is_transferred(), "{kind} {:#}", over.conversation);
    // We did not hang up: the two talk until one of them leaves.
    let site = over.site;
    assert_eq!(site.stub.live_calls(), 2, "{kind}");
    site.world.pass(120).await;
    site.check_tidy();
    let desk = site.heard(DESK);
    assert!(desk.iter().any(|text| text.contains("Thank you")), "{kind} {desk:?}");
    let caller = site.heard(NUMBER);
    let behind = caller.iter().skip_while(|text| !text.contains("put you through"));
    assert!(behind.skip(1).count() > 0, "the desk is heard: {kind} {caller:?}");
}

pub async fn a_caller_whom_nobody_takes_has_the_agent_again(of: Carrier) {
    for kind in ["blind", "conference"] {
        let site = Site::start(of, asks_and_goes_on()).await;
        let over = site.over(with_desk(kind, &phone(BUSY_DESK)), NUMBER).await;
        over.check_came_back();
        let sockets = if kind == "blind" && of != Carrier::Telnyx { 2 } else { 1 };
        assert_eq!(over.sockets(), sockets, "{kind}");
        over.site.world.pass(5).await;
        over.site.check_tidy();
    }
}

pub async fn nobody_is_rung_any_more_for_a_caller_who_left(of: Carrier) {
    for kind in ["blind", "conference"] {
        let site = Site::start(of, asks(vec![Step::WaitMs(5_000), Step::HangUp])).await;
        let over = site.over(with_desk(kind, &phone(NO_ANSWER)), NUMBER).await;
        // A carrier that transfers calls by itself needs no dial.
        let dials = if kind == "blind" && !of.is_asterisk() { 1 } else { 2 };
        over.site.ends_tidy(dials).await;
    }
}

pub async fn keys_of_the_agent_reach_the_phone(of: Carrier) {
    let mut setup = Setup::default();
    setup.personas.push((NUMBER.to_owned(), "ivr"));
    let over = Site::start(of, setup).await.over(interviewing_agent(), NUMBER).await;
    over.check_completed();
    // Twilio's stream accepts no keys, so they are tones in the call's own audio.
    let by_request: &[&str] = if of == Carrier::Twilio { &[] } else { &["0"] };
    assert_eq!(over.site.stub.keys(), by_request);
    let heard = over
        .site
        .stub
        .entries()
        .into_iter()
        .filter_map(|entry| match entry.event {
            LogEvent::HeardKey { key } => Some(key),
            _ => None,
        });
    assert_eq!(heard.collect::<String>(), "0");
    over.site.ends_tidy(1).await;
}

pub async fn keys_of_the_caller_are_words(of: Carrier) {
    let mut agent = interviewing_agent();
    agent["platformSettings"]["dataCollection"]["entities"] =
        json!({ "guests": { "type": "integer", "description": "number of guests" } });
    let mut steps = vec![say("Hello?"), Step::UntilHeardWord("guests".into())];
    steps.extend("12".chars().map(Step::Press));
    steps.extend([Step::UntilAgentSaid, Step::WaitMs(20_000)]);
    let over = Site::start(of, Setup::told(steps)).await.over(agent, NUMBER).await;
    // Each key counts once, however often the carrier reports it.
    assert_eq!(
        collected(&over.conversation, "guests"),
        Some("12"),
        "{:#}",
        over.conversation
    );
    if of == Carrier::Telnyx {
        let told = over
            .site
            .stub
            .delivered()
            .into_iter()
            .filter(|report| report.status == "call.dtmf.received");
        assert_eq!(told.count(), 2);
    }
    over.site.ends_tidy(1).await;
}

pub async fn what_cannot_be_done_to_a_call_is_told(of: Carrier) {
    let (stub, trunk) = start_stub(
        of,
        &Setup {
            silent: true,
            ..Setup::default()
        },
    )
    .await;
    // Nothing listens at the address of the reports.
    let carrier = trunk("http://127.0.0.1:9").carrier;
    let refer = matches!(of, Carrier::Telnyx | Carrier::SignalWire);
    let abilities = CarrierAbilities {
        detects_machines: true,
        refer,
        digits: !of.is_twilio(),
        comes_back: of.is_twilio(),
    };
    assert_eq!(carrier.abilities(), abilities);
    let ringing = carrier.dial(&request(NO_ANSWER)).await.unwrap();
    let back = way_back();
    let transfer = |kind| Transfer {
        kind,
        to: Destination::Phone(PhoneNumber::parse(DESK).unwrap()),
        from: None,
        back: back.clone(),
    };
    let unknown = CarrierCallId("unknown".to_owned());
    for call in [&ringing, &unknown, &CarrierCallId("..".to_owned())] {
        let mut answers = vec![
            carrier.reopen_media(call, &back).await,
            carrier.transfer(call, &transfer(TransferKind::Blind)).await,
        ];
        let keys = carrier.send_digits(call, "1w2#").await;
        match of.is_twilio() {
            true => assert!(matches!(keys, Err(CarrierError::NotOffered(_))), "{keys:?}"),
            false => answers.push(keys),
        }
        for answer in answers {
            match call == &ringing && !of.is_twilio() {
                true => assert!(matches!(answer, Err(CarrierError::Refused(_))), "{answer:?}"),
                false => assert_eq!(answer, Err(CarrierError::NotFound), "{call:?}"),
            }
        }
    }
    // Those that refer do so to SIP addresses, not to telephone numbers.
    match carrier.transfer(&ringing, &transfer(TransferKind::SipRefer)).await {
        Err(CarrierError::Refused(_)) if refer => {}
        Err(CarrierError::NotOffered(_)) if !refer => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(stub.keys(), Vec::<String>::new());
}
