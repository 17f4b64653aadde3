//! The personas of callees, how a persona is chosen, and the behaviour of each. A behaviour is a pure state
//! machine that knows only what it hears and how time passes.

mod act;
mod asides;
mod callee;
mod cooperative;
mod halting;
mod hello_first;
mod interrupts;
#[cfg(test)]
mod interviews;
mod ivr;
mod leaves;
mod opts_out;
mod person;
mod reply;
mod screening;
mod scripted;
mod silent;
mod voicemail;

use std::collections::BTreeMap;

pub use self::{
    act::{Act, Part, Sound, Words},
    callee::Callee,
    person::Person,
};
use super::script::{Echo, LineSound};

/// Character of a callee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persona {
    /// Answers, says hello, replies to each question.
    Cooperative,
    /// Talks within the first 1.5 s, then cooperates.
    HelloFirst,
    /// Cooperates, with pauses of up to 2 s in mid-sentence.
    Hesitant,
    /// Cooperates, and spells numbers in groups.
    Spells,
    /// Talks over the agent once, then cooperates.
    Interrupts,
    /// Says "mm-hm" while the agent talks.
    Backchannel,
    /// Returns the agent's voice as an echo.
    Echo,
    /// Cooperates in pink noise, and coughs.
    Noisy,
    /// Cooperates, with hum and music in the background.
    Hum,
    /// Answers and says nothing.
    Silent,
    /// Hangs up while the agent talks.
    HangsUp,
    /// Asks not to be called again.
    OptsOut,
    /// Is busy with another call.
    Busy,
    /// Lets the phone ring.
    NoAnswer,
    /// Declines the call.
    Rejects,
    /// Is not a valid number.
    Invalid,
    /// A mailbox: greeting, beep, recording.
    Voicemail,
    /// An assistant that asks who is calling, then connects.
    Screening,
    /// A menu that wants a digit; a person answers behind one of the digits.
    Ivr,
    /// A telephone whose socket dies.
    Drops,
}

/// Relative to full scale; a voice is at -20 dBFS.
const NOISY: LineSound = LineSound {
    noise_dbfs: Some(-30.0),
    ..QUIET
};
const ECHO: LineSound = LineSound {
    echo: Some(Echo {
        gain_db: -20.0,
        delay_ms: 150,
    }),
    ..QUIET
};
const HUM: LineSound = LineSound {
    hum_dbfs: Some(-32.0),
    music_dbfs: Some(-36.0),
    ..QUIET
};
const QUIET: LineSound = LineSound {
    noise_dbfs: None,
    echo: None,
    hum_dbfs: None,
    music_dbfs: None,
};

impl Persona {
    /// All personas with their names.
    pub const ALL: [(&'static str, Self); 20] = [
        ("cooperative", Self::Cooperative),
        ("hello-first", Self::HelloFirst),
        ("hesitant", Self::Hesitant),
        ("spells", Self::Spells),
        ("interrupts", Self::Interrupts),
        ("backchannel", Self::Backchannel),
        ("echo", Self::Echo),
        ("noisy", Self::Noisy),
        ("hum", Self::Hum),
        ("silent", Self::Silent),
        ("hangs-up", Self::HangsUp),
        ("opts-out", Self::OptsOut),
        ("busy", Self::Busy),
        ("no-answer", Self::NoAnswer),
        ("rejects", Self::Rejects),
        ("invalid", Self::Invalid),
        ("voicemail", Self::Voicemail),
        ("screening", Self::Screening),
        ("ivr", Self::Ivr),
        ("drops", Self::Drops),
    ];

    /// Returns the name in a contact's `persona` field.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find_map(|(name, persona)| (*persona == self).then_some(*name))
            .unwrap_or("cooperative")
    }

    /// Returns the persona with this name, ignoring case.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim();
        let known = Self::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, persona)| *persona)
    }

    /// Returns the persona of a number, by its last digit.
    pub fn of_number(number: &str) -> Self {
        match number.bytes().last() {
            Some(b'5') => Self::Hesitant,
            Some(b'6') => Self::Busy,
            Some(b'7') => Self::NoAnswer,
            Some(b'8') => Self::Voicemail,
            Some(b'9') => Self::Interrupts,
            _ => Self::Cooperative,
        }
    }

    /// Returns the persona that the hints name, or else that of the number. If the hints name an unknown
    /// persona, the callee is cooperative and the second value is that name.
    pub fn choose(hints: &BTreeMap<String, String>, number: &str) -> (Self, Option<String>) {
        match named(hints, "persona") {
            None => (Self::of_number(number), None),
            Some(name) => match Self::named(name) {
                Some(persona) => (persona, None),
                None => (Self::Cooperative, Some(shortened(name))),
            },
        }
    }

    /// Returns the behaviour of a callee; only callees that pick up need one.
    pub fn behaviour(self, person: Person) -> Box<dyn Behaviour> {
        match self {
            Self::Cooperative
            | Self::Echo
            | Self::Hum
            | Self::Busy
            | Self::NoAnswer
            | Self::Rejects
            | Self::Invalid => Box::new(cooperative::Cooperative::new(person)),
            Self::HelloFirst => Box::new(hello_first::HelloFirst::new(person)),
            Self::Hesitant => Box::new(halting::Halting::hesitant(person)),
            Self::Spells => Box::new(halting::Halting::spelling(person)),
            Self::Interrupts => Box::new(interrupts::Interrupts::new(person)),
            Self::Backchannel => Box::new(asides::Asides::agreeing(person)),
            Self::Noisy => Box::new(asides::Asides::coughing(person)),
            Self::Silent => Box::new(silent::Silent),
            Self::HangsUp => Box::new(leaves::Leaves::by_hanging_up(person)),
            Self::OptsOut => Box::new(opts_out::OptsOut::new(person)),
            Self::Voicemail => Box::new(voicemail::Voicemail::new(person)),
            Self::Screening => Box::new(screening::Screening::new(person)),
            Self::Ivr => Box::new(ivr::Ivr::new(person)),
            Self::Drops => Box::new(leaves::Leaves::by_dying(person)),
        }
    }

    /// Returns the behaviour of a caller. A caller that simply cooperates waits to be greeted first.
    pub fn caller_behaviour(self, person: Person) -> Box<dyn Behaviour> {
        match self {
            Self::Cooperative | Self::Echo | Self::Hum => {
                Box::new(cooperative::Cooperative::joining(person, 0, "", false))
            }
            other => other.behaviour(person),
        }
    }

    /// Returns the sound of its line.
    pub fn line(self) -> LineSound {
        match self {
            Self::Noisy => NOISY,
            Self::Echo => ECHO,
            Self::Hum => HUM,
            _ => QUIET,
        }
    }
}

/// Returns the hint of this name, unless it is empty.
fn named<'a>(hints: &'a BTreeMap<String, String>, hint: &str) -> Option<&'a str> {
    let value = hints.get(hint).map(|value| value.trim());
    value.filter(|value| !value.is_empty())
}

fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

/// Events that a callee notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense<'a> {
    /// A frame of 20 ms has passed.
    Tick,
    /// The agent begins to talk.
    AgentStarted,
    /// The agent talks. Only sent to a behaviour that follows the agent.
    AgentSaying {
        /// Words so far; the last one may be half a word.
        words: &'a str,
        /// Milliseconds of silence up to now.
        silent_ms: u64,
    },
    /// The agent has fallen silent after saying this; parts may be missing.
    AgentSaid(&'a str),
    /// The agent pressed a key. Only sent to a behaviour that takes keys.
    Key(char),
    /// The callee's own words (or beep) have been sent.
    Spoken,
}

/// Behaviour of a callee. `now_ms` counts from the answer and never goes back.
pub trait Behaviour: Send {
    /// Handles an event and returns an action, if any.
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act>;

    /// Returns whether it wants [`Sense::AgentSaying`] with every frame, which costs something.
    fn follows_the_agent(&self) -> bool {
        false
    }

    /// Returns whether it wants [`Sense::Key`], which costs something with every frame.
    fn takes_keys(&self) -> bool {
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
            ("+15551234565", Persona::Hesitant),
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

    fn is_end(act: Option<&Act>) -> bool {
        matches!(act, Some(Act::HangUp | Act::Drop))
    }

    proptest! {
        #[test]
        fn any_sequence_of_senses_ends_in_a_hang_up_and_none_panics(
            which in 0..Persona::ALL.len(),
            seed in any::<u64>(),
            senses in proptest::collection::vec((any_sense(), 0_u64..3_000), 0..60),
        ) {
            let mut behaviour = Persona::ALL[which].1.behaviour(Person::new("+15551234567", seed));
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
                hung_up |= is_end(behaviour.sense(now_ms, sense).as_ref());
            }
            // With its words spoken and nothing else happening, everybody but the silent persona hangs up eventually.
            for tick in 0..100_000 {
                now_ms += 20;
                let mut act = behaviour.sense(now_ms, if tick == 0 { Sense::Spoken } else { Sense::Tick });
                while let Some(done) = act {
                    hung_up |= is_end(Some(&done));
                    now_ms += 1_000;
                    act = if hung_up { None } else { behaviour.sense(now_ms, Sense::Spoken) };
                }
                if hung_up {
                    break;
                }
            }
            prop_assert!(hung_up || Persona::ALL[which].1 == Persona::Silent);
        }
    }
}
