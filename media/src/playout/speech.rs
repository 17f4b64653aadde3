//! One speech of the agent: its text, its audio in the line's encoding, and the position of each word in the audio.

use crate::format::LineFormat;

/// Longest distance in milliseconds from the cut back to the point where playout resumes.
const MAX_STEP_BACK_MS: u64 = 1_000;

/// Speaking rate assumed for a text whose audio is incomplete and has no timings, in characters per second.
const CHARACTERS_A_SECOND: u64 = 14;

/// End of a word, counted from the start of its text and of that text's audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordEnd {
    /// Byte offset one past the word.
    pub text_end: usize,
    /// Sample offset one past the word.
    pub sample_end: u64,
}

/// One separately synthesised text. Offsets count from the start of the speech.
#[derive(Debug)]
struct Part {
    text_start: usize,
    sample_start: u64,
    words: Vec<WordEnd>,
    complete: bool,
}

/// The speech. Positions count its samples from its start.
#[derive(Debug)]
pub struct Speech {
    format: LineFormat,
    text: String,
    parts: Vec<Part>,
    /// Audio from `audio_start` on. Audio that can no longer be needed is released.
    audio: Vec<u8>,
    audio_start: u64,
    synthesised: u64,
    cursor: u64,
}

impl Speech {
    /// Creates an empty speech for a line of this format.
    pub fn new(format: LineFormat) -> Self {
        Self {
            format,
            text: String::new(),
            parts: Vec::new(),
            audio: Vec::new(),
            audio_start: 0,
            synthesised: 0,
            cursor: 0,
        }
    }

    /// Begins a text, which the following audio speaks.
    pub fn begin_text(&mut self, text: &str) {
        self.end_text();
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
        self.parts.push(Part {
            text_start: self.text.len(),
            sample_start: self.synthesised,
            words: Vec::new(),
            complete: false,
        });
        self.text.push_str(text);
    }

    /// Appends audio in the line's encoding, with the words that end in it.
    pub fn push(&mut self, audio: &[u8], words: &[WordEnd]) {
        let whole = audio.len() - audio.len() % self.bytes_per_sample();
        self.audio.extend_from_slice(audio.get(..whole).unwrap_or_default());
        self.synthesised += (whole / self.bytes_per_sample()) as u64;
        let text_len = self.text.len();
        let Some(part) = self.parts.last_mut() else { return };
        for word in words {
            let before = part.words.last().copied().unwrap_or(WordEnd {
                text_end: part.text_start,
                sample_end: part.sample_start,
            });
            let text_end = part.text_start.saturating_add(word.text_end).min(text_len);
            // Timings come from outside. They must not decrease or cut a character.
            part.words.push(WordEnd {
                text_end: self.text.floor_char_boundary(text_end).max(before.text_end),
                sample_end: part.sample_start.saturating_add(word.sample_end).max(before.sample_end),
            });
        }
    }

    /// Ends the last text, which has no more audio.
    pub fn end_text(&mut self) {
        if let Some(part) = self.parts.last_mut() {
            part.complete = true;
        }
    }

    /// Returns whether a text's audio is still coming.
    pub fn expects_audio(&self) -> bool {
        self.parts.last().is_some_and(|part| !part.complete)
    }

    /// Returns the number of samples not taken yet.
    pub fn unsent(&self) -> u64 {
        self.synthesised - self.cursor
    }

    /// Returns the position up to which samples were taken.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Takes the next `samples`, or fewer if there are fewer.
    pub fn take(&mut self, samples: u64) -> Vec<u8> {
        let samples = samples.min(self.unsent());
        let (from, to) = (self.offset(self.cursor), self.offset(self.cursor + samples));
        self.cursor += samples;
        self.audio.get(from..to).unwrap_or_default().to_vec()
    }

    /// Returns the `samples` from `position` on, or fewer if there are fewer, and takes none.
    pub fn peek(&self, position: u64, samples: u64) -> &[u8] {
        let end = (position + samples).min(self.synthesised);
        let (from, to) = (self.offset(position), self.offset(end));
        self.audio.get(from..to).unwrap_or_default()
    }

    /// Returns the words whose audio is before `position`.
    pub fn heard(&self, position: u64) -> &str {
        let end = self
            .part_at(position)
            .map_or(0, |(part, end)| self.text_before(part, end, position));
        self.text.get(..end).unwrap_or_default().trim_end()
    }

    /// Returns the text of all synthesis begun so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Moves back to the start of the word at `position`, from which samples are taken next.
    pub fn step_back(&mut self, position: u64) {
        self.cursor = self.word_start(position).clamp(self.audio_start, self.synthesised);
    }

    /// Releases audio that is too far before `position` to be played again.
    pub fn release(&mut self, position: u64) {
        let step_back = MAX_STEP_BACK_MS * self.samples_per_ms();
        let keep_from = position.saturating_sub(step_back).min(self.cursor);
        // Released in larger steps, since each one moves the kept audio.
        if keep_from >= self.audio_start + 2 * step_back {
            let cut = self.offset(keep_from).min(self.audio.len());
            self.audio.drain(..cut);
            self.audio_start = keep_from;
        }
    }

    fn word_start(&self, position: u64) -> u64 {
        let earliest = position.saturating_sub(MAX_STEP_BACK_MS * self.samples_per_ms());
        let Some((part, end)) = self.part_at(position) else {
            return earliest;
        };
        let timed = part.words.iter().rev().find(|word| word.sample_end <= position);
        let start = match (timed, part.words.is_empty()) {
            (Some(word), _) => word.sample_end,
            (None, false) => part.sample_start,
            (None, true) => {
                let text_end = self.text_before(part, end, position) - part.text_start;
                let length = (end.text_end - part.text_start).max(1);
                part.sample_start + (end.sample_end - part.sample_start) * text_end as u64 / length as u64
            }
        };
        start.clamp(earliest, position)
    }

    /// Returns the part that plays at `position`, and its end.
    fn part_at(&self, position: u64) -> Option<(&Part, WordEnd)> {
        let index = self.parts.iter().rposition(|part| part.sample_start <= position)?;
        let part = self.parts.get(index)?;
        let next = self.parts.get(index + 1);
        let text_end = next.map_or(self.text.len(), |next| next.text_start);
        let sample_end = match next {
            Some(next) => next.sample_start,
            None if part.complete => self.synthesised,
            None => {
                let characters = self.text.get(part.text_start..).unwrap_or_default().chars().count() as u64;
                let expected = characters * 1_000 / CHARACTERS_A_SECOND * self.samples_per_ms();
                self.synthesised.max(part.sample_start + expected)
            }
        };
        Some((part, WordEnd { text_end, sample_end }))
    }

    /// Returns the end of the text of `part` whose audio is before `position`.
    fn text_before(&self, part: &Part, end: WordEnd, position: u64) -> usize {
        if position >= end.sample_end && end.sample_end > part.sample_start {
            return end.text_end;
        }
        if !part.words.is_empty() {
            let last = part.words.iter().rev().find(|word| word.sample_end <= position);
            return last.map_or(part.text_start, |word| word.text_end);
        }
        let length = (end.sample_end - part.sample_start).max(1);
        let share = (end.text_end - part.text_start) as u64 * (position - part.sample_start) / length;
        let reached = self.text.floor_char_boundary(part.text_start + share as usize);
        let played = self.text.get(part.text_start..reached).unwrap_or_default();
        let at_word_end = self
            .text
            .get(reached..)
            .is_some_and(|rest| rest.starts_with(char::is_whitespace));
        match played.rfind(char::is_whitespace) {
            _ if at_word_end => reached,
            Some(space) => part.text_start + space,
            None => part.text_start,
        }
    }

    fn offset(&self, position: u64) -> usize {
        (position.saturating_sub(self.audio_start)) as usize * self.bytes_per_sample()
    }

    fn bytes_per_sample(&self) -> usize {
        self.format.encoding.bytes_per_sample()
    }

    fn samples_per_ms(&self) -> u64 {
        u64::from(self.format.sample_rate / 1_000)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spoken(text: &str, samples: usize, words: &[WordEnd]) -> Speech {
        let mut speech = Speech::new(LineFormat::MULAW_8000);
        speech.begin_text(text);
        speech.push(&vec![0; samples], words);
        speech.end_text();
        speech
    }

    /// Returns "one two three" with a word every 800 samples.
    fn timed() -> Speech {
        let words = [(3, 800), (7, 1_600), (13, 2_400)];
        let words = words.map(|(text_end, sample_end)| WordEnd { text_end, sample_end });
        spoken("one two three", 2_400, &words)
    }

    #[test]
    fn heard_words_follow_their_timings() {
        let speech = timed();
        for (position, heard) in [
            (0, ""),
            (799, ""),
            (800, "one"),
            (2_399, "one two"),
            (2_400, "one two three"),
        ] {
            assert_eq!(speech.heard(position), heard, "{position}");
        }
    }

    #[test]
    fn without_timings_words_are_heard_in_proportion() {
        let speech = spoken("one two three", 1_300, &[]);
        for (position, heard) in [
            (200, ""),
            (300, "one"),
            (600, "one"),
            (750, "one two"),
            (1_300, "one two three"),
        ] {
            assert_eq!(speech.heard(position), heard, "{position}");
        }
    }

    #[test]
    fn texts_join_and_keep_their_own_timings() {
        let mut speech = timed();
        speech.begin_text("Four.");
        speech.push(
            &[0; 800],
            &[WordEnd {
                text_end: 5,
                sample_end: 800,
            }],
        );
        assert_eq!(speech.heard(2_500), "one two three");
        assert_eq!(speech.heard(3_200), "one two three Four.");
    }

    #[test]
    fn playout_steps_back_to_the_start_of_the_word() {
        let mut speech = timed();
        speech.take(2_400);
        speech.step_back(1_700);
        assert_eq!(speech.cursor(), 1_600);
        let mut speech = spoken("one two three", 1_300, &[]);
        speech.take(1_300);
        speech.step_back(650);
        assert_eq!(speech.cursor(), 300);
        let mut long = spoken("unbroken", 80_000, &[]);
        long.take(80_000);
        long.step_back(40_000);
        assert_eq!(long.cursor(), 32_000, "a second at most");
    }

    #[test]
    fn audio_long_played_is_let_go() {
        let mut speech = spoken("a b", 80_000, &[]);
        speech.take(60_000);
        speech.release(50_000);
        assert!(speech.audio.len() < 40_000);
        assert_eq!(speech.take(30_000).len(), 20_000);
    }

    proptest! {
        #[test]
        fn heard_is_a_growing_prefix_whatever_the_timings(
            texts in prop::collection::vec(("\\PC{0,20}", 0usize..3_000, prop::collection::vec((0usize..40, 0u64..4_000), 0..5)), 1..5),
            positions in prop::collection::vec(0u64..12_000, 1..20),
        ) {
            let mut speech = Speech::new(LineFormat::MULAW_8000);
            for (text, samples, words) in &texts {
                speech.begin_text(text);
                let words: Vec<_> = words.iter().map(|&(text_end, sample_end)| WordEnd { text_end, sample_end }).collect();
                speech.push(&vec![0; *samples], &words);
            }
            let mut positions = positions;
            positions.sort_unstable();
            let mut before = String::new();
            for position in positions {
                let heard = speech.heard(position);
                prop_assert!(speech.text().starts_with(heard));
                prop_assert!(heard.starts_with(&before), "{before:?} then {heard:?}");
                before = heard.to_owned();
                speech.step_back(position);
                prop_assert!(speech.cursor() <= position.min(speech.synthesised));
            }
        }
    }
}
