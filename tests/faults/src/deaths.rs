//! Death at every fsync. One short campaign, from the CSV file to the last webhook, runs again and again.
//! Each time the node is killed at the next of its `fsync` calls, first before the call and then after it,
//! and started again. On PostgreSQL its commits count instead; there each commit's response is also lost once
//! while the node lives.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use crate::{
    api::Launch,
    campaigns::Campaign,
    chance::Manner,
    commits::When,
    evidence::{self, Evidence, Told},
    keeper::Kept,
    rules,
    run::Database,
    trace::{ENDED, KILLED},
    world::{Entrance, Recipe, World},
};

/// Longest life, including a call whose outcome is looked up twice.
const LIFE: Duration = Duration::from_secs(150);
/// Time for a node's last writes after all is done and reported.
const LAST_WRITES: Duration = Duration::from_millis(500);
/// Time for reading a campaign, including one start of the node.
const READING: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(60);

/// Arguments of `faults deaths`.
#[derive(Debug, Clone, clap::Args)]
pub struct DeathsArgs {
    /// First call of fsync at which the node dies
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Distance between two deaths
    #[arg(long, default_value_t = 1)]
    step: u64,
    /// Database
    #[arg(long, value_enum, default_value = "sqlite")]
    database: Database,
    /// Contacts of the campaign
    #[arg(long, default_value_t = 3)]
    contacts: usize,
    /// Seed of the callees' behaviour
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run with the service's times at one-tenth
    #[arg(long)]
    tenth: bool,
    /// Path of the service's binary
    #[arg(long, default_value = "target/release/ringback")]
    program: PathBuf,
}

/// End of one life.
struct Life {
    broke: bool,
    /// Calls of fsync, or commits, up to the end.
    calls: u64,
    broken: Vec<rules::Finding>,
}

/// Mechanism that kills the process at a chosen point.
enum Snare {
    /// The tracer, and the file it prints to.
    Tracer(Kept, PathBuf),
    Trap,
}

struct Deaths {
    args: DeathsArgs,
    world: World,
    agent: String,
    template: PathBuf,
    lives: usize,
}

/// Runs lives until one ends without a fault. Returns `true` if no rule was broken in any.
pub async fn run(args: DeathsArgs) -> io::Result<bool> {
    let began = Instant::now();
    let mut deaths = Deaths::new(args.clone()).await?;
    let (mut broke, mut broken, mut at) = (0, 0, args.from.max(1));
    loop {
        let mut ended = None;
        let whens = match args.database {
            Database::Sqlite => &[When::Before, When::After][..],
            Database::Postgres => &[When::Before, When::After, When::AnswerLost],
        };
        for &when in whens {
            let life = match deaths.life(at, when).await {
                Ok(life) => life,
                Err(error) => {
                    println!("kept for inspection: {}", deaths.world.keep().display());
                    return Err(error);
                }
            };
            println!("{at} {when:?}: {} of them in this life", life.calls);
            for finding in &life.broken {
                println!("{at} {when:?}: {}: {}", finding.rule, finding.what);
            }
            broken += usize::from(!life.broken.is_empty());
            broke += usize::from(life.broke);
            if !life.broke {
                ended = Some(life.calls);
            }
        }
        if let Some(calls) = ended {
            let seconds = began.elapsed().as_secs();
            println!(
                "\ntests/faults/run deaths --database {:?} --from {} --step {} --contacts {} --seed {}{}\n\
                 {calls} of them in a whole life; {broke} lives broken into, {broken} of them with a breach; {seconds} s",
                args.database,
                args.from,
                args.step,
                args.contacts,
                args.seed,
                if args.tenth { " --tenth" } else { "" }
            );
            if broken > 0 {
                println!("kept for inspection: {}", deaths.world.keep().display());
            }
            return Ok(broken == 0 && broke > 0);
        }
        at += args.step.max(1);
    }
}

impl Deaths {
    /// Creates the database that every life begins with: an account and an agent.
    async fn new(args: DeathsArgs) -> io::Result<Self> {
        let mut world = World::new(&Recipe {
            program: args.program.clone(),
            postgres: args.database == Database::Postgres,
            nodes: 1,
            seed: args.seed,
            tenth: args.tenth,
            entrance: Entrance::Own,
            manner: Manner::Faultless,
            lines: 10,
            calls_per_second: 50.0,
        })
        .await?;
        world.start_all().await?;
        let webhook = format!("http://{}/hook", world.judge);
        let agent = world.api.agent(&webhook, 0).await?;
        world.nodes[0].kill()?;
        // On SQLite the last connection to close writes everything into one file.
        evidence::close(evidence::connect(&world.database_url).await?).await?;
        let template = world.journal().with_file_name("template");
        fs::create_dir(&template)?;
        copy(&world.journal().with_file_name(""), &template)?;
        Ok(Self {
            args,
            world,
            agent,
            template,
            lives: 0,
        })
    }

    async fn life(&mut self, at: u64, when: When) -> io::Result<Life> {
        copy(&self.template, &self.world.journal().with_file_name(""))?;
        let seen = evidence::log(&self.world.journal())?.len();
        let numbers: Vec<_> = (0..self.args.contacts)
            .map(|n| format!("+1555{:04}{n:03}", self.lives))
            .collect();
        self.lives += 1;
        self.world.nodes[0].start()?;
        let snare = self.lay(at, when)?;
        let campaign = self.live(seen, &numbers).await?;
        let told = self.told(campaign).await?;
        let live = self.world.live_calls().await?;
        self.world.nodes[0].kill()?;
        let (broke, calls) = self.outcome(snare).await?;
        // Closes the database, since otherwise it would close that of another life.
        let attempts = evidence::attempts_in(&self.world.database_url).await?;
        let mut evidence = Evidence {
            log: evidence::log(&self.world.journal())?.split_off(seen),
            campaigns: told,
            attempts,
            live,
            standstills: Vec::new(),
        };
        let campaigns = &evidence.campaigns;
        evidence
            .attempts
            .retain(|attempt| campaigns.iter().any(|(campaign, _)| campaign.id == attempt.campaign));
        let mut broken = rules::breaches(&evidence);
        if evidence.campaigns.is_empty() {
            broken.push(rules::Finding {
                rule: rules::Rule::CampaignOpen,
                what: "it could not be launched".to_owned(),
            });
        }
        Ok(Life { broke, calls, broken })
    }

    /// Launches a campaign and follows it to its end, starting the node again when it dies. Returns `None` if
    /// it could not be launched.
    async fn live(&mut self, seen: usize, numbers: &[String]) -> io::Result<Option<Campaign>> {
        let limit = Instant::now() + LIFE;
        let mut campaign: Option<Campaign> = None;
        let mut is_done_since = None;
        while Instant::now() < limit {
            sleep(LOOK).await;
            if self.revive()? {
                is_done_since = None;
            }
            let is_done = match &campaign {
                Some(campaign) => self.is_over(&campaign.id).await && self.is_told(seen, numbers)?,
                None => {
                    campaign = self.launch(numbers).await;
                    false
                }
            };
            match is_done_since {
                _ if !is_done => is_done_since = None,
                None => is_done_since = Some(Instant::now()),
                Some(since) if since.elapsed() > LAST_WRITES => break,
                Some(_) => {}
            }
        }
        Ok(campaign)
    }

    /// Starts the node again if it has died; returns whether it had.
    fn revive(&mut self) -> io::Result<bool> {
        let has_died = self.world.nodes[0].has_ended();
        if has_died {
            self.world.nodes[0].kill()?;
            self.world.nodes[0].start()?;
        }
        Ok(has_died)
    }

    /// Reads the campaign from the REST API, again if the node dies meanwhile: it still writes now and then at rest.
    async fn told(&mut self, campaign: Option<Campaign>) -> io::Result<Vec<(Campaign, Told)>> {
        let limit = Instant::now() + READING;
        loop {
            let told = evidence::told(&self.world.api, campaign.clone().into_iter().collect()).await;
            if told.is_ok() || Instant::now() > limit {
                return told;
            }
            sleep(LOOK).await;
            self.revive()?;
        }
    }

    /// Arranges for the node to break.
    fn lay(&self, at: u64, when: When) -> io::Result<Snare> {
        let pid = self.world.nodes[0].pid().unwrap_or_default();
        if self.args.database == Database::Postgres {
            self.world.nodes[0].trap.set(pid, at, when);
            return Ok(Snare::Trap);
        }
        let report = self.world.journal().with_file_name("trace.log");
        let _ = fs::remove_file(&report);
        let mut arguments: Vec<OsString> = vec!["trace".into(), "--pid".into(), pid.to_string().into()];
        arguments.extend(["--at".into(), at.to_string().into()]);
        if when == When::After {
            arguments.push("--after".into());
        }
        let tracer = Kept::start(&std::env::current_exe()?, &arguments, &[], &report)?;
        Ok(Snare::Tracer(tracer, report))
    }

    /// Returns whether the node was broken into, and the number of calls or commits.
    async fn outcome(&self, snare: Snare) -> io::Result<(bool, u64)> {
        let (tracer, report) = match snare {
            Snare::Trap => return Ok(self.world.nodes[0].trap.take()),
            Snare::Tracer(tracer, report) => (tracer, report),
        };
        // The tracer prints its result when the process is gone.
        while report_of(&report).is_none() && tracer.runs() {
            sleep(LOOK).await;
        }
        report_of(&report).ok_or_else(|| {
            let text = fs::read_to_string(&report).unwrap_or_default();
            io::Error::other(format!("the process could not be traced: {text}"))
        })
    }

    /// Repeats the same request until it is answered.
    async fn launch(&self, numbers: &[String]) -> Option<Campaign> {
        let rows: Vec<_> = numbers.iter().map(|number| format!("{number},Somebody\n")).collect();
        let launch = Launch {
            name: &format!("deaths-{}", self.lives),
            agent: &self.agent,
            csv: format!("phone,name\n{}", rows.concat()),
        };
        let id = self.world.api.launch(&launch).await.ok()?;
        Some(Campaign {
            id,
            numbers: numbers.to_vec(),
            pauses: Vec::new(),
            dials: false,
            over: false,
        })
    }

    async fn is_over(&self, campaign: &str) -> bool {
        let shown = self.world.api.campaign(campaign).await;
        shown.is_ok_and(|shown| shown["status"] == "completed")
    }

    /// Returns whether every call was reported by a webhook.
    fn is_told(&self, seen: usize, numbers: &[String]) -> io::Result<bool> {
        let log = evidence::log(&self.world.journal())?;
        let (before, log) = log.split_at(seen);
        Ok(rules::told(before, log) >= numbers.len())
    }
}

/// Returns whether the tracer killed, and how many calls it saw.
fn report_of(report: &Path) -> Option<(bool, u64)> {
    let text = fs::read_to_string(report).ok()?;
    let after = |word: &str| text.split_once(word)?.1.lines().next()?.parse().ok();
    after(KILLED)
        .map(|calls| (true, calls))
        .or_else(|| after(ENDED).map(|calls| (false, calls)))
}

/// Copies the database files from one folder to another, and removes those of other lives there.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    // A dial journal of another life contains dials that this life's database never had.
    for entry in fs::read_dir(to)? {
        let _ = fs::remove_dir_all(entry?.path().join("dials"));
    }
    for name in ["ringback.db", "ringback.db-wal", "ringback.db-shm"] {
        let _ = fs::remove_file(to.join(name));
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name))?;
        }
    }
    Ok(())
}
