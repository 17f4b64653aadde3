//! Tests of an operator who speaks in place of the agent, measured in the samples that the phone plays.

use std::f64::consts::PI;

use super::{
    carrier::{Bench, CARRIER, MARKLESS, PACED},
    *,
};
use crate::playout::LineAbilities;

/// Samples of a millisecond.
const MS: usize = 8;

/// Largest step between two samples of the hums below, with the error of mu-law at their level. A cut at their
/// loudest is nearly three times as much.
const MOST_STEP: i32 = 3_000;

/// Level above which a sample is no silence.
const AUDIBLE: i16 = 200;

/// A bench whose hums are unlike: the agent's is lower than the operator's.
struct Line {
    bench: Bench,
    /// Everything that the phone played, with the silence between.
    heard: Vec<i16>,
    hummed: usize,
}

fn hum(from: usize, samples: usize, hertz: f64) -> Vec<i16> {
    let wave = |n: usize| ((n as f64 * 2.0 * PI * hertz / 8_000.0).sin() * 8_000.0) as i16;
    (from..from + samples).map(wave).collect()
}

impl Line {
    fn new(abilities: LineAbilities) -> Self {
        Self::on(Bench::new(abilities))
    }

    fn on(mut bench: Bench) -> Self {
        bench.session.allow_barge_in(true, 0);
        Self {
            bench,
            heard: Vec::new(),
            hummed: 0,
        }
    }

    /// Lets the agent hum.
    fn agent(&mut self, speech: u64, ms: usize) {
        let say = Say {
            speech: SpeechId(speech),
            text: "hum".to_owned(),
            manner: Manner::default(),
            last: true,
            protected: false,
            held: false,
        };
        let now_ms = self.bench.now_ms;
        self.bench.session.say(say, now_ms);
        let job = self.bench.session.next_text().unwrap();
        let samples = hum(0, ms * MS, 210.0);
        self.bench.session.synthesized(job.generation, &samples, &[], now_ms);
        self.bench.session.synthesis_ended(job.generation, now_ms);
        self.bench.collect();
    }

    /// Lets the operator hum, 20 ms at a time, and time pass.
    fn operator(&mut self, ms: usize) {
        for _ in 0..ms / 20 {
            assert_eq!(self.frames(1), 0);
            self.silence(20);
        }
    }

    /// Delivers this many of the operator's frames at once. Returns the number of samples dropped.
    fn frames(&mut self, frames: usize) -> usize {
        let samples = hum(self.hummed, frames * 20 * MS, 330.0);
        self.hummed += samples.len();
        let dropped = self.bench.session.operator_audio(&samples, self.bench.now_ms);
        self.bench.collect();
        dropped
    }

    fn joins(&mut self) {
        self.bench.session.operator_joins(self.bench.now_ms);
        self.bench.collect();
    }

    fn leaves(&mut self) {
        self.bench.session.operator_leaves(self.bench.now_ms);
        self.bench.collect();
    }

    fn silence(&mut self, ms: u64) {
        self.pass(ms, |bench| bench.silence(20));
    }

    fn voice(&mut self, ms: u64) {
        self.pass(ms, |bench| bench.voice(20));
    }

    fn pass(&mut self, ms: u64, step: fn(&mut Bench)) {
        for _ in 0..ms / 20 {
            step(&mut self.bench);
            codec::decode(Encoding::MuLaw, &self.bench.carrier.last_played(20), &mut self.heard);
        }
    }

    /// Returns the largest step between two samples that the phone played.
    fn largest_step(&self) -> i32 {
        let steps = self
            .heard
            .windows(2)
            .map(|pair| (i32::from(pair[1]) - i32::from(pair[0])).abs());
        steps.max().unwrap_or(0)
    }

    /// Returns the longest silence in milliseconds between two sounds since `from_ms`.
    fn longest_gap_ms(&self, from_ms: u64) -> usize {
        let loud = |sample: &i16| sample.abs() > AUDIBLE;
        let since = &self.heard[from_ms as usize * MS..];
        let last = since.iter().rposition(loud).unwrap_or(0);
        let gaps = since[..=last].split(loud).map(<[i16]>::len);
        gaps.max().unwrap_or(0) / MS
    }

    /// Returns the milliseconds of sound since `from_ms`.
    fn sound_ms(&self, from_ms: u64) -> usize {
        let frames = self.heard[from_ms as usize * MS..].chunks(MS);
        frames
            .filter(|frame| frame.iter().any(|sample| sample.abs() > AUDIBLE))
            .count()
    }
}

#[test]
fn taking_over_and_giving_back_make_no_click_and_no_long_gap() {
    for abilities in [CARRIER, MARKLESS, PACED] {
        // Cut at different points of the wave.
        for after_ms in [500, 520, 540, 560] {
            let mut line = Line::new(abilities);
            line.agent(1, 5_000);
            line.silence(after_ms);
            let taken_ms = line.bench.now_ms;
            line.joins();
            line.operator(2_000);
            line.leaves();
            line.agent(2, 1_000);
            line.silence(2_000);
            assert!(line.longest_gap_ms(taken_ms) <= 200, "{abilities:?} {after_ms}");
            assert!(
                line.largest_step() <= MOST_STEP,
                "{abilities:?} {after_ms}: {}",
                line.largest_step()
            );
            let ended: Vec<u64> = line.bench.all_heard().into_iter().map(|(speech, _)| speech).collect();
            assert_eq!(ended, [1, 2], "{abilities:?}");
            let ended_ms = line
                .bench
                .time_of(|event| matches!(event, SessionEvent::SpeakingEnded { .. }));
            assert_eq!(ended_ms, taken_ms, "the agent is silent at once");
        }
    }
}

#[test]
fn an_operator_is_heard_to_the_end_and_leaves_a_quiet_line() {
    for abilities in [CARRIER, MARKLESS, PACED] {
        let mut line = Line::new(abilities);
        line.joins();
        line.operator(600);
        line.leaves();
        assert_eq!(line.frames(5), 0, "ignored from here on");
        line.silence(1_500);
        let heard_ms = line.sound_ms(0);
        assert!((580..=600).contains(&heard_ms), "{abilities:?}: {heard_ms}");
        assert!(line.largest_step() <= MOST_STEP, "{abilities:?}");
        assert!(
            line.bench.session.is_quiet() && line.bench.events.is_empty(),
            "{abilities:?}"
        );
        let [sent, played, ..] = line.bench.session.account();
        assert_eq!(sent, played, "{abilities:?}");
    }
}

#[test]
fn the_users_words_do_not_interrupt_an_operator_and_each_is_a_turn() {
    for said in ["Yes.", "No, wait, what was that please?"] {
        let mut line = Line::new(CARRIER);
        line.joins();
        line.operator(200);
        for _ in 0..25 {
            line.frames(1);
            line.voice(20);
        }
        line.bench.session.settled(said, false, line.bench.now_ms);
        line.operator(1_500);
        assert_eq!(
            line.bench.utterance().map(|utterance| utterance.text).as_deref(),
            Some(said)
        );
        assert_eq!(line.bench.carrier.cleared_at_ms, None);
        assert!(line.longest_gap_ms(0) <= 120, "{}", line.longest_gap_ms(0));
    }
}

#[test]
fn audio_faster_than_time_is_bounded_and_the_oldest_is_dropped() {
    for abilities in [CARRIER, PACED] {
        let mut line = Line::new(abilities);
        line.joins();
        line.operator(400);
        let dropped = line.frames(100);
        let kept_ms = 2_000 - dropped / MS;
        assert!((300..=400).contains(&kept_ms), "{abilities:?}: {kept_ms}");
        assert!(line.bench.carrier.most_ahead_ms <= 100, "{abilities:?}");
        let burst_ms = line.bench.now_ms;
        line.silence(2_000);
        let late_ms = line.sound_ms(burst_ms);
        assert!((300..=400).contains(&late_ms), "{abilities:?}: {late_ms}");
        assert!(
            line.largest_step() <= MOST_STEP,
            "{abilities:?}: {}",
            line.largest_step()
        );
    }
}

#[test]
fn the_tones_of_keys_take_the_place_of_an_operators_audio_and_it_goes_on_after_them() {
    for abilities in [CARRIER, MARKLESS, PACED] {
        let mut line = Line::new(abilities);
        line.joins();
        line.operator(300);
        let pressed_ms = line.bench.now_ms;
        line.bench.session.press("12", pressed_ms);
        let mut dropped = 0;
        for _ in 0..100 {
            dropped += line.frames(1);
            line.silence(20);
        }
        let tones_ms = crate::tone::generate::keys("12", 8_000).len() / MS;
        let dropped_ms = dropped / MS;
        assert!(
            dropped_ms.abs_diff(tones_ms) <= 100,
            "{abilities:?}: {dropped_ms} of {tones_ms} ms"
        );
        assert!(
            line.sound_ms(pressed_ms + 1_000) >= 900,
            "{abilities:?}: the operator is heard again"
        );
        assert!(line.bench.session.speaking.is_live(), "{abilities:?}");
    }
}

#[test]
fn late_frames_make_a_gap_and_no_click() {
    for abilities in [CARRIER, PACED] {
        let mut line = Line::new(abilities);
        line.joins();
        line.operator(300);
        let stopped_ms = line.bench.now_ms;
        line.silence(260);
        line.operator(300);
        line.leaves();
        line.silence(600);
        assert!((150..=400).contains(&line.longest_gap_ms(stopped_ms)), "{abilities:?}");
        assert!(
            line.largest_step() <= MOST_STEP,
            "{abilities:?}: {}",
            line.largest_step()
        );
        // Frames that are only uneven make none.
        let mut line = Line::new(abilities);
        line.joins();
        for _ in 0..20 {
            line.frames(2);
            line.silence(40);
        }
        assert!(
            line.longest_gap_ms(0) <= 100,
            "{abilities:?}: {}",
            line.longest_gap_ms(0)
        );
    }
}

#[test]
fn an_operator_is_recorded_on_the_agents_side_where_it_was_heard() {
    let mut line = Line::on(Bench::recording());
    line.agent(1, 3_000);
    line.silence(1_000);
    line.joins();
    line.operator(1_000);
    line.leaves();
    line.silence(1_000);
    let mut recorded = line.bench.recorded.clone();
    recorded.extend(line.bench.session.take_recording(true));
    let agent: Vec<i16> = recorded.chunks(2).map(|pair| pair[1]).collect();
    // The phone plays what it got in a step in the next.
    let apart = |from_ms: usize, to_ms: usize| {
        let loud = agent[from_ms * MS..to_ms * MS]
            .iter()
            .filter(|sample| sample.abs() > AUDIBLE);
        loud.count() > (to_ms - from_ms) * MS / 2
    };
    assert!(apart(100, 1_000) && apart(1_150, 2_000) && !apart(2_150, 2_900));
}
