//! `turns`: measures turn-taking on the corpus, and shows the corpus.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use turns::{
    call::Eagerness,
    corpus::{CONVERSATIONS, Item, conversations},
    curve::{curves, drawn, table},
    decisions,
    language::{Language, Third},
    measurement::{Plan, SEED, measure},
    recogniser::{MANNERS, Manner},
    report::Report,
    training::train,
    voice::{Voice, espeak_is_installed},
    words::learned,
};

/// Measures turn-taking on generated conversations.
#[derive(Parser)]
#[command(name = "turns")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run conversations through the audio session and print what became of the turns
    Measure(MeasureArgs),
    /// Train the model of the end of a turn on the third `tune`, and write its file
    Train(TrainArgs),
    /// Measure and draw turns answered into against the median wait
    Curve(CurveArgs),
    /// Write a page of twenty decisions
    Decisions(DecisionArgs),
    /// Print the sentences of the corpus with their pauses
    Sentences(SentenceArgs),
    /// Learn the weights of words over the agent's speech from the third tune, and print them as Rust
    Words(WordsArgs),
}

#[derive(Args)]
struct WordsArgs {
    /// Seed of the examples
    #[arg(long, default_value_t = SEED)]
    seed: u64,
}

#[derive(Args)]
struct CorpusArgs {
    /// Conversations of each language
    #[arg(long, default_value_t = CONVERSATIONS)]
    conversations: usize,
    /// Voices of the callers: babble, espeak, or both if espeak-ng is installed
    #[arg(long, default_value = "both")]
    voice: Voices,
}

#[derive(Args)]
struct MeasureArgs {
    /// Third of the corpus: tune, choose or measure
    #[arg(long)]
    third: Third,
    /// Language, such as en; may be given several times, all if it is not
    #[arg(long)]
    language: Vec<Language>,
    #[command(flatten)]
    corpus: CorpusArgs,
    /// Recogniser, such as streaming; may be given several times, all if it is not
    #[arg(long, value_parser = recogniser)]
    recogniser: Vec<&'static Manner>,
    /// How readily the agent takes its turn: eager, normal or patient
    #[arg(long, default_value = "normal")]
    eagerness: Readiness,
    /// Base pause in milliseconds instead of that of an eagerness
    #[arg(long)]
    base_ms: Option<u64>,
    /// Seed of the corpus
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// File to which the report is written as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

#[derive(Args)]
struct TrainArgs {
    /// File to write
    #[arg(long, default_value = "media/src/turn/endpointing/model.bin")]
    out: PathBuf,
    #[command(flatten)]
    corpus: CorpusArgs,
}

#[derive(Args)]
struct CurveArgs {
    /// Third of the corpus: tune, choose or measure
    #[arg(long)]
    third: Third,
    #[command(flatten)]
    corpus: CorpusArgs,
    /// File to write
    #[arg(long, default_value = "docs/evidence/end-of-turn.svg")]
    out: PathBuf,
}

#[derive(Args)]
struct DecisionArgs {
    /// Folder to write the page into
    #[arg(long, default_value = "docs/evidence")]
    out: PathBuf,
    /// Conversations of each language
    #[arg(long, default_value_t = 12)]
    conversations: usize,
}

#[derive(Args)]
struct SentenceArgs {
    /// Third of the corpus: tune, choose or measure
    #[arg(long)]
    third: Third,
    /// Language, such as en; may be given several times, all if it is not
    #[arg(long)]
    language: Vec<Language>,
    /// Conversations of each language
    #[arg(long, default_value_t = CONVERSATIONS)]
    conversations: usize,
    /// Seed of the corpus
    #[arg(long, default_value_t = SEED)]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Voices {
    Babble,
    Espeak,
    Both,
}

#[derive(Clone, Copy, ValueEnum)]
enum Readiness {
    Eager,
    Normal,
    Patient,
}

fn recogniser(name: &str) -> Result<&'static Manner, String> {
    let names: Vec<&str> = MANNERS.iter().map(|manner| manner.name).collect();
    let found = MANNERS.iter().find(|manner| manner.name == name);
    found.ok_or_else(|| format!("write one of {}", names.join(", ")))
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Measure(args) => run(args),
        Command::Train(args) => learn(&args),
        Command::Curve(args) => draw(&args),
        Command::Decisions(args) => explain(&args),
        Command::Sentences(args) => show(args),
        Command::Words(args) => learned(args.seed).map(|source| print!("{source}")).map_err(Into::into),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("turns: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: MeasureArgs) -> Result<(), Box<dyn Error>> {
    let mut plan = plan(args.third, &args.corpus);
    plan.seed = args.seed;
    plan.eagerness = match (args.base_ms, args.eagerness) {
        (Some(ms), _) => Eagerness::Base(ms),
        (None, Readiness::Eager) => Eagerness::Eager,
        (None, Readiness::Normal) => Eagerness::Normal,
        (None, Readiness::Patient) => Eagerness::Patient,
    };
    if !args.language.is_empty() {
        plan.languages = args.language;
    }
    if !args.recogniser.is_empty() {
        plan.recognisers = args.recogniser;
    }
    let report = Report::of(&measure(&plan)?);
    println!("{}", report.markdown());
    match args.json {
        Some(path) => save("--json", &path, format!("{:#}\n", report.json())),
        None => Ok(()),
    }
}

fn learn(args: &TrainArgs) -> Result<(), Box<dyn Error>> {
    let trained = train(&plan(Third::Tune, &args.corpus))?;
    println!("{}", trained.summary);
    save("--out", &args.out, trained.bytes)
}

fn draw(args: &CurveArgs) -> Result<(), Box<dyn Error>> {
    let curves = curves(&plan(args.third, &args.corpus))?;
    println!("{}", table(&curves));
    save("--out", &args.out, drawn(&curves))
}

fn explain(args: &DecisionArgs) -> Result<(), Box<dyn Error>> {
    let mut plan = Plan::of(Third::Choose);
    plan.conversations = args.conversations;
    plan.voices = voices(Voices::Both);
    decisions::write(&plan, &args.out).map_err(|error| format!("--out {}: {error}", args.out.display()))?;
    Ok(())
}

fn plan(third: Third, corpus: &CorpusArgs) -> Plan {
    let mut plan = Plan::of(third);
    plan.conversations = corpus.conversations;
    plan.voices = voices(corpus.voice);
    plan
}

/// Writes the file that an option names.
fn save(option: &str, path: &Path, content: impl AsRef<[u8]>) -> Result<(), Box<dyn Error>> {
    fs::write(path, content).map_err(|error| format!("{option} {}: {error}", path.display()).into())
}

fn voices(wanted: Voices) -> Vec<Voice> {
    match wanted {
        Voices::Babble => vec![Voice::Babble],
        Voices::Espeak => vec![Voice::Espeak],
        Voices::Both if espeak_is_installed() => vec![Voice::Babble, Voice::Espeak],
        Voices::Both => {
            eprintln!("turns: espeak-ng is not installed, so its voices are left out");
            vec![Voice::Babble]
        }
    }
}

fn show(args: SentenceArgs) -> Result<(), Box<dyn Error>> {
    let languages = match args.language.is_empty() {
        true => Language::ALL.to_vec(),
        false => args.language,
    };
    for language in languages {
        for conversation in conversations(args.seed, args.third, language, args.conversations)? {
            for item in &conversation.items {
                let (kind, sentence) = match item {
                    Item::Turn { kind, sentence, .. } => (kind.as_str(), sentence),
                    Item::Overlap { kind, sentence, .. } => (kind.name(), sentence),
                };
                println!("{} {kind}: {}", conversation.id, sentence.marked());
            }
        }
    }
    Ok(())
}
