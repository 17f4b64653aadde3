//! Cooperates, with silences inside its sentences: one kind searches for words, the other spells numbers in groups.

use super::{
    act::{Act, Behaviour, Part, Sense, Words},
    cooperative::Cooperative,
    person::Person,
};

/// Longest silence of the kind that searches for words.
const LONGEST_SEARCH_MS: u64 = 2_000;
const SHORTEST_SEARCH_MS: u64 = 600;
/// Longest silence between two groups of digits.
const LONGEST_GAP_MS: u64 = 1_500;
const SHORTEST_GAP_MS: u64 = 700;
/// Step between the lengths of silences.
const STEP_MS: u64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hesitant,
    Spells,
}

pub(super) struct Halting {
    inner: Cooperative,
    person: Person,
    kind: Kind,
}

impl Halting {
    pub(super) fn hesitant(person: Person) -> Self {
        Self::new(Kind::Hesitant, person)
    }

    pub(super) fn spelling(person: Person) -> Self {
        Self::new(Kind::Spells, person)
    }

    fn new(kind: Kind, person: Person) -> Self {
        Self {
            inner: Cooperative::new(person),
            person,
            kind,
        }
    }

    fn in_parts(&self, text: &str) -> Vec<String> {
        match self.kind {
            Kind::Hesitant => searching(text, self.person),
            Kind::Spells => groups(text),
        }
    }

    fn pause_ms(&self, text: &str) -> u64 {
        let (shortest, longest) = match self.kind {
            Kind::Hesitant => (SHORTEST_SEARCH_MS, LONGEST_SEARCH_MS),
            Kind::Spells => (SHORTEST_GAP_MS, LONGEST_GAP_MS),
        };
        let steps = (longest - shortest) / STEP_MS;
        shortest + STEP_MS * self.person.choice(text, steps as usize + 1) as u64
    }
}

impl Behaviour for Halting {
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act> {
        let act = self.inner.sense(now_ms, sense)?;
        let Act::Say(text) = act else {
            return Some(act);
        };
        let parts = self.in_parts(&text);
        if parts.len() < 2 {
            return Some(Act::Say(text));
        }
        Some(Act::Speak(Words::in_parts(parts.into_iter().map(|text| Part {
            pause_ms: self.pause_ms(&text),
            text,
        }))))
    }
}

/// Splits a sentence where its speaker searches for words: after "my name is" and the like, or else after an
/// initial "um". Greetings have no pause.
fn searching(text: &str, person: Person) -> Vec<String> {
    let low = text.to_lowercase();
    if low.contains("hello") || low.contains("goodbye") {
        return vec![text.to_owned()];
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let open = words
        .iter()
        .take(4)
        .position(|word| matches!(*word, "is" | "am" | "think"))
        .filter(|at| at + 1 < words.len());
    match open {
        Some(at) => {
            let sigh = person.pick(text, &["", " um,"]);
            vec![format!("{}{sigh}", words[..=at].join(" ")), words[at + 1..].join(" ")]
        }
        None => {
            let sigh = person.pick(text, &["Um,", "Well, um,", "Oh, um,"]);
            let mut letters = text.chars();
            // "Um, on Friday", but "Um, I see".
            let keeps = text.starts_with("I ");
            let first = letters.next().map(|c| if keeps { c } else { c.to_ascii_lowercase() });
            let rest: String = first.into_iter().chain(letters).collect();
            vec![sigh.to_owned(), rest]
        }
    }
}

/// Splits a number of several groups of digits into its groups; the words before the number go with the first group.
fn groups(text: &str) -> Vec<String> {
    let is_group = |word: &str| {
        word.trim_end_matches(['.', ','])
            .bytes()
            .all(|byte| byte.is_ascii_digit())
    };
    let mut parts: Vec<String> = Vec::new();
    let mut open = false;
    for word in text.split_whitespace() {
        let group = is_group(word);
        match parts.last_mut() {
            Some(last) if !(open && group) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => parts.push(word.to_owned()),
        }
        open = group;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(mut behaviour: Halting, question: &str) -> Words {
        behaviour.sense(100, Sense::AgentStarted);
        behaviour.sense(2_000, Sense::AgentSaid(question));
        match (2_000..5_000).find_map(|now| behaviour.sense(now, Sense::Tick)) {
            Some(Act::Speak(words)) => words,
            act => panic!("{act:?}"),
        }
    }

    #[test]
    fn who_hesitates_pauses_in_mid_sentence_for_two_seconds_at_most() {
        let mut longest = 0;
        for seed in 0..50 {
            let person = Person::new("+15551234565", seed);
            for (asked, begins, ends) in [
                ("What is your name?", "My name is", person.last_name()),
                ("What day would suit you?", "", "day."),
            ] {
                let words = reply(Halting::hesitant(person), asked);
                assert_eq!(words.parts.len(), 2, "{words:?}");
                let (first, last) = (&words.parts[0].text, &words.parts[1].text);
                assert!(first.starts_with(begins) && !first.ends_with(['.', '?']), "{words:?}");
                assert!(
                    last.trim_end_matches('.').ends_with(ends.trim_end_matches('.')),
                    "{words:?}"
                );
                assert!((600..=2_000).contains(&words.parts[0].pause_ms), "{words:?}");
                longest = longest.max(words.parts[0].pause_ms);
            }
        }
        assert_eq!(longest, 2_000);
    }

    #[test]
    fn a_greeting_comes_without_thinking() {
        let mut behaviour = Halting::hesitant(Person::new("+15551234565", 0));
        assert!(matches!(behaviour.sense(500, Sense::Tick), Some(Act::Say(_))));
    }

    #[test]
    fn a_number_is_spelled_in_groups() {
        let person = Person::new("+15551234565", 0);
        for asked in ["What is your phone number?", "What is your order number?"] {
            let words = reply(Halting::spelling(person), asked);
            assert_eq!(words.parts.len(), 3, "{words:?}");
            assert!(words.parts.iter().all(|part| (700..=1_500).contains(&part.pause_ms)));
            let digits = words.text().bytes().filter(u8::is_ascii_digit).count();
            assert_eq!(digits, 10, "{words:?}");
        }
        assert_eq!(groups("I am 34 years old."), ["I am 34 years old."]);
        assert_eq!(groups("It is 482 119 0357."), ["It is 482", "119", "0357."]);
    }
}
