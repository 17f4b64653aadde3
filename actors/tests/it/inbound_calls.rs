//! A single inbound call: it greets at once, listens from the first moment, and dials nothing.

use actors::{
    audio_stream::{SessionEvent, SpeechId, StreamEvent},
    call::CallPhase,
};
use media::amd::{Reason, Verdict};
use serde_json::json;

use crate::call_support::{TestCall, agent, greeter, ms};

#[tokio::test(start_paused = true)]
async fn it_greets_at_once_and_may_be_interrupted_from_the_start() {
    let test = TestCall::inbound(greeter()).await;
    assert_eq!(test.snapshot().await.phase, CallPhase::Ringing);
    ms(2_000).await;
    test.open_media().await;
    ms(1).await;
    assert_eq!(test.stream.said(), ["Hello Bo, this is Ada."]);
    assert_eq!(test.stream.barge_in_allowed(), [true]);
    ms(300).await;
    test.stream.report(StreamEvent::Session(SessionEvent::BargedIn {
        speech: SpeechId(0),
        heard: "Hello Bo,".into(),
        at_ms: 300,
    }));
    ms(1).await;
    assert_eq!(test.snapshot().await.phase, CallPhase::Listening);
    assert_eq!(test.transcript(), ["Agent: Hello Bo,"]);
    assert!(test.ports.carrier.dials().is_empty());
    let events = test.events();
    assert_eq!(
        events[..2],
        ["received".to_owned(), "answered".to_owned()],
        "{events:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_hangs_up_ends_it_completed() {
    let test = TestCall::inbound(greeter()).await;
    test.open_media().await;
    ms(3_000).await;
    test.stream.report(StreamEvent::MediaClosed { clean: true });
    ms(2_000).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
    assert_eq!(test.hang_ups(), 0);
}

#[tokio::test(start_paused = true)]
async fn media_that_never_comes_has_the_leg_hung_up_after_half_a_minute() {
    let test = TestCall::inbound(greeter()).await;
    ms(29_900).await;
    assert_eq!(test.outcome(), None);
    ms(200).await;
    assert_eq!(test.outcome(), Some(("failed", Some("media-lost".into()))));
    assert_eq!(test.hang_ups(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_machines_sound_changes_nothing() {
    let test = TestCall::inbound(agent(json!({ "conversationConfig": { "agent": {
        "greetingMessage": "Hello.",
        "prompt": { "builtInTools": { "voicemailDetection": { "enabled": true, "voicemailMessage": "Call us." } } },
    } } })))
    .await;
    test.open_media().await;
    ms(2_000).await;
    test.stream.finds(Verdict::Voicemail, Reason::MachineWords);
    ms(100).await;
    assert_eq!(test.outcome(), None);
    assert!(!test.events().contains(&"amd".to_owned()));
}
