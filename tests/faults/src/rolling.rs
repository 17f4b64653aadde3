//! A rolling replacement. Three nodes are behind a front that probes readiness; campaigns and a steady stream
//! of requests run. Each node in turn is told to end, ends, and is followed by a new one, which may be of another
//! version of the program. Nobody may notice.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    path::PathBuf,
    time::Duration,
};

use comfy_table::{Table, presets::ASCII_MARKDOWN};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::{
    campaigns::{Client, Ledger},
    chance::Manner,
    evidence::Evidence,
    front::Front,
    journal::{Entry, Event},
    rules::{self, Finding},
    run::gather,
    traffic::{Sent, Traffic},
    world::{Entrance, Recipe, World},
};

/// Time until the first calls talk, and after each replacement.
const SETTLES: Duration = Duration::from_secs(2);
/// Longest time for a node to end, with the longest call and all outstanding deliveries.
const ENDS_WITHIN: Duration = Duration::from_secs(60);
/// Longest time for the next node to be ready.
const READY_WITHIN: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);
/// Longest time for campaigns to end.
const REST: Duration = Duration::from_secs(180);
/// Most breaches of one kind that are shown.
const SHOWN: usize = 5;

/// Arguments of `faults rolling`.
#[derive(Debug, Clone, clap::Args)]
pub struct RollingArgs {
    /// Nodes
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=9))]
    nodes: u8,
    /// Number of times each node is replaced
    #[arg(long, default_value_t = 1)]
    rounds: u32,
    /// Seed of the callees' behaviour
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Contacts of a campaign
    #[arg(long, default_value_t = 40)]
    contacts: usize,
    /// Concurrent calls of each node
    #[arg(long, default_value_t = 30)]
    lines: u32,
    /// Dials per second
    #[arg(long, default_value_t = 8.0)]
    calls_per_second: f64,
    /// Requests per second
    #[arg(long, default_value_t = 30.0)]
    requests_per_second: f64,
    /// Run with the times that nodes share at one-tenth
    #[arg(long)]
    tenth: bool,
    /// Path of the service's binary
    #[arg(long, default_value = "target/release/ringback")]
    program: PathBuf,
    /// Path of the binary with which the nodes begin, such as that of the previous version
    #[arg(long)]
    from: Option<PathBuf>,
}

/// One replacement.
struct Replaced {
    node: usize,
    /// Calls at the carrier when the node was told to end.
    live: usize,
    ended_after: Duration,
    code: Option<i32>,
    ready_after: Duration,
}

/// Results at the end.
struct Outcome {
    command: String,
    seconds: u64,
    replaced: Vec<Replaced>,
    sent: Sent,
    sent_again: usize,
    /// Errors of the client that keeps the campaigns going.
    refused: Vec<String>,
    dials: usize,
    answered: usize,
    dropped: Vec<String>,
    findings: Vec<Finding>,
}

/// Runs it and judges. Returns `true` if nobody noticed.
pub async fn run(args: RollingArgs) -> io::Result<bool> {
    let mut world = World::new(&Recipe {
        program: args.from.as_ref().unwrap_or(&args.program).clone(),
        postgres: true,
        nodes: args.nodes.into(),
        seed: args.seed,
        tenth: args.tenth,
        entrance: Entrance::Ready,
        manner: Manner::Talkative,
        lines: args.lines,
        calls_per_second: args.calls_per_second,
    })
    .await?;
    let done = in_world(&args, &mut world).await;
    world.judged(done)
}

async fn in_world(args: &RollingArgs, world: &mut World) -> io::Result<bool> {
    let began = Instant::now();
    world.start_all().await?;
    for node in 0..world.nodes.len() {
        until_ready(world, node).await?;
    }
    let webhook = format!("http://{}/hook", world.judge);
    let agent = world.api.agent(&webhook, 0).await?;
    let ledger = Ledger::default();
    let finish = watch::Sender::new(false);
    let client = Client {
        api: world.api.clone(),
        ledger: ledger.clone(),
        agents: [agent.clone(), world.api.agent(&webhook, 1).await?],
        contacts: args.contacts,
        seed: args.seed,
    };
    let mut client = tokio::spawn(client.work(finish.subscribe()));
    let traffic = Traffic::new(world.api.clone(), agent);
    let flow = traffic.clone().flow(args.requests_per_second, finish.subscribe());
    let flow = tokio::spawn(flow);
    sleep(2 * SETTLES).await;
    let mut replaced = Vec::new();
    for _ in 0..args.rounds {
        for node in 0..world.nodes.len() {
            world.nodes[node].program.clone_from(&args.program);
            let one = replace(world, node).await?;
            println!("{:>6.1} s  {one}", began.elapsed().as_secs_f64());
            replaced.push(one);
            sleep(SETTLES).await;
        }
    }
    finish.send_replace(true);
    if timeout(REST, &mut client).await.is_err() {
        println!("campaigns did not end in time");
    }
    let _ = flow.await;
    let sent = traffic.conclude(Instant::now() + REST / 3).await;
    let evidence = gather(world, &ledger).await?;
    let dropped = [dropped(&evidence), sent.dropped.clone()].concat();
    let outcome = Outcome {
        command: command(args),
        seconds: began.elapsed().as_secs(),
        replaced,
        sent,
        sent_again: world.front.as_ref().map_or(0, Front::sent_again),
        refused: world.api.failures.all(),
        dials: rules::dials(&evidence.log).count(),
        answered: talked(&evidence.log).len(),
        dropped,
        findings: rules::breaches(&evidence),
    };
    println!("{outcome}");
    Ok(outcome.is_clean())
}

fn command(args: &RollingArgs) -> String {
    format!(
        "tests/faults/run rolling --nodes {} --rounds {} --seed {} --contacts {} --lines {} --calls-per-second {} \
         --requests-per-second {}{}{}",
        args.nodes,
        args.rounds,
        args.seed,
        args.contacts,
        args.lines,
        args.calls_per_second,
        args.requests_per_second,
        if args.tenth { " --tenth" } else { "" },
        if args.from.is_some() { " --from PREVIOUS" } else { "" },
    )
}

/// Waits until the front sends requests to a node.
pub async fn until_ready(world: &World, node: usize) -> io::Result<()> {
    let limit = Instant::now() + READY_WITHIN;
    let (node, front) = (&world.nodes[node], &world.front);
    while !front.as_ref().is_some_and(|front| front.sends_to(node.listen)) {
        if Instant::now() > limit {
            return Err(io::Error::other(format!("node {} does not become ready", node.number)));
        }
        sleep(LOOK).await;
    }
    Ok(())
}

async fn replace(world: &mut World, node: usize) -> io::Result<Replaced> {
    let live = world.live_calls().await?.len();
    let told = Instant::now();
    world.nodes[node].terminate()?;
    let mut code = None;
    while code.is_none() && told.elapsed() < ENDS_WITHIN {
        sleep(LOOK).await;
        code = world.nodes[node].ended()?;
    }
    let ended_after = told.elapsed();
    if code.is_none() {
        world.nodes[node].kill()?;
    }
    let started = Instant::now();
    world.nodes[node].start()?;
    until_ready(world, node).await?;
    Ok(Replaced {
        node,
        live,
        ended_after,
        code,
        ready_after: started.elapsed(),
    })
}

/// Returns the attempts whose callee talked with the service, with the number of sockets of each.
fn talked(log: &[Entry]) -> BTreeMap<&str, usize> {
    let mut talked = BTreeMap::new();
    for entry in log {
        if let Event::Media {
            attempt, answer: 101, ..
        } = &entry.event
        {
            *talked.entry(&**attempt).or_default() += 1;
        }
    }
    talked
}

/// Returns the calls that their callees did not end. A callee is never left alone for as long as an agent
/// waits, and no campaign is paused or stopped here with a hang-up.
fn dropped(evidence: &Evidence) -> Vec<String> {
    let talked = talked(&evidence.log);
    let mut dropped = Vec::new();
    let mut without_media = BTreeSet::new();
    for entry in &evidence.log {
        match &entry.event {
            Event::Left { attempt, .. } => dropped.push(format!("{attempt}: its socket was closed")),
            Event::HangUp { attempt, .. } if talked.contains_key(&**attempt) => {
                dropped.push(format!("{attempt}: it was hung up"));
            }
            Event::Media { attempt, answer, .. } if *answer != 101 => {
                dropped.push(format!("{attempt}: its socket was answered with {answer}"));
            }
            Event::Over { attempt, status, .. } if status == "completed" && !talked.contains_key(&**attempt) => {
                without_media.insert(attempt);
            }
            _ => {}
        }
    }
    dropped.extend(without_media.iter().map(|attempt| format!("{attempt}: nobody spoke")));
    let rows = evidence.attempts.iter().filter(|row| talked.contains_key(&*row.id));
    let faulty = rows.filter(|row| !row.error.is_empty());
    dropped.extend(faulty.map(|row| format!("{}: {}", row.id, row.error)));
    dropped
}

impl Outcome {
    fn is_clean(&self) -> bool {
        let ended = self.replaced.iter().all(|one| one.code == Some(0));
        let silent = self.sent.failures.is_empty() && self.sent.lost.is_empty() && self.refused.is_empty();
        ended
            && silent
            && self.dropped.is_empty()
            && self.findings.is_empty()
            && self.answered > 0
            && self.sent.callers > 0
    }
}

impl fmt::Display for Replaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            node,
            live,
            ended_after,
            ..
        } = self;
        write!(
            f,
            "node {node}, with {live} calls in all: ended after {:.1} s",
            ended_after.as_secs_f64()
        )?;
        match self.code {
            Some(code) => write!(f, " with {code}")?,
            None => write!(f, " only when it was killed")?,
        }
        write!(f, ", the next was ready after {:.1} s", self.ready_after.as_secs_f64())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header([&*self.command, ""]);
        let ended = self.replaced.iter().filter(|one| one.code == Some(0)).count();
        let longest = self
            .replaced
            .iter()
            .map(|one| one.ended_after)
            .max()
            .unwrap_or_default();
        for (name, value) in [
            ("seconds", self.seconds.to_string()),
            (
                "nodes replaced; ended with 0",
                format!("{}; {ended}", self.replaced.len()),
            ),
            ("longest end of one", format!("{:.1} s", longest.as_secs_f64())),
            ("dial requests", self.dials.to_string()),
            ("calls that talked", self.answered.to_string()),
            ("calls from outside", self.sent.callers.to_string()),
            ("calls dropped", self.dropped.len().to_string()),
            ("requests of the stream", self.sent.requests.to_string()),
            ("  single calls among them", self.sent.calls.to_string()),
            (
                "  answered within (p99, longest)",
                format!("{}, {} ms", self.sent.p99_ms, self.sent.longest_ms),
            ),
            ("  sent to another node by the front", self.sent_again.to_string()),
            ("requests refused or broken", self.all_failures().len().to_string()),
            ("stored, and not found", self.sent.lost.len().to_string()),
            ("breaches of the rules of tests/faults", self.findings.len().to_string()),
            ("verdict", if self.is_clean() { "clean" } else { "BROKEN" }.to_owned()),
        ] {
            table.add_row([name.to_owned(), value]);
        }
        writeln!(f, "\n{table}")?;
        for list in [&self.dropped, &self.all_failures(), &self.sent.lost] {
            for line in list.iter().take(SHOWN) {
                writeln!(f, "{line}")?;
            }
        }
        for finding in self.findings.iter().take(2 * SHOWN) {
            writeln!(f, "{}: {}", finding.rule, finding.what)?;
        }
        Ok(())
    }
}

impl Outcome {
    /// Returns the errors of the stream of requests and of the campaigns' client. Refusals of invalid
    /// requests are only in the former.
    fn all_failures(&self) -> Vec<String> {
        let all: BTreeSet<&String> = self.sent.failures.iter().chain(&self.refused).collect();
        all.into_iter().cloned().collect()
    }
}
