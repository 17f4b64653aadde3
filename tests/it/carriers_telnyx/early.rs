//! Media sockets that Telnyx opens before the call is answered: they are waited for, and where none came about the call asks
//! for one when it is answered.

use std::time::Duration;

use sim::{
    exchange::ExchangeSettings,
    stub_carriers::telnyx::{TelnyxFaults, TelnyxSettings},
};

use super::{COOPERATIVE, NO_ANSWER, account, call, check_words, stub, world_with};
use support::phone_log::PhoneLog;

/// It rings this long, by far longer than a socket that is open has to begin.
const RINGS: Duration = Duration::from_secs(24);

fn early(streams_refused: usize) -> TelnyxSettings {
    TelnyxSettings {
        exchange: ExchangeSettings {
            pick_up: RINGS..=RINGS,
            ..ExchangeSettings::on_loopback()
        },
        faults: TelnyxFaults {
            early_streams: true,
            streams_refused,
            ..TelnyxFaults::default()
        },
        ..TelnyxSettings::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_is_open_while_it_rings_is_talked_through() {
    for refused in [0, 1] {
        let stub = stub(early(refused)).await;
        let world = world_with(account(&stub)).await;
        let id = call(&world, COOPERATIVE).await;
        let conversation = world.until_over(&id, 180).await;
        match refused {
            0 => check_words(&conversation, &PhoneLog::new(stub.entries()), COOPERATIVE),
            // What was said before there was a stream nobody heard.
            _ => assert_eq!(conversation["status"], "completed", "{conversation:#}"),
        }
        let asked = stub
            .commands()
            .iter()
            .filter(|(name, _)| name == "streaming_start")
            .count();
        // While it rings that is refused, and once it is answered it is not.
        assert_eq!(asked, 2 * refused, "{:?}", stub.commands());
        world.pass(5).await;
        assert_eq!((stub.complaints(), stub.live_calls()), (vec![], 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_socket_of_a_call_that_is_not_answered_is_closed() {
    let stub = stub(early(0)).await;
    let world = world_with(account(&stub)).await;
    let id = call(&world, NO_ANSWER).await;
    let conversation = world.until_over(&id, 60).await;
    assert_eq!(conversation["errorMessage"], "no-answer", "{conversation:#}");
    world.pass(15).await;
    assert_eq!(stub.early_streams_closed().await, 1);
}
