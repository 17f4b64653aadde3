//! Tests of Deepgram's Flux and its turn events.

use std::time::Duration;

use domain::ports::{transcriber::TranscriptEvent, usage::Unit};
use rand::{Rng, SeedableRng, rngs::StdRng};
use sim::stub_providers::{Fault, StubTimes, deepgram};

use super::support::{Call, spoken, stt, stub};

const TEXT: &str = "I would like to move my appointment to Friday.";

/// Kinds of events, without repetitions.
fn kinds(call: &Call) -> Vec<&'static str> {
    let all = call.told.all();
    let mut kinds: Vec<_> = all
        .iter()
        .map(|(_, event)| match event {
            TranscriptEvent::Interim { .. } => "interim",
            TranscriptEvent::Final { .. } => "final",
            TranscriptEvent::TurnPaused => "paused",
            TranscriptEvent::TurnResumed => "resumed",
            TranscriptEvent::TurnEnded => "ended",
            TranscriptEvent::Failed(_) => "failed",
        })
        .collect();
    kinds.dedup();
    kinds
}

/// Speaks without requesting finals, since a recogniser that detects turns needs no requests.
async fn say(call: &mut Call, text: &str) {
    call.stream.speech_started();
    call.play(&spoken(text, 8_000)).await;
}

#[tokio::test(start_paused = true)]
async fn its_turns_are_told() {
    let stub = stub(StubTimes::PUBLISHED).await;
    let mut call = Call::open(&stt("deepgram/flux-general-en", &stub));
    call.silence(300).await;
    say(&mut call, TEXT).await;
    call.silence(1_000).await;
    assert_eq!(kinds(&call), ["interim", "paused", "final", "ended"]);
    say(&mut call, "My number is").await;
    call.silence(600).await;
    say(&mut call, "five five five.").await;
    call.silence(2_500).await;
    assert_eq!(call.told.finals(), [TEXT, "My number is five five five."]);
    assert_eq!(
        kinds(&call)[4..],
        ["interim", "paused", "resumed", "interim", "paused", "final", "ended"]
    );
    assert!(call.stream.capabilities().tells_turns);
    assert!(call.meter.used("deepgram", Unit::AudioMs) > 3_000);
    let used = &call.meter.shown().unwrap()["deepgram"];
    assert_eq!(used["models"]["flux-general-en"]["seconds"], used["seconds"], "{used}");
    let received = stub.received(deepgram::FLUX);
    assert!(received[0].contains("model=flux-general-en&encoding=mulaw&sample_rate=8000&eager_eot_threshold=0.5"));
}

#[tokio::test(start_paused = true)]
async fn asked_it_ends_the_turn_and_an_asking_for_nothing_is_answered() {
    let stub = stub(StubTimes::PUBLISHED).await;
    let mut call = Call::open(&stt("deepgram/flux", &stub));
    call.silence(300).await;
    call.stream.finalize();
    call.silence(100).await;
    assert_eq!(kinds(&call), ["final"]);
    say(&mut call, "My number is").await;
    call.silence(400).await;
    call.stream.finalize();
    call.silence(200).await;
    assert_eq!(call.told.finals(), ["My number is"]);
    assert_eq!(kinds(&call).last(), Some(&"ended"));
    let forced = stub
        .received(deepgram::FLUX)
        .iter()
        .filter(|what| what.contains("ForceEndTurn"))
        .count();
    assert_eq!(forced, 1);
}

#[tokio::test(start_paused = true)]
async fn when_the_audio_stops_in_the_midst_of_a_turn_silence_ends_it() {
    let stub = stub(StubTimes::PUBLISHED).await;
    let mut call = Call::open(&stt("deepgram/flux", &stub));
    call.silence(300).await;
    say(&mut call, TEXT).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(call.told.finals(), [TEXT]);
    say(&mut call, "And then?").await;
    call.silence(600).await;
    assert_eq!(call.told.finals(), [TEXT, "And then?"]);
}

#[tokio::test(start_paused = true)]
async fn whatever_breaks_no_word_is_lost_or_repeated() {
    let mut rng = StdRng::seed_from_u64(5);
    let mut faults = vec![
        Fault::Hang,
        Fault::StallAfter(3),
        Fault::MalformedAfter(2),
        Fault::OversizedAfter(3),
        Fault::ErrorAfter(2),
        Fault::Refuse(503),
        Fault::Drip(Duration::from_millis(20)),
    ];
    faults.extend((0..25).map(|_| Fault::DropAfter(rng.random_range(0..14))));
    for fault in faults {
        let stub = stub(StubTimes::PUBLISHED).await;
        stub.set_faults(deepgram::FLUX, vec![fault.clone(), Fault::None]);
        let mut call = Call::open(&stt("deepgram/flux", &stub));
        call.silence(rng.random_range(100..900)).await;
        for text in [TEXT, "Thank you."] {
            say(&mut call, text).await;
            call.silence(rng.random_range(1_000..2_000)).await;
        }
        call.silence(14_000).await;
        // One turn may be split into two, or two merged into one.
        assert_eq!(call.told.finals().join(" "), format!("{TEXT} Thank you."), "{fault:?}");
        assert_eq!(call.told.failure(), None, "{fault:?}");
    }
}
