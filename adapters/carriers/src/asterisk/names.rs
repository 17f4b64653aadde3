//! The names we give to channels, bridges and sounds at an Asterisk: each tells the attempt and the part it plays, so
//! that an event, a listing or a lost answer is enough to know whose it is. Pure.

use std::fmt;

use domain::id::AttemptId;

/// What a channel of ours is to its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The telephone that was called.
    Call,
    /// Our audio; counted from 1.
    Media(u32),
    /// Whom the call is handed on to; counted from 1.
    Peer(u32),
}

/// The names of one application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    app: String,
}

impl Names {
    /// Of this application.
    pub fn new(app: &str) -> Self {
        Self { app: app.to_owned() }
    }

    /// The channel that plays a part in an attempt's call.
    pub fn channel(&self, attempt: AttemptId, part: Part) -> String {
        let part = match part {
            Part::Call => return self.of(attempt),
            Part::Media(n) => format!("m{n}"),
            Part::Peer(n) => format!("p{n}"),
        };
        format!("{}.{part}", self.of(attempt))
    }

    /// The bridge of an attempt's call.
    pub fn bridge(&self, attempt: AttemptId) -> String {
        self.of(attempt)
    }

    /// The sound of ringing in an attempt's bridge while a peer is rung.
    pub fn ringing(&self, attempt: AttemptId, peer: u32) -> String {
        format!("{}.r{peer}", self.of(attempt))
    }

    /// Whose channel, or bridge, this is; none where it is not of our making.
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

/// An attempt as we write it, and in no other way: two names are never one.
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
            // Asterisk takes ids of up to 149 bytes.
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
