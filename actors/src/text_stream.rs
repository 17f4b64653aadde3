//! Stands in for the audio stream of a call that is held in text: all that the agent says counts as heard at once.

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::time::Instant;

use crate::{
    audio_stream::{Say, SessionEvent, SpeechId, StreamEvent, StreamMessage, StreamSnapshot},
    supervision::Reports,
};

/// Takes the agent's words. The user's come to the call as commands.
pub struct TextStreamActor;

/// A speech of which more may come.
struct Speech {
    id: SpeechId,
    text: String,
}

/// State of the actor.
pub struct TextStream {
    call: Reports<StreamEvent>,
    started: Instant,
    speech: Option<Speech>,
    /// The newest speech so far.
    newest: Option<SpeechId>,
}

impl Actor for TextStreamActor {
    type Msg = StreamMessage;
    type State = TextStream;
    type Arguments = Reports<StreamEvent>;

    async fn pre_start(
        &self,
        _me: ActorRef<StreamMessage>,
        call: Reports<StreamEvent>,
    ) -> Result<TextStream, ActorProcessingErr> {
        Ok(TextStream {
            call,
            started: Instant::now(),
            speech: None,
            newest: None,
        })
    }

    async fn handle(
        &self,
        me: ActorRef<StreamMessage>,
        message: StreamMessage,
        state: &mut TextStream,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            StreamMessage::Say(say) => state.say(&say),
            StreamMessage::StopSpeaking => state.end_speech(),
            StreamMessage::Close => {
                state.end_speech();
                me.stop(None);
            }
            StreamMessage::Inspect(reply) => drop(reply.send(StreamSnapshot::default())),
            // There is no audio.
            _ => {}
        }
        Ok(())
    }
}

impl TextStream {
    fn say(&mut self, say: &Say) {
        let id = say.speech;
        if self.newest.is_none_or(|newest| id > newest) {
            self.end_speech();
            self.newest = Some(id);
            let text = String::new();
            self.speech = Some(Speech { id, text });
        }
        let at_ms = self.now_ms();
        let Some(speech) = self.speech.as_mut().filter(|speech| speech.id == id) else {
            return;
        };
        let begins = speech.text.is_empty() && !say.text.trim().is_empty();
        speech.text.push_str(&say.text);
        if begins {
            self.report(SessionEvent::SpeakingStarted {
                speech: id,
                at_ms,
                audio_ms: None,
            });
        }
        if say.last {
            self.end_speech();
        }
    }

    fn end_speech(&mut self) {
        if let Some(Speech { id, text }) = self.speech.take() {
            self.report(SessionEvent::SpeakingEnded {
                speech: id,
                heard: text,
                at_ms: self.now_ms(),
            });
        }
    }

    fn report(&self, event: SessionEvent) {
        // The call may be over.
        self.call.send(event.into());
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
