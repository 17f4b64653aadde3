//! Calls through an Asterisk that do more than talk: they come in, are handed on, press keys, and find lost audio again.
//! And what a dial that fails tells.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use actors::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{
        CallProgress, CarrierCallId, CarrierError, Destination, DialError, DialRequest, EndCause, Transfer,
        TransferKind, WayBack,
    },
    ports::media_leg::{InboundItem, OutboundItem},
    time::Timestamp,
};
use ringback::{
    carriers::asterisk::{
        self,
        account::{AsteriskAccount, Codec, Template},
    },
    providers::settings::Key,
    stub_carriers::asterisk::{AsteriskFaults, AsteriskSettings, AsteriskStub},
};
use serde_json::{Value, json};

use super::carriers_asterisk::{
    COOPERATIVE, INVALID, NO_ANSWER, account, audiosocket, check_tidy, stub, until, websocket, world_with,
};
use crate::support::{
    board::Board,
    phone_log::PhoneLog,
    words::{interviewing_agent, lines, texts},
};

const OURS: &str = "+15559990001";
/// A second cooperative telephone.
const DESK: &str = "+15550100020";
const BUSY: &str = "+15550100016";

/// The carrier, its doors, and whatever comes through them.
async fn board(stub: &Arc<AsteriskStub>, account: AsteriskAccount) -> Board {
    let stub = stub.clone();
    let trunk = move |address: &str| {
        stub.serve_media_to(address);
        asterisk::trunk(account.clone()).unwrap()
    };
    Board::open(Arc::new(trunk)).await
}

/// A call that talks.
struct Talking {
    stub: Arc<AsteriskStub>,
    board: Board,
    leg: CarrierCallId,
    back: WayBack,
}

async fn talking(account_of: impl Fn(&AsteriskStub) -> AsteriskAccount) -> Talking {
    let stub = stub(AsteriskSettings::default()).await;
    let board = board(&stub, account_of(&stub)).await;
    let request = request(COOPERATIVE);
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

    /// The channels that hear the telephone, by what is behind the call's own name.
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

    /// Waits until nothing is left; the last report is the end.
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
    assert_eq!(talking.stub.dials()[1].timeout, "30");
    let again = talking.transfer(TransferKind::Blind, phone(DESK)).await;
    assert!(matches!(again, Err(CarrierError::Refused(_))), "{again:?}");
    let reports = [CallProgress::Ringing, CallProgress::Answered, CallProgress::Transferred];
    assert_eq!(talking.board.reports(), reports);
    assert_eq!(talking.board.items(), [InboundItem::Closed { clean: false }]);
    // The peer hangs up: the caller has nobody left to talk to.
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
    // Nothing stands in the way of another try.
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
    let dialed = talking.stub.dials().pop().unwrap();
    assert_eq!(dialed.endpoint, format!("PJSIP/trunk/sip:{DESK}@sip.example.com"));
    pass(1).await;
    assert_eq!(talking.board.reports().pop(), Some(CallProgress::Transferred));
    // The agent leaves, and the two go on.
    talking.board.send(OutboundItem::Close);
    until(5, "two alone", || talking.with_it() == ["p2"]).await;
    pass(20).await;
    assert_eq!(talking.with_it(), ["p2"]);
    talking.hang_up("").await;
    talking.is_over().await;
}

#[tokio::test(start_paused = true)]
async fn the_far_end_is_asked_to_call_somebody_else() {
    let talking = talking(|stub| AsteriskAccount {
        refer: Template::refer("sip:{number}@pbx.example.com"),
        ..account(stub)
    })
    .await;
    talking.transfer(TransferKind::SipRefer, phone(DESK)).await.unwrap();
    let to = Destination::Sip("sip:desk@example.com".to_owned());
    talking.transfer(TransferKind::SipRefer, to).await.unwrap();
    let asked: Vec<String> = talking.stub.redirected().into_iter().map(|(_, to)| to).collect();
    let first = format!("PJSIP/sip:{DESK}@pbx.example.com");
    assert_eq!(asked, [first, "PJSIP/sip:desk@example.com".to_owned()]);
    // It came to nothing: once the agent is gone the caller is not left alone.
    talking.board.send(OutboundItem::Close);
    talking.is_over().await;
    let without = self::talking(account).await;
    let refused = without.transfer(TransferKind::SipRefer, phone(DESK)).await;
    assert!(matches!(refused, Err(CarrierError::Refused(why)) if why.contains("ASTERISK_REFER")));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_handed_on_outlives_the_service() {
    let talking = talking(account).await;
    talking.transfer(TransferKind::Blind, phone(DESK)).await.unwrap();
    until(30, "peer", || talking.with_it() == ["p1"]).await;
    // The next start knows nothing of it but what it finds.
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
    for media in [websocket(Codec::Ulaw), audiosocket()] {
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

fn answering_agent() -> Value {
    let mut agent = interviewing_agent();
    agent["direction"] = json!("inbound");
    agent["phoneNumbers"] = json!([{ "number": OURS, "provider": "asterisk" }]);
    agent
}

#[tokio::test(start_paused = true)]
async fn a_phone_that_calls_in_is_answered_talked_with_and_written_down() {
    for media in [websocket(Codec::Ulaw), audiosocket()] {
        let stub = stub(AsteriskSettings::default()).await;
        let world = world_with(
            &stub,
            AsteriskAccount {
                media,
                ..account(&stub)
            },
        )
        .await;
        world.agent(answering_agent()).await;
        stub.call_in(COOPERATIVE, OURS).await;
        until(30, "audio", || stub.bridges().values().any(|inside| inside.len() == 2)).await;
        let list = world.client.get("/public/v1/conversations").await.expect(200);
        let id = list.data()[0]["conversationId"].as_str().unwrap().to_owned();
        let conversation = world.until_over(&id, 180).await;
        world.pass(5).await;
        assert_eq!(conversation["status"], "completed", "{conversation:#}");
        let told = ["direction", "contactNumber", "callerNumber", "carrier"].map(|field| &conversation[field]);
        assert_eq!(told, ["inbound", COOPERATIVE, OURS, "asterisk"]);
        let phones = PhoneLog::new(stub.entries());
        check_said(&conversation, &phones);
        check_tidy(&stub);
    }
}

/// The words of an inbound call; its greeting is the agent's own.
fn check_said(conversation: &Value, phones: &PhoneLog) {
    let phone = phones.call(COOPERATIVE);
    assert_eq!(lines(conversation, "User"), texts(&phone.said()));
    assert_eq!(lines(conversation, "Agent"), texts(&phone.heard()));
}

#[tokio::test(start_paused = true)]
async fn a_call_for_nobody_is_refused_with_its_reason() {
    let stub = stub(AsteriskSettings::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    world.agent(answering_agent()).await;
    let nobody = stub.call_in(COOPERATIVE, "+15559990002").await;
    let nowhere = stub.call_in(DESK, "s").await;
    until(30, "refusals", || stub.hung_up().len() == 2).await;
    let reasons: BTreeMap<String, String> = stub.hung_up().into_iter().collect();
    assert_eq!((&*reasons[&nobody], &*reasons[&nowhere]), ("rejected", "unallocated"));
    world.pass(5).await;
    check_tidy(&stub);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_rang_while_events_were_lost_is_answered() {
    let stub = stub(AsteriskSettings::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    world.agent(answering_agent()).await;
    world.pass(1).await;
    stub.lose_events();
    stub.call_in(COOPERATIVE, OURS).await;
    world.pass(12).await;
    assert_eq!(stub.bridges(), BTreeMap::new());
    stub.let_events_in();
    until(30, "audio", || stub.bridges().values().any(|inside| inside.len() == 2)).await;
    until(180, "goodbye", || stub.live_calls() == 0).await;
    world.pass(5).await;
    check_tidy(&stub);
}

fn request(to: &str) -> DialRequest {
    DialRequest {
        attempt: AttemptId::new(),
        from: None,
        to: PhoneNumber::parse(to).unwrap(),
        ring_timeout: Duration::from_secs(30),
        status_token: "5".repeat(64),
        media_token: "a".repeat(64),
        detect_machine: false,
        hints: BTreeMap::new(),
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
    pass(1).await;
    let before = tasks();
    for _ in 0..20 {
        assert!(board.carrier.dial(&request(NO_ANSWER)).await.is_err());
    }
    pass(10).await;
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
