//! Tests of calls through Telnyx that go beyond the shared suite.

mod early;
mod webhooks;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use carriers::{
    kind::Account as _,
    telnyx::{
        account::{Machines, TelnyxAccount},
        line::{self, LineChoice},
        mark,
        signature::WebhookKey,
    },
};
use domain::{phone_number::PhoneNumber, ports::carrier::DialError};
use net::key::Key;
use serde_json::{Value, json};
use sim::stub_carriers::{
    Callbacks, DialFault, StubBase,
    telnyx::{API_KEY, ByteOrder, CONNECTION, Codec, TelnyxFaults, TelnyxSettings, TelnyxStub},
};
use support::world::TrunkOf;

use crate::{
    conformance::{
        inbound::{check_leaves, check_talk},
        media::check_found_again,
        midcall::check_handed_on,
        outcomes::{check_two_dozen, with_rejects},
    },
    site::{
        Announced, BUSY_DESK, COOPERATIVE, Carrier, DESK, INVALID, NO_ANSWER, NUMBER, OURS, Setup, Site, Stub,
        asks_and_goes_on, asks_and_thanks, clock, goes_on, phone, request, sip, with_desk,
    },
};

/// Wait until an announcement is handled.
const SETTLED: Duration = Duration::from_secs(8);

fn commands(stub: &TelnyxStub, action: &str) -> Vec<Value> {
    let all = stub.commands().into_iter();
    all.filter(|(name, _)| name == action).map(|(_, wish)| wish).collect()
}

fn answered_for(wish: &Value) -> String {
    mark::attempt(wish["client_state"].as_str().unwrap())
        .unwrap()
        .to_string()
}

#[async_trait]
impl Stub for TelnyxStub {
    fn base(&self) -> &StubBase {
        self
    }

    fn endings(&self) -> Vec<String> {
        commands(self, "hangup").iter().map(|_| "hangup".to_owned()).collect()
    }

    async fn call_in(&self, service: &str, from: &str) -> String {
        self.call_in(service, "v3:in-1", from, OURS);
        "v3:in-1".to_owned()
    }

    async fn leave(&self, call: &str) {
        self.hang_up(call).await;
    }

    async fn announce(&self, service: &str, call: &str, parties: (&str, &str)) -> Announced {
        let (id, before) = (format!("v3:{call}"), self.commands().len());
        if !self.announce(&id) {
            self.call_in(service, &id, parties.0, parties.1);
        }
        tokio::time::sleep(SETTLED).await;
        let mut settled = self.commands().split_off(before);
        // Calls that were accepted before may end meanwhile.
        settled.retain(|(action, _)| matches!(&**action, "answer" | "reject"));
        match &settled[..] {
            [] => match self
                .delivered()
                .iter()
                .rfind(|told| told.status == "call.initiated")
                .unwrap()
                .answer
            {
                // It was accepted before, and is reported at its own address by now.
                200 | 204 => Announced::Taken(answered_for(&commands(self, "answer")[0])),
                status => Announced::Status(status),
            },
            [(action, wish)] if action == "answer" => Announced::Taken(answered_for(wish)),
            [(action, wish)] if action == "reject" => match wish["cause"].as_str() {
                Some("USER_BUSY") => Announced::Busy,
                _ => Announced::Rejected,
            },
            more => panic!("{more:?}"),
        }
    }
}

fn account(stub: &TelnyxStub) -> TelnyxAccount {
    TelnyxAccount {
        base_url: stub.url(),
        api_key: Key::new(API_KEY),
        public_key: WebhookKey::parse(&stub.public_key()).unwrap(),
        connection: CONNECTION.to_owned(),
        from: Some(PhoneNumber::parse(OURS).unwrap()),
        line: LineChoice::default(),
        machines: Machines::default(),
    }
}

fn trunk(account: TelnyxAccount) -> TrunkOf {
    Arc::new(move |address| account.trunk(address, clock()).unwrap())
}

fn settings(setup: &Setup, faults: TelnyxFaults) -> TelnyxSettings {
    TelnyxSettings {
        page: setup.page.unwrap_or(250),
        faults: TelnyxFaults {
            shuffled_frames: setup.callbacks == Callbacks::Twice,
            no_webhooks: setup.silent,
            ..faults
        },
        ..TelnyxSettings::of(setup.stub())
    }
}

pub async fn start(setup: &Setup) -> (Arc<dyn Stub>, TrunkOf) {
    let stub = TelnyxStub::start(settings(setup, TelnyxFaults::default()))
        .await
        .unwrap();
    let trunk = trunk(account(&stub));
    (Arc::new(stub), trunk)
}

/// Starts a service with a stub that the test can inspect.
async fn at(settings: TelnyxSettings, change: impl FnOnce(TelnyxAccount) -> TelnyxAccount) -> (Site, Arc<TelnyxStub>) {
    let stub = Arc::new(TelnyxStub::start(settings).await.unwrap());
    let trunk = trunk(change(account(&stub)));
    (
        Site::of(Carrier::Telnyx, stub.clone(), trunk, Setup::default().node).await,
        stub,
    )
}

async fn flawed(setup: &Setup, faults: TelnyxFaults) -> (Site, Arc<TelnyxStub>) {
    at(settings(setup, faults), |account| account).await
}

/// Starts a call that rings. Also returns the body of its dial.
async fn ringing() -> (Site, Arc<TelnyxStub>, Value) {
    let (site, stub) = flawed(&Setup::default(), TelnyxFaults::default()).await;
    site.ringing().await;
    let dial = stub.orders().remove(0);
    (site, stub, dial)
}

#[tokio::test(start_paused = true)]
async fn a_dial_asks_for_what_a_call_needs() {
    let (site, _, dial) = ringing().await;
    let attempt = dial["command_id"].as_str().unwrap().to_owned();
    assert_eq!(answered_for(&dial), attempt);
    check_addresses(&site, &dial, &dial, &attempt);
    for (field, value) in [
        ("to", json!(NO_ANSWER)),
        ("from", json!(OURS)),
        ("timeout_secs", json!(30)),
        ("stream_track", json!("inbound_track")),
        ("stream_codec", json!("PCMU")),
        ("stream_bidirectional_sampling_rate", json!(8_000)),
        ("webhook_url_method", json!("POST")),
    ] {
        assert_eq!(dial[field], value, "{field}");
    }
}

/// Checks the report and media addresses in a dial, or in an answer and the start of its stream.
fn check_addresses(site: &Site, wish: &Value, stream: &Value, attempt: &str) {
    let status = format!("{}/carriers/telnyx/status/{attempt}/", site.base());
    assert!(wish["webhook_url"].as_str().unwrap().starts_with(&status), "{wish}");
    let media = format!(
        "{}/carriers/telnyx/media/{attempt}.",
        site.base().replacen("http", "ws", 1)
    );
    assert!(stream["stream_url"].as_str().unwrap().starts_with(&media), "{stream}");
    assert_eq!(stream["stream_bidirectional_mode"], "rtp");
    assert_eq!(stream["stream_bidirectional_codec"], "PCMU");
}

#[tokio::test(start_paused = true)]
async fn messages_are_left_at_the_beeps_that_each_way_to_find_machines_tells() {
    for (machines, asked, verdicts) in [
        (
            Machines::Standard,
            "detect_beep",
            [("call.machine.detection.ended", 20), ("call.machine.greeting.ended", 8)],
        ),
        (
            Machines::Premium,
            "premium",
            [
                ("call.machine.premium.detection.ended", 20),
                ("call.machine.premium.greeting.ended", 8),
            ],
        ),
        (
            Machines::PremiumWithScreening,
            "premium_ios_call_screening_detection",
            [
                ("call.machine.premium.detection.ended", 20),
                ("call.machine.premium.greeting.ended", 8),
            ],
        ),
    ] {
        let settings = settings(&with_rejects(), TelnyxFaults::default());
        let (site, stub) = at(settings, |account| TelnyxAccount { machines, ..account }).await;
        check_two_dozen(site, &verdicts).await;
        for dial in stub.orders() {
            assert_eq!(dial["answering_machine_detection"], asked);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_fails_tells_what_is_certain() {
    let silent = Setup {
        silent: true,
        ..Setup::default()
    };
    let mut settings = settings(&silent, TelnyxFaults::default());
    settings.carrier.dials = vec![DialFault::Throttle { retry_after: None }];
    let stub = TelnyxStub::start(settings).await.unwrap();
    // Nothing listens at the address of the reports.
    let carrier = |account| trunk(account)("http://127.0.0.1:9").carrier;
    let ours = carrier(account(&stub));
    let throttled = ours.dial(&request(NO_ANSWER)).await;
    let retry_after = Some(Duration::from_secs(1));
    assert_eq!(throttled, Err(DialError::Busy { retry_after }));
    let again = request(NO_ANSWER);
    let first = ours.dial(&again).await.unwrap();
    // A proxy may repeat a request: the same command id makes no second call.
    assert_eq!((ours.dial(&again).await, stub.live_calls()), (Ok(first), 1));
    assert!(matches!(
        ours.dial(&request(INVALID)).await,
        Err(DialError::InvalidNumber(_))
    ));
    let base = account(&stub);
    let (stranger, other, nobody) = (base.clone(), base.clone(), base.clone());
    for changed in [
        TelnyxAccount {
            api_key: Key::new("KEY-of-nobody"),
            ..stranger
        },
        TelnyxAccount {
            connection: "7".to_owned(),
            ..other
        },
        TelnyxAccount { from: None, ..nobody },
    ] {
        let answer = carrier(changed).dial(&request(NO_ANSWER)).await;
        assert!(matches!(answer, Err(DialError::AccountRefused(_))), "{answer:?}");
    }
    let unavailable = TelnyxAccount {
        base_url: "http://127.0.0.1:1/v2".to_owned(),
        ..base
    };
    let answer = carrier(unavailable).dial(&request(NO_ANSWER)).await;
    assert!(matches!(answer, Err(DialError::Unreachable(_))), "{answer:?}");
    assert_eq!(stub.live_calls(), 1);
}

async fn check_codec(line: LineChoice, heard_in: Option<Codec>) {
    let settings = TelnyxSettings {
        heard_in,
        order: match line.order {
            line::ByteOrder::Big => ByteOrder::Big,
            line::ByteOrder::Little => ByteOrder::Little,
        },
        ..settings(&Setup::default(), TelnyxFaults::default())
    };
    let (site, _) = at(settings, |account| TelnyxAccount { line, ..account }).await;
    let id = site.call(COOPERATIVE).await;
    let conversation = site.world.until_over(&id, 120).await;
    match line.codec {
        line::Codec::L16 => site.check_most_words(&conversation, COOPERATIVE),
        line::Codec::Pcmu | line::Codec::Pcma => site.check_words(&conversation, COOPERATIVE),
    }
    site.ends_tidy(1).await;
}

#[tokio::test(start_paused = true)]
async fn every_codec_carries_a_conversation() {
    for (codec, order) in [
        (line::Codec::Pcma, line::ByteOrder::Big),
        (line::Codec::L16, line::ByteOrder::Big),
        (line::Codec::L16, line::ByteOrder::Little),
    ] {
        check_codec(LineChoice { codec, order }, None).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_heard_in_another_codec_than_it_was_asked_for() {
    check_codec(LineChoice::default(), Some(Codec::Pcma)).await;
    let wide = LineChoice {
        codec: line::Codec::L16,
        order: line::ByteOrder::Big,
    };
    check_codec(wide, Some(Codec::Pcmu)).await;
}

#[tokio::test(start_paused = true)]
async fn a_broken_answer_and_repeated_announcements_change_nothing() {
    for (callbacks, broken_commands) in [(Callbacks::Reversed, 0), (Callbacks::InOrder, 1)] {
        let faults = TelnyxFaults {
            broken_commands,
            ..TelnyxFaults::default()
        };
        let setup = Setup {
            callbacks,
            ..Setup::default()
        };
        let (site, stub) = flawed(&setup, faults).await;
        let site = site.with_answering_agent().await;
        let base = site.base().to_owned();
        check_talk(site).await;
        let answers = commands(&stub, "answer");
        assert_eq!(answers.len(), 1 + broken_commands);
        assert_eq!(
            opened(&stub),
            if callbacks == Callbacks::InOrder { 1 } else { 2 },
            "{:?}",
            stub.delivered()
        );
        assert!(answers[0]["webhook_url"].as_str().unwrap().starts_with(&base));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_asks_for_what_a_call_needs() {
    let (site, stub) = flawed(&Setup::default(), TelnyxFaults::default()).await;
    let site = site.with_answering_agent().await;
    let Announced::Taken(id) = site.stub.announce(site.base(), "in-1", (COOPERATIVE, OURS)).await else {
        panic!("not taken");
    };
    let (answer, streams) = (commands(&stub, "answer").remove(0), commands(&stub, "streaming_start"));
    // The documented fields of an answer lack two that a stream needs.
    assert!(answer.get("stream_url").is_none(), "{answer}");
    check_addresses(&site, &answer, &streams[0], &id);
}

/// Returns the number of streams whose beginning was reported.
fn opened(stub: &TelnyxStub) -> usize {
    let told = stub.delivered().into_iter();
    told.filter(|report| report.status == "streaming.started").count()
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_heard_though_nothing_reports_the_answer() {
    let faults = TelnyxFaults {
        late: Some(("call.answered", Duration::from_secs(600))),
        ..TelnyxFaults::default()
    };
    let (site, stub) = flawed(&Setup::default(), faults).await;
    check_talk(site.with_answering_agent().await).await;
    assert_eq!(opened(&stub), 1);
}

#[tokio::test(start_paused = true)]
async fn a_phone_that_calls_is_talked_with_in_wideband_too() {
    let line = LineChoice {
        codec: line::Codec::L16,
        order: line::ByteOrder::Big,
    };
    let settings = settings(&Setup::default(), TelnyxFaults::default());
    let (site, stub) = at(settings, |account| TelnyxAccount { line, ..account }).await;
    let site = site.with_answering_agent().await;
    site.stub.call_in(site.base(), COOPERATIVE).await;
    let id = site.came_in().await;
    let conversation = site.world.until_over(&id, 180).await;
    site.check_most_words(&conversation, COOPERATIVE);
    assert_eq!(opened(&stub), 1);
    site.ends_tidy(0).await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_leaves_ends_the_call_though_that_is_told_at_the_application_s_address() {
    let faults = TelnyxFaults {
        own_address_only: true,
        ..TelnyxFaults::default()
    };
    let (site, _) = flawed(&Setup::default(), faults).await;
    check_leaves(site.with_answering_agent().await).await;
}

#[tokio::test(start_paused = true)]
async fn media_of_whose_loss_only_a_webhook_or_nothing_tells_is_found_again() {
    let unnoticed = TelnyxFaults {
        unnoticed_losses: true,
        ..TelnyxFaults::default()
    };
    let cut = Setup {
        cut_after: Some(300),
        ..goes_on()
    };
    // The first stream cannot be opened, and only a webhook says so.
    let refused = TelnyxFaults {
        streams_refused: 1,
        ..TelnyxFaults::default()
    };
    for (setup, faults, sockets, starts) in [
        (cut.clone(), TelnyxFaults::default(), 2, 1),
        (cut, unnoticed, 2, 2),
        (goes_on(), refused, 1, 1),
    ] {
        let (site, stub) = flawed(&setup, faults).await;
        check_found_again(site, sockets).await;
        assert_eq!(commands(&stub, "streaming_start").len(), starts);
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_word_that_the_two_talk_is_no_failure() {
    for kind in ["blind", "conference"] {
        let faults = TelnyxFaults {
            late: Some(("call.bridged", Duration::from_secs(3))),
            ..TelnyxFaults::default()
        };
        let setup = Setup {
            callbacks: Callbacks::Reversed,
            ..asks_and_thanks()
        };
        let (site, _) = flawed(&setup, faults).await;
        check_handed_on(site, kind, &phone(DESK)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_referred_to_whom_the_peer_takes() {
    let (site, stub) = flawed(&asks_and_thanks(), TelnyxFaults::default()).await;
    let over = site.over(with_desk("sip_refer", &sip(DESK)), NUMBER).await;
    over.check_completed();
    assert!(over.is_transferred(), "{:#}", over.conversation);
    assert_eq!(commands(&stub, "refer").len(), 1);
    for destination in [sip(BUSY_DESK), phone(DESK)] {
        let (site, _) = flawed(&asks_and_goes_on(), TelnyxFaults::default()).await;
        site.over(with_desk("sip_refer", &destination), NUMBER)
            .await
            .check_came_back();
    }
}
