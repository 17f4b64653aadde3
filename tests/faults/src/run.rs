//! A run: campaigns, faults by a schedule, rest, and the verdict.

use std::{io, path::PathBuf, time::Duration};

use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    campaigns::{Client, Ledger},
    chance::Manner,
    evidence::{self, Attempt, Evidence, Held},
    journal::now,
    report::{Outcome, Takeover},
    rules,
    schedule::{self, Outline, Planned, Step},
    world::{Entrance, Recipe, World},
};

/// Interval between checks for nodes that ended by themselves.
const WATCH: Duration = Duration::from_millis(200);
/// Longest search for a moment in which a node has a claim.
const LOOKS_FOR: Duration = Duration::from_secs(1);
/// Pause between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(11);
/// Longest time for everything to come to rest, at real speed.
const REST: Duration = Duration::from_secs(420);
/// Longest wait for the last webhooks: the preceding analysis may be a dead node's, with a lease of a minute,
/// whatever the other times.
const WEBHOOKS: Duration = Duration::from_secs(75);

/// Databases to run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Database {
    Sqlite,
    Postgres,
}

/// Arguments of `faults run`.
#[derive(Debug, Clone, clap::Args)]
pub struct RunArgs {
    /// Database
    #[arg(long, value_enum, default_value = "sqlite")]
    pub database: Database,
    /// Nodes [default: 1 on SQLite, 3 on PostgreSQL]
    #[arg(long)]
    pub nodes: Option<usize>,
    /// Number of faults in the schedule
    #[arg(long, default_value_t = 20)]
    pub faults: u32,
    /// Seed of the schedule, the carrier and the webhook receiver
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Run with the service's times and those of the faults at one-tenth
    #[arg(long)]
    pub tenth: bool,
    /// Break only nodes, by kills
    #[arg(long)]
    pub only_kills: bool,
    /// Contacts of a campaign
    #[arg(long, default_value_t = 40)]
    pub contacts: usize,
    /// Concurrent calls of each node
    #[arg(long, default_value_t = 15)]
    pub lines: u32,
    /// Dials per second
    #[arg(long, default_value_t = 12.0)]
    pub calls_per_second: f64,
    /// Send callbacks and media sockets to any node, not to the one that dialed
    #[arg(long)]
    pub front: bool,
    /// Path of the service's binary
    #[arg(long, default_value = "target/release/ringback")]
    pub program: PathBuf,
    /// Print the schedule, and run nothing
    #[arg(long)]
    pub plan: bool,
}

impl RunArgs {
    fn outline(&self) -> Outline {
        Outline {
            seed: self.seed,
            faults: self.faults,
            nodes: self.nodes(),
            postgres: self.database == Database::Postgres,
            tenth: self.tenth,
            only_kills: self.only_kills,
        }
    }

    fn nodes(&self) -> usize {
        match (self.database, self.nodes) {
            (Database::Sqlite, _) => 1,
            (Database::Postgres, nodes) => nodes.unwrap_or(3).clamp(1, 9),
        }
    }

    fn recipe(&self) -> Recipe {
        Recipe {
            program: self.program.clone(),
            postgres: self.database == Database::Postgres,
            nodes: self.nodes(),
            seed: self.seed,
            tenth: self.tenth,
            entrance: match self.front {
                true => Entrance::Any,
                false => Entrance::Own,
            },
            manner: Manner::Faulty,
            lines: self.lines,
            calls_per_second: self.calls_per_second,
        }
    }

    /// Returns the command that repeats the run.
    fn command(&self) -> String {
        let database = match self.database {
            Database::Sqlite => "sqlite",
            Database::Postgres => "postgres",
        };
        let mut command = format!(
            "tests/faults/run --database {database} --nodes {} --faults {} --seed {} --contacts {} --lines {} \
             --calls-per-second {}",
            self.nodes(),
            self.faults,
            self.seed,
            self.contacts,
            self.lines,
            self.calls_per_second
        );
        for (flag, is_set) in [
            ("--tenth", self.tenth),
            ("--front", self.front),
            ("--only-kills", self.only_kills),
        ] {
            if is_set {
                command = format!("{command} {flag}");
            }
        }
        command
    }
}

/// Runs the schedule and judges. Returns `true` if every rule held.
pub async fn run(args: RunArgs) -> io::Result<bool> {
    let steps = schedule::plan(args.outline());
    if args.plan {
        for planned in &steps {
            println!("{:>9} ms  {:?}", planned.at_ms, planned.step);
        }
        return Ok(true);
    }
    let mut world = World::new(&args.recipe()).await?;
    let done = in_world(&args, &steps, &mut world).await;
    world.judged(done)
}

async fn in_world(args: &RunArgs, steps: &[Planned], world: &mut World) -> io::Result<bool> {
    let began = Instant::now();
    world.start_all().await?;
    let ledger = Ledger::default();
    let (finish, client) = start_client(args, world, &ledger).await?;
    let mut outcome = Outcome::of(args.command());
    for kind in steps.iter().filter_map(|planned| planned.begins) {
        *outcome.kinds.entry(kind).or_default() += 1;
    }
    follow(world, steps, &mut outcome).await?;
    world.heal().await?;
    finish.send_replace(true);
    let scale = if args.tenth { 2 } else { 1 };
    if timeout(REST / scale, client).await.is_err() {
        println!("campaigns did not end in time");
    }
    let evidence = gather(world, &ledger).await?;
    outcome.conclude(&evidence);
    outcome.seconds = began.elapsed().as_secs();
    println!("{outcome}");
    Ok(outcome.is_clean())
}

async fn start_client(
    args: &RunArgs,
    world: &World,
    ledger: &Ledger,
) -> io::Result<(watch::Sender<bool>, JoinHandle<()>)> {
    let webhook = format!("http://{}/hook", world.judge);
    let client = Client {
        api: world.api.clone(),
        ledger: ledger.clone(),
        agents: [world.api.agent(&webhook, 0).await?, world.api.agent(&webhook, 1).await?],
        contacts: args.contacts,
        seed: args.seed,
    };
    let finish = watch::Sender::new(false);
    let working = tokio::spawn(client.work(finish.subscribe()));
    Ok((finish, working))
}

/// Performs the steps at their times, and restarts nodes that end by themselves.
async fn follow(world: &mut World, steps: &[Planned], outcome: &mut Outcome) -> io::Result<()> {
    let start = Instant::now();
    let mut number = 0;
    for planned in steps {
        let due = start + Duration::from_millis(planned.at_ms);
        while Instant::now() + WATCH < due {
            outcome.ended_by_themselves += revive(world)?;
            sleep(WATCH).await;
        }
        sleep_until(due).await;
        if planned.begins.is_some() {
            number += 1;
        }
        println!(
            "{:>8.1} s  fault {number}/{}: {:?}",
            start.elapsed().as_secs_f64(),
            steps.len() / 2,
            planned.step
        );
        match planned.step {
            Step::Kill(node) => outcome.takeovers.extend(kill(world, node, planned.at_ms).await?),
            step => world.perform(step)?,
        }
        for double in rules::doubles(&evidence::log(&world.journal())?) {
            if outcome.doubles_told.insert(double.what.clone()) {
                println!("           DIALED TWICE: {}", double.what);
            }
        }
    }
    Ok(())
}

/// Restarts nodes that ended by themselves, as an operator would; returns their number.
pub fn revive(world: &mut World) -> io::Result<usize> {
    let ended = world.ended();
    for &node in &ended {
        println!(
            "           node {node} ended by itself and was started again: {}",
            world.nodes[node].last_word()
        );
        world.nodes[node].kill()?;
        world.nodes[node].start()?;
    }
    Ok(ended.len())
}

/// Kills a node, and returns what it held. Only a database server lets others look. A claim is held for
/// some milliseconds, so random kills rarely meet one: every other kill looks for a moment with a claim,
/// for a second at most.
async fn kill(world: &mut World, node: usize, at_ms: u64) -> io::Result<Option<Takeover>> {
    let looks_for = if at_ms.is_multiple_of(2) {
        LOOKS_FOR
    } else {
        Duration::ZERO
    };
    let on_server = world.database_url.starts_with("postgres");
    let incarnation = world.nodes[node].incarnation().filter(|_| on_server);
    let mut held = None;
    if let Some(incarnation) = incarnation {
        // The server may be down at this moment.
        let looking = look(world, node, &incarnation, looks_for);
        held = timeout(3 * LOOKS_FOR, looking).await.ok().and_then(Result::ok);
    }
    let at = now();
    world.perform(Step::Kill(node))?;
    Ok(held.map(|held| Takeover { at, held }))
}

/// Returns what a node holds; the node is stopped meanwhile.
async fn look(world: &mut World, node: usize, incarnation: &str, looks_for: Duration) -> io::Result<Held> {
    let mut database = evidence::connect(&world.database_url).await?;
    let limit = Instant::now() + looks_for;
    loop {
        world.nodes[node].hold(true)?;
        let held = evidence::held(&mut database, incarnation).await?;
        if !held.claimed.is_empty() || Instant::now() >= limit {
            return Ok(held);
        }
        world.nodes[node].hold(false)?;
        sleep(BETWEEN_LOOKS).await;
    }
}

/// Waits for the last webhooks, then collects all evidence. The analysis that a killed node had leased comes back a minute
/// later, and its webhook with it.
pub async fn gather(world: &mut World, ledger: &Ledger) -> io::Result<Evidence> {
    let told = evidence::told(&world.api, ledger.campaigns()).await?;
    println!("at rest; waiting for webhooks");
    let limit = Instant::now() + WEBHOOKS;
    let on_server = world.database_url.starts_with("postgres");
    let mut live = world.live_calls().await?;
    loop {
        let log = evidence::log(&world.journal())?;
        let seen = match on_server {
            true => Some(evidence::attempts_in(&world.database_url).await?),
            // A copy that cannot be read tells nothing.
            false if rules::is_quiet(&log, now(), 6_500_000) => attempts_in_copy(&world.database_url).await.ok(),
            false => None,
        };
        let is_told = |attempts: &Vec<_>| rules::untold(&log, attempts).is_empty();
        if live.is_empty() && seen.as_ref().is_some_and(is_told) || Instant::now() > limit {
            let attempts = match seen.filter(|_| on_server) {
                Some(attempts) => attempts,
                None => {
                    // The node holds the database file exclusively while it runs.
                    for node in &mut world.nodes {
                        node.kill()?;
                    }
                    evidence::attempts_in(&world.database_url).await?
                }
            };
            return Ok(Evidence {
                log,
                campaigns: told,
                attempts,
                live,
                standstills: world.standstills.clone(),
            });
        }
        sleep(Duration::from_millis(500)).await;
        live = world.live_calls().await?;
    }
}

/// Reads a copy of an SQLite database, which only its node may open.
async fn attempts_in_copy(database_url: &str) -> io::Result<Vec<Attempt>> {
    let path = database_url.trim_start_matches("sqlite://");
    let copy = format!("{path}.copy");
    for suffix in ["", "-wal"] {
        std::fs::copy(format!("{path}{suffix}"), format!("{copy}{suffix}"))?;
    }
    evidence::attempts_in(&format!("sqlite://{copy}")).await
}
