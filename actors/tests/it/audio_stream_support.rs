//! An audio stream on a scripted carrier. The phone's user speaks babble; the phone plays the audio it gets,
//! returns marks in time, and recognises what it played.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use actors::{
    audio_stream::{AudioStreamActor, Say, SpeechId, StreamArguments, StreamEvent, StreamMessage, StreamSettings},
    supervision::Reports,
};
use domain::{
    agent::Agent,
    id::AttemptId,
    ports::{
        media_leg::{InboundItem, InboundQueue, LegAbilities, MediaLeg, OutboundItem},
        synthesizer::{SpeechPiece, SpeechStream, Synthesizer, Voice as CallVoice, VoiceConfig, WordEnd},
        transcriber::{Transcriber, TranscriberConfig, TranscriptEvent, TranscriptSink, TranscriptStream},
        usage::Meter,
    },
    time::TokioClock,
};
use futures_util::{StreamExt, stream};
use media::{
    babble::{Listener, ListenerEvent, Speaker, Transcript, Voice},
    codec,
    format::{Encoding, LineFormat},
    session::Manner,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use testkit::{
    fake_ports::{CLOCK_START, FakePorts},
    fake_speech::FakeRecordings,
    memory_store::MemoryStore,
};
use tokio::{sync::mpsc, task::JoinHandle, time::Instant};

pub const CARRIER: LegAbilities = LegAbilities {
    buffers: true,
    marks: true,
    clear: true,
    digits: false,
};

/// A text whose synthesis never ends.
pub const STALLS: &str = "stalls";

/// A tts that speaks babble in pieces of 100 ms.
pub struct BabbleVoice;

impl Synthesizer for BabbleVoice {
    fn open(&self, config: VoiceConfig) -> Box<dyn CallVoice> {
        Box::new(BabbleTts {
            sample_rate: config.sample_rate,
        })
    }
}

struct BabbleTts {
    sample_rate: u32,
}

impl CallVoice for BabbleTts {
    fn speak(&mut self, text: String) -> SpeechStream {
        if text == STALLS {
            return stream::pending().boxed();
        }
        let mut speaker = Speaker::new(&text, Voice::new(120.0), self.sample_rate).unwrap();
        let words = speaker.words().iter().map(|word| WordEnd {
            text_end: word.text_end,
            sample_end: word.sample_end,
        });
        let mut words: VecDeque<_> = words.collect();
        let (mut done, mut pieces) = (0, Vec::new());
        while let Some(samples) = speaker.next_chunk(800) {
            done += samples.len() as u64;
            let ended = words.iter().take_while(|word| word.sample_end <= done).count();
            let words = words.drain(..ended).collect();
            pieces.push(Ok(SpeechPiece { samples, words }));
        }
        stream::iter(pieces).boxed()
    }
}

/// A recogniser that understands babble at once.
pub struct BabbleStt;

struct BabbleRecogniser {
    listener: Listener,
    transcript: Transcript,
    sink: TranscriptSink,
}

impl Transcriber for BabbleStt {
    fn sample_rate(&self, _line_rate: u32) -> u32 {
        8_000
    }

    fn open(&self, _config: TranscriberConfig, sink: TranscriptSink) -> Box<dyn TranscriptStream> {
        let (listener, transcript) = (Listener::new(), Transcript::default());
        Box::new(BabbleRecogniser {
            listener,
            transcript,
            sink,
        })
    }
}

impl BabbleRecogniser {
    fn tell(&mut self, heard: Vec<ListenerEvent>) {
        for heard in heard {
            match self.transcript.take(heard) {
                Some(done) => (self.sink)(TranscriptEvent::Final {
                    text: done.text,
                    damaged: done.damaged,
                }),
                None => (self.sink)(TranscriptEvent::Interim {
                    text: self.transcript.so_far(),
                }),
            }
        }
    }
}

impl TranscriptStream for BabbleRecogniser {
    fn push(&mut self, samples: &[i16]) {
        let mut heard = Vec::new();
        self.listener.push(samples, &mut heard);
        self.tell(heard);
    }

    fn finalize(&mut self) {
        let mut heard = Vec::new();
        self.listener.finish(&mut heard);
        self.tell(heard);
    }
}

/// Record of the phone.
#[derive(Default)]
pub struct Seen {
    buffer: VecDeque<u8>,
    marks: VecDeque<(u64, String)>,
    received: u64,
    played: u64,
    pub heard_audio: Vec<i16>,
    to_say: VecDeque<i16>,
    pub hung_up: bool,
    pub clears: Vec<u64>,
    pub keys: String,
    pub closed: bool,
    /// Whether it stops reading the audio sent to it.
    pub stuck: bool,
    /// Whether the network holds its frames back, to deliver them one after the other later.
    pub held_up: bool,
    late: Vec<Vec<u8>>,
    silent_ms: u64,
    pub gaps_ms: Vec<u64>,
    events: Vec<(u64, StreamEvent)>,
}

impl Seen {
    fn play(&mut self) -> Vec<String> {
        let playing = self.buffer.len().min(160);
        self.played += playing as u64;
        let bytes: Vec<u8> = self.buffer.drain(..playing).collect();
        if playing > 0 {
            if !self.heard_audio.is_empty() && self.silent_ms > 0 {
                self.gaps_ms.push(self.silent_ms);
            }
            self.silent_ms = 0;
        }
        self.silent_ms += 20 - playing as u64 / 8;
        codec::decode(Encoding::MuLaw, &bytes, &mut self.heard_audio);
        let mut returned = Vec::new();
        while self.marks.front().is_some_and(|(position, _)| *position <= self.played) {
            returned.extend(self.marks.pop_front().map(|(_, name)| name));
        }
        returned
    }

    fn take(&mut self, item: OutboundItem, now_ms: u64) -> Vec<String> {
        match item {
            OutboundItem::Audio(audio) => {
                self.received += audio.len() as u64;
                self.buffer.extend(audio);
            }
            OutboundItem::Mark(name) => self.marks.push_back((self.received, name)),
            OutboundItem::Clear => {
                self.clears.push(now_ms);
                self.played += self.buffer.len() as u64;
                self.buffer.clear();
                return self.marks.drain(..).map(|(_, name)| name).collect();
            }
            OutboundItem::Digit(key) => self.keys.push(key),
            OutboundItem::Close => self.closed = true,
        }
        Vec::new()
    }
}

/// The stream, its phone and its reported events.
pub struct Phone {
    pub stream: ActorRef<StreamMessage>,
    pub stopped: JoinHandle<()>,
    pub inbound: Arc<InboundQueue>,
    pub recordings: FakeRecordings,
    seen: Arc<Mutex<Seen>>,
    started: Instant,
}

struct Probe(Arc<Mutex<Seen>>, Instant);

impl Actor for Probe {
    type Msg = StreamEvent;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _me: ActorRef<StreamEvent>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _me: ActorRef<StreamEvent>,
        message: StreamEvent,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        let at_ms = self.1.elapsed().as_millis() as u64;
        self.0.lock().unwrap().events.push((at_ms, message));
        Ok(())
    }
}

impl Phone {
    pub async fn answer() -> Self {
        Self::with(Agent::default(), CARRIER, StreamSettings::default()).await
    }

    pub async fn with(agent: Agent, abilities: LegAbilities, settings: StreamSettings) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let inbound = Arc::new(InboundQueue::default());
        let (outbound, receiver) = mpsc::channel(32);
        let clock = Arc::new(TokioClock::starting_at(CLOCK_START));
        let fakes = FakePorts::with_clock(Arc::new(MemoryStore::new(clock.clone())), clock);
        let mut ports = fakes.ports();
        ports.transcriber = Arc::new(BabbleStt);
        ports.synthesizer = Arc::new(BabbleVoice);
        let started = Instant::now();
        let (call, _) = Actor::spawn(None, Probe(seen.clone(), started), ()).await.unwrap();
        let leg = MediaLeg {
            call: None,
            format: LineFormat::MULAW_8000,
            abilities,
            inbound: inbound.clone(),
            outbound,
        };
        let arguments = StreamArguments {
            leg,
            attempt: AttemptId::new(),
            agent: Arc::new(agent),
            ports,
            call: Reports::to(&call, |event| event),
            settings,
            meter: Meter::default(),
            likely: Vec::new(),
            feed: None,
        };
        let (stream, stopped) = Actor::spawn(None, AudioStreamActor, arguments).await.unwrap();
        tokio::spawn(run(seen.clone(), inbound.clone(), receiver, started));
        let recordings = fakes.recordings;
        Self {
            stream,
            stopped,
            inbound,
            recordings,
            seen,
            started,
        }
    }

    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    pub fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// Lets the agent speak.
    pub fn say(&self, speech: u64, text: &str, last: bool, protected: bool) {
        let (speech, text) = (SpeechId(speech), text.to_owned());
        let say = StreamMessage::Say(Say {
            speech,
            text,
            manner: Manner::default(),
            last,
            protected,
            held: false,
        });
        // The stream may have stopped.
        let _ = self.stream.cast(say);
    }

    /// Lets the agent prepare a held speech.
    pub fn hold(&self, speech: u64, text: &str) {
        let say = StreamMessage::Say(Say {
            speech: SpeechId(speech),
            text: text.to_owned(),
            manner: Manner::default(),
            last: true,
            protected: false,
            held: true,
        });
        // The stream may have stopped.
        let _ = self.stream.cast(say);
    }

    /// Lets the user say this now. Returns how long it takes.
    pub fn user_says(&self, text: &str) -> u64 {
        let mut speaker = Speaker::new(text, Voice::new(150.0), 8_000).unwrap();
        let ms = speaker.total_samples() / 8;
        let mut seen = self.seen();
        while let Some(samples) = speaker.next_chunk(8_000) {
            seen.to_say.extend(samples);
        }
        ms
    }

    pub fn events(&self) -> Vec<(u64, StreamEvent)> {
        self.seen().events.clone()
    }

    pub fn count(&self, wanted: impl Fn(&StreamEvent) -> bool) -> usize {
        self.events().iter().filter(|(_, event)| wanted(event)).count()
    }

    pub fn first<T>(&self, wanted: impl Fn(&StreamEvent) -> Option<T>) -> Option<(u64, T)> {
        self.events().iter().find_map(|(at, event)| Some((*at, wanted(event)?)))
    }

    /// Returns the words recognised in what the phone played.
    pub fn understood(&self) -> String {
        let (mut listener, mut transcript) = (Listener::new(), Transcript::default());
        let mut heard = Vec::new();
        listener.push(&self.seen().heard_audio, &mut heard);
        listener.push(&[0; 4_000], &mut heard);
        let mut text: Vec<String> = heard
            .into_iter()
            .filter_map(|h| transcript.take(h))
            .map(|u| u.text)
            .collect();
        text.push(transcript.so_far());
        text.retain(|part| !part.trim().is_empty());
        text.join(" ")
    }
}

pub async fn wait(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

async fn run(
    seen: Arc<Mutex<Seen>>,
    inbound: Arc<InboundQueue>,
    mut outbound: mpsc::Receiver<OutboundItem>,
    started: Instant,
) {
    let mut frames = tokio::time::interval(Duration::from_millis(20));
    loop {
        let item = tokio::select! {
            _ = frames.tick() => None,
            item = outbound.recv(), if !seen.lock().unwrap().stuck => match item {
                Some(item) => Some(item),
                None => return,
            },
        };
        let late = match &mut *seen.lock().unwrap() {
            seen if seen.held_up => Vec::new(),
            seen => std::mem::take(&mut seen.late),
        };
        for frame in late {
            inbound.push(InboundItem::Audio(frame));
            tokio::task::yield_now().await;
        }
        let mut seen = seen.lock().unwrap();
        if seen.hung_up {
            return;
        }
        let returned = match item {
            Some(item) => seen.take(item, started.elapsed().as_millis() as u64),
            None => {
                let said = seen.to_say.len().min(160);
                let mut frame: Vec<i16> = seen.to_say.drain(..said).collect();
                frame.resize(160, 0);
                let mut bytes = Vec::new();
                codec::encode(Encoding::MuLaw, &frame, &mut bytes);
                match seen.held_up {
                    true => seen.late.push(bytes),
                    false => inbound.push(InboundItem::Audio(bytes)),
                }
                seen.play()
            }
        };
        returned
            .into_iter()
            .for_each(|name| inbound.push(InboundItem::Mark(name)));
    }
}
