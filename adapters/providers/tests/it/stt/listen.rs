//! Tests of Deepgram's `/v1/listen`.

use std::time::Duration;

use domain::ports::{
    transcriber::TranscriptEvent,
    usage::{Meter, Unit},
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use sim::stub_providers::{Fault, StubTimes, deepgram};

use super::support::{Call, KEY, config, settings, stt, stt_with, stub};

const TEXT: &str = "Good morning, I would like to move my appointment to Friday.";

fn controls(received: &[String], kind: &str) -> usize {
    let sought = format!("\"{kind}\"");
    received.iter().filter(|what| what.contains(&sought)).count()
}

#[tokio::test(start_paused = true)]
async fn what_is_said_is_told_as_it_comes_and_finally() {
    let stub = stub(StubTimes::PUBLISHED).await;
    let mut call = Call::open(&stt("deepgram", &stub));
    call.silence(500).await;
    call.say(TEXT).await;
    let asked = call.began.elapsed();
    call.silence(1_000).await;
    call.say("Thanks.").await;
    call.silence(1_000).await;
    assert_eq!(call.told.finals(), [TEXT, "Thanks."]);
    let took = call.final_at(TEXT).unwrap() - asked;
    assert!(took < Duration::from_millis(350), "{took:?}");
    let interims = call.told.interims();
    assert!(
        interims.len() > 2 && TEXT.starts_with(interims[0].trim_end()),
        "{interims:?}"
    );
    let counted = call.meter.used("deepgram", Unit::AudioMs);
    let used = &call.meter.shown().unwrap()["deepgram"];
    assert_eq!(used["models"]["nova-3"]["seconds"], used["seconds"], "{used}");
    let length = call.began.elapsed().as_millis() as u64;
    drop(call);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let received = stub.received(deepgram::LISTEN);
    assert_eq!(controls(&received, "Finalize"), 2);
    assert_eq!(controls(&received, "CloseStream"), 1);
    assert_eq!(received.last().unwrap(), "disconnected");
    assert!(received.iter().all(|what| what != "too fast"));
    let mut batches = received.iter().filter_map(|what| what.strip_prefix("audio "));
    assert!(batches.all(|bytes| (1..=800).contains(&bytes.parse::<u32>().unwrap())));
    assert!(counted + 1_200 > length && counted <= length, "{counted} {length}");
}

#[tokio::test(start_paused = true)]
async fn the_agents_settings_become_the_providers() {
    let stub = stub(StubTimes::AT_ONCE).await;
    for (name, hinglish, wanted, unwanted) in [
        (
            "deepgram",
            false,
            "model=nova-3&language=en&encoding=mulaw&sample_rate=8000",
            "keywords=",
        ),
        ("deepgram", true, "language=multi", "filler_words"),
        ("deepgram/nova-2-phonecall", false, "keywords=Ann+Lee", "keyterm"),
        ("deepgram/nova-2", true, "language=hi", "multi"),
    ] {
        let meter = Meter::default();
        let mut config = config(&meter);
        config.hinglish = hinglish;
        config.keywords = vec!["Ann Lee".into(), " ".into(), "Pune & Co".into()];
        let mut call = Call::open_with(&stt(name, &stub), config, meter);
        call.silence(300).await;
        let received = stub.received(deepgram::LISTEN);
        let query = received.iter().rfind(|what| what.starts_with("connected")).unwrap();
        assert!(query.contains(wanted) && !query.contains(unwanted), "{query}");
        assert!(query.contains("endpointing=false") && query.contains("interim_results=true"));
        assert!(
            query.contains("=Ann+Lee&") && query.ends_with("=Pune+%26+Co"),
            "{query}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn every_asking_is_answered_once() {
    let stub = stub(StubTimes::PUBLISHED).await;
    let mut call = Call::open(&stt("deepgram", &stub));
    call.say("Yes.").await;
    call.stream.finalize();
    call.stream.finalize();
    call.silence(1_500).await;
    assert_eq!(call.told.finals(), ["Yes."]);
    assert_eq!(call.told.count_finals(), 3);
    call.silence(200).await;
    call.stream.finalize();
    call.silence(600).await;
    assert_eq!((call.told.finals().len(), call.told.count_finals()), (1, 4));
}

#[tokio::test(start_paused = true)]
async fn a_line_without_audio_keeps_its_recogniser() {
    let stub = stub(StubTimes::AT_ONCE).await;
    let mut call = Call::open(&stt("deepgram", &stub));
    tokio::time::sleep(Duration::from_secs(15)).await;
    call.say("Hello there.").await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    call.say("Still here?").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(call.told.finals(), ["Hello there.", "Still here?"]);
    let received = stub.received(deepgram::LISTEN);
    assert_eq!(received.iter().filter(|what| what.starts_with("connected")).count(), 1);
    assert!(controls(&received, "KeepAlive") >= 6);
}

/// The connection drops at many moments, and every word is recognised once.
#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_loses_no_word_and_repeats_none() {
    let mut rng = StdRng::seed_from_u64(11);
    for round in 0..60 {
        let stub = stub(StubTimes::PUBLISHED).await;
        let mut faults: Vec<_> = (0..3).map(|_| Fault::DropAfter(rng.random_range(1..6))).collect();
        faults.push(Fault::None);
        stub.set_faults(deepgram::LISTEN, faults.clone());
        let mut call = Call::open(&stt("deepgram", &stub));
        call.silence(rng.random_range(100..900)).await;
        for text in [TEXT, "It is Ann Lee speaking.", "No, that is all, thank you."] {
            call.say(text).await;
            call.silence(rng.random_range(1_200..2_500)).await;
        }
        call.silence(12_000).await;
        let want = format!("{TEXT} It is Ann Lee speaking. No, that is all, thank you.");
        assert_eq!(call.told.finals().join(" "), want, "round {round} {faults:?}");
        assert_eq!(call.told.failure(), None);
        assert_eq!(call.told.count_finals(), 3, "round {round}: {:?}", call.told.all());
        let received = stub.received(deepgram::LISTEN);
        assert!(received.iter().all(|what| what != "too fast"), "round {round}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_fault_is_survived_or_told() {
    for fault in [
        Fault::Hang,
        Fault::StallAfter(1),
        Fault::DropAfter(0),
        Fault::MalformedAfter(0),
        Fault::MalformedAfter(1),
        Fault::OversizedAfter(1),
        Fault::ErrorAfter(1),
        Fault::Refuse(500),
        Fault::Refuse(429),
        Fault::Drip(Duration::from_millis(30)),
    ] {
        let stub = stub(StubTimes::AT_ONCE).await;
        stub.set_faults(deepgram::LISTEN, vec![fault.clone(), Fault::None]);
        let mut call = Call::open(&stt("deepgram", &stub));
        call.silence(300).await;
        call.say(TEXT).await;
        call.silence(9_000).await;
        call.say("And again.").await;
        call.silence(3_000).await;
        assert_eq!(call.told.finals().join(" "), format!("{TEXT} And again."), "{fault:?}");
        assert_eq!(call.told.failure(), None, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_recogniser_that_never_comes_back_is_told_within_its_time() {
    for (fault, words) in [
        (Fault::Refuse(401), "Invalid credentials"),
        (Fault::Refuse(400), "400: Unsupported"),
        (Fault::Refuse(500), "Something went wrong"),
        (Fault::DropAfter(0), "unavailable"),
        (Fault::MalformedAfter(0), "invalid answer"),
    ] {
        let stub = stub(StubTimes::AT_ONCE).await;
        stub.set_faults(deepgram::LISTEN, vec![fault.clone()]);
        let mut call = Call::open(&stt("deepgram", &stub));
        for _ in 0..6 {
            call.say(TEXT).await;
            call.silence(2_000).await;
        }
        let failure = call.told.failure().unwrap_or_default();
        assert!(failure.contains(words), "{fault:?}: {failure}");
        let all = call.told.all();
        assert!(
            matches!(all.last().unwrap().1, TranscriptEvent::Failed(_)),
            "nothing follows"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_is_told_at_once() {
    let stub = stub(StubTimes::AT_ONCE).await;
    let guards = net::guard::Guards::default();
    let stt = stt_with("deepgram", &settings(&stub, "another"), &guards);
    let mut call = Call::open(&stt);
    call.silence(200).await;
    assert!(
        call.told.failure().unwrap().contains("401"),
        "{:?}",
        call.told.failure()
    );
    assert!(stt.guards()[0].is_down(), "others need not ask");
    assert!(!KEY.is_empty());
}
