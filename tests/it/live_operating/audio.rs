//! The moments at which a call is taken over and given back, in the samples that the phone played.

use std::f64::consts::TAU;

use domain::ports::synthesizer::{SpeechPiece, SpeechStream, Synthesizer, Voice as AgentVoice, VoiceConfig};
use support::phone_audio::PhoneAudio;

use super::*;

/// Longest silence at a seam, in samples.
const MOST_SILENCE: usize = 200 * MS;

/// Largest step between two samples of the hums, with the error of mu-law at their level. A cut at their loudest is
/// five times as much.
const MOST_STEP: i32 = 1_200;

/// Duration of everything that the humming agent says.
const SPEECH_SECONDS: u32 = 20;

/// Returns samples of a hum, too low to pass for a voice.
fn hum(from: usize, samples: usize, hertz: f64, sample_rate: u32) -> Vec<i16> {
    let wave = |n: usize| ((n as f64 * TAU * hertz / f64::from(sample_rate)).sin() * 6_000.0) as i16;
    (from..from + samples).map(wave).collect()
}

/// Hums whatever it is to say.
struct Humming;

struct HummingVoice {
    sample_rate: u32,
}

impl Synthesizer for Humming {
    fn open(&self, config: VoiceConfig) -> Box<dyn AgentVoice> {
        Box::new(HummingVoice {
            sample_rate: config.sample_rate,
        })
    }
}

impl AgentVoice for HummingVoice {
    fn speak(&mut self, _text: String) -> SpeechStream {
        let rate = self.sample_rate;
        let pieces = (0..SPEECH_SECONDS).map(move |second| {
            let samples = hum((second * rate) as usize, rate as usize, 120.0, rate);
            Ok(SpeechPiece {
                samples,
                words: Vec::new(),
            })
        });
        stream::iter(pieces).boxed()
    }
}

impl Operator {
    /// Hums for so many frames of 20 ms.
    async fn hums(&mut self, frames: usize) {
        for n in 0..frames {
            self.frame(&hum(n * 160, 160, 110.0, 8_000)).await;
        }
    }
}

fn played(live: &Live) -> PhoneAudio {
    live.world.played(NUMBER)
}

/// Returns whether the agent hums since half a second.
fn has_hummed(audio: &PhoneAudio) -> bool {
    let length_ms = audio.length_ms();
    length_ms >= 500 && audio.longest_silence(length_ms - 500) < MS
}

/// Waits until the phone is so many milliseconds into a frame.
async fn into_frame(live: &Live, ms: u64) {
    let before = played(live).length_ms();
    while played(live).length_ms() == before {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

#[tokio::test(start_paused = true)]
async fn the_phone_hears_no_click_and_no_gap_when_a_call_is_taken_over_and_given_back() {
    let live = live_with(Arc::new(Humming)).await;
    let limit = Instant::now() + Duration::from_secs(10);
    while !has_hummed(&played(&live)) {
        assert!(Instant::now() < limit, "no greeting");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // Each seam lies at another point of the waves, and of the phone's frames.
    for round in 0..4 {
        into_frame(&live, 2 + 5 * round).await;
        let from_ms = played(&live).length_ms();
        let mut operator = live.operate().await;
        operator.hums(75 + round as usize).await;
        let taken = played(&live);
        assert!(
            taken.longest_silence(from_ms) <= MOST_SILENCE,
            "taking over {round}: {} samples",
            taken.longest_silence(from_ms)
        );
        assert!(
            taken.largest_step(from_ms) <= MOST_STEP,
            "{round}: {}",
            taken.largest_step(from_ms)
        );
        into_frame(&live, 17 - 5 * round).await;
        let from_ms = taken.length_ms();
        operator.tell(json!({ "event": "giveBack" })).await;
        assert_eq!(operator.until_closed().await.0, 1_000);
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        let given = played(&live);
        assert!(
            given.longest_silence(from_ms) <= MOST_SILENCE,
            "giving back {round}: {} samples",
            given.longest_silence(from_ms)
        );
        assert!(
            given.largest_step(from_ms) <= MOST_STEP,
            "{round}: {}",
            given.largest_step(from_ms)
        );
    }
    assert_eq!(live.told("operator_left").len(), 4);
}
