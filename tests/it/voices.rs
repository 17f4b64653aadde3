//! An agent's voices, audio tags and languages in whole calls: the requests to its providers, what the phone
//! hears, and what is stored.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use domain::{
    ports::{
        language_model::{HistoryItem, LanguageError, LanguageModel, ReplyEvent, ReplyRequest, Speaker},
        synthesizer::{Likely, SpeechStream, Synthesizer, Voice, VoiceConfig},
        transcriber::{Transcriber, TranscriberConfig, TranscriptSink, TranscriptStream},
    },
    prompt::Prompt,
};
use futures_util::{StreamExt, stream, stream::BoxStream};
use media::session::Cue;
use net::guard::Guards;
use providers::{
    babble::{BabbleSynthesizer, BabbleTranscriber},
    stt::SpeechToText,
    tts::TextToSpeech,
};
use serde_json::{Value, json};
use sim::{
    exchange::{Script, Step},
    stub_providers::{Service, cartesia, deepgram, elevenlabs},
};

use support::{
    model_stubs,
    words::{lines, texts},
    world::{World, WorldSettings},
};

const NUMBER: &str = "+15550100040";
const GREETING: &str = "Hello, this is Ava.";

/// Requests to the providers of a call.
#[derive(Clone, Default)]
struct Stage(Arc<Mutex<Asked>>);

#[derive(Default, Clone)]
struct Asked {
    /// Voices in the order they were opened.
    opened: Vec<VoiceConfig>,
    /// Texts with their voice's name and the directions in them.
    spoken: Vec<(String, String, Vec<Cue>)>,
    /// Texts announced ahead, with their voice's name.
    prepared: Vec<(String, String)>,
    heard_by: Vec<TranscriberConfig>,
    requests: Vec<ReplyRequest>,
    /// Whether the voices follow directions.
    acts: bool,
    /// Words of the user, and the answers to them.
    answers: Vec<(&'static str, &'static str)>,
}

impl Stage {
    fn asked<T>(&self, look: impl FnOnce(&mut Asked) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns each text and its voice, without fillers.
    fn spoken(&self) -> Vec<(String, String)> {
        let spoken = self.asked(|asked| asked.spoken.clone());
        spoken
            .into_iter()
            .map(|(voice, text, _)| (voice, text.trim().to_owned()))
            .collect()
    }
}

impl Synthesizer for Stage {
    fn open(&self, config: VoiceConfig) -> Box<dyn Voice> {
        self.asked(|asked| asked.opened.push(config.clone()));
        Box::new(Actor {
            stage: self.clone(),
            name: config.voice.clone(),
            voice: BabbleSynthesizer.open(config),
        })
    }

    fn takes_cues(&self, _config: &VoiceConfig) -> bool {
        self.asked(|asked| asked.acts)
    }
}

struct Actor {
    stage: Stage,
    name: String,
    voice: Box<dyn Voice>,
}

impl Voice for Actor {
    fn speak(&mut self, text: String) -> SpeechStream {
        self.perform(text, Vec::new())
    }

    fn perform(&mut self, text: String, cues: Vec<Cue>) -> SpeechStream {
        let spoken = (self.name.clone(), text.clone(), cues);
        self.stage.asked(|asked| asked.spoken.push(spoken));
        self.voice.speak(text)
    }

    fn prepare(&mut self, likely: &Likely) {
        let prepared = (self.name.clone(), likely.text.clone());
        self.stage.asked(|asked| asked.prepared.push(prepared));
    }
}

impl Transcriber for Stage {
    fn sample_rate(&self, line_rate: u32) -> u32 {
        BabbleTranscriber.sample_rate(line_rate)
    }

    fn open(&self, config: TranscriberConfig, sink: TranscriptSink) -> Box<dyn TranscriptStream> {
        self.asked(|asked| asked.heard_by.push(config.clone()));
        BabbleTranscriber.open(config, sink)
    }
}

impl LanguageModel for Stage {
    /// Streams its answer to the user's last words in pieces of three letters; the answer to other words is a goodbye.
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>> {
        let last = request.history.iter().rev().find_map(|item| match item {
            HistoryItem::Said {
                speaker: Speaker::User,
                text,
                ..
            } => Some(text.clone()),
            _ => None,
        });
        let answer = self.asked(|asked| {
            let last = last.unwrap_or_default();
            asked.requests.push(request);
            asked
                .answers
                .iter()
                .find(|(words, _)| last.contains(words))
                .map(|(_, answer)| *answer)
        });
        let letters: Vec<char> = answer.unwrap_or("Goodbye.").chars().collect();
        let mut events: Vec<_> = letters
            .chunks(3)
            .map(|part| ReplyEvent::Text(part.iter().collect()))
            .collect();
        if answer.is_none() {
            events.push(ReplyEvent::Tool {
                name: "endCall".into(),
                arguments: json!({ "reason": "completed" }),
                echo: None,
            });
        }
        stream::iter(events.into_iter().map(Ok)).boxed()
    }
}

/// A finished call.
struct Over {
    stage: Stage,
    conversation: Value,
    heard: Vec<String>,
}

/// Makes a call by an agent with these settings and this model's answers, to a callee that performs these
/// steps after the greeting.
async fn call(agent: Value, tts: Value, answers: &[(&'static str, &'static str)], steps: Vec<Step>) -> Over {
    let stage = Stage::default();
    stage.asked(|asked| {
        asked.answers = answers.to_vec();
        asked.acts = true;
    });
    call_on(stage, agent, tts, steps).await
}

async fn call_on(stage: Stage, agent: Value, tts: Value, steps: Vec<Step>) -> Over {
    let mut section = json!({
        "prompt": { "prompt": "You are Ava.", "builtInTools": { "endCall": { "enabled": true } } },
        "greetingMessage": GREETING
    });
    for (name, value) in agent.as_object().unwrap() {
        match name.as_str() {
            "llm" | "temperature" | "timezone" | "ignoreDefaultPersonality" => section["prompt"][name] = value.clone(),
            _ => section[name] = value.clone(),
        }
    }
    let steps = [vec![Step::UntilAgentSaid], steps].concat();
    let world = World::start_with(WorldSettings {
        transcriber: Arc::new(stage.clone()),
        synthesizer: Arc::new(stage.clone()),
        mind: Some(Arc::new(stage.clone())),
        scripts: BTreeMap::from([("told".to_owned(), Script::of(steps))]),
        ..WorldSettings::default()
    })
    .await;
    let agent = world
        .agent(json!({ "name": "Ava", "conversationConfig": {
            "agent": section, "tts": tts, "asr": { "keywords": ["Greenfield", "Ava"] }
        } }))
        .await;
    let body = json!({ "agentId": agent, "phoneNumber": NUMBER, "dynamicVariables": { "script": "told" } });
    let made = world.client.post("/public/v1/calls", body).await;
    let conversation = world
        .until_over(&made.expect(201).text("/data/conversationId"), 150)
        .await;
    assert_eq!(conversation["status"], "completed", "{conversation}");
    Over {
        heard: texts(&world.phones().call(NUMBER).heard()),
        stage,
        conversation,
    }
}

fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

fn two_voices() -> Value {
    json!({ "voiceId": "ava", "speed": 1.1, "stability": 0.4, "similarityBoost": 0.6, "supportedVoices": [
        { "label": "Joe", "voiceId": "joe", "speed": 0.9, "stability": 0.25, "similarityBoost": 0.75 },
        { "label": "Ana", "voiceId": "cartesia:ana", "language": "es-MX" }
    ] })
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(voice, text)| ((*voice).to_owned(), (*text).to_owned()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn words_between_a_voices_tags_are_spoken_in_it_and_written_without() {
    let answers = [
        ("Who", "I ask Joe. <Joe>Hi, I am Joe.</Joe> <Zed>So it is.</Zed>"),
        ("more", "<joe>Me again.</joe> And now <Ana>hola, soy Ana"),
    ];
    let steps = vec![
        say("Who is there?"),
        Step::UntilAgentSaid,
        say("Tell me more."),
        Step::UntilAgentSaid,
        say("Thanks."),
    ];
    let over = call(json!({}), two_voices(), &answers, steps).await;
    let spoken = [
        ("ava", GREETING),
        ("ava", "I ask Joe."),
        ("joe", "Hi, I am Joe."),
        ("ava", "So it is."),
        ("joe", "Me again."),
        ("ava", "And now"),
        ("ana", "hola, soy Ana"),
        ("ava", "Goodbye."),
    ];
    assert_eq!(over.stage.spoken(), owned(&spoken));
    let said = [
        GREETING,
        "I ask Joe. Hi, I am Joe. So it is.",
        "Me again. And now hola, soy Ana",
        "Goodbye.",
    ];
    assert_eq!(over.heard, said);
    assert_eq!(lines(&over.conversation, "Agent"), said);
    let opened = over.stage.asked(|asked| asked.opened.clone());
    let opened: Vec<_> = opened
        .iter()
        .map(|voice| {
            let figures = [voice.speed, voice.stability, voice.similarity_boost];
            (
                voice.provider.as_deref(),
                voice.voice.as_str(),
                voice.language.as_str(),
                figures,
            )
        })
        .collect();
    let expected = [
        (None, "ava", "en", [1.1, 0.4, 0.6]),
        (None, "joe", "en", [0.9, 0.25, 0.75]),
        (Some("cartesia"), "ana", "es-MX", [1.1, 0.4, 0.6]),
    ];
    assert_eq!(opened, expected, "each once, when it is first needed");
    let request = over.stage.asked(|asked| asked.requests[0].clone());
    let told = Prompt::of(&request).stable;
    for part in [
        "# Voices\n",
        "`<Joe>Hello!</Joe>`",
        "\n- `Joe`",
        "\n- `Ana`, for words in Spanish as in the region MX",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_voice_that_is_interrupted_exactly_what_was_heard_is_kept() {
    let answers = [(
        "Who",
        "Just a moment. <Joe>This is Joe speaking to you from the other side of a long and rather noisy line.</Joe> Bye.",
    )];
    let steps = vec![
        say("Who is there?"),
        Step::UntilHeardWord("speaking".to_owned()),
        say("Wait, please stop that now."),
    ];
    let over = call(json!({}), two_voices(), &answers, steps).await;
    assert_eq!(over.heard.len(), 3, "{:?}", over.heard);
    let cut = &over.heard[1];
    assert!(
        cut.starts_with("Just a moment. This is Joe") && !cut.contains("noisy"),
        "{cut}"
    );
    assert_eq!(lines(&over.conversation, "Agent"), over.heard);
}

#[tokio::test(start_paused = true)]
async fn the_voice_of_the_language_that_is_spoken_speaks() {
    for (language, named, voice, spoken) in [
        ("es", false, "ana", "es-MX"),
        ("es-mx", false, "ana", "es-MX"),
        ("es", true, "ava", "es"),
        ("fr", true, "ava", "fr"),
    ] {
        let mut tts = two_voices();
        if !named {
            tts.as_object_mut().unwrap().remove("voiceId");
        }
        let over = call(json!({ "primaryLanguage": language }), tts, &[], vec![say("Bye.")]).await;
        assert_eq!(
            over.stage.spoken(),
            owned(&[(voice, GREETING), (voice, "Goodbye.")]),
            "{language}"
        );
        let (opened, prepared) = over.stage.asked(|asked| (asked.opened.clone(), asked.prepared.clone()));
        assert_eq!((opened.len(), opened[0].language.as_str()), (1, spoken));
        assert!(prepared.iter().all(|(by, _)| by == voice), "{prepared:?}");
        assert!(prepared.iter().any(|(_, text)| text == GREETING), "{prepared:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn audio_tags_reach_voices_that_act_on_them_and_are_never_words() {
    let answers = [(
        "How",
        "[laughs] Fine, thanks. [like a pirate] Arr [sighs]! See [page one] please.",
    )];
    for (expressive, acts) in [(true, true), (true, false), (false, true)] {
        let stage = Stage::default();
        stage.asked(|asked| (asked.answers, asked.acts) = (answers.to_vec(), acts));
        let tts = json!({
            "expressiveMode": expressive,
            "suggestedAudioTags": [{ "tag": "Like a pirate", "description": "when at sea" }, { "tag": "[sighs]" }]
        });
        let steps = vec![say("How are you?"), Step::UntilAgentSaid, say("Bye.")];
        let over = call_on(stage, json!({}), tts, steps).await;
        // Words that do not have the form of a tag stay words if the agent does not use tags.
        let said = match expressive {
            true => "Fine, thanks. Arr ! See please.",
            false => "Fine, thanks. Arr ! See [page one] please.",
        };
        assert_eq!(lines(&over.conversation, "Agent"), [GREETING, said, "Goodbye."]);
        assert_eq!(over.heard, [GREETING, said, "Goodbye."]);
        let (spoken, request) = over
            .stage
            .asked(|asked| (asked.spoken.clone(), asked.requests[0].clone()));
        let cues: Vec<_> = spoken
            .iter()
            .flat_map(|(_, _, cues)| cues)
            .map(|cue| cue.tag.as_str())
            .collect();
        let expected: &[&str] = if expressive {
            &["laughs", "like a pirate", "sighs", "page one"]
        } else {
            &[]
        };
        assert_eq!(cues, expected);
        let told = Prompt::of(&request).stable;
        assert_eq!(told.contains("# Audio tags"), expressive && acts, "{told}");
        if expressive && acts {
            assert!(
                told.contains("These before others:\n- `[like a pirate]`: when at sea\n- `[sighs]`"),
                "{told}"
            );
        }
    }
}

/// Makes a telephone call of 8 kHz with Deepgram and Cartesia. Returns the recogniser's query, the format asked
/// of the voice, and what was understood on both sides.
async fn formats_asked(asr: Value, tts: Value) -> (String, Value, Vec<String>, Vec<String>) {
    let stubs = model_stubs::stubs().await;
    let (settings, guards) = (model_stubs::settings(&stubs), Guards::default());
    let recogniser = vec!["deepgram".parse().unwrap()];
    let voices = vec!["cartesia".parse().unwrap()];
    let steps = vec![
        Step::UntilAgentSaid,
        say("Which day suits you best?"),
        Step::WaitMs(4_000),
        Step::HangUp,
    ];
    let world = World::start_with(WorldSettings {
        transcriber: Arc::new(SpeechToText::new(recogniser, &settings, &guards, Arc::new(BabbleTranscriber)).unwrap()),
        synthesizer: Arc::new(TextToSpeech::new(voices, &settings, &guards, None).unwrap()),
        scripts: BTreeMap::from([("told".to_owned(), Script::of(steps))]),
        ..WorldSettings::default()
    })
    .await;
    let agent = world
        .agent(json!({ "name": "Ava", "conversationConfig": {
            "agent": { "prompt": { "prompt": "Be brief." }, "greetingMessage": GREETING }, "asr": asr, "tts": tts,
        } }))
        .await;
    let body = json!({ "agentId": agent, "phoneNumber": NUMBER, "dynamicVariables": { "script": "told" } });
    let made = world.client.post("/public/v1/calls", body).await;
    let conversation = world
        .until_over(&made.expect(201).text("/data/conversationId"), 150)
        .await;
    let listened = stubs.received(deepgram::LISTEN);
    let query = listened.iter().find(|what| what.starts_with("connected")).unwrap();
    let spoken = stubs.received(cartesia::SPEECH);
    let asked = spoken
        .iter()
        .filter_map(|what| serde_json::from_str::<Value>(what).ok());
    let format = asked
        .map(|asked| asked["output_format"].clone())
        .find(|format| !format.is_null());
    let heard = texts(&world.phones().call(NUMBER).heard());
    (query.clone(), format.unwrap(), lines(&conversation, "User"), heard)
}

#[tokio::test(start_paused = true)]
async fn the_audio_formats_that_an_agent_sets_are_asked_of_its_providers_on_the_telephone_too() {
    let asr = |format: &str| json!({ "userInputAudioFormat": format });
    let tts = |format: &str| json!({ "agentOutputAudioFormat": format });
    for (asr, tts, query, (encoding, rate)) in [
        (
            json!({}),
            json!({}),
            "encoding=mulaw&sample_rate=8000&",
            ("pcm_mulaw", 8_000),
        ),
        (
            asr("pcm_16000"),
            tts("pcm_16000"),
            "encoding=linear16&sample_rate=16000&",
            ("pcm_s16le", 16_000),
        ),
        (
            asr("pcm_8000"),
            tts("pcm_44100"),
            "encoding=linear16&sample_rate=8000&",
            ("pcm_s16le", 44_100),
        ),
        (
            asr("pcm_48000"),
            tts("ulaw_8000"),
            "encoding=linear16&sample_rate=48000&",
            ("pcm_mulaw", 8_000),
        ),
    ] {
        let (asked, format, said, heard) = formats_asked(asr.clone(), tts).await;
        assert!(asked.contains(query), "{asr}: {asked}");
        assert_eq!(
            (&format["encoding"], &format["sample_rate"]),
            (&json!(encoding), &json!(rate))
        );
        assert_eq!(said, ["Which day suits you best?"], "{asr}");
        assert_eq!(heard[0], GREETING, "{format}");
    }
}

#[tokio::test(start_paused = true)]
async fn hinglish_is_a_way_to_speak_hindi() {
    for (language, hinglish, told) in [
        ("hi", true, "Speak Hinglish"),
        ("hi-IN", true, "Speak Hinglish"),
        ("hi", false, "Speak Hindi."),
        ("en", true, "Speak English."),
    ] {
        let agent = json!({ "primaryLanguage": language, "hinglishMode": hinglish });
        let over = call(agent, json!({}), &[], vec![say("Bye.")]).await;
        let asked = over.stage.asked(|asked| asked.clone());
        assert_eq!(
            (asked.heard_by[0].language.as_str(), asked.opened[0].language.as_str()),
            (language, language)
        );
        assert_eq!(asked.heard_by[0].hinglish, hinglish && language != "en");
        assert!(Prompt::of(&asked.requests[0]).stable.contains(told), "{told}");
    }
}

/// Calls with this voice, and returns the messages in which its provider received pronunciation dictionaries.
async fn dictionaries_sent(voice: &str, service: Service) -> Vec<Value> {
    let stubs = model_stubs::stubs().await;
    let (settings, guards) = (model_stubs::settings(&stubs), Guards::default());
    let voices = vec!["babble".parse().unwrap()];
    let world = World::start_with(WorldSettings {
        synthesizer: Arc::new(TextToSpeech::new(voices, &settings, &guards, None).unwrap()),
        scripts: BTreeMap::from([("told".to_owned(), Script::of(vec![Step::UntilAgentSaid, Step::HangUp]))]),
        ..WorldSettings::default()
    })
    .await;
    let tts = json!({ "voiceId": voice, "pronunciationDictionary": [
        { "provider": "elevenlabs", "pronunciationDictionaryId": "names", "versionId": "v2" },
        { "provider": "cartesia", "pronunciationDictionaryId": "places" },
        { "provider": "elevenlabs", "pronunciationDictionaryId": "brands", "versionId": "v1" },
    ] });
    let agent = world
        .agent(json!({ "name": "Ava", "conversationConfig": {
            "agent": { "prompt": { "prompt": "Be brief." }, "greetingMessage": GREETING }, "tts": tts,
        } }))
        .await;
    let body = json!({ "agentId": agent, "phoneNumber": NUMBER, "dynamicVariables": { "script": "told" } });
    let made = world.client.post("/public/v1/calls", body).await;
    let conversation = made.expect(201).text("/data/conversationId");
    world.until_over(&conversation, 150).await;
    assert_eq!(texts(&world.phones().call(NUMBER).heard()), [GREETING]);
    let sent = stubs.received(service);
    let sent = sent.iter().filter(|what| what.contains("pronunciation_dict"));
    sent.map(|what| serde_json::from_str(what).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_agents_pronunciation_dictionaries_reach_the_provider_that_has_them() {
    let locators = json!([
        { "pronunciation_dictionary_id": "names", "version_id": "v2" },
        { "pronunciation_dictionary_id": "brands", "version_id": "v1" },
    ]);
    for voice in ["elevenlabs:someone", "elevenlabs/eleven_v3:someone"] {
        let sent = dictionaries_sent(voice, elevenlabs::SPEECH).await;
        assert!(!sent.is_empty(), "{voice}");
        for message in sent {
            assert_eq!(message["pronunciation_dictionary_locators"], locators, "{voice}");
        }
    }
    let sent = dictionaries_sent("cartesia:someone", cartesia::SPEECH).await;
    assert!(!sent.is_empty() && sent.iter().all(|message| message["pronunciation_dict_id"] == "places"));
    let none = dictionaries_sent("cartesia/sonic-2:someone", cartesia::SPEECH).await;
    assert_eq!(none, [] as [Value; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_agents_settings_reach_its_providers() {
    let agent = json!({
        "llm": "openai/gpt-4.1", "temperature": 0.7, "timezone": "Asia/Tokyo", "ignoreDefaultPersonality": true,
        "primaryLanguage": "de",
    });
    let tts = json!({
        "voiceId": "elevenlabs:someone", "optimizeStreamingLatency": 1, "stability": 0.25, "speed": 1.5, "similarityBoost": 0.125
    });
    let over = call(agent, tts, &[], vec![say("Bye.")]).await;
    let asked = over.stage.asked(|asked| asked.clone());
    let voice = &asked.opened[0];
    assert_eq!(
        (voice.provider.as_deref(), voice.voice.as_str(), voice.language.as_str()),
        (Some("elevenlabs"), "someone", "de")
    );
    assert_eq!(
        (voice.latency, [voice.stability, voice.speed, voice.similarity_boost]),
        (1, [0.25, 1.5, 0.125])
    );
    assert_eq!(asked.heard_by[0].keywords, ["Greenfield", "Ava"]);
    let request = &asked.requests[0];
    assert_eq!(request.agent.conversation_config.agent.prompt.llm, "openai/gpt-4.1");
    let prompt = Prompt::of(request);
    assert_eq!(prompt.temperature, 0.7);
    assert!(
        prompt.changing.contains("in the time zone Asia/Tokyo"),
        "{}",
        prompt.changing
    );
    assert!(!prompt.stable.contains("# Manner"), "{}", prompt.stable);
}
