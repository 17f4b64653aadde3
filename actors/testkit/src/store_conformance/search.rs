//! Filters and searches of conversations, and their deletion.

use std::time::Duration;

use super::{Fixture, Scene, analytics::count_calls, outcome};
use domain::{
    id::{AccountId, AgentId, AttemptId, CampaignId},
    ports::{
        language_model::Speaker,
        store::{
            Analysis, CallDirection, CallOutcome, ConversationFilter, ConversationSort, ConversationStatus, Fact,
            SentimentLabel, StoreError, TurnFact,
        },
    },
    time::Timestamp,
    transcript_search::Query,
};

/// Notes all ended calls.
pub async fn note(scene: &Scene) {
    scene.clock.advance(Duration::from_secs(60));
    let mut after = (Timestamp(0), AttemptId::FIRST);
    while let Some(reached) = scene.store.note_calls(after, 7).await.unwrap() {
        assert!(reached > after);
        after = reached;
    }
}

/// Appends words of the person to a call.
pub async fn say(scene: &Scene, call: AttemptId, seq: i64, text: &str) {
    let turn = TurnFact {
        seq,
        speaker: Speaker::User,
        text: text.to_owned(),
        started_ms: seq,
        ended_ms: seq + 1,
        interrupted: false,
        damaged: false,
        detail: Default::default(),
    };
    scene.store.append_facts(&[(call, Fact::Turn(turn))]).await.unwrap();
}

/// Creates an ended call with one turn for each text.
async fn call(scene: &Scene, campaign: CampaignId, texts: &[&str]) -> AttemptId {
    let claim = scene.dialing(campaign).await;
    for (seq, text) in texts.iter().enumerate() {
        say(scene, claim.attempt, seq as i64, text).await;
    }
    scene.store.answered(claim, scene.now()).await.unwrap();
    scene.clock.advance(Duration::from_secs(20));
    let completed = outcome(ConversationStatus::Completed);
    scene.store.finish(claim, completed, None).await.unwrap();
    claim.attempt
}

/// Returns all matches of a filter, read in pages of two.
async fn found(scene: &Scene, filter: ConversationFilter) -> Vec<AttemptId> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let filter = ConversationFilter {
            after,
            ..filter.clone()
        };
        let page = scene
            .store
            .conversation_page(scene.account, filter.clone(), 2)
            .await
            .unwrap();
        let last = page.rows.last().filter(|_| page.rows.len() == 2);
        after = page.reached.or(last.map(|row| filter.place(row)));
        all.extend(page.rows.iter().map(|row| row.id));
        if after.is_none() {
            return all;
        }
    }
}

fn search(query: &str) -> ConversationFilter {
    ConversationFilter {
        search: Some(Query::parse(query).unwrap()),
        ..ConversationFilter::default()
    }
}

async fn said(scene: &Scene, query: &str) -> Vec<AttemptId> {
    found(scene, search(query)).await
}

pub async fn noted_calls_are_found_by_their_words(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (one, two) = (scene.running(0..4).await, scene.running(4..6).await);
    let first = call(&scene, one, &["I need a Café table", "on Tuesday, O'Brien"]).await;
    let second = call(&scene, two, &["the table on Tuesday", "über 3,000 你好世界"]).await;
    let third = call(&scene, one, &["table", "table", ""]).await;
    // The call is not over.
    let open = scene.dialing(one).await.attempt;
    say(&scene, open, 0, "table").await;
    note(&scene).await;
    note(&scene).await;
    for (query, expected) in [
        ("TABLE", &[third, second, first][..]),
        ("table tuesday", &[second, first]),
        ("\"table on tuesday\"", &[second]),
        ("\"cafe table on\"", &[]),
        ("tab*", &[third, second, first]),
        ("tab", &[]),
        ("o'brien", &[first]),
        ("\"brien o\"", &[]),
        ("世界", &[second]),
        ("uber \"3,000\"", &[second]),
        ("\"tuesday o'br\"", &[]),
    ] {
        assert_eq!(said(&scene, query).await, expected, "{query}");
    }
    let of = |campaign| ConversationFilter {
        campaign: Some(campaign),
        ..search("table")
    };
    assert_eq!(found(&scene, of(one)).await, [third, first]);
    assert_eq!(found(&scene, of(two)).await, [second]);
    let started = scene
        .store
        .conversation(scene.account, second)
        .await
        .unwrap()
        .started_at;
    let before = ConversationFilter {
        started_before: Some(started),
        ..search("table")
    };
    assert_eq!(found(&scene, before).await, [first]);
    let after = ConversationFilter {
        started_after: Some(started),
        ..search("table")
    };
    assert_eq!(found(&scene, after).await, [third]);
    let theirs = scene.store.conversations(AccountId::new(), search("table"), 9).await;
    assert_eq!(theirs, Ok(vec![]));
}

pub async fn conversations_are_sorted_and_counted(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (one, two) = (scene.running(0..5).await, scene.running(5..6).await);
    let medium = scene.completed(one, 60).await.attempt;
    let long = scene.completed(two, 240).await.attempt;
    let claim = scene.dialing(one).await;
    let busy = outcome(ConversationStatus::Failed);
    scene.store.finish(claim, busy, None).await.unwrap();
    scene.clock.advance(Duration::from_secs(1));
    let short = scene.completed(one, 5).await.attempt;
    let open = scene.dialing(one).await.attempt;
    note(&scene).await;
    scene.clock.advance(Duration::from_secs(3_600));
    count_calls(&scene).await;
    let sorted = |sort, ascending| ConversationFilter {
        sort,
        ascending,
        ..ConversationFilter::default()
    };
    use ConversationSort::{Cost, Duration as Length, StartTime};
    for (sort, first_to_last) in [
        (StartTime, &[medium, long, claim.attempt, short, open][..]),
        (Length, &[short, medium, long]),
        (Cost, &[short, medium, long]),
    ] {
        let mut last_to_first = first_to_last.to_vec();
        last_to_first.reverse();
        assert_eq!(found(&scene, sorted(sort, true)).await, first_to_last, "{sort:?}");
        assert_eq!(found(&scene, sorted(sort, false)).await, last_to_first, "{sort:?}");
        let count = scene.store.count_conversations(scene.account, sorted(sort, true)).await;
        assert_eq!(count, Ok((first_to_last.len() as i64, true)));
    }
    let started = async |call| {
        let row = scene.store.conversation(scene.account, call).await;
        row.unwrap().started_at
    };
    let filters = [
        (
            ConversationFilter {
                campaign: Some(one),
                ..sorted(Length, false)
            },
            &[medium, short][..],
        ),
        (
            ConversationFilter {
                started_after: Some(started(medium).await),
                started_before: Some(started(open).await),
                ..sorted(StartTime, true)
            },
            &[long, claim.attempt, short],
        ),
        (
            ConversationFilter {
                started_after: Some(started(medium).await),
                direction: Some(CallDirection::Outbound),
                ..sorted(Cost, true)
            },
            &[short, long],
        ),
        (
            ConversationFilter {
                min_duration: Some(60),
                agents: Some(vec![scene.agent]),
                ..sorted(Length, true)
            },
            &[medium, long],
        ),
    ];
    for (filter, expected) in filters {
        assert_eq!(found(&scene, filter.clone()).await, expected, "{filter:?}");
        let count = scene.store.count_conversations(scene.account, filter).await;
        assert_eq!(count, Ok((expected.len() as i64, true)));
    }
    let theirs = scene
        .store
        .count_conversations(AccountId::new(), sorted(StartTime, false))
        .await;
    assert_eq!(theirs, Ok((0, true)));
}

pub async fn rare_conversations_are_found_by_every_filter(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..9).await;
    let mut calls = Vec::new();
    for n in 0..9 {
        let id = match n {
            4 => {
                let claim = scene.dialing(campaign).await;
                let busy = outcome(ConversationStatus::Failed);
                scene.store.finish(claim, busy, None).await.unwrap();
                claim.attempt
            }
            _ => call(&scene, campaign, &["hello"]).await,
        };
        calls.push(id);
    }
    scene.clock.advance(Duration::from_secs(60));
    let jobs = scene.store.due_analyses(99).await.unwrap();
    for job in &jobs {
        let mut found = Analysis::of_summary("s".to_owned());
        if job.attempt == calls[3] {
            found.sentiment.sentiment_overall = SentimentLabel::Negative;
        }
        scene.store.save_analysis(job, found).await.unwrap();
    }
    note(&scene).await;
    let any = ConversationFilter::default;
    let number = scene
        .store
        .conversation(scene.account, calls[5])
        .await
        .unwrap()
        .contact_number;
    let all: Vec<AttemptId> = calls.iter().rev().copied().collect();
    let of = |agents: &[AgentId]| ConversationFilter {
        agents: Some(agents.to_vec()),
        ..any()
    };
    let cases = [
        (of(&[AgentId::new(), scene.agent]), all.clone()),
        (of(&[AgentId::new()]), vec![]),
        (
            ConversationFilter {
                number: Some(number.clone()),
                ..any()
            },
            vec![calls[5]],
        ),
        (
            ConversationFilter {
                number: Some(number),
                ..search("hello")
            },
            vec![calls[5]],
        ),
        (
            ConversationFilter {
                min_duration: Some(21),
                ..search("hello")
            },
            vec![],
        ),
        (
            ConversationFilter {
                min_duration: Some(21),
                agent: Some(scene.agent),
                ..any()
            },
            vec![],
        ),
        (
            ConversationFilter {
                outcome: Some(CallOutcome::Busy),
                ..any()
            },
            vec![calls[4]],
        ),
        (
            ConversationFilter {
                outcome: Some(CallOutcome::Failed),
                ..any()
            },
            vec![calls[4]],
        ),
        (
            ConversationFilter {
                outcome: Some(CallOutcome::Voicemail),
                ..any()
            },
            vec![],
        ),
        (
            ConversationFilter {
                outcome: Some(CallOutcome::CarrierError),
                ..any()
            },
            vec![],
        ),
        (
            ConversationFilter {
                sentiment: Some(SentimentLabel::Negative),
                ..any()
            },
            vec![calls[3]],
        ),
        (
            ConversationFilter {
                sentiment: Some(SentimentLabel::Negative),
                campaign: Some(campaign),
                min_duration: Some(20),
                ..search("hello")
            },
            vec![calls[3]],
        ),
        (
            ConversationFilter {
                direction: Some(CallDirection::Inbound),
                ..any()
            },
            vec![],
        ),
        (
            ConversationFilter {
                direction: Some(CallDirection::Outbound),
                ..any()
            },
            all.clone(),
        ),
        (
            ConversationFilter {
                has_issue: Some(true),
                ..any()
            },
            vec![],
        ),
        (
            ConversationFilter {
                has_issue: Some(false),
                agent: Some(scene.agent),
                ..any()
            },
            all,
        ),
    ];
    for (filter, expected) in cases {
        assert_eq!(found(&scene, filter.clone()).await, expected, "{filter:?}");
    }
}

pub async fn what_is_erased_or_said_later_changes_what_is_found(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..3).await;
    let first = call(&scene, campaign, &["an orchid"]).await;
    let second = call(&scene, campaign, &["an orchid"]).await;
    note(&scene).await;
    // A late turn is analysed too, and then found with the others.
    say(&scene, second, 1, "and a tulip").await;
    scene.clock.advance(Duration::from_secs(60));
    for job in scene.store.due_analyses(9).await.unwrap() {
        let found = Analysis::of_summary("s".to_owned());
        scene.store.save_analysis(&job, found).await.unwrap();
    }
    assert_eq!(said(&scene, "orchid tulip").await, [second]);
    assert_eq!(said(&scene, "orchid").await, [second, first]);
    let neutral = ConversationFilter {
        sentiment: Some(SentimentLabel::Neutral),
        ..ConversationFilter::default()
    };
    assert_eq!(found(&scene, neutral.clone()).await, [second, first]);
    let now = scene.now();
    assert_eq!(scene.store.erase_words(now, 1).await, Ok(1));
    note(&scene).await;
    assert_eq!(said(&scene, "orchid").await, [second]);
    assert_eq!(found(&scene, neutral).await, [second]);
    assert_eq!(scene.store.erase_words(now, 9).await, Ok(1));
    note(&scene).await;
    assert!(said(&scene, "tulip").await.is_empty());
}

pub async fn a_deleted_conversation_is_read_by_nobody_and_counts(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let campaign = scene.running(0..3).await;
    let first = call(&scene, campaign, &["an orchid"]).await;
    assert_eq!(store.is_settled(account, first).await, Ok(false));
    assert_eq!(store.delete_conversation(account, first).await, Err(StoreError::Stale));
    let second = call(&scene, campaign, &["an orchid"]).await;
    let open = scene.dialing(campaign).await.attempt;
    note(&scene).await;
    assert_eq!(store.is_settled(account, open).await, Ok(false));
    assert_eq!(store.delete_conversation(account, open).await, Err(StoreError::Stale));
    let theirs = store.delete_conversation(AccountId::new(), first).await;
    assert_eq!(theirs, Err(StoreError::NotFound));
    assert_eq!(store.is_settled(account, first).await, Ok(true));
    store.delete_conversation(account, first).await.unwrap();
    assert_eq!(store.conversation(account, first).await, Err(StoreError::NotFound));
    assert_eq!(
        store.delete_conversation(account, first).await,
        Err(StoreError::NotFound)
    );
    assert_eq!(store.is_settled(account, first).await, Err(StoreError::NotFound));
    assert!(store.turns(first).await.unwrap().is_empty());
    assert_eq!(said(&scene, "orchid").await, [second]);
    assert_eq!(found(&scene, ConversationFilter::default()).await, [open, second]);
    let of_campaign = ConversationFilter {
        campaign: Some(campaign),
        ..ConversationFilter::default()
    };
    assert_eq!(found(&scene, of_campaign).await, [open, second]);
    let progress = store.progress(campaign).await.unwrap();
    assert_eq!((progress.completed, progress.in_progress), (2, 1));
    // The other call is not analysed yet.
    let jobs = store.due_analyses(9).await.unwrap();
    assert_eq!(jobs.iter().map(|job| job.attempt).collect::<Vec<_>>(), [second]);
}

pub async fn no_query_breaks_the_index(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    let odd = "a'b\"c\\d NEAR AND OR NOT § ¶ % _ ! 'x':1 \u{301} \u{1f600} \u{200d}ß İ ﬁ ⑴ ℡ <-> & | :*";
    let only = call(
        &scene,
        campaign,
        &[odd, &"long".repeat(5_000), &"many words ".repeat(9_000)],
    )
    .await;
    note(&scene).await;
    for query in [
        "NEAR",
        "and or not",
        "a'b\"c\\d",
        "x:1",
        "ß",
        "fi",
        "tel",
        "\"many words many\"",
        "man* wor*",
    ] {
        assert_eq!(said(&scene, query).await, [only], "{query}");
    }
    for query in [
        "'y",
        "\"y' OR 'x\"",
        "words:nothing",
        "NEAR(a nothing)",
        "-many nothing",
        "x & !many nothing",
        "\\' nothing",
        "\u{301}y",
        "§y",
        "y:*",
        "nothing <-> many",
        "{words}: nothing",
        "^nothing",
    ] {
        assert!(said(&scene, query).await.is_empty(), "{query}");
    }
}
