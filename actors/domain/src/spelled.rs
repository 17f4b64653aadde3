//! Enums that are one word each in rows, in the contract and in metrics.

/// Gives an enum without fields all its variants in order, and the word of each.
macro_rules! spelled {
    ($name:ident, $($variant:ident $word:literal),+) => {
        impl $name {
            /// All of them, in order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Its word in rows and wherever it is shown.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// The one with this word.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == text)
            }
        }
    };
}
