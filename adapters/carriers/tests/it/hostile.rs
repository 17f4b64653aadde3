//! Hostile peers at the media sockets of every carrier, over real sockets: malformed and oversized messages,
//! wrong types and kinds, deep JSON, huge numbers, second starts, floods, broken frames, and foreign tokens.
//! The socket is closed with the right code, nothing panics, and another call on the same node is not
//! affected.
//!
//! `HOSTILE_MESSAGES=10000 cargo test -p carriers hostile::` runs the long form, for each protocol.

mod audiosocket;
mod messages;
mod node;
mod wires;

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
    wires::{WIRES, Wire},
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
    wire: Wire,
    frames: u32,
}

impl Bystander {
    async fn joins(node: &Node, wire: Wire) -> Self {
        let attempt = node.call();
        let mut peer = node.open(wire, attempt).await.unwrap();
        peer.send(wire.start()).await.unwrap();
        let seen = node.taken(attempt).await;
        Self {
            peer,
            seen,
            wire,
            frames: 0,
        }
    }

    /// Sends audio and a mark, expects both and audio in return, and nothing else.
    async fn is_untouched(&mut self) {
        self.frames += 1;
        let (name, frame) = (format!("u{}", self.frames), self.wire.frame(self.frames));
        self.peer.send(self.wire.audio(self.frames, &frame)).await.unwrap();
        self.peer.send(self.wire.mark(&name)).await.unwrap();
        let items = self.seen.until_mark(&name).await.expect("the other call is cut off");
        assert_eq!(
            items,
            [InboundItem::Audio(frame.clone()), InboundItem::Mark(name)],
            "{:?}",
            self.wire
        );
        self.seen.leg.outbound.send(OutboundItem::Audio(frame)).await.unwrap();
        assert!(
            self.peer.hears(self.wire).await,
            "{:?}: nothing comes out of the other call",
            self.wire
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
    for wire in WIRES {
        let node = Node::start().await;
        let mut bystander = Bystander::joins(&node, wire).await;
        let mut random = StdRng::seed_from_u64(7);
        let (mut closed, mut borne, mut attempt) = (0, 0, node.call());
        let mut place: Option<(Peer, Option<Seen>)> = None;
        for number in 0..messages() {
            let blow = hostile(wire, &mut random);
            let (mut peer, seen) = match place.take() {
                Some(place) => place,
                // Some messages come before the start, some in the middle of a call.
                None => {
                    let mut peer = node.open(wire, attempt).await.unwrap();
                    let mut seen = None;
                    if number % 3 != 0 {
                        peer.send(wire.start()).await.unwrap();
                        seen = Some(node.taken(attempt).await);
                        attempt = node.call();
                    }
                    (peer, seen)
                }
            };
            let begun = seen.is_some();
            peer.strike(&blow).await;
            let stands = match seen {
                Some(mut seen) => match peer.stands(wire, &mut seen, number).await {
                    Ok(()) => Some((peer, Some(seen))),
                    Err(code) => {
                        assert!(fits(&blow, code), "{wire:?} {number} {begun} {blow:?}: {code:?}");
                        assert!(seen.is_broken_off().await, "{wire:?} {number} {blow:?}");
                        None
                    }
                },
                // The stream has not started; sending a start shows whether it still can.
                None => match peer.begins(wire, &node, attempt).await {
                    Ok(seen) => {
                        attempt = node.call();
                        Some((peer, Some(seen)))
                    }
                    Err(code) => {
                        assert!(fits(&blow, code), "{wire:?} {number} {begun} {blow:?}: {code:?}");
                        // The message may have been a start.
                        attempt = node.call();
                        None
                    }
                },
            };
            assert!(
                stands.is_none() || !blow.must_close(begun),
                "{wire:?} {number} {begun} {blow:?}"
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
            "{wire:?}: {closed} closed, {borne} borne"
        );
    }
    assert_eq!(panics.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn floods_are_cut_off() {
    for wire in WIRES {
        let node = Node::start().await;
        let mut bystander = Bystander::joins(&node, wire).await;
        let frame = wire.frame(1);
        for message in [wire.audio(1, &frame), wire.mark("u1"), wire.audio(1, &frame[..2])] {
            let attempt = node.call();
            let mut peer = node.open(wire, attempt).await.unwrap();
            peer.send(wire.start()).await.unwrap();
            let mut seen = node.taken(attempt).await;
            for _ in 0..10_000 {
                if peer.send(message.clone()).await.is_err() {
                    break;
                }
            }
            assert_eq!(peer.closed().await, Some(CloseCode::Policy), "{wire:?} {message:?}");
            assert!(seen.is_broken_off().await);
            bystander.is_untouched().await;
        }
    }
}

#[tokio::test]
async fn no_token_opens_a_call_that_is_not_its_own() {
    for wire in WIRES {
        let node = Node::start().await;
        let mut bystander = Bystander::joins(&node, wire).await;
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
            let got = node.open_at(wire, attempt, &token).await.map(drop).unwrap_err();
            // If the carrier presents a token of its own, an invalid name gives the status of a missing token.
            assert!(
                got == status || (status == 404 && got == 403 && wire.shows_token()),
                "{wire:?} {token}: {got}"
            );
        }
        // Without the carrier's signature or token, nothing else is checked.
        if wire.is_guarded() {
            let bare = node.open_bare(wire, own).await.map(drop);
            assert_eq!(bare, Err(403), "{wire:?}");
        }
        // Used tokens: while the socket is open, and when the call is over.
        let mut peer = node.open(wire, own).await.unwrap();
        let mut late = node.open(wire, own).await.unwrap();
        peer.send(wire.start()).await.unwrap();
        let mut seen = node.taken(own).await;
        assert_eq!(node.open(wire, own).await.map(drop), Err(409), "{wire:?}");
        late.send(wire.start()).await.unwrap();
        assert_eq!(late.closed().await, Some(CloseCode::Policy), "{wire:?}");
        peer.stands(wire, &mut seen, 1).await.unwrap();
        node.forget(own);
        assert_eq!(node.open(wire, own).await.map(drop), Err(404), "{wire:?}");
        bystander.is_untouched().await;
    }
}
