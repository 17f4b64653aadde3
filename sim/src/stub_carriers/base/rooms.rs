//! Rooms: each leg in a room hears what the others say.

use std::{collections::BTreeMap, sync::Mutex};

use tokio::sync::broadcast;

use crate::stub_carriers::settings::locked;

/// Most frames that may wait for a slow leg: 5 s.
const WAITING: usize = 256;

/// Message in a room.
#[derive(Debug, Clone)]
pub enum Said {
    /// Mu-law from the leg with this name.
    Audio(String, Vec<u8>),
    /// The conversation is over for all.
    Over,
}

/// All rooms, by name.
#[derive(Default)]
pub struct Rooms(Mutex<BTreeMap<String, broadcast::Sender<Said>>>);

impl Rooms {
    /// Returns the room with this name.
    pub fn named(&self, name: &str) -> broadcast::Sender<Said> {
        let mut rooms = locked(&self.0);
        let room = rooms.entry(name.to_owned());
        room.or_insert_with(|| broadcast::channel(WAITING).0).clone()
    }
}
