//! Barge-in in two steps: the user's speech during playout first pauses it, then either becomes a barge-in or
//! lets playout resume. A nod, a cough or noise costs the agent only a short pause.

pub mod floor;
mod weights;

use floor::Floor;

/// Speech in milliseconds that pauses playout.
pub const FIRST_STEP_MS: u64 = 160;

/// The same for the rest of a speech that was paused by a sound without words.
pub const WARY_FIRST_STEP_MS: u64 = 300;

/// Speech in milliseconds that counts as a barge-in although none of its words were understood. Voice without
/// any word only pauses playout, since it may be music.
pub const SPEECH_MS: u64 = 600;

/// The same while its words do not take the floor. Two or three nods may come in one breath ("Yeah, right,
/// okay."), and recognisers correct their first words. The agent is silent meanwhile, so the wait costs the user
/// nothing.
pub const NOD_SPEECH_MS: u64 = 1_800;

/// Silence in milliseconds that ends a piece of speech; playout then resumes. In noise, the end of voice is
/// detected up to 96 ms late, and playout must resume within 300 ms.
pub const QUIET_MS: u64 = 180;

/// Longest time in milliseconds without voice for which playout waits for the words of a voice that has stopped.
/// The slowest twentieth of the words of a slow recogniser comes after 1000 ms.
const WORDS_WAIT_MS: u64 = 1_000;

/// Longest silence in milliseconds for which words that do not decide keep playout paused. The turn usually ends
/// earlier; after a hesitation it may not, and playout resumes before it does.
const WORD_HOLD_MS: u64 = 1_500;

/// Observation at one moment of a playout.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// Present time.
    pub at_ms: u64,
    /// Start of the present voice, while there is voice.
    pub onset_ms: Option<u64>,
    /// End of the last voiced block.
    pub last_voiced_ms: u64,
    /// The words so far of the user's turn.
    pub words: &'a str,
    /// Their meaning.
    pub floor: Floor,
    /// Whether the recogniser heard speech, understood or not.
    pub is_speech: bool,
    /// Whether the recogniser was asked for the words of the voice and will answer, even without words.
    pub is_asked: bool,
}

/// Action for playout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Stop at once and keep the rest.
    Pause,
    /// The user has taken the turn: drop the rest.
    BargeIn,
    /// It was no interruption: resume from the word where it was cut.
    Resume,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Quiet,
    Speech { onset_ms: u64 },
    Paused { onset_ms: u64 },
}

/// State machine of one speech of the agent. All times are milliseconds of the stream.
#[derive(Debug)]
pub struct BargeIn {
    state: State,
    first_step_ms: u64,
    /// Time from which voice counts.
    floor_ms: u64,
    /// Voice that began before this time belongs to the pick-up.
    opened_ms: u64,
    /// Start of the present voice, or of the last one: its words may come after it has stopped.
    last_onset_ms: Option<u64>,
}

impl BargeIn {
    /// Creates the state for a speech that began to play at `at_ms`. The user's voice counts from then on.
    pub fn new(at_ms: u64) -> Self {
        Self {
            state: State::Quiet,
            first_step_ms: FIRST_STEP_MS,
            floor_ms: at_ms,
            opened_ms: 0,
            last_onset_ms: None,
        }
    }

    /// Lets voice count from `at_ms` on, not earlier. Voice that began before is the callee picking up: it
    /// interrupts only with words other than greetings and nods.
    pub fn count_from(&mut self, at_ms: u64) {
        self.floor_ms = self.floor_ms.max(at_ms);
        self.opened_ms = at_ms;
    }

    /// Returns whether playout is paused.
    pub fn is_paused(&self) -> bool {
        matches!(self.state, State::Paused { .. })
    }

    /// Judges the present moment.
    pub fn observe(&mut self, seen: &Observation<'_>) -> Option<Verdict> {
        let voiced_since_floor = seen.last_voiced_ms > self.floor_ms;
        self.last_onset_ms = seen.onset_ms.or(self.last_onset_ms);
        let picks_up = self.last_onset_ms.is_some_and(|onset| onset < self.opened_ms);
        let is_taken = seen.floor == Floor::Taken && !(picks_up && floor::is_pick_up(seen.words));
        if voiced_since_floor && is_taken {
            return self.barge_in();
        }
        let quiet = seen.at_ms.saturating_sub(seen.last_voiced_ms) >= QUIET_MS;
        let onset = match (self.state, seen.onset_ms) {
            (State::Speech { onset_ms } | State::Paused { onset_ms }, _) => onset_ms,
            (State::Quiet, Some(onset)) if voiced_since_floor && !quiet && !picks_up => onset.max(self.floor_ms),
            (State::Quiet, _) => return None,
        };
        let lasted = seen.last_voiced_ms.saturating_sub(onset);
        if seen.is_speech && lasted >= Self::speech_ms(seen.floor) {
            return self.barge_in();
        }
        match self.state {
            State::Paused { .. } if quiet => self.resume(seen),
            State::Paused { .. } => None,
            State::Quiet | State::Speech { .. } if quiet => {
                self.state = State::Quiet;
                None
            }
            State::Quiet | State::Speech { .. } if lasted >= self.first_step_ms => {
                self.state = State::Paused { onset_ms: onset };
                Some(Verdict::Pause)
            }
            State::Quiet | State::Speech { .. } => {
                self.state = State::Speech { onset_ms: onset };
                None
            }
        }
    }

    /// Returns when [`Self::observe`] is needed without audio, since playout must not stay paused for ever.
    pub fn deadline(&self, last_voiced_ms: u64, floor: Floor, is_asked: bool) -> Option<u64> {
        self.is_paused()
            .then(|| last_voiced_ms + Self::hold_ms(floor, is_asked))
    }

    fn barge_in(&mut self) -> Option<Verdict> {
        self.state = State::Quiet;
        Some(Verdict::BargeIn)
    }

    fn resume(&mut self, seen: &Observation<'_>) -> Option<Verdict> {
        if seen.at_ms.saturating_sub(seen.last_voiced_ms) < Self::hold_ms(seen.floor, seen.is_asked) {
            return None;
        }
        self.state = State::Quiet;
        self.first_step_ms = match seen.floor {
            Floor::Silent => WARY_FIRST_STEP_MS,
            _ => FIRST_STEP_MS,
        };
        Some(Verdict::Resume)
    }

    /// Returns how long silence keeps playout paused. After words that do not decide, the end of the turn does,
    /// not the first silence.
    fn hold_ms(floor: Floor, is_asked: bool) -> u64 {
        match floor {
            Floor::Silent | Floor::Nod if is_asked => WORDS_WAIT_MS,
            Floor::Silent | Floor::Nod => QUIET_MS,
            Floor::Undecided | Floor::Likely | Floor::Taken => WORD_HOLD_MS,
        }
    }

    fn speech_ms(floor: Floor) -> u64 {
        match floor {
            Floor::Silent => SPEECH_MS,
            _ => NOD_SPEECH_MS,
        }
    }
}

#[cfg(test)]
mod tests;
