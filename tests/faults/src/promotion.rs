//! A standby takes over in the middle of campaigns and lacks the last commits: claims, permits and outcomes
//! that nodes had got confirmed are gone. Nobody may be dialed a second time because of that, and nobody lost.

use std::{io, path::PathBuf, time::Duration};

use rand::Rng;
use sqlx::Row;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    campaigns::{Client, Ledger},
    chance::{self, Manner},
    evidence,
    journal::now,
    postgres::Postgres,
    rules::{self, Rule},
    run::{gather, revive},
    world::{Entrance, Recipe, World},
};

/// Time until campaigns dial, and until pauses are over once nothing new is launched.
const SETTLES: Duration = Duration::from_secs(3);
/// Longest wait for a standby to follow.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(60);
/// Time without any server.
const DOWN_FOR: Duration = Duration::from_secs(2);
/// Interval between checks for nodes that ended by themselves.
const LOOK: Duration = Duration::from_millis(100);
/// Longest time for everything to come to rest, at real speed.
const REST: Duration = Duration::from_secs(420);

/// Arguments of `faults promotion`.
#[derive(Debug, Clone, clap::Args)]
pub struct PromotionArgs {
    /// Nodes
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=9))]
    nodes: u8,
    /// Seed of the carrier, the webhook receiver, and the lag of the standby
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Contacts of each of the two campaigns
    #[arg(long, default_value_t = 150)]
    contacts: usize,
    /// Concurrent calls of each node
    #[arg(long, default_value_t = 15)]
    lines: u32,
    /// Dials per second
    #[arg(long, default_value_t = 12.0)]
    calls_per_second: f64,
    /// Milliseconds by which the standby lags [default: 300 to 2500, by the seed]
    #[arg(long)]
    behind_ms: Option<u64>,
    /// Run with the service's times at one-tenth
    #[arg(long)]
    tenth: bool,
    /// Path of the service's binary
    #[arg(long, default_value = "target/release/ringback")]
    program: PathBuf,
}

/// Runs it and judges. Returns `true` if nobody was dialed twice and nobody lost.
pub async fn run(args: PromotionArgs) -> io::Result<bool> {
    let mut world = World::new(&Recipe {
        program: args.program.clone(),
        postgres: true,
        nodes: args.nodes.into(),
        seed: args.seed,
        tenth: args.tenth,
        entrance: Entrance::Any,
        manner: Manner::Faulty,
        lines: args.lines,
        calls_per_second: args.calls_per_second,
    })
    .await?;
    let done = in_world(&args, &mut world).await;
    world.judged(done)
}

async fn in_world(args: &PromotionArgs, world: &mut World) -> io::Result<bool> {
    let began = Instant::now();
    world.start_all().await?;
    let webhook = format!("http://{}/hook", world.judge);
    // No retries: a lost outcome that is found again comes after the retry that it had caused.
    let agent = world.api.agent(&webhook, 0).await?;
    let ledger = Ledger::default();
    let client = Client {
        api: world.api.clone(),
        ledger: ledger.clone(),
        agents: [agent.clone(), agent],
        contacts: args.contacts,
        seed: args.seed,
    };
    let finish = watch::Sender::new(false);
    let client = tokio::spawn(client.work(finish.subscribe()));
    sleep(SETTLES).await;
    // Launches, pauses and stops are confirmed to their user, so here only the nodes' own work may be lost.
    finish.send_replace(true);
    follow(world).await?;
    sleep(SETTLES).await;
    let behind = args.behind_ms.unwrap_or_else(|| {
        let mut rng = chance::of(args.seed, "behind");
        rng.random_range(300..2_500)
    });
    let from = now();
    change(world, Postgres::lose_standby)?;
    sleep(Duration::from_millis(behind)).await;
    change(world, Postgres::kill)?;
    let until = now();
    sleep(DOWN_FOR).await;
    change(world, Postgres::promote)?;
    println!("{:>8.1} s  standby promoted", began.elapsed().as_secs_f64());
    let scale = if args.tenth { 2 } else { 1 };
    let limit = Instant::now() + REST / scale;
    let mut ended = 0;
    while !client.is_finished() {
        if Instant::now() > limit {
            println!("campaigns did not end in time");
            break;
        }
        ended += revive(world)?;
        sleep(LOOK).await;
    }
    let evidence = gather(world, &ledger).await?;
    let (mut findings, mut told_anew) = (rules::breaches(&evidence), 0);
    // If the end of a call is lost, it is reported again with another event id when it is found again.
    findings.retain(|finding| {
        let is_anew = finding.rule == Rule::WebhookIds;
        told_anew += usize::from(is_anew);
        !is_anew
    });
    let forgotten = rules::dials(&evidence.log).filter(|dial| (from..until).contains(&dial.at));
    let (forgotten, dials) = (forgotten.count(), rules::dials(&evidence.log).count());
    println!(
        "\ntests/faults/run promotion --nodes {} --seed {} --contacts {} --behind-ms {behind}{}\n\
         {dials} dial requests, {forgotten} of them while the standby heard nothing; {told_anew} calls told once more, under \
         another id; {ended} nodes ended by themselves; {} breaches; {} s",
        args.nodes,
        args.seed,
        args.contacts,
        if args.tenth { " --tenth" } else { "" },
        findings.len(),
        began.elapsed().as_secs()
    );
    for finding in findings.iter().take(20) {
        println!("{}: {}", finding.rule, finding.what);
    }
    if forgotten == 0 {
        println!("nothing was dialed while the standby was cut off, so nothing was tested");
    }
    Ok(findings.is_empty() && forgotten > 0)
}

fn change(world: &mut World, change: impl FnOnce(&mut Postgres) -> io::Result<()>) -> io::Result<()> {
    world.postgres.as_mut().map_or(Ok(()), change)
}

/// Makes a standby follow, and waits until it gets each commit.
async fn follow(world: &mut World) -> io::Result<()> {
    change(world, Postgres::follow)?;
    let mut database = evidence::connect(&world.database_url).await?;
    let limit = Instant::now() + FOLLOWS_WITHIN;
    loop {
        let sql = "SELECT count(*) AS standbys FROM pg_stat_replication WHERE state = 'streaming' AND application_name = \
                   'walreceiver'";
        let row = sqlx::query(sql)
            .fetch_one(&mut database)
            .await
            .map_err(io::Error::other)?;
        let standbys: i64 = row.try_get("standbys").map_err(io::Error::other)?;
        if standbys > 0 {
            return evidence::close(database).await;
        }
        if Instant::now() > limit {
            return Err(io::Error::other("the standby does not follow"));
        }
        sleep(Duration::from_millis(100)).await;
    }
}
