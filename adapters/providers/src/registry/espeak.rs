//! Voice of the local program `espeak-ng`: human-sounding, without a key or a server.

mod names;
mod program;

use std::{
    process::Stdio,
    sync::{Arc, LazyLock},
    time::Duration,
};

use domain::ports::synthesizer::{SpeechPiece, VoiceConfig};
use futures_util::{FutureExt, StreamExt, stream};
use media::format::{Encoding, LineFormat};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdout, Command},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use self::program::{PROGRAM, is_sound, not_started};
use crate::{
    failure::Failure,
    protocols::tts::{
        frames::Frames,
        provider::{Pieces, Source, VoiceProvider},
        takes::Takes,
    },
    provider::{Provider, Tts},
};

pub(super) static ESPEAK: Provider = Provider {
    name: "espeak",
    tts: Some(Tts {
        takes: |_| Takes::speed(0.5, 2.0),
        ..Tts::inside(|| PROCESSES.clone(), Some(|name| names::check(name).boxed()))
    }),
    ..Provider::NONE
};

/// The program as all calls share it.
static PROCESSES: LazyLock<Arc<Espeak>> = LazyLock::new(|| Arc::new(Espeak::new()));

/// Maximum number of concurrent processes. Each takes a core for a few milliseconds per second of speech.
const MOST_PROCESSES: usize = 4;
/// Time without output after which a process counts as stuck.
const NEXT_WITHIN: Duration = Duration::from_secs(4);
/// Maximum length of a text, in characters.
const MOST_CHARACTERS: usize = 5_000;
/// Words per minute at speed 1: a person on the telephone, a little slower than the program's own 175.
const WORDS_A_MINUTE: f32 = 160.0;
/// Size of the WAV header that the program writes.
const HEADER_BYTES: usize = 44;

/// The `espeak-ng` program.
struct Espeak {
    program: String,
    permits: Arc<Semaphore>,
}

impl Espeak {
    /// Creates the provider for the program in the path.
    fn new() -> Self {
        Self::at(PROGRAM)
    }

    fn at(program: &str) -> Self {
        Self {
            program: program.to_owned(),
            permits: Arc::new(Semaphore::new(MOST_PROCESSES)),
        }
    }
}

impl Source for Espeak {
    fn open(&self, config: &VoiceConfig) -> Box<dyn VoiceProvider> {
        let words_a_minute = (WORDS_A_MINUTE * config.speed).clamp(80.0, 450.0);
        Box::new(EspeakVoice {
            program: self.program.clone(),
            permits: self.permits.clone(),
            voice: voice(config),
            words_a_minute: format!("{words_a_minute:.0}"),
            line_rate: config.sample_rate,
        })
    }

    fn signature(&self, config: &VoiceConfig) -> String {
        voice(config)
    }
}

/// Returns the program's name of a voice: the configured one, or that of the language.
fn voice(config: &VoiceConfig) -> String {
    let language = config.language.to_ascii_lowercase().replace('_', "-");
    let by_language = match language.as_str() {
        "en" | "" => "en-us",
        "en-gb" => "en-gb",
        "en-in" => "en-gb",
        other => other.split('-').next().unwrap_or("en-us"),
    };
    let wanted = if config.voice.is_empty() {
        by_language
    } else {
        &config.voice
    };
    if is_sound(wanted) {
        wanted.to_owned()
    } else {
        "en-us".to_owned()
    }
}

struct EspeakVoice {
    program: String,
    permits: Arc<Semaphore>,
    voice: String,
    words_a_minute: String,
    line_rate: u32,
}

impl VoiceProvider for EspeakVoice {
    fn speak(&mut self, text: &str) -> Pieces {
        let text: String = text.chars().filter(|c| !c.is_control()).take(MOST_CHARACTERS).collect();
        let mut command = Command::new(&self.program);
        // The text goes to standard input. There is no shell, and no argument that could be taken for an option.
        command
            .args([
                "--stdin",
                "--stdout",
                "-b",
                "1",
                "-v",
                &self.voice,
                "-s",
                &self.words_a_minute,
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let (permits, line_rate) = (self.permits.clone(), self.line_rate);
        let start = async move {
            let permit = permits.acquire_owned().await;
            let permit = permit.map_err(|_| Failure::Unavailable("espeak-ng is shut down".into()))?;
            Speaking::start(command, &text, line_rate, permit).await
        };
        stream::once(start)
            .flat_map(|started| match started {
                Ok(speaking) => stream::unfold(Some(speaking), Speaking::step).boxed(),
                Err(failure) => stream::iter([Err(failure)]).boxed(),
            })
            .boxed()
    }
}

/// Running process. Dropping it kills the process.
struct Speaking {
    output: ChildStdout,
    frames: Frames,
    over: bool,
    _child: Child,
    _permit: OwnedSemaphorePermit,
}

impl Speaking {
    async fn start(
        mut command: Command,
        text: &str,
        line_rate: u32,
        permit: OwnedSemaphorePermit,
    ) -> Result<Self, Failure> {
        let mut child = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::OurFault(not_started(&error)),
            _ => Failure::Unavailable(not_started(&error)),
        })?;
        let (Some(mut input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Unavailable("espeak-ng has no pipes".into()));
        };
        let begun = async {
            input.write_all(text.as_bytes()).await?;
            input.write_all(b"\n").await?;
            drop(input);
            let mut header = [0; HEADER_BYTES];
            output.read_exact(&mut header).await?;
            Ok::<_, std::io::Error>(header)
        };
        let header = timeout(NEXT_WITHIN, begun).await.map_err(|_| stuck())?;
        let header = header.map_err(|error| Failure::Unavailable(format!("espeak-ng gives no output: {error}")))?;
        let format = LineFormat {
            encoding: Encoding::Linear16,
            sample_rate: rate(&header)?,
        };
        Ok(Self {
            output,
            frames: Frames::new(format, line_rate, text.chars().count())?,
            over: false,
            _child: child,
            _permit: permit,
        })
    }

    async fn step(speaking: Option<Self>) -> Option<(Result<SpeechPiece, Failure>, Option<Self>)> {
        let mut speaking = speaking?;
        match speaking.next().await {
            Ok(piece) => piece.map(|piece| (Ok(piece), Some(speaking))),
            Err(failure) => Some((Err(failure), None)),
        }
    }

    async fn next(&mut self) -> Result<Option<SpeechPiece>, Failure> {
        let mut bytes = vec![0; 8 * 1024];
        loop {
            if let Some(piece) = self.frames.next() {
                return Ok(Some(piece));
            }
            if self.over {
                return Ok(None);
            }
            let read = timeout(NEXT_WITHIN, self.output.read(&mut bytes))
                .await
                .map_err(|_| stuck())?;
            match read {
                Ok(0) => {
                    self.frames.finish();
                    self.over = true;
                }
                Ok(count) => self.frames.push(bytes.get(..count).unwrap_or_default())?,
                Err(error) => return Err(Failure::Unavailable(format!("espeak-ng broke off: {error}"))),
            }
        }
    }
}

fn stuck() -> Failure {
    Failure::Unavailable(format!("espeak-ng gives no output for {} s", NEXT_WITHIN.as_secs()))
}

/// Reads the sample rate from the header of 16-bit mono PCM.
fn rate(header: &[u8; HEADER_BYTES]) -> Result<u32, Failure> {
    let [.., a, b, c, d] = header
        .get(..28)
        .and_then(|head| <[u8; 28]>::try_from(head).ok())
        .unwrap_or_default();
    let known = header.starts_with(b"RIFF") && header.get(36..40) == Some(b"data");
    match known {
        true => Ok(u32::from_le_bytes([a, b, c, d])),
        false => Err(Failure::Protocol("espeak-ng output is not WAV".into())),
    }
}

#[cfg(test)]
mod tests;
