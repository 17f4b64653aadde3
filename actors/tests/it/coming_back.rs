//! Live calls whose carrier asks how they go on: their own node, another node, and the reactions of both.

use std::time::Duration;

use actors::{
    call::{CallMessage, GoesOn, LegRefusal},
    campaign::CampaignCommand,
    lines::{Asking, LinesMessage, NotGoingOn},
    live_feed::LiveEvent,
    node::{NodeHandle, NodeSettings},
};
use domain::{
    dial_token::{DialToken, Purpose},
    id::AttemptId,
    phrases::Phrases,
    ports::{
        carrier::{CallProgress, CarrierCallId, EndCause},
        store::{
            CALL_BACK, Claim, ConversationStatus, EventFact, Fact, NodeStore, OPERATOR_JOINED, OPERATOR_LEFT,
            RecordStore, ReturnStore, ReturningCall, StoreError,
        },
    },
};
use serde_json::{Value, json};
use testkit::fake_carrier::{FakeSocket, media_leg};
use tokio::{sync::broadcast::error::RecvError, time::sleep};

use crate::support::{World, figures, until};

const SECOND: Duration = Duration::from_secs(1);

/// A call in conversation at the first of two nodes.
pub struct Talking {
    pub worlds: [World; 2],
    pub nodes: [NodeHandle; 2],
    pub attempt: AttemptId,
    leg: CarrierCallId,
    proof: String,
    status: String,
}

impl Talking {
    async fn with_lines(lines: usize) -> Self {
        Self::at(lines, "http://10.0.0.1:8080").await
    }

    /// Starts the nodes. The first one announces this address, if any.
    async fn at(lines: usize, address: &str) -> Self {
        let first = World::shared().await;
        let second = first.twin();
        Self::between([first, second], lines, address).await
    }

    /// Starts the nodes of these worlds, which share a store.
    pub async fn between([first, second]: [World; 2], lines: usize, address: &str) -> Self {
        for world in [&first, &second] {
            world.carrier.brings_calls_back();
        }
        let settings = |address: &str| NodeSettings {
            lines,
            address: (!address.is_empty()).then(|| address.to_owned()),
            ..NodeSettings::default()
        };
        let node = first.node_with(settings(address)).await;
        let campaign = first.campaign(1).await;
        first.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
        until("a call", async || first.carrier.sockets() == 1).await;
        let other = second.node_with(settings("http://10.0.0.2:8080")).await;
        let attempt = first.carrier.dialed_attempts()[0];
        until("the greeting", async || {
            !first.store.turns(attempt).await.unwrap().is_empty()
        })
        .await;
        let dial = first.carrier.dials()[0].1.clone();
        Self {
            leg: first.carrier.leg_of(attempt),
            worlds: [first, second],
            nodes: [node, other],
            attempt,
            proof: dial.media_token,
            status: dial.status_token,
        }
    }

    async fn start() -> Self {
        Self::with_lines(3).await
    }

    async fn asks(&self, node: usize, proof: &str, leg: &str) -> Result<GoesOn, NotGoingOn> {
        let asking = Asking {
            carrier: "scripted",
            attempt: self.attempt,
            proof: proof.to_owned(),
            leg: CarrierCallId(leg.to_owned()),
        };
        self.nodes[node].switchboard.came_back(asking).await
    }

    pub async fn comes_back(&self, node: usize) -> Result<GoesOn, NotGoingOn> {
        self.asks(node, &self.proof, &self.leg.0).await
    }

    pub async fn open_media(&self, node: usize) -> Result<FakeSocket, LegRefusal> {
        let (leg, socket) = media_leg();
        let proof = self.proof.clone();
        let message = |reply| CallMessage::Media { proof, leg, reply };
        let taken = self.nodes[node]
            .switchboard
            .tell_call(("scripted", self.attempt), message);
        taken.await.unwrap().map(|()| socket)
    }

    async fn leg_ends(&self, node: usize) {
        let message = |reply| CallMessage::Progress {
            proof: self.status.clone(),
            report: CallProgress::Ended(EndCause::Completed).into(),
            reply,
        };
        let told = self.nodes[node]
            .switchboard
            .tell_call(("scripted", self.attempt), message);
        told.await;
    }

    pub async fn said(&self) -> Vec<String> {
        let turns = self.worlds[0].store.turns(self.attempt).await.unwrap();
        turns.into_iter().map(|turn| turn.text).collect()
    }

    pub async fn status(&self) -> (ConversationStatus, Option<String>) {
        let world = &self.worlds[0];
        let row = world.store.conversation(world.account, self.attempt).await.unwrap();
        (row.status, row.error)
    }

    pub async fn until_over(&self) -> (ConversationStatus, Option<String>) {
        until("the end", async || {
            self.status().await.0 != ConversationStatus::InProgress
        })
        .await;
        self.status().await
    }

    pub async fn live(&self) -> [usize; 2] {
        [
            figures(&self.nodes[0]).await.live_calls,
            figures(&self.nodes[1]).await.live_calls,
        ]
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_brought_to_another_node_goes_on_there_and_its_old_node_leaves_it_alone() {
    let call = Talking::start().await;
    let before = call.said().await;
    let goes_on = call.comes_back(1).await.unwrap();
    assert_eq!(
        (goes_on.back.attempt, goes_on.back.media_token.as_str()),
        (call.attempt, call.proof.as_str())
    );
    assert_eq!(goes_on.asked_before, 0);
    let owner = call.worlds[0].store.owner_of(call.attempt).await.unwrap().unwrap();
    assert_eq!(owner.node, call.nodes[1].node());
    let socket = call.open_media(1).await.unwrap();
    until("words", async || call.said().await.len() > before.len()).await;
    let said = call.said().await;
    assert_eq!(said[..before.len()], before);
    assert!(said[before.len()].starts_with("Sorry"), "{said:?}");

    // The old node notices only now: it sends no hang-up, no socket request and no outcome.
    call.worlds[0].carrier.drop_sockets();
    until("the old node to let go", async || call.live().await == [0, 1]).await;
    assert_eq!(call.worlds[0].carrier.hang_ups(), []);
    assert_eq!(call.status().await, (ConversationStatus::InProgress, None));

    call.leg_ends(1).await;
    drop(socket);
    assert_eq!(call.until_over().await, (ConversationStatus::Completed, None));
    until("a free line", async || call.live().await == [0, 0]).await;
    assert_eq!(call.worlds[1].carrier.hang_ups(), []);
    assert_eq!(call.comes_back(1).await, Err(NotGoingOn::Over), "it is over");
    assert_eq!(call.comes_back(0).await, Err(NotGoingOn::Over));
    assert_eq!(
        call.worlds
            .iter()
            .map(|world| world.carrier.dials().len())
            .sum::<usize>(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn an_operator_of_a_call_that_is_brought_to_another_node_is_gone_and_the_agent_says_so() {
    let call = Talking::start().await;
    let operators = |name: &str| -> Vec<Value> {
        let events = call.worlds[0].store.events(call.attempt).into_iter();
        let own = events.filter(|event| event.name == name);
        own.map(|event| serde_json::from_str(&event.detail).unwrap()).collect()
    };
    let operated = call.nodes[0]
        .switchboard
        .operate_call(call.attempt, "Ada".to_owned())
        .await;
    let mut line = operated.unwrap().ok().unwrap();
    until("the operator's record", async || operators(OPERATOR_JOINED).len() == 1).await;
    let before = call.said().await.len();
    call.comes_back(1).await.unwrap();
    let _socket = call.open_media(1).await.unwrap();
    until("words", async || call.said().await.len() > before).await;
    let said = call.said().await[before].clone();
    let (first, _) = Phrases::built_in("en").unwrap().back_with_you.split_once('.').unwrap();
    assert!(said.starts_with(first), "{said}");
    let snapshot = call.nodes[1].switchboard.inspect_call(call.attempt).await.unwrap();
    assert_eq!(snapshot.operator, None);
    // The old node lets the operator go.
    call.worlds[0].carrier.drop_sockets();
    until("the end of the operator's line", async || {
        // The lost socket is noticed by what is written to it.
        line.speak(&[0; 160]);
        call.live().await == [0, 1]
    })
    .await;
    while line.heard().await.is_some() {}
    drop(line);
    assert_eq!(operators(OPERATOR_LEFT)[0], json!({ "by": "Ada", "reason": "lost" }));
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_socket_broke_goes_on_at_its_own_node_and_not_for_ever() {
    let call = Talking::start().await;
    call.worlds[0].carrier.drop_sockets();
    let before = call.said().await.len();
    assert_eq!(call.comes_back(0).await.map(|goes_on| goes_on.asked_before), Ok(0));
    let socket = call.open_media(0).await.unwrap();
    until("words", async || call.said().await.len() > before).await;
    assert_eq!(call.live().await, [1, 0]);
    // The carrier notices the lost socket earlier than we do, again and again.
    let _socket = socket;
    let mut asked = 1;
    while call.comes_back(0).await.is_ok() {
        asked += 1;
        assert!(asked < 20);
    }
    assert!(asked > 3, "{asked}");
    assert_eq!(
        call.until_over().await,
        (ConversationStatus::Failed, Some("media-lost".to_owned()))
    );
    assert_eq!(call.worlds[0].carrier.hang_ups(), std::slice::from_ref(&call.leg));
}

#[tokio::test(start_paused = true)]
async fn what_its_old_node_had_promised_is_kept_by_the_new_one() {
    let call = Talking::start().await;
    let said_at = call.worlds[0].ports.clock.now();
    let promised = Fact::Event(EventFact {
        name: CALL_BACK.to_owned(),
        at_ms: 5_000,
        detail: json!({ "time": { "after": 5 }, "saidAt": said_at }).to_string(),
    });
    let facts = [(call.attempt, promised)];
    call.worlds[0].store.append_facts(&facts).await.unwrap();
    call.comes_back(1).await.unwrap();
    let socket = call.open_media(1).await.unwrap();
    call.leg_ends(1).await;
    drop(socket);
    assert_eq!(call.until_over().await, (ConversationStatus::Completed, None));
    let dials = || {
        call.worlds
            .iter()
            .map(|world| world.carrier.dials().len())
            .sum::<usize>()
    };
    assert_eq!(dials(), 1);
    until("the call that was promised", async || dials() == 2).await;
    assert!(call.worlds[0].ports.clock.now().since(said_at) >= 5 * 60 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn what_is_forged_or_of_another_leg_is_hung_up_and_harms_nobody() {
    let call = Talking::start().await;
    let forged = DialToken::random().proof(Purpose::Media);
    for node in 0..2 {
        assert_eq!(call.asks(node, &forged, &call.leg.0).await, Err(NotGoingOn::Over));
        assert_eq!(
            call.asks(node, &call.status, &call.leg.0).await,
            Err(NotGoingOn::Over),
            "of another purpose"
        );
    }
    assert_eq!(call.asks(1, &call.proof, "another-leg").await, Err(NotGoingOn::Over));
    sleep(5 * SECOND).await;
    assert_eq!(call.live().await, [1, 0]);
    let owner = call.worlds[0].store.owner_of(call.attempt).await.unwrap().unwrap();
    assert_eq!(owner.node, call.nodes[0].node());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_taken_over_and_gets_no_socket_ends_as_lost() {
    let call = Talking::start().await;
    call.comes_back(1).await.unwrap();
    // A further request refers to the same call.
    assert!(call.comes_back(1).await.is_ok());
    assert_eq!(
        call.until_over().await,
        (ConversationStatus::Failed, Some("media-lost".to_owned()))
    );
    assert_eq!(call.worlds[1].carrier.hang_ups(), std::slice::from_ref(&call.leg));
    until("a free line", async || call.live().await[1] == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_drains_takes_a_live_call_all_the_same() {
    let call = Talking::start().await;
    let draining = call.nodes[1].drain(60 * SECOND, Duration::ZERO);
    let going_on = async {
        sleep(SECOND).await;
        call.comes_back(1).await.unwrap();
        call.open_media(1).await.unwrap()
    };
    let (_, socket) = tokio::join!(draining, async {
        let socket = going_on.await;
        sleep(SECOND).await;
        assert_eq!(call.live().await[1], 1);
        call.leg_ends(1).await;
        socket
    });
    drop(socket);
    assert_eq!(call.status().await, (ConversationStatus::Completed, None));
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_call_was_taken_over_takes_neither_its_socket_nor_its_carrier_s_question() {
    for first_asked in ["question", "socket", "nothing"] {
        let call = Talking::start().await;
        call.worlds[0].carrier.drop_sockets();
        sleep(SECOND / 10).await;
        call.comes_back(1).await.unwrap();
        match first_asked {
            "question" => assert_eq!(call.comes_back(0).await, Err(NotGoingOn::Elsewhere)),
            // The result is the same whether it has noticed the loss or not.
            "socket" => {
                while call.live().await != [0, 1] {
                    assert!(call.open_media(0).await.is_err());
                    sleep(SECOND / 20).await;
                }
            }
            _ => {}
        }
        until("its old node to let go", async || call.live().await == [0, 1]).await;
        let socket = call.open_media(1).await.unwrap();
        call.leg_ends(1).await;
        drop(socket);
        assert_eq!(call.until_over().await, (ConversationStatus::Completed, None));
        for world in &call.worlds {
            assert_eq!(world.carrier.hang_ups(), [], "{first_asked}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_told_lets_a_call_go_that_it_believes_to_have() {
    let call = Talking::start().await;
    call.nodes[0].switchboard.was_taken_over(call.attempt);
    sleep(SECOND).await;
    assert_eq!(call.live().await, [1, 0], "it is not so");
    let mut following = call.nodes[0].switchboard.follow_call(call.attempt, None).await.unwrap();
    call.comes_back(1).await.unwrap();
    call.nodes[0].switchboard.was_taken_over(call.attempt);
    sleep(SECOND / 2).await;
    assert_eq!(call.live().await, [0, 1]);
    // Clients that followed the call there are not told that it is over.
    let ended = loop {
        match following.events.recv().await {
            Ok(event) => assert_ne!(event, LiveEvent::End),
            Err(error) => break error,
        }
    };
    assert_eq!(ended, RecvError::Closed);
    assert!(
        call.nodes[0]
            .switchboard
            .follow_call(call.attempt, None)
            .await
            .is_none()
    );
    assert!(
        call.nodes[1]
            .switchboard
            .follow_call(call.attempt, None)
            .await
            .is_some()
    );
    assert_eq!(call.worlds[0].carrier.hang_ups(), []);
}

#[tokio::test(start_paused = true)]
async fn a_leg_is_not_hung_up_while_nobody_can_say_whose_it_is() {
    for taken_over in [true, false] {
        let call = Talking::start().await;
        call.worlds[0].carrier.drop_sockets();
        sleep(SECOND / 10).await;
        if taken_over {
            call.comes_back(1).await.unwrap();
        }
        call.worlds[0]
            .store
            .fail_with(Some(StoreError::Unavailable("away".into())));
        assert_eq!(call.open_media(0).await.err(), Some(LegRefusal::NotNow));
        assert_eq!(call.comes_back(0).await, Err(NotGoingOn::NotKnown));
        sleep(10 * SECOND).await;
        assert_eq!(call.worlds[0].carrier.hang_ups(), [], "it gave the call up by now");
        call.worlds[0].store.fail_with(None);
        sleep(3 * SECOND).await;
        let hung_up: &[CarrierCallId] = if taken_over {
            &[]
        } else {
            std::slice::from_ref(&call.leg)
        };
        assert_eq!(call.worlds[0].carrier.hang_ups(), hung_up);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_taken_from_a_living_node_that_nobody_can_ask() {
    let call = Talking::at(3, "").await;
    assert_eq!(call.comes_back(1).await, Err(NotGoingOn::NotKnown));
    assert_eq!(call.live().await, [1, 0]);
    let owner = call.worlds[0].store.owner_of(call.attempt).await.unwrap().unwrap();
    assert_eq!(owner.node, call.nodes[0].node());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_crashes_after_it_was_taken_over_is_not_hung_up() {
    let call = Talking::start().await;
    call.comes_back(1).await.unwrap();
    let socket = call.open_media(1).await.unwrap();
    let sabotage = LinesMessage::Sabotage {
        attempt: call.attempt,
        stream: false,
    };
    assert!(call.nodes[0].switchboard.lines.cast(sabotage).is_ok());
    sleep(5 * SECOND).await;
    assert_eq!(call.live().await, [0, 1]);
    assert_eq!(call.worlds[0].carrier.hang_ups(), []);
    call.leg_ends(1).await;
    drop(socket);
    assert_eq!(call.until_over().await, (ConversationStatus::Completed, None));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_a_node_s_by_its_row_alone_goes_on_there() {
    let call = Talking::start().await;
    let store = &call.worlds[0].store;
    let owner = store.owner_of(call.attempt).await.unwrap().unwrap();
    let returning = ReturningCall {
        held: Claim {
            attempt: call.attempt,
            owner: owner.node,
            epoch: owner.epoch,
        },
        carrier: "scripted".into(),
        call: call.leg.clone(),
    };
    // The answer to this was lost.
    store.take_over(call.nodes[1].node(), returning).await.unwrap();
    call.comes_back(1).await.unwrap();
    let socket = call.open_media(1).await.unwrap();
    call.leg_ends(1).await;
    drop(socket);
    assert_eq!(call.until_over().await, (ConversationStatus::Completed, None));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_about_to_end_waits_for_what_it_took_and_takes_no_more() {
    let call = Talking::start().await;
    let later = Talking::start().await;
    // Its own calls are over, but the proxy still sends requests to it.
    call.nodes[1].drain(60 * SECOND, Duration::ZERO).await;
    call.comes_back(1).await.unwrap();
    let socket = call.open_media(1).await.unwrap();
    let ended = async {
        sleep(5 * SECOND).await;
        assert_eq!(call.live().await[1], 1, "it goes on");
        call.leg_ends(1).await;
    };
    tokio::join!(call.nodes[1].take_no_more(60 * SECOND), ended);
    assert_eq!(call.status().await, (ConversationStatus::Completed, None));
    drop(socket);
    later.nodes[1].take_no_more(SECOND).await;
    assert_eq!(later.comes_back(1).await, Err(NotGoingOn::NotKnown));
    assert_eq!(later.live().await, [1, 0]);
}
