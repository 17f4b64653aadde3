//! Detects the agent's own voice coming back from the user's side, by its shape and its level. Echo is passed
//! on as silence, so that it neither interrupts nor begins a turn.

use std::collections::VecDeque;

use crate::session::{hearing::HeardBlock, levels::SILENT_DB};

/// Longest delay of an echo, in blocks of 16 ms: 512 ms.
const MOST_LAG: usize = 32;

/// Number of blocks in which the shapes are compared: 384 ms, so that the time before an onset counts too.
const WINDOW: usize = 24;

/// Number of blocks remembered; a power of two.
const HISTORY: usize = 64;

/// Level in dBFS below which there is silence: 5 dB below the voice detector's gate.
const FLOOR_DB: f32 = -52.0;

/// Least loss in dB of an echo against the played audio. Echoes in the field are 12 to 20 dB down; people are
/// about as loud as the agent.
const LEAST_LOSS_DB: f32 = 10.0;

/// Mean difference in dB of two shapes that count as equal.
const FIT_DB: f32 = 2.5;

/// Spread in dB below which a shape is inconclusive.
const LEAST_SPREAD_DB: f32 = 2.0;

/// Level in dB above the expected echo from which voice is the user's.
const MARGIN_DB: f32 = 6.0;

/// Number of blocks with voice above the echo that prove the user: 80 ms.
const USER_BLOCKS: u32 = 5;

/// Time in milliseconds from the onset at which the shapes are first compared.
const FIRST_LOOK_MS: u64 = 96;

/// Time in milliseconds from the onset at which it is decided, before barge-in's first step.
const DECIDED_MS: u64 = 144;

/// Time in milliseconds without voice above the echo after which the user is silent.
const USER_QUIET_MS: u64 = 208;

/// Number of blocks without an expected echo after which it is forgotten: 640 ms.
const FORGET_BLOCKS: u32 = 40;

/// Path by which the agent's voice comes back.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Path {
    lag: usize,
    gain_db: f32,
    /// Number of blocks in which the echo was expected and did not come.
    missed: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No voice of the user.
    Clear,
    /// Undecided voice, which is withheld.
    Undecided { onset_ms: u64, above: u32 },
    /// The user's voice, last heard above the echo at `last_ms`.
    User { onset_ms: u64, last_ms: u64 },
}

/// Separates echo from the user, block by block.
pub(super) struct EchoGuard {
    heard: [f32; HISTORY],
    played: [f32; HISTORY],
    /// Number of blocks so far.
    count: usize,
    /// Number of blocks since something was played.
    since_played: usize,
    path: Option<Path>,
    state: State,
    withheld: Vec<HeardBlock>,
    /// Blocks to pass on.
    passed: VecDeque<HeardBlock>,
    /// Time of the last echo.
    echo_ms: Option<u64>,
}

impl EchoGuard {
    pub(super) fn new() -> Self {
        Self {
            heard: [SILENT_DB; HISTORY],
            played: [SILENT_DB; HISTORY],
            count: 0,
            since_played: HISTORY,
            path: None,
            state: State::Clear,
            withheld: Vec::new(),
            passed: VecDeque::new(),
            echo_ms: None,
        }
    }

    /// Takes a block, and the level played meanwhile. The rest of it and of the withheld blocks is passed on.
    pub(super) fn hear(&mut self, block: HeardBlock, played_db: f32) {
        self.remember(block.level_db, played_db);
        if self.since_played > MOST_LAG {
            self.pass_on(block);
            return;
        }
        self.follow(&block);
        let mine = self.is_above(&block);
        if block.voiced_ms > 0 && !mine {
            self.echo_ms = Some(block.at_ms);
        }
        match self.state {
            State::Clear => self.clear(block, mine),
            State::Undecided { onset_ms, above } => {
                self.withheld.push(block);
                let above = above + u32::from(mine);
                self.state = State::Undecided { onset_ms, above };
                self.decide(onset_ms, above);
            }
            State::User { onset_ms, last_ms } => self.user(block, mine, onset_ms, last_ms),
        }
    }

    pub(super) fn poll(&mut self) -> Option<HeardBlock> {
        self.passed.pop_front()
    }

    /// Passes a block on unchanged, since nothing was played lately and all voice is the user's.
    fn pass_on(&mut self, block: HeardBlock) {
        let known = match self.state {
            State::User { onset_ms, .. } | State::Undecided { onset_ms, .. } => Some(onset_ms),
            State::Clear => None,
        };
        // The detector may have been open since before, because of the echo.
        let after_echo = block
            .onset_ms
            .zip(self.echo_ms)
            .is_some_and(|(onset, echo)| onset <= echo);
        let onset_ms = match block.onset_ms {
            Some(_) if after_echo && known.is_none() && block.voiced_ms == 0 => None,
            Some(_) if after_echo => known.or(Some(block.at_ms.saturating_sub(block.voiced_ms))),
            onset => onset,
        };
        self.state = onset_ms.map_or(State::Clear, |onset_ms| State::User {
            onset_ms,
            last_ms: block.at_ms,
        });
        self.passed.extend(self.withheld.drain(..));
        self.passed.push_back(HeardBlock { onset_ms, ..block });
    }

    /// Returns whether echo was heard within `ms` before `at_ms`.
    pub(super) fn heard_within(&self, ms: u64, at_ms: u64) -> bool {
        self.echo_ms.is_some_and(|echo_ms| echo_ms + ms >= at_ms)
    }

    /// Returns whether all recent audio is weaker than the played audio by `loss_db` or more.
    pub(super) fn is_weak(&self, loss_db: f32) -> bool {
        let loudest = |levels: &[f32]| levels.iter().copied().fold(SILENT_DB, f32::max);
        loudest(&self.heard) + loss_db <= loudest(&self.played)
    }

    fn clear(&mut self, block: HeardBlock, mine: bool) {
        if !mine {
            self.passed.push_back(silent(block));
            return;
        }
        let onset_ms = match (self.path, block.onset_ms) {
            (None, Some(onset_ms)) => onset_ms,
            _ => block.at_ms - block.voiced_ms.min(block.at_ms),
        };
        self.withheld.push(block);
        self.state = State::Undecided { onset_ms, above: 1 };
        self.decide(onset_ms, 1);
    }

    /// Decides whether the withheld blocks are the user's voice.
    fn decide(&mut self, onset_ms: u64, above: u32) {
        let Some(&last) = self.withheld.last() else { return };
        let age_ms = last.at_ms.saturating_sub(onset_ms);
        let over = age_ms >= DECIDED_MS || last.onset_ms.is_none();
        let is_user = match self.path {
            Some(_) => above >= USER_BLOCKS,
            None if self.is_loud(last.level_db) => true,
            None if age_ms < FIRST_LOOK_MS && !over => false,
            None => {
                self.path = self.fit();
                self.path.is_none() && over
            }
        };
        if is_user {
            for block in self.withheld.drain(..) {
                self.passed.push_back(HeardBlock {
                    onset_ms: block.onset_ms.map(|_| onset_ms),
                    ..block
                });
            }
            self.state = State::User {
                onset_ms,
                last_ms: last.at_ms,
            };
        } else if over || (self.path.is_some() && above == 0) || self.is_settled_echo(&last) {
            self.echo_ms = Some(last.at_ms);
            self.withheld.clear();
            self.state = State::Clear;
            self.passed.push_back(silent(last));
        }
    }

    /// Returns whether a path was just found for the withheld blocks.
    fn is_settled_echo(&self, last: &HeardBlock) -> bool {
        self.path.is_some() && !self.is_above(last)
    }

    fn user(&mut self, block: HeardBlock, mine: bool, onset_ms: u64, last_ms: u64) {
        let last_ms = if mine { block.at_ms } else { last_ms };
        if block.onset_ms.is_none() || block.at_ms.saturating_sub(last_ms) > USER_QUIET_MS {
            self.state = State::Clear;
            self.passed.push_back(silent(block));
            return;
        }
        self.state = State::User { onset_ms, last_ms };
        self.passed.push_back(HeardBlock {
            onset_ms: Some(onset_ms),
            voiced_ms: if mine { block.voiced_ms } else { 0 },
            ..block
        });
    }

    fn remember(&mut self, heard_db: f32, played_db: f32) {
        self.since_played = match played_db > FLOOR_DB {
            true => 0,
            false => self.since_played.saturating_add(1),
        };
        let at = self.count % HISTORY;
        self.heard[at] = heard_db;
        self.played[at] = played_db;
        self.count += 1;
    }

    /// Returns the level heard or played this many blocks ago.
    fn ago(&self, levels: &[f32; HISTORY], blocks: usize) -> f32 {
        levels[(self.count + HISTORY - 1 - blocks) % HISTORY]
    }

    /// Returns the level of the echo expected now.
    fn expected_db(&self, path: Path) -> f32 {
        let around = path.lag.saturating_sub(1)..=path.lag + 1;
        let played = around.map(|lag| self.ago(&self.played, lag));
        played.fold(SILENT_DB, f32::max) + path.gain_db
    }

    /// Returns whether a block has voice above the echo. While no echo is known, all voice counts.
    fn is_above(&self, block: &HeardBlock) -> bool {
        let expected = self.path.map_or(SILENT_DB, |path| self.expected_db(path));
        block.voiced_ms > 0 && block.level_db > expected + MARGIN_DB
    }

    fn is_loud(&self, heard_db: f32) -> bool {
        let played = (0..MOST_LAG).map(|lag| self.ago(&self.played, lag));
        heard_db + LEAST_LOSS_DB > played.fold(SILENT_DB, f32::max)
    }

    /// Follows an echo that changes, and forgets one that does not come back.
    fn follow(&mut self, block: &HeardBlock) {
        let Some(mut path) = self.path else { return };
        let expected = self.ago(&self.played, path.lag) + path.gain_db;
        let off = block.level_db - expected;
        if expected > FLOOR_DB + MARGIN_DB {
            path.missed = if off < -2.0 * MARGIN_DB { path.missed + 1 } else { 0 };
            if off.abs() < MARGIN_DB {
                path.gain_db += off * 0.02;
            }
        }
        self.path = (path.missed < FORGET_BLOCKS).then_some(path);
    }

    /// Returns the delay and loss at which the played audio has the shape of the received audio.
    fn fit(&self) -> Option<Path> {
        let heard: [f32; WINDOW] = std::array::from_fn(|i| self.ago(&self.heard, i));
        let quietest = heard.iter().copied().fold(0.0, f32::min);
        let floor = FLOOR_DB.max(quietest + 3.0);
        let heard = heard.map(|level| level.max(floor));
        if spread(&heard) < LEAST_SPREAD_DB {
            return None;
        }
        let paths = (0..MOST_LAG).filter_map(|lag| {
            let played = std::array::from_fn(|i| self.ago(&self.played, i + lag));
            let (gain_db, error) = compare(&heard, &played, floor)?;
            Some((
                error,
                Path {
                    lag,
                    gain_db,
                    missed: 0,
                },
            ))
        });
        let best = paths.min_by(|a, b| a.0.total_cmp(&b.0));
        best.filter(|(error, _)| *error <= FIT_DB).map(|(_, path)| path)
    }
}

/// Returns the gain between two shapes, and their difference with that gain. Returns `None` if nothing is
/// heard, or if it is too loud for an echo.
fn compare(heard: &[f32; WINDOW], played: &[f32; WINDOW], floor: f32) -> Option<(f32, f32)> {
    let (mut sum, mut count) = (0.0, 0.0);
    for (heard, played) in heard.iter().zip(played) {
        if *heard > floor {
            sum += heard - played.max(FLOOR_DB);
            count += 1.0;
        }
    }
    let gain = sum / count;
    if count < 4.0 || gain > -LEAST_LOSS_DB {
        return None;
    }
    let off = heard
        .iter()
        .zip(played)
        .map(|(heard, played)| (heard - (played + gain).max(floor)).abs());
    Some((gain, off.sum::<f32>() / WINDOW as f32))
}

fn spread(levels: &[f32; WINDOW]) -> f32 {
    let mean = levels.iter().sum::<f32>() / WINDOW as f32;
    levels.iter().map(|level| (level - mean).abs()).sum::<f32>() / WINDOW as f32
}

/// Returns the block without its voice.
fn silent(block: HeardBlock) -> HeardBlock {
    HeardBlock {
        onset_ms: None,
        sound_ms: None,
        voiced_ms: 0,
        ..block
    }
}
