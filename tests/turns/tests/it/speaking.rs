//! Callers are heard: words at their times, pauses silent, and the same sound for the same conversation.

use turns::{
    corpus::{Conversation, Item, conversations},
    language::{Language, Third},
    measurement::SEED,
    sentence::Part,
    voice::{PER_MS, Spoken, Voice, is_voiced, perform},
};

fn conversation(language: Language) -> Conversation {
    conversations(SEED, Third::Tune, language, 1).unwrap().remove(0)
}

fn voiced(spoken: &Spoken, from_ms: u64, to_ms: u64) -> bool {
    is_voiced(&spoken.samples[from_ms as usize * PER_MS..to_ms as usize * PER_MS])
}

#[test]
fn words_are_heard_at_their_times_and_pauses_are_silent() {
    for language in Language::ALL {
        let conversation = conversation(language);
        let spoken = perform(&conversation, Voice::Babble).unwrap();
        for (item, spoken) in conversation.items.iter().zip(&spoken) {
            let (Item::Turn { sentence, .. } | Item::Overlap { sentence, .. }) = item;
            let pauses: Vec<u64> = spoken.pauses.iter().map(|pause| pause.to_ms - pause.from_ms).collect();
            let wanted = sentence.parts.iter().filter_map(|part| match part {
                Part::Pause { ms, .. } => Some(*ms),
                Part::Word(_) => None,
            });
            assert_eq!(pauses, wanted.collect::<Vec<_>>(), "{}", sentence.marked());
            for pause in &spoken.pauses {
                assert!(!voiced(spoken, pause.from_ms, pause.to_ms), "{}", sentence.marked());
                assert!(
                    voiced(spoken, pause.from_ms - 60, pause.from_ms),
                    "{}",
                    sentence.marked()
                );
                assert!(voiced(spoken, pause.to_ms, pause.to_ms + 60), "{}", sentence.marked());
            }
            assert_eq!(spoken.words.len(), sentence.words().count());
            for pair in spoken.words.windows(2) {
                assert!(pair[0].to_ms <= pair[1].from_ms, "{}", sentence.marked());
            }
            for word in &spoken.words {
                assert!(
                    voiced(spoken, word.from_ms, word.to_ms),
                    "{} in {}",
                    word.text,
                    sentence.marked()
                );
            }
            assert!(voiced(spoken, 0, 60) && voiced(spoken, spoken.length_ms() - 60, spoken.length_ms()));
        }
    }
}

#[test]
fn coughs_and_laughter_are_heard_and_have_no_words() {
    let mut found = 0;
    for conversation in conversations(SEED, Third::Tune, Language::En, 12).unwrap() {
        let spoken = perform(&conversation, Voice::Babble).unwrap();
        for (item, spoken) in conversation.items.iter().zip(&spoken) {
            let Item::Overlap { kind, .. } = item else { continue };
            if !kind.has_words() {
                found += 1;
                assert!(spoken.words.is_empty());
                assert!((100..3_000).contains(&spoken.length_ms()), "{}", spoken.length_ms());
                assert!(is_voiced(&spoken.samples));
            }
        }
    }
    assert!(found > 0);
}

#[test]
fn a_conversation_always_sounds_the_same() {
    let conversation = conversation(Language::Hi);
    let once = perform(&conversation, Voice::Babble).unwrap();
    assert_eq!(once, perform(&conversation, Voice::Babble).unwrap());
}
