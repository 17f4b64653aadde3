//! Requests never to be called again, as callees say them in their languages: the number is on the list
//! within a second, and the call ends with a promise.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use sim::exchange::{LogEvent, Script, Step};

use support::{
    words::{interviewing_agent, lines},
    world::World,
};

const NUMBER: &str = "+15550300010";

fn says(words: &[&str]) -> Script {
    let hello = [Step::WaitMs(400), Step::Say("Hello?".into()), Step::UntilAgentSaid];
    let said = words
        .iter()
        .flat_map(|words| [Step::Say((*words).into()), Step::UntilAgentSaid]);
    Script::of(hello.into_iter().chain(said))
}

async fn launch(world: &World, language: &str) -> String {
    let mut agent = interviewing_agent();
    agent["platformSettings"]["callActions"] = json!({ "smartOptOut": true });
    agent["conversationConfig"]["agent"]["primaryLanguage"] = json!(language);
    let agent = world.agent(agent).await;
    let contact = json!({ "phoneNumber": NUMBER, "name": "Maria", "persona": "cooperative", "script": "said" });
    let body = json!({ "name": "Check-ups", "agentId": agent, "contacts": [contact], "launch": true });
    world
        .client
        .post("/public/v1/campaigns", body)
        .await
        .expect(201)
        .text("/data/campaignId")
}

async fn is_listed(world: &World) -> bool {
    let list = world
        .client
        .get("/public/v1/do-not-call")
        .await
        .expect(200)
        .data()
        .clone();
    list.as_array().unwrap().iter().any(|row| row["phoneNumber"] == NUMBER)
}

/// Returns whether the callee is on the list a second after having said these words.
async fn listed_within_a_second(world: &World, words: &str) -> bool {
    let said = |entries: Vec<sim::exchange::LogEntry>| {
        let mut said = entries.into_iter();
        said.any(|entry| matches!(&entry.event, LogEvent::Said { text, .. } if text == words))
    };
    world.until(60, "those words", |_| said(world.entries())).await;
    // The entry is written when the words are out; polling takes a quarter of a second more.
    for _ in 0..10 {
        if is_listed(world).await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    false
}

/// Makes a call in which the callee says these words; returns its conversation.
async fn called(language: &str, words: &[&str]) -> (World, Value, bool) {
    let world = World::with_scripts(BTreeMap::from([("said".to_owned(), says(words))])).await;
    let campaign = launch(&world, language).await;
    let listed = listed_within_a_second(&world, words.last().unwrap()).await;
    // A callee that asks to be called later leaves the campaign waiting.
    let its = world.conversations(&campaign).await.pop().unwrap();
    let conversation = world.until_over(its["conversationId"].as_str().unwrap(), 60).await;
    (world, conversation, listed)
}

#[tokio::test(start_paused = true)]
async fn a_clear_wish_is_on_the_list_within_a_second_in_every_language() {
    for (language, wish, capabilities) in [
        (
            "en",
            "Please stop calling me.",
            "Understood, we won't call you again. Goodbye.",
        ),
        (
            "hi",
            "मुझे दोबारा फ़ोन मत कीजिए।",
            "समझ गया, हम आपको दोबारा कॉल नहीं करेंगे। नमस्ते।",
        ),
        (
            "hi",
            "mujhe dobara call mat karna",
            "समझ गया, हम आपको दोबारा कॉल नहीं करेंगे। नमस्ते।",
        ),
        (
            "es",
            "No me llame más, por favor.",
            "Entendido, no volveremos a llamarle. Adiós.",
        ),
        (
            "fr",
            "Retirez-moi de votre liste.",
            "C'est compris, nous ne vous appellerons plus. Au revoir.",
        ),
        (
            "de",
            "Streichen Sie mich von Ihrer Liste.",
            "Verstanden, wir rufen Sie nicht mehr an. Auf Wiederhören.",
        ),
        (
            "de",
            "Rufen Sie mich nicht mehr an.",
            "Verstanden, wir rufen Sie nicht mehr an. Auf Wiederhören.",
        ),
    ] {
        let (_world, conversation, listed) = called(language, &[wish]).await;
        assert!(listed, "{wish}: {conversation:#}");
        // Characters of Devanagari take long to say in the test's voice, and last words have a limit.
        let heard = lines(&conversation, "Agent").pop().unwrap();
        assert!(heard.len() > 20 && capabilities.starts_with(&heard), "{heard}");
        assert!(
            lines(&conversation, "User").iter().any(|line| line == wish),
            "{conversation:#}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_likely_wish_is_asked_about_once() {
    let likely = "Just leave me alone.";
    let asks = "Do you want us never to call you again?";
    for (words, listed) in [
        (&[likely, "Yes."][..], true),
        (&[likely, "No, it's fine."], false),
        // A repetition is not a yes, and nobody is asked twice.
        (&[likely, "Well. Who are you?", likely], false),
        // A yes to another question is no answer to this one.
        (&[likely, "Well. Who are you?", "Yes."], false),
        (&[likely, "No more calls."], true),
    ] {
        let (world, conversation, within) = called("en", words).await;
        let asked = lines(&conversation, "Agent")
            .iter()
            .filter(|line| line.contains(asks))
            .count();
        assert_eq!(asked, 1, "{conversation:#}");
        assert_eq!(
            (within, is_listed(&world).await),
            (listed, listed),
            "{words:?}: {conversation:#}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn who_wants_to_be_called_another_time_is_not_listed() {
    for words in [
        "Call me again tomorrow.",
        "Don't call me sir.",
        "I'm driving, can you call me back?",
    ] {
        let (world, conversation, _) = called("en", &[words]).await;
        assert!(!is_listed(&world).await, "{words}: {conversation:#}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_hangs_up_at_once_is_listed_for_a_clear_wish_only() {
    for (words, listed) in [("Never call me again!", true), ("Just leave me alone.", false)] {
        let hello = [Step::WaitMs(400), Step::Say("Hello?".into()), Step::UntilAgentSaid];
        let leaves = [Step::Say(words.into()), Step::WaitMs(1_200), Step::HangUp];
        let script = Script::of(hello.into_iter().chain(leaves));
        let world = World::with_scripts(BTreeMap::from([("said".to_owned(), script)])).await;
        let campaign = launch(&world, "en").await;
        world.until_status(&campaign, "completed", 120).await;
        assert_eq!(is_listed(&world).await, listed, "{words}");
    }
}
