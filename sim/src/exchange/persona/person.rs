//! The callee as a person: name, habits and facts, always the same for the same number and seed.

const FIRST: [&str; 12] = [
    "Alex", "Maria", "Sam", "Nina", "David", "Laura", "Peter", "Anna", "Victor", "Emma", "Oscar", "Julia",
];
const LAST: [&str; 12] = [
    "Miller", "Garcia", "Novak", "Brown", "Silva", "Meyer", "Rossi", "Jensen", "Clark", "Dubois", "Young", "Keller",
];

/// A callee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    seed: u64,
}

impl Person {
    /// Returns the person who answers at `number`.
    pub fn new(number: &str, seed: u64) -> Self {
        // FNV-1a, because the standard hasher may change between versions.
        let hash = number.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { seed: hash }
    }

    /// Returns a choice below `of` (which is not 0), the same for the same subject.
    pub fn choice(self, subject: &str, of: usize) -> usize {
        let hash = subject.bytes().fold(self.seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // The low bits of FNV depend too closely on the last byte.
        let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        usize::try_from(mixed).unwrap_or(0) % of.max(1)
    }

    /// Returns a choice among words.
    pub fn pick<'a>(self, subject: &str, among: &[&'a str]) -> &'a str {
        among
            .get(self.choice(subject, among.len()))
            .copied()
            .unwrap_or_default()
    }

    /// Given name.
    pub fn first_name(self) -> &'static str {
        self.pick("first name", &FIRST)
    }

    /// Family name.
    pub fn last_name(self) -> &'static str {
        self.pick("last name", &LAST)
    }

    /// E-mail address.
    pub fn email(self) -> String {
        format!(
            "{}.{}@example.com",
            self.first_name().to_lowercase(),
            self.last_name().to_lowercase()
        )
    }
}
