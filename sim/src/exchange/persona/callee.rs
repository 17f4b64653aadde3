//! Callee of a dial, chosen by its hints: a persona, or a follower of a script.

use std::collections::BTreeMap;

use super::{
    act::Behaviour,
    character::{Persona, named, shortened},
    person::Person,
    scripted::Scripted,
};
use crate::exchange::script::{LineSound, MediaFaults, Script};

/// Callee of a dial, chosen by its hints.
#[derive(Debug, Clone, PartialEq)]
pub struct Callee {
    /// Behaviour of the number until the call is answered, and afterwards if there is no script.
    pub persona: Persona,
    /// Requested persona, if no persona has this name.
    pub unknown_persona: Option<String>,
    /// Script to follow, with its name.
    pub script: Option<(String, Script)>,
    /// Requested script, if no script has this name.
    pub unknown_script: Option<String>,
    /// Whether it makes the call itself; then nobody picks up here.
    calls: bool,
    /// Persona that determines the line, if not its own: anybody may stand in the noise of `noisy`.
    on_line_of: Option<Persona>,
}

impl Callee {
    /// Chooses by the `script` hint first, then `persona`, then the number's last digit. A follower of a
    /// script picks up whatever the number, unless a persona is asked for too.
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
            on_line_of: named(hints, "line").and_then(Persona::named),
            unknown_script: wanted.filter(|_| script.is_none()).map(shortened),
            script: script.map(|(name, script)| (name.clone(), script.clone())),
            calls: false,
        }
    }

    /// Chooses the caller of a phone's own call by the same hints; the number does not matter.
    pub fn calling(hints: &BTreeMap<String, String>, scripts: &BTreeMap<String, Script>) -> Self {
        Self {
            calls: true,
            // The last digit 0 belongs to no persona that would not talk.
            ..Self::choose(hints, "0", scripts)
        }
    }

    /// Returns whether it makes the call itself.
    pub fn calls(&self) -> bool {
        self.calls
    }

    /// Returns the behaviour.
    pub fn behaviour(&self, person: Person) -> Box<dyn Behaviour> {
        match &self.script {
            Some((_, script)) => Box::new(Scripted::new(person, &script.steps)),
            None if self.calls => self.persona.caller_behaviour(person),
            None => self.persona.behaviour(person),
        }
    }

    /// Returns the sound of the line: that of the `line` hint, or else that of the script or the persona.
    pub fn line(&self) -> LineSound {
        match (self.on_line_of, &self.script) {
            (Some(persona), _) => persona.line(),
            (None, Some((_, script))) => script.line,
            (None, None) => self.persona.line(),
        }
    }

    /// Returns the faults of the frames' path.
    pub fn faults(&self) -> MediaFaults {
        let script = self.script.as_ref().map(|(_, script)| script.faults);
        script.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::script::Step;

    fn choose(hints: &[(&str, &str)], number: &str) -> Callee {
        let hints = hints
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let scripts = BTreeMap::from([("waits".to_owned(), Script::of([Step::WaitMs(20)]))]);
        Callee::choose(&hints.collect(), number, &scripts)
    }

    #[test]
    fn a_script_comes_first_and_picks_up_whatever_the_number() {
        let callee = choose(&[("script", "waits")], "+15551234566");
        assert_eq!(callee.persona, Persona::Cooperative);
        assert_eq!(callee.script.map(|(name, _)| name).as_deref(), Some("waits"));
        let busy = choose(&[("script", "waits"), ("persona", "busy")], "+15551234561");
        assert!(busy.persona == Persona::Busy && busy.script.is_some());
    }

    #[test]
    fn a_script_that_is_not_there_leaves_the_choice_to_the_others() {
        let callee = choose(&[("script", "flies"), ("persona", "silent")], "+15551234566");
        assert_eq!((callee.persona, callee.script), (Persona::Silent, None));
        assert_eq!(callee.unknown_script.as_deref(), Some("flies"));
        assert_eq!(choose(&[("script", " ")], "+15551234566").unknown_script, None);
    }

    #[test]
    fn who_calls_talks_whatever_the_number_and_waits_to_be_greeted() {
        use super::super::{Act, Sense};
        let caller = Callee::calling(&BTreeMap::new(), &BTreeMap::new());
        assert_eq!((caller.persona, caller.calls()), (Persona::Cooperative, true));
        let mut behaviour = caller.behaviour(Person::new("+15551234566", 7));
        for now_ms in (0..5_000).step_by(20) {
            assert_eq!(behaviour.sense(now_ms, Sense::Tick), None, "it has called, and waits");
        }
        let asked = behaviour.sense(5_000, Sense::AgentSaid("What is your name?"));
        let replied = (5_020..7_000)
            .step_by(20)
            .find_map(|now_ms| behaviour.sense(now_ms, Sense::Tick));
        assert_eq!(asked, None);
        assert!(matches!(replied, Some(Act::Say(_))), "{replied:?}");
    }

    #[test]
    fn anybody_may_have_the_line_of_another() {
        let interrupts = |hints: &[(&str, &str)]| {
            let callee = choose(&[&[("persona", "interrupts")], hints].concat(), "+15551234561");
            assert_eq!(callee.persona, Persona::Interrupts);
            callee.line()
        };
        assert_eq!(interrupts(&[]), LineSound::default());
        assert_eq!(interrupts(&[("line", "noisy")]), Persona::Noisy.line());
        assert_eq!(interrupts(&[("line", "nobody's")]), LineSound::default());
        let script = choose(&[("script", "waits"), ("line", "hum")], "+15551234561");
        assert_eq!(script.line(), Persona::Hum.line());
    }
}
