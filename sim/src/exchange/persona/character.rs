//! The characters of callees, and how one is chosen.

use std::collections::BTreeMap;

use crate::exchange::script::{Echo, LineSound};

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
pub(super) fn named<'a>(hints: &'a BTreeMap<String, String>, hint: &str) -> Option<&'a str> {
    let value = hints.get(hint).map(|value| value.trim());
    value.filter(|value| !value.is_empty())
}

pub(super) fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
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
}
