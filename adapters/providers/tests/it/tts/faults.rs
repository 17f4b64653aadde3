//! Tests of every fault of every provider: recovery, or a typed error within the time limit.

use std::time::Duration;

use domain::ports::synthesizer::{SpeechError, Synthesizer, VoiceConfig};
use net::guard::Kind;
use sim::stub_providers::{Fault, StubSettings, elevenlabs};

use super::{PROVIDERS, Spoken, TEXT, World, listen, understood};

fn faults() -> Vec<Fault> {
    vec![
        Fault::Refuse(401),
        Fault::Refuse(403),
        Fault::Refuse(404),
        Fault::Refuse(429),
        Fault::Refuse(500),
        Fault::Refuse(503),
        Fault::Hang,
        Fault::StallAfter(0),
        Fault::StallAfter(2),
        Fault::DropAfter(0),
        Fault::DropAfter(2),
        Fault::Drip(Duration::from_millis(5)),
        Fault::Drip(Duration::from_millis(700)),
        Fault::MalformedAfter(0),
        Fault::MalformedAfter(2),
        Fault::OversizedAfter(0),
        Fault::OversizedAfter(2),
        Fault::ErrorAfter(0),
        Fault::ErrorAfter(2),
    ]
}

async fn spoken_with(list: &str, faults: Vec<Fault>) -> (World, Spoken) {
    let world = World::start(list).await;
    let first = list.split(',').next().unwrap();
    let (_, service, _) = PROVIDERS.into_iter().find(|(name, _, _)| *name == first).unwrap();
    world.stubs.set_faults(service, faults);
    let spoken = listen(world.open().speak(TEXT.into())).await;
    (world, spoken)
}

/// Without a fallback, a provider that stays faulty fails with a typed error, and in time.
#[tokio::test(start_paused = true)]
async fn alone_a_fault_is_an_error_or_is_survived() {
    for (provider, _, _) in PROVIDERS {
        for fault in faults() {
            let (_, spoken) = spoken_with(provider, vec![fault.clone()]).await;
            let case = format!("{provider} {fault:?}: {:?} after {:?}", spoken.error, spoken.took);
            let whole = understood(&spoken.samples, 8_000).0 == TEXT;
            match &fault {
                Fault::Drip(each) if *each < Duration::from_millis(100) => assert!(whole, "{case}"),
                Fault::Refuse(401 | 403) => {
                    let Some(SpeechError::Rejected(why)) = &spoken.error else {
                        panic!("{case}")
                    };
                    assert!(why.contains(&format!("{}_API_KEY", provider.to_uppercase())), "{case}");
                }
                Fault::Refuse(404) => assert!(matches!(spoken.error, Some(SpeechError::Rejected(_))), "{case}"),
                Fault::Refuse(429) => assert!(matches!(spoken.error, Some(SpeechError::Busy { .. })), "{case}"),
                Fault::Refuse(_) => assert!(matches!(spoken.error, Some(SpeechError::Unavailable(_))), "{case}"),
                Fault::Hang | Fault::StallAfter(0) => {
                    assert!(matches!(spoken.error, Some(SpeechError::Unavailable(_))), "{case}");
                    assert!(spoken.took < Duration::from_secs(4), "{case}");
                }
                // Corrupted audio over HTTP is still played.
                Fault::MalformedAfter(2) if provider == "openai" => {}
                Fault::Drip(_) => {}
                _ => assert!(spoken.error.is_some() || whole, "{case}"),
            }
            // No text takes longer than its audio plus a limit.
            assert!(spoken.took < Duration::from_secs(30), "{case}");
        }
    }
}

/// With a fallback every text is spoken, whatever happens to the first provider before its first audio.
#[tokio::test(start_paused = true)]
async fn with_a_fallback_the_text_is_spoken() {
    for (provider, _, _) in PROVIDERS {
        for fault in faults() {
            let begun = matches!(
                fault,
                Fault::StallAfter(2)
                    | Fault::DropAfter(2)
                    | Fault::ErrorAfter(2)
                    | Fault::OversizedAfter(2)
                    | Fault::MalformedAfter(2)
                    | Fault::Drip(_)
            );
            // An endless stream is noticed only after more audio than the text can have was given out.
            if begun || (provider, &fault) == ("openai", &Fault::OversizedAfter(0)) {
                continue;
            }
            let list = format!(
                "{provider},{}",
                if provider == "openai" { "cartesia" } else { "openai" }
            );
            let (world, spoken) = spoken_with(&list, vec![fault.clone()]).await;
            let case = format!(
                "{provider} {fault:?}: {:?} after {:?}",
                spoken.error, spoken.first_audio
            );
            assert_eq!(spoken.error, None, "{case}");
            assert_eq!(understood(&spoken.samples, 8_000), (TEXT.into(), false), "{case}");
            assert!(spoken.first_audio.unwrap() < Duration::from_millis(2_000), "{case}");
            let refused = matches!(fault, Fault::Refuse(401 | 403));
            assert_eq!(
                world.guards.get(Kind::TextToSpeech, provider).is_down(),
                refused,
                "{case}"
            );
        }
    }
}

/// If word times are known, a text that breaks off goes on after the last word that was given out.
#[tokio::test(start_paused = true)]
async fn a_text_that_breaks_off_goes_on_from_the_next_word() {
    for provider in ["elevenlabs", "cartesia"] {
        for fault in [
            Fault::StallAfter(4),
            Fault::DropAfter(4),
            Fault::ErrorAfter(4),
            Fault::MalformedAfter(4),
            Fault::OversizedAfter(4),
        ] {
            for list in [provider.to_owned(), format!("{provider},openai")] {
                // The first connection is faulty, all others work.
                let (_, spoken) = spoken_with(&list, vec![fault.clone(), Fault::None]).await;
                let case = format!("{list} {fault:?}: {:?} {:?}", spoken.error, spoken.took);
                assert_eq!(spoken.error, None, "{case}");
                let (text, _) = understood(&spoken.samples, 8_000);
                // Between the two parts a partial word may be heard twice, or a mark for a missing part.
                let end = "is now a good time?";
                assert!(
                    text.starts_with("Good morning, ") && text.ends_with(end),
                    "{case} {text}"
                );
                for word in TEXT.split_whitespace() {
                    assert!(text.contains(word), "{case}: {word} in {text}");
                }
                assert!(
                    spoken.words.is_sorted_by_key(|word| (word.text_end, word.sample_end)),
                    "{case}"
                );
                if list == provider {
                    assert_eq!(spoken.words.last().unwrap().text_end, TEXT.len(), "{case}");
                }
                assert!(spoken.took < Duration::from_secs(4), "{case}");
            }
        }
    }
}

/// Without word times, a text that broke off is not repeated and ends with an error.
#[tokio::test(start_paused = true)]
async fn untimed_a_text_that_breaks_off_ends_with_an_error() {
    for provider in ["deepgram", "openai"] {
        for fault in [Fault::StallAfter(4), Fault::DropAfter(4)] {
            let (_, spoken) = spoken_with(&format!("{provider},elevenlabs"), vec![fault.clone()]).await;
            let case = format!("{provider} {fault:?}: {:?}", spoken.error);
            // Audio that the network had not delivered yet counts as not said.
            let whole = understood(&spoken.samples, 8_000) == (TEXT.into(), false);
            let unavailable = matches!(spoken.error, Some(SpeechError::Unavailable(_)));
            assert!(whole || (unavailable && spoken.samples.len() > 4_000), "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_request_saves_a_text_that_hangs() {
    for (provider, service, _) in PROVIDERS {
        let world = World::start(provider).await;
        world.stubs.set_faults(service, vec![Fault::Hang, Fault::None]);
        let mut voice = world.open();
        let spoken = listen(voice.speak(TEXT.into())).await;
        assert_eq!(spoken.error, None, "{provider}");
        let first = spoken.first_audio.unwrap().as_millis();
        assert!((1_200..1_400).contains(&first), "{provider}: {first} ms");
        assert_eq!(understood(&spoken.samples, 8_000).0, TEXT, "{provider}");
        // The connection that succeeded becomes the call's connection.
        let spoken = listen(voice.speak("And on it goes.".into())).await;
        assert!(spoken.first_audio.unwrap() < Duration::from_millis(100), "{provider}");
    }
}

/// Silence, an apology that stays silent as long, and then a hang-up would be worse than a hang-up alone.
#[tokio::test(start_paused = true)]
async fn behind_a_text_that_hung_the_next_one_is_waited_for_less() {
    for (provider, service, _) in PROVIDERS {
        let world = World::start(provider).await;
        world.stubs.set_faults(service, vec![Fault::Hang]);
        let mut voice = world.open();
        let hung = listen(voice.speak(TEXT.into())).await;
        let next = listen(voice.speak("Sorry?".into())).await;
        assert!(hung.error.is_some() && next.error.is_some(), "{provider}");
        assert!(hung.took > Duration::from_secs(3), "{provider}: {:?}", hung.took);
        assert!(next.took < Duration::from_millis(1_300), "{provider}: {:?}", next.took);
        let of_another_call = listen(world.open().speak("Hello?".into())).await;
        assert!(of_another_call.took > Duration::from_secs(3), "{provider}");
    }
    // A provider that works again is soon asked on a new connection, and gets its full time again.
    let world = World::start("elevenlabs").await;
    world
        .stubs
        .set_faults(elevenlabs::SPEECH, vec![Fault::Hang, Fault::Hang, Fault::None]);
    let mut voice = world.open();
    assert!(listen(voice.speak(TEXT.into())).await.error.is_some());
    let next = listen(voice.speak("Sorry?".into())).await;
    assert!(
        next.first_audio.is_some_and(|wait| wait < Duration::from_millis(700)),
        "{next:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_again_and_again_is_left_alone() {
    let world = World::start("elevenlabs,openai").await;
    world.stubs.set_faults(PROVIDERS[0].1, vec![Fault::Hang]);
    let mut waits = Vec::new();
    for n in 0..12 {
        let spoken = listen(world.open().speak(format!("This is number {n}."))).await;
        assert_eq!(spoken.error, None);
        waits.push(spoken.first_audio.unwrap().as_millis());
    }
    assert!(
        world.guards.get(Kind::TextToSpeech, "elevenlabs").is_down(),
        "{waits:?}"
    );
    assert!(waits[..4].iter().all(|wait| (1_200..2_000).contains(wait)), "{waits:?}");
    assert!(waits[11] < 50, "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_made_again_behind_the_call() {
    let world = World::start("elevenlabs").await;
    // The connection drops after its first text.
    world
        .stubs
        .set_faults(PROVIDERS[0].1, vec![Fault::DropAfter(3), Fault::None]);
    let mut voice = world.open();
    assert_eq!(listen(voice.speak("Hi.".into())).await.error, None);
    drop(voice.speak(TEXT.into()));
    tokio::time::sleep(Duration::from_secs(3)).await;
    let spoken = listen(voice.speak(TEXT.into())).await;
    assert_eq!(spoken.error, None);
    assert!(spoken.first_audio.unwrap() < Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn the_wrong_key_is_told_in_words() {
    for (provider, _, _) in PROVIDERS {
        let settings = StubSettings {
            key: Some("another".into()),
            ..StubSettings::on_loopback()
        };
        let world = World::with(provider, settings).await;
        let spoken = listen(world.open().speak(TEXT.into())).await;
        let Some(SpeechError::Rejected(why)) = spoken.error else {
            panic!("{provider}: {:?}", spoken.error)
        };
        assert!(why.contains("401") && why.contains("_API_KEY"), "{why}");
        assert!(!why.contains("right"), "no key in {why}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_voices_name_never_leaves_its_place_in_an_address() {
    let world = World::start("openai").await;
    for voice in [
        "elevenlabs:..",
        "elevenlabs:../../x",
        "elevenlabs:a/b",
        "elevenlabs:%2e%2e",
        "elevenlabs:a?b",
        "elevenlabs:a#b",
        "elevenlabs:a\\b",
        "elevenlabs/../x:a",
    ] {
        let why = world.voices.check(voice).unwrap_err().to_string();
        assert!(
            why.contains("is not a valid") || why.contains("is unknown"),
            "{voice}: {why}"
        );
        let (provider, voice) = voice.split_once(':').unwrap();
        let config = VoiceConfig {
            provider: Some(provider.to_owned()),
            voice: voice.to_owned(),
            ..world.config(8_000)
        };
        // An agent saved before the check speaks with the service's own voice.
        let spoken = listen(world.voices.open(config).speak(TEXT.into())).await;
        assert_eq!(
            understood(&spoken.samples, 8_000).0,
            TEXT,
            "{voice}: {:?}",
            spoken.error
        );
    }
    assert!(world.stubs.received(elevenlabs::SPEECH).is_empty());
    assert_eq!(world.voices.check("elevenlabs:JBFqnCBsd6RMkjVDRZzb"), Ok(()));
    assert_eq!(world.voices.check("kokoro:af_bella(2)+af_sky(1)"), Ok(()));
}
