//! Counts of ended calls for analytics.

use std::{collections::BTreeMap, time::Duration};

use domain::{
    analytics,
    history::EventFact,
    id::{AccountId, AgentId, AttemptId, CampaignId},
    ports::store::{
        Analysis, CallCounts, ConversationStatus, CountedBy, CountedCall, CountedGroup, CountingBatch, CountsFilter,
        Fact, GroupedCounts, OPTED_OUT, start_of,
    },
    prices::PriceList,
    time::Timestamp,
};

use super::{Fixture, Scene, outcome};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// Analyses what waits for it.
async fn analyse(scene: &Scene) {
    scene.clock.advance(Duration::from_secs(60));
    for job in scene.store.due_analyses(100).await.unwrap() {
        let analysis = Analysis::of_summary("They agreed.".to_owned());
        scene.store.save_analysis(&job, analysis).await.unwrap();
    }
}

/// Counts all calls that are ready, three at a time.
pub async fn count_calls(scene: &Scene) {
    let prices = r#"{ "currency": "USD", "prices": [
        { "carrier": "exchange", "unit": "seconds", "price": "0.6", "per": 60 } ] }"#;
    let prices = PriceList::parse(prices).unwrap();
    while analytics::count(&*scene.store, Some(&prices), 3).await.unwrap() {}
}

fn by(by: CountedBy) -> CountsFilter {
    CountsFilter {
        by,
        span: None,
        campaign: None,
        agent: None,
    }
}

/// Returns all counts of the scene's account.
pub async fn counted(scene: &Scene, filter: CountsFilter) -> GroupedCounts {
    scene.store.call_counts(scene.account, filter).await.unwrap()
}

async fn calls(scene: &Scene, filter: CountsFilter) -> BTreeMap<CountedGroup, u64> {
    let counted = counted(scene, filter).await.groups.into_iter();
    counted.map(|(group, counts)| (group, counts.calls)).collect()
}

/// Ends a call as busy.
async fn busy(scene: &Scene, campaign: CampaignId) -> AttemptId {
    let claim = scene.dialing(campaign).await;
    let mut busy = outcome(ConversationStatus::Failed);
    busy.error = Some("busy".to_owned());
    scene.store.finish(claim, busy, None).await.unwrap();
    claim.attempt
}

fn reply(playout_ms: i64) -> Fact {
    Fact::Event(EventFact {
        name: "reply".to_owned(),
        at_ms: 5_000,
        detail: format!(r#"{{"turnEndMs":200,"playoutMs":{playout_ms}}}"#),
    })
}

pub async fn ended_calls_are_counted_once_in_every_group(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (one, two) = (scene.running(0..4).await, scene.running(4..6).await);
    let first = scene.now();
    let answered = scene.completed(one, 30).await.attempt;
    let opted_out = Fact::Event(EventFact {
        name: OPTED_OUT.to_owned(),
        at_ms: 6_000,
        detail: "{}".to_owned(),
    });
    let replies = [reply(700), reply(1_990), opted_out].map(|fact| (answered, fact));
    scene.store.append_facts(&replies).await.unwrap();
    busy(&scene, one).await;
    scene.clock.advance(HOUR);
    busy(&scene, two).await;
    scene.clock.advance(DAY);
    let last = scene.now();
    busy(&scene, one).await;
    // It is not over.
    scene.dialing(two).await;
    analyse(&scene).await;
    count_calls(&scene).await;
    count_calls(&scene).await;
    let all = counted(&scene, by(CountedBy::Agent)).await;
    assert!(all.complete);
    let of_agent = CountedGroup {
        agent: Some(scene.agent),
        ..CountedGroup::default()
    };
    let expected = CallCounts {
        calls: 4,
        answered: 1,
        seconds: 30,
        opt_outs: 1,
        outcomes: [("completed".to_owned(), 1), ("busy".to_owned(), 3)].into(),
        sentiment: [("neutral".to_owned(), 1)].into(),
        cost: [("USD".to_owned(), 300_000_000)].into(),
        latencies: [(700, 1), (2_000, 1)].into(),
    };
    assert_eq!(all.groups, BTreeMap::from([(of_agent, expected)]));
    let kept = scene.store.conversation(scene.account, answered).await.unwrap();
    assert_eq!(kept.latency_ms, Some(700));
    let started = |time: Timestamp, hour| CountedGroup {
        start: Some(start_of(time, hour)),
        ..CountedGroup::default()
    };
    let day = calls(&scene, by(CountedBy::Day)).await;
    assert_eq!(day, [(started(first, false), 3), (started(last, false), 1)].into());
    let later = first.plus(HOUR + Duration::from_secs(30));
    let hours = [
        (started(first, true), 2),
        (started(later, true), 1),
        (started(last, true), 1),
    ];
    assert_eq!(calls(&scene, by(CountedBy::Hour)).await, hours.into());
    let of = |campaign| CountedGroup {
        campaign: Some(campaign),
        ..CountedGroup::default()
    };
    let campaigns = calls(&scene, by(CountedBy::Campaign)).await;
    assert_eq!(campaigns, [(of(one), 3), (of(two), 1)].into());
    let versions = calls(&scene, by(CountedBy::Version)).await;
    assert_eq!(versions.values().sum::<u64>(), 4);
    let narrow = |filter: CountsFilter| CountsFilter {
        campaign: Some(one),
        agent: Some(scene.agent),
        span: Some((first, first.plus(HOUR))),
        ..filter
    };
    let hours = calls(&scene, narrow(by(CountedBy::Hour))).await;
    assert_eq!(hours, [(started(first, true), 2)].into());
    assert_eq!(
        calls(&scene, narrow(by(CountedBy::Campaign))).await,
        [(of(one), 2)].into()
    );
    let strange = CountsFilter {
        agent: Some(AgentId::new()),
        ..by(CountedBy::Day)
    };
    assert!(counted(&scene, strange).await.groups.is_empty());
    let theirs = scene.store.call_counts(AccountId::new(), by(CountedBy::Day)).await;
    assert!(theirs.unwrap().groups.is_empty());
}

pub async fn a_call_is_counted_after_its_analysis_or_an_hour(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..3).await;
    scene.completed(campaign, 9).await;
    busy(&scene, campaign).await;
    count_calls(&scene).await;
    assert!(calls(&scene, by(CountedBy::Agent)).await.is_empty());
    scene.clock.advance(Duration::from_secs(30));
    count_calls(&scene).await;
    // The answered one waits for its analysis.
    assert!(calls(&scene, by(CountedBy::Agent)).await.into_values().eq([1]));
    scene.clock.advance(HOUR);
    count_calls(&scene).await;
    let counted = counted(&scene, by(CountedBy::Agent)).await.groups;
    let counts: Vec<_> = counted
        .values()
        .map(|counts| (counts.calls, counts.sentiment.len()))
        .collect();
    assert_eq!(counts, [(2, 0)]);
    // An analysis that comes later changes nothing.
    analyse(&scene).await;
    count_calls(&scene).await;
    assert!(calls(&scene, by(CountedBy::Agent)).await.into_values().eq([2]));
}

/// Reads a batch of ready calls with their counts.
async fn batch(scene: &Scene) -> CountingBatch {
    let batch = scene.store.calls_to_count(10).await.unwrap();
    assert_eq!((batch.past, batch.rows.len()), (None, batch.calls.len()));
    batch
}

async fn write(scene: &Scene, batch: &CountingBatch) {
    let counted = batch.rows.iter();
    let counted = counted.map(|row| CountedCall::of(row, analytics::counts(row, &[], None)));
    scene.store.count_calls(batch, counted.collect()).await.unwrap();
}

pub async fn two_counters_count_each_call_once(fixture: Fixture) {
    let scene = fixture.scene().await;
    count_calls(&scene).await;
    let campaign = scene.running(0..5).await;
    for _ in 0..2 {
        busy(&scene, campaign).await;
    }
    scene.clock.advance(Duration::from_secs(30));
    let early = batch(&scene).await;
    busy(&scene, campaign).await;
    scene.clock.advance(Duration::from_secs(30));
    let late = batch(&scene).await;
    assert_eq!((early.calls.len(), late.calls.len()), (2, 3));
    tokio::join!(write(&scene, &late), write(&scene, &early));
    write(&scene, &late).await;
    assert!(calls(&scene, by(CountedBy::Agent)).await.into_values().eq([3]));
    assert!(batch(&scene).await.calls.is_empty());
}

pub async fn counts_outlive_the_call_and_not_the_other_way_round(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..3).await;
    let kept = busy(&scene, campaign).await;
    scene.clock.advance(Duration::from_secs(60));
    count_calls(&scene).await;
    let early = busy(&scene, campaign).await;
    scene.clock.advance(Duration::from_secs(60));
    for call in [kept, early] {
        scene.store.delete_conversation(scene.account, call).await.unwrap();
    }
    count_calls(&scene).await;
    // It was deleted before it was counted.
    assert!(calls(&scene, by(CountedBy::Agent)).await.into_values().eq([1]));
    assert!(batch(&scene).await.calls.is_empty());
}
