//! Times at which the agent speaks up, waits and ends, measured at the phone. Times count from the
//! opening of its media.

use serde_json::{Value, json};

use support::{
    phone_log::PhoneCall,
    words::{GREETING, interviewing_agent, lines, texts},
    world::World,
};

const NUMBER: &str = "+15550100032";

/// Frames of 20 ms between a decision and its first sound at the phone.
const SOON_MS: u64 = 100;

/// Makes a call to a persona by an agent with these `turn` settings and this longest duration; returns the
/// call and its conversation.
async fn call(persona: &str, turn: Value, max_duration_seconds: u64) -> (PhoneCall, Value) {
    let world = World::start().await;
    let mut agent = interviewing_agent();
    agent["conversationConfig"]["turn"] = turn;
    agent["conversationConfig"]["conversation"] = json!({ "maxDurationSeconds": max_duration_seconds });
    let agent = world.agent(agent).await;
    let campaign = world.launch(&agent, &[(NUMBER, persona)], json!({})).await;
    world.until_status(&campaign, "completed", 300).await;
    (world.phones().call(NUMBER), world.conversation(&campaign, NUMBER).await)
}

#[tokio::test(start_paused = true)]
async fn the_greeting_waits_for_the_callees_first_words() {
    let (phone, _) = call("cooperative", json!({}), 75).await;
    let (hello, greeting) = (&phone.said()[0], &phone.heard()[0]);
    assert_eq!(greeting.text, GREETING);
    // A hello that begins before 1.2 s and ends after it.
    assert!(hello.from_ms < 1_200, "{hello:?}");
    let pause_ms = greeting.from_ms.checked_sub(hello.to_ms);
    assert!(pause_ms.is_some_and(|ms| ms < 1_000), "{hello:?} {greeting:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_callee_is_greeted_after_1_2_seconds() {
    let (phone, _) = call("silent", json!({ "silenceEndCallTimeout": 5 }), 75).await;
    let greeting = &phone.heard()[0];
    assert_eq!(greeting.text, GREETING);
    assert!((1_200..1_200 + SOON_MS).contains(&greeting.from_ms), "{greeting:?}");
}

#[tokio::test(start_paused = true)]
async fn turn_timeout_makes_the_agent_speak_up() {
    for seconds in [2, 5] {
        let turn = json!({ "turnTimeout": seconds, "silenceEndCallTimeout": -1 });
        let (phone, conversation) = call("silent", turn, 75).await;
        let heard = phone.heard();
        // The greeting, two questions, and the goodbye at the third silence.
        assert_eq!(heard.len(), 4, "{heard:?}");
        for pair in heard.windows(2) {
            let silence_ms = pair[1].from_ms - pair[0].to_ms;
            let expected_ms = seconds * 1_000;
            assert!((expected_ms..expected_ms + SOON_MS).contains(&silence_ms), "{heard:?}");
        }
        assert!(heard[1].text.starts_with("Are you still there?"), "{heard:?}");
        assert!(heard[3].text.ends_with("Goodbye!") && heard[3].whole, "{heard:?}");
        assert_eq!(lines(&conversation, "Agent"), texts(&heard));
    }
}

#[tokio::test(start_paused = true)]
async fn silence_end_call_timeout_counts_all_silence_of_the_user() {
    let turn = json!({ "turnTimeout": 4, "silenceEndCallTimeout": 9 });
    let (phone, _) = call("silent", turn, 75).await;
    let heard = phone.heard();
    let mut silence_ms: u64 = heard.windows(2).map(|pair| pair[1].from_ms - pair[0].to_ms).sum();
    silence_ms += phone.talked_ms() - heard.last().unwrap().to_ms;
    assert!(
        (9_000..9_000 + SOON_MS * heard.len() as u64).contains(&silence_ms),
        "{silence_ms} {heard:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn without_turn_timeout_the_agent_waits_in_silence() {
    let turn = json!({ "turnTimeout": -1, "silenceEndCallTimeout": 12 });
    let (phone, _) = call("silent", turn, 75).await;
    let heard = phone.heard();
    assert_eq!(heard.len(), 1, "{heard:?}");
    let silence_ms = phone.talked_ms() - heard[0].to_ms;
    assert!((12_000..12_000 + SOON_MS).contains(&silence_ms), "{silence_ms}");
}

#[tokio::test(start_paused = true)]
async fn the_longest_duration_ends_with_a_closing_sentence() {
    for (persona, seconds) in [("cooperative", 20), ("silent", 14), ("silent", 24)] {
        check_closing(persona, seconds).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_speech_cut_off_by_the_closing_sentence_is_kept_as_far_as_it_was_heard() {
    for seconds in 17..=21 {
        let heard = check_closing("silent", seconds).await;
        assert!(heard.starts_with("Are you"), "{heard}");
        assert!(!heard.contains("a visit?"), "it was to be cut: {heard}");
    }
}

/// Returns the last speech that the phone heard, which the closing sentence ends.
async fn check_closing(persona: &str, seconds: u64) -> String {
    let turn = json!({ "turnTimeout": 4, "silenceEndCallTimeout": -1 });
    let (phone, conversation) = call(persona, turn, seconds).await;
    let heard = phone.heard();
    let last = &heard.last().unwrap().text;
    // It may interrupt the agent's own words, but is not interrupted itself.
    assert!(last.ends_with("I'm afraid our time is up. Goodbye."), "{heard:?}");
    let (least, most) = (seconds * 1_000 - 5_000, seconds * 1_000 + SOON_MS);
    assert!((least..=most).contains(&phone.talked_ms()), "{} ms", phone.talked_ms());
    assert_eq!(conversation["status"], "completed");
    let duration = conversation["conversationDuration"].as_u64().unwrap();
    assert!((seconds - 5..=seconds).contains(&duration), "{conversation}");
    // To the phone the closing sentence is part of the speech that it interrupted.
    let spoken = lines(&conversation, "Agent").join(" ");
    assert_eq!(spoken, texts(&heard).join(" "), "{persona} {seconds}");
    last.clone()
}
