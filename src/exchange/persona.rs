//! Who picks up: the personas, how one is chosen, and the mind of each as a pure state machine that knows only what
//! it hears and how time passes.

mod cooperative;
mod hangs_up;
mod interrupts;
#[cfg(test)]
mod interviews;
mod person;
mod reply;
mod silent;
mod voicemail;

use std::collections::BTreeMap;

pub use person::Person;

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
        let wanted = hints
            .get("persona")
            .map(|name| name.trim())
            .filter(|name| !name.is_empty());
        match wanted {
            None => (Self::of_number(number), None),
            Some(name) => match Self::named(name) {
                Some(persona) => (persona, None),
                None => (Self::Cooperative, Some(name.chars().take(64).collect())),
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

/// What a callee notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense<'a> {
    /// A frame of 20 ms has passed.
    Tick,
    /// The agent begins to talk.
    AgentStarted,
    /// The agent has fallen silent after saying this; parts may be missing.
    AgentSaid(&'a str),
    /// The callee's own words (or beep) are out.
    Spoken,
}

/// What a callee does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Begins to say this.
    Say(String),
    /// Sends a mailbox's tone.
    Beep,
    /// Hangs up.
    HangUp,
}

/// A callee's mind. `now_ms` counts from the answer and never goes back.
pub trait Mind: Send {
    /// Notices something and may do something.
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act>;
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
