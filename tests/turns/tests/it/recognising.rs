//! The recogniser that knows the script: when its words come, and what is wrong with them.

use media::{
    session::{AudioSession, SessionConfig, SessionEvent},
    turn::endpointing::PausePolicy,
};
use turns::{
    chance::Chance,
    line::{ABILITIES, FORMAT},
    recogniser::{MANNERS, Manner, Recogniser},
    voice::SpokenWord,
};

/// Length of a word, and time from one to the next.
const WORD_MS: u64 = 300;

fn manner(name: &str) -> &'static Manner {
    MANNERS.iter().find(|manner| manner.name == name).unwrap()
}

fn session() -> AudioSession {
    AudioSession::new(&SessionConfig {
        format: FORMAT,
        abilities: ABILITIES,
        recogniser_rate: 8_000,
        pause: PausePolicy {
            base_ms: 450,
            // These tests are about the recogniser: no turn ends before its last words.
            fixed_ms: Some(6_000),
            spelling_patience: true,
        },
        record: false,
    })
    .unwrap()
}

fn words(text: &str) -> Vec<SpokenWord> {
    let words: Vec<&str> = text.split(' ').collect();
    let count = words.len();
    let word = |(at, word): (usize, &str)| SpokenWord {
        text: word.trim_start_matches('~').to_owned(),
        filler: word.starts_with('~'),
        from_ms: at as u64 * WORD_MS,
        to_ms: (at as u64 + 1) * WORD_MS,
        before_pause: at + 1 == count,
    };
    words.into_iter().enumerate().map(word).collect()
}

/// Lets a recogniser hear a sentence and asks for finals at a time. Returns the words of the turn as the session
/// reports them, with their times.
fn told(manner: &Manner, text: &str, finalize_ms: u64, seed: u64) -> Vec<(u64, String)> {
    let digits: Vec<String> = ["zero", "one", "two"].map(str::to_owned).into();
    let confusions = vec!["wrong".to_owned()];
    let mut recogniser = Recogniser::new(manner, &digits, confusions, false, Chance::new(seed, "test"));
    let mut session = session();
    recogniser.hear(&words(text), 0);
    let mut told = Vec::new();
    for now_ms in 0..8_000 {
        if now_ms == finalize_ms {
            recogniser.finalize(now_ms);
        }
        while recogniser.next_due().is_some_and(|due_ms| due_ms <= now_ms) {
            recogniser.deliver(now_ms, &mut session);
        }
        while let Some(event) = session.poll_event() {
            if let SessionEvent::Interim { text } = event {
                told.push((now_ms, text));
            }
        }
    }
    told
}

#[test]
fn a_perfect_recogniser_tells_each_word_at_its_end() {
    let told = told(manner("exact"), "I'd like soup", 5_000, 0);
    let first: Vec<(u64, &str)> = told.iter().take(3).map(|(at, text)| (*at, text.as_str())).collect();
    assert_eq!(first, [(300, "I'd"), (600, "I'd like"), (900, "I'd like soup")]);
}

#[test]
fn no_recogniser_tells_a_word_before_it_was_said() {
    for manner in &MANNERS {
        for seed in 0..20 {
            for (at_ms, text) in told(manner, "alpha bravo charlie delta echo", 1_500, seed) {
                let shown = text.split_whitespace().count() as u64;
                // A beginning of a word may be shown from its middle on.
                assert!(
                    at_ms + WORD_MS / 2 >= shown.saturating_sub(1) * WORD_MS,
                    "{}: {text} at {at_ms}",
                    manner.name
                );
                assert!(at_ms + WORD_MS >= shown * WORD_MS, "{}: {text} at {at_ms}", manner.name);
            }
        }
    }
}

#[test]
fn a_recogniser_of_finals_tells_nothing_before_it_is_asked() {
    let told = told(manner("finals-only"), "alpha bravo charlie", 2_000, 4);
    assert!(told.first().is_some_and(|(at, _)| *at >= 2_000), "{told:?}");
}

#[test]
fn digits_are_numerals_and_filled_pauses_are_left_out_where_the_manner_says_so() {
    let mut plain = manner("punctuated").clone();
    plain.errors = 0.0;
    let last = |manner: &Manner| told(manner, "~um, it's one two.", 4_000, 1).pop().map(|(_, text)| text);
    let text = last(&plain).unwrap();
    assert!(text.starts_with("it's 12"), "{text}");
    let mut written = manner("streaming").clone();
    written.errors = 0.0;
    let text = last(&written).unwrap();
    assert!(text.starts_with("um it's one two"), "{text}");
}

#[test]
fn errors_come_at_about_their_rate() {
    let mut wrong = manner("streaming").clone();
    wrong.errors = 0.2;
    let (mut all, mut errors) = (0, 0);
    for seed in 0..60 {
        let told = told(&wrong, "alpha bravo charlie delta echo", 2_000, seed);
        // The final may repeat the last interim, which the session does not report again.
        let Some((_, text)) = told.last() else { continue };
        all += 5;
        errors += 5 - text.split_whitespace().filter(|word| *word != "wrong").count();
    }
    let rate = f64::from(u32::try_from(errors).unwrap()) / f64::from(all);
    assert!((0.1..0.3).contains(&rate), "{rate}");
}
