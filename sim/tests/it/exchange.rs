//! The exchange as a carrier's customer sees it: dials, callbacks, telephones, record.

mod scripts;
mod support;

use std::time::Duration;

use axum::{extract::ws::Message, http::StatusCode};
use serde_json::{Value, json};
use sim::exchange::{ExchangeSettings, LogEvent};

use self::support::{Service, quick};

#[tokio::test(start_paused = true)]
async fn a_call_is_reported_in_order_and_its_words_are_on_record() {
    let mut service = Service::start(quick()).await;
    let call = service.dial("+15551234561", "").await;
    let mut phone = service.phone().await;
    assert_eq!((&*phone.token, &*phone.call), ("15551234561", &*call));
    let hello = phone.hear_sentences(1).await;
    phone.listen_ms(300).await;
    let question = "Good morning, this is Ava. What is your name?";
    phone.say(question).await;
    let name = phone.hear_sentences(2).await;
    assert!(name.starts_with("My name is "), "{name}");
    phone.listen_ms(300).await;
    phone.say("Thank you. Goodbye!").await;
    assert_eq!(phone.hear_sentences(3).await, "Thank you, goodbye.");
    phone.close().await;
    assert_eq!(service.ended(&call).await, ["ringing", "answered", "ended completed"]);

    let log = service.log(&call);
    let words: Vec<&str> = log
        .iter()
        .filter_map(|event| match event {
            LogEvent::Said { text, .. } => Some(text.as_str()),
            LogEvent::Heard { text, whole: true, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        words,
        [&hello, question, &name, "Thank you. Goodbye!", "Thank you, goodbye."]
    );
    assert!(matches!(&log[0], LogEvent::Accepted { attempt, .. } if attempt == "attempt-+15551234561"));
    assert!(matches!(
        &log[1..4],
        [LogEvent::Ringing, LogEvent::Answered, LogEvent::MediaOpened]
    ));
    let Some(LogEvent::Ended {
        cause,
        figures: Some(figures),
    }) = log.last()
    else {
        panic!("{:?}", log.last());
    };
    assert_eq!((&**cause, figures.gaps, figures.response_us.len()), ("completed", 0, 2));
    // The scripted agent understands within a frame or two of the last sound, and then waits 300 ms.
    assert!(
        figures.response_us.iter().all(|us| (260_000..=360_000).contains(us)),
        "{figures:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_callbacks_of_a_call_are_numbered() {
    let service = Service::start(quick()).await;
    let call = service.dial("+15551234567", "no-answer").await;
    service.ended(&call).await;
    assert_eq!(
        service.status_bodies(),
        [
            json!({"callId": call, "attempt": "attempt-+15551234567", "sequence": 0, "status": "ringing"}),
            json!({"callId": call, "attempt": "attempt-+15551234567", "sequence": 1, "status": "ended", "cause": "no-answer"}),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn marks_return_when_played_and_at_once_after_a_clear() {
    let mut service = Service::start(quick()).await;
    service.dial("+15551234561", "silent").await;
    let mut phone = service.phone().await;
    phone.listen_ms(100).await;
    let begun = phone.now_ms();
    let first_ms = phone.say("This is the first sentence.").await;
    phone.mark("first").await;
    let second_ms = phone.say("This is the second sentence, which is longer.").await;
    phone.mark("second").await;
    phone.say("Nobody ever hears the third sentence to its end.").await;
    phone.mark("third").await;
    phone.mark("fourth").await;
    phone.listen_until(|phone| phone.marks.len() == 2).await;
    for ((at, _), due) in phone.marks.iter().zip([first_ms, first_ms + second_ms]) {
        let late = at - begun - due;
        assert!(late <= 40, "a mark was {late} ms late");
    }
    phone.listen_ms(300).await;
    assert_eq!(phone.marks.len(), 2);
    phone.clear().await;
    let cleared = phone.now_ms();
    phone.listen_until(|phone| phone.marks.len() == 4).await;
    let names: Vec<&str> = phone.marks.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["first", "second", "third", "fourth"]);
    assert!(phone.marks[3].0 <= cleared + 20);
}

#[tokio::test(start_paused = true)]
async fn a_frame_leaves_every_twenty_milliseconds() {
    let mut service = Service::start(quick()).await;
    service.dial("+15551234561", "silent").await;
    let mut phone = service.phone().await;
    phone.listen_ms(10_000).await;
    assert!((498..=501).contains(&phone.frames), "{}", phone.frames);
    assert!(phone.samples.iter().all(|sample| *sample == 0));
}

#[tokio::test(start_paused = true)]
async fn a_noisy_line_hisses_at_its_level_and_words_still_come_through() {
    let settings = ExchangeSettings {
        line_noise_dbfs: Some(-50.0),
        ..quick()
    };
    let mut service = Service::start(settings).await;
    service.dial("+15551234561", "").await;
    let mut phone = service.phone().await;
    phone.listen_ms(400).await;
    let power: f64 = phone.samples.iter().map(|sample| f64::from(*sample).powi(2)).sum();
    let dbfs = 10.0 * (power / phone.samples.len() as f64 / 32_767.0_f64.powi(2)).log10();
    assert!((dbfs + 50.0).abs() < 1.0, "{dbfs}");
    assert!(phone.hear_sentences(1).await.to_lowercase().contains("hello"));
}

#[tokio::test(start_paused = true)]
async fn who_does_not_pick_up_opens_no_media() {
    let mut service = Service::start(quick()).await;
    for (persona, statuses) in [
        ("busy", vec!["ended busy"]),
        ("no-answer", vec!["ringing", "ended no-answer"]),
        ("rejects", vec!["ringing", "ended rejected"]),
    ] {
        let call = service.dial("+15551234561", persona).await;
        assert_eq!(service.ended(&call).await, statuses);
    }
    assert!(service.no_phone_dialed_in());
}

#[tokio::test(start_paused = true)]
async fn nobody_answers_after_the_ring_timeout() {
    let mut service = Service::start(quick()).await;
    let mut body = service.dial_body("+15551234561", "");
    body["ringTimeoutSeconds"] = json!(1);
    let (_, answer) = service.post(&body).await;
    let call = answer["callId"].as_str().unwrap();
    assert_eq!(service.ended(call).await, ["ringing", "ended no-answer"]);
    assert!(service.no_phone_dialed_in());
}

#[tokio::test(start_paused = true)]
async fn hanging_up_cancels_a_ringing_call_and_completes_an_answered_one() {
    let mut service = Service::start(quick()).await;
    let ringing = service.dial("+15551234561", "").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(service.hang_up(&ringing).await, 204);
    assert_eq!(service.ended(&ringing).await, ["ringing", "ended canceled"]);
    assert!(service.no_phone_dialed_in());

    let answered = service.dial("+15551234562", "").await;
    let mut phone = service.phone().await;
    phone.hear_sentences(1).await;
    assert_eq!(service.hang_up(&answered).await, 204);
    phone.listen_until(|phone| phone.closed).await;
    assert!(phone.stopped, "a hang-up is announced by `stop`");
    assert_eq!(
        service.ended(&answered).await,
        ["ringing", "answered", "ended completed"]
    );
    assert_eq!(service.hang_up(&answered).await, 404);
    assert_eq!(service.hang_up("CA0").await, 404);
}

#[tokio::test(start_paused = true)]
async fn a_mailbox_greets_and_beeps_and_records_half_a_minute() {
    let mut service = Service::start(quick()).await;
    let call = service.dial("+15551234568", "").await;
    let mut phone = service.phone().await;
    let greeting = phone.hear_sentences(1).await;
    assert!(greeting.contains("after the tone"), "{greeting}");
    let greeted = phone.now_ms();
    assert!((5_000..8_000).contains(&greeted), "{greeted}");
    phone.listen_ms(700).await;
    phone.say("This is Ava. Please call back.").await;
    phone.listen_until(|phone| phone.closed).await;
    assert!(phone.stopped && (30_000..32_000).contains(&(phone.now_ms() - greeted)));
    service.ended(&call).await;
    let log = service.log(&call);
    assert!(log.iter().any(|event| matches!(event, LogEvent::Beeped { .. })));
    let heard =
        |event: &LogEvent| matches!(event, LogEvent::Heard { text, whole: true, .. } if text.ends_with("call back."));
    assert!(log.iter().any(heard), "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn a_status_waits_in_order_while_the_receiver_is_down() {
    let service = Service::start(quick()).await;
    service.refuse_statuses(&[StatusCode::BAD_GATEWAY; 4]);
    let call = service.dial("+15551234561", "rejects").await;
    assert_eq!(service.ended(&call).await, ["ringing", "ended rejected"]);

    service.refuse_statuses(&[StatusCode::FORBIDDEN]);
    let call = service.dial("+15551234562", "rejects").await;
    assert_eq!(service.ended(&call).await, ["ended rejected"]);
    let lost = service
        .log(&call)
        .into_iter()
        .find(|event| matches!(event, LogEvent::StatusLost { .. }));
    assert_eq!(
        lost,
        Some(LogEvent::StatusLost {
            status: "ringing".into(),
            reason: "refused: 403 Forbidden".into()
        })
    );
}

#[tokio::test(start_paused = true)]
async fn statuses_come_twice_where_that_is_asked_for() {
    let settings = ExchangeSettings {
        duplicate_statuses: true,
        ..quick()
    };
    let service = Service::start(settings).await;
    let call = service.dial("+15551234561", "rejects").await;
    service.ended(&call).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        service.statuses(&call),
        ["ringing", "ringing", "ended rejected", "ended rejected"]
    );
}

#[tokio::test(start_paused = true)]
async fn the_same_attempt_twice_makes_two_calls_that_both_are_listed() {
    let service = Service::start(quick()).await;
    let first = service.dial("+15551234561", "silent").await;
    let second = service.dial("+15551234561", "rejects").await;
    service.dial("+15551234562", "busy").await;
    service.ended(&second).await;
    let url = format!("{}/v1/calls", service.exchange.url());
    let query = [("to", "+15551234561"), ("sinceMicros", "0")];
    let listed: Value = service
        .http
        .get(url)
        .query(&query)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let mut calls: Vec<(&str, bool)> = listed["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            assert_eq!(call["attempt"], "attempt-+15551234561");
            (call["callId"].as_str().unwrap(), call["live"].as_bool().unwrap())
        })
        .collect();
    calls.sort_by_key(|(_, live)| !live);
    assert_eq!(calls, [(&*first, true), (&*second, false)]);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_call_is_refused_with_its_field_named() {
    let service = Service::start(quick()).await;
    for (field, value, code, named) in [
        ("to", json!("555"), "invalid_number", "555"),
        ("to", json!("+1 555 123 4561"), "invalid_number", "+1 555"),
        ("to", Value::Null, "invalid_request", "string"),
        ("attempt", json!(""), "invalid_request", "attempt"),
        ("statusUrl", json!("ftp://x"), "invalid_request", "statusUrl"),
        ("streamUrl", json!("http://127.0.0.1/"), "invalid_request", "streamUrl"),
        ("ringTimeoutSeconds", json!(-1), "invalid_request", "ringTimeoutSeconds"),
        ("hints", json!({"persona": "invalid"}), "invalid_number", "+15551234561"),
    ] {
        let mut body = service.dial_body("+15551234561", "");
        body[field] = value;
        let (status, answer) = service.post(&body).await;
        assert_eq!(
            (status, answer["code"].as_str()),
            (400, Some(code)),
            "{field}: {answer}"
        );
        assert!(answer["message"].as_str().unwrap().contains(named), "{answer}");
    }
    assert!(service.exchange.entries().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_dial_beyond_the_last_line_is_refused_until_one_is_free() {
    let settings = ExchangeSettings {
        max_calls: 1,
        ..quick()
    };
    let service = Service::start(settings).await;
    let call = service.dial("+15551234561", "rejects").await;
    let (status, answer) = service.post(&service.dial_body("+15551234562", "")).await;
    assert_eq!((status, answer["code"].as_str()), (429, Some("no_line")));
    service.ended(&call).await;
    service.dial("+15551234562", "").await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_persona_cooperates_and_is_on_record() {
    let mut service = Service::start(quick()).await;
    let call = service.dial("+15551234566", "grumpy").await;
    service.phone().await.hear_sentences(1).await;
    assert!(matches!(
        &service.log(&call)[0],
        LogEvent::Accepted { persona, unknown_persona: Some(name), .. } if persona == "cooperative" && name == "grumpy"
    ));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_breaks_the_format_fails_its_call() {
    for message in [
        Message::Binary(vec![0xff; 160].into()),
        Message::Text(r#"{"event":"media","streamSid":"MZother","media":{"payload":""}}"#.into()),
    ] {
        let mut service = Service::start(quick()).await;
        let call = service.dial("+15551234561", "silent").await;
        let mut phone = service.phone().await;
        phone.send_raw(message).await;
        assert_eq!(service.ended(&call).await, ["ringing", "answered", "ended failed"]);
        assert!(
            service
                .log(&call)
                .iter()
                .any(|event| matches!(event, LogEvent::MediaFailed { .. }))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_calls_talk_at_once() {
    let mut service = Service::start(quick()).await;
    let mut calls = Vec::new();
    for n in 0..100 {
        calls.push(service.dial(&format!("+1555123{n:04}"), "cooperative").await);
    }
    let mut talks = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let mut phone = service.phone().await;
        talks.spawn(async move {
            phone.hear_sentences(1).await;
            phone.say("What is your name?").await;
            assert!(phone.hear_sentences(2).await.starts_with("My name is "));
            phone.close().await;
        });
    }
    while let Some(talk) = talks.join_next().await {
        talk.unwrap();
    }
    for call in calls {
        assert_eq!(service.ended(&call).await, ["ringing", "answered", "ended completed"]);
    }
    assert_eq!(service.exchange.live_calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn closing_the_exchange_hangs_up_every_call() {
    let mut service = Service::start(quick()).await;
    let call = service.dial("+15551234561", "silent").await;
    let mut phone = service.phone().await;
    phone.listen_ms(500).await;
    let Service { exchange, .. } = service;
    let stop = tokio::spawn(exchange.stop());
    phone.listen_until(|phone| phone.closed).await;
    assert!(phone.stopped);
    stop.await.unwrap();
    drop(call);
}

#[tokio::test]
async fn an_accepted_dial_is_on_disk_before_it_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exchange.jsonl");
    let settings = ExchangeSettings {
        log: Some(path.clone()),
        ..quick()
    };
    let service = Service::start(settings).await;
    let call = service.dial("+15551234566", "").await;
    let log = sim::exchange::read_log(&path).unwrap();
    assert!(matches!(&log[0].event, LogEvent::Accepted { persona, .. } if persona == "busy"));
    assert_eq!(log[0].call_id, call);
}
