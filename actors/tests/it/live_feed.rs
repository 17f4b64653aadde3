//! Audio and words that an audio stream passes on to clients that listen.

use std::time::Duration;

use actors::{
    audio_stream::StreamMessage,
    call::CallMessage,
    live_feed::{LiveAudio, LiveEvent, LiveFeed, LivePresent, LiveState, LiveWords},
};
use domain::{history::Speaker, ports::store::SentimentLabel};
use media::babble::{Listener, Transcript};
use tokio::{
    sync::broadcast::{Receiver, error::TryRecvError},
    time::{Instant, timeout},
};

use super::{
    audio_stream_support::{Phone, wait},
    call_support::{TestCall, greeter, ms},
};

/// Collects 20 ms pieces for some milliseconds. Returns both sides.
async fn collected(audio: &mut Receiver<LiveAudio>, ms: u64) -> [Vec<i16>; 2] {
    let (began, mut sides) = (Instant::now(), [Vec::new(), Vec::new()]);
    let mut pieces = 0_u64;
    while began.elapsed() < Duration::from_millis(ms) {
        let Ok(piece) = timeout(Duration::from_millis(100), audio.recv()).await else {
            panic!("nothing came after {pieces} pieces");
        };
        let LiveAudio { sample_rate, samples } = piece.unwrap();
        assert_eq!((sample_rate, samples.len()), (8_000, 320));
        pieces += 1;
        let late = began.elapsed().abs_diff(Duration::from_millis(20 * pieces));
        assert!(late <= Duration::from_millis(60), "piece {pieces}: {late:?}");
        for (side, samples_of) in sides.iter_mut().enumerate() {
            samples_of.extend(samples.chunks(2).map(|pair| pair[side]));
        }
    }
    sides
}

fn said(samples: &[i16]) -> String {
    let (mut heard, mut transcript) = (Vec::new(), Transcript::default());
    let mut listener = Listener::new();
    listener.push(samples, &mut heard);
    listener.finish(&mut heard);
    let texts = heard.into_iter().filter_map(|event| transcript.take(event));
    texts.map(|utterance| utterance.text).collect()
}

#[tokio::test(start_paused = true)]
async fn both_sides_pass_as_they_are_heard_and_only_while_somebody_listens() {
    let phone = Phone::answer().await;
    let feed = LiveFeed::default();
    let mut events = feed.events.subscribe();
    phone.stream.cast(StreamMessage::Feed(feed.clone())).unwrap();
    phone.say(1, "nobody hears this", true, false);
    wait(4_000).await;
    let mut audio = feed.audio.subscribe();
    assert!(matches!(audio.try_recv(), Err(TryRecvError::Empty)));
    phone.say(2, "here is the agent", true, false);
    let agent = collected(&mut audio, 3_000).await;
    let spoken_ms = phone.user_says("and here the user");
    let user = collected(&mut audio, spoken_ms + 1_000).await;
    assert_eq!([said(&agent[0]), said(&agent[1])], ["", "here is the agent"]);
    assert_eq!([said(&user[0]), said(&user[1])], ["and here the user", ""]);
    let mut words = Vec::new();
    while let Ok(event) = events.try_recv() {
        match event {
            LiveEvent::Words {
                speaker,
                text,
                is_final,
            } => words.push((speaker, text, is_final)),
            other => panic!("{other:?}"),
        }
    }
    let whole = "and here the user".to_owned();
    assert!(words.iter().any(|(.., is_final)| !is_final), "{words:?}");
    assert_eq!(words.pop(), Some((Speaker::User, whole.clone(), true)));
    let last = LiveWords {
        speaker: Speaker::User,
        text: whole,
    };
    assert_eq!(feed.present(LiveState::Listening).words, Some(last));
    // The audio of the time in which nobody listens is not kept for anybody.
    drop(audio);
    wait(1_000).await;
    let mut late = feed.audio.subscribe();
    assert!(matches!(late.try_recv(), Err(TryRecvError::Empty)));
    phone.say(3, "welcome back", true, false);
    assert_eq!(said(&collected(&mut late, 3_000).await[1]), "welcome back");
}

#[tokio::test(start_paused = true)]
async fn a_list_shows_the_last_words_and_the_mood_of_the_users_last_turns() {
    let test = TestCall::greeted(greeter()).await;
    let present = async || ractor::call!(test.call, CallMessage::Present).unwrap();
    let said = |text: &str| {
        let (speaker, text) = (Speaker::Agent, text.to_owned());
        Some(LiveWords { speaker, text })
    };
    test.stream.user_says("This is terrible, I hate it.", 800).await;
    ms(5_000).await;
    // Nobody has looked before.
    let expected = LivePresent {
        state: LiveState::Listening,
        words: said("Okay."),
        mood: SentimentLabel::Negative,
    };
    assert_eq!(present().await, expected);
    for (text, mood) in [
        ("That is wonderful, thank you so much!", SentimentLabel::Positive),
        ("It is on the table.", SentimentLabel::Neutral),
    ] {
        for _ in 0..3 {
            test.stream.user_says(text, 800).await;
            ms(5_000).await;
        }
        assert_eq!(present().await.mood, mood, "older turns count no more");
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_does_not_read_costs_the_call_nothing() {
    let phone = Phone::answer().await;
    let feed = LiveFeed::default();
    let _stuck = feed.audio.subscribe();
    phone.stream.cast(StreamMessage::Feed(feed.clone())).unwrap();
    phone.say(1, "everything goes on as usual", true, false);
    wait(10_000).await;
    assert_eq!(phone.understood(), "everything goes on as usual");
    assert!(phone.seen().gaps_ms.is_empty());
    assert_eq!(feed.audio.len(), 128, "2.5 s wait at most");
}
