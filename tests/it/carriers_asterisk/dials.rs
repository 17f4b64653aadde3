//! What a dial asks for, what one that fails tells, and how calls are found again.

use std::{collections::BTreeMap, time::Duration};

use carriers::asterisk::account::{AsteriskAccount, Template};
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{CarrierCallId, CarrierError, DialError, DialRequest},
    time::Timestamp,
};
use net::key::Key;
use sim::stub_carriers::asterisk::{AsteriskFaults, AsteriskSettings};

use super::{CALLER_ID, NO_ANSWER, account, adapter::board, call, faulty, stub, until, world_with};

#[tokio::test(start_paused = true)]
async fn a_dial_asks_for_what_a_call_needs() {
    let stub = faulty(AsteriskFaults::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    call(&world, NO_ANSWER).await;
    until(10, "dial", || !stub.dials().is_empty()).await;
    let dial = stub.dials().remove(0);
    assert_eq!(dial.endpoint, format!("PJSIP/{NO_ANSWER}@trunk"));
    assert_eq!(
        (&*dial.app, &*dial.caller, &*dial.timeout),
        ("ringback", CALLER_ID, "30")
    );
    let (app, attempt) = dial.channel.split_once('.').unwrap();
    assert!(
        app == "ringback" && attempt.parse::<domain::id::AttemptId>().is_ok(),
        "{dial:?}"
    );
}

pub fn request(to: &str) -> DialRequest {
    DialRequest {
        attempt: AttemptId::new(),
        from: None,
        to: PhoneNumber::parse(to).unwrap(),
        ring_timeout: Duration::from_secs(30),
        status_token: "5".repeat(64),
        media_token: "a".repeat(64),
        detect_machine: false,
        hints: BTreeMap::new(),
        last_look: Default::default(),
    }
}

#[tokio::test(start_paused = true)]
async fn calls_are_found_by_our_names_and_hung_up_once() {
    let stub = stub(AsteriskSettings::default()).await;
    let board = board(&stub, account(&stub)).await;
    let carrier = &board.carrier;
    let mut placed = BTreeMap::new();
    for _ in 0..3 {
        let request = request(NO_ANSWER);
        placed.insert(carrier.dial(&request).await.unwrap().0, request.attempt);
    }
    let to = PhoneNumber::parse(NO_ANSWER).unwrap();
    let listed = carrier.find_calls(&to, Timestamp(0)).await.unwrap();
    let found: BTreeMap<_, _> = listed
        .into_iter()
        .map(|call| (call.call.0, call.attempt.unwrap()))
        .collect();
    assert_eq!(found, placed);
    let first = CarrierCallId(placed.keys().next().unwrap().clone());
    assert_eq!(carrier.hang_up(&first).await, Ok(()));
    for over in [&*first.0, "1700000000.1", ".."] {
        let answer = carrier.hang_up(&CarrierCallId(over.to_owned())).await;
        assert_eq!(answer, Err(CarrierError::NotFound), "{over}");
    }
    assert_eq!(carrier.find_calls(&to, Timestamp(0)).await.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_fails_leaves_nothing_behind() {
    let stub = stub(AsteriskSettings {
        faults: AsteriskFaults {
            refused_dials: 20,
            ..AsteriskFaults::default()
        },
        ..AsteriskSettings::default()
    })
    .await;
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
    let stub = stub(AsteriskSettings {
        faults: AsteriskFaults {
            refused_dials: 1,
            ..AsteriskFaults::default()
        },
        ..AsteriskSettings::default()
    })
    .await;
    let base = account(&stub);
    let first_board = board(&stub, base.clone()).await;
    let ours = &first_board.carrier;
    let busy = ours.dial(&request(NO_ANSWER)).await;
    assert_eq!(busy, Err(DialError::Busy { retry_after: None }));
    let again = request(NO_ANSWER);
    let first = ours.dial(&again).await.unwrap();
    // Whatever repeats a request on its way: the same name makes no second call.
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
    let away = AsteriskAccount {
        ari_url: "http://127.0.0.1:1/ari".to_owned(),
        ..base
    };
    let board = board(&stub, away).await;
    let answer = board.carrier.dial(&request(NO_ANSWER)).await;
    assert!(matches!(answer, Err(DialError::Unreachable(_))), "{answer:?}");
    assert_eq!(stub.live_calls(), 1);
}
