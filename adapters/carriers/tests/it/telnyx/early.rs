//! Tests of media sockets that Telnyx opens before the call is answered. The call waits for them; if none
//! could be opened, it requests one when it is answered.

use std::{sync::Arc, time::Duration};

use sim::stub_carriers::telnyx::{TelnyxFaults, TelnyxStub};

use super::{at, commands, settings};
use crate::site::{COOPERATIVE, NO_ANSWER, Setup, Site};

/// Ring time, much longer than an open socket normally has until its start.
const RINGS: Duration = Duration::from_secs(24);

async fn early(streams_refused: usize) -> (Site, Arc<TelnyxStub>) {
    let faults = TelnyxFaults {
        early_streams: true,
        streams_refused,
        ..TelnyxFaults::default()
    };
    let mut settings = settings(&Setup::default(), faults);
    settings.carrier.pick_up = Some(RINGS..=RINGS);
    at(settings, |account| account).await
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_is_open_while_it_rings_is_talked_through() {
    for refused in [0, 1] {
        let (site, stub) = early(refused).await;
        let id = site.call(COOPERATIVE).await;
        let conversation = site.world.until_over(&id, 180).await;
        match refused {
            0 => site.check_words(&conversation, COOPERATIVE),
            // Nobody heard what was said before there was a stream.
            _ => assert_eq!(conversation["status"], "completed", "{conversation:#}"),
        }
        // The request is refused while it rings, and accepted once it is answered.
        assert_eq!(
            commands(&stub, "streaming_start").len(),
            2 * refused,
            "{:?}",
            stub.commands()
        );
        site.ends_tidy(1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_socket_of_a_call_that_is_not_answered_is_closed() {
    let (site, stub) = early(0).await;
    let id = site.call(NO_ANSWER).await;
    let conversation = site.world.until_over(&id, 60).await;
    assert_eq!(conversation["errorMessage"], "no-answer", "{conversation:#}");
    site.world.pass(15).await;
    assert_eq!(stub.early_streams_closed().await, 1);
}
