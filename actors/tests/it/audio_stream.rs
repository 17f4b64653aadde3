//! The audio stream under a paused clock, with babble as speech in both directions.

use std::sync::Arc;

use actors::audio_stream::{SessionEvent, SpeechId, StreamEvent, StreamMessage, StreamSettings, StreamSnapshot};
use domain::{
    agent::Agent,
    ports::media_leg::{INBOUND_FRAMES, InboundItem, LegAbilities},
};
use media::{tone::keys::KeyDetector, turn::endpointing::Utterance};
use serde_json::json;

use super::audio_stream_support::{CARRIER, Phone, STALLS, wait};

const LONG: &str = "Good morning, this is a rather long announcement about opening hours and holidays and prices.";

fn utterance(event: &StreamEvent) -> Option<(String, u64)> {
    match event {
        StreamEvent::Session(SessionEvent::UtteranceEnded(Utterance { text, ended_ms, .. })) => {
            Some((text.clone(), *ended_ms))
        }
        _ => None,
    }
}

fn barged_in(event: &StreamEvent) -> Option<String> {
    match event {
        StreamEvent::Session(SessionEvent::BargedIn { heard, .. }) => Some(heard.clone()),
        _ => None,
    }
}

fn speaking_ended(event: &StreamEvent) -> Option<String> {
    match event {
        StreamEvent::Session(SessionEvent::SpeakingEnded { heard, .. }) => Some(heard.clone()),
        _ => None,
    }
}

async fn snapshot(phone: &Phone) -> StreamSnapshot {
    ractor::call!(phone.stream, StreamMessage::Inspect).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_utterance_ends_after_the_configured_pause() {
    for (turn, fixed_pause_ms, words, pause) in [
        (json!({}), None, "I would like a table", 270..=900),
        (
            json!({"turnEagerness": "patient"}),
            None,
            "I would like a table",
            600..=1_600,
        ),
        (
            json!({"turnEagerness": "eager"}),
            None,
            "I would like a table.",
            150..=250,
        ),
        (json!({}), Some(200), "I would like a table and", 200..=200),
        (json!({}), None, "It is spelled A B C", 1_700..=3_000),
        (
            json!({"spellingPatience": "off"}),
            None,
            "It is spelled A B C",
            270..=450,
        ),
    ] {
        let agent: Agent = serde_json::from_value(json!({"conversationConfig": {"turn": turn}})).unwrap();
        let phone = Phone::with(agent, CARRIER, StreamSettings { fixed_pause_ms }).await;
        wait(500).await;
        let began = phone.now_ms();
        let spoken_ms = phone.user_says(words);
        wait(spoken_ms + 2_500).await;
        let (at, (text, ended_ms)) = phone.first(utterance).unwrap();
        assert_eq!(text, words);
        assert!(
            ended_ms.abs_diff(began + spoken_ms) <= 60,
            "{ended_ms} {began} {spoken_ms}"
        );
        assert!(
            (pause.start() - 20..=pause.end() + 60).contains(&(at - ended_ms)),
            "{words}: {at} {ended_ms}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn barge_in_clears_playout_and_tells_what_was_really_played() {
    let phone = Phone::answer().await;
    phone.stream.cast(StreamMessage::AllowBargeIn(true)).unwrap();
    phone.say(1, LONG, true, false);
    wait(3_000).await;
    let began = phone.now_ms();
    phone.user_says("No, wait a moment please.");
    wait(5_000).await;
    let cleared = phone.seen().clears.clone();
    assert_eq!(cleared.len(), 1);
    assert!((140..=220).contains(&(cleared[0] - began)), "{cleared:?} {began}");
    let (_, heard) = phone.first(barged_in).unwrap();
    let understood = phone.understood();
    let understood = understood.trim_end_matches('…').trim();
    assert!(!heard.is_empty() && LONG.starts_with(&heard));
    let difference = heard.split(' ').count().abs_diff(understood.split(' ').count());
    assert!(difference <= 1, "{heard:?} against {understood:?}");
    assert_eq!(phone.first(utterance).unwrap().1.0, "No, wait a moment please.");
    assert_eq!(snapshot(&phone).await.ahead_ms, 0);
}

#[tokio::test(start_paused = true)]
async fn a_backchannel_pauses_playout_and_lets_it_go_on() {
    let phone = Phone::answer().await;
    phone.stream.cast(StreamMessage::AllowBargeIn(true)).unwrap();
    phone.say(1, LONG, true, false);
    wait(3_000).await;
    phone.user_says("okay");
    wait(9_000).await;
    assert_eq!(phone.seen().clears.len(), 1);
    assert_eq!(phone.first(speaking_ended).unwrap().1, LONG);
    assert_eq!(phone.first(barged_in), None);
    assert_eq!(phone.first(utterance), None);
    let pause = phone.seen().gaps_ms.iter().copied().max().unwrap();
    assert!(pause <= 1_000, "paused for {pause} ms");
}

#[tokio::test(start_paused = true)]
async fn a_protected_greeting_is_not_interrupted_and_the_user_is_heard() {
    let phone = Phone::answer().await;
    phone.stream.cast(StreamMessage::AllowBargeIn(true)).unwrap();
    phone.say(1, LONG, true, true);
    wait(2_000).await;
    phone.user_says("Who is calling me there?");
    wait(9_000).await;
    assert_eq!(phone.seen().clears, Vec::<u64>::new());
    assert_eq!(phone.first(speaking_ended).unwrap().1, LONG);
    assert_eq!(phone.understood(), LONG);
    assert_eq!(phone.first(utterance).unwrap().1.0, "Who is calling me there?");
}

#[tokio::test(start_paused = true)]
async fn a_held_speech_plays_at_once_when_it_is_released_and_never_if_it_is_not() {
    let phone = Phone::answer().await;
    phone.hold(1, "A wrong answer.");
    wait(1_000).await;
    phone.stream.cast(StreamMessage::StopSpeaking).unwrap();
    phone.hold(2, "The right answer.");
    wait(1_000).await;
    assert_eq!(phone.events(), [], "nobody has heard of either");
    let released = phone.now_ms();
    phone.stream.cast(StreamMessage::Release(SpeechId(2))).unwrap();
    wait(4_000).await;
    let started = phone.first(|event| match event {
        StreamEvent::Session(SessionEvent::SpeakingStarted { speech, audio_ms, .. }) => Some((speech.0, *audio_ms)),
        _ => None,
    });
    let (at, (speech, audio_ms)) = started.unwrap();
    assert_eq!((at, speech), (released, 2));
    assert!(audio_ms.unwrap() < released, "its voice was made ahead");
    assert_eq!(phone.understood(), "The right answer.");
    assert_eq!(phone.count(|event| speaking_ended(event).is_some()), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_told_before_the_turn_is_over_and_its_end_when_the_user_goes_on() {
    let phone = Phone::answer().await;
    wait(500).await;
    let spoken_ms = phone.user_says("I would like a table");
    wait(spoken_ms + 300).await;
    let spoken_ms = phone.user_says("for two");
    wait(spoken_ms + 2_000).await;
    let told: Vec<String> = phone
        .events()
        .into_iter()
        .filter_map(|(_, event)| match event {
            StreamEvent::Session(SessionEvent::TurnPaused { text, .. }) => Some(text),
            StreamEvent::Session(SessionEvent::TurnResumed { .. }) => Some("resumed".into()),
            StreamEvent::Session(SessionEvent::UtteranceEnded(Utterance { text, final_ms, .. })) => {
                assert!(final_ms.is_some());
                Some(format!("ended {text}"))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [
            "I would like a table",
            "resumed",
            "I would like a table for two",
            "ended I would like a table for two"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn texts_of_a_speech_play_in_order_without_a_gap_on_every_kind_of_line() {
    let paced = LegAbilities {
        buffers: false,
        marks: false,
        clear: false,
        digits: false,
    };
    for abilities in [
        CARRIER,
        LegAbilities {
            marks: false,
            ..CARRIER
        },
        paced,
    ] {
        let phone = Phone::with(Agent::default(), abilities, StreamSettings::default()).await;
        for (text, last) in [
            ("Hello there.", false),
            ("How are you?", false),
            ("", false),
            ("It is a fine day.", true),
        ] {
            phone.say(7, text, last, false);
        }
        wait(6_000).await;
        let heard = phone.first(speaking_ended).unwrap().1;
        assert_eq!(heard, "Hello there. How are you? It is a fine day.");
        assert_eq!(phone.understood(), heard, "{abilities:?}");
        assert!(
            phone.seen().gaps_ms.iter().all(|&gap| gap <= 60),
            "{:?}",
            phone.seen().gaps_ms
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_closes_in_a_speech_is_reported_once_and_ends_the_stream() {
    let phone = Phone::answer().await;
    phone.say(1, LONG, true, false);
    wait(2_000).await;
    phone.seen().hung_up = true;
    phone.inbound.push(InboundItem::Closed { clean: true });
    phone.inbound.push(InboundItem::Closed { clean: false });
    wait(3_000).await;
    assert_eq!(
        phone.count(|event| matches!(event, StreamEvent::MediaClosed { clean: true })),
        1
    );
    assert_eq!(phone.count(|event| matches!(event, StreamEvent::MediaClosed { .. })), 1);
    let heard = phone.first(speaking_ended).unwrap().1;
    assert!(!heard.is_empty() && heard.len() < LONG.len() && LONG.starts_with(&heard));
    assert!(phone.stopped.is_finished());
}

#[tokio::test(start_paused = true)]
async fn frames_beyond_the_queue_are_counted() {
    let phone = Phone::answer().await;
    wait(1_010).await;
    for _ in 0..INBOUND_FRAMES + 7 {
        phone.inbound.push(InboundItem::Audio(vec![0xff; 160]));
    }
    wait(100).await;
    let snapshot = snapshot(&phone).await;
    assert_eq!(snapshot.frames_dropped, 7);
    assert!(snapshot.frames_in >= 150);
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_takes_nothing_for_long_is_lost() {
    let phone = Phone::answer().await;
    phone.seen().stuck = true;
    for n in 1..12 {
        phone.say(n, LONG, true, false);
        wait(1_000).await;
    }
    assert_eq!(
        phone.count(|event| matches!(event, StreamEvent::MediaClosed { clean: false })),
        1
    );
    assert!(phone.stopped.is_finished());
}

#[tokio::test(start_paused = true)]
async fn closing_waits_for_the_last_words() {
    let phone = Phone::answer().await;
    phone.say(1, "Goodbye then.", true, false);
    phone.stream.cast(StreamMessage::Close).unwrap();
    wait(500).await;
    assert!(!phone.seen().closed);
    wait(2_000).await;
    assert!(phone.seen().closed && phone.stopped.is_finished());
    assert_eq!(phone.understood(), "Goodbye then.");
    assert_eq!(phone.count(|event| matches!(event, StreamEvent::MediaClosed { .. })), 0);
}

#[tokio::test(start_paused = true)]
async fn closing_in_a_users_turn_reports_the_words_so_far() {
    let phone = Phone::answer().await;
    wait(500).await;
    let spoken_ms = phone.user_says("Please send it to my office tomorrow.");
    wait(spoken_ms * 3 / 4).await;
    phone.stream.cast(StreamMessage::Close).unwrap();
    wait(100).await;
    assert!(phone.stopped.is_finished());
    let (text, _) = phone.first(utterance).unwrap().1;
    assert!(text.starts_with("Please send it"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_voice_that_says_nothing_for_8_s_has_failed() {
    let phone = Phone::answer().await;
    phone.say(1, STALLS, true, false);
    wait(7_900).await;
    assert_eq!(phone.events(), []);
    wait(200).await;
    let failed = |event: &StreamEvent| matches!(event, StreamEvent::SpeechFailed { speech, .. } if speech.0 == 1);
    assert_eq!(phone.count(failed), 1);
}

#[tokio::test(start_paused = true)]
async fn stopping_drops_the_speech_and_its_synthesis() {
    let phone = Phone::answer().await;
    phone.say(1, LONG, false, false);
    wait(2_000).await;
    phone.stream.cast(StreamMessage::StopSpeaking).unwrap();
    phone.say(1, LONG, true, false);
    wait(2_000).await;
    let heard = phone.first(speaking_ended).unwrap().1;
    assert!(!heard.is_empty() && heard.len() < LONG.len());
    assert_eq!(
        phone.count(|event| matches!(event, StreamEvent::Session(SessionEvent::SpeakingStarted { .. }))),
        1
    );
    assert_eq!(phone.seen().clears.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_recorded_only_when_the_agent_says_so() {
    for record in [true, false] {
        let agent = json!({"platformSettings": {"privacy": {"recordVoice": record}}});
        let phone = Phone::with(
            serde_json::from_value(agent).unwrap(),
            CARRIER,
            StreamSettings::default(),
        )
        .await;
        phone.say(1, "Hello there.", true, false);
        wait(4_500).await;
        phone.stream.cast(StreamMessage::Close).unwrap();
        wait(100).await;
        let written: Vec<u64> = phone.recordings.written().iter().map(|(_, samples)| *samples).collect();
        match record {
            true => assert!(
                written.len() == 1 && written[0].abs_diff(4_500 * 8) <= 400,
                "{written:?}"
            ),
            false => assert!(written.is_empty()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_keeps_no_audio_ends_the_recording_it_takes_over() {
    let agent = |record: bool| -> Agent {
        serde_json::from_value(json!({"platformSettings": {"privacy": {"recordVoice": record}}})).unwrap()
    };
    let phone = Phone::with(agent(true), CARRIER, StreamSettings::default()).await;
    wait(2_000).await;
    phone.stream.cast(StreamMessage::Adopt(Arc::new(agent(false)))).unwrap();
    wait(2_000).await;
    // No later agent starts the recording again.
    phone.stream.cast(StreamMessage::Adopt(Arc::new(agent(true)))).unwrap();
    wait(2_000).await;
    phone.stream.cast(StreamMessage::Close).unwrap();
    wait(100).await;
    let written = phone.recordings.written();
    assert_eq!(written.len(), 1, "{written:?}");
    assert!(written[0].1.abs_diff(2_000 * 8) <= 400, "{written:?}");
}

#[tokio::test(start_paused = true)]
async fn frames_a_network_held_up_are_heard_whole_and_do_not_move_the_time() {
    let phone = Phone::answer().await;
    wait(500).await;
    phone.user_says("My name is Ada");
    wait(600).await;
    phone.seen().held_up = true;
    wait(900).await;
    phone.seen().held_up = false;
    wait(3_000).await;
    let heard: Vec<String> = phone
        .events()
        .iter()
        .filter_map(|(_, e)| utterance(e))
        .map(|(text, _)| text)
        .collect();
    assert_eq!(heard.join(" "), "My name is Ada");
    let began = phone.now_ms();
    let spoken_ms = phone.user_says("Yes.");
    wait(3_000).await;
    let (_, (_, ended_ms)) = phone
        .first(|e| utterance(e).filter(|(text, _)| text == "Yes."))
        .unwrap();
    assert!(
        ended_ms.abs_diff(began + spoken_ms) <= 60,
        "{ended_ms} {began} {spoken_ms}"
    );
}

#[tokio::test(start_paused = true)]
async fn keys_go_over_a_socket_that_takes_them_and_else_as_tones() {
    for digits in [true, false] {
        let abilities = LegAbilities { digits, ..CARRIER };
        let phone = Phone::with(Agent::default(), abilities, StreamSettings::default()).await;
        phone.stream.cast(StreamMessage::Press("1w0".into())).unwrap();
        wait(2_000).await;
        let mut tones = Vec::new();
        KeyDetector::default().push(&phone.seen().heard_audio, &mut tones);
        let tones: String = tones.into_iter().collect();
        let expected = if digits { ("10", "") } else { ("", "10") };
        assert_eq!((phone.seen().keys.as_str(), tones.as_str()), expected);
        assert_eq!(
            phone.count(|event| matches!(event, StreamEvent::Session(SessionEvent::SpeakingEnded { .. }))),
            0
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_that_died_is_told_before_what_was_heard_until_then() {
    let phone = Phone::answer().await;
    phone.say(1, LONG, true, false);
    wait(2_000).await;
    phone.inbound.push(InboundItem::Closed { clean: false });
    wait(50).await;
    let events = phone.events();
    let place = |wanted: fn(&StreamEvent) -> bool| events.iter().position(|(_, event)| wanted(event)).unwrap();
    let died = place(|event| *event == StreamEvent::LineDied);
    let ended = place(|event| matches!(event, StreamEvent::Session(SessionEvent::SpeakingEnded { .. })));
    let closed = place(|event| matches!(event, StreamEvent::MediaClosed { clean: false }));
    assert!(died < ended && ended < closed, "{events:?}");
}
