//! Sentences that the agent says by itself, in its own language: built in, or made once by its model.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use domain::{
    agent::Agent,
    ports::analyst::{Analyst, AnalystError, Question},
};
use serde_json::{Map, Value, json};

use support::{
    words::{interviewing_agent, lines},
    world::{World, WorldSettings},
};

const NUMBER: &str = "+15550100032";
const ENGLISH: &str = "I'm afraid our time is up. Goodbye.";

/// Translates every sentence into its name, or fails.
#[derive(Clone, Default)]
struct Translator {
    asked: Arc<AtomicUsize>,
    is_down: bool,
}

#[async_trait]
impl Analyst for Translator {
    fn is_asked(&self, agent: &Agent) -> bool {
        agent.name == "Ava"
    }

    async fn answer(&self, question: Question) -> Result<Value, AnalystError> {
        if question.schema["properties"].get("time_is_up").is_none() {
            return Err(AnalystError::Unavailable("asked about phrases only".into()));
        }
        assert!(question.instructions.contains("`sw`"), "{}", question.instructions);
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.is_down {
            return Err(AnalystError::Unavailable("down".into()));
        }
        let sentences = question.record.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let name = line["name"].as_str().unwrap().to_owned();
            let text = json!(format!("Samahani {}. Kwaheri.", name.replace('_', " ")));
            let text = if line["english"].is_array() {
                json!([text])
            } else {
                text
            };
            (name, text)
        });
        Ok(Value::Object(sentences.collect::<Map<_, _>>()))
    }
}

async fn world(translator: &Translator) -> World {
    World::start_with(WorldSettings {
        analyst: Arc::new(translator.clone()),
        ..WorldSettings::default()
    })
    .await
}

/// Makes a call to a silent callee that reaches its longest duration; returns the agent's last words.
async fn last_words(world: &World, name: &str, language: &str) -> String {
    let mut agent = interviewing_agent();
    agent["name"] = json!(name);
    agent["conversationConfig"]["agent"]["primaryLanguage"] = json!(language);
    agent["conversationConfig"]["turn"] = json!({ "turnTimeout": -1, "silenceEndCallTimeout": -1 });
    agent["conversationConfig"]["conversation"] = json!({ "maxDurationSeconds": 24 });
    let agent = world.agent(agent).await;
    let campaign = world.launch(&agent, &[(NUMBER, "silent")], json!({})).await;
    world.until_status(&campaign, "completed", 300).await;
    lines(&world.conversation(&campaign, NUMBER).await, "Agent")
        .pop()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_goodbye_at_the_longest_duration_is_in_the_agents_language() {
    let translator = Translator::default();
    let world = world(&translator).await;
    for (language, goodbye) in [
        ("tr", "Maalesef süremiz doldu. Hoşça kalın."),
        ("uk-UA", "На жаль, наш час вичерпано. До побачення."),
        ("el", "Δυστυχώς ο χρόνος μας τελείωσε. Γεια σας."),
    ] {
        // Such characters take long to say in the test's voice, and last words have a limit.
        let heard = last_words(&world, "Ava", language).await;
        assert!(heard.len() > 12 && goodbye.starts_with(&heard), "{heard}");
    }
    assert_eq!(translator.asked.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_language_without_sentences_gets_them_from_the_model_once() {
    let translator = Translator::default();
    let world = world(&translator).await;
    for _ in 0..2 {
        assert_eq!(last_words(&world, "Ava", "sw").await, "Samahani time is up. Kwaheri.");
    }
    assert_eq!(translator.asked.load(Ordering::Relaxed), 1);
    assert_eq!(last_words(&world, "Without a model", "eu").await, ENGLISH);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_down_leaves_english_and_is_asked_by_the_next_call() {
    let translator = Translator {
        is_down: true,
        ..Translator::default()
    };
    let world = world(&translator).await;
    for asked in 1..=2 {
        assert_eq!(last_words(&world, "Ava", "sw").await, ENGLISH);
        assert_eq!(translator.asked.load(Ordering::Relaxed), asked);
    }
}
