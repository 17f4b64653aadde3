//! Tests of barge-in with word times. In 200 random cuts, the text reported as heard ends at the word that
//! was playing, compared with the audio that the phone at the other end played.

use std::{collections::VecDeque, time::Duration};

use domain::ports::synthesizer::{SpeechError, SpeechPiece, SpeechStream, Voice};
use futures_util::{FutureExt, StreamExt};
use media::{
    babble, codec,
    format::{Encoding, LineFormat},
    playout::LineAbilities,
    session::{AudioSession, LineOutput, Manner, Say, SessionConfig, SessionEvent, SpeechId},
    turn::endpointing::PausePolicy,
};
use rand::{Rng, SeedableRng, rngs::StdRng};

use super::{World, understood};

const CUTS: u64 = 200;
const FRAME_MS: u64 = 20;

/// Allowed difference between our account and the phone: one frame in each direction.
const TOLERANCE_MS: usize = 40;

const TEXTS: [&str; 3] = [
    "Good morning, this is Ann from the parcel service.",
    "I am calling because nobody was at home when our driver came by on Tuesday afternoon.",
    "Would you rather have it brought again, or fetch it from the shop around the corner?",
];

/// Carrier that plays received audio and reports marks.
#[derive(Default)]
struct Phone {
    buffer: VecDeque<u8>,
    marks: VecDeque<(u64, String)>,
    received: u64,
    played: Vec<u8>,
}

impl Phone {
    fn take(&mut self, output: LineOutput) {
        match output {
            LineOutput::Audio(audio) => {
                self.received += audio.len() as u64;
                self.buffer.extend(audio);
            }
            LineOutput::Mark(name) => self.marks.push_back((self.received, name)),
            LineOutput::Clear => {
                self.buffer.clear();
                self.marks.clear();
                self.received = self.played.len() as u64;
            }
        }
    }

    fn play(&mut self, ms: u64) -> Vec<String> {
        let samples = (8 * ms as usize).min(self.buffer.len());
        self.played.extend(self.buffer.drain(..samples));
        let played = self.played.len() as u64;
        let reached = self.marks.iter().take_while(|(at, _)| *at <= played).count();
        self.marks.drain(..reached).map(|(_, name)| name).collect()
    }

    fn heard(&self, less_ms: usize) -> String {
        let mut samples = Vec::new();
        let audio = &self.played[..self.played.len().saturating_sub(8 * less_ms)];
        codec::decode(Encoding::MuLaw, audio, &mut samples);
        understood(&samples, 8_000).0
    }
}

struct Call {
    session: AudioSession,
    voice: Box<dyn Voice>,
    synthesis: Option<(u64, SpeechStream)>,
    phone: Phone,
    user: VecDeque<i16>,
    now_ms: u64,
    heard: Option<String>,
}

impl Call {
    fn new(world: &World) -> Self {
        let mut session = AudioSession::new(&SessionConfig {
            format: LineFormat::MULAW_8000,
            abilities: LineAbilities {
                buffers: true,
                marks: true,
                clear: true,
            },
            recogniser_rate: 8_000,
            pause: PausePolicy {
                base_ms: 450,
                fixed_ms: None,
                spelling_patience: true,
            },
            record: false,
        })
        .unwrap();
        session.allow_barge_in(true, 0);
        for (n, text) in TEXTS.into_iter().enumerate() {
            let say = Say {
                speech: SpeechId(1),
                text: text.to_owned(),
                manner: Manner::default(),
                last: n + 1 == TEXTS.len(),
                protected: false,
                held: false,
            };
            session.say(say, 0);
        }
        Self {
            session,
            voice: world.open(),
            synthesis: None,
            phone: Phone::default(),
            user: VecDeque::new(),
            now_ms: 0,
            heard: None,
        }
    }

    /// Does the work of the stream actor between two frames of the line.
    async fn step(&mut self) {
        tokio::time::sleep(Duration::from_millis(FRAME_MS)).await;
        self.now_ms += FRAME_MS;
        for name in self.phone.play(FRAME_MS) {
            self.session.mark(&name, self.now_ms);
        }
        let frame: Vec<i16> = (0..160).map(|_| self.user.pop_front().unwrap_or(0)).collect();
        let mut bytes = Vec::new();
        codec::encode(Encoding::MuLaw, &frame, &mut bytes);
        self.session.receive(&bytes, self.now_ms);
        self.session.recogniser_samples().clear();
        self.synthesize();
        while let Some(output) = self.session.poll_output() {
            self.phone.take(output);
        }
        while let Some(event) = self.session.poll_event() {
            if let SessionEvent::BargedIn { heard, .. } | SessionEvent::SpeakingEnded { heard, .. } = event {
                self.heard = Some(heard);
            }
        }
    }

    fn synthesize(&mut self) {
        let wanted = self.session.synthesis();
        self.synthesis.take_if(|(generation, _)| Some(*generation) != wanted);
        if let Some(job) = self.session.next_text() {
            self.synthesis = Some((job.generation, self.voice.speak(job.text)));
        }
        while let Some((generation, pieces)) = &mut self.synthesis
            && let Some(piece) = pieces.next().now_or_never()
        {
            let generation = *generation;
            if self.take(generation, piece) {
                self.synthesis = None;
            }
        }
    }

    fn take(&mut self, generation: u64, piece: Option<Result<SpeechPiece, SpeechError>>) -> bool {
        let Some(piece) = piece.map(Result::unwrap) else {
            self.session.synthesis_ended(generation, self.now_ms);
            return true;
        };
        self.session
            .synthesized(generation, &piece.samples, &piece.words, self.now_ms);
        false
    }
}

/// Lets the user speak at a random moment of the reply.
async fn cut(world: &World, at_ms: u64) -> Call {
    let mut call = Call::new(world);
    while call.now_ms < at_ms && call.heard.is_none() {
        call.step().await;
    }
    let mut speaker = babble::Speaker::new("Hold on, I have a question.", babble::Voice::named("user"), 8_000).unwrap();
    while let Some(samples) = speaker.next_chunk(8_000) {
        call.user.extend(samples);
    }
    let since = call.now_ms;
    while call.heard.is_none() {
        call.step().await;
        if call.now_ms == since + 600 {
            call.session.interim("Hold on, I have", call.now_ms);
        }
        assert!(call.now_ms < since + 30_000, "no barge-in after {at_ms} ms");
    }
    call
}

async fn check_cuts(provider: &str, cuts: u64) {
    let world = World::start(provider).await;
    let mut rng = StdRng::seed_from_u64(7);
    let whole = TEXTS.join(" ");
    let mut lengths = Vec::new();
    for n in 0..cuts {
        let at_ms = rng.random_range(300..14_000);
        let call = cut(&world, at_ms).await;
        let heard = call.heard.unwrap();
        // Whole words that the phone played, at the latest and at the earliest.
        let words = |less_ms| {
            let played = call.phone.heard(less_ms);
            let played = played.trim_end_matches(babble::MISSING).to_owned();
            assert!(whole.starts_with(&played), "{provider} {n}: {played}");
            let rest = &whole[played.len()..];
            let cut_word = !(rest.is_empty() || rest.starts_with(' ') || played.ends_with(' '));
            let count = played.split_whitespace().count();
            count - usize::from(cut_word && count > 0)
        };
        let count = heard.split_whitespace().count();
        assert!(whole.starts_with(&heard), "{provider} {n}: {heard}");
        let (least, most) = (words(TOLERANCE_MS), words(0));
        assert!(
            (least..=most).contains(&count),
            "{provider}, cut {n} at {at_ms} ms: {count} words reported, {least} to {most} played: {heard}"
        );
        lengths.push(count);
    }
    lengths.sort_unstable();
    lengths.dedup();
    assert!(lengths.len() > 15, "cuts fall on different words: {lengths:?}");
}

#[tokio::test(start_paused = true)]
async fn in_200_cuts_what_was_heard_ends_at_the_word_that_was_playing() {
    check_cuts("elevenlabs", CUTS).await;
}

#[tokio::test(start_paused = true)]
async fn the_same_holds_for_words_with_their_own_times() {
    check_cuts("cartesia", CUTS / 4).await;
}
