//! The corpus: its size, that it repeats, and that nothing of the last third is in the first two.

use std::collections::{BTreeMap, BTreeSet};

use turns::{
    corpus::{CONVERSATIONS, Conversation, Item, conversations},
    grammar::{Grammar, OverlapKind, Template},
    language::{Language, Third, grammar},
    measurement::SEED,
};

fn corpus(seed: u64, third: Third) -> Vec<Conversation> {
    let of = |language: &Language| conversations(seed, third, *language, CONVERSATIONS).unwrap();
    Language::ALL.iter().flat_map(of).collect()
}

/// Sentences of callers without punctuation, with their language.
fn sentences(conversations: &[Conversation]) -> BTreeSet<(Language, String)> {
    let of = |conversation: &Conversation| {
        let language = conversation.language;
        let items = conversation.items.iter().map(|item| match item {
            Item::Turn { sentence, .. } | Item::Overlap { sentence, .. } => sentence.bare(),
        });
        let words: Vec<String> = items.filter(|words| !words.is_empty()).collect();
        words.into_iter().map(move |words| (language, words))
    };
    conversations.iter().flat_map(of).collect()
}

#[test]
fn a_seed_always_gives_the_same_corpus() {
    for third in Third::ALL {
        assert_eq!(corpus(SEED, third), corpus(SEED, third));
        assert_ne!(corpus(SEED, third), corpus(SEED + 1, third));
    }
}

#[test]
fn a_shorter_corpus_is_the_beginning_of_the_longer_one() {
    let long = conversations(SEED, Third::Tune, Language::De, 5).unwrap();
    let short = conversations(SEED, Third::Tune, Language::De, 2).unwrap();
    assert_eq!(short, long[..2]);
}

#[test]
fn there_are_5000_turns_and_2000_overlaps_in_equal_shares() {
    let (mut turns, mut overlaps) = (0, 0);
    for third in Third::ALL {
        let mut of_language: BTreeMap<Language, usize> = BTreeMap::new();
        for conversation in corpus(SEED, third) {
            for item in &conversation.items {
                match item {
                    Item::Turn { .. } => turns += 1,
                    Item::Overlap { .. } => overlaps += 1,
                }
            }
            *of_language.entry(conversation.language).or_default() += 1;
        }
        assert_eq!(of_language.len(), Language::ALL.len());
        assert!(
            of_language.values().all(|count| *count == CONVERSATIONS),
            "{of_language:?}"
        );
    }
    assert!(turns >= 5_000, "{turns}");
    assert!(overlaps >= 2_000, "{overlaps}");
}

#[test]
fn every_kind_of_turn_and_overlap_comes_in_each_language_and_third() {
    for third in Third::ALL {
        for language in Language::ALL {
            let (mut turns, mut overlaps) = (BTreeSet::new(), BTreeSet::new());
            for conversation in conversations(SEED, third, language, CONVERSATIONS).unwrap() {
                for item in conversation.items {
                    match item {
                        Item::Turn { kind, .. } => {
                            turns.insert(kind);
                        }
                        Item::Overlap { kind, .. } => {
                            overlaps.insert(kind);
                        }
                    }
                }
            }
            assert_eq!(turns.len(), 11, "{third} {language}: {turns:?}");
            assert_eq!(
                overlaps.len(),
                OverlapKind::ALL.len(),
                "{third} {language}: {overlaps:?}"
            );
        }
    }
}

/// Other seeds than that of the measurement are looked at, too: no draw may bring a sentence into two thirds.
#[test]
fn no_sentence_of_the_last_third_is_in_the_first_two() {
    for seed in [SEED, 1, 2, 3] {
        let known: BTreeSet<_> = [Third::Tune, Third::Choose]
            .iter()
            .flat_map(|third| sentences(&corpus(seed, *third)))
            .collect();
        let last = sentences(&corpus(seed, Third::Measure));
        let common: Vec<_> = last.intersection(&known).collect();
        assert!(common.is_empty(), "{common:?}");
        assert!(
            last.len() > 1_000 && known.len() > 2_000,
            "{} {}",
            last.len(),
            known.len()
        );
    }
}

#[test]
fn no_frame_and_no_name_of_the_last_third_is_in_the_first_two() {
    for language in Language::ALL {
        let last = grammar(language, Third::Measure).unwrap();
        let frames: BTreeSet<String> = last.templates().map(Template::frame).collect();
        for third in [Third::Tune, Third::Choose] {
            let other = grammar(language, third).unwrap();
            let common: Vec<&str> = other
                .templates()
                .filter(|template| frames.contains(&template.frame()))
                .map(Template::source)
                .collect();
            assert!(common.is_empty(), "{third} {language}: {common:?}");
            // Everybody counts and spells alike.
            let shared = ["digit", "letter", "pair"];
            let own = |(name, _): &(&String, &Vec<String>)| !shared.contains(&name.as_str());
            let known: BTreeSet<&String> = other.lists().iter().filter(own).flat_map(|(_, items)| items).collect();
            for (list, items) in last.lists().iter().filter(own) {
                for item in items {
                    assert!(!known.contains(item), "{third} {language}: {item} of {list}");
                }
            }
            // Nor may the agent's questions tell the thirds' answers.
            let questions = |grammar: &Grammar| -> BTreeSet<String> {
                let rules = grammar.turns().values().flatten();
                rules.flat_map(|rule| rule.questions.clone()).collect()
            };
            let common: Vec<String> = questions(&last).intersection(&questions(&other)).cloned().collect();
            assert!(common.is_empty(), "{third} {language}: {common:?}");
        }
    }
}
