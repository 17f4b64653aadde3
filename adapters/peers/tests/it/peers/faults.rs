//! Faults: the other node hangs, dies or no longer holds the call, or the database is unavailable.

use std::time::Duration;

use domain::id::NodeId;
use futures_util::StreamExt;
use peers::directory::Holder;
use tokio::{
    io::AsyncReadExt,
    net::TcpListener,
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_tungstenite::tungstenite;

use super::{
    media::{connected, open},
    report,
    site::{Call, Site},
    status, two,
};

/// Listens at a node's address, reads, and never answers or hangs up in the middle.
async fn mute(hangs_up: bool) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut held = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            if !hangs_up {
                held.push(stream);
            }
        }
    });
    (address, tasks)
}

fn holder(address: &str, call: &Call) -> Holder {
    Holder {
        node: NodeId::new(),
        address: address.to_owned(),
        token: Some(call.token.clone()),
    }
}

async fn refused(site: &Site, call: &Call) -> u16 {
    match open(site, call).await {
        Err(tungstenite::Error::Http(answer)) => answer.status().as_u16(),
        other => panic!("{:?}", other.map(|_| ())),
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_hangs_costs_a_place_for_a_while_and_no_more() {
    let (register, first, second, call) = two().await;
    let (address, _mute) = mute(false).await;
    let hung = Call::new();
    register.holds(hung.attempt, holder(&address, &hung));
    let before = Instant::now();
    let many = (0..300).map(|_| status(report(&first, &hung)));
    let answers = futures_util::future::join_all(many).await;
    assert!(answers.iter().all(|answer| *answer == 503), "{answers:?}");
    // The paused clock may run ahead of connections that are still being made: a few rounds of 4.5 s.
    assert!(before.elapsed() < Duration::from_secs(30), "{:?}", before.elapsed());
    assert_eq!(refused(&first, &hung).await, 503);
    assert_eq!(first.peers.sockets(), 0);
    // The slots are free again, and requests for other calls were not delayed.
    assert_eq!(status(report(&first, &call)).await, 204);
    assert_eq!(second.reports().len(), 1);
    assert!(first.reports().is_empty(), "the carrier is to send it again");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_dies_in_the_middle_has_the_carrier_send_it_again() {
    let (register, first, mut second, call) = two().await;
    let (address, _mute) = mute(true).await;
    let lost = Call::new();
    register.holds(lost.attempt, holder(&address, &lost));
    assert_eq!(status(report(&first, &lost)).await, 503);
    assert_eq!(refused(&first, &lost).await, 503);

    let (mut phone, _leg) = connected(&first, &second, &call).await;
    second.dies().await;
    let before = Instant::now();
    let ended = timeout(Duration::from_secs(20), phone.next()).await;
    // Its socket lives on in this process's task; a dead process would close it.
    drop(_leg);
    let ended = match ended {
        Ok(ended) => ended,
        Err(_) => timeout(Duration::from_secs(20), phone.next()).await.unwrap(),
    };
    assert!(!matches!(ended, Some(Ok(tungstenite::Message::Text(_)))), "{ended:?}");
    assert!(before.elapsed() < Duration::from_secs(60));
    assert_eq!(status(report(&first, &call)).await, 503, "nobody listens there");
}

#[tokio::test(start_paused = true)]
async fn what_comes_late_of_a_call_whose_node_has_left_is_answered_where_it_came() {
    let (register, first, mut second, call) = two().await;
    assert_eq!(status(report(&first, &call)).await, 204);
    assert_eq!(second.reports().len(), 1);
    // The owner stays cached for a moment.
    second.dies().await;
    register.forgets(call.attempt);
    let before = register.lookups();
    assert_eq!(status(report(&first, &call)).await, 204);
    assert_eq!((register.lookups() - before, first.reports().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn nodes_that_send_each_other_a_call_do_not_do_so_for_ever() {
    let (register, first, second, call) = two().await;
    second.loses(&call);
    // The register says that the third node holds this call, but that node does not.
    let third = Site::of(&register).await;
    let wrong = Call::new();
    register.holds(wrong.attempt, third.holder(&wrong));
    let before = register.lookups();
    assert_eq!(status(report(&first, &wrong)).await, 204);
    // The request was forwarded once, looked up there, and answered.
    assert_eq!(register.lookups() - before, 2);
    assert_eq!((third.reports().len(), first.reports().len()), (1, 0));

    // An owner in the register that changes to one that cannot be reached.
    let fourth = Site::of(&register).await;
    let circled = Call::new();
    register.holds(
        circled.attempt,
        Holder {
            node: NodeId::new(),
            ..third.holder(&circled)
        },
    );
    let elsewhere = Holder {
        node: NodeId::new(),
        address: "http://127.0.0.1:9".to_owned(),
        token: Some(circled.token.clone()),
    };
    assert_eq!(status(report(&fourth, &circled)).await, 204);
    register.holds(circled.attempt, elsewhere);
    let before = register.lookups();
    assert_eq!(status(report(&fourth, &circled)).await, 503);
    assert!(register.lookups() - before <= 4, "{}", register.lookups() - before);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_moved_is_found_at_its_new_node() {
    let (register, first, second, call) = two().await;
    assert_eq!(status(report(&first, &call)).await, 204);
    let third = Site::of(&register).await;
    second.loses(&call);
    third.takes(&call);
    assert_eq!(status(report(&first, &call)).await, 204);
    assert_eq!((second.reports().len(), third.reports().len()), (1, 1));
    let (_phone, _leg) = connected(&first, &third, &call).await;
    // The node that gets the call back has it at once.
    third.loses(&call);
    first.takes(&call);
    assert_eq!(status(report(&first, &call)).await, 204);
    assert_eq!(first.reports().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn callbacks_find_their_calls_while_the_database_is_unavailable() {
    let (register, first, second, call) = two().await;
    assert_eq!(status(report(&first, &call)).await, 204);
    register.is_unavailable(true);
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(status(report(&first, &call)).await, 204);
    assert_eq!(second.reports().len(), 2);
    // If nothing is known about an attempt, no node can say that it is over.
    let other = Call::new();
    assert_eq!(status(report(&first, &other)).await, 503);
    assert_eq!(refused(&first, &other).await, 503);
    // A node does not look up the owner of its own attempts.
    first.takes(&other);
    assert_eq!(status(report(&first, &other)).await, 204);
    assert_eq!(first.reports().len(), 1);
}
