//! One campaign with every persona: each call has its persona's outcome, and the transcript is what the
//! phone said and heard.

use serde_json::{Value, json};
use sim::exchange::{Figures, Persona};

use support::{
    phone_log::{PhoneCall, Words},
    words::{GREETING, MESSAGE, collected, interviewing_agent, lines, texts, tidy},
    world::World,
};

/// A stopped voice resumes within this time.
const RESUMES_US: u64 = 300_000;

/// Returns the contacts: number and persona. Contacts with the same persona differ in what they say and when.
fn contacts(personas: &[&'static str], of_each: usize) -> Vec<(String, &'static str)> {
    let callees = |(at, name): (usize, &&'static str)| {
        let name = *name;
        (0..of_each).map(move |n| (format!("+1555030{at:02}{n}1"), name))
    };
    personas.iter().enumerate().flat_map(callees).collect()
}

/// A finished call, as the phone and the service recorded it.
struct Over {
    persona: &'static str,
    phone: PhoneCall,
    conversation: Value,
}

impl Over {
    fn said(&self) -> Vec<String> {
        texts(&self.phone.said())
    }

    fn heard(&self) -> Vec<Words> {
        self.phone.heard()
    }

    fn figures(&self) -> Figures {
        let (_, _, figures) = self.phone.ended().unwrap();
        figures.unwrap_or_default()
    }
}

/// Returns an agent that also asks for a number, and respects opt-outs.
fn agent() -> Value {
    let mut agent = interviewing_agent();
    agent["platformSettings"]["dataCollection"]["entities"]["orderNumber"] =
        json!({ "type": "string", "description": "your order number" });
    agent["platformSettings"]["callActions"] = json!({ "smartOptOut": true });
    agent
}

/// Calls these personas in one campaign.
async fn calls(personas: &[&'static str], of_each: usize) -> (World, Vec<Over>) {
    let world = World::start().await;
    let agent = world.agent(agent()).await;
    let contacts = contacts(personas, of_each);
    let listed: Vec<(&str, &str)> = contacts
        .iter()
        .map(|(number, persona)| (number.as_str(), *persona))
        .collect();
    let campaign = world.launch(&agent, &listed, json!({})).await;
    world.until_status(&campaign, "completed", 400).await;
    // The analysis follows the hang-up.
    world.pass(2).await;
    let mut over = Vec::new();
    for (number, persona) in &contacts {
        // A number out of service is refused before there is a call.
        if *persona != "invalid" {
            over.push(Over {
                persona,
                phone: world.phones().call(number),
                conversation: world.conversation(&campaign, number).await,
            });
        }
    }
    for (number, _) in contacts.iter().filter(|(_, persona)| *persona == "invalid") {
        let conversation = world.conversation(&campaign, number).await;
        assert_eq!(conversation["errorMessage"], "invalid-number", "{conversation:#}");
    }
    (world, over)
}

#[tokio::test(start_paused = true)]
async fn each_persona_comes_to_its_outcome() {
    let all: Vec<&'static str> = Persona::ALL.iter().map(|(name, _)| *name).collect();
    let (world, over) = calls(&all, 1).await;
    let mut wrong = Vec::new();
    for call in &over {
        let conversation = &call.conversation;
        let (status, error) = match call.persona {
            "busy" | "no-answer" => ("failed", Some(call.persona)),
            "rejects" => ("failed", Some("rejected")),
            "drops" => ("failed", Some("media-lost")),
            _ => ("completed", None),
        };
        let voicemail = call.persona == "voicemail";
        let as_expected = conversation["status"] == status
            && conversation["errorMessage"].as_str() == error
            && conversation["voiceMailDetected"] == voicemail;
        if !as_expected {
            let is = ["status", "errorMessage", "voiceMailDetected", "transcript"].map(|field| &conversation[field]);
            wrong.push(format!("{}: {is:?}", call.persona));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(world.live_calls(), 0);
}

/// Personas whose speech is transcribed as it was said, and who hear everything.
const PLAIN: [&str; 9] = [
    "cooperative",
    "hello-first",
    "hesitant",
    "spells",
    "echo",
    "noisy",
    "hum",
    "opts-out",
    "screening",
];

/// Removes words that are repeated immediately: after a cough playout resumes at the start of the interrupted word.
fn said_once(text: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut rest: Vec<&str> = text.split_whitespace().collect();
    while !rest.is_empty() {
        let again = (1..=3).find(|n| rest.len() >= *n && words.ends_with(&rest[..*n]));
        match again {
            Some(n) => drop(rest.drain(..n)),
            None => words.push(rest.remove(0)),
        }
    }
    words.join(" ")
}

#[tokio::test(start_paused = true)]
async fn transcripts_are_what_phones_said_and_heard() {
    let (_, over) = calls(&PLAIN, 1).await;
    let mut wrong = Vec::new();
    for call in &over {
        let (user, agent) = (lines(&call.conversation, "User"), lines(&call.conversation, "Agent"));
        // A turn may contain several utterances, and a speech may span several turns.
        if user.join(" ") != call.said().join(" ") {
            wrong.push(format!("{} said {:?}, written {user:?}", call.persona, call.said()));
        }
        let heard = texts(&call.heard());
        if agent.join(" ") != said_once(&heard.join(" ")) {
            wrong.push(format!("{} heard {heard:?}, written {agent:?}", call.persona));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(start_paused = true)]
async fn who_pauses_is_not_cut_off_and_a_spelled_number_is_collected_whole() {
    let (_, over) = calls(&["hesitant", "spells"], 2).await;
    for call in &over {
        let (said, figures) = (call.said(), call.figures());
        assert_eq!(
            figures.cut_offs, 0,
            "{}: {:?} {said:?}",
            call.persona, call.conversation["transcript"]
        );
        let digits = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
        let number = said.iter().map(|text| digits(text)).find(|number| number.len() == 10);
        let number = number.unwrap_or_else(|| panic!("no number in {said:?}"));
        assert_eq!(collected(&call.conversation, "orderNumber"), Some(&*number), "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_speaks_first_hears_the_whole_greeting() {
    let (_, over) = calls(&["hello-first"], 6).await;
    for call in &over {
        let heard = call.heard();
        // An agent that is interrupted may begin again; in the end all of the greeting is heard.
        let whole = heard.iter().any(|words| tidy(&words.text).contains(GREETING));
        assert!(whole, "{heard:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_sound_but_words_stops_the_agent_for_good() {
    let (_, over) = calls(&["backchannel", "noisy", "echo", "hum"], 2).await;
    for call in &over {
        let figures = call.figures();
        assert!(
            figures.resume_us.len() as u32 == figures.false_stops
                && figures.resume_us.iter().all(|us| *us <= RESUMES_US),
            "{}: {figures:?} {:?}",
            call.persona,
            call.heard()
        );
        let quiet = ["echo", "hum"].contains(&call.persona);
        assert!(!quiet || figures.false_stops == 0, "{}: {figures:?}", call.persona);
        assert!(
            collected(&call.conversation, "orderNumber").is_some(),
            "{}: {:#}",
            call.persona,
            call.conversation
        );
    }
}

#[tokio::test(start_paused = true)]
async fn who_opts_out_is_never_called_again() {
    let (world, over) = calls(&["opts-out"], 1).await;
    let listed = world
        .client
        .get("/public/v1/do-not-call")
        .await
        .expect(200)
        .data()
        .clone();
    let listed: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["phoneNumber"].as_str().unwrap())
        .collect();
    for call in &over {
        assert!(
            listed.contains(&&*call.phone.to),
            "{} is not in {listed:?}",
            call.phone.to
        );
    }
}

#[tokio::test(start_paused = true)]
async fn machines_are_told_from_people() {
    let (_, over) = calls(&["voicemail", "screening", "ivr"], 1).await;
    for call in &over {
        let heard = texts(&call.heard());
        match call.persona {
            "voicemail" => assert_eq!(heard, [MESSAGE]),
            // A person answers after the assistant, and behind a key of the menu.
            _ => assert!(
                collected(&call.conversation, "orderNumber").is_some(),
                "{:#}",
                call.conversation
            ),
        }
    }
}
