//! Operators whose node is killed: the one that passes their audio on, or the one that has the call.

use domain::phrases::Phrases;
use futures_util::{SinkExt, StreamExt};
use support::phone_audio::{MS, PhoneAudio};
use tokio::{
    task::JoinHandle,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_tungstenite::{connect_async, tungstenite::Message};

use super::*;

/// Time for the journal to have what just happened.
const WRITTEN: Duration = Duration::from_secs(1);

/// A call of a silent callee, which an operator has.
struct Operated {
    all: Installation,
    id: String,
    /// Node that has the call.
    holder: usize,
    operator: JoinHandle<()>,
}

impl Operated {
    /// Takes a call over at the node that holds it, or at the other one.
    async fn start(at_holder: bool) -> Option<Self> {
        let all = Installation::start(None).await?;
        let id = all.call_of(interviewing_agent(), SILENT).await;
        all.until(&id, |data| {
            data["status"] == "in_progress" && !lines(data, "Agent").is_empty()
        })
        .await;
        let holder = all.holder().await;
        let path = format!("/public/v1/conversations/{id}");
        let body = json!({ "for": "operate" });
        let ticket = all.client.post(&format!("{path}/live-tickets"), body).await.expect(201);
        let node = if at_holder { holder } else { 1 - holder };
        let base = all.addresses[node].replacen("http", "ws", 1);
        let address = format!("{base}{path}/operate?ticket={}", ticket.text("/data/ticket"));
        let operator = speaks(&address).await;
        sleep(WRITTEN).await;
        Some(Self {
            all,
            id,
            holder,
            operator,
        })
    }

    async fn events(&self, kind: &str) -> Vec<Value> {
        let path = format!("/public/v1/conversations/{}/events?pageSize=100", self.id);
        let events = self.all.client.get(&path).await.expect(200).data().clone();
        let own = events.as_array().unwrap().iter().filter(|event| event["type"] == kind);
        own.map(|event| event["detail"].clone()).collect()
    }

    fn played(&self) -> PhoneAudio {
        PhoneAudio(self.all.stub.played(SILENT))
    }

    fn heard(&self) -> String {
        texts(&PhoneLog::new(self.all.stub.entries()).call(SILENT).heard()).join(" ")
    }

    /// Kills a node, and waits until the phone has heard one of these sentences. The silence depends on the machine, so it
    /// is only printed.
    async fn kill(&mut self, node: usize, sentences: &[&str]) {
        let before_ms = self.played().length_ms();
        let running = self.all.nodes[node].take().unwrap();
        running.signal("KILL");
        let killed = Instant::now();
        while !sentences.iter().any(|sentence| self.heard().contains(sentence)) {
            assert!(killed.elapsed() < WITHIN, "{}", self.heard());
            sleep(Duration::from_millis(50)).await;
        }
        let silence_ms = self.played().longest_silence(before_ms) / MS;
        eprintln!("the phone was silent for {silence_ms} ms");
        drop(running);
        timeout(WITHIN, &mut self.operator).await.unwrap().unwrap();
        let left = self.events("operator_left").await;
        assert_eq!(left, [json!({ "by": "account key", "reason": "lost" })]);
        let end = format!("/public/v1/conversations/{}/end", self.id);
        self.all.client.post(&end, json!({})).await;
        let over = self.all.until(&self.id, |data| data["status"] != "in_progress").await;
        assert_eq!(over["status"], "completed", "{over:#}");
        assert_eq!(self.all.stub.complaints(), Vec::<String>::new());
    }
}

/// Takes a call over, and sends a loud sound until the connection is gone.
async fn speaks(address: &str) -> JoinHandle<()> {
    let (mut socket, _) = connect_async(address).await.unwrap();
    let start = json!({ "event": "start", "format": "pcm_8000" });
    socket.send(Message::Text(start.to_string().into())).await.unwrap();
    let ready = socket.next().await.unwrap().unwrap();
    assert!(ready.to_text().unwrap().contains("ready"), "{ready}");
    tokio::spawn(async move {
        // 100 Hz, which is no voice.
        let wave = (0..160).map(|n| ((f64::from(n) * std::f64::consts::TAU / 80.0).sin() * 6_000.0) as i16);
        let frame: Vec<u8> = wave.flat_map(i16::to_le_bytes).collect();
        let mut frames = interval(Duration::from_millis(20));
        frames.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = frames.tick() => {
                    if socket.send(Message::Binary(frame.clone().into())).await.is_err() {
                        return;
                    }
                }
                message = socket.next() => {
                    if !matches!(message, Some(Ok(_))) {
                        return;
                    }
                }
            }
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_is_back_when_the_node_between_operator_and_call_is_killed() {
    let Some(mut operated) = Operated::start(false).await else {
        return;
    };
    let (holder, between) = (operated.holder, 1 - operated.holder);
    let phrases = Phrases::built_in("en").unwrap();
    // The carrier's audio may have taken the same way.
    operated.kill(between, &[phrases.back_with_you, phrases.cut_off]).await;
    let taken_over = operated.all.figure(holder, "ringback_calls_taken_over_total").await;
    assert_eq!(taken_over, Some(0.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_is_back_at_the_other_node_when_that_of_the_call_and_its_operator_is_killed() {
    for at_holder in [true, false] {
        let Some(mut operated) = Operated::start(at_holder).await else {
            return;
        };
        let holder = operated.holder;
        let phrases = Phrases::built_in("en").unwrap();
        operated.kill(holder, &[phrases.back_with_you]).await;
        let taken_over = operated.all.figure(1 - holder, "ringback_calls_taken_over_total").await;
        assert_eq!(taken_over, Some(1.0), "at holder: {at_holder}");
    }
}
