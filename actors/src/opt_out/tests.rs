//! The detector on sentences it was not made of, and on anything at all.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Half, language, whether it is such a wish, and the sentence. The held half was not looked at while the patterns
/// were written.
const SENTENCES: &str = include_str!("sentences.tsv");

struct Sentence {
    half: &'static str,
    language: &'static str,
    is_wish: bool,
    text: &'static str,
}

fn sentences() -> Vec<Sentence> {
    let lines = SENTENCES.lines().map(|line| {
        let mut parts = line.split('\t');
        let mut next = || parts.next().unwrap_or_else(|| panic!("{line}"));
        Sentence {
            half: next(),
            language: next(),
            is_wish: next() == "yes",
            text: next(),
        }
    });
    lines.collect()
}

#[derive(Default)]
struct Score {
    wishes: usize,
    misses: usize,
    asked: usize,
    others: usize,
    false_alarms: usize,
    asked_in_vain: usize,
}

impl Score {
    fn take(&mut self, is_wish: bool, found: Option<Wish>) {
        match (is_wish, found) {
            (true, None) => self.misses += 1,
            (true, Some(Wish::Likely)) => self.asked += 1,
            (false, Some(Wish::Clear)) => self.false_alarms += 1,
            (false, Some(Wish::Likely)) => self.asked_in_vain += 1,
            _ => {}
        }
        *(if is_wish { &mut self.wishes } else { &mut self.others }) += 1;
    }
}

/// Misses and false alarms of each half: `cargo nextest run -p actors opt_out::tests::sentences --no-capture`.
#[test]
fn sentences_are_told_apart() {
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    for Sentence {
        half,
        language,
        is_wish,
        text,
    } in sentences()
    {
        let found = wish(text);
        scores.entry(half).or_default().take(is_wish, found);
        let right = found.is_some() == is_wish;
        if !right && (half == "tuned" || std::env::var_os("OPT_OUT_HELD").is_some()) {
            println!("{half} {language} {found:?}: {text}");
        }
    }
    for (half, score) in &scores {
        println!(
            "{half}: {} of {} wishes missed, {} asked about; of {} others {} false alarms, {} asked about in vain",
            score.misses, score.wishes, score.asked, score.others, score.false_alarms, score.asked_in_vain
        );
    }
    for score in scores.values() {
        assert!(score.wishes >= 30 && score.others >= 30);
    }
}
