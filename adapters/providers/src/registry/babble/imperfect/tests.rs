//! Tests of delay, order, bounds and errors with a recogniser that returns the text it is sent.

use std::{sync::Mutex, time::Duration};

use domain::ports::{
    transcriber::TranscriptEvent::{self, Final, Interim},
    usage::Meter,
};
use tokio::time::{Instant, sleep};

use media::format::LineFormat;

use super::*;

/// Recogniser whose samples are letters. Its interim is the text so far, and `finalize` makes it a final.
struct Parrot;

struct ParrotStream {
    text: String,
    sink: TranscriptSink,
}

impl Transcriber for Parrot {
    fn sample_rate(&self, line_rate: u32) -> u32 {
        line_rate
    }

    fn open(&self, _: TranscriberConfig, sink: TranscriptSink) -> Box<dyn TranscriptStream> {
        let text = String::new();
        Box::new(ParrotStream { text, sink })
    }
}

impl TranscriptStream for ParrotStream {
    fn push(&mut self, samples: &[i16]) {
        let letters = samples
            .iter()
            .filter_map(|s| char::from_u32(u32::from(s.unsigned_abs())));
        self.text.extend(letters);
        let text = self.text.clone();
        (self.sink)(Interim { text });
    }

    fn finalize(&mut self) {
        let text = std::mem::take(&mut self.text);
        (self.sink)(Final { text, damaged: false });
    }
}

type Told = Arc<Mutex<Vec<(Instant, TranscriptEvent)>>>;

fn open(faults: Imperfection) -> (Box<dyn TranscriptStream>, Told) {
    let told = Told::default();
    let sink = told.clone();
    let config = TranscriberConfig {
        language: "en".into(),
        hinglish: false,
        keywords: Vec::new(),
        format: LineFormat::MULAW_8000,
        meter: Meter::default(),
    };
    let sink: TranscriptSink = Box::new(move |event| sink.lock().unwrap().push((Instant::now(), event)));
    (faults.applied_to(Parrot).open(config, sink), told)
}

fn samples(text: &str) -> Vec<i16> {
    text.chars().map(|c| i16::try_from(u32::from(c)).unwrap()).collect()
}

/// Pushes a text word by word, with 100 ms per word.
async fn say(stream: &mut Box<dyn TranscriptStream>, text: &str) {
    for word in text.split_inclusive(' ') {
        stream.push(&samples(word));
        sleep(Duration::from_millis(100)).await;
    }
    stream.finalize();
    sleep(Duration::from_secs(2)).await;
}

fn errors(word_errors: u8, seed: u64) -> Imperfection {
    Imperfection {
        word_errors,
        seed,
        ..Imperfection::default()
    }
}

fn finals(told: &Told) -> Vec<String> {
    let told = told.lock().unwrap();
    let texts = told.iter().filter_map(|(_, event)| match event {
        Final { text, .. } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

const TEXT: &str = "Yes, I would like to come on Friday morning, please, with my wife and my two children.";

#[tokio::test(start_paused = true)]
async fn events_come_late_in_order_and_as_late_as_was_asked_for() {
    let (mut stream, told) = open(Imperfection {
        delay: Delay::parse("247/298").unwrap(),
        ..Imperfection::default()
    });
    let mut pushed = Vec::new();
    for n in 0..2_000 {
        pushed.push(Instant::now());
        stream.push(&samples("a"));
        // Far apart, so that no event waits for the previous one.
        sleep(Duration::from_millis(400 + n % 7)).await;
    }
    sleep(Duration::from_secs(2)).await;
    let told = told.lock().unwrap();
    assert_eq!(told.len(), pushed.len());
    let late = pushed.iter().zip(told.iter()).map(|(pushed, (at, _))| *at - *pushed);
    let mut late: Vec<u128> = late.map(|late| late.as_millis()).collect();
    late.sort_unstable();
    assert!((242..=252).contains(&late[1_000]), "median {}", late[1_000]);
    assert!((290..=306).contains(&late[1_900]), "95th percentile {}", late[1_900]);
}

#[tokio::test(start_paused = true)]
async fn a_burst_stays_in_order_and_a_dropped_stream_says_nothing_more() {
    let faults = Imperfection {
        delay: Delay::parse("247/298").unwrap(),
        ..Imperfection::default()
    };
    let (mut stream, told) = open(faults);
    for word in TEXT.split_inclusive(' ') {
        stream.push(&samples(word));
    }
    stream.finalize();
    assert!(told.lock().unwrap().is_empty());
    sleep(Duration::from_secs(1)).await;
    let lengths: Vec<usize> = told.lock().unwrap().iter().map(|(_, event)| length(event)).collect();
    assert!(lengths.is_sorted(), "{lengths:?}");
    assert_eq!(finals(&told), [TEXT]);

    stream.push(&samples("more"));
    stream.finalize();
    drop(stream);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(told.lock().unwrap().len(), lengths.len());
}

fn length(event: &TranscriptEvent) -> usize {
    match event {
        Interim { text } | Final { text, .. } => text.len(),
        _ => 0,
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_bounded_and_loses_no_final() {
    let (mut stream, told) = open(Imperfection {
        delay: Delay::parse("200").unwrap(),
        ..Imperfection::default()
    });
    for n in 0..200 {
        for _ in 0..20 {
            stream.push(&samples("a"));
        }
        stream.push(&samples(&n.to_string()));
        stream.finalize();
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!(finals(&told).len(), 200);
    assert!(told.lock().unwrap().len() <= 256);
}

#[tokio::test(start_paused = true)]
async fn punctuation_is_left_out_within_no_word() {
    let (mut stream, told) = open(Imperfection {
        punctuation: false,
        ..Imperfection::default()
    });
    say(&mut stream, "Yes, it's ann.lee@example.com. At half-past 3:30, OK?").await;
    assert_eq!(finals(&told), ["Yes it's ann.lee@example.com At half-past 3:30 OK"]);
}

#[tokio::test(start_paused = true)]
async fn so_many_words_are_wrong_the_same_ones_each_time() {
    let mut texts = Vec::new();
    for _ in 0..2 {
        let (mut stream, told) = open(errors(5, 1));
        for _ in 0..300 {
            say(&mut stream, TEXT).await;
        }
        texts.push(finals(&told));
    }
    assert_eq!(texts[0], texts[1]);
    let words = 300 * TEXT.split(' ').count();
    let right: Vec<&str> = TEXT.split(' ').collect();
    let wrong: usize = texts[0].iter().map(|text| different(text, &right)).sum();
    let share = wrong as f64 / words as f64;
    // Two of 18 words are never wrong: a letter and a number.
    assert!((0.03..=0.06).contains(&share), "{share}");
    let (mut stream, told) = open(errors(5, 2));
    for _ in 0..300 {
        say(&mut stream, TEXT).await;
    }
    assert_ne!(texts[0], finals(&told), "another seed, other errors");
}

fn different(text: &str, right: &[&str]) -> usize {
    let words: Vec<&str> = text.split(' ').collect();
    let kept = words.iter().filter(|word| right.contains(word)).count();
    right.len().abs_diff(words.len()) + words.len().min(right.len()).saturating_sub(kept)
}

#[tokio::test(start_paused = true)]
async fn digits_letters_and_addresses_are_never_wrong_and_the_only_word_stays() {
    let exact = "0 1 5 A B ann@example.com three twenty-one double 90210";
    for seed in 0..30 {
        let (mut stream, told) = open(errors(50, seed));
        say(&mut stream, exact).await;
        say(&mut stream, "Hello?").await;
        let finals = finals(&told);
        assert_eq!(finals[0], exact);
        assert!(!finals[1].is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn words_are_shown_wrong_and_put_right() {
    let mut taken_back = 0;
    for seed in 0..20 {
        let (mut stream, told) = open(errors(10, seed));
        say(&mut stream, TEXT).await;
        let told = told.lock().unwrap();
        let Some((_, Final { text: last, .. })) = told.last() else {
            panic!("no final")
        };
        let shown = told.iter().filter_map(|(_, event)| match event {
            Interim { text } => text.rsplit_once(' ').map(|(words, _)| words),
            _ => None,
        });
        taken_back += shown.filter(|words| !last.starts_with(words)).count();
    }
    assert!(taken_back > 10, "{taken_back}");
}

#[test]
fn a_delay_is_read_with_one_number_or_two() {
    assert_eq!(
        Delay::parse("247/298"),
        Ok(Delay {
            p50_ms: 247,
            p95_ms: 298
        })
    );
    assert_eq!(
        Delay::parse("100"),
        Ok(Delay {
            p50_ms: 100,
            p95_ms: 100
        })
    );
    for wrong in ["", "x", "300/200", "-1", "6000", "1/2/3"] {
        let refused = Delay::parse(wrong).unwrap_err().to_string();
        assert!(refused.contains("247/298"), "{wrong}");
    }
}
