//! An audio stream without audio. It speaks at a known speed, reports what was heard, and plays the user's
//! part on the test's command.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use media::{
    amd::{Finding, Reason, Verdict},
    turn::endpointing::Utterance,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{task::AbortHandle, time::Instant};

use actors::{
    audio_stream::{OperatorLeg, Say, SessionEvent, SpeechId, StreamEvent, StreamMessage},
    call::CallMessage,
};
use domain::ports::synthesizer::SpeechError;
use testkit::fake_speech::MS_PER_BYTE;

#[derive(Default)]
struct Seen {
    call: Option<ActorRef<CallMessage>>,
    opened: Option<Instant>,
    said: Vec<String>,
    protected: Vec<String>,
    barge_in: Vec<bool>,
    closed: bool,
    pressed: Vec<String>,
    failures: usize,
    present: Option<Playing>,
    heard_of: Option<SpeechId>,
    operator: Option<OperatorLeg>,
}

struct Playing {
    speech: SpeechId,
    text: String,
    started: Instant,
    end: Option<AbortHandle>,
    /// Whether it may not be heard yet.
    held: bool,
    last: bool,
}

/// The test's handle to the stream.
#[derive(Clone, Default)]
pub struct ScriptedStream(Arc<Mutex<Seen>>);

/// The actor.
pub struct ScriptedStreamActor(pub ScriptedStream);

impl ScriptedStream {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the call to which it reports.
    pub fn attach(&self, call: ActorRef<CallMessage>) {
        self.seen().call = Some(call);
    }

    /// Makes the next `count` speeches fail.
    pub fn fail_speeches(&self, count: usize) {
        self.seen().failures = count;
    }

    /// Returns everything it was told to say, one text per speech.
    pub fn said(&self) -> Vec<String> {
        self.seen().said.clone()
    }

    /// Returns the texts that were protected.
    pub fn protected(&self) -> Vec<String> {
        self.seen().protected.clone()
    }

    /// Returns the held text that waits for its release.
    pub fn held(&self) -> Option<String> {
        let seen = self.seen();
        let held = seen.present.as_ref().filter(|playing| playing.held)?;
        Some(held.text.clone())
    }

    /// Returns the values of all `AllowBargeIn` messages.
    pub fn barge_in_allowed(&self) -> Vec<bool> {
        self.seen().barge_in.clone()
    }

    /// Returns whether it was told to close.
    pub fn closed(&self) -> bool {
        self.seen().closed
    }

    /// Returns the keys of all `Press` messages.
    pub fn pressed(&self) -> Vec<String> {
        self.seen().pressed.clone()
    }

    /// Lets its socket die. The current speech ends, and another stream may replace this one.
    pub fn dies(&self) {
        self.report(StreamEvent::LineDied);
        if let Some((speech, heard)) = self.stop() {
            let at_ms = self.now_ms();
            self.report(StreamEvent::Session(SessionEvent::SpeakingEnded {
                speech,
                heard,
                at_ms,
            }));
        }
        self.seen().opened = None;
        self.report(StreamEvent::MediaClosed { clean: false });
    }

    /// Reports an event.
    pub fn report(&self, event: StreamEvent) {
        if let Some(call) = self.seen().call.clone() {
            // The call may be over.
            let _ = call.cast(CallMessage::Stream { number: 1, event });
        }
    }

    /// Returns the milliseconds since the stream opened.
    pub fn now_ms(&self) -> u64 {
        let opened = self.seen().opened;
        opened.map_or(0, |at| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Lets the user begin to speak.
    pub fn user_begins(&self) {
        self.report(StreamEvent::Session(SessionEvent::SpeechStarted {
            at_ms: self.now_ms(),
        }));
    }

    /// Ends the user's words, which took `spoken_ms`. Empty text stands for voice without understood words.
    pub fn user_ends(&self, text: &str, spoken_ms: u64) {
        let ended_ms = self.now_ms();
        self.report(StreamEvent::Session(SessionEvent::UtteranceEnded(Utterance {
            text: text.to_owned(),
            damaged: text.is_empty(),
            started_ms: ended_ms.saturating_sub(spoken_ms),
            ended_ms,
            final_ms: Some(ended_ms),
        })));
    }

    /// Returns whether an operator speaks in place of the agent.
    pub fn has_operator(&self) -> bool {
        self.seen().operator.is_some()
    }

    /// Lets an operator say something.
    pub fn operator_says(&self, text: &str) {
        let ended_ms = self.now_ms();
        self.report(StreamEvent::OperatorSaid(Utterance {
            text: text.to_owned(),
            damaged: false,
            started_ms: ended_ms.saturating_sub(500),
            ended_ms,
            final_ms: None,
        }));
    }

    /// Reports a verdict on who answered.
    pub fn finds(&self, verdict: Verdict, reason: Reason) {
        let at_ms = self.now_ms();
        self.report(StreamEvent::Session(SessionEvent::Amd(Finding {
            verdict,
            reason,
            at_ms,
        })));
    }

    /// Lets the user's voice stop, with these words so far.
    pub fn user_pauses(&self, text: &str) {
        let (text, at_ms) = (text.to_owned(), self.now_ms());
        self.report(StreamEvent::Session(SessionEvent::TurnPaused { text, at_ms }));
    }

    /// Lets the user go on.
    pub fn user_resumes(&self) {
        self.report(StreamEvent::Session(SessionEvent::TurnResumed { at_ms: self.now_ms() }));
    }

    /// Lets the user speak for `spoken_ms`.
    pub async fn user_says(&self, text: &str, spoken_ms: u64) {
        self.user_begins();
        tokio::time::sleep(Duration::from_millis(spoken_ms)).await;
        self.user_ends(text, spoken_ms);
    }

    /// Lets the user interrupt now: the words played so far are reported and the rest is dropped.
    pub fn interrupt(&self) {
        self.user_begins();
        if let Some((speech, heard)) = self.stop() {
            let at_ms = self.now_ms();
            self.report(StreamEvent::Session(SessionEvent::BargedIn { speech, heard, at_ms }));
        }
    }

    fn stop(&self) -> Option<(SpeechId, String)> {
        let playing = self.seen().present.take()?;
        if let Some(end) = playing.end {
            end.abort();
        }
        if playing.held {
            return None;
        }
        let played = usize::try_from(playing.started.elapsed().as_millis() as u64 / MS_PER_BYTE).unwrap_or(usize::MAX);
        let text = &playing.text;
        let end = (0..=played.min(text.len()))
            .rev()
            .find(|at| text.is_char_boundary(*at) && (*at == text.len() || text[*at..].starts_with(' ')))
            .unwrap_or(0);
        Some((playing.speech, text[..end].to_owned()))
    }

    fn begin(&self, speech: SpeechId, held: bool) {
        let mut seen = self.seen();
        seen.heard_of = Some(speech);
        seen.present = Some(Playing {
            speech,
            text: String::new(),
            started: Instant::now(),
            end: None,
            held,
            last: false,
        });
        drop(seen);
        if !held {
            self.audible(speech);
        }
    }

    fn audible(&self, speech: SpeechId) {
        self.seen().said.push(String::new());
        let at_ms = self.now_ms();
        self.report(StreamEvent::Session(SessionEvent::SpeakingStarted {
            speech,
            at_ms,
            audio_ms: Some(at_ms),
        }));
    }

    fn release(&self, speech: SpeechId) {
        let released = self.seen().present.take_if(|playing| playing.speech == speech);
        if let Some(playing) = released {
            self.begin(speech, false);
            self.more(speech, &playing.text, playing.last, false);
        }
    }

    fn more(&self, speech: SpeechId, text: &str, last: bool, protected: bool) {
        let mut seen = self.seen();
        if let Some(playing) = seen.present.as_mut().filter(|playing| playing.held) {
            playing.text.push_str(text);
            playing.last |= last;
            return;
        }
        if let Some(said) = seen.said.last_mut() {
            said.push_str(text);
        }
        let whole = seen.said.last().cloned().unwrap_or_default();
        if protected {
            seen.protected.push(whole.clone());
        }
        if let Some(playing) = &mut seen.present {
            playing.text.push_str(text);
        }
        if last && seen.failures > 0 {
            seen.failures -= 1;
            seen.present = None;
            drop(seen);
            let error = SpeechError::Unavailable("scripted".into());
            self.report(StreamEvent::SpeechFailed { speech, error });
        } else if last {
            self.end_after(&mut seen, whole.len() as u64 * MS_PER_BYTE);
        }
    }

    fn end_after(&self, seen: &mut Seen, ms: u64) {
        let Some(playing) = &mut seen.present else { return };
        let (speech, end) = (playing.speech, playing.started + Duration::from_millis(ms));
        let stream = self.clone();
        let task = tokio::spawn(async move {
            tokio::time::sleep_until(end).await;
            let heard = stream.seen().present.take().map(|playing| playing.text);
            let at_ms = stream.now_ms();
            let heard = heard.unwrap_or_default();
            stream.report(StreamEvent::Session(SessionEvent::SpeakingEnded {
                speech,
                heard,
                at_ms,
            }));
        });
        playing.end = Some(task.abort_handle());
    }
}

impl Actor for ScriptedStreamActor {
    type Msg = StreamMessage;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _me: ActorRef<StreamMessage>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _me: ActorRef<StreamMessage>,
        message: StreamMessage,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        match message {
            StreamMessage::Say(Say {
                speech,
                text,
                manner: _,
                last,
                protected,
                held,
            }) => {
                let new = self.0.seen().heard_of != Some(speech);
                if new {
                    self.0.begin(speech, held);
                }
                self.0.more(speech, &text, last, protected);
            }
            StreamMessage::Release(speech) => self.0.release(speech),
            StreamMessage::OperatorLeaves => {
                self.0.seen().operator = None;
                self.0.report(StreamEvent::OperatorSilent);
            }
            message @ (StreamMessage::StopSpeaking | StreamMessage::OperatorJoins(_)) => {
                if let StreamMessage::OperatorJoins(leg) = message {
                    self.0.seen().operator = Some(leg);
                }
                if let Some((speech, heard)) = self.0.stop() {
                    let at_ms = self.0.now_ms();
                    self.0.report(StreamEvent::Session(SessionEvent::SpeakingEnded {
                        speech,
                        heard,
                        at_ms,
                    }));
                }
            }
            StreamMessage::AllowBargeIn(allow) => {
                let mut seen = self.0.seen();
                seen.opened.get_or_insert_with(Instant::now);
                seen.barge_in.push(allow);
            }
            StreamMessage::Press(keys) => self.0.seen().pressed.push(keys),
            StreamMessage::Close => {
                self.0.seen().closed = true;
                self.0.report(StreamEvent::MediaClosed { clean: false });
            }
            _ => {}
        }
        Ok(())
    }
}
