//! Campaigns follow their schedules over days, restarts and clock jumps, and dial nothing outside them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use actors::{
    campaign::{CampaignCommand, CampaignUpdate, CommandError},
    node::NodeSettings,
};
use domain::{
    campaign_options::CampaignOptions,
    id::CampaignId,
    ports::store::{CampaignStatus, CampaignStore, NewCampaign, ScheduleText, StoreError},
    time::{Clock, Timestamp, TokioClock},
};
use testkit::fake_ports::CLOCK_START;

use crate::support::{Callees, World, figures, until};

const HOUR: Duration = Duration::from_secs(3_600);
const MINUTE: Duration = Duration::from_secs(60);
const BUSY: Callees = Callees::Busy(Duration::from_secs(10));

/// Returns a schedule command. The clock starts at noon (UTC).
fn schedule(start: &str, end: Option<&str>) -> CampaignCommand {
    CampaignCommand::Schedule(text(start, end))
}

fn text(start: &str, end: Option<&str>) -> ScheduleText {
    ScheduleText {
        start_time: Some(start.to_owned()),
        end_time: end.map(str::to_owned),
        timezone: Some("UTC".to_owned()),
    }
}

/// Returns the seconds since the clock's start.
fn seconds(world: &World) -> i64 {
    world.ports.clock.now().since(CLOCK_START).as_secs() as i64
}

/// Sleeps until this number of seconds after the clock's start.
async fn at(world: &World, wanted_s: u64) {
    let wanted = CLOCK_START.plus(Duration::from_secs(wanted_s));
    tokio::time::sleep(wanted.since(world.ports.clock.now())).await;
}

fn hours_and(hours: u64, seconds: u64) -> u64 {
    hours * 3_600 + seconds
}

/// Returns when each dial request was sent, in seconds after the clock's start.
fn dialed_at(world: &World) -> Vec<i64> {
    let (now, now_s) = (tokio::time::Instant::now(), seconds(world));
    let dials = world.carrier.dials();
    dials
        .iter()
        .map(|(at, _)| now_s - now.duration_since(*at).as_secs_f64().ceil() as i64)
        .collect()
}

/// Checks that every dial lies in the daily window `from..to` (seconds after the time of day at which the
/// clock started).
#[track_caller]
fn all_dialed_within(world: &World, from: i64, to: i64) {
    for dial in dialed_at(world) {
        let second = dial.rem_euclid(86_400);
        assert!((from..to).contains(&second), "dialed {second} s after noon");
    }
}

async fn stands(world: &World, campaign: CampaignId, status: CampaignStatus, next_s: Option<u64>) {
    let row = world.row(campaign).await;
    assert_eq!(row.status, status);
    assert_eq!(
        row.next_run_at,
        next_s.map(|s| CLOCK_START.plus(Duration::from_secs(s)))
    );
}

#[tokio::test(start_paused = true)]
async fn a_campaign_is_dialed_in_its_daily_windows_until_it_is_done() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    let node = world.node(2).await;
    let campaign = world.campaign(50).await;
    let window = schedule("13:00", Some("13:02"));
    let row = world.command(&node, campaign, window).await.unwrap();
    assert!(row.active && row.scheduled);
    stands(&world, campaign, CampaignStatus::Waiting, Some(hours_and(1, 0))).await;
    at(&world, hours_and(1, 0) - 1).await;
    assert!(world.carrier.dials().is_empty());
    for day in 0..2 {
        at(&world, hours_and(day * 24 + 1, 30)).await;
        stands(&world, campaign, CampaignStatus::Running, None).await;
        at(&world, hours_and(day * 24 + 2, 0)).await;
        stands(
            &world,
            campaign,
            CampaignStatus::Paused,
            Some(hours_and(day * 24 + 25, 0)),
        )
        .await;
        assert!(world.row(campaign).await.active, "it goes on by itself");
    }
    at(&world, hours_and(72, 0)).await;
    assert_eq!(world.status(campaign).await, CampaignStatus::Completed);
    assert_eq!(world.carrier.dials().len(), 50);
    assert_eq!(world.conversations(campaign).await.len(), 50);
    all_dialed_within(&world, 3_600, 3_720);
}

#[tokio::test(start_paused = true)]
async fn calls_in_progress_at_the_windows_end_go_on() {
    let world = World::new().await;
    let node = world.node(5).await;
    let campaign = world.campaign(20).await;
    let window = schedule("12:00", Some("12:00:10"));
    world.command(&node, campaign, window).await.unwrap();
    until("calls", async || world.carrier.sockets() == 5).await;
    tokio::time::sleep(Duration::from_secs(15)).await;
    stands(&world, campaign, CampaignStatus::Paused, Some(hours_and(24, 0))).await;
    assert_eq!(figures(&node).await.live_calls, 5);
    assert!(world.carrier.hang_ups().is_empty());
    tokio::time::sleep(HOUR).await;
    assert_eq!(world.carrier.dials().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_restart_in_the_pause_or_before_the_start_changes_nothing() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    let campaign = world.campaign(30).await;
    let node = world.node(1).await;
    let window = schedule("13:00", Some("13:02"));
    world.command(&node, campaign, window).await.unwrap();
    node.stop().await;
    let node = world.node(1).await;
    at(&world, hours_and(1, 0)).await;
    assert!(world.carrier.dials().is_empty());
    at(&world, hours_and(2, 0)).await;
    let first_day = world.carrier.dials().len();
    assert!((10..=13).contains(&first_day), "{first_day}");
    node.stop().await;
    let node = world.node(1).await;
    at(&world, hours_and(25, 0) - 1).await;
    assert_eq!(world.carrier.dials().len(), first_day);
    // A node that is down when the window opens starts dialing as soon as it is up.
    node.stop().await;
    at(&world, hours_and(25, 60)).await;
    let node = world.node(1).await;
    at(&world, hours_and(26, 0)).await;
    let second_day = world.carrier.dials().len() - first_day;
    assert!((5..=7).contains(&second_day), "{second_day}");
    // A node that is down when the window ends pauses when it is up.
    at(&world, hours_and(49, 30)).await;
    assert_eq!(world.status(campaign).await, CampaignStatus::Running);
    node.stop().await;
    at(&world, hours_and(50, 0)).await;
    let _node = world.node(1).await;
    at(&world, hours_and(51, 0)).await;
    stands(&world, campaign, CampaignStatus::Paused, Some(hours_and(73, 0))).await;
    all_dialed_within(&world, 3_600, 3_720);
}

#[tokio::test(start_paused = true)]
async fn a_start_without_an_end_is_not_waited_for_again_after_a_restart() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    let campaign = world.campaign(4_400).await;
    let node = world.node(1).await;
    world.command(&node, campaign, schedule("13:00", None)).await.unwrap();
    at(&world, hours_and(12, 30 * 60)).await;
    assert_eq!(world.status(campaign).await, CampaignStatus::Running);
    node.stop().await;
    let before = world.carrier.dials().len();
    let _node = world.node(1).await;
    tokio::time::sleep(MINUTE).await;
    assert!(world.carrier.dials().len() > before, "it is past midnight and goes on");
}

#[tokio::test(start_paused = true)]
async fn scheduled_again_the_new_time_replaces_the_waiting_job() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    let node = world.node(5).await;
    let campaign = world.campaign(5).await;
    world.command(&node, campaign, schedule("13:00", None)).await.unwrap();
    world.command(&node, campaign, schedule("15:00", None)).await.unwrap();
    stands(&world, campaign, CampaignStatus::Waiting, Some(hours_and(3, 0))).await;
    let update = CampaignUpdate {
        start_time: Some(Some("2026-01-06T14:00:00+01:00".into())),
        ..CampaignUpdate::default()
    };
    let update = CampaignCommand::Update(Box::new(update));
    world.command(&node, campaign, update).await.unwrap();
    at(&world, hours_and(25, 0) - 1).await;
    assert!(world.carrier.dials().is_empty());
    at(&world, hours_and(26, 0)).await;
    assert_eq!(world.status(campaign).await, CampaignStatus::Completed);
    let first = dialed_at(&world)[0];
    assert!(
        (hours_and(25, 0) as i64..hours_and(25, 2) as i64).contains(&first),
        "{first}"
    );
    assert_eq!(
        world.row(campaign).await.schedule.start_time.as_deref(),
        Some("2026-01-06T14:00:00+01:00"),
        "it reads back as it was given"
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_paused_or_stopped_goes_on_where_it_was_when_scheduled_again() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    let node = world.node(1).await;
    let campaign = world.campaign(10).await;
    for (round, halt) in [CampaignCommand::Pause, CampaignCommand::Stop { hang_up: false }]
        .into_iter()
        .enumerate()
    {
        let minute = 10 * (round + 1);
        let start = format!("12:{minute}");
        world.command(&node, campaign, schedule(&start, None)).await.unwrap();
        at(&world, minute as u64 * 60 + 25).await;
        let row = world.command(&node, campaign, halt).await.unwrap();
        assert_eq!((row.active, row.start_index), (false, 3 * (round as i64 + 1)));
        tokio::time::sleep(3 * MINUTE).await;
    }
    let row = world.command(&node, campaign, schedule("12:30", None)).await.unwrap();
    assert_eq!((row.status, row.start_index), (CampaignStatus::Waiting, 6));
    at(&world, hours_and(1, 0)).await;
    assert_eq!(world.status(campaign).await, CampaignStatus::Completed);
    assert_eq!(world.carrier.dials().len(), 10);
    let again = world.command(&node, campaign, schedule("12:30", None)).await;
    assert_eq!(again, Err(CommandError::NothingToDial));
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_is_taken_off_dials_nothing() {
    let world = World::new().await;
    let node = world.node(1).await;
    let campaign = world.campaign(10).await;
    world.command(&node, campaign, schedule("13:00", None)).await.unwrap();
    let off = CampaignUpdate {
        scheduled: Some(false),
        ..CampaignUpdate::default()
    };
    let off = CampaignCommand::Update(Box::new(off));
    let row = world.command(&node, campaign, off).await.unwrap();
    assert_eq!(
        (row.status, row.scheduled, row.active),
        (CampaignStatus::Draft, false, false)
    );
    assert_eq!(row.schedule, text("13:00", None));
    at(&world, hours_and(30, 0)).await;
    assert!(world.carrier.dials().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_user_pauses_a_campaign_in_its_daily_pause() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    let node = world.node(1).await;
    let campaign = world.campaign(10).await;
    let window = schedule("12:00", Some("12:00:30"));
    world.command(&node, campaign, window).await.unwrap();
    at(&world, 60).await;
    let row = world.command(&node, campaign, CampaignCommand::Pause).await.unwrap();
    assert_eq!(
        (row.status, row.active, row.scheduled),
        (CampaignStatus::Paused, false, true)
    );
    let dialed = world.carrier.dials().len();
    at(&world, hours_and(30, 0)).await;
    assert_eq!(world.carrier.dials().len(), dialed);
}

#[tokio::test(start_paused = true)]
async fn contacts_are_replaced_when_no_call_is_live_and_dialed_from_the_first() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    let node = world.node(2).await;
    let campaign = world.campaign(4).await;
    let replacement = async || {
        let new = NewCampaign {
            name: "import".into(),
            agent: world.agent,
            schedule: Default::default(),
            follow_up: Default::default(),
            options: CampaignOptions::default(),
        };
        let update = CampaignUpdate {
            contacts: Some(world.import(new, 100..103).await),
            ..CampaignUpdate::default()
        };
        CampaignCommand::Update(Box::new(update))
    };
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    let refused = world.command(&node, campaign, replacement().await).await;
    assert_eq!(refused, Err(CommandError::Running));
    tokio::time::sleep(Duration::from_secs(2)).await;
    world.command(&node, campaign, CampaignCommand::Pause).await.unwrap();
    let refused = world.command(&node, campaign, replacement().await).await;
    assert_eq!(refused, Err(CommandError::Running), "calls are live");
    tokio::time::sleep(MINUTE).await;
    let row = world.command(&node, campaign, replacement().await).await.unwrap();
    assert_eq!(
        (row.status, row.start_index, row.contact_count),
        (CampaignStatus::Paused, 0, 3)
    );
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(MINUTE).await;
    assert_eq!(world.status(campaign).await, CampaignStatus::Completed);
    assert_eq!(world.carrier.dials().len(), 2 + 3);
    let row = world.command(&node, campaign, replacement().await).await.unwrap();
    assert_eq!((row.status, row.start_index), (CampaignStatus::Draft, 0));
}

#[tokio::test(start_paused = true)]
async fn a_removed_campaign_is_gone_and_dials_nothing() {
    let world = World::new().await;
    let node = world.node(2).await;
    let campaign = world.campaign(4).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    let refused = world.command(&node, campaign, CampaignCommand::Delete).await;
    assert_eq!(refused, Err(CommandError::Running));
    world.command(&node, campaign, CampaignCommand::Pause).await.unwrap();
    world.command(&node, campaign, schedule("13:00", None)).await.unwrap();
    let dialed = world.carrier.dials().len();
    world.command(&node, campaign, CampaignCommand::Delete).await.unwrap();
    let gone = world.store.campaign(world.account, campaign).await;
    assert_eq!(gone, Err(StoreError::NotFound));
    let refused = world.command(&node, campaign, CampaignCommand::Launch).await;
    assert_eq!(refused, Err(CommandError::NotFound));
    at(&world, hours_and(30, 0)).await;
    assert_eq!(world.carrier.dials().len(), dialed);
    assert_eq!(figures(&node).await.campaigns, 0);
}

/// Tokio's clock, set forward or back.
#[derive(Debug)]
struct JumpingClock(TokioClock, AtomicI64);

impl Clock for JumpingClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.now().0 + self.1.load(Ordering::SeqCst))
    }
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_jumps_is_noticed_within_a_minute() {
    let clock = Arc::new(JumpingClock(TokioClock::starting_at(CLOCK_START), AtomicI64::new(0)));
    let world = World::with_clock(clock.clone()).await;
    let jump = |hours: i64| clock.1.fetch_add(hours * 3_600_000_000, Ordering::SeqCst);
    world.carrier.callees(BUSY);
    let node = world
        .node_with(NodeSettings {
            lines: 1,
            ..NodeSettings::default()
        })
        .await;
    let campaign = world.campaign(400).await;
    let window = schedule("14:30", Some("20:00"));
    world.command(&node, campaign, window).await.unwrap();
    tokio::time::sleep(MINUTE).await;
    assert!(world.carrier.dials().is_empty());
    jump(3);
    tokio::time::sleep(MINUTE).await;
    assert_eq!(world.status(campaign).await, CampaignStatus::Running);
    jump(7);
    let dialed = world.carrier.dials().len();
    tokio::time::sleep(MINUTE).await;
    assert_eq!(world.status(campaign).await, CampaignStatus::Paused);
    // No permit is given outside the window, even before the campaign has noticed.
    assert!(world.carrier.dials().len() <= dialed + 1, "one may have had its permit");
    // After the clock is set back into the window, the campaign resumes at the opening it waits for.
    jump(-5);
    tokio::time::sleep(MINUTE).await;
    assert_eq!(world.status(campaign).await, CampaignStatus::Paused);
}
