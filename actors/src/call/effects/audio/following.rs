//! Tells clients that follow the call what happens.

use serde_json::json;
use tokio::sync::oneshot;

use crate::audio_stream::StreamMessage;
use crate::call::effects::{EffectHandler, record, streams};
use crate::call::{CallMessage, CallPhase, state::State};
use crate::live_feed::{Following, LiveEvent, LiveFeed, LivePresent, LiveState};
use domain::{history::Speaker, time::Timestamp};
use media::session::{Say, SpeechId};

/// State of the call as its followers know it.
pub struct Followers {
    /// None until somebody follows the call, or sees it in a list.
    pub feed: Option<LiveFeed>,
    now: (LiveState, Timestamp),
    /// Name of the operator who has the call.
    operator: Option<String>,
    /// Node of the conversation graph in which the call is.
    node: Option<String>,
    /// Words of a held speech.
    held: Option<(SpeechId, String)>,
}

impl Followers {
    pub fn none(now: Timestamp) -> Self {
        Self {
            feed: None,
            now: (LiveState::Ringing, now),
            operator: None,
            node: None,
            held: None,
        }
    }

    fn state(&self) -> LiveEvent {
        let (state, since) = self.now;
        LiveEvent::State { state, since }
    }

    /// Sends an event, if anybody has followed the call.
    pub fn tell(&self, event: impl FnOnce() -> LiveEvent) {
        if let Some(feed) = &self.feed {
            feed.tell(event());
        }
    }

    fn tell_node(&self) {
        if let Some(node) = &self.node {
            self.tell(|| LiveEvent::Node { node: node.clone() });
        }
    }

    fn tell_words(&self, text: &str) {
        self.tell(|| LiveEvent::Words {
            speaker: Speaker::Agent,
            text: text.to_owned(),
            is_final: true,
        });
    }
}

/// Returns the call's feed, which begins when it is first wanted.
fn feed(call: &mut EffectHandler) -> LiveFeed {
    if let Some(feed) = &call.audio.followers.feed {
        return feed.clone();
    }
    let history = call
        .machine
        .as_ref()
        .map_or(&[][..], |machine| machine.history().items());
    let feed = LiveFeed::after(history);
    streams::tell_stream(call, StreamMessage::Feed(feed.clone()));
    call.audio.followers.feed = Some(feed.clone());
    feed
}

/// Returns the state of the call for a list.
pub fn present(call: &mut EffectHandler) -> LivePresent {
    feed(call).present(call.audio.followers.now.0)
}

/// Lets a client follow the call. A `listener` also gets its audio.
pub fn follow(call: &mut EffectHandler, listener: Option<String>) -> Following {
    let feed = feed(call);
    let audio = listener.map(|by| {
        record::record_event(call, "listener_joined", &json!({ "by": by }));
        let (place, left) = oneshot::channel();
        let me = call.me.clone();
        call.spawn(async move {
            // An error means that the listener dropped its place.
            let _ = left.await;
            let _ = me.cast(CallMessage::ListenerLeft { by });
        });
        (feed.audio.subscribe(), place)
    });
    let events = feed.events.subscribe();
    call.audio.followers.tell_node();
    Following {
        now: call.audio.followers.state(),
        events,
        audio,
    }
}

pub fn say(call: &mut EffectHandler, say: Say) {
    if say.held {
        call.audio.followers.held = Some((say.speech, say.text.clone()));
    } else if !say.text.is_empty() {
        call.audio.followers.tell_words(&say.text);
    }
    streams::tell_stream(call, StreamMessage::Say(say));
}

pub fn release(call: &mut EffectHandler, speech: SpeechId) {
    if let Some((_, text)) = call.audio.followers.held.take().filter(|(held, _)| *held == speech) {
        call.audio.followers.tell_words(&text);
    }
    streams::tell_stream(call, StreamMessage::Release(speech));
}

pub fn listener_left(call: &EffectHandler, by: &str) {
    record::record_event(call, "listener_left", &json!({ "by": by }));
}

/// Notes what the call does after an event.
pub fn note_live_state(call: &mut EffectHandler, machine: &State) {
    let state = live_state(machine.phase(), machine.runs_tool());
    if state != call.audio.followers.now.0 {
        call.audio.followers.now = (state, call.with.ports.clock.now());
        call.audio.followers.tell(|| call.audio.followers.state());
    }
    let by = machine.operator().map(str::to_owned);
    if by != call.audio.followers.operator {
        call.audio.followers.operator.clone_from(&by);
        call.audio.followers.tell(|| LiveEvent::Operator { by });
    }
    if machine.node() != call.audio.followers.node.as_deref() {
        call.audio.followers.node = machine.node().map(str::to_owned);
        call.audio.followers.tell_node();
    }
}

fn live_state(phase: CallPhase, runs_tool: bool) -> LiveState {
    match phase {
        CallPhase::Scheduled | CallPhase::Dialing | CallPhase::Ringing => LiveState::Ringing,
        CallPhase::Greeting | CallPhase::Speaking => LiveState::Speaking,
        CallPhase::Answered | CallPhase::Listening => LiveState::Listening,
        CallPhase::Thinking if runs_tool => LiveState::Tool,
        CallPhase::Thinking => LiveState::Thinking,
        CallPhase::Voicemail => LiveState::Menu,
        CallPhase::Transferring => LiveState::Transferring,
        CallPhase::Operator => LiveState::Operator,
        CallPhase::Closing | CallPhase::Ended => LiveState::Closing,
    }
}
