//! Tests of the choice among recognisers and of the failover between them.

use std::{sync::Arc, time::Duration};

use domain::ports::{transcriber::Transcriber, usage::Unit};
use net::guard::Guards;
use providers::{
    babble::BabbleTranscriber,
    settings::{NotConfigured, ProviderSettings},
    stt::SpeechToText,
};
use sim::stub_providers::{Fault, StubTimes, deepgram, elevenlabs, openai};

use super::support::{Call, KEY, names, settings, spoken, stt, stt_with, stub};

const TEXT: &str = "Good morning, where is my parcel?";

#[tokio::test(start_paused = true)]
async fn the_next_one_takes_over_in_mid_sentence_and_hears_it_from_its_beginning() {
    for (first, second, faults) in [
        ("deepgram", "elevenlabs", vec![Fault::Refuse(401)]),
        ("deepgram", "elevenlabs", vec![Fault::StallAfter(0), Fault::Refuse(500)]),
        (
            "deepgram",
            "deepgram/flux",
            vec![Fault::DropAfter(2), Fault::Refuse(500)],
        ),
        (
            "deepgram",
            "speaches",
            vec![Fault::DropAfter(1), Fault::DropAfter(1), Fault::DropAfter(0)],
        ),
        ("deepgram", "babble", vec![Fault::DropAfter(1), Fault::Refuse(500)]),
    ] {
        let stub = stub(StubTimes::PUBLISHED).await;
        stub.set_faults(deepgram::LISTEN, faults.clone());
        let mut call = Call::open(&stt(&format!("{first},{second}"), &stub));
        call.silence(300).await;
        for text in [TEXT, "Hello? Are you there?", "Thank you."] {
            call.say(text).await;
            call.silence(2_500).await;
        }
        call.silence(8_000).await;
        let want = format!("{TEXT} Hello? Are you there? Thank you.");
        assert_eq!(call.told.finals().join(" "), want, "{second} {faults:?}");
        assert_eq!(call.told.failure(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn after_the_last_one_the_call_is_told() {
    let stub = stub(StubTimes::AT_ONCE).await;
    stub.set_faults(deepgram::LISTEN, vec![Fault::Refuse(401)]);
    stub.set_faults(openai::TRANSCRIPTIONS, vec![Fault::Refuse(401)]);
    let mut call = Call::open(&stt("deepgram,openai", &stub));
    call.silence(500).await;
    assert_eq!(
        call.told.failure(),
        None,
        "the second is not asked before there is something to ask"
    );
    call.say(TEXT).await;
    call.silence(500).await;
    assert!(
        call.told.failure().unwrap().contains("Incorrect API key"),
        "{:?}",
        call.told.failure()
    );
}

#[tokio::test(start_paused = true)]
async fn after_the_last_one_the_first_is_tried_once_more_where_it_may_be_well_again() {
    let stub = stub(StubTimes::AT_ONCE).await;
    stub.set_faults(
        deepgram::LISTEN,
        vec![Fault::Refuse(500), Fault::Refuse(500), Fault::None],
    );
    stub.set_faults(elevenlabs::SCRIBE, vec![Fault::Refuse(401)]);
    let mut call = Call::open(&stt("deepgram,elevenlabs", &stub));
    call.say(TEXT).await;
    call.silence(8_000).await;
    assert_eq!((call.told.finals(), call.told.failure()), (vec![TEXT.to_owned()], None));
}

#[tokio::test(start_paused = true)]
async fn a_recogniser_that_others_found_down_is_passed_over() {
    let stub = stub(StubTimes::AT_ONCE).await;
    stub.set_faults(deepgram::LISTEN, vec![Fault::Refuse(401), Fault::None]);
    let guards = Guards::default();
    let stt = stt_with("deepgram,elevenlabs", &settings(&stub, KEY), &guards);
    let mut first = Call::open(&stt);
    first.silence(300).await;
    let guarded: Vec<_> = stt
        .guards()
        .iter()
        .map(|guard| (guard.provider().to_owned(), guard.is_down()))
        .collect();
    assert_eq!(
        guarded,
        [("deepgram".to_owned(), true), ("elevenlabs".to_owned(), false)]
    );
    let mut second = Call::open(&stt);
    second.say(TEXT).await;
    second.silence(1_000).await;
    assert_eq!(second.told.finals(), [TEXT]);
    assert_eq!(second.meter.used("deepgram", Unit::AudioMs), 0);
    assert_eq!(stub.received(deepgram::LISTEN).len(), 1, "it was not asked again");
    tokio::time::sleep(Duration::from_secs(120)).await;
    let mut third = Call::open(&stt);
    third.say(TEXT).await;
    third.silence(6_000).await;
    assert_eq!(third.told.finals(), [TEXT]);
    assert!(!stt.guards()[0].is_down(), "and is taken again once it is well");
}

#[tokio::test(start_paused = true)]
async fn names_are_checked_at_the_start() {
    let stub = stub(StubTimes::AT_ONCE).await;
    let new = |choices: &str, settings: &ProviderSettings| {
        SpeechToText::new(
            names(choices),
            settings,
            &Guards::default(),
            Arc::new(BabbleTranscriber),
        )
        .err()
    };
    let none = ProviderSettings::read(|_| None).unwrap();
    assert!(matches!(
        new("deepgram", &none),
        Some(NotConfigured::Unset {
            variable: "DEEPGRAM_API_KEY",
            ..
        })
    ));
    let why = new("anthropic", &settings(&stub, KEY)).unwrap().to_string();
    assert!(why.contains("`anthropic` has no speech to text"), "{why}");
    assert_eq!(new("speaches,whispercpp,vllm,babble", &none), None);
    let babble = stt("babble", &stub);
    assert!(babble.guards().is_empty());
    assert_eq!((babble.sample_rate(8_000), babble.sample_rate(16_000)), (8_000, 16_000));
    assert!(stt("deepgram,babble", &stub).guards().is_empty(), "never all down");
}

#[tokio::test(start_paused = true)]
async fn a_probe_tells_words_time_or_reason() {
    let stub = stub(StubTimes::PUBLISHED).await;
    let all = "deepgram,deepgram/flux,elevenlabs,openai,babble";
    let probed = stt(all, &stub);
    for (name, rate) in all.split(',').zip([8_000, 16_000, 16_000, 16_000, 8_000]) {
        let report = probed.probe(name, &spoken(TEXT, rate), rate).await.unwrap();
        assert_eq!(report.words, TEXT, "{name}");
        assert!(report.final_after < Duration::from_millis(1_000), "{name} {report:?}");
    }
    let why = probed.probe("groq", &[], 8_000).await.unwrap_err().to_string();
    assert!(why.contains("not among"), "{why}");
    stub.set_faults(deepgram::LISTEN, vec![Fault::Refuse(401)]);
    let why = probed.probe("deepgram", &spoken(TEXT, 8_000), 8_000).await;
    let why = why.unwrap_err().to_string();
    assert!(why.contains("Invalid credentials"), "{why}");
    let why = probed
        .probe("openai", &[0; 8_000], 8_000)
        .await
        .unwrap_err()
        .to_string();
    assert!(why.contains("no words recognised"), "{why}");
}
