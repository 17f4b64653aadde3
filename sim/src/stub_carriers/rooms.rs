//! Conversations: what one leg says, the others hear.

use std::{collections::BTreeMap, sync::Mutex};

use tokio::sync::broadcast;

use super::locked;

/// What may wait for a leg that is slow: 5 s of frames.
const WAITING: usize = 256;

/// What is said in a conversation.
#[derive(Debug, Clone)]
pub enum Said {
    /// By the leg of this name, in mu-law.
    Audio(String, Vec<u8>),
    /// It is over for all.
    Over,
}

/// All conversations, by name.
#[derive(Default)]
pub struct Rooms(Mutex<BTreeMap<String, broadcast::Sender<Said>>>);

impl Rooms {
    /// The conversation of this name.
    pub fn named(&self, name: &str) -> broadcast::Sender<Said> {
        let mut rooms = locked(&self.0);
        let room = rooms.entry(name.to_owned());
        room.or_insert_with(|| broadcast::channel(WAITING).0).clone()
    }
}
