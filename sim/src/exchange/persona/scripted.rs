//! Follows a script: takes each step when the previous one is done.

use std::collections::VecDeque;

use super::{
    act::{Act, Behaviour, Part, Sense, Sound, Words},
    cooperative::Cooperative,
    person::Person,
};
use crate::exchange::script::Step;

/// Level of a voice.
const VOICE_DBFS: f64 = -20.0;
/// Most steps of a script with its repetitions expanded; further steps are ignored.
const MOST_STEPS: usize = 10_000;
const HUM_DBFS: f64 = -26.0;
const MUSIC_DBFS: f64 = -24.0;

/// Condition of the next step.
#[derive(Debug, Clone, PartialEq)]
enum Pending {
    Nothing,
    Time { at_ms: u64 },
    AgentStarts,
    AgentSaid,
    AgentSilent { ms: u64 },
    IntoSpeech { ms: u64 },
    Word(String),
    Key(char),
    OwnWordsOut,
}

pub(super) struct Scripted {
    person: Person,
    steps: VecDeque<Step>,
    pending: Pending,
    /// Start of the agent's speech.
    talking_since_ms: Option<u64>,
    /// Words of the agent since the callee's last words.
    heard: String,
    /// Behaviour that has taken over after [`Step::Cooperate`].
    cooperative: Option<Cooperative>,
}

impl Scripted {
    pub(super) fn new(person: Person, steps: &[Step]) -> Self {
        let mut flat = VecDeque::new();
        unroll(steps, &mut flat);
        Self {
            person,
            steps: flat,
            pending: Pending::Nothing,
            talking_since_ms: None,
            heard: String::new(),
            cooperative: None,
        }
    }

    fn notice(&mut self, now_ms: u64, sense: Sense<'_>) {
        match sense {
            Sense::AgentStarted => self.talking_since_ms = Some(now_ms),
            Sense::AgentSaid(text) => {
                self.talking_since_ms = None;
                self.heard.push(' ');
                self.heard.push_str(text);
            }
            Sense::Tick | Sense::AgentSaying { .. } | Sense::Key(_) | Sense::Spoken => {}
        }
    }

    fn is_due(&self, now_ms: u64, sense: Sense<'_>) -> bool {
        match &self.pending {
            Pending::Nothing => true,
            Pending::Time { at_ms } => now_ms >= *at_ms,
            Pending::AgentStarts => sense == Sense::AgentStarted,
            Pending::AgentSaid => matches!(sense, Sense::AgentSaid(_)),
            Pending::AgentSilent { ms } => match sense {
                Sense::AgentSaying { silent_ms, .. } => silent_ms >= *ms,
                Sense::AgentSaid(_) => true,
                Sense::Tick | Sense::AgentStarted | Sense::Key(_) | Sense::Spoken => false,
            },
            Pending::IntoSpeech { ms } => self.talking_since_ms.is_some_and(|since| now_ms >= since + ms),
            Pending::Word(word) => match sense {
                Sense::AgentSaying { words, .. } => has_word(words, word, false),
                Sense::AgentSaid(words) => has_word(words, word, true),
                Sense::Tick | Sense::AgentStarted | Sense::Key(_) | Sense::Spoken => false,
            },
            Pending::Key(key) => sense == Sense::Key(*key),
            Pending::OwnWordsOut => sense == Sense::Spoken,
        }
    }

    /// Takes steps until one of them needs time.
    fn proceed(&mut self, now_ms: u64) -> Option<Act> {
        loop {
            self.pending = Pending::Nothing;
            let step = self.steps.pop_front()?;
            if let Some(act) = self.take(step, now_ms) {
                self.pending = Pending::OwnWordsOut;
                return Some(act);
            }
            if self.cooperative.is_some() || !self.is_due(now_ms, Sense::Tick) {
                return None;
            }
        }
    }

    /// Begins a step: returns an action to do now, or sets the condition to wait for.
    fn take(&mut self, step: Step, now_ms: u64) -> Option<Act> {
        match step {
            Step::WaitMs(ms) => self.pending = Pending::Time { at_ms: now_ms + ms },
            Step::UntilAgentStarts => self.pending = Pending::AgentStarts,
            Step::UntilAgentSaid => self.pending = Pending::AgentSaid,
            Step::UntilAgentSilentMs(ms) => self.pending = Pending::AgentSilent { ms },
            Step::IntoSpeechMs(ms) => self.pending = Pending::IntoSpeech { ms },
            Step::UntilHeardWord(word) => self.pending = Pending::Word(plain(&word)),
            Step::Cooperate => {
                let heard = std::mem::take(&mut self.heard);
                let talks = self.talking_since_ms.is_some();
                self.cooperative = Some(Cooperative::joining(self.person, now_ms, heard.trim(), talks));
            }
            Step::UntilKey(key) => self.pending = Pending::Key(key),
            Step::Press(key) => return Some(Act::Press(key)),
            Step::LoseMedia => return Some(Act::Lose),
            Step::HangUp => return Some(Act::HangUp),
            Step::Drop => return Some(Act::Drop),
            // Expanded beforehand.
            Step::Repeat { .. } => {}
            step => {
                self.heard.clear();
                return uttered(step);
            }
        }
        None
    }
}

impl Behaviour for Scripted {
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act> {
        if let Some(cooperative) = &mut self.cooperative {
            return cooperative.sense(now_ms, sense);
        }
        self.notice(now_ms, sense);
        if self.is_due(now_ms, sense) {
            self.proceed(now_ms)
        } else {
            None
        }
    }

    fn follows_the_agent(&self) -> bool {
        matches!(self.pending, Pending::AgentSilent { .. } | Pending::Word(_))
    }

    fn takes_keys(&self) -> bool {
        matches!(self.pending, Pending::Key(_))
    }
}

/// Returns the words or the sound of a step.
fn uttered(step: Step) -> Option<Act> {
    Some(match step {
        Step::Say(text) => Act::Say(text),
        Step::SayQuietly { text, dbfs } => Act::Speak(Words {
            gain_db: dbfs - VOICE_DBFS,
            ..Words::from(text)
        }),
        Step::SayAs { voice, text } => Act::Speak(Words {
            voice: Some(voice),
            ..Words::from(text)
        }),
        Step::Murmur(text) => Act::Speak(Words {
            aside: true,
            ..Words::from(text)
        }),
        Step::Spell { groups, gap_ms } => Act::Speak(Words::in_parts(
            groups.into_iter().map(|text| Part { text, pause_ms: gap_ms }),
        )),
        step => Act::Sound(sound(&step)?),
    })
}

/// Expands repetitions.
fn unroll(steps: &[Step], into: &mut VecDeque<Step>) {
    for step in steps {
        if into.len() >= MOST_STEPS {
            return;
        }
        match step {
            Step::Repeat { times, steps } => {
                for _ in 0..(*times).min(MOST_STEPS as u32) {
                    unroll(steps, into);
                }
            }
            step => into.push_back(step.clone()),
        }
    }
}

/// Returns the sound of a step, if it has one.
fn sound(step: &Step) -> Option<Sound> {
    Some(match step {
        Step::Cough => Sound::Cough,
        Step::Hum { ms } => Sound::Hum {
            ms: *ms,
            dbfs: HUM_DBFS,
        },
        Step::Music { ms } => Sound::Music {
            ms: *ms,
            dbfs: MUSIC_DBFS,
        },
        Step::NoiseBurst { ms, dbfs } => Sound::Noise { ms: *ms, dbfs: *dbfs },
        Step::Click => Sound::Click,
        Step::Beep => Sound::Beep,
        Step::Key(key) => Sound::Key(*key),
        _ => return None,
    })
}

/// Returns the letters and digits in lower case.
fn plain(word: &str) -> String {
    word.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns whether the text contains the word. Its last word counts only if something follows it or
/// nothing more will come.
fn has_word(text: &str, word: &str, whole: bool) -> bool {
    let finished = whole || !text.ends_with(char::is_alphanumeric);
    let mut words = text.split_whitespace().rev();
    let last = words.next().filter(|_| finished);
    last.into_iter().chain(words).any(|heard| plain(heard) == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaviour(steps: &[Step]) -> Scripted {
        Scripted::new(Person::new("+15551234561", 7), steps)
    }

    fn say(text: &str) -> Option<Act> {
        Some(Act::Say(text.to_owned()))
    }

    #[test]
    fn each_step_waits_for_what_it_names() {
        let mut behaviour = behaviour(&[
            Step::WaitMs(100),
            Step::Say("Hello.".into()),
            Step::UntilAgentStarts,
            Step::IntoSpeechMs(300),
            Step::Cough,
            Step::UntilHeardWord("Name".into()),
            Step::Say("Maria.".into()),
            Step::UntilAgentSilentMs(200),
            Step::HangUp,
        ]);
        assert_eq!(behaviour.sense(20, Sense::Tick), None);
        assert_eq!(behaviour.sense(100, Sense::Tick), None);
        assert_eq!(behaviour.sense(120, Sense::Tick), say("Hello."));
        assert_eq!(behaviour.sense(600, Sense::Tick), None);
        assert_eq!(behaviour.sense(700, Sense::Spoken), None);
        assert_eq!(behaviour.sense(1_000, Sense::AgentStarted), None);
        assert_eq!(behaviour.sense(1_280, Sense::Tick), None);
        assert_eq!(behaviour.sense(1_300, Sense::Tick), Some(Act::Sound(Sound::Cough)));
        assert_eq!(behaviour.sense(1_560, Sense::Spoken), None);
        assert!(behaviour.follows_the_agent());
        let saying = |words, silent_ms| Sense::AgentSaying { words, silent_ms };
        assert_eq!(behaviour.sense(1_600, saying("What is your nam", 0)), None);
        assert_eq!(behaviour.sense(1_640, saying("What is your name", 0)), None);
        assert_eq!(behaviour.sense(1_680, saying("What is your name, p", 0)), say("Maria."));
        assert_eq!(behaviour.sense(2_000, Sense::Spoken), None);
        assert_eq!(behaviour.sense(2_100, saying("What is your name, please?", 180)), None);
        assert_eq!(
            behaviour.sense(2_120, saying("What is your name, please?", 200)),
            Some(Act::HangUp)
        );
    }

    #[test]
    fn repetitions_are_done_as_often_as_they_say_and_within_bounds() {
        let twice = Step::Repeat {
            times: 2,
            steps: vec![Step::Cough],
        };
        let mut scripted = behaviour(&[twice.clone(), Step::HangUp]);
        let cough = Some(Act::Sound(Sound::Cough));
        assert_eq!(scripted.sense(20, Sense::Tick), cough);
        assert_eq!(scripted.sense(300, Sense::Spoken), cough);
        assert_eq!(scripted.sense(600, Sense::Spoken), Some(Act::HangUp));
        let endless = (0..40).fold(twice, |inner, _| Step::Repeat {
            times: u32::MAX,
            steps: vec![inner],
        });
        assert!(behaviour(&[endless]).steps.len() <= MOST_STEPS + 1);
    }

    #[test]
    fn who_cooperates_answers_what_was_asked_before() {
        let mut behaviour = behaviour(&[Step::UntilAgentSaid, Step::Cooperate]);
        behaviour.sense(100, Sense::AgentStarted);
        assert_eq!(behaviour.sense(2_000, Sense::AgentSaid("What is your name?")), None);
        let reply = (2_000..4_000).find_map(|now| behaviour.sense(now, Sense::Tick));
        let Some(Act::Say(reply)) = reply else {
            panic!("{reply:?}");
        };
        assert!(reply.starts_with("My name is"), "{reply}");
    }

    #[test]
    fn a_script_that_is_over_says_nothing_more() {
        let mut behaviour = behaviour(&[Step::Say("Hello.".into())]);
        assert_eq!(behaviour.sense(20, Sense::Tick), say("Hello."));
        assert_eq!(behaviour.sense(600, Sense::Spoken), None);
        assert_eq!(behaviour.sense(60_000, Sense::AgentSaid("Are you there?")), None);
        assert_eq!(behaviour.sense(600_000, Sense::Tick), None);
    }
}
