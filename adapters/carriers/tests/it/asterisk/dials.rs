//! Tests of the fields of a dial, the errors of failed ones, and the search for calls.

use std::time::Duration;

use carriers::asterisk::account::{AsteriskAccount, Template};
use domain::{id::AttemptId, ports::carrier::DialError};
use net::key::Key;
use sim::stub_carriers::{DialFault, asterisk::AsteriskStub};

use super::{account, adapter::board, at, settings, sound, stub, ways};
use crate::site::{NO_ANSWER, OURS, Setup, request, until};

/// Starts a stub that refuses this many dials first.
async fn refusing(dials: usize) -> std::sync::Arc<AsteriskStub> {
    let mut settings = settings(&Setup::default());
    settings.carrier.dials = vec![DialFault::Throttle { retry_after: None }; dials];
    stub(settings).await
}

#[tokio::test(start_paused = true)]
async fn a_dial_asks_for_what_a_call_needs() {
    let stub = sound().await;
    let [media, _] = ways();
    let site = at(&stub, media).await;
    site.call(NO_ANSWER).await;
    until(10, "dial", || !stub.dialed_channels().is_empty()).await;
    let dial = stub.dialed_channels().remove(0);
    assert_eq!(dial.endpoint, format!("PJSIP/{NO_ANSWER}@trunk"));
    assert_eq!((&*dial.app, &*dial.caller, &*dial.timeout), ("ringback", OURS, "30"));
    let (app, attempt) = dial.channel.split_once('.').unwrap();
    assert!(app == "ringback" && attempt.parse::<AttemptId>().is_ok(), "{dial:?}");
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_fails_leaves_nothing_behind() {
    let stub = refusing(20).await;
    let board = board(&stub, account(&stub)).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = tasks();
    for _ in 0..20 {
        assert!(board.carrier.dial(&request(NO_ANSWER)).await.is_err());
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(tasks() < before + 5, "{} tasks of {before}", tasks());
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_fails_tells_what_is_certain() {
    let stub = refusing(1).await;
    let base = account(&stub);
    let first_board = board(&stub, base.clone()).await;
    let ours = &first_board.carrier;
    let busy = ours.dial(&request(NO_ANSWER)).await;
    assert_eq!(busy, Err(DialError::Busy { retry_after: None }));
    let again = request(NO_ANSWER);
    let first = ours.dial(&again).await.unwrap();
    // A proxy may repeat a request: the same name makes no second call.
    assert_eq!((ours.dial(&again).await, stub.live_calls()), (Ok(first), 1));
    for changed in [
        AsteriskAccount {
            password: Key::new("wrong-password"),
            ..base.clone()
        },
        AsteriskAccount {
            endpoint: Template::endpoint("PJSIP/{number}@nowhere").unwrap(),
            app: "other".to_owned(),
            ..base.clone()
        },
    ] {
        let board = board(&stub, changed).await;
        let answer = board.carrier.dial(&request(NO_ANSWER)).await;
        assert!(matches!(answer, Err(DialError::AccountRefused(_))), "{answer:?}");
    }
    let unavailable = AsteriskAccount {
        ari_url: "http://127.0.0.1:1/ari".to_owned(),
        ..base
    };
    let board = board(&stub, unavailable).await;
    let answer = board.carrier.dial(&request(NO_ANSWER)).await;
    assert!(matches!(answer, Err(DialError::Unreachable(_))), "{answer:?}");
    assert_eq!(stub.live_calls(), 1);
}
