//! Calls with a conversation graph whose node dies after each move: the new node goes on where the call was.

use std::{sync::Arc, time::Duration};

use actors::{
    audio_stream::StreamEvent,
    call::{CallMessage, CallPhase, Event},
};
use domain::{
    phrases::Phrases,
    ports::store::{ConversationStatus, DirectoryStore, HttpTool, ToolStore, WORKFLOW_HOP},
};
use media::{session::SessionEvent, turn::endpointing::Utterance};
use serde_json::{Value, json};
use testkit::{fake_carrier::FakeSocket, fake_tools::FakeTools};
use tokio::time::{Instant, sleep};

use crate::{
    coming_back::Talking,
    support::{SlowStore, World, agent_document, until},
};

const SECOND: Duration = Duration::from_secs(1);

/// Nodes of a call in which nothing fails.
const PATH: [&str; 9] = [
    "start", "desk", "set", "hint", "book", "booked", "after", "cellar", "bye",
];

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Returns an agent that reserves a table and sells bicycles.
fn reservations(tool: &str) -> Value {
    let says = |text: &str| json!({ "type": "say", "message": { "type": "literal", "text": text } });
    let talks = |prompt: &str| json!({ "type": "override_agent", "additionalPrompt": prompt });
    let edge = |source: &str, target: &str, condition: Value| json!({ "source": source, "target": target, "forwardCondition": condition });
    let always = |source, target| edge(source, target, json!({ "type": "unconditional" }));
    let judged =
        |source, target, condition: &str| edge(source, target, json!({ "type": "llm", "condition": condition }));
    let result = |target, successful: bool| edge("book", target, json!({ "type": "result", "successful": successful }));
    let mut agent = agent_document();
    agent["conversationConfig"]["turn"] = json!({ "turnTimeout": -1 });
    agent["workflow"] = json!({
        "nodes": {
            "start": { "type": "start" },
            "desk": talks("Ask what they want."),
            "set": { "type": "update_state", "updates": [
                { "variableName": "seats", "expression": { "type": "number_literal", "value": 4 } }] },
            "hint": says("A table for {{seats}}, then."),
            "book": { "type": "tool", "tools": [{ "toolId": tool }] },
            "booked": says("It is booked for {{seats}}."),
            "failed": says("The calendar is gone."),
            "after": talks("Offer bicycles."),
            "cellar": talks("You sell bicycles."),
            "bye": { "type": "end", "outcome": "success" },
        },
        "edges": {
            "a": always("start", "desk"),
            "b": judged("desk", "set", "The caller wants to reserve a table"),
            "c": always("set", "hint"),
            "d": always("hint", "book"),
            "e": result("booked", true),
            "f": result("failed", false),
            "g": always("booked", "after"),
            "h": always("failed", "after"),
            "i": judged("after", "cellar", "The caller wants to buy a bicycle"),
            "j": judged("cellar", "bye", "The caller wants to pay an invoice"),
        },
    });
    agent
}

/// A call that walks, between two nodes.
struct Walking {
    call: Talking,
    /// Store of the first node.
    store: Arc<SlowStore>,
    tools: Arc<FakeTools>,
    /// The media socket at the second node, and the time since when it is open at each.
    socket: Option<FakeSocket>,
    opened: [Instant; 2],
}

impl Walking {
    async fn start() -> Self {
        let mut first = World::shared().await;
        let tool = HttpTool {
            name: "book".into(),
            description: "Books a table.".into(),
            parameters: json!({ "type": "object", "properties": {} }),
            url: "https://example.com/book".into(),
            method: "POST".into(),
            timeout_ms: 5_000,
        };
        let tool = first.store.create_tool(first.account, tool, None).await.unwrap();
        let tool = tool.id.to_string();
        let document = reservations(&tool).as_object().cloned().unwrap();
        let row = first.store.agent(first.account, first.agent).await.unwrap();
        let updated = first
            .store
            .update_agent(first.account, first.agent, row.version, document);
        updated.await.unwrap();
        let mut second = first.twin();
        let store = Arc::new(SlowStore::new(first.store.clone()));
        first.ports.store = store.clone();
        let tools = Arc::new(FakeTools::default());
        tools.offer(&tool, 5 * SECOND);
        tools.answer(ms(1_500), Ok(json!({ "ok": true })));
        for world in [&mut first, &mut second] {
            world.ports.tools = tools.clone();
        }
        let call = Talking::between([first, second], 3, "http://10.0.0.1:8080").await;
        // The callee answers a second after the dial.
        let answered = call.worlds[0].carrier.dials()[0].0 + ms(1_200);
        Self {
            call,
            store,
            tools,
            socket: None,
            opened: [answered, answered],
        }
    }

    /// Returns the nodes in which the call was, as its record tells them.
    fn path(&self) -> Vec<String> {
        let events = self.call.worlds[0].store.events(self.call.attempt).into_iter();
        let hops = events.filter(|event| event.name == WORKFLOW_HOP);
        let to = hops.map(|hop| serde_json::from_str::<Value>(&hop.detail).unwrap()["to"].clone());
        to.map(|to| to.as_str().unwrap().to_owned()).collect()
    }

    async fn says(&self, node: usize, text: &str) {
        let now_ms = u64::try_from(self.opened[node].elapsed().as_millis()).unwrap();
        let utterance = Utterance {
            text: text.to_owned(),
            damaged: false,
            started_ms: now_ms.saturating_sub(500),
            ended_ms: now_ms,
            final_ms: None,
        };
        let event = StreamEvent::Session(SessionEvent::UtteranceEnded(utterance));
        let message = |_| CallMessage::Happened(Event::Stream(event));
        let switchboard = &self.call.nodes[node].switchboard;
        switchboard.tell_call(("scripted", self.call.attempt), message).await;
    }

    /// Waits until it is the caller's turn and everything before is recorded, or until `done`. Returns whether it is.
    async fn until_asked(&self, node: usize, done: &impl Fn(&[String]) -> bool) -> bool {
        let mut silent = 0;
        for _ in 0..3_000 {
            if done(&self.path()) || self.call.status().await.0 != ConversationStatus::InProgress {
                return false;
            }
            let snapshot = self.call.nodes[node].switchboard.inspect_call(self.call.attempt).await;
            let listens = snapshot.is_some_and(|snapshot| snapshot.phase == CallPhase::Listening);
            silent = if listens { silent + 1 } else { 0 };
            if silent > 20 {
                return true;
            }
            sleep(ms(20)).await;
        }
        panic!("the call is stuck in {:?}", self.path());
    }

    /// Says what leads on from the present node.
    async fn leads_on(&self, node: usize) {
        let words = match self.path().last().map(String::as_str) {
            Some("desk") => "I want to reserve a table.",
            Some("after") => "I want to buy a bicycle.",
            Some("cellar") => "I want to pay my invoice.",
            other => panic!("the caller has nothing to say in {other:?}"),
        };
        self.says(node, words).await;
    }

    /// Talks until the record has this path, or the call is over.
    async fn talk(&self, node: usize, done: impl Fn(&[String]) -> bool) {
        while self.until_asked(node, &done).await {
            self.leads_on(node).await;
            sleep(ms(100)).await;
        }
    }

    /// Kills the first node and brings the call to the second. What was not written is lost.
    async fn crash(&mut self) {
        self.store.hold_facts();
        self.call.comes_back(1).await.unwrap();
        self.call.nodes[0].switchboard.was_taken_over(self.call.attempt);
        self.call.worlds[0].carrier.drop_sockets();
        until("the old node to let go", async || self.call.live().await == [0, 1]).await;
        self.socket = Some(self.call.open_media(1).await.unwrap());
        self.opened[1] = Instant::now();
    }

    /// Returns what the agent said next.
    async fn next_words(&self, before: usize) -> String {
        until("words", async || self.call.said().await.len() > before).await;
        self.call.said().await[before].clone()
    }

    /// Talks to the end at the second node, and checks the whole path.
    async fn ends_by(&self, path: &[&str], crashed: &str) {
        self.talk(1, |_| false).await;
        sleep(SECOND).await;
        assert_eq!(self.path(), path, "after {crashed}");
        assert_eq!(self.call.until_over().await, (ConversationStatus::Completed, None));
        let said = self.call.said().await.concat();
        assert!(said.contains("A table for 4, then."), "{said}");
        assert_eq!(self.tools.runs().len(), 1, "after {crashed}");
    }
}

/// Returns the path of a call whose tool was lost.
fn without_tool() -> Vec<&'static str> {
    let nodes = PATH.into_iter();
    nodes
        .map(|node| if node == "booked" { "failed" } else { node })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_node_dies_after_any_move_goes_on_there() {
    let phrases = Phrases::built_in("en").unwrap();
    let back = |words: &str| format!("{} {words}", phrases.lost_you);
    for (node, words) in [
        ("start", phrases.cut_off.to_owned()),
        ("desk", phrases.cut_off.to_owned()),
        ("set", back("A table for 4, then.")),
        ("hint", back("A table for 4, then.")),
        ("book", back("The calendar is gone.")),
        ("booked", back("It is booked for 4.")),
        ("after", phrases.cut_off.to_owned()),
        ("cellar", back("Okay.")),
        ("bye", back(phrases.goodbye())),
    ] {
        let mut walking = Walking::start().await;
        walking.talk(0, |path| path.iter().any(|known| known == node)).await;
        if node == "book" {
            until("the tool", async || walking.tools.runs().len() == 1).await;
        }
        let before = walking.call.said().await.len();
        walking.crash().await;
        assert_eq!(walking.next_words(before).await, words, "{node}");
        let path = if node == "book" { without_tool() } else { PATH.to_vec() };
        walking.ends_by(&path, node).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_move_that_was_not_recorded_is_made_again_and_its_tool_runs_once() {
    for (recorded, words, lost_ms) in [
        ("desk", true, 500),
        ("hint", false, 1_900),
        ("book", false, 2_000),
        ("booked", false, 2_000),
        ("after", true, 500),
        ("cellar", true, 200),
    ] {
        let mut walking = Walking::start().await;
        walking
            .talk(0, |path| path.last().is_some_and(|last| last == recorded))
            .await;
        if words {
            assert!(walking.until_asked(0, &|_| false).await);
        }
        walking.store.hold_facts();
        if words {
            walking.leads_on(0).await;
        }
        sleep(ms(lost_ms)).await;
        assert_eq!(walking.path().last().map(String::as_str), Some(recorded));
        walking.crash().await;
        let path = if recorded == "book" {
            without_tool()
        } else {
            PATH.to_vec()
        };
        walking.ends_by(&path, recorded).await;
    }
}
