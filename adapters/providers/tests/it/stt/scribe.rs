//! Tests of ElevenLabs' realtime Scribe.

use std::time::Duration;

use domain::ports::usage::Unit;
use rand::{Rng, SeedableRng, rngs::StdRng};
use sim::stub_providers::{Fault, StubTimes, elevenlabs};

use super::support::{Call, stt, stub};

const TEXT: &str = "Good morning, where is my parcel?";

#[tokio::test(start_paused = true)]
async fn what_is_said_is_told_as_it_comes_and_finally() {
    let stub = stub(StubTimes::PUBLISHED).await;
    let mut call = Call::open(&stt("elevenlabs", &stub));
    call.silence(500).await;
    call.say(TEXT).await;
    let asked = call.began.elapsed();
    call.silence(1_000).await;
    call.say("Thanks.").await;
    call.silence(1_000).await;
    assert_eq!(call.told.finals(), [TEXT, "Thanks."]);
    assert!(call.final_at(TEXT).unwrap() - asked < Duration::from_millis(400));
    let interims = call.told.interims();
    assert!(
        interims.len() > 3 && TEXT.starts_with(interims[0].trim_end()),
        "{interims:?}"
    );
    assert!(call.meter.used("elevenlabs", Unit::AudioMs) > 3_000);
    let used = &call.meter.shown().unwrap()["elevenlabs"];
    assert_eq!(
        used["models"]["scribe_v2_realtime"]["seconds"], used["seconds"],
        "{used}"
    );
    let received = stub.received(elevenlabs::SCRIBE);
    let wanted = "model_id=scribe_v2_realtime&audio_format=ulaw_8000&commit_strategy=manual&language_code=en";
    assert!(received[0].contains(wanted), "{}", received[0]);
    assert_eq!(received.iter().filter(|what| *what == "commit").count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_comes_too_soon_is_made_again() {
    let stub = stub(StubTimes::AT_ONCE).await;
    let mut call = Call::open(&stt("elevenlabs", &stub));
    call.say("Yes.").await;
    call.silence(60).await;
    call.stream.finalize();
    call.silence(1_000).await;
    assert_eq!(
        (call.told.finals().join(" ").as_str(), call.told.count_finals()),
        ("Yes.", 2)
    );
    assert!(
        stub.received(elevenlabs::SCRIBE)
            .iter()
            .filter(|what| *what == "commit")
            .count()
            >= 3
    );
}

#[tokio::test(start_paused = true)]
async fn a_line_without_audio_keeps_its_recogniser() {
    let stub = stub(StubTimes::AT_ONCE).await;
    let mut call = Call::open(&stt("elevenlabs", &stub));
    tokio::time::sleep(Duration::from_secs(12)).await;
    call.say(TEXT).await;
    call.silence(500).await;
    assert_eq!(call.told.finals(), [TEXT]);
    assert!(
        stub.received(elevenlabs::SCRIBE)
            .iter()
            .filter(|what| *what == "audio 800")
            .count()
            >= 2
    );
}

#[tokio::test(start_paused = true)]
async fn whatever_breaks_no_word_is_lost_or_repeated() {
    let mut rng = StdRng::seed_from_u64(3);
    let mut faults = vec![
        Fault::Hang,
        Fault::StallAfter(2),
        Fault::MalformedAfter(1),
        Fault::MalformedAfter(3),
        Fault::OversizedAfter(2),
        Fault::ErrorAfter(2),
        Fault::Refuse(500),
        Fault::Refuse(429),
        Fault::Drip(Duration::from_millis(20)),
    ];
    faults.extend((0..25).map(|_| Fault::DropAfter(rng.random_range(0..12))));
    for fault in faults {
        let stub = stub(StubTimes::PUBLISHED).await;
        stub.set_faults(elevenlabs::SCRIBE, vec![fault.clone(), Fault::None]);
        let mut call = Call::open(&stt("elevenlabs", &stub));
        call.silence(rng.random_range(100..900)).await;
        for text in [TEXT, "Thank you."] {
            call.say(text).await;
            call.silence(rng.random_range(1_000..2_000)).await;
        }
        call.silence(12_000).await;
        assert_eq!(call.told.finals().join(" "), format!("{TEXT} Thank you."), "{fault:?}");
        assert_eq!((call.told.failure(), call.told.count_finals()), (None, 2), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_is_told() {
    let stub = stub(StubTimes::AT_ONCE).await;
    stub.set_faults(elevenlabs::SCRIBE, vec![Fault::Refuse(401)]);
    let mut call = Call::open(&stt("elevenlabs", &stub));
    call.silence(200).await;
    assert!(call.told.failure().unwrap().contains("401"));
}
