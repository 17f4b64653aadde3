//! Tells clients that follow the call what happens.

use serde_json::json;

use super::EffectHandler;
use crate::{
    audio_stream::StreamMessage,
    call::{CallMessage, CallPhase, state::State},
    live_feed::{Following, ListenerPlace, LiveEvent, LiveFeed, LiveState},
};
use domain::{history::Speaker, ports::store::TurnFact, time::Timestamp};
use media::session::{Say, SpeechId};

/// State of the call as its followers know it.
pub(super) struct Followers {
    /// None until somebody follows the call.
    feed: Option<LiveFeed>,
    now: (LiveState, Timestamp),
    /// The agent's latest speech, and its text so far.
    said: Option<(SpeechId, String)>,
}

impl Followers {
    pub(super) fn none(now: Timestamp) -> Self {
        Self {
            feed: None,
            now: (LiveState::Ringing, now),
            said: None,
        }
    }

    pub(super) fn feed(&self) -> Option<LiveFeed> {
        self.feed.clone()
    }

    fn state(&self) -> LiveEvent {
        let (state, since) = self.now;
        LiveEvent::State { state, since }
    }

    fn tell(&self, event: LiveEvent) {
        if let Some(feed) = &self.feed {
            feed.tell(event);
        }
    }

    /// Returns the words of a speech so far.
    fn words(&self, speech: Option<SpeechId>) -> Option<LiveEvent> {
        let (said, text) = self.said.as_ref()?;
        speech.is_none_or(|speech| speech == *said).then(|| LiveEvent::Words {
            speaker: Speaker::Agent,
            text: text.clone(),
            is_final: false,
        })
    }

    /// Notes a text of the agent. A held one is told once it is released.
    fn says(&mut self, say: &Say) {
        match &mut self.said {
            Some((speech, text)) if *speech == say.speech => {
                text.push(' ');
                text.push_str(&say.text);
            }
            said => *said = Some((say.speech, say.text.clone())),
        }
        if !say.held && !say.text.is_empty() {
            self.tell_words(say.speech);
        }
    }

    /// Tells the words of a speech that plays from now on.
    fn tell_words(&self, speech: SpeechId) {
        if let Some(feed) = &self.feed {
            self.words(Some(speech)).into_iter().for_each(|words| feed.tell(words));
        }
    }

    pub(super) fn tell_turn(&mut self, turn: &TurnFact) {
        if turn.speaker == Speaker::Agent {
            self.said = None;
        }
        if let Some(feed) = &self.feed {
            feed.tell(LiveEvent::Turn(Box::new(turn.clone())));
        }
    }

    pub(super) fn tell_end(&self) {
        self.tell(LiveEvent::End);
    }
}

impl EffectHandler {
    /// Lets a client follow the call. A `listener` also gets its audio.
    pub(super) fn follow(&mut self, listener: Option<String>) -> Following {
        let feed = match &self.followers.feed {
            Some(feed) => feed.clone(),
            None => {
                let feed = LiveFeed::default();
                self.tell_stream(StreamMessage::Feed(feed.clone()));
                self.followers.feed.insert(feed).clone()
            }
        };
        let audio = listener.map(|by| {
            self.record_event("listener_joined", &json!({ "by": by }));
            let call = self.me.clone();
            let place = ListenerPlace::new(move || {
                // The call may be over.
                let _ = call.cast(CallMessage::ListenerLeft { by });
            });
            (feed.audio.subscribe(), place)
        });
        let words = self
            .followers
            .words(None)
            .filter(|_| self.followers.now.0 == LiveState::Speaking);
        Following {
            now: [self.followers.state()].into_iter().chain(words).collect(),
            events: feed.events.subscribe(),
            audio,
        }
    }

    pub(super) fn say(&mut self, say: Say) {
        self.followers.says(&say);
        self.tell_stream(StreamMessage::Say(say));
    }

    pub(super) fn release(&self, speech: SpeechId) {
        self.followers.tell_words(speech);
        self.tell_stream(StreamMessage::Release(speech));
    }

    pub(super) fn listener_left(&self, by: &str) {
        self.record_event("listener_left", &json!({ "by": by }));
    }

    /// Notes what the call does after an event.
    pub(super) fn note_live_state(&mut self, machine: &State) {
        let state = live_state(machine.phase(), machine.runs_tool());
        if state != self.followers.now.0 {
            self.followers.now = (state, self.with.ports.clock.now());
            self.followers.tell(self.followers.state());
        }
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
        CallPhase::Closing | CallPhase::Ended => LiveState::Closing,
    }
}
