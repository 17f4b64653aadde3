//! Tests of audio tags: written in each provider's markup, left out for providers without it, and never timed as words.

use domain::ports::synthesizer::{Synthesizer, Voice, VoiceConfig};
use media::session::Cue;
use sim::stub_providers::{cartesia, deepgram, elevenlabs, openai};

use super::{World, listen, understood, word_ends};

const WORDS: &str = "Hello Maria. That is good news.";

fn cues() -> Vec<Cue> {
    [(0, "excited"), (13, "laughs softly"), (13, "french accent")]
        .map(|(at, tag)| Cue {
            at,
            tag: tag.to_owned(),
        })
        .to_vec()
}

fn open(world: &World, provider: Option<&str>) -> (bool, Box<dyn Voice>) {
    let config = VoiceConfig {
        provider: provider.map(str::to_owned),
        stability: 0.7,
        ..world.config(8_000)
    };
    (world.voices.takes_cues(&config), world.voices.open(config))
}

#[tokio::test(start_paused = true)]
async fn directions_are_written_as_each_provider_takes_them() {
    for (list, service, acts, written) in [
        (
            "cartesia",
            cartesia::SPEECH,
            true,
            "<emotion value=\\\"excited\\\"/> Hello Maria. [laughter] That is good news.",
        ),
        ("cartesia/sonic-2", cartesia::SPEECH, false, WORDS),
        (
            "elevenlabs/eleven_v3",
            elevenlabs::SPEECH,
            true,
            "[excited] Hello Maria. [laughs softly] [french accent] That is good news.",
        ),
        ("elevenlabs", elevenlabs::SPEECH, false, WORDS),
        ("deepgram", deepgram::SPEAK, false, WORDS),
        ("openai", openai::SPEECH, false, WORDS),
    ] {
        let world = World::start(list).await;
        let (takes, mut voice) = open(&world, None);
        assert_eq!(takes, acts, "{list}");
        let spoken = listen(voice.perform(WORDS.into(), cues())).await;
        assert_eq!(spoken.error, None, "{list}");
        let heard = world.stubs.received(service);
        assert!(
            world.hears(service, |what| what.contains(written)).await,
            "{list}: {heard:?}"
        );
        if !acts {
            assert_eq!(understood(&spoken.samples, 8_000).0, WORDS, "{list}");
        }
        if list == "cartesia" {
            let ends: Vec<_> = spoken.words.iter().map(|word| word.text_end).collect();
            assert_eq!(ends, word_ends(WORDS), "no markup among the words");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_third_generation_voice_speaks_over_http_with_one_of_three_stabilities() {
    let world = World::start("elevenlabs/eleven_v3").await;
    let (_, mut voice) = open(&world, None);
    let spoken = listen(voice.speak(WORDS.into())).await;
    assert_eq!(
        (spoken.error, understood(&spoken.samples, 8_000)),
        (None, (WORDS.into(), false))
    );
    assert_eq!(world.characters("elevenlabs"), WORDS.chars().count());
    let asked = world.stubs.received(elevenlabs::SPEECH);
    let body = asked.iter().find(|what| what.contains("model_id")).unwrap();
    assert!(
        body.contains("\"eleven_v3\"") && body.contains("\"stability\":0.5"),
        "{body}"
    );
}

#[tokio::test(start_paused = true)]
async fn directions_and_plain_words_are_kept_apart() {
    let world = World::start("cartesia").await;
    let asked = || {
        let received = world.stubs.received(cartesia::SPEECH);
        received.iter().filter(|what| what.contains("transcript")).count()
    };
    for (cues, texts) in [(cues(), 1), (Vec::new(), 2), (cues(), 2), (Vec::new(), 2)] {
        let (_, mut voice) = open(&world, None);
        let spoken = listen(voice.perform(WORDS.into(), cues)).await;
        let ends: Vec<_> = spoken.words.iter().map(|word| word.text_end).collect();
        assert_eq!(ends, word_ends(WORDS));
        assert_eq!(asked(), texts);
    }
}
