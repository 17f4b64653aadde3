//! When the user's turn is over: a pause counted from the last voiced block, its length by the words so far. The
//! recogniser is asked for its last words early in the pause, which hides how long they take.

mod recogniser;
mod turn;

use std::collections::VecDeque;

pub use recogniser::{Promise, Told};
use turn::{Telling, Turn};

use super::{
    expectation::{Expectation, Progress},
    words::{self, Ending},
};

/// The longest pause within a turn.
const MAX_PAUSE_MS: u64 = 3_000;

/// The least pause while something is being spelled. People leave up to 1500 ms between two groups of digits; a voice
/// is seen some 100 ms after it begins.
const SPELLING_PAUSE_MS: u64 = 1_700;

/// The least pause while so little is spelled that more must follow.
const SHORT_PAUSE_MS: u64 = 2_800;

/// Without voice for so long the recogniser is asked for its final words, and the turn may be over. Longer than the
/// gaps between words; the detector needs 64 to 96 ms to tell that voice has stopped.
pub const ASK_MS: u64 = 100;

/// Complete words shorten the pause by no more than this: whoever is to be patient with pauses is not to be hurried by
/// what a recogniser takes for a sentence's end.
const MOST_HURRIED_MS: u64 = 200;

/// Added to twice the pause after a hesitation: people think for up to two seconds in mid-sentence.
const HESITATION_MS: u64 = 1_600;

/// The same after a phrase that often wants an object.
const OPEN_MS: u64 = 600;

/// How long the recogniser may take for its final words after it was asked. One measured took 298 ms in the slowest
/// twentieth of cases, counted from the end of the voice.
pub const FINAL_WAIT_MS: u64 = 400;

/// Voice without a word for so long (hold music, hum) does not hold the turn.
pub const WORDLESS_MS: u64 = 1_500;

/// The same where no word can be told before the voice pauses: nobody speaks so long without a pause, music does.
pub const UNTOLD_MS: u64 = 20_000;

/// A sound that began so shortly before the end of the pause may be the voice again: the detector opens 24 to 88 ms after
/// a voice begins.
pub const ONSET_WAIT_MS: u64 = 112;

/// A final that came so shortly before the last voiced block covers it: in noise the detector closes late.
const SETTLED_SLACK_MS: u64 = 120;

/// Voice shorter than this, and without a word, is noise: a cough, a click.
pub const NOISE_MS: u64 = 300;

/// A recogniser that listens for turns has not said that this one is over: after so much silence, or the pause that its
/// words ask for if that is longer, it is asked for its final words. The slowest twentieth of one's verdicts takes
/// 1500 ms.
pub const TURN_FALLBACK_MS: u64 = 1_500;

/// Voice that goes on for no longer than this after the recogniser took the turn for over is the detector's hangover, or
/// a last breath.
const TOLD_SLACK_MS: u64 = 300;

/// Finals asked for that may be outstanding.
const MOST_UNANSWERED: usize = 8;

/// A final that was asked for so long ago will not come.
const UNANSWERED_MS: u64 = 6_000;

/// How long after a turn that ended on unsettled words their final may still come.
const OWED_MS: u64 = 2_000;

/// How long a pause ends a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PausePolicy {
    /// The pause after words that tell nothing: eager 250, normal 450, patient 800 ms.
    pub base_ms: u64,
    /// Always this pause instead.
    pub fixed_ms: Option<u64>,
    /// Wait longer while digits or letters are spelled.
    pub spelling_patience: bool,
}

impl PausePolicy {
    /// The pause that ends a turn of these words, when the agent asked for such an answer.
    pub fn pause_ms(self, words: &str, asked: &Expectation) -> u64 {
        if let Some(fixed) = self.fixed_ms {
            return fixed;
        }
        let short = (self.base_ms * 3 / 5).max(self.base_ms.saturating_sub(MOST_HURRIED_MS));
        let patiently = |least_ms: u64| match self.spelling_patience {
            true => least_ms.max(self.base_ms),
            false => self.base_ms,
        };
        let spelling = patiently(SPELLING_PAUSE_MS);
        let hesitating = self.base_ms * 2 + HESITATION_MS;
        let pause = match (words::ending(words), asked.progress(words)) {
            (Ending::Hesitating, Progress::Short) => patiently(SHORT_PAUSE_MS).max(hesitating),
            (Ending::Hesitating, _) => hesitating,
            (_, Progress::Short) => patiently(SHORT_PAUSE_MS),
            (Ending::Open, Progress::Unknown) => self.base_ms * 2 + OPEN_MS,
            (Ending::Open, _) => self.base_ms.max(spelling),
            // Dictated in pieces, each perhaps with a full stop of the recogniser's.
            (_, Progress::Begun) => spelling,
            // A number may be longer than most.
            (_, Progress::Enough) | (Ending::Spelling, Progress::Whole | Progress::Given) => self.base_ms,
            (Ending::Spelling, Progress::Unknown) => spelling,
            (Ending::Complete, _) | (Ending::Plain, Progress::Whole) => short,
            (Ending::Plain, Progress::Given | Progress::Unknown) => self.base_ms,
        };
        pause.min(MAX_PAUSE_MS)
    }
}

/// A turn of the user that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Utterance {
    /// Its words; empty when none was understood.
    pub text: String,
    /// Part of it was not understood. Without words: there was voice, more than a noise.
    pub damaged: bool,
    /// When it began.
    pub started_ms: u64,
    /// The end of its last voiced block.
    pub ended_ms: u64,
    /// When the recogniser's last final words came, as the session knows; none where none came in this turn.
    pub final_ms: Option<u64>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Ask the recogniser for its final words.
    Finalize,
    /// The voice has stopped; these words, never none, may be the whole turn.
    Paused(String),
    /// After [`Verdict::Paused`] there is voice again.
    Resumed,
    /// The turn is over.
    Ended(Utterance),
}

/// Words a turn ended on before they were final.
#[derive(Debug)]
struct Owed {
    first: String,
    words: usize,
    until_ms: u64,
}

/// The state machine. All times are milliseconds of the stream.
#[derive(Debug)]
pub struct Endpointing {
    policy: PausePolicy,
    turn: Option<Turn>,
    /// This voice had no words for too long; it counts again when it stops or says a word.
    ignoring: bool,
    owed: Option<Owed>,
    asked: Expectation,
    /// Since when there is a sound, voice or not.
    sound_ms: Option<u64>,
    recogniser: Promise,
    /// When the recogniser was asked for finals that have not come, if it answers each time.
    unanswered: VecDeque<u64>,
}

impl Endpointing {
    /// With no turn begun.
    pub fn new(policy: PausePolicy) -> Self {
        Self {
            policy,
            turn: None,
            ignoring: false,
            owed: None,
            asked: Expectation::Any,
            sound_ms: None,
            recogniser: Promise::default(),
            unanswered: VecDeque::new(),
        }
    }

    /// Another patience from here on.
    pub fn set_policy(&mut self, policy: PausePolicy) {
        self.policy = policy;
    }

    /// Another recogniser listens from here on: what the one before was asked is not answered any more.
    pub fn recogniser_replaced(&mut self) {
        self.unanswered.clear();
    }

    /// What the recogniser promises; it may change at any time.
    pub fn recogniser(&mut self, recogniser: Promise) {
        self.recogniser = recogniser;
    }

    /// What a recogniser that listens for turns says of the user's.
    pub fn told(&mut self, told: Told, at_ms: u64) {
        let Some(turn) = &mut self.turn else { return };
        turn.may_be_over = told == Told::Paused;
        match told {
            Told::Ended => turn.told_over_ms = Some(at_ms),
            Told::Paused => {}
            Told::Resumed if matches!(turn.telling, Telling::Paused(_)) => turn.telling = Telling::Resumed,
            Told::Resumed => {}
        }
    }

    /// The answer the agent's last words ask for.
    pub fn expectation(&self) -> &Expectation {
        &self.asked
    }

    /// The agent has said these words: what answer they ask for.
    pub fn agent_said(&mut self, words: &str) {
        self.asked = Expectation::of(words);
        self.rethink();
    }

    /// Whether voice counts: not while one goes on that had no words for too long.
    pub fn heeds_voice(&self) -> bool {
        !self.ignoring && self.turn.as_ref().is_none_or(|turn| !turn.wordless)
    }

    /// Whether the turn has words, or some that were not understood.
    pub fn is_speech(&self) -> bool {
        let turn = self.turn.as_ref();
        turn.is_some_and(|turn| turn.damaged || !turn.settled.is_empty() || !turn.interim.is_empty())
    }

    /// Whether the user has a turn that is not over.
    pub fn in_turn(&self) -> bool {
        self.turn.is_some()
    }

    /// When the turn that is not over began.
    pub fn started_ms(&self) -> Option<u64> {
        self.turn.as_ref().map(|turn| turn.started_ms)
    }

    /// Whether the turn has voice, not words alone.
    pub fn has_voice(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.voiced_ms > 0)
    }

    /// The words so far of the turn.
    pub fn words(&self) -> String {
        self.turn.as_ref().map(Turn::words).unwrap_or_default()
    }

    /// Since when there is a sound on the line, voice or not; to be told before the block it is in.
    pub fn sound(&mut self, since_ms: Option<u64>) {
        self.sound_ms = since_ms;
    }

    /// A block of audio up to `at_ms`: since when there is voice, and whether the block itself is voiced. Returns
    /// the onset if a turn begins with it.
    pub fn block(&mut self, onset_ms: Option<u64>, voiced_ms: u64, at_ms: u64) -> Option<u64> {
        let Some(onset_ms) = onset_ms else {
            self.ignoring = false;
            return None;
        };
        if voiced_ms == 0 || self.ignoring {
            return None;
        }
        let began = self.turn.is_none().then_some(onset_ms);
        let policy = self.policy;
        let wordless_ms = match self.recogniser.tells_interims {
            true => WORDLESS_MS,
            false => UNTOLD_MS,
        };
        let turn = self.turn.get_or_insert_with(|| Turn::starting(onset_ms, policy));
        let since = turn.last_word_ms.map_or(onset_ms, |word| word.max(onset_ms));
        // A hum that sounds like voice ends no turn before silence would.
        turn.wordless = at_ms.saturating_sub(since) > wordless_ms.max(turn.pause_ms);
        if !turn.wordless {
            turn.voice(at_ms, voiced_ms);
        }
        began
    }

    /// The words since the last final, replacing those before. Returns when a turn begins with them.
    pub fn interim(&mut self, text: &str, at_ms: u64) -> Option<u64> {
        let text = self.without_owed(text, at_ms);
        if text.is_empty() && self.turn.as_ref().is_none_or(|turn| turn.interim.is_empty()) {
            return None;
        }
        let began = self.turn.is_none().then_some(at_ms);
        self.heard_words(at_ms).unsettled(&text);
        self.rethink();
        began
    }

    /// Words that will not change. Returns when a turn begins with them.
    pub fn settle(&mut self, text: &str, damaged: bool, at_ms: u64) -> Option<u64> {
        let was_owed = self.owed.is_some();
        let text = self.without_owed(text, at_ms);
        self.owed = None;
        let is_last = self.recogniser.answers_each.then(|| self.answered(at_ms));
        if text.is_empty() && (self.turn.is_none() || was_owed) {
            return None;
        }
        let began = self.turn.is_none().then_some(at_ms);
        let turn = self.heard_words(at_ms);
        turn.settle(&text, at_ms, is_last);
        turn.damaged |= damaged;
        self.rethink();
        began
    }

    /// What time brings; to be called until it brings nothing.
    pub fn tick(&mut self, at_ms: u64) -> Option<Verdict> {
        let turn = self.turn.as_mut()?;
        if turn.telling == Telling::Resumed {
            turn.telling = Telling::Nothing;
            return Some(Verdict::Resumed);
        }
        let recogniser = self.recogniser;
        if turn.ask_at_ms(recogniser).is_some_and(|due| at_ms >= due) {
            turn.asked_ms = Some(at_ms);
            if recogniser.answers_each && self.unanswered.len() < MOST_UNANSWERED {
                self.unanswered.push_back(at_ms);
            }
            return Some(Verdict::Finalize);
        }
        if at_ms >= turn.over_at_ms(self.sound_ms, recogniser) {
            return self.end(at_ms);
        }
        if turn.tell_at_ms(recogniser).is_some_and(|due| at_ms >= due) {
            let words = turn.words();
            turn.telling = Telling::Paused(words.clone());
            return Some(Verdict::Paused(words));
        }
        None
    }

    /// When [`Self::tick`] has something to do.
    pub fn deadline(&self) -> Option<u64> {
        let turn = self.turn.as_ref()?;
        let due = [
            turn.ask_at_ms(self.recogniser),
            turn.tell_at_ms(self.recogniser),
            Some(turn.over_at_ms(self.sound_ms, self.recogniser)),
        ];
        due.into_iter().flatten().min()
    }

    /// Ends the turn now, whatever is still expected.
    pub fn flush(&mut self) -> Option<Utterance> {
        self.turn.take().map(|turn| turn.close(self.sound_ms))
    }

    fn rethink(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.rethink(self.policy, &self.asked);
        }
    }

    fn heard_words(&mut self, at_ms: u64) -> &mut Turn {
        self.ignoring = false;
        let policy = self.policy;
        let turn = self.turn.get_or_insert_with(|| Turn::starting(at_ms, policy));
        turn.last_word_ms = Some(at_ms);
        turn.told_over_ms = None;
        turn.wordless = false;
        turn
    }

    fn end(&mut self, at_ms: u64) -> Option<Verdict> {
        let turn = self.turn.take()?;
        self.ignoring = turn.wordless;
        let mut unsettled = turn.interim.split_whitespace();
        self.owed = unsettled.next().map(|first| Owed {
            first: words::bare(first),
            words: 1 + unsettled.count(),
            until_ms: at_ms + OWED_MS.max(2 * self.recogniser.final_wait_ms()),
        });
        Some(Verdict::Ended(turn.close(self.sound_ms)))
    }

    /// A final came: whether it is the last of those asked for.
    fn answered(&mut self, at_ms: u64) -> bool {
        while self
            .unanswered
            .front()
            .is_some_and(|asked| asked + UNANSWERED_MS < at_ms)
        {
            self.unanswered.pop_front();
        }
        self.unanswered.pop_front();
        self.unanswered.is_empty()
    }

    /// Leaves out words that already belonged to the turn before.
    fn without_owed(&self, text: &str, at_ms: u64) -> String {
        let mut tokens = text.split_whitespace();
        let skip = match self.owed.as_ref().filter(|owed| at_ms <= owed.until_ms) {
            Some(owed) if tokens.clone().next().map(words::bare).as_ref() == Some(&owed.first) => owed.words,
            _ => return text.trim().to_owned(),
        };
        tokens.by_ref().take(skip).for_each(drop);
        tokens.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests;
