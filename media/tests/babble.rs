//! Sends a few hundred random texts through a simulated telephone line; `examples/babble_check.rs` runs thousands.

#[path = "../examples/babble_check/chain.rs"]
#[expect(dead_code, reason = "the example uses all of it")]
mod chain;

use chain::{LineQuality, Outcome};
use media::babble::{Speaker, Voice};

#[test]
fn on_a_clean_line_every_text_arrives_exactly() {
    for seed in 0..200 {
        let report = chain::run(seed, LineQuality::Clean);
        assert_eq!(report.outcome, Outcome::Exact, "seed {seed}");
        assert_eq!(report.wrong_interims, 0, "seed {seed}");
    }
}

#[test]
fn on_a_corrupted_line_no_word_is_wrong_or_missing_without_a_report() {
    let mut flagged = 0;
    for seed in 0..200 {
        match chain::run(seed, LineQuality::Corrupted).outcome {
            Outcome::Exact => {}
            Outcome::Flagged => flagged += 1,
            Outcome::Silent(why) => panic!("seed {seed}: {why}"),
        }
    }
    assert!((20..180).contains(&flagged), "{flagged} of 200 flagged");
}

#[test]
fn a_voice_detector_takes_babble_for_speech() {
    let mut speaker = Speaker::new("Good morning, this is about your delivery.", Voice::named("vad"), 8_000).unwrap();
    let mut line = vec![0; 1_600];
    while let Some(chunk) = speaker.next_chunk(1_600) {
        line.extend(chunk);
    }
    let end = line.len();
    line.extend([0; 3_200]);
    let doubled: Vec<i16> = line.iter().flat_map(|&sample| [sample; 2]).collect();
    let mut detector = earshot::Detector::default();
    let scores: Vec<f32> = doubled
        .as_chunks::<256>()
        .0
        .iter()
        .map(|frame| detector.predict_i16(frame))
        .collect();
    // Frames of 16 ms: 128 samples of the line. The 160 ms of lead-in open the detector.
    let opened = scores.iter().position(|&score| score >= 0.5).unwrap() * 128;
    assert!(
        (1_600 - 128..1_600 + 1_280).contains(&opened),
        "opened at sample {opened}"
    );
    let spoken = &scores[opened / 128..end / 128];
    let active = spoken.iter().filter(|&&score| score >= 0.5).count();
    assert!(active * 100 >= spoken.len() * 97, "{active} of {} frames", spoken.len());
    assert!(
        scores[scores.len() - 8..].iter().all(|&score| score < 0.5),
        "closed again"
    );
}
