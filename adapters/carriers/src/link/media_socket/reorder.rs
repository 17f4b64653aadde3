//! Restores the order of a stream's frames by their `chunk` numbers. Drops duplicates, swaps frames back into
//! order, and waits briefly for lost ones. Frames in order pass at once and cost nothing. Pure.

use media::{codec, format::LineFormat};

use crate::protocol::Media;

/// Later frames that may be held while one is missing: 60 ms of frames of 20 ms.
pub const WINDOW: usize = 3;
/// A frame at most this far behind is a duplicate or late. If it is further behind, the carrier has restarted
/// its numbering.
const REMEMBERED: u64 = 64;
/// Longest loss that a live stream survives, in frames (30 s). If a frame is further ahead, the carrier has
/// restarted its numbering.
const LONGEST_LOSS: u64 = 1_500;
/// Maximum number of consecutive lost frames that are replaced by silence to keep the timing.
const MOST_REPLACED: u64 = 5;
/// Tolerance for timestamps, which carriers round.
const TIMESTAMP_SLACK_MS: u64 = 10;

/// Faults in a stream's frames, counted by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// Frames that came a second time; dropped.
    pub duplicate: u64,
    /// Frames that came after later ones and were put back in order.
    pub swapped: u64,
    /// Frames that came after the wait for them had ended; dropped.
    pub late: u64,
    /// Frames that were missing when the wait for them ended.
    pub missing: u64,
}

/// Frames of one stream.
#[derive(Debug)]
pub struct Reorder {
    format: LineFormat,
    /// Number of the next expected frame.
    due: Option<u64>,
    /// Bit n: frame `due - 1 - n` was delivered.
    delivered: u64,
    /// Later frames, by number.
    held: Vec<(u64, Media)>,
    last_timestamp_ms: Option<u64>,
    faults: Faults,
}

impl Reorder {
    /// Creates an empty buffer for a stream in this format.
    pub fn new(format: LineFormat) -> Self {
        Self {
            format,
            due: None,
            delivered: 0,
            held: Vec::new(),
            last_timestamp_ms: None,
            faults: Faults::default(),
        }
    }

    /// Sets the format of the following frames.
    pub fn set_format(&mut self, format: LineFormat) {
        self.format = format;
    }

    /// Adds a frame. `deliver` gets the audio that is due, in order. A frame without a number is due at once.
    pub fn take(&mut self, media: Media, deliver: impl FnMut(Vec<u8>)) {
        let Some(number) = media.chunk else {
            return self.pass_unnumbered(media, deliver);
        };
        let due = *self.due.get_or_insert(first_due(number));
        if number == due && self.held.is_empty() {
            self.pass(number, media, deliver);
        } else if number < due && due - number <= REMEMBERED {
            let copy = self.delivered >> (due - 1 - number) & 1 == 1;
            *if copy {
                &mut self.faults.duplicate
            } else {
                &mut self.faults.late
            } += 1;
        } else if number < due || number - due > LONGEST_LOSS {
            self.begin_anew(number, media, deliver);
        } else {
            self.hold(number, media, deliver);
        }
    }

    /// Returns whether frames wait for a missing one.
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Delivers the held frames and stops waiting for missing ones.
    pub fn flush(&mut self, mut deliver: impl FnMut(Vec<u8>)) {
        self.release(0, &mut deliver);
    }

    /// Returns the faults so far.
    pub fn faults(&self) -> Faults {
        self.faults
    }

    fn pass_unnumbered(&mut self, media: Media, mut deliver: impl FnMut(Vec<u8>)) {
        self.flush(&mut deliver);
        deliver(media.audio);
    }

    fn pass(&mut self, number: u64, media: Media, mut deliver: impl FnMut(Vec<u8>)) {
        self.due = Some(number.saturating_add(1));
        self.delivered = self.delivered << 1 | 1;
        self.last_timestamp_ms = media.timestamp_ms;
        deliver(media.audio);
    }

    fn begin_anew(&mut self, number: u64, media: Media, mut deliver: impl FnMut(Vec<u8>)) {
        self.flush(&mut deliver);
        self.delivered = 0;
        self.pass(number, media, deliver);
    }

    fn hold(&mut self, number: u64, media: Media, mut deliver: impl FnMut(Vec<u8>)) {
        match self.held.binary_search_by_key(&number, |(number, _)| *number) {
            Ok(_) => self.faults.duplicate += 1,
            Err(at) => {
                self.faults.swapped += u64::from(Some(number) == self.due);
                self.held.insert(at, (number, media));
                self.release(WINDOW, &mut deliver);
            }
        }
    }

    /// Delivers held frames while they are due or there are more than `window`.
    fn release(&mut self, window: usize, deliver: &mut impl FnMut(Vec<u8>)) {
        while let Some((number, _)) = self.held.first() {
            let missing = number.saturating_sub(self.due.unwrap_or(*number));
            if missing > 0 && self.held.len() <= window {
                return;
            }
            let (number, media) = self.held.remove(0);
            if missing > 0 {
                self.give_up(missing, &media, deliver);
            }
            self.pass(number, media, &mut *deliver);
        }
    }

    /// Counts lost frames. Replaces them with silence if the timestamps show that the time has passed.
    fn give_up(&mut self, missing: u64, next: &Media, deliver: &mut impl FnMut(Vec<u8>)) {
        self.faults.missing += missing;
        self.delivered = self
            .delivered
            .checked_shl(u32::try_from(missing).unwrap_or(64))
            .unwrap_or(0);
        let frame_ms = (next.audio.len() / self.format.bytes_for_ms(1)) as u64;
        let (Some(last), Some(now)) = (self.last_timestamp_ms, next.timestamp_ms) else {
            return;
        };
        let passed_ms = now.saturating_sub(last);
        if missing <= MOST_REPLACED && passed_ms.abs_diff((missing + 1) * frame_ms) <= TIMESTAMP_SLACK_MS {
            for _ in 0..missing {
                deliver(vec![codec::silence(self.format.encoding); next.audio.len()]);
            }
        }
    }
}

/// Streams count from 1. A stream that is joined later starts at its current number.
fn first_due(number: u64) -> u64 {
    if number <= 1 + WINDOW as u64 {
        number.min(1)
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(number: u64) -> Media {
        Media {
            chunk: Some(number),
            timestamp_ms: Some(number * 20),
            audio: vec![u8::try_from(number % 200).unwrap(); 160],
        }
    }

    /// Returns the first byte of each frame delivered for these numbers.
    fn run(numbers: &[u64]) -> (Vec<u8>, Faults) {
        let (mut reorder, mut out) = (Reorder::new(LineFormat::MULAW_8000), Vec::new());
        for number in numbers {
            reorder.take(frame(*number), |audio| out.push(audio[0]));
        }
        reorder.flush(|audio| out.push(audio[0]));
        (out, reorder.faults())
    }

    #[test]
    fn frames_in_order_pass_at_once() {
        let mut reorder = Reorder::new(LineFormat::MULAW_8000);
        for number in 1..1_000 {
            let mut delivered = 0;
            reorder.take(frame(number), |_| delivered += 1);
            assert!(delivered == 1 && reorder.held.capacity() == 0);
        }
        assert_eq!(reorder.faults(), Faults::default());
    }

    #[test]
    fn copies_are_dropped_and_swapped_frames_put_right() {
        let (out, faults) = run(&[1, 1, 3, 2, 3, 5, 6, 4, 7]);
        assert_eq!(out, [1, 2, 3, 4, 5, 6, 7]);
        let expected = Faults {
            duplicate: 2,
            swapped: 2,
            ..Faults::default()
        };
        assert_eq!(faults, expected);
        assert_eq!(run(&[2, 1, 3]).0, [1, 2, 3]);
        assert_eq!(run(&[0, 1, 2]).0, [0, 1, 2]);
        assert_eq!(run(&[90, 91]).0, [90, 91]);
    }

    #[test]
    fn a_lost_frame_is_waited_for_then_counted_and_replaced_by_silence() {
        let (mut reorder, mut out) = (Reorder::new(LineFormat::MULAW_8000), Vec::new());
        for number in [1, 3, 4, 5] {
            reorder.take(frame(number), |audio| out.push(audio[0]));
        }
        assert!(out == [1] && reorder.is_holding());
        reorder.take(frame(6), |audio| out.push(audio[0]));
        assert!(out == [1, 0xff, 3, 4, 5, 6] && !reorder.is_holding());
        reorder.take(frame(2), |audio| out.push(audio[0]));
        let expected = Faults {
            missing: 1,
            late: 1,
            ..Faults::default()
        };
        assert!(out.len() == 6 && reorder.faults() == expected);
    }

    #[test]
    fn a_number_that_was_never_used_leaves_no_silence() {
        let (mut reorder, mut out) = (Reorder::new(LineFormat::MULAW_8000), Vec::new());
        for (number, timestamp_ms) in [(1, Some(20)), (3, Some(40)), (5, None), (7, None)] {
            let media = Media {
                timestamp_ms,
                ..frame(number)
            };
            reorder.take(media, |audio| out.push(audio[0]));
        }
        reorder.flush(|audio| out.push(audio[0]));
        assert_eq!((out, reorder.faults().missing), (vec![1, 3, 5, 7], 3));
    }

    #[test]
    fn a_long_loss_is_not_filled_and_a_new_count_is_followed() {
        assert_eq!(run(&[1, 50, 51]).0, [1, 50, 51]);
        let (out, _) = run(&[100, 101, 1, 2, 3]);
        assert_eq!(out, [100, 101, 1, 2, 3]);
    }

    #[test]
    fn frames_without_numbers_pass_as_they_come() {
        let (mut reorder, mut out) = (Reorder::new(LineFormat::MULAW_8000), Vec::new());
        for number in [3, 1, 1] {
            let media = Media {
                chunk: None,
                ..frame(number)
            };
            reorder.take(media, |audio| out.push(audio[0]));
        }
        assert_eq!(out, [3, 1, 1]);
    }

    proptest! {
        #[test]
        fn any_permutation_within_the_window_and_any_copies_give_the_same_audio(
            moves in proptest::collection::vec((0..=WINDOW as u64, 0..3_u64, 0..20_u64), 1..120),
        ) {
            // A frame moves behind at most as many later ones as the window holds. A duplicate comes some frames later.
            let mut order: Vec<(u64, u64)> = Vec::new();
            for (number, (later, copies, copies_later)) in (1..).zip(&moves) {
                order.push((number + later, number));
                order.extend((0..*copies).map(|_| (number + later + copies_later, number)));
            }
            order.sort_by_key(|(at, _)| *at);
            let numbers: Vec<u64> = order.iter().map(|(_, number)| *number).collect();
            let (out, faults) = run(&numbers);
            let expected: Vec<u8> = (1..=moves.len() as u64).map(|number| frame(number).audio[0]).collect();
            prop_assert_eq!(out, expected);
            prop_assert_eq!(faults.missing + faults.late, 0);
            prop_assert_eq!(faults.duplicate, (numbers.len() - moves.len()) as u64);
        }

        #[test]
        fn any_numbers_are_taken_and_little_is_held(numbers in proptest::collection::vec(
            prop_oneof![0..200_u64, any::<u64>()], 0..200,
        )) {
            let mut reorder = Reorder::new(LineFormat::MULAW_8000);
            let mut delivered = 0_usize;
            for number in numbers {
                let media = Media { timestamp_ms: Some(number), chunk: Some(number), audio: vec![0; 160] };
                reorder.take(media, |_| delivered += 1);
                prop_assert!(reorder.held.len() <= WINDOW);
            }
            reorder.flush(|_| delivered += 1);
            prop_assert!(!reorder.is_holding() && delivered <= 200 * (1 + MOST_REPLACED as usize));
        }
    }
}
