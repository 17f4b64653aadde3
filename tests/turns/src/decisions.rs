//! Twenty decisions as a page: what was said, what the session thought in each pause, and when it took the turn.

use std::{fmt::Write as _, fs, io, path::Path};

use media::{codec, format::Encoding, turn::endpointing::model::MODEL};

use crate::{
    call::{self, Eagerness, Watched},
    corpus::Item,
    language::Language,
    measurement::{MeasurementError, Plan, each},
    record::{TurnEnd, TurnRecord},
    svg::Svg,
    voice::{PER_MS, Spoken},
};

/// Decisions of each sort.
const EACH: usize = 10;

/// Longest turn in milliseconds.
const LONGEST_MS: u64 = 3_600;

/// Silence after it in milliseconds.
const TAIL_MS: u64 = 900;

/// Wait in milliseconds from which a turn was taken late.
const LATE_MS: u64 = 1_200;

/// Width of a picture in pixels, and of its axis.
const WIDTH: f64 = 760.0;
const LEFT: f64 = 10.0;

/// Places of its rows in pixels from the top.
const WAVE: f64 = 45.0;
const WORDS: f64 = 85.0;
const CHANCE: f64 = 160.0;

/// Height of the chance in pixels.
const CHANCE_HEIGHT: f64 = 50.0;

/// A decision.
struct Decision {
    id: String,
    language: Language,
    recogniser: &'static str,
    record: TurnRecord,
    watched: Watched,
    spoken: Spoken,
}

impl Decision {
    /// Returns the time at which the turn was taken, in milliseconds from its start, and whether that was right.
    fn taken(&self) -> Option<(u64, bool)> {
        match &self.record.end {
            TurnEnd::Taken(wait_ms) => Some((self.watched.length_ms + wait_ms, *wait_ms < LATE_MS)),
            TurnEnd::AnsweredInto(cut) => {
                let mut pauses = self.watched.pauses.iter();
                let pause = pauses.find(|pause| pause.to_ms - pause.from_ms == cut.silent_ms + cut.back_ms)?;
                Some((pause.from_ms + cut.silent_ms, false))
            }
            TurnEnd::Lost => None,
        }
    }
}

/// Error: a page that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// A conversation could not be run.
    #[error(transparent)]
    Measurement(#[from] MeasurementError),
    /// A file could not be written.
    #[error("{0}")]
    Write(#[from] io::Error),
}

/// Writes the page `decisions.md` into a folder, and its pictures and recordings into `decisions` in it.
///
/// # Errors
/// Returns an error if a conversation cannot be run, or a file cannot be written.
pub fn write(plan: &Plan, folder: &Path) -> Result<(), PageError> {
    let found = each(
        plan,
        |drawn| drawn,
        |conversation, voice, spoken| {
            let mut found = Vec::new();
            if conversation.caller.noise.is_any() || conversation.caller.echo.is_some() {
                return Ok(found);
            }
            for manner in &plan.recognisers {
                let (record, watched) = call::watch(conversation, (voice, spoken), manner, Eagerness::Normal)?;
                for (record, watched) in record.turns.into_iter().zip(watched) {
                    let spoken = spoken.get(watched.item).cloned().unwrap_or_default();
                    let is_turn = matches!(conversation.items.get(watched.item), Some(Item::Turn { .. }));
                    if is_turn && watched.length_ms <= LONGEST_MS {
                        found.push(Decision {
                            id: conversation.id.clone(),
                            language: conversation.language,
                            recogniser: manner.name,
                            record,
                            watched,
                            spoken,
                        });
                    }
                }
            }
            Ok(found)
        },
    )?;
    let files = folder.join("decisions");
    fs::create_dir_all(&files)?;
    let mut page = String::from(
        "# Twenty decisions\n\n\
         Ten turns of [the corpus](../internals/turn-corpus.md) that the agent took within 1.2 s after the caller's \
         end, and ten that it took in a pause or later, at `normal`. The agent's question is bold; the parentheses name \
         the conversation and the recogniser. Each picture shows the caller's voice, the words, and in each pause the \
         chance that the turn is over; the red line is the moment at which the agent took it. `turns decisions` draws \
         them.\n",
    );
    for (title, is_right) in [("Right", true), ("Wrong", false)] {
        let _ = write!(page, "\n## {title}\n");
        for (number, decision) in chosen(&found, is_right).into_iter().enumerate() {
            let name = format!("{}-{:02}", title.to_lowercase(), number + 1);
            fs::write(files.join(format!("{name}.svg")), picture(decision))?;
            fs::write(files.join(format!("{name}.wav")), recording(&decision.spoken))?;
            let _ = write!(page, "\n{}\n", described(decision, &name));
        }
    }
    fs::write(folder.join("decisions.md"), page)?;
    Ok(())
}

/// Returns decisions with pauses, of each language and recogniser in turn.
fn chosen(found: &[Decision], is_right: bool) -> Vec<&Decision> {
    let mut fitting: Vec<&Decision> = found
        .iter()
        .filter(|decision| !decision.watched.pauses.is_empty())
        .filter(|decision| decision.taken().is_some_and(|(_, right)| right == is_right))
        .collect();
    let mut chosen: Vec<&Decision> = Vec::new();
    while chosen.len() < EACH && !fitting.is_empty() {
        // A sentence comes once if there are enough, and all languages, kinds and recognisers come.
        let used = |decision: &Decision| {
            let same = |other: &Decision| {
                let (one, other) = (&decision.record, &other.record);
                100 * usize::from(one.text == other.text) + 3 * usize::from(one.kind == other.kind)
            };
            let alike = |other: &Decision| {
                4 * usize::from(decision.language == other.language)
                    + 2 * usize::from(decision.recogniser == other.recogniser)
            };
            let scores = chosen.iter().map(|other| same(other) + alike(other));
            scores.sum::<usize>()
        };
        let least = fitting.iter().enumerate().min_by_key(|(_, decision)| used(decision));
        let Some((at, _)) = least else { break };
        chosen.push(fitting.remove(at));
    }
    chosen
}

fn described(decision: &Decision, name: &str) -> String {
    let outcome = match &decision.record.end {
        TurnEnd::Taken(wait_ms) => format!("taken {wait_ms} ms after the end"),
        TurnEnd::AnsweredInto(cut) => format!(
            "taken {} ms into a pause, {} ms before the caller went on",
            cut.silent_ms, cut.back_ms
        ),
        TurnEnd::Lost => "not taken".to_owned(),
    };
    format!(
        "**{}** ({}, {}): {outcome}. [Recording](decisions/{name}.wav)\n\n![{}](decisions/{name}.svg)",
        decision.record.question, decision.id, decision.recogniser, decision.record.kind
    )
}

fn picture(decision: &Decision) -> String {
    let end_ms = decision.watched.length_ms;
    let late_ms = decision.taken().map_or(0, |(ms, _)| ms.saturating_sub(end_ms));
    let length_ms = end_ms + TAIL_MS.max(late_ms + 100);
    let x = |ms: u64| LEFT + ms as f64 / length_ms as f64 * (WIDTH - 2.0 * LEFT);
    let mut svg = Svg::new(WIDTH, CHANCE + 20.0);
    for pause in &decision.watched.pauses {
        let width = x(pause.to_ms) - x(pause.from_ms);
        svg.rectangle((x(pause.from_ms), 10.0), (width, CHANCE), "#f2f2f2");
    }
    let step = 10 * PER_MS;
    let mut wave = Vec::new();
    for (at, block) in decision.spoken.samples.chunks(step).enumerate() {
        let peak = block
            .iter()
            .map(|sample| f64::from(sample.unsigned_abs()))
            .fold(0.0, f64::max);
        let height = (peak / 12_000.0).min(1.0) * 30.0;
        let sign = if at % 2 == 0 { 1.0 } else { -1.0 };
        wave.push((x(10 * at as u64), WAVE + sign * height));
    }
    svg.line(&wave, "#555555", 1.0);
    for (at, word) in decision.spoken.words.iter().enumerate() {
        let row = WORDS + 12.0 * (at % 2) as f64;
        svg.text((x(word.from_ms), row), &word.text, "#333333");
    }
    for level in [0.0, 0.5, 1.0] {
        let y = CHANCE - level * CHANCE_HEIGHT;
        svg.line(&[(LEFT, y), (WIDTH - LEFT, y)], "#dddddd", 1.0);
        svg.text((WIDTH - 26.0, y - 2.0), &format!("{level}"), "#888888");
    }
    for silence in decision.watched.moments.chunk_by(|one, next| next.0 - one.0 <= 40) {
        let mut points = Vec::new();
        // As in the session, the evidence is that of the moment at which the words were known.
        for known in silence.chunk_by(|(_, one), (_, next)| one.words == next.words) {
            let Some((_, first)) = known.first() else { continue };
            let evidence = first.evidence(&MODEL);
            let shown = known.iter().filter(|(at_ms, _)| *at_ms <= length_ms);
            points.extend(shown.map(|(at_ms, moment)| {
                let chance = evidence.chance(moment.circumstances.silent_ms, &MODEL);
                (x(*at_ms), CHANCE - f64::from(chance) * CHANCE_HEIGHT)
            }));
        }
        svg.line(&points, "#1a6fb4", 2.0);
    }
    if let Some((ms, _)) = decision.taken() {
        svg.line(&[(x(ms), 10.0), (x(ms), CHANCE)], "#cc2222", 2.0);
        svg.text((x(ms) - 24.0, CHANCE + 14.0), &format!("{ms} ms"), "#cc2222");
    }
    svg.file()
}

/// Returns a recording of the caller as a WAV file in mu-law.
fn recording(spoken: &Spoken) -> Vec<u8> {
    let mut samples = spoken.samples.clone();
    samples.resize(samples.len() + TAIL_MS as usize * PER_MS / 2, 0);
    let mut audio = Vec::new();
    codec::encode(Encoding::MuLaw, &samples, &mut audio);
    let length = audio.len() as u32;
    let mut file = Vec::from(*b"RIFF");
    file.extend((length + 36).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16_u32.to_le_bytes());
    // Mu-law, one channel.
    file.extend([7_u16, 1].map(u16::to_le_bytes).concat());
    file.extend([8_000_u32, 8_000].map(u32::to_le_bytes).concat());
    file.extend([1_u16, 8].map(u16::to_le_bytes).concat());
    file.extend(b"data");
    file.extend(length.to_le_bytes());
    file.extend(audio);
    file
}
