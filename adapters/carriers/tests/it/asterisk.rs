//! Tests of calls through Asterisk, over both kinds of audio, that go beyond the shared suite.

mod adapter;
mod admission;
mod dials;
mod faults;
mod inbound;

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use carriers::{
    asterisk::account::{AsteriskAccount, Codec, Media, Template},
    kind::Account as _,
};
use domain::phone_number::PhoneNumber;
use net::key::Key;
use sim::{
    exchange::Step,
    stub_carriers::{
        Callbacks, StubBase,
        asterisk::{AsteriskSettings, AsteriskStub, PASSWORD, USER, WEBSOCKET_CLIENT},
    },
};
use support::{words::interviewing_agent, world::TrunkOf};

use crate::{
    conformance::outcomes::check_campaign,
    site::{
        Announced, COOPERATIVE, Carrier, DESK, INTERRUPTS, NUMBER, OURS, Setup, Site, Stub, asks, asks_and_goes_on,
        clock, phone, sip, with_desk,
    },
};

#[async_trait]
impl Stub for AsteriskStub {
    fn base(&self) -> &StubBase {
        self
    }

    /// Counts only telephone channels; the names of their other channels have a suffix.
    fn endings(&self) -> Vec<String> {
        let hung_up = self.hung_up().into_iter();
        hung_up
            .filter(|(channel, _)| channel.matches('.').count() == 1)
            .map(|(_, reason)| reason)
            .collect()
    }

    fn leftovers(&self) -> Vec<String> {
        self.channels().into_iter().chain(self.bridges().into_keys()).collect()
    }

    async fn call_in(&self, _: &str, from: &str) -> String {
        self.call_in(from, OURS).await
    }

    async fn leave(&self, call: &str) {
        self.leave(call).await;
    }

    async fn announce(&self, _: &str, _: &str, _: (&str, &str)) -> Announced {
        unreachable!("a call enters the application, and is not announced")
    }
}

/// Both kinds of audio.
fn ways() -> [Media; 2] {
    [websocket(Codec::Ulaw), audiosocket()]
}

fn account(stub: &AsteriskStub) -> AsteriskAccount {
    AsteriskAccount {
        ari_url: stub.url(),
        user: USER.to_owned(),
        password: Key::new(PASSWORD),
        app: "ringback".to_owned(),
        endpoint: Template::endpoint("PJSIP/{number}@trunk").unwrap(),
        refer: None,
        from: Some(PhoneNumber::parse(OURS).unwrap()),
        media: websocket(Codec::Ulaw),
    }
}

fn websocket(codec: Codec) -> Media {
    Media::WebSocket {
        client: WEBSOCKET_CLIENT.to_owned(),
        codec,
    }
}

/// Uses a port that is free now, on a loopback address that no other test uses.
fn audiosocket() -> Media {
    static PLACES: AtomicU8 = AtomicU8::new(0);
    let [.., high, low] = std::process::id().to_be_bytes();
    let place = PLACES.fetch_add(1, Ordering::Relaxed);
    let own = Ipv4Addr::new(127, high | 1, low, place);
    let free = std::net::TcpListener::bind((own, 0)).unwrap();
    let listen: SocketAddr = free.local_addr().unwrap();
    Media::AudioSocket {
        listen,
        reached_at: listen.to_string(),
    }
}

fn settings(setup: &Setup) -> AsteriskSettings {
    AsteriskSettings {
        carrier: setup.stub(),
        json: false,
        refers_taken: None,
    }
}

async fn stub(settings: AsteriskSettings) -> Arc<AsteriskStub> {
    Arc::new(AsteriskStub::start(settings).await.unwrap())
}

async fn sound() -> Arc<AsteriskStub> {
    stub(settings(&Setup::default())).await
}

fn trunk(stub: &Arc<AsteriskStub>, account: AsteriskAccount) -> TrunkOf {
    let stub = stub.clone();
    Arc::new(move |address| {
        stub.serve_media_to(address);
        account.trunk("", clock()).unwrap()
    })
}

pub async fn start(carrier: Carrier, setup: &Setup) -> (Arc<dyn Stub>, TrunkOf) {
    let stub = stub(settings(setup)).await;
    let media = match carrier {
        Carrier::AudioSocket => audiosocket(),
        _ => websocket(Codec::Ulaw),
    };
    let account = AsteriskAccount {
        media,
        ..account(&stub)
    };
    let trunk = trunk(&stub, account);
    (stub, trunk)
}

/// Starts a service with a stub that the test can inspect.
async fn at(stub: &Arc<AsteriskStub>, media: Media) -> Site {
    let account = AsteriskAccount {
        media,
        refer: Template::refer("sip:{number}@pbx.example.com"),
        ..account(stub)
    };
    let trunk = trunk(stub, account);
    Site::of(Carrier::AsteriskWebSocket, stub.clone(), trunk, Setup::default().node).await
}

/// Returns whether a telephone and its audio are in one bridge.
fn talks(stub: &AsteriskStub) -> bool {
    stub.bridges().values().any(|inside| inside.len() == 2)
}

#[tokio::test(start_paused = true)]
async fn a_campaign_completes_over_a_websocket_that_speaks_json_and_over_a_law() {
    for (codec, json, callbacks) in [
        (Codec::Slin, true, Callbacks::InOrder),
        (Codec::Alaw, false, Callbacks::Twice),
    ] {
        let setup = Setup {
            callbacks,
            ..Setup::default()
        };
        let stub = stub(AsteriskSettings {
            json,
            ..settings(&setup)
        })
        .await;
        check_campaign(at(&stub, websocket(codec)).await).await;
    }
}

#[tokio::test(start_paused = true)]
async fn wide_audio_carries_a_conversation() {
    let site = at(&sound().await, websocket(Codec::Slin16)).await;
    let id = site.call(COOPERATIVE).await;
    let conversation = site.world.until_over(&id, 120).await;
    site.check_most_words(&conversation, COOPERATIVE);
    site.ends_tidy(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_websocket_forgets_what_it_has_and_to_an_audiosocket_nothing_was_sent_ahead() {
    for media in ways() {
        let clears = matches!(media, Media::WebSocket { .. });
        let stub = sound().await;
        let over = at(&stub, media).await.over(interviewing_agent(), INTERRUPTS).await;
        over.check_completed();
        assert_eq!(!stub.flushed_ms().is_empty(), clears, "{:?}", stub.flushed_ms());
    }
}

#[tokio::test(start_paused = true)]
async fn a_refer_that_the_far_end_takes_hands_the_caller_on() {
    for destination in [phone(DESK), sip("desk")] {
        let stub = stub(AsteriskSettings {
            refers_taken: Some(Duration::from_secs(8)),
            ..settings(&asks(vec![Step::WaitMs(60_000)]))
        })
        .await;
        let site = at(&stub, websocket(Codec::Ulaw)).await;
        let over = site.over(with_desk("sip_refer", &destination), NUMBER).await;
        over.check_completed();
        assert!(over.is_transferred(), "{:#}", over.conversation);
        assert_eq!(stub.redirected().len(), 1);
        // The far end places the call, not we.
        over.site.ends_tidy(1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refer_of_which_nothing_comes_leaves_the_caller_with_the_agent() {
    let stub = stub(settings(&asks_and_goes_on())).await;
    let site = at(&stub, websocket(Codec::Ulaw)).await;
    let over = site.over(with_desk("sip_refer", &phone(DESK)), NUMBER).await;
    assert_eq!(stub.redirected().len(), 1);
    over.check_came_back();
    assert_eq!(over.sockets(), 1, "the audio stayed");
    over.site.ends_tidy(1).await;
}
