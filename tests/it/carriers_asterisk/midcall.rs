//! What happens in the middle of a call through an Asterisk: the agent is interrupted, keys are pressed, audio is lost,
//! a machine answers, somebody hangs up.

use std::collections::BTreeMap;

use serde_json::json;
use sim::{
    exchange::{LogEvent, Step},
    stub_carriers::asterisk::{AsteriskFaults, AsteriskSettings},
};

use super::{
    AsteriskAccount, COOPERATIVE, Codec, INTERRUPTS, Media, NUMBER, Over, account, call, check_message, check_tidy,
    say, stub, told, until, ways, websocket, world_with,
};
use support::words::{collected, interviewing_agent, lines, texts};

const MAILBOX: &str = "+15550100018";

/// A telephone with this persona at [`NUMBER`].
fn answered_by(persona: &str) -> AsteriskSettings {
    AsteriskSettings {
        personas: BTreeMap::from([(NUMBER.to_owned(), persona.to_owned())]),
        ..AsteriskSettings::default()
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_interrupted_stops_and_keeps_what_was_heard() {
    for media in ways() {
        let clears = matches!(media, Media::WebSocket { .. });
        let over = Over::of(AsteriskSettings::default(), media, interviewing_agent(), INTERRUPTS).await;
        over.check_completed();
        let phone = over.phones().call(INTERRUPTS);
        assert_eq!(lines(&over.conversation, "User"), texts(&phone.said()));
        assert_eq!(lines(&over.conversation, "Agent"), texts(&phone.heard()));
        let question = "So. Which day suits you for a visit?";
        let cut = |text: &String| question.starts_with(&**text) && text != question;
        let heard = texts(&phone.heard());
        assert!(heard.iter().any(cut), "{heard:?}");
        // A WebSocket is told to forget what it has; to an AudioSocket nothing was sent ahead.
        assert_eq!(
            !over.stub.flushed_ms().is_empty(),
            clears,
            "{:?}",
            over.stub.flushed_ms()
        );
        over.world.pass(5).await;
        check_tidy(&over.stub);
    }
}

#[tokio::test(start_paused = true)]
async fn keys_of_the_agent_reach_the_phone() {
    for media in ways() {
        let over = Over::of(answered_by("ivr"), media, interviewing_agent(), NUMBER).await;
        over.check_completed();
        let pressed: Vec<String> = over.stub.pressed().into_iter().map(|(_, keys)| keys).collect();
        assert_eq!(pressed, ["0"]);
        let heard = over.stub.entries().into_iter().filter_map(|entry| match entry.event {
            LogEvent::HeardKey { key } => Some(key),
            _ => None,
        });
        assert_eq!(heard.collect::<String>(), "0");
        over.world.pass(5).await;
        check_tidy(&over.stub);
    }
}

#[tokio::test(start_paused = true)]
async fn keys_of_the_caller_are_his_words() {
    let mut agent = interviewing_agent();
    agent["platformSettings"]["dataCollection"]["entities"] =
        json!({ "guests": { "type": "integer", "description": "number of guests" } });
    for media in ways() {
        let mut steps = vec![say("Hello?"), Step::UntilHeardWord("guests".into())];
        steps.extend("12".chars().map(Step::Press));
        steps.extend([Step::UntilAgentSaid, Step::WaitMs(20_000)]);
        let over = Over::of(told(steps), media, agent.clone(), NUMBER).await;
        assert_eq!(
            collected(&over.conversation, "guests"),
            Some("12"),
            "{:#}",
            over.conversation
        );
        over.world.pass(5).await;
        check_tidy(&over.stub);
    }
}

#[tokio::test(start_paused = true)]
async fn a_mailbox_gets_the_message_after_its_tone() {
    for media in ways() {
        let over = Over::of(AsteriskSettings::default(), media, interviewing_agent(), MAILBOX).await;
        over.check_completed();
        check_message(&over.conversation, &over.phones(), MAILBOX);
        over.world.pass(5).await;
        check_tidy(&over.stub);
    }
}

#[tokio::test(start_paused = true)]
async fn lost_audio_is_found_again_and_the_call_and_its_recording_go_on() {
    for media in ways() {
        let steps = vec![
            say("Hello?"),
            Step::UntilAgentSaid,
            Step::WaitMs(1_000),
            Step::UntilAgentSaid,
            Step::Cooperate,
        ];
        let faults = AsteriskFaults {
            cut_after: Some(300),
            ..AsteriskFaults::default()
        };
        let settings = AsteriskSettings { faults, ..told(steps) };
        let mut agent = interviewing_agent();
        agent["platformSettings"]["privacy"] = json!({ "recordVoice": true });
        let over = Over::of(settings, media, agent, NUMBER).await;
        over.check_completed();
        over.check_interviewed();
        assert_eq!(over.legs(), 2);
        let (recorded, talked_ms) = (over.recordings.written(), over.phones().call(NUMBER).talked_ms());
        // The second part is put behind the first, in the same file.
        let [(first, before), (second, after)] = *recorded else {
            panic!("two parts of a recording, not {recorded:?}");
        };
        assert_eq!(first, second);
        let ms = (before + after) / 8;
        assert!(before > 0 && ms + 4_000 > talked_ms, "{ms} ms of {talked_ms}");
        over.world.pass(5).await;
        check_tidy(&over.stub);
        assert_eq!(over.stub.dials().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_callee_who_hangs_up_ends_the_call() {
    for media in ways() {
        let steps = vec![say("Hello?"), Step::UntilAgentSaid, say("No, thank you."), Step::HangUp];
        let over = Over::of(told(steps), media, interviewing_agent(), NUMBER).await;
        over.check_completed();
        assert!(lines(&over.conversation, "User").contains(&"No, thank you.".to_owned()));
        over.world.pass(5).await;
        check_tidy(&over.stub);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_hung_up_from_here_while_it_rings_and_while_it_talks() {
    for media in ways() {
        check_hung_up_from_here(media, true).await;
    }
    check_hung_up_from_here(websocket(Codec::Ulaw), false).await;
}

async fn check_hung_up_from_here(media: Media, talks: bool) {
    let stub = stub(AsteriskSettings::default()).await;
    let account = AsteriskAccount {
        media,
        ..account(&stub)
    };
    let world = world_with(&stub, account).await;
    let id = call(&world, COOPERATIVE).await;
    until(30, "call", || match talks {
        true => stub.bridges().values().any(|inside| inside.len() == 2),
        false => stub.live_calls() == 1,
    })
    .await;
    let path = format!("/public/v1/conversations/{id}/end");
    world.client.post(&path, json!({})).await.expect(200);
    world.until_over(&id, 30).await;
    world.pass(5).await;
    let status = if talks { "completed" } else { "cancelled" };
    let conversation = world.read(&id).await;
    assert_eq!(conversation["status"], status, "{conversation:#}");
    let call = stub.dials().remove(0).channel;
    assert!(
        stub.hung_up().contains(&(call, "normal".to_owned())),
        "{:?}",
        stub.hung_up()
    );
    check_tidy(&stub);
}
