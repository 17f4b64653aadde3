//! Values that a setting chooses by name.

/// A value with a name.
pub trait Choice: Copy + Default + PartialEq + 'static {
    /// All values, each with its name.
    const ALL: &'static [(&'static str, Self)];

    /// Returns the value with this name, in either case.
    fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        Some(all.find(|(known, _)| known.eq_ignore_ascii_case(name))?.1)
    }

    /// Returns the name.
    fn name(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
}

/// Joins words as in a sentence: `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(words: &[&str]) -> String {
    joined(words, "and")
}

/// Joins words as in a sentence, the last with this conjunction.
pub(super) fn joined(words: &[&str], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}
