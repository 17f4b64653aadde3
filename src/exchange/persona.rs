//! Who picks up: the personas, how one is chosen, and the mind of each as a pure state machine that knows only what
//! it hears and how time passes.

mod cooperative;
mod hangs_up;
mod interrupts;
#[cfg(test)]
mod interviews;
mod person;
mod reply;
mod scripted;
mod silent;
mod voicemail;

use std::collections::BTreeMap;

pub use person::Person;

use super::script::Script;

/// A callee's character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persona {
    /// Answers, says hello, replies to each question.
    Cooperative,
    /// Talks over the agent once, then cooperates.
    Interrupts,
    /// Answers and says nothing.
    Silent,
    /// Hangs up while the agent talks.
    HangsUp,
    /// Has another call.
    Busy,
    /// Lets it ring.
    NoAnswer,
    /// Declines the call.
    Rejects,
    /// Is no number.
    Invalid,
    /// A mailbox: greeting, beep, recording.
    Voicemail,
}

impl Persona {
    const ALL: [(&'static str, Self); 9] = [
        ("cooperative", Self::Cooperative),
        ("interrupts", Self::Interrupts),
        ("silent", Self::Silent),
        ("hangs-up", Self::HangsUp),
        ("busy", Self::Busy),
        ("no-answer", Self::NoAnswer),
        ("rejects", Self::Rejects),
        ("invalid", Self::Invalid),
        ("voicemail", Self::Voicemail),
    ];

    /// The name in a contact's `persona` field.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find_map(|(name, persona)| (*persona == self).then_some(*name))
            .unwrap_or("cooperative")
    }

    /// The persona of that name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim();
        let known = Self::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, persona)| *persona)
    }

    /// The persona of a number, by its last digit.
    pub fn of_number(number: &str) -> Self {
        match number.bytes().last() {
            Some(b'6') => Self::Busy,
            Some(b'7') => Self::NoAnswer,
            Some(b'8') => Self::Voicemail,
            Some(b'9') => Self::Interrupts,
            _ => Self::Cooperative,
        }
    }

    /// The one that the hints name, else that of the number. The second value is a name nobody bears: such a callee
    /// is cooperative.
    pub fn choose(hints: &BTreeMap<String, String>, number: &str) -> (Self, Option<String>) {
        match named(hints, "persona") {
            None => (Self::of_number(number), None),
            Some(name) => match Self::named(name) {
                Some(persona) => (persona, None),
                None => (Self::Cooperative, Some(shortened(name))),
            },
        }
    }

    /// The mind behind the telephone; only those who pick up need one.
    pub fn mind(self, person: Person) -> Box<dyn Mind> {
        match self {
            Self::Cooperative | Self::Busy | Self::NoAnswer | Self::Rejects | Self::Invalid => {
                Box::new(cooperative::Cooperative::new(person))
            }
            Self::Interrupts => Box::new(interrupts::Interrupts::new(person)),
            Self::Silent => Box::new(silent::Silent),
            Self::HangsUp => Box::new(hangs_up::HangsUp::new(person)),
            Self::Voicemail => Box::new(voicemail::Voicemail::new(person)),
        }
    }
}

/// Who picks up, by the hints of a dial.
#[derive(Debug, Clone, PartialEq)]
pub struct Callee {
    /// How the number behaves until somebody answers, and afterwards where there is no script.
    pub persona: Persona,
    /// A persona asked for that nobody bears.
    pub unknown_persona: Option<String>,
    /// The script that is followed, with its name.
    pub script: Option<(String, Script)>,
    /// A script asked for that is not there.
    pub unknown_script: Option<String>,
}

impl Callee {
    /// The `script` hint comes first, then `persona`, then the number's last digit: who follows a script picks up
    /// whatever the number, unless a persona is asked for too.
    pub fn choose(hints: &BTreeMap<String, String>, number: &str, scripts: &BTreeMap<String, Script>) -> Self {
        let wanted = named(hints, "script");
        let script = wanted.and_then(|name| scripts.get_key_value(name));
        let (persona, unknown_persona) = match (&script, named(hints, "persona")) {
            (Some(_), None) => (Persona::Cooperative, None),
            _ => Persona::choose(hints, number),
        };
        Self {
            persona,
            unknown_persona,
            unknown_script: wanted.filter(|_| script.is_none()).map(shortened),
            script: script.map(|(name, script)| (name.clone(), script.clone())),
        }
    }
}

/// The hint of a name, unless it is empty.
fn named<'a>(hints: &'a BTreeMap<String, String>, hint: &str) -> Option<&'a str> {
    let value = hints.get(hint).map(|value| value.trim());
    value.filter(|value| !value.is_empty())
}

fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

/// The mind of a callee who follows a script.
pub fn scripted(person: Person, script: &Script) -> Box<dyn Mind> {
    Box::new(scripted::Scripted::new(person, &script.steps))
}

/// What a callee notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense<'a> {
    /// A frame of 20 ms has passed.
    Tick,
    /// The agent begins to talk.
    AgentStarted,
    /// The agent talks; only for a mind that follows it.
    AgentSaying {
        /// Its words so far; the last one may be half a word.
        words: &'a str,
        /// How long it has been silent just now.
        silent_ms: u64,
    },
    /// The agent has fallen silent after saying this; parts may be missing.
    AgentSaid(&'a str),
    /// The callee's own words (or beep) are out.
    Spoken,
}

/// What a callee does.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Begins to say this.
    Say(String),
    /// Begins to say something in a particular manner.
    Speak(Words),
    /// Begins to make a sound.
    Sound(Sound),
    /// Hangs up.
    HangUp,
    /// Its telephone dies.
    Drop,
}

/// Words and how they are said.
#[derive(Debug, Clone, PartialEq)]
pub struct Words {
    /// What is said, with the silences in it. The silence behind the last part does not count.
    pub parts: Vec<Part>,
    /// Whose voice it is; none is the callee's own.
    pub voice: Option<String>,
    /// Louder or softer than usual.
    pub gain_db: f64,
    /// Not meant to make the agent stop.
    pub aside: bool,
}

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its words.
    pub text: String,
    /// The silence behind it.
    pub pause_ms: u64,
}

impl Words {
    /// A sentence with silences in it.
    pub fn in_parts(parts: impl IntoIterator<Item = Part>) -> Self {
        Self {
            parts: parts.into_iter().collect(),
            voice: None,
            gain_db: 0.0,
            aside: false,
        }
    }

    /// All of it, with a space for each silence.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().map(|part| part.text.as_str()).collect();
        texts.join(" ")
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self::in_parts([Part { text, pause_ms: 0 }])
    }
}

/// A sound that is no word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sound {
    /// A mailbox's tone.
    Beep,
    /// A key of the telephone.
    Key(char),
    /// 250 ms.
    Cough,
    /// A switch.
    Click,
    /// 50 Hz and its harmonics.
    Hum {
        /// How long.
        ms: u64,
        /// Root mean square.
        dbfs: f64,
    },
    /// Music on hold.
    Music {
        /// How long.
        ms: u64,
        /// Root mean square.
        dbfs: f64,
    },
    /// Pink noise.
    Noise {
        /// How long.
        ms: u64,
        /// Root mean square.
        dbfs: f64,
    },
}

impl Sound {
    /// Its name on record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Beep => "beep",
            Self::Key(_) => "key",
            Self::Cough => "cough",
            Self::Click => "click",
            Self::Hum { .. } => "hum",
            Self::Music { .. } => "music",
            Self::Noise { .. } => "noise",
        }
    }
}

/// A callee's mind. `now_ms` counts from the answer and never goes back.
pub trait Mind: Send {
    /// Notices something and may do something.
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act>;

    /// Whether it wants [`Sense::AgentSaying`] with every frame, which costs something.
    fn follows_the_agent(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hints(persona: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("persona".to_owned(), persona.to_owned())])
    }

    #[test]
    fn the_field_chooses_else_the_last_digit() {
        let none = BTreeMap::new();
        for (number, persona) in [
            ("+15551234560", Persona::Cooperative),
            ("+15551234565", Persona::Cooperative),
            ("+15551234566", Persona::Busy),
            ("+15551234567", Persona::NoAnswer),
            ("+15551234568", Persona::Voicemail),
            ("+15551234569", Persona::Interrupts),
        ] {
            assert_eq!(Persona::choose(&none, number), (persona, None));
            assert_eq!(Persona::choose(&hints(" "), number), (persona, None));
            assert_eq!(Persona::choose(&hints("Silent"), number), (Persona::Silent, None));
        }
        assert_eq!(
            Persona::choose(&hints("grumpy"), "+15551234566"),
            (Persona::Cooperative, Some("grumpy".to_owned()))
        );
        for (name, persona) in Persona::ALL {
            assert_eq!((Persona::named(name), persona.name()), (Some(persona), name));
        }
    }

    fn any_sense() -> impl Strategy<Value = Option<&'static str>> {
        prop_oneof![
            6 => Just(Some("tick")),
            1 => Just(Some("start")),
            1 => Just(None),
            2 => prop::sample::select(vec!["What is your name?", "Goodbye!", "", "Red, green or blue?", "é or ?"])
                .prop_map(Some),
        ]
    }

    proptest! {
        #[test]
        fn any_sequence_of_senses_ends_in_a_hang_up_and_none_panics(
            which in 0..Persona::ALL.len(),
            seed in any::<u64>(),
            senses in proptest::collection::vec((any_sense(), 0_u64..3_000), 0..60),
        ) {
            let mut mind = Persona::ALL[which].1.mind(Person::new("+15551234567", seed));
            let mut now_ms = 0;
            let mut hung_up = false;
            for (sense, passes) in senses {
                now_ms += passes;
                let sense = match sense {
                    Some("tick") => Sense::Tick,
                    Some("start") => Sense::AgentStarted,
                    Some(text) => Sense::AgentSaid(text),
                    None => Sense::Spoken,
                };
                hung_up |= mind.sense(now_ms, sense) == Some(Act::HangUp);
            }
            // Left alone, with its words out, everybody but the silent one hangs up at last.
            for tick in 0..100_000 {
                now_ms += 20;
                let mut act = mind.sense(now_ms, if tick == 0 { Sense::Spoken } else { Sense::Tick });
                while let Some(done) = act {
                    hung_up |= done == Act::HangUp;
                    now_ms += 1_000;
                    act = if hung_up { None } else { mind.sense(now_ms, Sense::Spoken) };
                }
                if hung_up {
                    break;
                }
            }
            prop_assert!(hung_up || Persona::ALL[which].1 == Persona::Silent);
        }
    }
}
