//! Inbound calls through a node: which agent takes them, which line they get, and how they end, whatever crashes.

use std::time::Duration;

use actors::{
    call::{CallMessage, LegRefusal},
    lines::{Leave, LinesMessage, MOST_WITHOUT_SOCKET, WantedAgent},
    node::NodeHandle,
};
use domain::{
    id::{AgentId, AttemptId, NodeId},
    phone_number::PhoneNumber,
    ports::{
        carrier::{CallProgress, CarrierCallId, EndCause, InboundCall, InboundRefusal, WayBack},
        media_leg::{InboundItem, OutboundItem},
        store::{
            CallDirection, ConversationFilter, ConversationRow, ConversationStatus, DirectoryStore, InboundStore,
            NewContact, NewInboundCall, NodeStore, RecordStore, StoreError,
        },
    },
};
use serde_json::{Map, Value, json};
use testkit::fake_carrier::{FakeSocket, media_leg};
use tokio::time::Instant;

use crate::support::{Callees, World, agent_document, contact, figures, new_account, until};

const OURS: &str = "+15559990001";

fn ours() -> PhoneNumber {
    PhoneNumber::parse(OURS).unwrap()
}

/// Creates an agent that answers our number and retries the calls it places.
async fn answering(world: &World, numbers: Value) -> AgentId {
    let mut document = agent_document();
    document["direction"] = json!("inbound");
    document["phoneNumbers"] = numbers;
    document["platformSettings"] = json!({ "callRetry": { "retryCount": 3, "retryDelay": 0 } });
    let document = document.as_object().cloned().unwrap();
    world
        .store
        .create_agent(world.account, document, None)
        .await
        .unwrap()
        .id
}

/// Creates a world with that agent, and a node.
async fn called(lines: usize) -> (World, NodeHandle) {
    let world = World::new().await;
    answering(&world, json!([{ "number": OURS }])).await;
    let node = world.node(lines).await;
    (world, node)
}

fn announced(leg: &str) -> InboundCall {
    InboundCall {
        carrier: "scripted",
        call: CarrierCallId(leg.into()),
        from: Some(contact(1).phone_number),
        to: ours(),
    }
}

async fn announce(node: &NodeHandle, call: InboundCall) -> Result<WayBack, InboundRefusal> {
    node.switchboard.announce(call, None).await
}

async fn open_media(node: &NodeHandle, back: &WayBack) -> Result<FakeSocket, LegRefusal> {
    open_media_at("scripted", node, back).await
}

async fn open_media_at(carrier: &'static str, node: &NodeHandle, back: &WayBack) -> Result<FakeSocket, LegRefusal> {
    let (leg, socket) = media_leg();
    let (attempt, proof) = (back.attempt, back.media_token.clone());
    let message = |reply| CallMessage::Media { proof, leg, reply };
    let taken = node.switchboard.tell_call((carrier, attempt), message).await;
    taken.unwrap().map(|()| socket)
}

async fn report(node: &NodeHandle, back: &WayBack, progress: CallProgress) -> Result<(), LegRefusal> {
    report_at("scripted", node, back, progress).await
}

async fn report_at(
    carrier: &'static str,
    node: &NodeHandle,
    back: &WayBack,
    progress: CallProgress,
) -> Result<(), LegRefusal> {
    let (attempt, proof) = (back.attempt, back.status_token.clone());
    let report = progress.into();
    let message = |reply| CallMessage::Progress { proof, report, reply };
    node.switchboard.tell_call((carrier, attempt), message).await.unwrap()
}

async fn row(world: &World, attempt: AttemptId) -> ConversationRow {
    world.store.conversation(world.account, attempt).await.unwrap()
}

async fn all(world: &World) -> Vec<ConversationRow> {
    let every = world
        .store
        .conversations(world.account, ConversationFilter::default(), 100);
    every.await.unwrap()
}

async fn until_over(world: &World, attempt: AttemptId) -> (ConversationStatus, Option<String>) {
    until("the end", async || row(world, attempt).await.ended_at.is_some()).await;
    let row = row(world, attempt).await;
    (row.status, row.error)
}

fn heard(socket: &mut FakeSocket) -> usize {
    let mut audio = 0;
    while let Ok(item) = socket.outbound.try_recv() {
        if let OutboundItem::Audio(bytes) = item {
            audio += bytes.len();
        }
    }
    audio
}

#[tokio::test(start_paused = true)]
async fn a_call_from_outside_is_answered_greeted_and_written_down() {
    let (world, node) = called(2).await;
    let back = announce(&node, announced("leg-a")).await.unwrap();
    let began = row(&world, back.attempt).await;
    let agent = world.store.agent(world.account, began.agent).await.unwrap();
    assert_eq!(began.agent_version, Some(agent.version));
    assert_eq!(
        (began.status, began.direction),
        (ConversationStatus::InProgress, CallDirection::Inbound)
    );
    assert_eq!(
        (began.contact_number, began.caller_number),
        (contact(1).phone_number, Some(ours()))
    );
    assert_eq!(began.answered_at, None);

    let mut socket = open_media(&node, &back).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(heard(&mut socket) > 0, "it greets at once");
    assert!(row(&world, back.attempt).await.answered_at.is_some());
    tokio::time::sleep(Duration::from_secs(5)).await;
    socket.inbound.push(InboundItem::Closed { clean: true });
    let over = until_over(&world, back.attempt).await;
    assert_eq!(over, (ConversationStatus::Completed, None));
    until("the line", async || figures(&node).await.live_calls == 0).await;
    assert!(world.carrier.hang_ups().is_empty(), "the caller hung up");
    let turns = world.store.turns(back.attempt).await.unwrap();
    assert_eq!(turns[0].text, "Hello, this is Ringo.");
    assert_eq!(all(&world).await.len(), 1, "nothing follows it");
}

#[tokio::test(start_paused = true)]
async fn it_can_be_ended_from_our_side() {
    let (world, node) = called(2).await;
    let talking = announce(&node, announced("leg-a")).await.unwrap();
    let _socket = open_media(&node, &talking).await.unwrap();
    let waiting = announce(&node, announced("leg-b")).await.unwrap();
    for (back, status) in [
        (&talking, ConversationStatus::Completed),
        (&waiting, ConversationStatus::Cancelled),
    ] {
        let attempt = back.attempt;
        let told = node.switchboard.end_call(attempt).await;
        assert_eq!(told, Some(true));
        assert_eq!(until_over(&world, attempt).await, (status, None));
    }
    assert_eq!(world.carrier.hang_ups().len(), 2);
    assert!(matches!(
        open_media(&node, &waiting).await,
        Err(LegRefusal::UnknownCall)
    ));
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_gives_up_before_the_agent_is_there_was_not_answered() {
    let (world, node) = called(1).await;
    let back = announce(&node, announced("leg-a")).await.unwrap();
    let mut wrong = back.clone();
    wrong.status_token = back.media_token.clone();
    let ended = CallProgress::Ended(EndCause::Canceled);
    assert_eq!(report(&node, &wrong, ended.clone()).await, Err(LegRefusal::BadProof));
    assert_eq!(report(&node, &back, ended).await, Ok(()));
    let over = until_over(&world, back.attempt).await;
    assert_eq!(over, (ConversationStatus::Failed, Some("no-answer".into())));
    // Retries of the agent apply to people it wants to reach.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(all(&world).await.len(), 1);
    assert!(world.carrier.dials().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_takes_nothing_from_the_endpoints_of_another_carrier() {
    let (world, node) = called(1).await;
    let back = announce(&node, announced("leg-a")).await.unwrap();
    for carrier in ["plain", "simulated", ""] {
        let asked = |reply| CallMessage::AskMedia {
            proof: back.media_token.clone(),
            replacing: false,
            reply,
        };
        let asked = node.switchboard.tell_call((carrier, back.attempt), asked).await;
        assert_eq!(asked, Some(Err(LegRefusal::UnknownCall)), "{carrier}");
        let opened = open_media_at(carrier, &node, &back).await;
        assert!(matches!(opened, Err(LegRefusal::UnknownCall)), "{carrier}");
        let ended = CallProgress::Ended(EndCause::Completed);
        let told = report_at(carrier, &node, &back, ended).await;
        assert_eq!(told, Err(LegRefusal::UnknownCall), "{carrier}");
    }
    assert_eq!(row(&world, back.attempt).await.ended_at, None);
    open_media(&node, &back).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn announced_again_it_is_the_same_call_while_it_lives() {
    let world = World::slow().await;
    answering(&world, json!([{ "number": OURS, "provider": "scripted" }])).await;
    let node = world.node(1).await;
    let (first, second) = tokio::join!(announce(&node, announced("leg-a")), announce(&node, announced("leg-a")));
    let back = first.unwrap();
    assert_eq!(second, Ok(back.clone()));
    assert_eq!(announce(&node, announced("leg-a")).await, Ok(back.clone()));
    let mut socket = open_media(&node, &back).await.unwrap();
    assert_eq!(announce(&node, announced("leg-a")).await, Ok(back.clone()));
    assert!(matches!(open_media(&node, &back).await, Err(LegRefusal::NotNow)));
    assert_eq!(all(&world).await.len(), 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    heard(&mut socket);
    socket.inbound.push(InboundItem::Closed { clean: true });
    until_over(&world, back.attempt).await;
    until("the line", async || figures(&node).await.live_calls == 0).await;
    let again = announce(&node, announced("leg-a")).await;
    assert_eq!(again, Err(InboundRefusal::NobodyAnswers));
    assert_eq!(all(&world).await.len(), 1);
    assert_eq!(figures(&node).await.live_calls, 0, "its line is free");
}

#[tokio::test(start_paused = true)]
async fn without_a_free_line_it_is_busy_and_nothing_is_written() {
    let (world, node) = called(1).await;
    let back = announce(&node, announced("leg-a")).await.unwrap();
    assert_eq!(announce(&node, announced("leg-b")).await, Err(InboundRefusal::Busy));
    assert_eq!(all(&world).await.len(), 1);
    report(&node, &back, CallProgress::Ended(EndCause::Completed))
        .await
        .unwrap();
    until_over(&world, back.attempt).await;
    until("the line", async || announce(&node, announced("leg-b")).await.is_ok()).await;
}

#[tokio::test(start_paused = true)]
async fn it_takes_its_line_before_the_calls_that_wait() {
    let (world, node) = called(2).await;
    world.carrier.callees(Callees::Answer);
    let campaign = world.campaign(3).await;
    let launch = actors::campaign::CampaignCommand::Launch;
    world.command(&node, campaign, launch).await.unwrap();
    until("calls", async || world.carrier.sockets() == 2).await;
    assert_eq!(announce(&node, announced("leg-a")).await, Err(InboundRefusal::Busy));
    world.carrier.drop_sockets();
    until("a line", async || announce(&node, announced("leg-b")).await.is_ok()).await;
}

#[tokio::test(start_paused = true)]
async fn a_draining_node_takes_no_call_and_lets_live_ones_end() {
    let (world, node) = called(2).await;
    let back = announce(&node, announced("leg-a")).await.unwrap();
    let _socket = open_media(&node, &back).await.unwrap();
    let drained = node.drain(Duration::from_secs(20), Duration::ZERO);
    let meanwhile = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(announce(&node, announced("leg-b")).await, Err(InboundRefusal::Busy));
        assert_eq!(announce(&node, announced("leg-a")).await, Ok(back.clone()));
        assert_eq!(all(&world).await.len(), 1);
    };
    tokio::join!(drained, meanwhile);
    let over = until_over(&world, back.attempt).await;
    assert_eq!(over, (ConversationStatus::Completed, None));
    assert_eq!(world.carrier.hang_ups(), [CarrierCallId("leg-a".into())]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_others_takes_calls_until_whoever_sends_them_has_heard() {
    let world = World::shared().await;
    answering(&world, json!([{ "number": OURS }])).await;
    let (leaving, _stays) = (world.node(2).await, world.twin().node(2).await);
    until("company", async || leaving.has_other_nodes()).await;
    let (grace, notice) = (Duration::from_secs(60), Duration::from_secs(3));
    let told = Instant::now();
    let leaves = async {
        leaving.drain(grace, notice).await;
        leaving.take_no_more(grace.saturating_sub(told.elapsed())).await;
    };
    let meanwhile = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let back = announce(&leaving, announced("leg-a")).await.unwrap();
        let socket = open_media(&leaving, &back).await.unwrap();
        tokio::time::sleep(notice).await;
        assert_eq!(announce(&leaving, announced("leg-b")).await, Err(InboundRefusal::Busy));
        tokio::time::sleep(notice).await;
        assert_eq!(figures(&leaving).await.live_calls, 1, "it goes on");
        socket.inbound.push(InboundItem::Closed { clean: true });
        back
    };
    let ((), back) = tokio::join!(leaves, meanwhile);
    assert!(told.elapsed() < grace);
    let over = until_over(&world, back.attempt).await;
    assert_eq!(over, (ConversationStatus::Completed, None));
}

async fn slowly_called() -> (World, NodeHandle) {
    let world = World::slow().await;
    answering(&world, json!([{ "number": OURS }])).await;
    let node = world.node(2).await;
    (world, node)
}

/// Waits until a call announced just now at a slow node has its line but not its attempt.
async fn has_its_line() {
    tokio::time::sleep(Duration::from_millis(60)).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_attempt_is_being_made_as_the_node_drains_begins_and_is_waited_for() {
    let (world, node) = slowly_called().await;
    let began = Instant::now();
    let drains = async {
        has_its_line().await;
        node.drain(Duration::from_secs(20), Duration::ZERO).await;
        assert!(began.elapsed() >= Duration::from_secs(10), "{:?}", began.elapsed());
    };
    let calls = async {
        let back = announce(&node, announced("leg-a")).await.unwrap();
        let socket = open_media(&node, &back).await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        socket.inbound.push(InboundItem::Closed { clean: true });
        back
    };
    let ((), back) = tokio::join!(drains, calls);
    let over = until_over(&world, back.attempt).await;
    assert_eq!(over, (ConversationStatus::Completed, None));
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_attempt_is_being_made_as_the_time_of_a_drain_is_over_is_busy_and_settled() {
    let (world, node) = slowly_called().await;
    let (answer, ()) = tokio::join!(announce(&node, announced("leg-a")), async {
        has_its_line().await;
        let drain = LinesMessage::Drain(Leave {
            grace_ms: 0,
            notice_ms: 0,
        });
        assert!(node.switchboard.lines.cast(drain).is_ok());
    });
    assert_eq!(answer, Err(InboundRefusal::Busy));
    until("a settled row", async || {
        let rows = all(&world).await;
        rows.len() == 1 && rows[0].error.as_deref() == Some("no-answer")
    })
    .await;
    assert_eq!(figures(&node).await.live_calls, 0);
}

#[tokio::test(start_paused = true)]
async fn nobody_answers_an_unknown_number_another_carriers_or_one_of_an_agent_that_only_dials() {
    let world = World::new().await;
    let node = world.node(3).await;
    let refused = async |why: &str| {
        let answer = announce(&node, announced(why)).await;
        assert_eq!(answer, Err(InboundRefusal::NobodyAnswers), "{why}");
    };
    refused("unknown").await;
    let mut dials = agent_document();
    dials["phoneNumbers"] = json!([{ "number": OURS }]);
    let dials = dials.as_object().cloned().unwrap();
    world.store.create_agent(world.account, dials, None).await.unwrap();
    refused("dials only").await;
    let elsewhere = answering(&world, json!([{ "number": OURS, "provider": "twilio" }])).await;
    refused("another carrier").await;
    world.store.delete_agent(world.account, elsewhere).await.unwrap();
    refused("deleted").await;
    let unknown = InboundCall {
        carrier: "twilio",
        ..announced("carrier")
    };
    assert_eq!(announce(&node, unknown).await, Err(InboundRefusal::NobodyAnswers));
    assert!(all(&world).await.is_empty());
    assert_eq!(figures(&node).await.live_calls, 0);
    answering(&world, json!([{ "number": OURS }])).await;
    announce(&node, announced("taken")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn with_the_store_or_the_providers_unavailable_the_caller_may_try_again() {
    let (world, node) = called(1).await;
    world.store.fail_with(Some(StoreError::Unavailable("away".into())));
    let answer = announce(&node, announced("leg-a")).await;
    assert_eq!(answer, Err(InboundRefusal::Unavailable));
    world.store.fail_with(None);
    world.health.down("language model: down");
    let answer = announce(&node, announced("leg-a")).await;
    assert_eq!(answer, Err(InboundRefusal::Unavailable));
    world.health.up();
    announce(&node, announced("leg-a")).await.unwrap();
    assert_eq!(all(&world).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_withheld_number_is_kept_as_nobodys_and_a_saved_caller_by_name() {
    let (world, node) = called(2).await;
    let withheld = InboundCall {
        from: None,
        ..announced("leg-a")
    };
    let back = announce(&node, withheld).await.unwrap();
    assert!(row(&world, back.attempt).await.contact_number.is_withheld());
    let saved = NewContact {
        phone_number: contact(1).phone_number,
        name: Some("Maria".into()),
        email: None,
        extra: Default::default(),
    };
    world.store.create_contact(world.account, saved, None).await.unwrap();
    let greets = json!([{ "number": "+15559990002" }]);
    let agent = answering(&world, greets).await;
    let row = world.store.agent(world.account, agent).await.unwrap();
    let mut document = row.document;
    let greeting = json!("Hello {{name}}, you called {{system__called_number}} from {{system__caller_number}}.");
    document["conversationConfig"]["agent"]["greetingMessage"] = greeting;
    world
        .store
        .update_agent(world.account, agent, row.version, document)
        .await
        .unwrap();
    let call = InboundCall {
        to: PhoneNumber::parse("+15559990002").unwrap(),
        ..announced("leg-b")
    };
    let back = announce(&node, call).await.unwrap();
    let mut socket = open_media(&node, &back).await.unwrap();
    for _ in 0..600 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        heard(&mut socket);
    }
    socket.inbound.push(InboundItem::Closed { clean: true });
    until_over(&world, back.attempt).await;
    let turns = world.store.turns(back.attempt).await.unwrap();
    let greeting = "Hello Maria, you called +15559990002 from +15550000001.";
    assert!(greeting.starts_with(&turns[0].text[..30]), "{turns:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_crashes_has_its_leg_hung_up_and_is_not_taken_up_again() {
    let (world, node) = called(2).await;
    let back = announce(&node, announced("leg-a")).await.unwrap();
    let _socket = open_media(&node, &back).await.unwrap();
    let attempt = back.attempt;
    let message = LinesMessage::Sabotage { attempt, stream: false };
    assert!(node.switchboard.lines.cast(message).is_ok());
    let over = until_over(&world, attempt).await;
    assert_eq!(
        over,
        (ConversationStatus::Failed, Some("agent-error: call crashed".into()))
    );
    assert_eq!(world.carrier.hang_ups(), [CarrierCallId("leg-a".into())]);
    until("the line", async || figures(&node).await.live_calls == 0).await;
    let again = announce(&node, announced("leg-a")).await;
    assert_eq!(again, Err(InboundRefusal::NobodyAnswers));
    assert_eq!(all(&world).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_line_pool_that_dies_ends_its_calls_and_settles_those_on_their_way() {
    let world = World::slow().await;
    answering(&world, json!([{ "number": OURS }])).await;
    let node = world.node(3).await;
    let live = announce(&node, announced("leg-a")).await.unwrap();
    // The second call's attempt is being created when the pool dies.
    let lines = node.switchboard.lines.get().unwrap();
    let (_, second) = tokio::join!(
        async {
            tokio::time::sleep(Duration::from_millis(60)).await;
            lines.kill();
        },
        announce(&node, announced("leg-b")),
    );
    assert_eq!(second, Err(InboundRefusal::Unavailable));
    until_over(&world, live.attempt).await;
    until("every row", async || {
        all(&world).await.iter().all(|row| row.ended_at.is_some())
    })
    .await;
    let errors: Vec<_> = all(&world)
        .await
        .into_iter()
        .map(|row| (row.status, row.error))
        .collect();
    assert!(
        errors.iter().all(|(status, _)| *status == ConversationStatus::Failed),
        "{errors:?}"
    );
    until("a line", async || announce(&node, announced("leg-c")).await.is_ok()).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_too_slow_for_the_carrier_leaves_no_open_row() {
    let (world, node) = called(1).await;
    // The caller gave up: nobody receives the answer.
    let (reply, answer) = ractor::concurrency::oneshot();
    let call = announced("leg-a");
    let message = LinesMessage::Inbound {
        call,
        wanted: None,
        reply: reply.into(),
    };
    drop(answer);
    assert!(node.switchboard.lines.cast(message).is_ok());
    until("a settled row", async || {
        let rows = all(&world).await;
        rows.len() == 1 && rows[0].error.as_deref() == Some("no-answer")
    })
    .await;
    assert!(
        world.carrier.hang_ups().is_empty(),
        "the carrier may have found somebody else"
    );
    announce(&node, announced("leg-b")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_was_made_too_late_is_there_when_its_call_is_announced_again() {
    // Each operation takes a little more than 2.4 s, and a call needs two.
    let world = World::slow_by(Duration::from_millis(1_200)).await;
    answering(&world, json!([{ "number": OURS }])).await;
    let node = world.node(1).await;
    for leg in ["leg-a", "leg-b"] {
        let began = tokio::time::Instant::now();
        let answer = announce(&node, announced(leg)).await;
        assert_eq!(answer, Err(InboundRefusal::Unavailable));
        assert_eq!(began.elapsed().as_secs(), 4, "the carrier is told in time");
        // Announced once while the attempt is being created, and once when it exists.
        if leg == "leg-b" {
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        let back = announce(&node, announced(leg)).await.unwrap();
        let rows = all(&world).await;
        assert_eq!(rows.iter().filter(|row| row.ended_at.is_none()).count(), 1);
        assert!(world.carrier.hang_ups().is_empty());
        report(&node, &back, CallProgress::Ended(EndCause::Completed))
            .await
            .unwrap();
        until("the line", async || figures(&node).await.live_calls == 0).await;
    }
    assert_eq!(all(&world).await.len(), 2);
    // A call that is not announced again is written off, and its line becomes free.
    let answer = announce(&node, announced("leg-c")).await;
    assert_eq!(answer, Err(InboundRefusal::Unavailable));
    until("a settled row", async || {
        let rows = all(&world).await;
        rows.len() == 3 && rows.iter().all(|row| row.ended_at.is_some())
    })
    .await;
    until("the line", async || figures(&node).await.live_calls == 0).await;
    assert!(world.carrier.hang_ups().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_number_that_nobody_answers_takes_no_line() {
    let world = World::slow().await;
    answering(&world, json!([{ "number": OURS }])).await;
    let node = world.node(1).await;
    let nobodys = |leg: &str| InboundCall {
        to: PhoneNumber::parse("+15559990009").unwrap(),
        ..announced(leg)
    };
    let (first, second, ours) = tokio::join!(
        announce(&node, nobodys("leg-a")),
        announce(&node, nobodys("leg-b")),
        announce(&node, announced("leg-c")),
    );
    assert_eq!(first, Err(InboundRefusal::NobodyAnswers));
    assert_eq!(second, Err(InboundRefusal::NobodyAnswers));
    ours.unwrap();
    assert_eq!(figures(&node).await.live_calls, 1);
}

#[tokio::test(start_paused = true)]
async fn an_account_holds_few_lines_with_calls_that_are_brought_no_socket() {
    let world = World::new().await;
    let mine = answering(&world, json!([{ "number": OURS }])).await;
    let other = new_account(&world.store, "other@example.com").await;
    let mut document = agent_document();
    document["direction"] = json!("inbound");
    let theirs = world
        .store
        .create_agent(other, document.as_object().cloned().unwrap(), None);
    let theirs = theirs.await.unwrap().id;
    let node = world.node(20).await;
    let dial_in = async |leg: String, account, agent| {
        let mut call = announced(&leg);
        call.to = PhoneNumber::withheld();
        let wanted = WantedAgent {
            account,
            agent,
            ticket: None,
            variables: Map::new(),
            test: None,
        };
        node.switchboard.announce(call, Some(wanted)).await
    };
    let mut backs = Vec::new();
    for n in 0..MOST_WITHOUT_SOCKET {
        backs.push(dial_in(format!("mine-{n}"), world.account, mine).await.unwrap());
    }
    let refused = dial_in("too many".into(), world.account, mine).await;
    assert_eq!(refused, Err(InboundRefusal::TooMany));
    assert_eq!(figures(&node).await.live_calls, MOST_WITHOUT_SOCKET, "it holds no line");
    // Neither another account nor a telephone call is affected by the limit.
    dial_in("theirs".into(), other, theirs).await.unwrap();
    announce(&node, announced("telephone")).await.unwrap();
    // A call with its socket makes room, and so does a call that is over.
    let _socket = open_media(&node, &backs[0]).await.unwrap();
    dial_in("next".into(), world.account, mine).await.unwrap();
    let refused = dial_in("too many again".into(), world.account, mine).await;
    assert_eq!(refused, Err(InboundRefusal::TooMany));
    report(&node, &backs[1], CallProgress::Ended(EndCause::Canceled))
        .await
        .unwrap();
    until_over(&world, backs[1].attempt).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    dial_in("last".into(), world.account, mine).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_process_left_is_hung_up_and_ends_media_lost() {
    let world = World::new().await;
    let agent = answering(&world, json!([{ "number": OURS }])).await;
    let dead = NodeId::new();
    world.store.register_node(dead, None).await.unwrap();
    let new = NewInboundCall {
        attempt: AttemptId::new(),
        account: world.account,
        agent,
        agent_version: 1,
        carrier: "scripted".into(),
        call: CarrierCallId("left".into()),
        from: contact(1).phone_number,
        to: ours(),
        ticket: None,
        variables: Map::new(),
        test: None,
    };
    let attempt = new.attempt;
    world.store.receive_call(dead, new).await.unwrap().unwrap();
    let node = world.node(1).await;
    let over = until_over(&world, attempt).await;
    assert_eq!(over, (ConversationStatus::Failed, Some("media-lost".into())));
    assert_eq!(world.carrier.hang_ups(), [CarrierCallId("left".into())]);
    let again = announce(&node, announced("left")).await;
    assert_eq!(again, Err(InboundRefusal::NobodyAnswers));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(world.carrier.dials().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_attempt_whose_making_was_not_answered_is_settled_and_its_leg_left_to_the_carrier() {
    let world = World::new().await;
    let agent = answering(&world, json!([{ "number": OURS }])).await;
    let node = world.node(2).await;
    let new = NewInboundCall {
        attempt: AttemptId::new(),
        account: world.account,
        agent,
        agent_version: 1,
        carrier: "scripted".into(),
        call: CarrierCallId("elsewhere".into()),
        from: contact(1).phone_number,
        to: ours(),
        ticket: None,
        variables: Map::new(),
        test: None,
    };
    let attempt = new.attempt;
    world.store.receive_call(node.node(), new).await.unwrap().unwrap();
    until("its outcome", async || {
        let row = world.store.conversation(world.account, attempt).await.unwrap();
        row.status == ConversationStatus::Failed && row.error.as_deref() == Some("no-answer")
    })
    .await;
    assert!(world.carrier.hang_ups().is_empty());
}
