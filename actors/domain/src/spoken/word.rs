//! Words of speech in their comparable form.

/// A word or token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Word {
    pub text: String,
    /// The words for which a token stands.
    pub said: String,
    /// Number of its clause.
    pub clause: usize,
}

impl Word {
    pub const YES: [&str; 2] = ["<yes>", "<fine>"];
    pub const NO: [&str; 3] = ["<no>", "<not>", "<un>"];

    pub fn is(&self, tokens: &[&str]) -> bool {
        tokens.contains(&self.text.as_str())
    }

    pub fn is_figure(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_digit())
    }

    /// Returns the kind of a number, day or month. Of one kind, a later word can correct an earlier one.
    pub fn kind(&self) -> Option<char> {
        let begins = |token: &str| self.text.starts_with(token);
        match () {
            () if self.is_figure() => Some('n'),
            () if begins("<day") && !begins("<days") || begins("<+") => Some('d'),
            () if begins("<month") => Some('m'),
            () => None,
        }
    }

    /// Returns whether it is of the same kind as another one, but not the same.
    pub fn rivals(&self, other: &Self) -> bool {
        self.kind().is_some() && self.kind() == other.kind() && self.text != other.text
    }
}
