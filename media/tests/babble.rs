//! A few hundred random texts through a simulated telephone line; `examples/babble_check.rs` runs thousands.

#[path = "../examples/babble_check/chain.rs"]
#[expect(dead_code, reason = "the example uses all of it")]
mod chain;

use chain::{Line, Outcome};

#[test]
fn on_a_clean_line_every_text_arrives_exactly() {
    for seed in 0..200 {
        let report = chain::run(seed, Line::Clean);
        assert_eq!(report.outcome, Outcome::Exact, "seed {seed}");
        assert_eq!(report.wrong_interims, 0, "seed {seed}");
    }
}

#[test]
fn on_a_corrupted_line_no_word_is_wrong_or_missing_without_a_report() {
    let mut flagged = 0;
    for seed in 0..200 {
        match chain::run(seed, Line::Corrupted).outcome {
            Outcome::Exact => {}
            Outcome::Flagged => flagged += 1,
            Outcome::Silent(why) => panic!("seed {seed}: {why}"),
        }
    }
    assert!((20..180).contains(&flagged), "{flagged} of 200 flagged");
}
