//! Random numbers that are the same for a seed on every platform and in every build.

/// A generator of random numbers (splitmix64).
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// Creates the generator of a purpose: other names give independent numbers for the same seed.
    pub fn new(seed: u64, name: &str) -> Self {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to less than 1.
    pub fn share(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns whether something of this probability happens.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// Returns a whole number of a range, both ends included.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.number() % (to.saturating_sub(from) + 1)
    }

    /// Returns a number of a range.
    pub fn within(&mut self, from: f64, to: f64) -> f64 {
        from + self.share() * (to - from)
    }

    /// Returns a normally distributed number with mean 0 and deviation 1, never beyond 6.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }

    /// Returns the index of one of `count` things; 0 if there are none.
    pub fn index(&mut self, count: usize) -> usize {
        (self.number() % count.max(1) as u64) as usize
    }

    /// Returns one of several things, or `None` if there are none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.index(from.len()))
    }

    /// Brings things into a random order.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for at in (1..things.len()).rev() {
            things.swap(at, self.index(at + 1));
        }
    }
}
