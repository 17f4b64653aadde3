//! Records a call's two sides on one time axis: user left, agent right, interleaved for a stereo file.
//!
//! Positions count samples from the start of the call. The user's audio arrives as time passes. The agent's
//! audio is placed where the line plays it, possibly ahead of time, and is removed again if it is cleared
//! before it was played.

use std::collections::VecDeque;

/// Aligns the two sides sample by sample.
#[derive(Debug, Clone)]
pub struct StereoMixer {
    /// Position before which everything has been taken.
    taken: u64,
    user: VecDeque<i16>,
    agent: VecDeque<i16>,
    /// Most samples of a side that may wait.
    capacity: usize,
    dropped: u64,
}

impl StereoMixer {
    /// Creates a mixer at position 0 that keeps at most `capacity` samples of each side ahead of the position taken.
    pub fn new(capacity: usize) -> Self {
        Self {
            taken: 0,
            user: VecDeque::new(),
            agent: VecDeque::new(),
            capacity,
            dropped: 0,
        }
    }

    /// Creates one at another position.
    pub fn starting_at(capacity: usize, position: u64) -> Self {
        Self {
            taken: position,
            ..Self::new(capacity)
        }
    }

    /// Returns the agent's samples from a position on.
    pub fn agent_from(&self, position: u64) -> Vec<i16> {
        let before = usize::try_from(position.saturating_sub(self.taken)).unwrap_or(usize::MAX);
        self.agent.iter().skip(before).copied().collect()
    }

    /// Returns the position of the user's next sample.
    pub fn user_position(&self) -> u64 {
        self.taken + self.user.len() as u64
    }

    /// Returns the position one past the last sample taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the total number of samples that did not fit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Appends the user's samples. Samples beyond the capacity are dropped and counted.
    pub fn push_user(&mut self, samples: &[i16]) {
        let fits = samples.len().min(self.capacity - self.user.len());
        self.user.extend(&samples[..fits]);
        self.dropped += (samples.len() - fits) as u64;
    }

    /// Places the agent's samples from `position_samples` on, and overwrites existing ones. Samples already
    /// taken stay, and samples beyond the capacity are dropped and counted.
    pub fn push_agent_at(&mut self, position_samples: u64, samples: &[i16]) {
        let late = usize::try_from(self.taken.saturating_sub(position_samples)).unwrap_or(usize::MAX);
        let samples = samples.get(late..).unwrap_or_default();
        let from = usize::try_from(position_samples.max(self.taken) - self.taken).unwrap_or(usize::MAX);
        let fits = samples.len().min(self.capacity.saturating_sub(from));
        self.dropped += (samples.len() - fits) as u64;
        if fits == 0 {
            return;
        }
        if self.agent.len() < from + fits {
            self.agent.resize(from + fits, 0);
        }
        for (place, &sample) in self.agent.range_mut(from..from + fits).zip(samples) {
            *place = sample;
        }
    }

    /// Removes the agent's audio from `position_samples` on, since it was cleared and never heard.
    pub fn truncate_agent(&mut self, position_samples: u64) {
        let keep = position_samples.saturating_sub(self.taken);
        self.agent.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
    }

    /// Takes both sides up to the position `up_to`, interleaved (user, agent, user …). Missing samples of a
    /// side count as silence; pass [`user_position`](Self::user_position) to take only complete audio.
    ///
    /// At most the capacity is taken at once, so that a wrong position cannot ask for hours of silence.
    pub fn take(&mut self, up_to: u64) -> Vec<i16> {
        let wanted = usize::try_from(up_to.saturating_sub(self.taken)).unwrap_or(usize::MAX);
        let count = wanted.min(self.capacity);
        let mut interleaved = Vec::with_capacity(2 * count);
        for _ in 0..count {
            interleaved.push(self.user.pop_front().unwrap_or(0));
            interleaved.push(self.agent.pop_front().unwrap_or(0));
        }
        self.taken += count as u64;
        interleaved
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAPACITY: usize = 64;

    #[derive(Debug, Clone)]
    enum Step {
        User(Vec<i16>),
        Agent(u64, Vec<i16>),
        Truncate(u64),
        Take(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let samples = || proptest::collection::vec(1i16.., 0..30);
        prop_oneof![
            samples().prop_map(Step::User),
            (0u64..200, samples()).prop_map(|(at, samples)| Step::Agent(at, samples)),
            (0u64..200).prop_map(Step::Truncate),
            (0u64..200).prop_map(Step::Take),
        ]
    }

    /// A model of the mixer with plain arrays that keep everything.
    #[derive(Default)]
    struct Model {
        user: Vec<i16>,
        agent: Vec<i16>,
        taken: usize,
    }

    impl Model {
        fn apply(&mut self, step: &Step) -> Vec<i16> {
            let end = self.taken + CAPACITY;
            match step {
                Step::User(samples) => {
                    self.user.extend(samples);
                    self.user.truncate(end);
                }
                Step::Agent(at, samples) => {
                    for (place, &sample) in (*at as usize..).zip(samples) {
                        if (self.taken..end).contains(&place) {
                            self.agent.resize(self.agent.len().max(place + 1), 0);
                            self.agent[place] = sample;
                        }
                    }
                }
                Step::Truncate(at) => self.agent.truncate((*at as usize).max(self.taken)),
                Step::Take(up_to) => {
                    let upper = (*up_to as usize).clamp(self.taken, end);
                    let at = |side: &[i16], place: usize| side.get(place).copied().unwrap_or(0);
                    let both = (self.taken..upper)
                        .flat_map(|p| [at(&self.user, p), at(&self.agent, p)])
                        .collect();
                    self.taken = upper;
                    self.user.resize(self.user.len().max(upper), 0);
                    self.agent.resize(self.agent.len().max(upper), 0);
                    return both;
                }
            }
            Vec::new()
        }
    }

    proptest! {
        #[test]
        fn both_sides_stay_aligned_to_the_sample(steps in proptest::collection::vec(step(), 0..60)) {
            let mut mixer = StereoMixer::new(CAPACITY);
            let mut model = Model::default();
            for step in &steps {
                let taken = match step {
                    Step::User(samples) => { mixer.push_user(samples); Vec::new() }
                    Step::Agent(at, samples) => { mixer.push_agent_at(*at, samples); Vec::new() }
                    Step::Truncate(at) => { mixer.truncate_agent(*at); Vec::new() }
                    Step::Take(up_to) => mixer.take(*up_to),
                };
                prop_assert_eq!(taken, model.apply(step));
                prop_assert!(mixer.user.len() <= CAPACITY && mixer.agent.len() <= CAPACITY);
            }
        }
    }

    #[test]
    fn cleared_audio_is_absent() {
        let mut mixer = StereoMixer::new(100);
        mixer.push_agent_at(2, &[7, 8, 9]);
        mixer.push_user(&[1, 2, 3, 4, 5]);
        mixer.truncate_agent(3);
        assert_eq!(mixer.take(mixer.user_position()), [1, 0, 2, 0, 3, 7, 4, 0, 5, 0]);
    }

    #[test]
    fn a_burst_beyond_the_capacity_is_dropped_and_counted() {
        let mut mixer = StereoMixer::new(4);
        mixer.push_user(&[1; 6]);
        mixer.push_agent_at(3, &[2; 3]);
        assert_eq!(mixer.dropped(), 4);
        assert_eq!(mixer.take(u64::MAX), [1, 0, 1, 0, 1, 0, 1, 2]);
        mixer.push_agent_at(u64::MAX, &[1]);
        assert_eq!(mixer.dropped(), 5);
    }
}
