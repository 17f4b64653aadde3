//! Enums with one word per variant for rows, the API and metrics.

/// Adds the list of variants and their words to an enum without fields.
macro_rules! spelled {
    ($name:ident, $($variant:ident $word:literal),+) => {
        impl $name {
            /// All variants in order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Returns its word in rows, in the API and in metrics.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// Returns the variant with this word.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == text)
            }
        }
    };
}
