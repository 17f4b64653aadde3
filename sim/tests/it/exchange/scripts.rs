//! Phones that follow a script, and phones on faulty paths, as the service sees them.

use std::collections::BTreeMap;

use serde_json::json;
use sim::exchange::{Echo, ExchangeSettings, LineSound, LogEvent, MediaFaults, Script, Stall, Step};

use super::support::{Conversation, Service, quick};

fn with(script: Script) -> ExchangeSettings {
    ExchangeSettings {
        scripts: BTreeMap::from([("it".to_owned(), script)]),
        ..quick()
    }
}

/// Returns a phone that follows the script, and its call.
async fn phone(script: Script) -> (Service, Conversation, String) {
    let mut service = Service::start(with(script)).await;
    let mut body = service.dial_body("+15551234566", "");
    body["hints"] = json!({ "script": "it" });
    let (status, answer) = service.post(&body).await;
    assert_eq!(status, 201, "{answer}");
    let phone = service.phone().await;
    (service, phone, answer["callId"].as_str().unwrap().to_owned())
}

fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_script_is_followed_and_is_on_record() {
    let steps = [
        say("Hello."),
        Step::IntoSpeechMs(400),
        Step::Cough,
        Step::UntilHeardWord("visit".into()),
        Step::Murmur("Mm-hm.".into()),
        Step::UntilAgentSaid,
        Step::Spell {
            groups: vec!["482".into(), "119".into()],
            gap_ms: 1_000,
        },
        Step::HangUp,
    ];
    let (service, mut phone, call) = phone(Script::of(steps)).await;
    phone.hear_sentences(1).await;
    phone.say("I am calling about your visit on Friday next week.").await;
    phone.listen_until(|phone| phone.closed).await;
    assert_eq!(phone.said, ["Hello.", "Mm-hm.", "482", "119"]);
    service.ended(&call).await;
    let log = service.log(&call);
    assert!(
        matches!(&log[0], LogEvent::Accepted { script: Some(name), persona, .. } if name == "it" && persona == "cooperative")
    );
    let steps: Vec<String> = log
        .iter()
        .filter_map(|event| match event {
            LogEvent::Said {
                text,
                over_agent,
                aside,
                ..
            } => Some(format!("{text} over={over_agent} aside={aside}")),
            LogEvent::Sounded { sound, over_agent, .. } => Some(format!("{sound} over={over_agent}")),
            LogEvent::Heard { text, whole: true, .. } => Some(format!("heard {text}")),
            _ => None,
        })
        .collect();
    assert_eq!(
        steps,
        [
            "Hello. over=false aside=false",
            "cough over=true",
            "Mm-hm. over=true aside=true",
            "heard I am calling about your visit on Friday next week.",
            "482 119 over=false aside=false",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_script_is_on_record_and_the_number_decides() {
    let service = Service::start(quick()).await;
    let mut body = service.dial_body("+15551234566", "");
    body["hints"] = json!({ "script": "none" });
    let (_, answer) = service.post(&body).await;
    let call = answer["callId"].as_str().unwrap();
    assert_eq!(service.ended(call).await, ["ended busy"]);
    assert!(
        matches!(&service.log(call)[0], LogEvent::Accepted { unknown_script: Some(name), script: None, .. } if name == "none")
    );
}

#[tokio::test(start_paused = true)]
async fn a_telephone_that_dies_says_nothing_and_its_call_goes_on() {
    let (service, mut phone, call) = phone(Script::of([Step::WaitMs(500), Step::Drop])).await;
    phone.listen_until(|phone| phone.closed).await;
    assert!(!phone.stopped);
    assert_eq!(service.statuses(&call), ["ringing", "answered"]);
    assert!(service.log(&call).contains(&LogEvent::Dropped));
    assert_eq!(service.hang_up(&call).await, 204);
    assert_eq!(service.ended(&call).await, ["ringing", "answered", "ended completed"]);
}

#[tokio::test(start_paused = true)]
async fn a_line_has_its_sound_and_returns_the_agent_s_voice() {
    let script = Script {
        line: LineSound {
            noise_dbfs: Some(-50.0),
            echo: Some(Echo {
                gain_db: -20.0,
                delay_ms: 150,
            }),
            ..LineSound::default()
        },
        ..Script::default()
    };
    let (_service, mut phone, _) = phone(script).await;
    let dbfs = |samples: &[i16]| {
        let power: f64 = samples.iter().map(|sample| f64::from(*sample).powi(2)).sum();
        10.0 * (power / samples.len() as f64 / 32_767.0_f64.powi(2)).log10()
    };
    phone.listen_ms(500).await;
    let noise = dbfs(&phone.samples);
    assert!((noise + 50.0).abs() < 2.0, "{noise}");
    let begun = phone.samples.len();
    let ms = phone.say("This is the agent, who hears itself.").await;
    phone.listen_ms(ms + 200).await;
    let echo = dbfs(&phone.samples[begun + 2_400..begun + 8_000]);
    assert!((echo + 40.0).abs() < 3.0, "{echo}");
}

#[tokio::test(start_paused = true)]
async fn a_faulty_protocol_still_carries_every_frame_once_or_twice() {
    let script = Script {
        faults: MediaFaults {
            duplicate_every: Some(10),
            stall: Some(Stall { from_ms: 500, ms: 400 }),
            ..MediaFaults::default()
        },
        ..Script::default()
    };
    let (_service, mut phone, _) = phone(script).await;
    phone.listen_ms(480).await;
    let before = phone.frames;
    phone.listen_until(|phone| phone.frames > before + 15).await;
    assert!((880..=940).contains(&phone.now_ms()), "{}", phone.now_ms());
    phone.listen_ms(1_100).await;
    assert!((108..=112).contains(&phone.frames), "{}", phone.frames);
}
