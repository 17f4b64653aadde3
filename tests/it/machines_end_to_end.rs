//! The kind of callee decides what the call does: mailboxes, menus, assistants, announcements, and
//! people in all their ways.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sim::exchange::{Script, Step};

use support::{
    phone_log::PhoneCall,
    words::{GREETING, MESSAGE, interviewing_agent, lines, texts, tidy},
    world::World,
};

const NUMBER: &str = "+15550100040";
const MAILBOX: &str = "You have reached the voicemail of Bo. Please leave a message after the tone.";

fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

fn somebody(text: &str) -> Step {
    Step::SayAs {
        voice: "somebody else".into(),
        text: text.to_owned(),
    }
}

/// Returns the same agent, without a message for mailboxes.
fn without_message() -> Value {
    let mut agent = interviewing_agent();
    agent["conversationConfig"]["agent"]["prompt"]["builtInTools"] = json!({});
    agent
}

/// A finished call: its conversation and the phone's record.
struct Over {
    conversation: Value,
    phone: PhoneCall,
    replies: Vec<String>,
}

impl Over {
    async fn of(agent: Value, steps: Vec<Step>) -> Self {
        let scripts = BTreeMap::from([("told".to_owned(), Script::of(steps))]);
        Self::with(World::with_scripts(scripts).await, agent, json!({ "script": "told" })).await
    }

    async fn persona(persona: &str) -> Self {
        Self::with(
            World::start().await,
            interviewing_agent(),
            json!({ "persona": persona }),
        )
        .await
    }

    async fn with(world: World, agent: Value, hints: Value) -> Self {
        let agent = world.agent(agent).await;
        let body = json!({ "agentId": agent, "phoneNumber": NUMBER, "name": "Maria", "dynamicVariables": hints });
        let made = world.client.post("/public/v1/calls", body).await;
        let path = format!(
            "/public/v1/conversations/{}",
            made.expect(201).text("/data/conversationId")
        );
        for _ in 0..150 {
            world.pass(1).await;
            let conversation = world.client.get(&path).await.expect(200).data().clone();
            if !["scheduled", "in_progress"].contains(&conversation["status"].as_str().unwrap()) {
                world.pass(2).await;
                return Self {
                    conversation: world.client.get(&path).await.expect(200).data().clone(),
                    phone: world.phones().call(NUMBER),
                    replies: world.replies.all(),
                };
            }
        }
        panic!("the call does not end");
    }

    fn heard(&self) -> Vec<String> {
        texts(&self.phone.heard())
    }

    /// Asserts that the call completed, and what its conversation says about the mailbox.
    fn is_completed(&self, mailbox: bool) {
        assert_eq!(self.conversation["status"], "completed", "{:#}", self.conversation);
        assert_eq!(
            self.conversation["voiceMailDetected"], mailbox,
            "{:#}",
            self.conversation
        );
        // The transcript contains no word of the agent that was not played; half a word may have been.
        let spoken = tidy(&lines(&self.conversation, "Agent").join(" "));
        let heard = self.heard().join(" ");
        let (spoken, heard) = (spoken.split_whitespace().count(), heard.split_whitespace().count());
        assert!(spoken <= heard + 1, "{:#}\n{:?}", self.conversation, self.heard());
    }

    /// Asserts that the whole message was heard last, and nothing of it before `from_ms`.
    fn heard_the_message(&self, from_ms: u64, within_ms: u64) {
        let last = self.phone.heard().pop().unwrap_or_else(|| panic!("nothing was heard"));
        assert_eq!(tidy(&last.text), MESSAGE, "{:?}", self.phone);
        assert!(last.whole, "{last:?}");
        let limits = from_ms..=from_ms + within_ms;
        assert!(limits.contains(&last.from_ms), "{limits:?}: {last:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_waits_for_a_late_beep() {
    let steps = vec![say(MAILBOX), Step::WaitMs(2_000), Step::Beep, Step::WaitMs(30_000)];
    let over = Over::of(interviewing_agent(), steps).await;
    over.is_completed(true);
    over.heard_the_message(over.phone.beeped_ms().unwrap(), 700);
    assert_eq!(over.heard(), [MESSAGE], "nothing was said before");
}

#[tokio::test(start_paused = true)]
async fn a_message_begun_before_a_beep_that_came_very_late_is_said_again() {
    let steps = vec![say(MAILBOX), Step::WaitMs(4_500), Step::Beep, Step::WaitMs(30_000)];
    let over = Over::of(interviewing_agent(), steps).await;
    over.is_completed(true);
    let beeped_ms = over.phone.beeped_ms().unwrap();
    let heard = over.phone.heard();
    let text = tidy(&heard.last().unwrap().text);
    assert!(text.ends_with(MESSAGE), "{text}");
    assert!(heard[0].from_ms < beeped_ms, "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn a_mailbox_that_does_not_beep_gets_its_message_after_silence() {
    let over = Over::of(interviewing_agent(), vec![say(MAILBOX), Step::WaitMs(40_000)]).await;
    over.is_completed(true);
    let greeted_ms = over.phone.said()[0].to_ms;
    over.heard_the_message(greeted_ms + 2_400, 700);
}

#[tokio::test(start_paused = true)]
async fn a_greeting_in_many_sentences_makes_no_dialogue() {
    let steps = vec![
        say("Hi there, you have reached Bo and Kim."),
        Step::WaitMs(600),
        say("We cannot come to the phone right now."),
        Step::WaitMs(700),
        say("Leave your name and number after the beep."),
        Step::WaitMs(500),
        Step::Beep,
        Step::WaitMs(30_000),
    ];
    let over = Over::of(interviewing_agent(), steps).await;
    over.is_completed(true);
    over.heard_the_message(over.phone.beeped_ms().unwrap(), 700);
    let before = &over.heard()[..over.heard().len() - 1];
    let greeting_or_part = |text: &String| GREETING.starts_with(text.trim_end_matches(['.', ' ']));
    assert!(before.iter().all(greeting_or_part), "{before:?}");
}

#[tokio::test(start_paused = true)]
async fn a_mailbox_is_hung_up_on_where_there_is_no_message() {
    let over = Over::of(without_message(), vec![say(MAILBOX), Step::Beep, Step::WaitMs(60_000)]).await;
    over.is_completed(true);
    assert_eq!(over.heard(), [""; 0]);
    assert!(over.phone.talked_ms() < 8_000, "{} ms", over.phone.talked_ms());
}

#[tokio::test(start_paused = true)]
async fn somebody_who_picks_up_in_the_middle_of_the_greeting_is_interviewed() {
    let steps = vec![
        say("Please leave a message after the tone. Or send me a letter."),
        Step::WaitMs(300),
        somebody("Hello? Sorry, I am here."),
        Step::Cooperate,
    ];
    let over = Over::of(interviewing_agent(), steps).await;
    over.is_completed(false);
    assert!(
        over.heard().iter().any(|text| text.contains(GREETING)),
        "{:?}",
        over.heard()
    );
    assert!(
        !over.heard().iter().any(|text| text.contains("call us back")),
        "{:?}",
        over.heard()
    );
    assert!(
        over.conversation["dataCollected"].is_object(),
        "{:#}",
        over.conversation
    );
}

#[tokio::test(start_paused = true)]
async fn people_are_talked_to_however_they_answer() {
    for opening in [
        "Thank you for calling Miller's, this is Dana, how can I help you?",
        "He is not available right now, can I take a message?",
        "Is this a voicemail?",
        "Oh hello there, I was just in the garden with the children and can hardly hear you at all.",
    ] {
        let over = Over::of(without_message(), vec![say(opening), Step::Cooperate]).await;
        over.is_completed(false);
        assert!(
            over.heard().iter().any(|text| text.contains(GREETING)),
            "{opening}: {:?}",
            over.heard()
        );
        assert!(
            over.conversation["dataCollected"].is_object(),
            "{opening}: {:#}",
            over.conversation
        );
    }
}

#[tokio::test(start_paused = true)]
async fn announcements_end_the_call_at_once() {
    for (text, mailbox) in [
        (
            "The mailbox is full and cannot accept any messages at this time. Goodbye.",
            true,
        ),
        (
            "The number you have dialed is not in service. Please check the number.",
            false,
        ),
    ] {
        let over = Over::of(interviewing_agent(), vec![say(text), Step::WaitMs(60_000)]).await;
        over.is_completed(mailbox);
        assert_eq!(over.heard(), [""; 0], "{text}");
        assert!(over.phone.talked_ms() < 8_000, "{text}: {} ms", over.phone.talked_ms());
    }
}

#[tokio::test(start_paused = true)]
async fn an_assistant_is_told_who_calls_and_the_person_is_greeted() {
    let over = Over::persona("screening").await;
    over.is_completed(false);
    let heard = over.heard();
    assert!(heard[0].contains("Ava from Greenfield Dental"), "{heard:?}");
    let said = texts(&over.phone.said());
    let hello = said.iter().position(|text| text.starts_with("Hello, this is")).unwrap();
    let hello_ms = over.phone.said()[hello].to_ms;
    let greeted = over
        .phone
        .heard()
        .into_iter()
        .find(|words| words.from_ms > hello_ms)
        .unwrap();
    assert!(tidy(&greeted.text).starts_with(GREETING), "{greeted:?}");
    assert!(
        over.conversation["dataCollected"].is_object(),
        "{:#}",
        over.conversation
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_said_to_a_menu_and_its_call_completes() {
    let menu = "Thank you for calling Northwind. For sales, press 1. For service, press 2.";
    let steps = vec![say(menu), Step::WaitMs(4_000), say(menu), Step::WaitMs(60_000)];
    let over = Over::of(interviewing_agent(), steps).await;
    over.is_completed(false);
    assert_eq!(over.replies, [""; 0], "no dialogue with a machine");
    assert!(over.phone.talked_ms() < 30_000, "{} ms", over.phone.talked_ms());
}

#[tokio::test(start_paused = true)]
async fn a_person_behind_a_menu_is_talked_to() {
    let steps = vec![
        say("Welcome to Northwind. For sales, press one. For service, press two."),
        Step::WaitMs(3_000),
        somebody("Northwind, Dana speaking, how can I help you?"),
        Step::Cooperate,
    ];
    let over = Over::of(interviewing_agent(), steps).await;
    over.is_completed(false);
    assert!(
        over.heard().iter().any(|text| text.contains(GREETING)),
        "{:?}",
        over.heard()
    );
    assert!(
        over.conversation["dataCollected"].is_object(),
        "{:#}",
        over.conversation
    );
}
