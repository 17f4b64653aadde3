//! Operators who are lost. Each takes a call over and makes a sound; then its connection, its network, the node between or
//! the node of the call is gone. The judge measures the silence at the phone until the agent speaks.

use std::{fmt, io, path::PathBuf, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    api::text,
    chance::Manner,
    evidence,
    http::{self, Ask},
    journal::Event,
    operator::Operator,
    rolling::until_ready,
    world::{Entrance, Recipe, World},
};

/// Longest silence at the phone.
const MOST_SILENCE_MS: u64 = 3_000;

/// Time for which an operator speaks.
const SPEAKS: Duration = Duration::from_secs(3);

/// Time after a loss at which the silence is looked at: longer than it may last, and before the agent has finished its
/// sentence.
const LOOKED_AT: Duration = Duration::from_secs(4);

/// Longest wait for a call to be answered or to end.
const WITHIN: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

/// Arguments of `faults operators`.
#[derive(Debug, Clone, clap::Args)]
pub struct OperatorsArgs {
    /// Number of times an operator is lost in each way
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seed of the callees' behaviour
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run with the times that nodes share at one-tenth
    #[arg(long)]
    tenth: bool,
    /// Path of the service's binary
    #[arg(long, default_value = "target/release/ringback")]
    program: PathBuf,
}

/// Way in which an operator is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// The connection ends without a close.
    Connection,
    /// Neither audio nor answers come anymore.
    Network,
    /// The node that passes the audio on is killed.
    NodeBetween,
    /// The node of the call is killed, and the operator is connected to it.
    NodeOfBoth,
    /// The node of the call is killed, and the operator is connected to the other.
    NodeOfCall,
}

const LOSSES: [Loss; 5] = [
    Loss::Connection,
    Loss::Network,
    Loss::NodeBetween,
    Loss::NodeOfBoth,
    Loss::NodeOfCall,
];

/// Result of one loss.
struct Lost {
    loss: Loss,
    silence_ms: u64,
    /// Reasons with which the record says that operators left.
    left: Vec<String>,
    /// Status of the conversation afterwards.
    status: String,
}

impl Lost {
    fn is_clean(&self) -> bool {
        self.silence_ms <= MOST_SILENCE_MS && self.left == ["lost"] && self.status == "in_progress"
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_clean() { "clean" } else { "BROKEN" };
        write!(
            f,
            "{:?}: silence of {} ms, operator left as {:?}, conversation is {}: {verdict}",
            self.loss, self.silence_ms, self.left, self.status
        )
    }
}

/// Loses operators and judges. Returns `true` if no callee was left in silence.
pub async fn run(args: OperatorsArgs) -> io::Result<bool> {
    let mut world = World::new(&Recipe {
        program: args.program.clone(),
        postgres: true,
        nodes: 2,
        seed: args.seed,
        tenth: args.tenth,
        entrance: Entrance::Ready,
        manner: Manner::Patient,
        lines: 10,
        calls_per_second: 10.0,
    })
    .await?;
    let done = in_world(&args, &mut world).await;
    world.judged(done)
}

async fn in_world(args: &OperatorsArgs, world: &mut World) -> io::Result<bool> {
    let began = Instant::now();
    world.start_all().await?;
    let agent = world.api.agent(&format!("http://{}/hook", world.judge), 0).await?;
    let mut all: Vec<Lost> = Vec::new();
    for loss in LOSSES.into_iter().cycle().take(LOSSES.len() * args.rounds) {
        world.start_all().await?;
        for node in 0..world.nodes.len() {
            until_ready(world, node).await?;
        }
        let number = format!("+1555{:07}", all.len());
        let lost = lose(world, (&agent, &number), loss).await?;
        println!("{:>6.1} s  {lost}", began.elapsed().as_secs_f64());
        all.push(lost);
    }
    let longest = |loss: Loss| {
        let own = all.iter().filter(|lost| lost.loss == loss);
        own.map(|lost| lost.silence_ms).max().unwrap_or(0)
    };
    let tenth = if args.tenth { " --tenth" } else { "" };
    println!(
        "\ntests/faults/run operators --rounds {} --seed {}{tenth}",
        args.rounds, args.seed
    );
    for loss in LOSSES {
        println!(
            "{loss:?}: longest silence {} ms, at most {MOST_SILENCE_MS}",
            longest(loss)
        );
    }
    Ok(!all.is_empty() && all.iter().all(Lost::is_clean))
}

/// Lets an operator take a call of its own over, and loses it.
async fn lose(world: &mut World, (agent, number): (&str, &str), loss: Loss) -> io::Result<Lost> {
    let call = json!({ "agentId": agent, "phoneNumber": number });
    let made = world.api.post("/calls", call).await?;
    let id = text(&made["data"]["conversationId"])?;
    until_spoken(world, &id).await?;
    let holder = holder(world).await?;
    let other = 1 - holder;
    let at = match loss {
        Loss::Connection | Loss::Network | Loss::NodeOfBoth => holder,
        Loss::NodeBetween | Loss::NodeOfCall => other,
    };
    let mut operator = Operator::take(&world.api, world.nodes[at].listen, &id).await?;
    operator.hum(SPEAKS).await?;
    // Forgets the silence before.
    world.longest_silence_ms(&id).await?;
    let kept = match loss {
        Loss::Connection => {
            drop(operator);
            None
        }
        Loss::Network => Some(operator),
        Loss::NodeBetween => {
            world.nodes[other].kill()?;
            Some(operator)
        }
        Loss::NodeOfBoth | Loss::NodeOfCall => {
            world.nodes[holder].kill()?;
            Some(operator)
        }
    };
    sleep(LOOKED_AT).await;
    let silence_ms = world.longest_silence_ms(&id).await?;
    let status = text(&world.api.get(&format!("/conversations/{id}")).await?["data"]["status"])?;
    let left = left(world, &id).await?;
    drop(kept);
    // The judge knows whether it ended.
    let _ = world.api.post(&format!("/conversations/{id}/end"), json!({})).await;
    let limit = Instant::now() + WITHIN;
    while !world.live_calls().await?.is_empty() {
        if Instant::now() > limit {
            return Err(io::Error::other(format!("{id} does not end")));
        }
        sleep(LOOK).await;
    }
    Ok(Lost {
        loss,
        silence_ms,
        left,
        status,
    })
}

/// Waits until the agent has spoken, and a little longer than that takes.
async fn until_spoken(world: &World, id: &str) -> io::Result<()> {
    let limit = Instant::now() + WITHIN;
    let spoke = |event: &Event| matches!(event, Event::Spoke { attempt, .. } if attempt == id);
    while !evidence::log(&world.journal())?.iter().any(|entry| spoke(&entry.event)) {
        if Instant::now() > limit {
            return Err(io::Error::other(format!("the agent does not speak in {id}")));
        }
        sleep(LOOK).await;
    }
    sleep(Duration::from_secs(1)).await;
    Ok(())
}

/// Returns the node that has the only call.
async fn holder(world: &World) -> io::Result<usize> {
    for (number, node) in world.nodes.iter().enumerate() {
        let url = format!("http://{}/metrics", node.listen);
        let asked = http::send(Ask {
            method: "GET",
            url: &url,
            headers: &[],
            body: Vec::new(),
            within: Duration::from_secs(5),
        });
        let (_, body) = asked.await?;
        let figures = String::from_utf8_lossy(&body);
        let live = figures
            .lines()
            .find_map(|line| line.strip_prefix("ringback_live_calls "));
        if live.and_then(|count| count.parse::<f64>().ok()) == Some(1.0) {
            return Ok(number);
        }
    }
    Err(io::Error::other("no node has the call"))
}

/// Returns the reasons with which operators left a call, as its record has them.
async fn left(world: &World, id: &str) -> io::Result<Vec<String>> {
    let events = world
        .api
        .get(&format!("/conversations/{id}/events?pageSize=100"))
        .await?;
    let events = events["data"].as_array().cloned().unwrap_or_default();
    let left = events.iter().filter(|event| event["type"] == "operator_left");
    Ok(left
        .filter_map(|event: &Value| event["detail"]["reason"].as_str().map(str::to_owned))
        .collect())
}
