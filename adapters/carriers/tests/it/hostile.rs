//! Hostile peers at the media sockets of every carrier, over real sockets: malformed and oversized messages,
//! wrong types and kinds, deep JSON, huge numbers, second starts, floods, broken frames, and foreign tokens.
//! The socket is closed with the right code, nothing panics, and another call on the same node is not
//! affected.
//!
//! `HOSTILE_MESSAGES=10000 cargo test -p carriers hostile::` runs the long form, for each protocol.

mod audiosocket;
mod messages;
mod node;
mod protocols;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use domain::{
    dial_token::Purpose,
    id::AttemptId,
    ports::media_leg::{InboundItem, OutboundItem},
};
use rand::{SeedableRng, rngs::StdRng};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use self::{
    messages::{Blow, hostile},
    node::{Node, Peer, Seen},
    protocols::{PROTOCOLS, Protocol},
};

/// Hostile messages per protocol in the short form.
const SHORT: usize = 400;
/// Number of messages between checks of the other call.
const LOOK_EVERY: usize = 50;

fn messages() -> usize {
    let wanted = std::env::var("HOSTILE_MESSAGES").ok();
    wanted.map_or(SHORT, |count| count.parse().unwrap())
}

/// Counts the panics of this thread, which the test and the service share.
fn count_panics() -> Arc<AtomicUsize> {
    let (count, here) = (Arc::new(AtomicUsize::new(0)), thread::current().id());
    let (counting, before) = (count.clone(), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        if thread::current().id() == here {
            counting.fetch_add(1, Ordering::SeqCst);
        }
        before(panic);
    }));
    count
}

/// A well-behaved call on the same node.
struct Bystander {
    peer: Peer,
    seen: Seen,
    protocol: Protocol,
    frames: u32,
}

impl Bystander {
    async fn joins(node: &Node, protocol: Protocol) -> Self {
        let attempt = node.call();
        let mut peer = node.open(protocol, attempt).await.unwrap();
        peer.send(protocol.start()).await.unwrap();
        let seen = node.taken(attempt).await;
        Self {
            peer,
            seen,
            protocol,
            frames: 0,
        }
    }

    /// Sends audio and a mark, expects both and audio in return, and nothing else.
    async fn is_untouched(&mut self) {
        self.frames += 1;
        let (name, frame) = (format!("u{}", self.frames), self.protocol.frame(self.frames));
        self.peer.send(self.protocol.audio(self.frames, &frame)).await.unwrap();
        self.peer.send(self.protocol.mark(&name)).await.unwrap();
        let items = self.seen.until_mark(&name).await.expect("the other call is cut off");
        assert_eq!(
            items,
            [InboundItem::Audio(frame.clone()), InboundItem::Mark(name)],
            "{:?}",
            self.protocol
        );
        self.seen.leg.outbound.send(OutboundItem::Audio(frame)).await.unwrap();
        assert!(
            self.peer.hears(self.protocol).await,
            "{:?}: nothing comes out of the other call",
            self.protocol
        );
    }
}

/// Returns whether a close code fits the message.
fn fits(blow: &Blow, code: Option<CloseCode>) -> bool {
    match (blow, code) {
        // The message may look like an incomplete frame, so the connection ends without a code.
        (Blow::Raw(_), None) => true,
        (Blow::Raw(_), Some(code)) => matches!(code.into(), 1002 | 1007 | 1009),
        (Blow::Message { closes_with, .. }, Some(code)) if !closes_with.is_empty() => {
            closes_with.contains(&code.into())
        }
        (Blow::Message { .. }, Some(code)) => matches!(code.into(), 1003 | 1007 | 1008),
        (Blow::Message { .. }, None) => false,
    }
}

#[tokio::test]
async fn hostile_messages_close_their_socket_with_the_right_code_and_touch_no_other_call() {
    let panics = count_panics();
    for protocol in PROTOCOLS {
        let node = Node::start().await;
        let mut bystander = Bystander::joins(&node, protocol).await;
        let mut random = StdRng::seed_from_u64(7);
        let (mut closed, mut borne, mut attempt) = (0, 0, node.call());
        let mut place: Option<(Peer, Option<Seen>)> = None;
        for number in 0..messages() {
            let blow = hostile(protocol, &mut random);
            let (mut peer, seen) = match place.take() {
                Some(place) => place,
                // Some messages come before the start, some in the middle of a call.
                None => {
                    let mut peer = node.open(protocol, attempt).await.unwrap();
                    let mut seen = None;
                    if number % 3 != 0 {
                        peer.send(protocol.start()).await.unwrap();
                        seen = Some(node.taken(attempt).await);
                        attempt = node.call();
                    }
                    (peer, seen)
                }
            };
            let begun = seen.is_some();
            peer.strike(&blow).await;
            let stands = match seen {
                Some(mut seen) => match peer.stands(protocol, &mut seen, number).await {
                    Ok(()) => Some((peer, Some(seen))),
                    Err(code) => {
                        assert!(fits(&blow, code), "{protocol:?} {number} {begun} {blow:?}: {code:?}");
                        assert!(seen.is_broken_off().await, "{protocol:?} {number} {blow:?}");
                        None
                    }
                },
                // The stream has not started; sending a start shows whether it still can.
                None => match peer.begins(protocol, &node, attempt).await {
                    Ok(seen) => {
                        attempt = node.call();
                        Some((peer, Some(seen)))
                    }
                    Err(code) => {
                        assert!(fits(&blow, code), "{protocol:?} {number} {begun} {blow:?}: {code:?}");
                        // The message may have been a start.
                        attempt = node.call();
                        None
                    }
                },
            };
            assert!(
                stands.is_none() || !blow.must_close(begun),
                "{protocol:?} {number} {begun} {blow:?}"
            );
            match &stands {
                Some(_) => borne += 1,
                None => closed += 1,
            }
            // A socket is not reused for ever, because its messages count towards a limit.
            place = stands.filter(|_| number % 40 != 0);
            if number % LOOK_EVERY == 0 {
                bystander.is_untouched().await;
            }
        }
        bystander.is_untouched().await;
        assert!(
            closed > borne / 4 && borne > 0,
            "{protocol:?}: {closed} closed, {borne} borne"
        );
    }
    assert_eq!(panics.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn floods_are_cut_off() {
    for protocol in PROTOCOLS {
        let node = Node::start().await;
        let mut bystander = Bystander::joins(&node, protocol).await;
        let frame = protocol.frame(1);
        for message in [
            protocol.audio(1, &frame),
            protocol.mark("u1"),
            protocol.audio(1, &frame[..2]),
        ] {
            let attempt = node.call();
            let mut peer = node.open(protocol, attempt).await.unwrap();
            peer.send(protocol.start()).await.unwrap();
            let mut seen = node.taken(attempt).await;
            for _ in 0..10_000 {
                if peer.send(message.clone()).await.is_err() {
                    break;
                }
            }
            assert_eq!(peer.closed().await, Some(CloseCode::Policy), "{protocol:?} {message:?}");
            assert!(seen.is_broken_off().await);
            bystander.is_untouched().await;
        }
    }
}

#[tokio::test]
async fn no_token_opens_a_call_that_is_not_its_own() {
    for protocol in PROTOCOLS {
        let node = Node::start().await;
        let mut bystander = Bystander::joins(&node, protocol).await;
        let (own, other) = (node.call(), node.call());
        let proof = |attempt, purpose| node.token(attempt).proof(purpose);
        let sound = proof(own, Purpose::Media);
        let mut wrong = sound.clone().into_bytes();
        wrong[0] = if wrong[0] == b'0' { b'1' } else { b'0' };
        for (attempt, token, status) in [
            (own, format!("{own}.{}", String::from_utf8(wrong).unwrap()), 403),
            (own, format!("{own}.{}", proof(other, Purpose::Media)), 403),
            (own, format!("{own}.{}", proof(own, Purpose::Status)), 403),
            (own, format!("{own}.{}", sound.to_uppercase()), 404),
            (own, format!("{own}.{}", &sound[1..]), 404),
            (own, format!("{own}"), 404),
            (AttemptId::new(), String::new(), 404),
        ] {
            let unknown = token.is_empty();
            let token = if unknown { format!("{attempt}.{sound}") } else { token };
            let got = node.open_at(protocol, attempt, &token).await.map(drop).unwrap_err();
            // If the carrier presents a token of its own, an invalid name gives the status of a missing token.
            assert!(
                got == status || (status == 404 && got == 403 && protocol.shows_token()),
                "{protocol:?} {token}: {got}"
            );
        }
        // Without the carrier's signature or token, nothing else is checked.
        if protocol.is_guarded() {
            let bare = node.open_bare(protocol, own).await.map(drop);
            assert_eq!(bare, Err(403), "{protocol:?}");
        }
        // Used tokens: while the socket is open, and when the call is over.
        let mut peer = node.open(protocol, own).await.unwrap();
        let mut late = node.open(protocol, own).await.unwrap();
        peer.send(protocol.start()).await.unwrap();
        let mut seen = node.taken(own).await;
        assert_eq!(node.open(protocol, own).await.map(drop), Err(409), "{protocol:?}");
        late.send(protocol.start()).await.unwrap();
        assert_eq!(late.closed().await, Some(CloseCode::Policy), "{protocol:?}");
        peer.stands(protocol, &mut seen, 1).await.unwrap();
        node.forget(own);
        assert_eq!(node.open(protocol, own).await.map(drop), Err(404), "{protocol:?}");
        bystander.is_untouched().await;
    }
}
