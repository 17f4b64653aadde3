//! Tests of the carrier's own functions without a service: transfers, keys, marks, lost audio.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use carriers::asterisk::account::{AsteriskAccount, Codec, Template};
use domain::{
    phone_number::PhoneNumber,
    ports::{
        carrier::{CallProgress, CarrierCallId, CarrierError, Destination, EndCause, Transfer, TransferKind, WayBack},
        media_leg::{InboundItem, OutboundItem},
    },
};
use sim::stub_carriers::asterisk::AsteriskStub;

use super::{account, audiosocket, settings, stub, trunk, ways, websocket};
use crate::site::{BUSY, DESK, INVALID, NUMBER, Setup, request, until};
use support::board::Board;

/// Opens the carrier with its endpoints, and records everything that arrives.
pub async fn board(stub: &Arc<AsteriskStub>, account: AsteriskAccount) -> Board {
    Board::open(trunk(stub, account)).await
}

/// An established call.
struct Talking {
    stub: Arc<AsteriskStub>,
    board: Board,
    leg: CarrierCallId,
    back: WayBack,
}

async fn talking(account_of: impl Fn(&AsteriskStub) -> AsteriskAccount) -> Talking {
    // A callee who neither speaks nor hangs up.
    let stub = stub(settings(&Setup::default())).await;
    let board = board(&stub, account_of(&stub)).await;
    let request = request(NUMBER);
    let leg = board.carrier.dial(&request).await.unwrap();
    until(30, "audio", || {
        board.legs() == 1 && stub.bridges().values().any(|inside| inside.len() == 2)
    })
    .await;
    let back = WayBack {
        attempt: request.attempt,
        status_token: request.status_token,
        media_token: request.media_token,
    };
    Talking { stub, board, leg, back }
}

impl Talking {
    async fn transfer(&self, kind: TransferKind, to: Destination) -> Result<(), CarrierError> {
        let transfer = Transfer {
            kind,
            to,
            from: None,
            back: self.back.clone(),
        };
        self.board.carrier.transfer(&self.leg, &transfer).await
    }

    /// Returns the channels in a bridge with the telephone, by the suffix of their names.
    fn with_it(&self) -> Vec<String> {
        let bridges = self.stub.bridges();
        let inside = bridges.get(&self.leg.0).cloned().unwrap_or_default();
        let others = inside.iter().filter(|id| **id != self.leg.0);
        others.map(|id| id.replace(&format!("{}.", self.leg.0), "")).collect()
    }

    async fn hang_up(&self, part: &str) {
        let channel = CarrierCallId(format!("{}{part}", self.leg.0));
        self.board.carrier.hang_up(&channel).await.unwrap();
    }

    /// Waits until nothing is left. The last report must be the end.
    async fn is_over(&self) {
        until(10, "end", || {
            self.stub.channels().is_empty() && self.stub.bridges().is_empty()
        })
        .await;
        pass(1).await;
        check_tidy(&self.stub);
        let last = self.board.reports().pop();
        assert_eq!(last, Some(CallProgress::Ended(EndCause::Completed)));
    }
}

/// Checks that nothing is left at Asterisk once calls are over, and that it understood every request.
fn check_tidy(stub: &AsteriskStub) {
    assert_eq!((stub.complaints(), stub.live_calls()), (vec![], 0));
    assert_eq!((stub.channels(), stub.bridges()), (vec![], BTreeMap::new()));
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

fn phone(number: &str) -> Destination {
    Destination::Phone(PhoneNumber::parse(number).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_call_is_handed_on_at_once_and_ends_with_its_peer() {
    let talking = talking(account).await;
    talking.transfer(TransferKind::Blind, phone(DESK)).await.unwrap();
    until(5, "silence of the agent", || talking.with_it().is_empty()).await;
    until(30, "peer", || talking.with_it() == ["p1"]).await;
    assert_eq!(talking.stub.dialed_channels()[1].timeout, "30");
    let again = talking.transfer(TransferKind::Blind, phone(DESK)).await;
    assert!(matches!(again, Err(CarrierError::Refused(_))), "{again:?}");
    let reports = [CallProgress::Ringing, CallProgress::Answered, CallProgress::Transferred];
    assert_eq!(talking.board.reports(), reports);
    assert_eq!(talking.board.items(), [InboundItem::Closed { clean: false }]);
    // The peer hangs up, so the caller has nobody left to talk to.
    talking.hang_up(".p1").await;
    talking.is_over().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_takes_over_comes_back() {
    let talking = talking(account).await;
    for (n, (number, words)) in [
        (BUSY, "User busy, cause 17, SIP 486"),
        (INVALID, "Unallocated (unassigned) number, cause 1, SIP 404"),
    ]
    .into_iter()
    .enumerate()
    {
        talking.transfer(TransferKind::Blind, phone(number)).await.unwrap();
        until(30, "audio", || {
            talking.board.legs() == n + 2 && talking.with_it().len() == 1
        })
        .await;
        pass(1).await;
        let failed = CallProgress::TransferFailed(words.to_owned());
        assert_eq!(talking.board.reports().pop(), Some(failed));
    }
    talking.hang_up("").await;
    talking.is_over().await;
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_cannot_be_dialed_is_told_at_once() {
    let talking = talking(account).await;
    let to = Destination::Sip("tel:+15550100016".to_owned());
    let refused = talking.transfer(TransferKind::Blind, to).await;
    assert!(matches!(refused, Err(CarrierError::Refused(_))), "{refused:?}");
    assert_eq!((talking.with_it(), talking.board.legs()), (vec!["m1".to_owned()], 1));
    // Another try is possible.
    talking.transfer(TransferKind::Conference, phone(DESK)).await.unwrap();
    until(30, "conference", || talking.with_it() == ["m1", "p2"]).await;
    talking.hang_up("").await;
    talking.is_over().await;
}

#[tokio::test(start_paused = true)]
async fn in_a_conference_the_agent_stays_until_the_peer_answers() {
    let talking = talking(account).await;
    talking.transfer(TransferKind::Conference, phone(BUSY)).await.unwrap();
    pass(10).await;
    assert_eq!(talking.with_it(), ["m1"]);
    assert!(matches!(
        talking.board.reports().pop(),
        Some(CallProgress::TransferFailed(_))
    ));
    let to = Destination::Sip(format!("sip:{DESK}@sip.example.com"));
    talking.transfer(TransferKind::Conference, to).await.unwrap();
    assert_eq!(talking.with_it(), ["m1"]);
    until(30, "conference", || talking.with_it() == ["m1", "p2"]).await;
    let dialed = talking.stub.dialed_channels().pop().unwrap();
    assert_eq!(dialed.endpoint, format!("PJSIP/trunk/sip:{DESK}@sip.example.com"));
    pass(1).await;
    assert_eq!(talking.board.reports().pop(), Some(CallProgress::Transferred));
    // The agent leaves, and the two continue.
    talking.board.send(OutboundItem::Close);
    until(5, "two alone", || talking.with_it() == ["p2"]).await;
    pass(20).await;
    assert_eq!(talking.with_it(), ["p2"]);
    talking.hang_up("").await;
    talking.is_over().await;
}

#[tokio::test(start_paused = true)]
async fn the_far_end_is_asked_to_call_somebody_else_and_given_up_when_nothing_follows() {
    let talking = talking(|stub| AsteriskAccount {
        refer: Template::refer("sip:{number}@pbx.example.com"),
        ..account(stub)
    })
    .await;
    let asked = || {
        talking
            .stub
            .redirected()
            .into_iter()
            .map(|(_, to)| to)
            .collect::<Vec<_>>()
    };
    let sip = Destination::Sip("sip:desk@example.com".to_owned());
    talking.transfer(TransferKind::SipRefer, phone(DESK)).await.unwrap();
    let again = talking.transfer(TransferKind::SipRefer, sip.clone()).await;
    assert!(matches!(again, Err(CarrierError::Refused(_))), "{again:?}");
    pass(34).await;
    assert_eq!(talking.board.reports().pop(), Some(CallProgress::Answered));
    pass(2).await;
    let failed = |last| matches!(last, Some(CallProgress::TransferFailed(why)) if why.contains("SIP REFER"));
    assert!(failed(talking.board.reports().pop()), "{:?}", talking.board.reports());
    assert_eq!(talking.with_it(), ["m1"]);
    // It may be tried again. Audio that is lost meanwhile comes back when the failure is reported.
    talking.transfer(TransferKind::SipRefer, sip).await.unwrap();
    let first = format!("PJSIP/sip:{DESK}@pbx.example.com");
    assert_eq!(asked(), [first, "PJSIP/sip:desk@example.com".to_owned()]);
    talking.board.send(OutboundItem::Close);
    until(5, "silence of the agent", || talking.with_it().is_empty()).await;
    pass(36).await;
    assert!(failed(talking.board.reports().pop()), "{:?}", talking.board.reports());
    assert_eq!((talking.with_it(), talking.board.legs()), (vec!["m2".to_owned()], 2));
    talking.hang_up("").await;
    talking.is_over().await;
}

#[tokio::test(start_paused = true)]
async fn a_number_without_an_address_for_refers_is_refused() {
    let talking = talking(account).await;
    let refused = talking.transfer(TransferKind::SipRefer, phone(DESK)).await;
    assert!(matches!(refused, Err(CarrierError::Refused(why)) if why.contains("ASTERISK_REFER")));
}

#[tokio::test(start_paused = true)]
async fn a_caller_with_whom_nobody_talks_is_hung_up() {
    let talking = talking(account).await;
    talking.board.send(OutboundItem::Close);
    until(5, "silence of the agent", || talking.with_it().is_empty()).await;
    pass(55).await;
    assert_eq!(talking.stub.live_calls(), 1);
    pass(10).await;
    talking.is_over().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_handed_on_outlives_the_service() {
    let talking = talking(account).await;
    talking.transfer(TransferKind::Blind, phone(DESK)).await.unwrap();
    until(30, "peer", || talking.with_it() == ["p1"]).await;
    // The next process knows only the channels that it finds.
    let Talking { stub, board, leg, .. } = talking;
    drop(board);
    let next = self::board(&stub, account(&stub)).await;
    pass(20).await;
    assert_eq!(stub.bridges()[&leg.0].len(), 2);
    let peer = CarrierCallId(format!("{}.p1", leg.0));
    next.carrier.hang_up(&peer).await.unwrap();
    pass(5).await;
    check_tidy(&stub);
}

#[tokio::test(start_paused = true)]
async fn keys_go_out_by_request_and_come_in_with_the_audio() {
    for media in ways() {
        let talking = talking(|stub| AsteriskAccount {
            media: media.clone(),
            ..account(stub)
        })
        .await;
        assert!(talking.board.carrier.abilities().digits);
        talking.board.carrier.send_digits(&talking.leg, "12w#").await.unwrap();
        assert_eq!(talking.stub.pressed(), [(talking.leg.0.clone(), "12w#".to_owned())]);
        for key in ['5', '#'] {
            talking.stub.press(&talking.leg.0, key);
        }
        pass(1).await;
        assert_eq!(
            talking.board.items(),
            [InboundItem::Digit('5'), InboundItem::Digit('#')]
        );
        talking.hang_up("").await;
        talking.is_over().await;
    }
}

#[tokio::test(start_paused = true)]
async fn marks_come_back_when_they_are_due_and_not_at_all_once_flushed() {
    let talking = talking(account).await;
    let second = vec![0xff; 8_000];
    talking.board.send(OutboundItem::Audio(second.clone()));
    talking.board.send(OutboundItem::Mark("1".to_owned()));
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert_eq!(talking.board.items(), []);
    pass(1).await;
    assert_eq!(talking.board.items(), [InboundItem::Mark("1".to_owned())]);
    talking.board.send(OutboundItem::Audio(second));
    talking.board.send(OutboundItem::Mark("2".to_owned()));
    talking.board.send(OutboundItem::Clear);
    talking.board.send(OutboundItem::Mark("3".to_owned()));
    pass(3).await;
    assert_eq!(talking.board.items(), [InboundItem::Mark("3".to_owned())]);
    talking.hang_up("").await;
    talking.is_over().await;
}

#[tokio::test(start_paused = true)]
async fn lost_audio_is_opened_again_in_the_same_bridge() {
    for media in [websocket(Codec::Slin16), audiosocket()] {
        let talking = talking(|stub| AsteriskAccount {
            media: media.clone(),
            ..account(stub)
        })
        .await;
        talking
            .board
            .carrier
            .reopen_media(&talking.leg, &talking.back)
            .await
            .unwrap();
        until(10, "second audio", || {
            talking.with_it() == ["m2"] && talking.board.legs() == 2
        })
        .await;
        let unknown = CarrierCallId("ringback.nobody".to_owned());
        let answer = talking.board.carrier.reopen_media(&unknown, &talking.back).await;
        assert_eq!(answer, Err(CarrierError::NotFound));
        talking.hang_up("").await;
        talking.is_over().await;
    }
}
