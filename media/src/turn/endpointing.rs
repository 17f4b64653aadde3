//! Detects the end of the user's turn: a pause counted from the last voiced block, whose length depends on
//! the words so far. The recogniser is asked for its last words early in the pause, which hides their
//! latency.

pub mod evidence;
pub mod model;
mod pauses;
mod pending;
mod policy;
mod recogniser;
mod turn;

use evidence::{Circumstances, Evidence, Moment};
use model::MODEL;
use pauses::MAX_PAUSE_MS;
pub use pauses::{Habits, Pauses};
use pending::PendingWords;
pub use policy::PausePolicy;
use recogniser::Requests;
pub use recogniser::{Capabilities, Told};
pub use turn::Utterance;
use turn::{Telling, Turn};

use super::{expectation::Expectation, words};

/// Voice in milliseconds without a word (hold music, hum) that no longer holds the turn. The first word of a slow
/// recogniser comes up to 1600 ms after the voice begins.
const WORDLESS_MS: u64 = 2_000;

/// The same for a recogniser that reports no words before the voice pauses: nobody speaks so long without a
/// pause, but music does.
const UNTOLD_MS: u64 = 20_000;

/// Time in milliseconds within which nobody reacts to what they hear: a voice that begins so soon after the agent's
/// would have begun without it.
const REACTION_MS: u64 = 200;

/// Action to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Ask the recogniser for its final words.
    Finalize,
    /// The voice has stopped, and these words (never none) may be the whole turn.
    Paused(String),
    /// There is voice again after [`Verdict::Paused`].
    Resumed,
    /// The turn is over.
    Ended(Utterance),
}

/// The state machine. All times are milliseconds of the stream.
#[derive(Debug)]
pub struct Endpointing {
    policy: PausePolicy,
    turn: Option<Turn>,
    /// Whether this voice had no words for too long. It counts again when it stops or has a word.
    ignoring: bool,
    pending_words: Option<PendingWords>,
    asked: Expectation,
    /// Start of the present sound, voice or not.
    sound_ms: Option<u64>,
    recogniser: Capabilities,
    /// Whether the recogniser has shown punctuation.
    punctuates: bool,
    habits: Habits,
    /// Whether the voice is a machine's, which is never answered into.
    is_machine: bool,
    /// End of the last turn's voice, if the agent has not said anything to the end since.
    left_ms: Option<u64>,
    /// Start of the agent's voice since then.
    agent_began_ms: Option<u64>,
    requests: Requests,
}

impl Endpointing {
    /// Creates the state without a turn.
    pub fn new(policy: PausePolicy) -> Self {
        Self {
            policy,
            turn: None,
            ignoring: false,
            pending_words: None,
            asked: Expectation::Any,
            sound_ms: None,
            recogniser: Capabilities::default(),
            punctuates: false,
            habits: Habits::default(),
            is_machine: false,
            left_ms: None,
            agent_began_ms: None,
            requests: Requests::default(),
        }
    }

    /// Sets the policy from here on.
    pub fn set_policy(&mut self, policy: PausePolicy) {
        self.policy = policy;
    }

    /// Notes that another recogniser listens from here on, so that requests to the previous one are not answered.
    pub fn recogniser_replaced(&mut self) {
        self.requests = Requests::default();
        self.punctuates = false;
    }

    /// Sets the recogniser's capabilities, which may change at any time.
    pub fn recogniser(&mut self, recogniser: Capabilities) {
        self.recogniser = recogniser;
    }

    /// Returns whether the recogniser answers each request for its final words.
    pub fn answers_each(&self) -> bool {
        self.recogniser.answers_each
    }

    /// Takes a turn signal of a recogniser that listens for turns.
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

    /// Returns the answer that the agent's last words ask for.
    pub fn expectation(&self) -> &Expectation {
        &self.asked
    }

    /// Notes whether the voice is a machine's from here on. A person who picks up has other habits than the machine.
    pub fn listens_to(&mut self, machine: bool) {
        if std::mem::replace(&mut self.is_machine, machine) != machine {
            self.habits = Habits::default();
        }
    }

    /// Notes that the agent's voice begins.
    pub fn agent_began(&mut self, at_ms: u64) {
        self.agent_began_ms.get_or_insert(at_ms);
    }

    /// Takes the agent's words, and derives the expected answer from them.
    pub fn agent_said(&mut self, words: &str) {
        self.asked = Expectation::of(words);
        self.left_ms = None;
        self.rethink(None);
    }

    /// Returns whether voice counts. It does not while a voice continues that had no words for too long.
    pub fn heeds_voice(&self) -> bool {
        !self.ignoring && self.turn.as_ref().is_none_or(|turn| !turn.wordless)
    }

    /// Returns whether the turn has words, or speech that was not understood.
    pub fn is_speech(&self) -> bool {
        let turn = self.turn.as_ref();
        turn.is_some_and(|turn| turn.damaged || !turn.settled.is_empty() || !turn.interim.is_empty())
    }

    /// Returns whether the user has a turn that is not over.
    pub fn in_turn(&self) -> bool {
        self.turn.is_some()
    }

    /// Returns when the present turn began.
    pub fn started_ms(&self) -> Option<u64> {
        self.turn.as_ref().map(|turn| turn.started_ms)
    }

    /// Returns whether the turn has voice, not only words.
    pub fn has_voice(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.pauses.voiced_ms > 0)
    }

    /// Returns the words so far of the turn.
    pub fn words(&self) -> String {
        self.turn.as_ref().map(Turn::words).unwrap_or_default()
    }

    /// Sets the start of the present sound on the line, voice or not. Must be called before the block that contains it.
    pub fn sound(&mut self, since_ms: Option<u64>) {
        self.sound_ms = since_ms;
    }

    /// Takes a block of audio that ends at `at_ms`, with the start of the present voice and the voiced
    /// duration of the block. Returns the onset if a turn begins with it.
    pub fn block(&mut self, onset_ms: Option<u64>, voiced_ms: u64, at_ms: u64) -> Option<u64> {
        let Some(onset_ms) = onset_ms else {
            self.ignoring = false;
            return None;
        };
        if voiced_ms == 0 || self.ignoring {
            return None;
        }
        let began = self.turn.is_none().then_some(onset_ms);
        let base_ms = self.policy.wordless_ms();
        let wordless_ms = match self.recogniser.tells_interims {
            true => WORDLESS_MS,
            false => UNTOLD_MS,
        };
        let turn = self.turn.get_or_insert_with(|| Turn::starting(onset_ms, base_ms));
        let since = turn.last_word_ms.map_or(onset_ms, |word| word.max(onset_ms));
        // A hum that sounds like voice ends no turn before silence would.
        turn.wordless = at_ms.saturating_sub(since) > wordless_ms.max(turn.pause_ms);
        let pause_ms = match turn.wordless {
            true => None,
            false => turn.voice(at_ms, voiced_ms),
        };
        if let Some(began_ms) = began
            && let Some(left_ms) = self.left_ms.take()
        {
            let silent_ms = began_ms.saturating_sub(left_ms);
            if silent_ms < MAX_PAUSE_MS {
                self.habits.pause(silent_ms);
                let reacts = self
                    .agent_began_ms
                    .is_some_and(|agent_ms| began_ms > agent_ms + REACTION_MS);
                turn.goes_on = !reacts && !self.is_machine;
            }
        }
        if let Some(pause_ms) = pause_ms {
            self.habits.pause(pause_ms);
            self.rethink(None);
        }
        began
    }

    /// Takes the words since the last final, which replace the previous ones. Returns the start if a turn
    /// begins with them.
    pub fn interim(&mut self, text: &str, at_ms: u64) -> Option<u64> {
        let text = pending::without(self.pending_words.as_ref(), text, at_ms);
        if text.is_empty() && self.turn.as_ref().is_none_or(|turn| turn.interim.is_empty()) {
            return None;
        }
        let began = self.turn.is_none().then_some(at_ms);
        self.heard_words(at_ms).unsettled(&text);
        self.rethink(Some(at_ms));
        began
    }

    /// Takes final words. Returns the start if a turn begins with them.
    pub fn settle(&mut self, text: &str, damaged: bool, at_ms: u64) -> Option<u64> {
        let pending_words = self.pending_words.take();
        let text = pending::without(pending_words.as_ref(), text, at_ms);
        let is_last = self.recogniser.answers_each.then(|| self.requests.answered(at_ms));
        if text.is_empty() && (self.turn.is_none() || pending_words.is_some()) {
            return None;
        }
        let began = self.turn.is_none().then_some(at_ms);
        let turn = self.heard_words(at_ms);
        turn.settle(&text, at_ms, is_last);
        turn.damaged |= damaged;
        self.rethink(Some(at_ms));
        began
    }

    /// Returns the next action that is due. To be called until it returns `None`.
    pub fn tick(&mut self, at_ms: u64) -> Option<Verdict> {
        let turn = self.turn.as_mut()?;
        if turn.telling == Telling::Resumed {
            turn.telling = Telling::Nothing;
            return Some(Verdict::Resumed);
        }
        let recogniser = self.recogniser;
        if turn.ask_at_ms(recogniser).is_some_and(|due| at_ms >= due) {
            turn.asked_ms = Some(at_ms);
            if recogniser.answers_each {
                self.requests.asked(at_ms);
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

    /// Returns when [`Self::tick`] has something to do.
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

    /// Returns the knowledge at a moment of the present turn.
    pub fn moment(&self, at_ms: u64) -> Option<Moment> {
        let turn = self.turn.as_ref()?;
        Some(Moment {
            words: turn.words(),
            asked: self.asked.clone(),
            circumstances: self.circumstances(turn, Some(at_ms)),
            is_settled: turn.is_settled(self.recogniser),
        })
    }

    fn circumstances(&self, turn: &Turn, at_ms: Option<u64>) -> Circumstances {
        Circumstances {
            pauses: turn.pauses,
            habits: self.habits,
            punctuates: self.punctuates,
            tells_interims: self.recogniser.tells_interims,
            silent_ms: at_ms.map_or(0, |at_ms| at_ms.saturating_sub(turn.last_voiced_ms)),
        }
    }

    /// Updates the pause after the words changed at a time, or after the voice or the agent continued.
    fn rethink(&mut self, at_ms: Option<u64>) {
        let Some(turn) = &self.turn else { return };
        let words = turn.words();
        self.punctuates |= words.contains(words::is_mark);
        let evidence = Evidence::of(&words, &self.asked, &self.circumstances(turn, at_ms), &MODEL);
        let pause_ms = self.policy.pause_ms(&evidence);
        if let Some(turn) = &mut self.turn {
            turn.rethink(&words, pause_ms);
        }
    }

    fn heard_words(&mut self, at_ms: u64) -> &mut Turn {
        self.ignoring = false;
        let base_ms = self.policy.wordless_ms();
        let turn = self.turn.get_or_insert_with(|| Turn::starting(at_ms, base_ms));
        turn.last_word_ms = Some(at_ms);
        turn.told_over_ms = None;
        turn.wordless = false;
        turn
    }

    fn end(&mut self, at_ms: u64) -> Option<Verdict> {
        let turn = self.turn.take()?;
        self.ignoring = turn.wordless;
        if turn.has_words {
            self.habits.turns += 1;
            self.habits.cut_offs += u32::from(turn.goes_on);
            self.left_ms = Some(turn.last_voiced_ms);
            self.agent_began_ms = None;
        }
        self.pending_words = PendingWords::of(&turn.interim, at_ms, self.recogniser.final_wait_ms());
        Some(Verdict::Ended(turn.close(self.sound_ms)))
    }
}

#[cfg(test)]
mod tests;
