//! Our names for channels, bridges and sounds at an Asterisk. Each contains the attempt and the part, so that
//! an event, a list or a lost response is enough to identify the owner. Pure.

use std::fmt;

use domain::id::AttemptId;

/// Part of a channel of ours in its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The telephone that was called.
    Call,
    /// Our audio; counted from 1.
    Media(u32),
    /// The transfer destination; counted from 1.
    Peer(u32),
}

/// Names within one application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    app: String,
}

impl Names {
    /// Creates the names of this application.
    pub fn new(app: &str) -> Self {
        Self { app: app.to_owned() }
    }

    /// Returns the name of the channel with this part in the attempt's call.
    pub fn channel(&self, attempt: AttemptId, part: Part) -> String {
        let part = match part {
            Part::Call => return self.of(attempt),
            Part::Media(n) => format!("m{n}"),
            Part::Peer(n) => format!("p{n}"),
        };
        format!("{}.{part}", self.of(attempt))
    }

    /// Returns the name of the bridge of an attempt's call.
    pub fn bridge(&self, attempt: AttemptId) -> String {
        self.of(attempt)
    }

    /// Returns the name of the ringing tone in an attempt's bridge while a transfer destination rings.
    pub fn ringing(&self, attempt: AttemptId, peer: u32) -> String {
        format!("{}.r{peer}", self.of(attempt))
    }

    /// Parses the name of a channel or bridge. Returns `None` if we did not create it.
    pub fn read(&self, name: &str) -> Option<(AttemptId, Part)> {
        let rest = name.strip_prefix(&*self.app)?.strip_prefix('.')?;
        let Some((attempt, part)) = rest.split_once('.') else {
            return Some((parse(rest)?, Part::Call));
        };
        let mut letters = part.chars();
        let letter = letters.next()?;
        let digits = letters.as_str();
        let number = digits.parse().ok().filter(|n: &u32| n.to_string() == digits)?;
        let part = match letter {
            'm' => Part::Media(number),
            'p' => Part::Peer(number),
            _ => return None,
        };
        Some((parse(attempt)?, part))
    }

    fn of(&self, attempt: AttemptId) -> String {
        format!("{}.{attempt}", self.app)
    }
}

/// Parses an attempt id only in the form that we write, so that two names never mean the same channel.
fn parse(text: &str) -> Option<AttemptId> {
    let attempt: AttemptId = text.parse().ok()?;
    (attempt.to_string() == text).then_some(attempt)
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.app)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_tells_whose_it_is() {
        let (names, attempt) = (Names::new("ringback"), AttemptId::new());
        for part in [Part::Call, Part::Media(1), Part::Media(12), Part::Peer(3)] {
            let name = names.channel(attempt, part);
            assert_eq!(names.read(&name), Some((attempt, part)), "{name}");
            // Asterisk accepts ids of up to 149 bytes.
            assert!(name.len() < 100, "{name}");
            assert_eq!(Names::new("ring").read(&name), None);
        }
        let whole = names.channel(attempt, Part::Call);
        for foreign in [
            "1700000000.12".to_owned(),
            "ringback.1700000000".to_owned(),
            "ringback".to_owned(),
            format!("{whole}.m01"),
            format!("{whole}.m"),
            format!("{whole}.m+1"),
            format!("{whole}.x1"),
            whole.to_uppercase(),
            names.ringing(attempt, 1),
        ] {
            assert_eq!(names.read(&foreign), None, "{foreign}");
        }
    }

    proptest! {
        #[test]
        fn no_name_makes_it_panic(name in "(ringback)?[.]?\\PC{0,60}") {
            let _ = Names::new("ringback").read(&name);
        }
    }
}
