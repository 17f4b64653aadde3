//! Tests of speech when nothing goes wrong.

use std::time::Duration;

use domain::ports::{
    synthesizer::{Likely, Synthesizer},
    usage::Unit,
};
use media::babble;
use net::guard::Kind;
use sim::stub_providers::{Fault, Spread, StubSettings, StubTimes, cartesia, deepgram, elevenlabs, openai};

use super::{PROVIDERS, TEXT, World, listen, understood, word_ends};

#[tokio::test(start_paused = true)]
async fn every_provider_is_understood_at_both_rates() {
    for (provider, _, timed) in PROVIDERS {
        for rate in [8_000, 16_000] {
            let world = World::start(provider).await;
            let mut voice = world.voices.open(world.config(rate));
            let spoken = listen(voice.speak(TEXT.into())).await;
            assert_eq!(spoken.error, None, "{provider}");
            let (text, damaged) = understood(&spoken.samples, rate);
            assert_eq!((text.as_str(), damaged), (TEXT, false), "{provider} at {rate}");
            assert_eq!(world.characters(provider), TEXT.chars().count());
            let used = &world.meter.shown().unwrap()[provider];
            let models: Vec<&serde_json::Value> = used["models"].as_object().unwrap().values().collect();
            assert_eq!(
                models,
                [&serde_json::json!({ "characters": used["characters"] })],
                "{used}"
            );
            let ends: Vec<_> = spoken.words.iter().map(|word| word.text_end).collect();
            assert_eq!(ends, if timed { word_ends(TEXT) } else { Vec::new() }, "{provider}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn words_end_where_they_are_understood() {
    for provider in ["elevenlabs", "cartesia"] {
        let world = World::start(provider).await;
        let spoken = listen(world.open().speak(TEXT.into())).await;
        let speaker = babble::Speaker::new(TEXT, babble::Voice::named("x"), 8_000).unwrap();
        for (word, true_end) in spoken.words.iter().zip(speaker.words()) {
            assert_eq!(word.text_end, true_end.text_end);
            // Times are in milliseconds at ElevenLabs, and in fractions of a second at Cartesia.
            assert!(
                word.sample_end.abs_diff(true_end.sample_end) <= 8,
                "{provider}: {word:?} {true_end:?}"
            );
        }
        assert_eq!(spoken.words.len(), speaker.words().len());
    }
}

#[tokio::test(start_paused = true)]
async fn texts_follow_each_other_on_one_connection() {
    let texts = [
        "One sentence is here.",
        "And a second one, which is longer!",
        "Über third: “quoted”?",
    ];
    for (provider, service, _) in PROVIDERS {
        let world = World::start(provider).await;
        let mut voice = world.open();
        for text in texts {
            let spoken = listen(voice.speak(text.into())).await;
            assert_eq!(
                understood(&spoken.samples, 8_000),
                (text.to_owned(), false),
                "{provider}"
            );
        }
        let connected = world
            .stubs
            .received(service)
            .iter()
            .filter(|what| *what == "connected")
            .count();
        assert_eq!(connected, usize::from(provider != "openai"), "{provider}");
        drop(voice);
        if provider != "openai" {
            assert!(world.hears(service, |what| what == "disconnected").await, "{provider}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_dropped_is_cancelled_and_the_next_text_is_clean() {
    let closes = |what: &str| what.contains("close_context") && what.contains("\"t0\"");
    let cancel = |provider: &str, what: &str| match provider {
        "elevenlabs" => closes(what),
        "cartesia" => what.contains("\"cancel\":true"),
        _ => what.contains("\"Clear\""),
    };
    for (provider, service, _) in &PROVIDERS[..3] {
        let world = World::start(provider).await;
        // Slow, so that it is not over before it is dropped.
        world
            .stubs
            .set_faults(*service, vec![Fault::Drip(Duration::from_millis(50))]);
        let mut voice = world.open();
        let mut pieces = voice.speak(TEXT.into());
        use futures_util::StreamExt;
        let first = pieces.next().await.unwrap();
        assert!(
            first.is_ok(),
            "{provider}: {first:?} {:?}",
            world.stubs.received(*service)
        );
        drop(pieces);
        let spoken = listen(voice.speak("A clean one.".into())).await;
        assert_eq!(understood(&spoken.samples, 8_000).0, "A clean one.", "{provider}");
        let cancelled = world.hears(*service, |what| cancel(provider, what)).await;
        assert!(cancelled, "{provider} {:?}", world.stubs.received(*service));
        let connected = world
            .stubs
            .received(*service)
            .iter()
            .filter(|what| *what == "connected")
            .count();
        assert_eq!(connected, 1, "{provider}");
        let closed = world
            .stubs
            .received(*service)
            .iter()
            .filter(|what| closes(what))
            .count();
        assert_eq!(
            closed,
            usize::from(*provider == "elevenlabs"),
            "{provider}: closed once"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn published_times_are_waited_out() {
    let settings = StubSettings {
        times: StubTimes::PUBLISHED,
        ..StubSettings::on_loopback()
    };
    let world = World::with("elevenlabs", settings).await;
    let spoken = listen(world.open().speak(TEXT.into())).await;
    let first = spoken.first_audio.unwrap();
    assert!(
        (Duration::from_millis(100)..Duration::from_millis(900)).contains(&first),
        "{first:?}"
    );
    assert_eq!(understood(&spoken.samples, 8_000).0, TEXT);
}

#[tokio::test(start_paused = true)]
async fn more_flushes_than_deepgram_takes_go_over_http() {
    let world = World::start("deepgram").await;
    let mut voice = world.open();
    for n in 0..25 {
        let text = format!("Number {n}.");
        let spoken = listen(voice.speak(text.clone())).await;
        assert_eq!(understood(&spoken.samples, 8_000), (text, false));
    }
    let received = world.stubs.received(deepgram::SPEAK);
    let posts = received.iter().filter(|what| what.starts_with("POST")).count();
    let flushes = received.iter().filter(|what| what.contains("Flush")).count();
    assert_eq!((flushes, posts), (19, 6));
    tokio::time::sleep(Duration::from_secs(60)).await;
    listen(voice.speak("On the socket again.".into())).await;
    assert!(
        world
            .hears(deepgram::SPEAK, |what| what.contains("again")
                && !what.starts_with("POST"))
            .await
    );
}

#[tokio::test(start_paused = true)]
async fn a_text_said_again_or_fetched_ahead_is_asked_for_once() {
    let world = World::start("elevenlabs").await;
    let mut voice = world.open();
    voice.prepare(&Likely {
        text: TEXT.into(),
        fixed: true,
    });
    let first = listen(voice.speak(TEXT.into())).await;
    // Another call of the same agent.
    let second = listen(world.open().speak(TEXT.into())).await;
    assert_eq!((&first.samples, &first.words), (&second.samples, &second.words));
    assert_eq!(second.took, Duration::ZERO);
    assert_eq!(
        world.meter.used("elevenlabs", Unit::Characters) as usize,
        TEXT.chars().count()
    );
    // Cached speech is available even though the provider is down.
    world.stubs.set_faults(elevenlabs::SPEECH, vec![Fault::Refuse(401)]);
    let mut other = world.open();
    assert!(listen(other.speak("Something else.".into())).await.error.is_some());
    assert!(world.guards.get(Kind::TextToSpeech, "elevenlabs").is_down());
    assert_eq!(listen(other.speak(TEXT.into())).await.samples, first.samples);
}

#[tokio::test(start_paused = true)]
async fn local_servers_speak_without_a_key() {
    for provider in ["kokoro", "speaches", "kokoro:af_sky"] {
        let world = World::start(provider).await;
        let spoken = listen(world.open().speak(TEXT.into())).await;
        assert_eq!(understood(&spoken.samples, 8_000), (TEXT.into(), false), "{provider}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_agents_voice_is_the_providers_it_names() {
    let world = World::start("openai:nova,babble").await;
    assert_eq!(world.voices.check("default"), Ok(()));
    assert_eq!(world.voices.check("elevenlabs:anyone"), Ok(()));
    let why = world.voices.check("nobody:x").unwrap_err().to_string();
    assert!(why.contains("nobody"), "{why}");
    for (provider, voice, service, want) in [
        (None, "", openai::SPEECH, "\"nova\""),
        (None, "echo", openai::SPEECH, "\"echo\""),
        (Some("cartesia"), "my-voice", cartesia::SPEECH, "my-voice"),
    ] {
        let config = domain::ports::synthesizer::VoiceConfig {
            provider: provider.map(str::to_owned),
            voice: voice.into(),
            ..world.config(8_000)
        };
        listen(world.voices.open(config).speak(format!("This is {voice}."))).await;
        assert!(world.hears(service, |what| what.contains(want)).await, "{voice}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_tells_what_was_said_and_how_fast() {
    let mut settings = StubSettings::on_loopback();
    settings.times.first_audio = Spread {
        p50_ms: 300,
        p95_ms: 300,
    };
    settings.key = Some("right".into());
    let world = World::with("elevenlabs", settings).await;
    let report = world.voices.probe(&"elevenlabs".parse().unwrap()).await.unwrap();
    assert_eq!(
        understood(&report.samples, report.sample_rate).0,
        "Hello, this is Ringback."
    );
    assert!(
        (300..320).contains(&report.first_audio.as_millis()) && report.timed_words == 4,
        "{report:?}"
    );
    world.stubs.set_faults(openai::SPEECH, vec![Fault::Refuse(401)]);
    let why = world.voices.probe(&"openai".parse().unwrap()).await;
    let why = why.unwrap_err().to_string();
    assert!(why.contains("OPENAI_API_KEY") && why.contains("refused"), "{why}");
}
