//! Speech in babble, with the melody of speech: the pitch falls or rises at an end, and the last syllable before
//! an unfinished pause is long.
//!
//! The words of the audio do not matter, since the recogniser of the corpus knows the script. Letters of other
//! scripts than Latin are therefore replaced: babble needs as long for one as for any other.

use media::babble::{self, UnsupportedRate};

use super::{Ending, PER_MS, Stretch, sound, trimmed};
use crate::{caller::Caller, chance::Chance, sentence::Word};

/// Samples over which the melody of an end goes: 320 ms.
const MELODY: usize = 320 * PER_MS;

/// Shortest sound of a word in characters. Spelled letters and digits take their time.
const SHORTEST: usize = 4;

/// Speaks words without a pause.
pub(super) fn speak(
    words: &[&Word],
    ending: Ending,
    caller: &Caller,
    chance: &mut Chance,
) -> Result<Stretch, UnsupportedRate> {
    let mut stretch = Stretch {
        samples: Vec::new(),
        words: Vec::new(),
    };
    for run in words.chunk_by(|one, next| one.filler == next.filler) {
        let start = stretch.samples.len();
        let is_filler = run.first().is_some_and(|word| word.filler);
        let samples = match is_filler {
            true => filler(run.len(), caller, chance),
            false => plain(run, caller)?,
        };
        let spans = super::by_length(run, samples.len());
        stretch
            .words
            .extend(spans.into_iter().map(|span| start + span.start..start + span.end));
        stretch.samples.extend(samples);
    }
    sing(&mut stretch, ending, caller, chance);
    Ok(stretch)
}

fn plain(words: &[&Word], caller: &Caller) -> Result<Vec<i16>, UnsupportedRate> {
    let text: Vec<String> = words.iter().map(|word| sound_of(&word.text)).collect();
    let voice = babble::Voice {
        f0_hz: caller.pitch_hz as f32,
        wobble_hz: 0.6 + (caller.voice % 8) as f32 / 10.0,
    };
    let mut speaker = babble::Speaker::new(&text.join(" "), voice, 8_000)?;
    let mut samples = Vec::new();
    while let Some(chunk) = speaker.next_chunk(1_600) {
        samples.extend(chunk);
    }
    let base = caller.rate;
    Ok(resampled(trimmed(&samples), |_| base))
}

fn filler(count: usize, caller: &Caller, chance: &mut Chance) -> Vec<i16> {
    let pitch = caller.pitch_hz * caller.rate * chance.within(0.85, 0.98);
    let length = chance.between(220, 650) as usize * PER_MS * count;
    sound::vowel(pitch, pitch * 0.98, length)
}

/// Returns letters that babble speaks for a word.
fn sound_of(word: &str) -> String {
    let letter = |c: char| match c {
        c if c.is_ascii() => c,
        c => char::from(b'a' + (u32::from(c) % 26) as u8),
    };
    let mut sound: String = word.chars().map(letter).collect();
    while sound.len() < SHORTEST {
        sound.push('e');
    }
    sound
}

/// Gives the end its melody, its loudness, and before an unfinished pause a long last syllable.
fn sing(stretch: &mut Stretch, ending: Ending, caller: &Caller, chance: &mut Chance) {
    let from = stretch.samples.len().saturating_sub(MELODY);
    let tail = stretch.samples.split_off(from);
    let (bend, loudness) = match ending {
        Ending::Falling => (-chance.within(0.08, 0.22), chance.within(0.35, 0.7)),
        Ending::Rising => (chance.within(0.08, 0.25), chance.within(0.7, 1.0)),
        Ending::Level => (chance.within(-0.04, 0.05), chance.within(0.8, 1.0)),
    };
    let mut sung = resampled(&tail, |share| 1.0 + bend * share);
    let count = sung.len().max(1) as f64;
    for (at, sample) in sung.iter_mut().enumerate() {
        let share = at as f64 / count;
        *sample = (f64::from(*sample) * (1.0 + (loudness - 1.0) * share)) as i16;
    }
    if ending == Ending::Level && chance.happens(0.7) {
        let pitch = caller.pitch_hz * caller.rate * chance.within(0.93, 1.0);
        let length = chance.between(70, 240) as usize * PER_MS;
        sung.extend(sound::vowel(pitch, pitch * (1.0 + bend / 2.0), length));
    }
    stretch.samples.extend(sung);
    // The end moved, and the words in it with it.
    let kept = from as f64;
    let stretched = (stretch.samples.len() - from) as f64 / tail.len().max(1) as f64;
    let moved = |at: usize| match at > from {
        true => (kept + (at - from) as f64 * stretched) as usize,
        false => at,
    };
    for word in &mut stretch.words {
        *word = moved(word.start)..moved(word.end);
    }
}

/// Plays samples at a speed that depends on the share that is done. The pitch goes with it.
fn resampled(samples: &[i16], speed: impl Fn(f64) -> f64) -> Vec<i16> {
    let mut into = Vec::with_capacity(samples.len());
    let mut at = 0.0_f64;
    let count = samples.len() as f64;
    while let Some([one, next]) = samples.get(at as usize..at as usize + 2) {
        let between = at.fract();
        into.push((f64::from(*one) * (1.0 - between) + f64::from(*next) * between) as i16);
        at += speed(at / count);
    }
    into
}
