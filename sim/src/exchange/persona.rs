//! The personas of callees, how a persona is chosen, and the behaviour of each. A behaviour is a pure state
//! machine that knows only what it hears and how time passes.

mod act;
mod asides;
mod callee;
mod character;
mod cooperative;
mod halting;
mod hello_first;
mod interrupts;
#[cfg(test)]
mod interviews_tests;
mod leaves;
mod machine;
mod opts_out;
mod person;
mod reply;
mod scripted;
mod silent;

use self::machine::{ivr, screening, voicemail};
pub use self::{
    act::{Act, Behaviour, Part, Sense, Sound, Words},
    callee::Callee,
    character::Persona,
    person::Person,
};

impl Persona {
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
