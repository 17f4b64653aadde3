//! Compares the latency that the service publishes with what the phone said and heard, and checks that a
//! reply prepared ahead changes when the agent answers, not what it says.

use std::time::Duration;

use actors::{call::Speculation, node::NodeSettings};
use serde_json::{Value, json};

use support::{
    phone_log::PhoneCall,
    words::{interviewing_agent, lines},
    world::World,
};

const NUMBER: &str = "+15550100010";

/// Delay of the model's first word.
const MODEL_MS: u64 = 120;

/// Allowed difference between the service's figure and the phone's: a frame.
const TOLERANCE_MS: u64 = 20;

struct Talked {
    world: World,
    conversation: Value,
    phone: PhoneCall,
}

async fn talked(speculation: Speculation) -> Talked {
    let settings = NodeSettings {
        speculation,
        ..NodeSettings::default()
    };
    let world = World::start_with(settings).await;
    world.replies.delay(Duration::from_millis(MODEL_MS));
    let agent = world.agent(interviewing_agent()).await;
    let campaign = world.launch(&agent, &[(NUMBER, "cooperative")], json!({})).await;
    world.until_status(&campaign, "completed", 120).await;
    world.pass(2).await;
    let conversation = world.conversation(&campaign, NUMBER).await;
    let phone = world.phones().call(NUMBER);
    Talked {
        world,
        conversation,
        phone,
    }
}

impl Talked {
    fn figures(&self, name: &str) -> Vec<Value> {
        let id = self.conversation["conversationId"].as_str().unwrap();
        let events = self.world.events(id).into_iter();
        events
            .filter(|(event, _)| event == name)
            .map(|(_, figures)| figures)
            .collect()
    }

    /// Returns the times from the last voiced frame of each utterance of the phone to the first of what it heard next.
    fn waits_ms(&self) -> Vec<u64> {
        let heard = self.phone.heard();
        let said = self.phone.said().into_iter();
        said.filter_map(|said| {
            let answer = heard.iter().find(|heard| heard.from_ms >= said.to_ms)?;
            Some(answer.from_ms - said.to_ms)
        })
        .collect()
    }
}

#[tokio::test(start_paused = true)]
async fn the_published_latency_is_what_the_phone_measures() {
    for speculation in [Speculation::Off, Speculation::Voice] {
        let talked = talked(speculation).await;
        let (published, measured) = (talked.figures("reply"), talked.waits_ms());
        assert!(measured.len() >= 3, "{:?}", talked.phone);
        assert_eq!(published.len(), measured.len(), "{published:?} {measured:?}");
        for (reply, wait_ms) in published.iter().zip(measured) {
            let playout_ms = reply["playoutMs"].as_u64().unwrap();
            assert!(
                playout_ms.abs_diff(wait_ms) <= TOLERANCE_MS,
                "{reply} against {wait_ms} ms"
            );
            check_order(reply);
        }
    }
}

/// Checks that each step comes after the one it needs.
fn check_order(reply: &Value) {
    let at = |name: &str| reply[name].as_i64().unwrap_or(i64::MIN);
    assert!(at("askedMs") <= at("firstTokenMs"), "{reply}");
    assert!(at("firstTokenMs") <= at("firstAudioMs"), "{reply}");
    assert!(at("firstAudioMs") <= at("playoutMs"), "{reply}");
    assert!(at("turnEndMs") <= at("playoutMs"), "{reply}");
}

#[tokio::test(start_paused = true)]
async fn a_reply_made_ahead_comes_sooner_and_is_the_same() {
    let mut transcripts = Vec::new();
    let mut beyond = Vec::new();
    for speculation in [Speculation::Off, Speculation::Text, Speculation::Voice] {
        let talked = talked(speculation).await;
        let replies = talked.figures("reply");
        let answers = replies.iter().filter(|reply| reply["askedMs"].is_i64());
        let waits: Vec<i64> = answers
            .map(|reply| reply["playoutMs"].as_i64().unwrap() - reply["turnEndMs"].as_i64().unwrap())
            .collect();
        assert!(waits.len() >= 2, "{replies:?}");
        beyond.push(waits.into_iter().max().unwrap());
        let used = talked.figures("speculation_used").len();
        assert_eq!(used > 0, speculation != Speculation::Off, "{speculation:?}");
        transcripts.push((
            lines(&talked.conversation, "User"),
            lines(&talked.conversation, "Agent"),
        ));
    }
    assert!(
        transcripts.iter().all(|same| *same == transcripts[0]),
        "{transcripts:?}"
    );
    let [off, text, voice] = beyond[..] else {
        panic!("{beyond:?}")
    };
    assert!(off >= MODEL_MS as i64, "{beyond:?}");
    assert!(
        text <= 40 && voice <= 40,
        "the pause hides the model's time: {beyond:?}"
    );
}
