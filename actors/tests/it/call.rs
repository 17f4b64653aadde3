//! Whole calls: dialing, the pick-up rule, turns, barge-in, silence, and every way to end.

use std::time::Duration;

use actors::{
    audio_stream::{SessionEvent, StreamEvent},
    call::{CallMessage, CallPhase, LegRefusal},
};
use domain::{
    agent::Agent,
    id::AttemptId,
    ports::{
        carrier::{CallProgress, CarrierCallId, CarrierError, DialError, EndCause, LegReport, ListedCall},
        language_model::{HistoryItem, LanguageError, ReplyEvent, Speaker},
        store::{AttemptState, RecordStore as _, StoreError},
    },
    prompt::Prompt,
};
use media::turn::endpointing::Utterance;
use serde_json::json;
use testkit::{fake_carrier::media_leg, fake_language::ScriptedReply};

use crate::call_support::{TestCall, agent, greeter, ms, open_media};

fn silent_agent() -> Agent {
    agent(json!({ "conversationConfig": { "turn": { "turnTimeout": -1 } } }))
}

async fn dialed_with(result: DialError) -> TestCall {
    TestCall::start(greeter(), async move |ports, _| {
        ports.carrier.script_dial(Duration::from_millis(5), Some(result));
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_quiet_callee_is_greeted_after_1200_ms() {
    let test = TestCall::answered(greeter()).await;
    ms(1_150).await;
    assert!(test.stream.said().is_empty());
    ms(100).await;
    assert_eq!(test.stream.said(), ["Hello Bo, this is Ada."]);
    assert_eq!(test.snapshot().await.phase, CallPhase::Greeting);
    ms(300).await;
    assert_eq!(test.stream.barge_in_allowed(), [false, true]);
    ms(2_000).await;
    assert_eq!(test.snapshot().await.phase, CallPhase::Listening);
    assert_eq!(test.transcript(), ["Agent: Hello Bo, this is Ada."]);
}

#[tokio::test(start_paused = true)]
async fn the_callees_first_words_are_waited_for_and_not_answered() {
    let test = TestCall::answered(greeter()).await;
    ms(900).await;
    test.stream.user_says("Hello, Bo speaking?", 1_500).await;
    ms(10).await;
    assert_eq!(test.stream.said(), ["Hello Bo, this is Ada."]);
    ms(3_000).await;
    assert!(test.ports.language_model.requests().is_empty());
    assert_eq!(
        test.transcript(),
        ["User: Hello, Bo speaking?", "Agent: Hello Bo, this is Ada."]
    );
}

#[tokio::test(start_paused = true)]
async fn an_endless_first_utterance_is_greeted_over_after_8_s() {
    let test = TestCall::answered(greeter()).await;
    ms(500).await;
    test.stream.user_begins();
    ms(8_500).await;
    assert!(test.stream.said().is_empty());
    ms(500).await;
    assert_eq!(test.stream.said().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn without_a_greeting_the_user_is_waited_for_and_answered() {
    let test = TestCall::answered(silent_agent()).await;
    ms(3_000).await;
    assert!(test.stream.said().is_empty());
    test.stream.user_says("Who is it?", 600).await;
    ms(10).await;
    assert_eq!(test.stream.said(), ["Okay."]);
}

#[tokio::test(start_paused = true)]
async fn an_announcement_is_said_before_the_greeting() {
    let announced = agent(json!({ "conversationConfig": {
        "agent": { "greetingMessage": "Hello {{name}}." },
        "conversation": { "listeningAnnouncement": "{{name}}, somebody may listen to this call. " },
    } }));
    let test = TestCall::greeted(announced).await;
    assert_eq!(test.stream.said(), ["Bo, somebody may listen to this call. Hello Bo."]);
    test.stream.user_says("I am well.", 800).await;
    ms(3_000).await;
    let asked = test.ports.language_model.requests();
    let opening = "Bo, somebody may listen to this call. Hello Bo.\nThese words of yours open the call.";
    assert!(Prompt::of(&asked[0]).stable.contains(opening));
}

#[tokio::test(start_paused = true)]
async fn words_before_an_announcement_without_a_greeting_are_answered_after_it() {
    let announced = || {
        agent(json!({ "conversationConfig": {
            "conversation": { "listeningAnnouncement": "Somebody may listen to this call." },
            "turn": { "turnTimeout": -1 },
        } }))
    };
    let silent = TestCall::answered(announced()).await;
    ms(10_000).await;
    assert_eq!(silent.stream.said(), ["Somebody may listen to this call."]);
    assert!(silent.ports.language_model.requests().is_empty(), "the user begins");

    let test = TestCall::answered(announced()).await;
    test.stream.user_says("Who is it?", 600).await;
    ms(10).await;
    assert_eq!(test.stream.said(), ["Somebody may listen to this call."]);
    ms(5_000).await;
    assert_eq!(test.stream.said()[1..], ["Okay."]);
    let requests = test.ports.language_model.requests();
    assert_eq!(requests.len(), 1);
    let asked = |item: &HistoryItem| matches!(item, HistoryItem::Said { text, .. } if text == "Who is it?");
    assert!(requests[0].history.iter().any(asked));
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_answered_and_both_sides_are_kept() {
    let test = TestCall::greeted(greeter()).await;
    let reply = ScriptedReply::text("That is good to hear. ")
        .then_text("How old are you?")
        .then_tool("collect", json!({ "entity": "mood", "value": "good" }));
    test.ports.language_model.script(reply);
    test.stream.user_says("I am well.", 800).await;
    ms(5_000).await;
    assert_eq!(test.stream.said()[1], "That is good to hear. How old are you?");
    assert_eq!(
        test.transcript(),
        [
            "Agent: Hello Bo, this is Ada.",
            "User: I am well.",
            "Agent: That is good to hear. How old are you?"
        ]
    );
    let turns = test.turns();
    assert_eq!(turns.iter().map(|turn| turn.seq).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(turns.windows(2).all(|pair| pair[0].ended_ms <= pair[1].started_ms));
    test.call_back(CallProgress::Ended(EndCause::Completed)).await.unwrap();
    ms(3_000).await;
    let outcome = test.ended().unwrap().unwrap();
    assert_eq!(outcome.collected.get("mood").map(String::as_str), Some("good"));
    assert_eq!(test.store.attempt_state(test.attempt()), Some(AttemptState::Final));
}

#[tokio::test(start_paused = true)]
async fn a_barge_in_leaves_in_the_history_what_was_heard() {
    let test = TestCall::greeted(greeter()).await;
    let long = "One two three four five six seven eight nine ten. Eleven twelve thirteen.";
    test.ports.language_model.script(ScriptedReply::text(long));
    test.stream.user_says("Count, please.", 500).await;
    ms(1_000).await;
    test.stream.interrupt();
    ms(400).await;
    test.stream.user_ends("Stop.", 400);
    ms(3_000).await;
    let history = &test.ports.language_model.requests()[1].history;
    let heard = history.iter().find_map(|item| match item {
        HistoryItem::Said {
            text,
            interrupted: true,
            ..
        } => Some(text.clone()),
        _ => None,
    });
    assert_eq!(heard.as_deref(), Some("One two three"));
    assert!(test.turns().iter().any(|turn| turn.interrupted));
    assert!(test.events().contains(&"barged_in".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_barge_in_drops_the_rest_of_a_streaming_reply() {
    let test = TestCall::greeted(greeter()).await;
    let reply = ScriptedReply::text("First sentence is here. ")
        .then_text("Second sentence. ")
        .then_text("Third sentence. ")
        .with_gap(Duration::from_millis(900));
    test.ports.language_model.script(reply);
    test.stream.user_says("Go on.", 500).await;
    ms(1_200).await;
    test.stream.interrupt();
    ms(3_000).await;
    assert_eq!(test.stream.said().last().unwrap(), "First sentence is here. ");
}

#[tokio::test(start_paused = true)]
async fn words_during_thinking_cancel_the_reply_and_are_merged() {
    let test = TestCall::greeted(greeter()).await;
    let slow = ScriptedReply::text("Too early.").with_gap(Duration::from_secs(2));
    test.ports.language_model.script(slow);
    test.stream.user_says("My number is", 500).await;
    ms(300).await;
    test.stream.user_says("five five five.", 500).await;
    ms(5_000).await;
    assert_eq!(test.stream.said()[1..], ["Okay."]);
    let requests = test.ports.language_model.requests();
    assert!(matches!(
        requests[1].history.last(),
        Some(HistoryItem::Said { text, .. }) if text == "My number is five five five."
    ));
}

#[tokio::test(start_paused = true)]
async fn words_over_a_protected_greeting_are_answered_after_it() {
    let protected = agent(json!({ "conversationConfig": {
        "agent": { "greetingMessage": "Hello, this is a rather long greeting.", "disableFirstMessageInterruptions": true },
        "turn": { "turnTimeout": -1 }
    } }));
    let test = TestCall::answered(protected).await;
    ms(2_500).await;
    assert_eq!(test.stream.protected().len(), 1);
    test.stream.user_ends("Wait, who is this?", 600);
    ms(500).await;
    assert!(test.ports.language_model.requests().is_empty());
    ms(3_000).await;
    let requests = test.ports.language_model.requests();
    assert_eq!(requests.len(), 1);
    let said: Vec<_> = requests[0].history.iter().rev().take(2).collect();
    assert!(matches!(said[0], HistoryItem::Said { speaker: Speaker::User, text, .. } if text == "Wait, who is this?"));
    assert!(matches!(
        said[1],
        HistoryItem::Said {
            speaker: Speaker::Agent,
            ..
        }
    ));
}

#[tokio::test(start_paused = true)]
async fn a_wordless_utterance_is_asked_back_once() {
    let test = TestCall::greeted(greeter()).await;
    test.stream.user_says("", 700).await;
    ms(3_000).await;
    assert_eq!(test.ports.language_model.requests().len(), 1);
    assert!(matches!(
        test.ports.language_model.requests()[0].history.last(),
        Some(HistoryItem::Said { damaged: true, .. })
    ));
    test.stream.user_says("", 700).await;
    ms(3_000).await;
    assert_eq!(test.ports.language_model.requests().len(), 1);
    assert_eq!(test.snapshot().await.phase, CallPhase::Listening);
}

#[tokio::test(start_paused = true)]
async fn end_call_hangs_up_after_the_words_were_played() {
    let test = TestCall::greeted(greeter()).await;
    let bye = ScriptedReply::text("Thank you and goodbye.").then_tool("endCall", json!({}));
    test.ports.language_model.script(bye);
    test.stream.user_says("That is all.", 500).await;
    ms(1_000).await;
    assert_eq!(test.hang_ups(), 0);
    ms(3_000).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
    assert_eq!(test.hang_ups(), 1);
    assert_eq!(test.transcript().last().unwrap(), "Agent: Thank you and goodbye.");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_not_there_is_answered_as_such_and_the_model_goes_on() {
    let test = TestCall::greeted(greeter()).await;
    test.ports
        .language_model
        .script(ScriptedReply::default().then_tool("transferToNumber", json!({})));
    test.stream.user_says("Give me a person.", 500).await;
    ms(3_000).await;
    let requests = test.ports.language_model.requests();
    assert_eq!(requests.len(), 2);
    assert!(matches!(
        requests[1].history.last(),
        Some(HistoryItem::Tool { result, .. }) if result["error"] == "not available"
    ));
    assert_eq!(test.stream.said()[1..], ["Okay."]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_call_that_cannot_be_read_is_not_made_and_the_model_goes_on() {
    let test = TestCall::greeted(greeter()).await;
    let broken = ScriptedReply::default().then_tool("endCall", json!(null));
    test.ports.language_model.script(broken);
    test.stream.user_says("That is all.", 500).await;
    ms(3_000).await;
    let requests = test.ports.language_model.requests();
    assert_eq!(requests.len(), 2);
    assert!(matches!(
        requests[1].history.last(),
        Some(HistoryItem::Tool { result, .. }) if result["error"].is_string()
    ));
    assert_eq!(test.hang_ups(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_silent_user_is_spoken_to_again_and_again() {
    let talker = agent(json!({ "conversationConfig": {
        "agent": { "greetingMessage": "Hello." }, "turn": { "turnTimeout": 4 }
    } }));
    let test = TestCall::answered(talker).await;
    ms(1_200 + 400 + 4_100).await;
    assert_eq!(test.stream.said().len(), 2);
    let requests = test.ports.language_model.requests();
    assert_eq!(requests[0].history.last(), Some(&HistoryItem::Silence));
    ms(400 + 4_100).await;
    assert_eq!(test.stream.said().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn silence_ends_the_call_and_the_agents_own_words_do_not_count() {
    let quitter = agent(json!({ "conversationConfig": {
        "agent": { "greetingMessage": "Hello." }, "turn": { "turnTimeout": 4, "silenceEndCallTimeout": 6 }
    } }));
    let test = TestCall::answered(quitter).await;
    let slow = "This is a long question that takes more than four whole seconds to ask, is it not?";
    test.ports.language_model.script(ScriptedReply::text(slow));
    ms(1_200 + 400 + 4_000 + 5_000).await;
    assert_eq!(test.ended(), None);
    ms(4_000).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
    assert_eq!(test.hang_ups(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_users_voice_starts_the_silence_afresh() {
    let quitter = agent(json!({ "conversationConfig": {
        "agent": { "greetingMessage": "Hello." }, "turn": { "turnTimeout": -1, "silenceEndCallTimeout": 5 }
    } }));
    let test = TestCall::answered(quitter).await;
    ms(1_600 + 4_000).await;
    test.stream.user_says("Hm.", 300).await;
    ms(4_500).await;
    assert_eq!(test.ended(), None);
    ms(3_000).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
}

/// Makes a noise every 1.5 s, alternating between voice without words and a click.
async fn noisy(test: &TestCall, seconds: u64) {
    for n in 0..seconds * 2 / 3 {
        test.stream.user_begins();
        ms(500).await;
        let ended_ms = test.stream.now_ms();
        test.stream
            .report(StreamEvent::Session(SessionEvent::UtteranceEnded(Utterance {
                text: String::new(),
                damaged: n % 2 == 0,
                started_ms: ended_ms.saturating_sub(400),
                ended_ms,
                final_ms: None,
            })));
        ms(1_000).await;
    }
}

#[tokio::test(start_paused = true)]
async fn noise_on_the_line_does_not_keep_a_silent_call_open() {
    let quitter = agent(json!({ "conversationConfig": {
        "agent": { "greetingMessage": "Hello." }, "turn": { "turnTimeout": -1, "silenceEndCallTimeout": 10 }
    } }));
    let test = TestCall::answered(quitter).await;
    ms(1_700).await;
    noisy(&test, 9).await;
    assert_eq!(test.ended(), None);
    // 10 s of silence, plus the time for one question and for the last sound.
    noisy(&test, 9).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
}

#[tokio::test(start_paused = true)]
async fn noise_on_the_line_does_not_keep_the_agent_from_speaking_up() {
    let talker = agent(json!({ "conversationConfig": {
        "agent": { "greetingMessage": "Hello." }, "turn": { "turnTimeout": 4 }
    } }));
    let test = TestCall::answered(talker).await;
    ms(1_700).await;
    noisy(&test, 12).await;
    let silences = test.ports.language_model.requests();
    let silences = silences
        .iter()
        .filter(|r| r.history.last() == Some(&HistoryItem::Silence));
    assert!(silences.count() >= 1);
}

#[tokio::test(start_paused = true)]
async fn a_user_who_begins_to_speak_as_the_silence_ends_is_heard() {
    let quitter = agent(json!({ "conversationConfig": {
        "agent": { "greetingMessage": "Hello." }, "turn": { "turnTimeout": -1, "silenceEndCallTimeout": 5 }
    } }));
    let test = TestCall::answered(quitter).await;
    ms(1_600 + 4_700).await;
    test.stream.user_begins();
    ms(1_000).await;
    test.stream
        .report(StreamEvent::Session(SessionEvent::Interim { text: "I am".into() }));
    ms(2_500).await;
    assert_eq!(test.ended(), None);
    test.stream.user_ends("I am here.", 3_000);
    ms(2_000).await;
    assert_eq!(test.stream.said().last().unwrap(), "Okay.");
}

#[tokio::test(start_paused = true)]
async fn the_call_closes_politely_before_its_limit() {
    let short = agent(json!({ "conversationConfig": {
        "agent": { "greetingMessage": "Hello." }, "turn": { "turnTimeout": -1 },
        "conversation": { "maxDurationSeconds": 60 }
    } }));
    let test = TestCall::answered(short).await;
    ms(55_100).await;
    let closing = "I'm afraid our time is up. Goodbye.";
    assert_eq!(test.stream.said().last().unwrap(), closing);
    assert_eq!(test.stream.protected(), [closing]);
    ms(4_800).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
    assert_eq!(test.transcript().last().unwrap(), &format!("Agent: {closing}"));
}

#[tokio::test(start_paused = true)]
async fn a_very_short_limit_ends_hard() {
    let short = agent(json!({ "conversationConfig": {
        "agent": { "greetingMessage": "Hello." }, "conversation": { "maxDurationSeconds": 2 }
    } }));
    let test = TestCall::answered(short).await;
    ms(3_300).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
    assert_eq!(test.hang_ups(), 1);
}

#[tokio::test(start_paused = true)]
async fn legs_that_never_answer_fail_with_the_contracts_words() {
    let cases = [
        (EndCause::Busy, "busy"),
        (EndCause::NoAnswer, "no-answer"),
        (EndCause::Rejected, "rejected"),
        (EndCause::InvalidNumber, "invalid-number"),
        (EndCause::Failed("no route".into()), "carrier-error: no route"),
    ];
    for (cause, error) in cases {
        let test = TestCall::dialed(greeter()).await;
        test.call_back(CallProgress::Ringing).await.unwrap();
        assert_eq!(test.snapshot().await.phase, CallPhase::Ringing);
        test.call_back(CallProgress::Ended(cause)).await.unwrap();
        ms(100).await;
        assert_eq!(test.outcome(), Some(("failed", Some(error.to_owned()))));
        assert_eq!(test.hang_ups(), 0);
        assert_eq!(test.ports.carrier.dials().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn it_rings_no_longer_than_it_may() {
    let test = TestCall::dialed(greeter()).await;
    ms(29_900).await;
    assert_eq!(test.ended(), None);
    ms(200).await;
    assert_eq!(test.outcome(), Some(("failed", Some("no-answer".into()))));
    assert_eq!(test.hang_ups(), 1);
}

#[tokio::test(start_paused = true)]
async fn answered_without_media_is_media_lost() {
    let test = TestCall::dialed(greeter()).await;
    test.call_back(CallProgress::Answered).await.unwrap();
    assert_eq!(test.store.attempt_state(test.attempt()), Some(AttemptState::Answered));
    ms(10_100).await;
    assert_eq!(test.outcome(), Some(("failed", Some("media-lost".into()))));
    assert_eq!(test.hang_ups(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answered_call_that_ends_before_its_media_came_is_media_lost() {
    let test = TestCall::dialed(greeter()).await;
    test.call_back(CallProgress::Answered).await.unwrap();
    test.call_back(CallProgress::Ended(EndCause::Completed)).await.unwrap();
    ms(100).await;
    assert_eq!(test.outcome(), Some(("failed", Some("media-lost".into()))));
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_no_database_takes_is_written_cleaned() {
    let test = dialed_with(DialError::Rejected("no\0 credit".into())).await;
    ms(100).await;
    let error = Some("carrier-error: no credit".to_owned());
    assert_eq!(test.store.attempt_state(test.attempt()), Some(AttemptState::Final));
    let row = test.store.conversation(test.account(), test.attempt()).await.unwrap();
    assert_eq!(row.error, error);
}

#[tokio::test(start_paused = true)]
async fn refused_numbers_and_requests_fail_for_good() {
    let test = dialed_with(DialError::InvalidNumber("no such number".into())).await;
    ms(100).await;
    assert_eq!(test.outcome(), Some(("failed", Some("invalid-number".into()))));
    let test = dialed_with(DialError::Rejected("geo block".into())).await;
    ms(100).await;
    assert_eq!(
        test.outcome(),
        Some(("failed", Some("carrier-error: geo block".into())))
    );
    assert_eq!(test.hang_ups(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_certainly_not_sent_is_queued_again() {
    let retry_after = Some(Duration::from_secs(7));
    for error in [
        DialError::Busy { retry_after },
        DialError::Unreachable("refused".into()),
        DialError::AccountRefused("401".into()),
    ] {
        let test = dialed_with(error).await;
        ms(100).await;
        assert_eq!(test.ended(), Some(None));
        assert_eq!(test.store.attempt_state(test.attempt()), Some(AttemptState::Queued));
        assert_eq!(test.remaining().await.later, 1);
        assert_eq!(test.ports.carrier.dials().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_dial_that_nobody_adopts_fails_after_120_s() {
    let test = dialed_with(DialError::Unknown("timed out".into())).await;
    // Two calls without a mark: only a callback can tell which one is ours.
    let unmarked = ["a", "b"].map(|id| listed(id, None, true));
    test.ports.carrier.set_listing(unmarked.to_vec());
    ms(100).await;
    assert_eq!(test.store.attempt_state(test.attempt()), Some(AttemptState::Unknown));
    ms(119_000).await;
    assert_eq!(test.ended(), None);
    ms(1_100).await;
    assert_eq!(
        test.outcome(),
        Some(("failed", Some("carrier-error: outcome unknown".into())))
    );
    assert_eq!(test.ports.carrier.dials().len(), 1);
    assert!(test.ports.carrier.hang_ups().is_empty());
}

fn listed(id: &str, attempt: Option<AttemptId>, live: bool) -> ListedCall {
    ListedCall {
        call: CarrierCallId(id.into()),
        attempt,
        to: "+15550001111".into(),
        live,
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_dial_of_which_the_carrier_has_nothing_fails_at_the_second_look() {
    for listing in [vec![], vec![listed("over", None, false)]] {
        let test = dialed_with(DialError::Unknown("timed out".into())).await;
        test.ports.carrier.set_listing(listing);
        ms(44_000).await;
        assert_eq!(test.ended(), None);
        ms(1_500).await;
        let unknown = Some("carrier-error: outcome unknown".into());
        assert_eq!(test.outcome(), Some(("failed", unknown)));
        assert_eq!(test.ports.carrier.dials().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_only_call_without_a_mark_that_is_bound_to_no_other_attempt_is_ours() {
    let test = dialed_with(DialError::Unknown("timed out".into())).await;
    let another = CarrierCallId("another".into());
    test.bind_to_another_attempt(&another).await;
    let listing = [
        listed("another", None, true),
        listed("ours", None, true),
        listed("over", None, false),
    ];
    test.ports.carrier.set_listing(listing.to_vec());
    ms(15_100).await;
    assert_eq!(*test.told.legs.lock().unwrap(), ["ours"]);
    ms(30_100).await;
    assert_eq!(test.ports.carrier.hang_ups(), [CarrierCallId("ours".into())]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_dial_is_adopted_by_its_media_socket() {
    let test = dialed_with(DialError::Unknown("timed out".into())).await;
    ms(40_000).await;
    test.open_media().await;
    ms(3_000).await;
    assert_eq!(test.store.attempt_state(test.attempt()), Some(AttemptState::Answered));
    assert_eq!(test.stream.said(), ["Hello Bo, this is Ada."]);
    ms(100_000).await;
    assert_eq!(test.ended(), None);
}

#[tokio::test(start_paused = true)]
async fn a_lost_dial_is_found_in_the_carriers_listing_and_hung_up_when_it_rings_too_long() {
    let test = dialed_with(DialError::Unknown("timed out".into())).await;
    test.ports
        .carrier
        .set_listing(vec![listed("lost-1", Some(test.attempt()), true)]);
    ms(15_100).await;
    assert_eq!(*test.told.legs.lock().unwrap(), ["lost-1"]);
    ms(30_100).await;
    assert_eq!(test.outcome(), Some(("failed", Some("no-answer".into()))));
    assert_eq!(test.ports.carrier.hang_ups(), [CarrierCallId("lost-1".into())]);
}

#[tokio::test(start_paused = true)]
async fn callbacks_may_come_before_the_dials_own_answer() {
    let test = TestCall::start(greeter(), async |ports, _| {
        ports.carrier.script_dial(Duration::from_secs(4), None);
    })
    .await;
    test.call_back(CallProgress::Ringing).await.unwrap();
    test.open_media().await;
    ms(2_000).await;
    assert_eq!(test.stream.said().len(), 1);
    assert!(test.told.legs.lock().unwrap().is_empty());
    ms(2_500).await;
    assert_eq!(*test.told.legs.lock().unwrap(), ["fake-1"]);
    test.hang_up();
    ms(2_000).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
    assert_eq!(test.ports.carrier.hang_ups(), [CarrierCallId("fake-1".into())]);
}

#[tokio::test(start_paused = true)]
async fn late_and_repeated_callbacks_change_nothing() {
    let test = TestCall::greeted(greeter()).await;
    for progress in [CallProgress::Answered, CallProgress::Ringing, CallProgress::Answered] {
        test.call_back(progress).await.unwrap();
    }
    ms(60_000).await;
    assert_eq!(test.ended(), None);
    assert_eq!(test.snapshot().await.phase, CallPhase::Listening);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_proof_and_a_second_socket_are_refused() {
    let test = TestCall::dialed(greeter()).await;
    let dial = test.ports.carrier.dials().remove(0);
    let (leg, _socket) = media_leg();
    let proof = dial.status_token.clone();
    let taken = ractor::call!(test.call, |reply| CallMessage::Media { proof, leg, reply }).unwrap();
    assert_eq!(taken, Err(LegRefusal::BadProof));
    let (proof, report) = (dial.media_token, CallProgress::Answered.into());
    let taken = ractor::call!(test.call, |reply| CallMessage::Progress { proof, report, reply }).unwrap();
    assert_eq!(taken, Err(LegRefusal::BadProof));
    let asked = |proof: &str| {
        let (call, proof) = (test.call.clone(), proof.to_owned());
        async move {
            ractor::call!(call, |reply| CallMessage::AskMedia {
                proof,
                replacing: true,
                reply
            })
            .unwrap()
        }
    };
    let media = test.ports.carrier.dials().remove(0).media_token;
    assert_eq!(asked(&"0".repeat(64)).await, Err(LegRefusal::BadProof));
    assert_eq!(asked(&media).await, Ok(()));
    test.open_media().await;
    assert_eq!(asked(&media).await, Err(LegRefusal::NotNow));
    let second = open_media(&test.ports.carrier, &test.call).await.unwrap();
    assert_eq!(second.err(), Some(LegRefusal::NotNow));
}

#[tokio::test(start_paused = true)]
async fn a_hang_up_before_the_answer_cancels() {
    let test = TestCall::dialed(greeter()).await;
    test.hang_up();
    ms(100).await;
    assert_eq!(test.outcome(), Some(("cancelled", None)));
    assert_eq!(test.hang_ups(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_hang_up_while_the_dial_is_out_waits_for_the_legs_id() {
    let test = TestCall::start(greeter(), async |ports, _| {
        ports.carrier.script_dial(Duration::from_secs(3), None);
    })
    .await;
    test.hang_up();
    ms(2_000).await;
    assert_eq!(test.ended(), None);
    ms(1_500).await;
    assert_eq!(test.outcome(), Some(("cancelled", None)));
    assert_eq!(test.ports.carrier.hang_ups(), [CarrierCallId("fake-1".into())]);
}

#[tokio::test(start_paused = true)]
async fn the_last_words_heard_are_kept_when_the_call_is_hung_up() {
    let test = TestCall::answered(greeter()).await;
    ms(1_200 + 800).await;
    test.hang_up();
    ms(1_500).await;
    assert_eq!(test.transcript(), ["Agent: Hello Bo,"]);
    assert!(test.stream.closed());
    assert_eq!(test.outcome(), Some(("completed", None)));
}

#[tokio::test(start_paused = true)]
async fn a_callee_who_hangs_up_completes_the_call() {
    let test = TestCall::greeted(greeter()).await;
    test.stream.report(StreamEvent::MediaClosed { clean: true });
    ms(100).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
    assert_eq!(test.hang_ups(), 0);
}

#[tokio::test(start_paused = true)]
async fn media_that_dies_is_lost_unless_the_carrier_reports_the_end() {
    let test = TestCall::greeted(greeter()).await;
    test.stream.report(StreamEvent::MediaClosed { clean: false });
    ms(2_900).await;
    assert_eq!(test.ended(), None);
    ms(200).await;
    assert_eq!(test.outcome(), Some(("failed", Some("media-lost".into()))));
    assert_eq!(test.hang_ups(), 1);

    let test = TestCall::greeted(greeter()).await;
    test.stream.report(StreamEvent::MediaClosed { clean: false });
    ms(1_000).await;
    test.call_back(CallProgress::Ended(EndCause::Completed)).await.unwrap();
    ms(100).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
}

#[tokio::test(start_paused = true)]
async fn a_crashed_stream_fails_the_call_and_hangs_up() {
    let test = TestCall::greeted(greeter()).await;
    let crash = Some("boom".to_owned());
    test.call.cast(CallMessage::StreamGone { stream: None, crash }).unwrap();
    ms(100).await;
    let error = "agent-error: audio stream crashed".to_owned();
    assert_eq!(test.outcome(), Some(("failed", Some(error))));
    assert_eq!(test.hang_ups(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_is_apologised_for_once() {
    let test = TestCall::greeted(greeter()).await;
    let broken = || ScriptedReply::error(LanguageError::Unavailable("500".into()));
    test.ports.language_model.script(broken());
    test.stream.user_says("Hi.", 300).await;
    ms(3_000).await;
    assert_eq!(test.stream.said().last().unwrap(), "Sorry, could you say that again?");
    test.ports.language_model.script(broken());
    test.stream.user_says("Hi!", 300).await;
    ms(8_000).await;
    assert!(test.stream.said().last().unwrap().contains("Goodbye"));
    let error = "agent-error: language model: language model unavailable: 500".to_owned();
    assert_eq!(test.outcome(), Some(("failed", Some(error))));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_says_nothing_is_given_12_s_with_words_between() {
    let test = TestCall::greeted(greeter()).await;
    let stuck = ScriptedReply::text("late").with_gap(Duration::from_secs(100));
    test.ports.language_model.script(stuck);
    test.stream.user_says("Hi.", 300).await;
    ms(1_400).await;
    assert_eq!(test.stream.said().len(), 1);
    for (wait_ms, expected) in [
        (200, "One moment, please. "),
        (3_900, "One moment, please. "),
        (200, "One moment, please. Just a second. "),
        (6_000, "One moment, please. Just a second. I'm still here, one moment. "),
        (
            600,
            "One moment, please. Just a second. I'm still here, one moment. Sorry, could you say that again?",
        ),
    ] {
        ms(wait_ms).await;
        assert_eq!(test.stream.said().last().unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_voice_that_fails_twice_ends_the_call() {
    let test = TestCall::answered(greeter()).await;
    test.stream.fail_speeches(2);
    ms(4_000).await;
    let (status, error) = test.outcome().unwrap();
    assert_eq!(status, "failed");
    assert!(error.unwrap().starts_with("agent-error: voice"));
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_cannot_be_had_dials_nothing() {
    let test = TestCall::start(greeter(), async |_, store| {
        store.fail_with(Some(StoreError::Unavailable("away".into())));
    })
    .await;
    ms(1_000).await;
    assert_eq!(test.ended(), None);
    test.store.fail_with(None);
    ms(20_000).await;
    assert_eq!(test.ended(), Some(None));
    assert!(test.ports.carrier.dials().is_empty());
    assert_eq!(test.remaining().await.open, 0);
}

#[tokio::test(start_paused = true)]
async fn the_outcome_waits_for_the_database_and_is_told_only_then() {
    let test = TestCall::greeted(greeter()).await;
    test.store.fail_with(Some(StoreError::Unavailable("away".into())));
    test.stream.report(StreamEvent::MediaClosed { clean: true });
    ms(60_000).await;
    assert_eq!(test.ended(), None);
    test.store.fail_with(None);
    ms(16_000).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_claim_is_lost_is_forgotten() {
    let test = TestCall::greeted(greeter()).await;
    test.store.fail_with(Some(StoreError::Fenced));
    test.stream.report(StreamEvent::MediaClosed { clean: true });
    ms(1_000).await;
    assert_eq!(test.ended(), Some(None));
}

#[tokio::test(start_paused = true)]
async fn a_hang_up_that_fails_is_tried_again() {
    let test = TestCall::dialed(greeter()).await;
    for _ in 0..2 {
        let error = CarrierError::Unavailable("503".into());
        test.ports.carrier.script_hang_up_failure(error);
    }
    test.hang_up();
    ms(3_000).await;
    assert_eq!(test.hang_ups(), 3);
    assert_eq!(test.outcome(), Some(("cancelled", None)));
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_is_never_answered_is_unknown_and_not_sent_again() {
    let test = TestCall::start(greeter(), async |ports, _| {
        ports.carrier.script_dial(Duration::from_secs(10_000), None);
    })
    .await;
    ms(15_100).await;
    assert_eq!(test.store.attempt_state(test.attempt()), Some(AttemptState::Unknown));
    ms(120_000).await;
    assert_eq!(
        test.outcome(),
        Some(("failed", Some("carrier-error: outcome unknown".into())))
    );
    assert_eq!(test.ports.carrier.dials().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_leg_that_another_attempt_has_is_left_to_it() {
    let test = TestCall::start(greeter(), async |ports, _| {
        ports.carrier.script_dial(Duration::from_secs(1), None);
    })
    .await;
    test.bind_to_another_attempt(&CarrierCallId("fake-1".into())).await;
    ms(1_100).await;
    let error = "carrier-error: the call and the attempt belong to others";
    assert_eq!(test.outcome(), Some(("failed", Some(error.into()))));
    assert_eq!(test.hang_ups(), 0);
}

#[tokio::test(start_paused = true)]
async fn other_legs_cost_no_more_than_a_few_hang_ups_at_a_time() {
    let test = TestCall::dialed(greeter()).await;
    let proof = test.ports.carrier.dials().remove(0).status_token;
    let tell = async |n: u32, progress: CallProgress| {
        let proof = proof.clone();
        let report = LegReport {
            call: Some(CarrierCallId(format!("other-{n}"))),
            progress,
        };
        let told = ractor::call!(test.call, |reply| CallMessage::Progress { proof, report, reply }).unwrap();
        assert_eq!(told, Err(LegRefusal::AnotherLeg));
    };
    for n in 0..50 {
        tell(n, CallProgress::Ended(EndCause::Completed)).await;
    }
    ms(10).await;
    assert_eq!(test.hang_ups(), 0, "what is over is not hung up");
    for _ in 0..50 {
        let error = CarrierError::Unavailable("503".into());
        test.ports.carrier.script_hang_up_failure(error);
    }
    for n in 0..50 {
        tell(n, CallProgress::Ringing).await;
    }
    ms(10).await;
    assert_eq!(test.hang_ups(), 8, "each is tried again");
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_writer_panics_is_left_to_whoever_started_it() {
    let test = TestCall::greeted(greeter()).await;
    test.store.crash_next();
    test.stream.report(StreamEvent::MediaClosed { clean: true });
    ms(100).await;
    assert_eq!(test.call.get_status(), ractor::ActorStatus::Stopped);
    assert_eq!(test.ended(), None);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_panics_leaves_no_task_behind() {
    let test = TestCall::greeted(greeter()).await;
    let slow = ScriptedReply::text("never said").with_gap(Duration::from_secs(3));
    test.ports.language_model.script(slow);
    test.stream.user_says("Hi.", 300).await;
    test.call.cast(CallMessage::Sabotage { stream: false }).unwrap();
    ms(50).await;
    assert_eq!(test.call.get_status(), ractor::ActorStatus::Stopped);
    assert_eq!(std::sync::Arc::strong_count(&test.ports.language_model), 1);
}

#[tokio::test(start_paused = true)]
async fn a_user_who_opts_out_is_on_the_do_not_call_list_before_the_goodbye_ends() {
    for smart in [true, false] {
        let opted = agent(json!({ "platformSettings": { "callActions": { "smartOptOut": smart } } }));
        let test = TestCall::answered(opted).await;
        let bye = ScriptedReply::text("Understood, goodbye.").then_tool("endCall", json!({ "reason": "opt_out" }));
        test.ports.language_model.script(bye);
        ms(100).await;
        test.stream.user_says("Never call me again.", 800).await;
        ms(100).await;
        assert_eq!(test.ended(), None);
        assert_eq!(test.is_opted_out().await, smart);
    }
}

#[tokio::test(start_paused = true)]
async fn a_piece_of_a_cancelled_reply_that_was_on_its_way_is_dropped() {
    let test = TestCall::greeted(greeter()).await;
    let slow = ScriptedReply::text("Right.").with_gap(Duration::from_secs(1));
    test.ports.language_model.script(slow);
    test.stream.user_says("Hi.", 300).await;
    let event = Some(Ok(ReplyEvent::Text("A ghost. ".into())));
    test.call.cast(CallMessage::Reply { generation: 0, event }).unwrap();
    ms(2_000).await;
    assert_eq!(test.stream.said()[1..], ["Right."]);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_dies_while_a_call_talks_costs_its_transcript_nothing() {
    let call = TestCall::greeted(greeter()).await;
    let journal = call.start_journal().await;
    call.stream.user_says("It is Bo.", 800).await;
    ms(3_000).await;
    assert!(!call.stored_turns().await.is_empty());
    journal.kill();
    call.stream.user_says("Are you there?", 800).await;
    ms(3_000).await;
    call.call_back(CallProgress::Ended(EndCause::Completed)).await.unwrap();
    ms(300).await;
    assert_eq!(call.outcome(), None, "the outcome waits for the last facts");
    call.start_journal().await;
    ms(200).await;
    assert_eq!(call.outcome().unwrap().0, "completed");
    let stored = call.stored_turns().await;
    assert!(stored.iter().any(|turn| turn.text == "Are you there?"));
    assert_eq!(stored, call.turns());
}

#[tokio::test(start_paused = true)]
async fn a_callback_that_names_the_leg_stands_for_a_lost_answer() {
    let (leg, other) = (CarrierCallId("leg-1".into()), CarrierCallId("leg-2".into()));
    let test = dialed_with(DialError::Unknown("timed out".into())).await;
    ms(10).await;
    let report = |call: &CarrierCallId, progress| LegReport {
        call: Some(call.clone()),
        progress,
    };
    let tell = async |report: LegReport| {
        let proof = test.ports.carrier.dials().remove(0).status_token;
        ractor::call!(test.call, |reply| CallMessage::Progress { proof, report, reply }).unwrap()
    };
    assert_eq!(tell(report(&leg, CallProgress::Placed)).await, Ok(()));
    assert_eq!(test.snapshot().await.phase, CallPhase::Ringing);
    assert_eq!(
        tell(report(&other, CallProgress::Ringing)).await,
        Err(LegRefusal::AnotherLeg)
    );
    ms(10).await;
    assert_eq!(test.ports.carrier.hang_ups(), [other], "the second leg");
    assert_eq!(tell(report(&leg, CallProgress::Answered)).await, Ok(()));
    assert_eq!(test.snapshot().await.phase, CallPhase::Answered);
}
