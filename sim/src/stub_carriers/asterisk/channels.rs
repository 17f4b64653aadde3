//! Channels: their state, how they enter the application, and how they end.

use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use super::{sound::Sound, stub::Asterisk};
use crate::stub_carriers::settings::locked;

/// Most sounds that may wait for a channel: 10 s of audio.
const SOUNDS: usize = 500;

/// One channel.
pub struct Channel {
    pub id: String,
    /// `PJSIP/trunk-…` and the like.
    pub name: String,
    pub caller: String,
    pub exten: String,
    pub app: String,
    state: Mutex<&'static str>,
    in_app: AtomicBool,
    over: AtomicBool,
    /// The exchange's id of the telephone's call, once the exchange has accepted it.
    pub line: OnceLock<String>,
    /// Sender of the audio from the others in its bridge.
    pub to_channel: mpsc::Sender<Sound>,
    /// Receiver at the far end, until it is taken.
    pub from_channel: Mutex<Option<mpsc::Receiver<Sound>>>,
    /// Notified when it is hung up by request.
    pub hang_up: Notify,
    /// Whether it is an inbound call; its caller hears nothing before the answer.
    pub came_in: bool,
}

/// Initial state of a channel.
#[derive(Debug, Clone, Default)]
pub struct Beginning {
    pub id: String,
    pub name: String,
    pub caller: String,
    pub exten: String,
    pub app: String,
    pub came_in: bool,
}

impl Channel {
    pub fn state(&self) -> &'static str {
        *locked(&self.state)
    }

    pub fn is_in_app(&self) -> bool {
        self.in_app.load(Ordering::SeqCst) && !self.is_over()
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    pub fn shown(&self, stub: &Asterisk) -> Value {
        let (app_name, app_data) = match self.is_in_app() {
            true => ("Stasis", &*self.app),
            false => ("", ""),
        };
        json!({
            "id": self.id, "name": self.name, "state": self.state(), "protocol_id": "",
            "caller": { "name": "", "number": self.caller }, "connected": { "name": "", "number": "" },
            "accountcode": "", "creationtime": stub.now(), "language": "en",
            "dialplan": {
                "context": "default", "exten": self.exten, "priority": 1, "app_name": app_name, "app_data": app_data,
            },
        })
    }
}

impl Asterisk {
    /// Creates a channel; returns `None` if its id is taken.
    pub fn make(&self, beginning: Beginning) -> Option<Arc<Channel>> {
        let (to_channel, from_channel) = mpsc::channel(SOUNDS);
        let Beginning {
            id,
            name,
            caller,
            exten,
            app,
            came_in,
        } = beginning;
        let channel = Arc::new(Channel {
            id: id.clone(),
            name,
            caller,
            exten,
            app,
            state: Mutex::new("Down"),
            in_app: false.into(),
            over: false.into(),
            line: OnceLock::new(),
            to_channel,
            from_channel: Mutex::new(Some(from_channel)),
            hang_up: Notify::new(),
            came_in,
        });
        let mut channels = locked(&self.channels);
        if channels.contains_key(&id) {
            return None;
        }
        channels.insert(id, channel.clone());
        Some(channel)
    }

    pub(super) fn channel(&self, id: &str) -> Option<Arc<Channel>> {
        locked(&self.channels).get(id).cloned()
    }

    pub(super) fn now(&self) -> String {
        self.base.clock.now().to_iso8601()
    }

    /// Changes a channel's state and sends the event.
    pub fn becomes(&self, channel: &Channel, state: &'static str) {
        *locked(&channel.state) = state;
        self.tell("ChannelStateChange", &json!({ "channel": channel.shown(self) }));
    }

    /// Sends the event of a dial's progress.
    pub fn tell_dial(&self, channel: &Channel, status: &str) {
        let dial = json!({ "dialstatus": status, "dialstring": "", "forward": "", "peer": channel.shown(self) });
        self.tell("Dial", &dial);
    }

    /// Puts a channel under the application's control.
    pub fn enter(&self, channel: &Channel, args: &[&str]) {
        channel.in_app.store(true, Ordering::SeqCst);
        self.tell("StasisStart", &json!({ "args": args, "channel": channel.shown(self) }));
    }

    /// Reports that a dialed channel was answered.
    pub fn answered(&self, channel: &Channel) {
        self.tell_dial(channel, "ANSWER");
        self.becomes(channel, "Up");
        self.enter(channel, &[]);
    }

    /// Ends a channel, once.
    pub fn destroy(&self, channel: &Channel, cause: u32, words: &str, technical: Option<u32>) {
        if channel.over.swap(true, Ordering::SeqCst) {
            return;
        }
        locked(&self.channels).remove(&channel.id);
        self.bridges.leave(&channel.id);
        channel.hang_up.notify_one();
        if channel.in_app.load(Ordering::SeqCst) {
            self.tell("StasisEnd", &json!({ "channel": channel.shown(self) }));
        }
        let mut gone = json!({ "cause": cause, "cause_txt": words, "channel": channel.shown(self) });
        if let Some(technical) = technical {
            gone["tech_cause"] = technical.into();
        }
        self.tell("ChannelDestroyed", &gone);
    }

    /// Passes a channel's sound to the others in its bridge.
    pub fn says(&self, channel: &Channel, sound: &Sound) {
        for other in self.bridges.others(&channel.id) {
            if let Some(other) = self.channel(&other) {
                // A channel that does not read drops what it is sent, like a jitter buffer.
                let _ = other.to_channel.try_send(sound.clone());
            }
        }
    }

    /// Handles a key of a channel's telephone.
    pub fn hears_key(&self, channel: &str, key: char) {
        let Some(channel) = self.channel(channel) else { return };
        let pressed = json!({ "digit": key.to_string(), "duration_ms": 100, "channel": channel.shown(self) });
        self.tell("ChannelDtmfReceived", &pressed);
        self.says(&channel, &Sound::Key(key));
    }
}
