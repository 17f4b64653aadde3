//! The listener finds hums, reads the packets after them, and reports missing text.

use std::collections::VecDeque;

use super::{
    packet::{self, CRC_VOWELS, Header},
    sound::{PAUSE_MS, SOUND_MS},
    spectrum::{Analyser, Bands},
};

/// Measurements (5 ms) per sound.
const SOUND: u64 = SOUND_MS as u64 / 5;
/// Number of measurements on either side among which a hum is a maximum: 20 ms.
const HUM_REACH: usize = 4;
/// Number of measurements kept: enough for the search of a hum and the header's finer timing.
const KEPT: usize = 16;
/// Power below which there is silence: a sine 66 dB below full scale.
const FLOOR: f32 = 2e-3;
/// Difference in dB below which two bands cannot be told apart.
const UNSURE_DB: f32 = 0.5;
/// Margin in dB below which nothing is shown before the CRC has confirmed it.
const INTERIM_DB: f32 = 5.0;
/// Level in dB below the total beyond which a formant does not count.
const WEAKEST_FORMANT_DB: f32 = 25.0;
/// Power ratio of the vowel to the hum before it (12 dB) from which the hum does not belong to a packet,
/// since a packet's sounds have the same level. It is the line's own hum.
const LINE_HUM: f32 = 16.0;
/// Time from the middle of the last sound until a hum must have come: six sounds, and the hum's confirmation.
const NEXT_HUM: u64 = 6 * SOUND + HUM_REACH as u64;
/// Time without a hum after which the utterance is over: 1.6 s, twice the longest packet with its gap.
const GIVE_UP: u64 = 40 * SOUND;
/// Number of clear vowels outside a packet that prove that somebody speaks.
const STRANGE_VOWELS: u32 = 12;
/// Number of clear vowels below which the sounds after a hum count as noise.
const FEWEST_VOWELS: u32 = 4;
/// Time from the first clear vowel until a hum must have been confirmed: the lead-in, its pause, a hum and some slack.
const STRANGE_WAIT: u64 = (160 + PAUSE_MS as u64 + 260) / 5;

/// Events of the listener, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerEvent {
    /// The unverified text so far of the packet in progress. It follows the packets before it, and the next
    /// event replaces it.
    Interim {
        /// Whole characters only. Empty if the text shown is lost in a gap.
        text: String,
    },
    /// A packet passed its check: its text follows the text verified before.
    Packet {
        /// Text of the packet.
        text: String,
        /// Whether it starts an utterance.
        first: bool,
        /// Whether it ends its utterance.
        last: bool,
    },
    /// Text was lost here. Several losses in a row are one gap.
    Gap,
    /// The utterance is over although its last packet was lost.
    End,
}

/// A packet that is being read.
#[derive(Debug, Clone)]
struct Reading {
    header: Header,
    /// Time at which the next vowel is in the middle of the window.
    next: u64,
    vowels: Vec<u8>,
    /// The smallest margin so far.
    margin_db: f32,
    /// Length of the interim text shown.
    shown: usize,
}

#[derive(Debug, Clone)]
enum State {
    /// Nothing is in progress, or an utterance waits for its next packet.
    Idle,
    /// A hum has its middle at this measurement; the header follows.
    Hummed(u64),
    Reading(Reading),
}

/// An utterance whose last packet has not come.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// The next sequence number, or `None` after a gap.
    expected: Option<u8>,
    /// Middle of the last sound that was understood.
    since: u64,
    /// Whether the late next packet has been reported.
    late: bool,
}

/// Clear vowels since the last utterance, outside any packet that was understood.
#[derive(Debug, Clone, Copy, Default)]
struct Strange {
    count: u32,
    since: u64,
}

impl Strange {
    fn see(&mut self, now: u64) {
        if self.count == 0 {
            self.since = now;
        }
        self.count += 1;
    }
}

/// Listens to one line at 8 kHz, in pieces of any length.
pub struct Listener {
    analyser: Analyser,
    /// The last measurements, the newest at the back.
    past: VecDeque<Bands>,
    /// Number of the next measurement.
    now: u64,
    state: State,
    open: Option<Open>,
    strange: Strange,
    /// Time until which the window still contains some of a packet's last sound.
    packet_rings_until: u64,
    /// Whether the last event was a gap.
    in_gap: bool,
}

impl Default for Listener {
    fn default() -> Self {
        Self::new()
    }
}

impl Listener {
    /// Creates a listener that has heard nothing.
    pub fn new() -> Self {
        Self {
            analyser: Analyser::new(),
            past: VecDeque::with_capacity(KEPT + 1),
            now: 0,
            state: State::Idle,
            open: None,
            strange: Strange::default(),
            packet_rings_until: 0,
            in_gap: false,
        }
    }

    /// Listens to samples at 8 kHz and appends the events to `heard`.
    pub fn push(&mut self, samples: &[i16], heard: &mut Vec<ListenerEvent>) {
        let mut measured = Vec::with_capacity(samples.len() / super::spectrum::HOP + 1);
        self.analyser.push(samples, |bands| measured.push(bands));
        for bands in measured {
            self.measure(bands, heard);
        }
    }

    /// Returns whether an utterance has begun and not ended.
    pub fn in_utterance(&self) -> bool {
        self.open.is_some() || !matches!(self.state, State::Idle)
    }

    /// Ends the speech by decision of the caller. An utterance that is still open ends with a gap.
    pub fn finish(&mut self, heard: &mut Vec<ListenerEvent>) {
        let enough = match self.state {
            State::Idle => STRANGE_VOWELS,
            State::Hummed(_) | State::Reading(_) => FEWEST_VOWELS,
        };
        if self.open.is_some() || self.strange.count >= enough {
            self.gap(heard);
            heard.push(ListenerEvent::End);
        }
        self.state = State::Idle;
        self.open = None;
        self.in_gap = false;
        self.strange = Strange::default();
    }

    fn measure(&mut self, bands: Bands, heard: &mut Vec<ListenerEvent>) {
        if self.past.len() == KEPT {
            self.past.pop_front();
        }
        self.past.push_back(bands);
        let now = self.now;
        self.now += 1;
        if let Some(hum) = self.hum_confirmed(now) {
            self.hum(hum, heard);
        }
        match &self.state {
            State::Idle => self.idle(now, bands, heard),
            State::Hummed(hum) if now == hum + SOUND + 1 => self.header(*hum, heard),
            State::Hummed(_) => {}
            State::Reading(reading) if now == reading.next => self.vowel(bands, heard),
            State::Reading(_) => {}
        }
    }

    fn at(&self, measurement: u64) -> Bands {
        let back = usize::try_from(self.now - 1 - measurement).unwrap_or(usize::MAX);
        self.past
            .len()
            .checked_sub(back + 1)
            .map_or_else(Bands::default, |index| self.past[index])
    }

    /// Returns the middle of a hum that the newest measurement confirms.
    fn hum_confirmed(&self, now: u64) -> Option<u64> {
        let newest = self.past.len().checked_sub(2 * HUM_REACH + 1)?;
        let middle = newest + HUM_REACH;
        let score = self.past[middle].hum_score();
        if score <= 0.0 || self.past[middle].total() < FLOOR {
            return None;
        }
        let beaten = |other: usize| self.past[other].hum_score() < score;
        let equalled = |other: usize| self.past[other].hum_score() <= score;
        let peak = (newest..middle).all(beaten) && (middle + 1..self.past.len()).all(equalled);
        peak.then(|| now - HUM_REACH as u64)
    }

    fn hum(&mut self, hum: u64, heard: &mut Vec<ListenerEvent>) {
        if let State::Reading(_) = self.state {
            // A packet never contains a hum, so its rest is lost and another one begins.
            self.lost(hum, heard);
        }
        self.state = State::Hummed(hum);
    }

    /// Reads the header, and derives the timing of the packet from it.
    fn header(&mut self, hum: u64, heard: &mut Vec<ListenerEvent>) {
        self.state = State::Idle;
        let candidates = (hum + SOUND - 1..=hum + SOUND + 1).map(|at| (at, self.at(at)));
        let Some((at, bands)) = candidates.max_by(|a, b| a.1.vowel().margin_db.total_cmp(&b.1.vowel().margin_db))
        else {
            return;
        };
        let vowel = bands.vowel();
        let of_line = bands.total() > LINE_HUM * self.at(hum).total();
        if bands.total() < FLOOR || of_line || vowel.weakest_db > WEAKEST_FORMANT_DB {
            // Not a packet's hum: it was a tone or a noise, or the packet is lost and will be missed.
            return;
        }
        let header = Header::from_vowel(vowel.vowel).filter(|_| vowel.margin_db >= UNSURE_DB);
        let Some(header) = header else {
            self.lost(at, heard);
            return;
        };
        self.state = State::Reading(Reading {
            header,
            next: at + SOUND,
            vowels: Vec::new(),
            margin_db: vowel.margin_db,
            shown: 0,
        });
    }

    fn vowel(&mut self, bands: Bands, heard: &mut Vec<ListenerEvent>) {
        let State::Reading(reading) = &mut self.state else {
            return;
        };
        let at = reading.next;
        let vowel = bands.vowel();
        if vowel.margin_db < UNSURE_DB || bands.total() < FLOOR {
            self.lost(at, heard);
            return;
        }
        reading.vowels.push(vowel.vowel);
        reading.margin_db = reading.margin_db.min(vowel.margin_db);
        reading.next += SOUND;
        if vowel.margin_db >= INTERIM_DB {
            self.strange.see(at);
        }
        if reading.vowels.len() == reading.header.payload_vowels() + CRC_VOWELS {
            let (header, vowels) = (reading.header, std::mem::take(&mut reading.vowels));
            self.complete(at, header, &vowels, heard);
        } else if reading.margin_db >= INTERIM_DB && reading.vowels.len() <= reading.header.payload_vowels() {
            let bytes = packet::bytes_of(&reading.vowels);
            let bytes = &bytes[..bytes.len().min(reading.header.length)];
            let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            if text.len() > reading.shown {
                reading.shown = text.len();
                heard.push(ListenerEvent::Interim { text: text.to_owned() });
            }
        }
    }

    /// Handles a packet whose vowels are complete.
    fn complete(&mut self, at: u64, header: Header, vowels: &[u8], heard: &mut Vec<ListenerEvent>) {
        let Some((text, place)) = packet::verify(header, vowels) else {
            self.lost(at, heard);
            return;
        };
        let in_order = match self.open {
            // A new utterance while the old one waits for its end: the end is lost.
            Some(_) if place.first => false,
            Some(open) => open.expected.is_none_or(|expected| expected == header.sequence),
            None => place.first || self.in_gap,
        };
        if !in_order {
            self.gap(heard);
        }
        if place.first && self.open.is_some() {
            heard.push(ListenerEvent::End);
        }
        self.in_gap = false;
        self.strange = Strange::default();
        self.state = State::Idle;
        self.packet_rings_until = at + SOUND;
        self.open = (!place.last).then_some(Open {
            expected: Some((header.sequence + 1) & 3),
            since: at,
            late: false,
        });
        heard.push(ListenerEvent::Packet {
            text,
            first: place.first,
            last: place.last,
        });
    }

    /// Handles a packet that cannot be read. A mere hum in noise is not reported.
    fn lost(&mut self, at: u64, heard: &mut Vec<ListenerEvent>) {
        let shown = matches!(&self.state, State::Reading(reading) if reading.shown > 0);
        self.state = State::Idle;
        let reported = self.open.is_some() || self.strange.count >= FEWEST_VOWELS;
        if shown && (!reported || self.in_gap) {
            // No gap follows that would replace the text shown.
            heard.push(ListenerEvent::Interim { text: String::new() });
        }
        if !reported {
            return;
        }
        self.gap(heard);
        self.strange = Strange::default();
        self.open = Some(Open {
            expected: None,
            since: at,
            late: true,
        });
    }

    fn gap(&mut self, heard: &mut Vec<ListenerEvent>) {
        if !self.in_gap {
            self.in_gap = true;
            heard.push(ListenerEvent::Gap);
        }
    }

    /// Checks for missing text while nothing is being read.
    fn idle(&mut self, now: u64, bands: Bands, heard: &mut Vec<ListenerEvent>) {
        if let Some(open) = &mut self.open {
            let waited = now.saturating_sub(open.since);
            if waited > NEXT_HUM && !open.late {
                open.late = true;
                open.expected = None;
                self.gap(heard);
            } else if waited > GIVE_UP {
                self.open = None;
                self.in_gap = false;
                heard.push(ListenerEvent::End);
            }
            return;
        }
        let vowel = bands.vowel();
        let clear = now > self.packet_rings_until
            && bands.total() > FLOOR
            && vowel.margin_db >= INTERIM_DB
            && vowel.weakest_db < WEAKEST_FORMANT_DB;
        if clear {
            self.strange.see(now);
        }
        if self.strange.count > 0 && now - self.strange.since > STRANGE_WAIT {
            if self.strange.count >= STRANGE_VOWELS {
                self.lost(now, heard);
            }
            self.strange = Strange::default();
        }
    }
}
