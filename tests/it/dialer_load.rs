//! A dialer with many calls: nothing of a campaign is left behind, and a command takes effect in the
//! middle of the dialing.

use std::{collections::BTreeMap, time::Duration};

use actors::node::NodeSettings;
use domain::time::Timestamp;
use serde_json::{Value, json};

use support::{words::interviewing_agent, world::World};

/// Personas that end a call in different ways.
const PERSONAS: [&str; 9] = [
    "cooperative",
    "interrupts",
    "silent",
    "hangs-up",
    "voicemail",
    "busy",
    "no-answer",
    "rejects",
    "invalid",
];

/// Contacts of each persona.
const CONTACTS: usize = 12;

/// Resources of a service and its exchange.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    actors: usize,
    tasks: usize,
    sockets: usize,
}

impl Held {
    fn by(world: &World) -> Self {
        Self {
            actors: world.actors(),
            tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
            sockets: sockets(world.ports()),
        }
    }
}

/// Returns the number of sockets with one end at these ports that a process still has open.
fn sockets(ports: [u16; 2]) -> usize {
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let open = table.lines().skip(1).filter(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let ends = fields[1..3]
            .iter()
            .map(|end| u16::from_str_radix(end.rsplit_once(':').unwrap().1, 16).unwrap());
        let ours = ends.into_iter().any(|port| ports.contains(&port));
        // The system keeps closed ones for a while, without an inode.
        ours && fields[9] != "0"
    });
    open.count()
}

/// Waits until the campaign is over, and the service has finished its work afterwards and closed idle connections.
async fn over(world: &World, campaign: &str) -> Value {
    for _ in 0..60 {
        world.pass(10).await;
        let state = world.campaign(campaign).await;
        if state["status"] == "completed" {
            world.pass(120).await;
            return state;
        }
    }
    panic!(
        "the campaign does not end: {}",
        world.campaign(campaign).await["progress"]
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_two_identical_campaigns() {
    let limits = NodeSettings {
        lines: 50,
        ..NodeSettings::default()
    };
    let world = World::start_with(limits).await;
    let agent = world.agent(interviewing_agent()).await;
    let numbers: Vec<String> = (0..CONTACTS * PERSONAS.len()).map(|n| format!("+1555{n:07}")).collect();
    let personas = PERSONAS.into_iter().cycle();
    let contacts: Vec<(&str, &str)> = numbers.iter().map(String::as_str).zip(personas).collect();
    world.pass(120).await;
    let before = Held::by(&world);
    for round in 1..=2 {
        let campaign = world.launch(&agent, &contacts, json!({})).await;
        let state = over(&world, &campaign).await;
        let progress = &state["progress"];
        let ends = [&progress["completed"], &progress["failed"], &progress["pending"]];
        assert_eq!(
            ends,
            [&json!(5 * CONTACTS), &json!(4 * CONTACTS), &json!(0)],
            "{progress}"
        );
        assert_eq!(Held::by(&world), before, "after round {round}");
    }
    let mut dialed: BTreeMap<String, usize> = BTreeMap::new();
    for number in world.phones().dialed() {
        *dialed.entry(number).or_default() += 1;
    }
    assert_eq!(dialed.len(), 8 * CONTACTS, "all but the invalid ones");
    assert!(dialed.values().all(|times| *times == 2), "{dialed:?}");
}

/// A busy number is over after a tenth of a second: these lines make 200 dials per second.
const LINES: usize = 20;

/// A dial that was on its way when a command was answered is at the exchange by then.
const LATEST: Duration = Duration::from_secs(1);

/// Launches a campaign of busy numbers that is being dialed on all [`LINES`].
async fn dialing() -> (World, String, Vec<String>) {
    let limits = NodeSettings {
        lines: LINES,
        ..NodeSettings::default()
    };
    let world = World::start_with(limits).await;
    let agent = world.agent(interviewing_agent()).await;
    let numbers: Vec<String> = (0..400).map(|n| format!("+1555{n:07}")).collect();
    let contacts: Vec<(&str, &str)> = numbers.iter().map(|number| (number.as_str(), "busy")).collect();
    let campaign = world.launch(&agent, &contacts, json!({})).await;
    (world, campaign, numbers)
}

/// Returns how long after `answered` the last of these was dialed.
fn late(world: &World, answered: Timestamp, of: impl Fn(&str) -> bool) -> Duration {
    let calls = world.phones().calls();
    let last = calls
        .iter()
        .filter(|call| of(&call.to))
        .map(|call| call.dialed_at)
        .max();
    last.map_or(Duration::ZERO, |last| last.since(answered))
}

#[tokio::test(start_paused = true)]
async fn a_pause_and_a_stop_hold_in_the_middle_of_the_dialing() {
    for (wait_ms, command) in [
        (3, "pause"),
        (150, "stop"),
        (307, "pause"),
        (620, "stop"),
        (911, "pause"),
    ] {
        let (world, campaign, numbers) = dialing().await;
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        world.command(&campaign, command).await;
        let answered = world.now();
        let before = world.phones().calls().len();
        world.pass(10).await;
        assert!(
            late(&world, answered, |_| true) <= LATEST,
            "{command} after {wait_ms} ms"
        );
        assert!(
            (1..numbers.len()).contains(&before),
            "{before} were dialed after {wait_ms} ms"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_opt_out_holds_in_the_middle_of_the_dialing() {
    let (world, campaign, numbers) = dialing().await;
    let mut opted_out = BTreeMap::new();
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(130)).await;
        // A number that is on its way, one that is dialed next, and one that is dialed a little later.
        let next = world.phones().calls().len();
        for number in [next, next + LINES, next + 2 * LINES].map(|place| &numbers[place]) {
            let body = json!({ "phoneNumber": number });
            world.client.post("/public/v1/do-not-call", body).await.expect(201);
            opted_out.entry(number).or_insert_with(|| world.now());
        }
    }
    over(&world, &campaign).await;
    let dialed = world.phones().dialed();
    for (number, answered) in &opted_out {
        assert!(late(&world, *answered, |to| to == *number) <= LATEST, "{number}");
    }
    let spared = opted_out.keys().filter(|number| !dialed.contains(number)).count();
    assert!(spared >= 10, "only {spared} of {} were spared", opted_out.len());
    assert_eq!(dialed.len(), numbers.len() - spared);
    let path = format!("/public/v1/campaigns/{campaign}/contacts?status=cancelled&pageSize=100");
    let cancelled = world.client.get(&path).await.expect(200).data().clone();
    let cancelled = cancelled.as_array().unwrap();
    assert_eq!(cancelled.len(), spared);
    for contact in cancelled {
        assert_eq!(contact["errorMessage"], "do-not-call", "{contact}");
    }
}
