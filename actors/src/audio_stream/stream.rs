//! The audio stream's handling of messages: it feeds the session and carries out the session's requests.

mod adopting;
mod feeding;
mod operator;

use std::{sync::Arc, time::Duration};

use media::{
    session::{AudioSession, LineOutput, SessionConfig, SessionError, SessionEvent},
    turn::endpointing::Told,
};
use ractor::ActorRef;
use tokio::time::Instant;

use self::{
    adopting::{Providers, hears},
    operator::OperatorSide,
};
use super::{
    FRAME_DELAYS, StreamArguments, StreamEvent, StreamMessage, StreamSnapshot,
    deadline::Deadline,
    outbox::{Outbox, SocketLost},
    synthesis::Synthesis,
    terms::{abilities, pause_policy, recogniser_format, transcribe},
    transcript_queue::TranscriptQueue,
    voices::Voices,
};
use crate::{live_feed::LiveFeed, supervision::Reports};
use domain::{
    history::Speaker,
    ports::{
        media_leg::{Drained, InboundItem, InboundQueue, OutboundItem},
        recordings::RecordingSink,
        synthesizer::{SpeechError, SpeechPiece},
        transcriber::{TranscriptEvent, TranscriptStream},
    },
};

/// Time in milliseconds for which a stream that was told to close may go on playing its remaining audio.
const CLOSE_WITHIN_MS: u64 = 20_000;

/// Time for which the first frame after a silence waits for more. Frames held up by the network arrive within
/// milliseconds of each other.
const BURST: Duration = Duration::from_millis(30);

/// Lead over real time, in milliseconds, above which the socket is not taken for a telephone call.
const MOST_LEAD_MS: u64 = 5_000;

pub(super) struct Stream {
    me: ActorRef<StreamMessage>,
    call: Reports<StreamEvent>,
    started: Instant,
    session: AudioSession,
    inbound: Arc<InboundQueue>,
    items: Vec<InboundItem>,
    audio: Vec<u8>,
    outbox: Outbox,
    /// The socket takes keys to press.
    presses: bool,
    providers: Providers,
    voices: Voices,
    synthesis: Option<Synthesis>,
    transcript: Option<Box<dyn TranscriptStream>>,
    heard: Arc<TranscriptQueue>,
    operator: Option<OperatorSide>,
    recording: Option<Box<dyn RecordingSink>>,
    feed: Option<LiveFeed>,
    deadline: Deadline,
    /// Time since which the stream is to close.
    closing_ms: Option<u64>,
    over: bool,
    /// The line was silent. The frames that have arrived since wait for the rest of those held up.
    resuming: bool,
    frames_in: u64,
    frames_dropped: u64,
}

impl Stream {
    /// Connects to the socket. From here on its items wake the actor.
    pub(super) fn open(arguments: StreamArguments, me: ActorRef<StreamMessage>) -> Result<Self, SessionError> {
        let StreamArguments {
            leg,
            attempt,
            agent,
            ports,
            call,
            settings,
            meter,
            likely,
            feed,
        } = arguments;
        let line_rate = leg.format.sample_rate;
        let recogniser = recogniser_format(&*ports.transcriber, &agent, line_rate);
        let recording = match agent.platform_settings.privacy.record_voice {
            true => ports.recordings.open(attempt, line_rate),
            false => None,
        };
        let config = SessionConfig {
            format: leg.format,
            abilities: abilities(&leg),
            recogniser_rate: recogniser.sample_rate,
            pause: pause_policy(&agent.conversation_config.turn, settings),
            record: recording.is_some(),
        };
        let mut session = AudioSession::new(&config)?;
        // The session looks for machines on every call.
        session.find_out_who_answered();
        let (transcript, heard) = transcribe(&*ports.transcriber, &agent, (recogniser, meter.clone()), &me);
        let providers = Providers {
            transcriber: ports.transcriber.clone(),
            line_rate,
            encoding: leg.format.encoding,
            meter: meter.clone(),
            settings,
            hears: hears(&agent, recogniser),
            agent: agent.clone(),
        };
        let waker = me.clone();
        leg.inbound.set_waker(Box::new(move || {
            // The actor may be gone.
            let _ = waker.cast(StreamMessage::InboundWaits);
        }));
        let voices = Voices::open(ports.synthesizer, agent, (line_rate, meter), &likely);
        let started = Instant::now();
        Ok(Self {
            call,
            started,
            session,
            inbound: leg.inbound,
            items: Vec::new(),
            audio: Vec::new(),
            outbox: Outbox::new(leg.outbound),
            presses: leg.abilities.digits,
            providers,
            voices,
            synthesis: None,
            transcript: Some(transcript),
            heard,
            operator: None,
            recording,
            feed,
            deadline: Deadline::new(started, me.clone()),
            me,
            closing_ms: None,
            over: false,
            resuming: false,
            frames_in: 0,
            frames_dropped: 0,
        })
    }

    /// Returns whether the actor should stop.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Handles a message and performs the resulting work.
    pub(super) fn handle(&mut self, message: StreamMessage) {
        if self.over {
            return;
        }
        self.take(message);
        self.perform();
    }

    /// Writes the rest of the recording and closes it.
    pub(super) fn finish(&mut self) {
        self.session.tick(self.now_ms());
        if let Some(mut recording) = self.recording.take() {
            recording.write(self.session.take_recording(true));
        }
        self.synthesis = None;
        self.transcript = None;
    }

    fn take(&mut self, message: StreamMessage) {
        let now_ms = self.now_ms();
        match message {
            StreamMessage::Say(say) => self.session.say(say, now_ms),
            StreamMessage::Release(speech) => self.session.release(speech, now_ms),
            StreamMessage::Press(keys) if self.presses => {
                let keys = keys.chars().filter(|key| *key != 'w');
                keys.for_each(|key| self.outbox.push(OutboundItem::Digit(key)));
            }
            StreamMessage::Press(keys) => self.session.press(&keys, now_ms),
            StreamMessage::Adopt(agent) => self.adopt(&agent),
            StreamMessage::OperatorJoins(leg) => self.operator_joins(leg, now_ms),
            StreamMessage::OperatorLeaves => self.operator_leaves(now_ms),
            StreamMessage::OperatorWaits => self.operator_waits(now_ms),
            StreamMessage::StopSpeaking => self.session.stop_speaking(now_ms),
            StreamMessage::AllowBargeIn(allowed) => self.session.allow_barge_in(allowed, now_ms),
            StreamMessage::Close => self.closing_ms = self.closing_ms.or(Some(now_ms)),
            StreamMessage::Feed(feed) => self.feed = Some(feed),
            StreamMessage::InboundWaits => self.drain(now_ms),
            StreamMessage::Synthesized { generation, piece } => self.synthesized(generation, piece, now_ms),
            StreamMessage::TranscriptWaits => {
                for event in self.heard.drain() {
                    self.transcribed(event, now_ms);
                    self.perform();
                }
                self.operator_transcribed(now_ms);
            }
            StreamMessage::Deadline { generation } => {
                if self.deadline.fired(generation) {
                    self.session.tick(now_ms);
                }
            }
            StreamMessage::Inspect(reply) => {
                // The requester may have given up.
                let _ = reply.send(StreamSnapshot {
                    frames_in: self.frames_in,
                    frames_dropped: self.frames_dropped,
                    ahead_ms: self.session.ahead_ms(),
                });
            }
            #[cfg(feature = "testkit")]
            StreamMessage::Sabotage => sabotage(),
        }
    }

    /// Empties the queue. Frames that arrived together are passed to the session as one.
    fn drain(&mut self, now_ms: u64) {
        if self.session.is_stalled(now_ms) && !std::mem::replace(&mut self.resuming, true) {
            // The queue sends no further notice until it is emptied.
            self.me.send_after(BURST, || StreamMessage::InboundWaits);
            return;
        }
        self.resuming = false;
        let mut items = std::mem::take(&mut self.items);
        let Drained { dropped, oldest } = self.inbound.drain_all(&mut items);
        if dropped > 0 {
            self.frames_dropped += dropped;
            tracing::warn!(dropped, "inbound audio dropped");
        }
        let (mut closed, mut marks) = (None, Vec::new());
        for item in items.drain(..) {
            match item {
                InboundItem::Audio(audio) => {
                    self.frames_in += 1;
                    self.audio.extend_from_slice(&audio);
                }
                InboundItem::Mark(name) => marks.push(name),
                InboundItem::Digit(digit) => self.report(StreamEvent::Digit(digit)),
                InboundItem::Closed { clean } => closed = closed.or(Some(clean)),
            }
        }
        self.receive(now_ms);
        if let Some(oldest) = oldest {
            FRAME_DELAYS.record(oldest.elapsed());
        }
        for mark in marks {
            self.session.mark(&mark, now_ms);
        }
        self.items = items;
        if let Some(clean) = closed {
            self.media_closed(clean);
        } else if self.session.lead_ms() > MOST_LEAD_MS {
            tracing::warn!("media socket closed: audio too far ahead of real time");
            self.media_closed(false);
        }
    }

    fn receive(&mut self, now_ms: u64) {
        if !self.audio.is_empty() {
            if let Some(operator) = &self.operator {
                self.operator_hears(operator, &self.audio);
            }
            self.session.receive(&self.audio, now_ms);
            self.audio.clear();
        }
    }

    fn synthesized(&mut self, generation: u64, piece: Option<Result<SpeechPiece, SpeechError>>, now_ms: u64) {
        match piece {
            Some(Ok(piece)) => {
                if let Some(synthesis) = self.synthesis.as_mut().filter(|s| s.generation() == generation) {
                    synthesis.taken();
                }
                self.session
                    .synthesized(generation, &piece.samples, &piece.words, now_ms);
            }
            Some(Err(error)) => {
                if let Some(speech) = self.session.synthesis_failed(generation, now_ms) {
                    self.report(StreamEvent::SpeechFailed { speech, error });
                }
            }
            None => self.session.synthesis_ended(generation, now_ms),
        }
    }

    fn transcribed(&mut self, event: TranscriptEvent, now_ms: u64) {
        match event {
            TranscriptEvent::Failed(error) => {
                if self.transcript.take().is_some() {
                    self.report(StreamEvent::DeafnessBegan(error));
                }
            }
            event => {
                let words = self.feed.as_ref().and_then(|_| words_of(&event));
                take_words(&mut self.session, event, now_ms);
                if let Some((text, is_final)) = words {
                    self.feed_words(Speaker::User, text, is_final);
                }
            }
        }
    }

    /// Carries out everything the session requests.
    fn perform(&mut self) {
        if self.over {
            return;
        }
        let now_ms = self.now_ms();
        feed(&mut self.session, &mut self.transcript);
        let operator = self.attend_operator(now_ms);
        self.report_events();
        self.synthesize();
        while let Some(output) = self.session.poll_output() {
            self.outbox.push(match output {
                LineOutput::Audio(audio) => OutboundItem::Audio(audio),
                LineOutput::Mark(name) => OutboundItem::Mark(name),
                LineOutput::Clear => {
                    self.inbound.clear_decided();
                    OutboundItem::Clear
                }
            });
        }
        self.record();
        self.feed_audio();
        let closing = self.close_when_quiet(now_ms);
        if self.outbox.flush(now_ms) == Err(SocketLost) {
            self.media_closed(false);
            return;
        }
        if closing && self.outbox.is_flushed() {
            self.wind_up();
            return;
        }
        let wanted = [
            self.session.next_deadline(),
            self.outbox.retry_at_ms(now_ms),
            self.close_by_ms(),
            operator,
        ];
        self.deadline.arm(wanted.into_iter().flatten().min());
    }

    fn report_events(&mut self) {
        while let Some(event) = self.session.poll_event() {
            match event {
                SessionEvent::FinalWanted => {
                    if let Some(transcript) = &mut self.transcript {
                        transcript.finalize();
                    }
                }
                event => self.report(event.into()),
            }
        }
    }

    fn synthesize(&mut self) {
        let wanted = self.session.synthesis();
        if self.synthesis.as_ref().is_some_and(|s| Some(s.generation()) != wanted) {
            self.synthesis = None;
        }
        if let Some(job) = self.session.next_text() {
            let generation = job.generation;
            let pieces = self.voices.speak(job);
            self.synthesis = Some(Synthesis::start(generation, pieces, self.me.clone()));
        }
        if let Some(synthesis) = self.synthesis.as_mut()
            && synthesis.is_withheld()
            && !self.session.is_well_ahead()
        {
            synthesis.release();
        }
    }

    fn record(&mut self) {
        if let Some(recording) = &mut self.recording {
            let samples = self.session.take_recording(false);
            if !samples.is_empty() {
                recording.write(samples);
            }
        }
    }

    /// Closes the socket once nothing is left to play or the time limit has passed. Returns whether it did.
    fn close_when_quiet(&mut self, now_ms: u64) -> bool {
        let due = self
            .close_by_ms()
            .is_some_and(|at_ms| self.session.is_quiet() || now_ms >= at_ms);
        if due {
            self.outbox.push(OutboundItem::Close);
        }
        due
    }

    fn close_by_ms(&self) -> Option<u64> {
        self.closing_ms.map(|since_ms| since_ms + CLOSE_WITHIN_MS)
    }

    fn media_closed(&mut self, clean: bool) {
        if self.over {
            return;
        }
        if !clean {
            self.report(StreamEvent::LineDied);
        }
        self.wind_up();
        self.report(StreamEvent::MediaClosed { clean });
    }

    /// Ends the stream: reports what was said and heard so far.
    fn wind_up(&mut self) {
        self.over = true;
        self.end_operator(self.now_ms());
        self.session.close(self.now_ms());
        self.report_events();
    }

    fn report(&self, event: StreamEvent) {
        // The call may be over.
        self.call.send(event);
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Passes a session's samples on to its recogniser.
fn feed(session: &mut AudioSession, transcript: &mut Option<Box<dyn TranscriptStream>>) {
    let samples = session.recogniser_samples();
    let Some(transcript) = transcript else {
        samples.clear();
        return;
    };
    if !samples.is_empty() {
        transcript.push(samples);
    }
    samples.clear();
    if session.voice_began() {
        transcript.speech_started();
    }
    session.recogniser(transcript.capabilities());
}

/// Returns the words of a recogniser's event, and whether they stay.
fn words_of(event: &TranscriptEvent) -> Option<(String, bool)> {
    match event {
        TranscriptEvent::Interim { text } => Some((text.clone(), false)),
        TranscriptEvent::Final { text, .. } => Some((text.clone(), true)),
        _ => None,
    }
}

/// Passes a recogniser's event on to its session, unless the recogniser failed.
fn take_words(session: &mut AudioSession, event: TranscriptEvent, now_ms: u64) {
    match event {
        TranscriptEvent::Interim { text } => session.interim(&text, now_ms),
        TranscriptEvent::Final { text, damaged } => session.settled(&text, damaged, now_ms),
        TranscriptEvent::TurnEnded => session.told(Told::Ended, now_ms),
        TranscriptEvent::TurnPaused => session.told(Told::Paused, now_ms),
        TranscriptEvent::TurnResumed => session.told(Told::Resumed, now_ms),
        TranscriptEvent::Failed(_) => {}
    }
}

#[cfg(feature = "testkit")]
#[expect(clippy::panic, reason = "tests of supervision ask for it")]
fn sabotage() {
    panic!("sabotaged");
}
