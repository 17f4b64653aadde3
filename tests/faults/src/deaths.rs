//! Death at every fsync: one short campaign on SQLite, from the CSV file to the last webhook, again and again; each time
//! the node is killed at the next of its calls of `fsync`, first before it and then after it, and started again.

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
    evidence::{self, Evidence},
    keeper::Kept,
    node::Running,
    rules,
    trace::{ENDED, KILLED},
    world::{Recipe, World},
};

/// How long one life may take, with a call whose fate is looked for twice.
const LIFE: Duration = Duration::from_secs(150);
const LOOK: Duration = Duration::from_millis(60);

/// `faults deaths`.
#[derive(Debug, Clone, clap::Args)]
pub struct DeathsArgs {
    /// The first call of fsync at which the node dies
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// How many lie between two deaths
    #[arg(long, default_value_t = 1)]
    step: u64,
    /// Contacts of the campaign
    #[arg(long, default_value_t = 3)]
    contacts: usize,
    /// Decides what the callees do
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The service's times at one-tenth
    #[arg(long)]
    tenth: bool,
    /// The service's binary
    #[arg(long, default_value = "target/release/ringback")]
    program: PathBuf,
}

/// How one life ended.
struct Life {
    killed: bool,
    /// Calls of fsync up to the end.
    calls: u64,
    broken: Vec<rules::Finding>,
}

struct Deaths {
    args: DeathsArgs,
    world: World,
    agent: String,
    template: PathBuf,
    lives: usize,
}

/// Runs lives until one comes to its end by itself. True when nothing was broken in any.
pub async fn run(args: DeathsArgs) -> io::Result<bool> {
    let began = Instant::now();
    let mut deaths = Deaths::new(args.clone()).await?;
    let (mut died, mut broken, mut at) = (0, 0, args.from.max(1));
    loop {
        let mut ended = None;
        for after in [false, true] {
            let life = deaths.life(at, after).await?;
            let when = if after { "after" } else { "before" };
            for finding in &life.broken {
                println!("death {when} fsync {at}: {}: {}", finding.rule, finding.what);
            }
            println!("fsync {at}: killed {when} it: {}", life.killed);
            broken += usize::from(!life.broken.is_empty());
            died += usize::from(life.killed);
            if !life.killed {
                ended = Some(life.calls);
            }
        }
        if let Some(calls) = ended {
            let seconds = began.elapsed().as_secs();
            println!(
                "\ntests/faults/run deaths --from {} --step {} --contacts {} --seed {}\n\
                 {calls} fsyncs in a life; {died} deaths, {broken} with something broken; {seconds} s",
                args.from, args.step, args.contacts, args.seed
            );
            if broken > 0 {
                println!("kept for inspection: {}", deaths.world.keep().display());
            }
            return Ok(broken == 0 && died > 0);
        }
        at += args.step.max(1);
    }
}

impl Deaths {
    /// Makes the database that every life begins with: an account and an agent.
    async fn new(args: DeathsArgs) -> io::Result<Self> {
        let mut world = World::new(&Recipe {
            program: args.program.clone(),
            postgres: false,
            nodes: 1,
            seed: args.seed,
            tenth: args.tenth,
            front: false,
            faultless: true,
            lines: 10,
            calls_per_second: 50.0,
        })
        .await?;
        world.start_all().await?;
        let webhook = format!("http://{}/hook", world.judge);
        let agent = world.api.agent(&webhook, 0).await?;
        world.nodes[0].kill()?;
        // The last one who closes it writes all into one file.
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

    async fn life(&mut self, at: u64, after: bool) -> io::Result<Life> {
        let folder = self.world.journal().with_file_name("");
        copy(&self.template, &folder)?;
        let seen = evidence::log(&self.world.journal())?.len();
        let numbers: Vec<_> = (0..self.args.contacts)
            .map(|n| format!("+1555{:05}{n:03}", self.lives))
            .collect();
        self.lives += 1;
        self.world.nodes[0].start()?;
        let report = folder.join("trace.log");
        let _ = fs::remove_file(&report);
        let tracer = self.trace(at, after, &report)?;
        let limit = Instant::now() + LIFE;
        let mut campaign: Option<Campaign> = None;
        let mut is_down = false;
        while Instant::now() < limit {
            sleep(LOOK).await;
            if !is_down && self.world.nodes[0].has_ended() {
                is_down = true;
                self.world.nodes[0].kill()?;
                self.world.nodes[0].start()?;
            }
            match &campaign {
                None => campaign = self.launch(&numbers).await,
                Some(campaign) if self.is_over(&campaign.id).await && self.is_told(seen, &numbers)? => break,
                Some(_) => {}
            }
        }
        let campaigns = campaign.into_iter().collect();
        let told = evidence::told(&self.world.api, campaigns).await;
        let live = self.world.live_calls().await?;
        self.world.nodes[0].kill()?;
        // The tracer prints what it saw when the process is gone.
        while report_of(&report).is_none_or(|(_, calls)| calls == 0) && tracer.runs() {
            sleep(LOOK).await;
        }
        let Some((killed, calls)) = report_of(&report) else {
            let text = fs::read_to_string(&report).unwrap_or_default();
            return Err(io::Error::other(format!("the process could not be traced: {text}")));
        };
        self.world.nodes[0].running = Running::Down;
        let mut database = evidence::connect(&self.world.database_url).await?;
        let evidence = Evidence {
            log: evidence::log(&self.world.journal())?.split_off(seen),
            campaigns: told?,
            attempts: evidence::attempts(&mut database).await?,
            live,
        };
        // Or it would close another life's.
        evidence::close(database).await?;
        let mut broken = rules::breaches(&evidence);
        if evidence.campaigns.is_empty() {
            broken.push(rules::Finding {
                rule: rules::Rule::CampaignOpen,
                what: "it could not be launched".to_owned(),
            });
        }
        Ok(Life { killed, calls, broken })
    }

    fn trace(&self, at: u64, after: bool, report: &Path) -> io::Result<Kept> {
        let pid = self.world.nodes[0].pid().unwrap_or_default().to_string();
        let mut arguments: Vec<OsString> = vec!["trace".into(), "--pid".into(), pid.into()];
        arguments.extend(["--at".into(), at.to_string().into()]);
        if after {
            arguments.push("--after".into());
        }
        Kept::start(&std::env::current_exe()?, &arguments, &[], report)
    }

    /// The same request until it is answered.
    async fn launch(&self, numbers: &[String]) -> Option<Campaign> {
        let rows: Vec<_> = numbers.iter().map(|number| format!("{number},Somebody\n")).collect();
        let launch = Launch {
            name: "deaths",
            agent: &self.agent,
            csv: format!("phone,name\n{}", rows.concat()),
        };
        let id = self.world.api.launch(&launch).await.ok()?;
        Some(Campaign {
            id,
            numbers: numbers.to_vec(),
            pauses: Vec::new(),
            over: false,
        })
    }

    async fn is_over(&self, campaign: &str) -> bool {
        let shown = self.world.api.campaign(campaign).await;
        shown.is_ok_and(|shown| shown["status"] == "completed")
    }

    /// Whether a webhook came of every call.
    fn is_told(&self, seen: usize, numbers: &[String]) -> io::Result<bool> {
        let log = evidence::log(&self.world.journal())?;
        Ok(rules::told(&log[seen..]) >= numbers.len())
    }
}

/// Whether the tracer killed, and how many calls it saw.
fn report_of(report: &Path) -> Option<(bool, u64)> {
    let text = fs::read_to_string(report).ok()?;
    let after = |word: &str| text.split_once(word)?.1.lines().next()?.parse().ok();
    after(KILLED)
        .map(|calls| (true, calls))
        .or_else(|| after(ENDED).map(|calls| (false, calls)))
}

/// Puts the files of a database of one folder into another, and nothing of another life beside them.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for name in ["ringback.db", "ringback.db-wal", "ringback.db-shm"] {
        let _ = fs::remove_file(to.join(name));
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name))?;
        }
    }
    Ok(())
}
