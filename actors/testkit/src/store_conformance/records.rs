//! Facts, conversations and jobs.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, json};

use super::{Fixture, Scene, callee, caller_number, number, outcome};
use domain::{
    id::{AccountId, AttemptId, CampaignId},
    knowledge::Excerpt,
    ports::{
        language_model::Speaker,
        store::{
            Analysis, AttemptKind, CallDirection, CampaignStatus, ConversationFilter, ConversationRow,
            ConversationStatus, EventFact, Evidence, FACTS_FOLLOW_MS, Fact, KeyMoment, NewCall, NextAttempt, Outcome,
            Permit, Sentiment, SentimentLabel, StoreError, Tokens, TurnDetail, TurnFact, TurnSentiment,
        },
        usage::USAGE,
    },
    time::Clock,
};

fn turn(seq: i64, text: &str) -> TurnFact {
    TurnFact {
        seq,
        speaker: match seq % 3 {
            0 => Speaker::Agent,
            1 => Speaker::User,
            _ => Speaker::Operator,
        },
        text: text.to_owned(),
        started_ms: seq * 100,
        ended_ms: seq * 100 + 90,
        interrupted: seq == 2,
        damaged: seq == 1,
        detail: match seq {
            2 => TurnDetail {
                voice: Some("elevenlabs:Ada".to_owned()),
                model: Some("openai/gpt-4.1-mini".to_owned()),
                tokens: Some(Tokens {
                    input: 900,
                    cached: 512,
                    output: 17,
                }),
                intended: Some("Bye, then.".to_owned()),
                passages: vec![Excerpt {
                    document: "Hours".to_owned(),
                    heading: String::new(),
                    text: "We close at six.".to_owned(),
                }],
            },
            _ => TurnDetail::default(),
        },
    }
}

fn analysis(summary: &str) -> Analysis {
    Analysis {
        summary: summary.to_owned(),
        sentiment: Sentiment {
            sentiment_score: -0.1,
            sentiment_by_turn: vec![TurnSentiment {
                text: "No.".to_owned(),
                sentiment_label: SentimentLabel::Negative,
                speaker: Speaker::User,
                sentiment_score: 1.0 / 3.0,
            }],
            sentiment_overall: SentimentLabel::Negative,
        },
        key_moments: vec![KeyMoment {
            text: "No.".to_owned(),
            label: "refusal".to_owned(),
            speaker: Speaker::User,
            timestamp: "00:05".to_owned(),
        }],
        ..Analysis::of_summary(String::new())
    }
}

pub async fn turns_are_written_once_and_read_in_order(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..2).await;
    let (one, two) = (
        scene.dialing(campaign).await.attempt,
        scene.dialing(campaign).await.attempt,
    );
    let event = EventFact {
        name: "barge_in".to_owned(),
        at_ms: 5,
        detail: "{}".to_owned(),
    };
    let batch = [
        (one, Fact::Turn(turn(0, "Hello"))),
        (two, Fact::Turn(turn(0, "Other"))),
        (one, Fact::Event(event)),
        (one, Fact::Turn(turn(2, "Bye"))),
        (one, Fact::Turn(turn(1, "Hi"))),
    ];
    scene.store.append_facts(&batch).await.unwrap();
    scene.store.append_facts(&batch).await.unwrap();
    let twice = [
        (one, Fact::Turn(turn(1, "late copy"))),
        (one, Fact::Turn(turn(3, "Oh"))),
    ];
    scene.store.append_facts(&twice).await.unwrap();
    scene.store.append_facts(&[]).await.unwrap();
    let expected = [turn(0, "Hello"), turn(1, "Hi"), turn(2, "Bye"), turn(3, "Oh")];
    assert_eq!(scene.store.turns(one).await.unwrap(), expected);
    assert_eq!(scene.store.turns(two).await.unwrap(), [turn(0, "Other")]);
    assert_eq!(scene.store.turns(AttemptId::new()).await, Ok(vec![]));
}

pub async fn the_last_event_of_a_name_is_found(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..2).await;
    let (one, two) = (
        scene.dialing(campaign).await.attempt,
        scene.dialing(campaign).await.attempt,
    );
    let event = |name: &str, at_ms: i64, detail: &str| EventFact {
        name: name.to_owned(),
        at_ms,
        detail: detail.to_owned(),
    };
    let fact = |name: &str, at_ms: i64, detail: &str| Fact::Event(event(name, at_ms, detail));
    let batch = [
        (one, fact("usage", 7, r#"{"a":1}"#)),
        (two, fact("usage", 8, "{}")),
        (one, fact("usage", 5, r#"{"a":2}"#)),
        (one, fact("other", 9, "{}")),
    ];
    scene.store.append_facts(&batch).await.unwrap();
    let last = async |attempt, name| scene.store.last_event(attempt, name).await.unwrap();
    assert_eq!(last(one, "usage").await, Some(event("usage", 5, r#"{"a":2}"#)));
    assert_eq!(last(two, "usage").await, Some(event("usage", 8, "{}")));
    assert_eq!(last(two, "other").await, None);
    scene
        .store
        .append_facts(&[(two, fact("usage", 1, "{}"))])
        .await
        .unwrap();
    assert_eq!(last(two, "usage").await, Some(event("usage", 1, "{}")));
}

pub async fn events_are_read_by_name_in_order_and_in_pages(fixture: Fixture) {
    const NAMES: &[&str] = &["answered", "tool", "ended"];
    let scene = fixture.scene().await;
    let campaign = scene.running(0..2).await;
    let (one, two) = (
        scene.dialing(campaign).await.attempt,
        scene.dialing(campaign).await.attempt,
    );
    let fact = |name: &str, at_ms: i64| {
        let (name, detail) = (name.to_owned(), format!(r#"{{"n":{at_ms}}}"#));
        Fact::Event(EventFact { name, at_ms, detail })
    };
    let batch = [
        (one, fact("answered", 0)),
        (one, fact("reply", 5)),
        (two, fact("answered", 0)),
        (one, fact("tool", 9)),
        // Times may go back, and the order in which things were recorded stays.
        (one, fact("tool", 7)),
    ];
    scene.store.append_facts(&batch).await.unwrap();
    scene.clock.advance(Duration::from_secs(1));
    scene.store.append_facts(&[(one, fact("ended", 90))]).await.unwrap();
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = scene.store.events_of(one, NAMES, after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        seen.extend(page);
    }
    let shown: Vec<_> = seen
        .iter()
        .map(|row| (row.event.name.as_str(), row.event.at_ms))
        .collect();
    assert_eq!(shown, [("answered", 0), ("tool", 9), ("tool", 7), ("ended", 90)]);
    assert_eq!(seen[1].event.detail, r#"{"n":9}"#);
    assert_eq!(seen[3].stored_at, scene.clock.now());
    assert_eq!(seen[3].stored_at.since(seen[0].stored_at), Duration::from_secs(1));
    assert_eq!(scene.store.events_of(two, NAMES, None, 9).await.unwrap().len(), 1);
    assert_eq!(
        scene.store.events_of(AttemptId::new(), NAMES, None, 9).await,
        Ok(vec![])
    );
}

pub async fn a_conversation_follows_its_attempt(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    let made_at = scene.clock.now();
    let claim = scene.claim_one(campaign).await;
    let mut expected = ConversationRow {
        id: claim.attempt,
        account: scene.account,
        campaign: Some(campaign),
        agent: scene.agent,
        agent_version: None,
        agent_name: "Ada".to_owned(),
        status: ConversationStatus::Scheduled,
        direction: CallDirection::Outbound,
        started_at: made_at,
        answered_at: None,
        ended_at: None,
        contact_number: number(0),
        callee: callee(0),
        caller_number: None,
        carrier: None,
        error: None,
        voicemail: false,
        transferred: false,
        collected: BTreeMap::new(),
        evidence: BTreeMap::new(),
        analysis: None,
        sentiment: None,
        usage: None,
        latency_ms: None,
        cost_nanos: None,
        appointment: None,
        issue_tracking: None,
        is_test: false,
        created_at: made_at,
    };
    let stored = async || scene.store.conversation(scene.account, claim.attempt).await.unwrap();
    let listed = async || {
        let filter = ConversationFilter::default();
        scene.store.conversations(scene.account, filter, 10).await.unwrap()
    };
    assert_eq!(stored().await, expected);
    scene.clock.advance(Duration::from_secs(1));
    scene.permit(claim).await.unwrap();
    expected.status = ConversationStatus::InProgress;
    expected.started_at = scene.clock.now();
    expected.caller_number = Some(caller_number());
    expected.carrier = Some("exchange".to_owned());
    expected.agent_version = Some(1);
    assert_eq!(stored().await, expected);
    scene.clock.advance(Duration::from_secs(1));
    scene.store.answered(claim, scene.now()).await.unwrap();
    expected.answered_at = Some(scene.clock.now());
    assert_eq!(stored().await, expected);
    scene.clock.advance(Duration::from_secs(1));
    let end = Outcome {
        status: ConversationStatus::Completed,
        error: Some("media-lost".to_owned()),
        voicemail: true,
        transferred: true,
        collected: BTreeMap::from([("größe".to_owned(), "\"4\"\n2".to_owned())]),
        times: Default::default(),
        facts_follow: false,
        refusal: None,
    };
    scene.store.finish(claim, end.clone(), None).await.unwrap();
    expected.status = end.status;
    expected.error = end.error;
    (expected.voicemail, expected.transferred) = (true, true);
    expected.collected = end.collected;
    expected.ended_at = Some(scene.clock.now());
    expected.issue_tracking = Some(false);
    assert_eq!(stored().await, expected);
    let usage = |tokens: i64| {
        let detail = json!({ "openai": { "inputTokens": tokens } }).to_string();
        let (name, at_ms) = (USAGE.to_owned(), 9);
        (claim.attempt, Fact::Event(EventFact { name, at_ms, detail }))
    };
    scene.store.append_facts(&[usage(1), usage(2)]).await.unwrap();
    expected.usage = Some(json!({ "openai": { "inputTokens": 2 } }));
    assert_eq!(stored().await, expected);
    assert_eq!(listed().await, [expected.clone()]);

    let job = scene.store.due_analyses(1).await.unwrap().remove(0);
    scene
        .store
        .save_analysis(&job, analysis("They said no."))
        .await
        .unwrap();
    expected.analysis = Some(analysis("They said no."));
    expected.sentiment = Some(SentimentLabel::Negative);
    assert_eq!(stored().await, expected);
    // A list shows the summary only.
    expected.analysis = Some(Analysis::of_summary("They said no.".to_owned()));
    assert_eq!(listed().await, [expected]);
    let other = scene.store.conversation(AccountId::new(), claim.attempt).await;
    assert_eq!(other, Err(StoreError::NotFound));
}

async fn track_issues(scene: &Scene, on: bool) {
    let row = scene.store.agent(scene.account, scene.agent).await.unwrap();
    let document = json!({ "name": "Ada", "platformSettings": { "callActions": { "issueTracking": on } } });
    let document = document.as_object().cloned().unwrap();
    let saved = scene
        .store
        .update_agent(scene.account, scene.agent, row.version, document);
    saved.await.unwrap();
}

pub async fn every_end_of_an_attempt_keeps_its_agents_issue_tracking(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    track_issues(&scene, true).await;
    let campaign = scene.running(0..3).await;
    let busy_until = async |due_at| {
        let claim = scene.dialing(campaign).await;
        let kind = AttemptKind::Retry;
        let next = NextAttempt { kind, due_at };
        let busy = outcome(ConversationStatus::Failed);
        store.finish(claim, busy, Some(next)).await.unwrap();
    };
    // Of the two retries, the stop cancels the waiting one, and the claimed one is given back after it.
    busy_until(scene.now()).await;
    let retry = scene.claim_one(campaign).await;
    busy_until(scene.now().plus(Duration::from_secs(60))).await;
    let refused = scene.claim_one(campaign).await;
    store.add_do_not_call(scene.account, &number(2)).await.unwrap();
    assert_eq!(scene.permit(refused).await, Ok(Permit::DoNotCall));
    scene.turn(campaign, CampaignStatus::Stopped).await;
    store.release(&[retry]).await.unwrap();
    for phone_number in [number(3), number(4)] {
        let new = NewCall {
            agent: scene.agent,
            phone_number,
            name: None,
            variables: Map::new(),
        };
        store.create_call(scene.account, new, None).await.unwrap();
    }
    let all = async || {
        let filter = ConversationFilter::default();
        store.conversations(scene.account, filter, 100).await.unwrap()
    };
    let (over, waiting): (Vec<_>, Vec<_>) = all().await.into_iter().partition(|row| row.ended_at.is_some());
    assert_eq!((over.len(), waiting.len()), (5, 2));
    assert!(waiting.iter().all(|row| row.issue_tracking.is_none()));
    store.cancel_queued(scene.account, waiting[0].id).await.unwrap();
    scene.clock.advance(Duration::from_secs(7 * 24 * 3_600));
    assert_eq!(store.expire_calls().await, Ok(1));
    track_issues(&scene, false).await;
    for row in all().await {
        assert_eq!(row.issue_tracking, Some(true), "{:?} {:?}", row.status, row.error);
        let one = store.conversation(scene.account, row.id).await.unwrap();
        assert_eq!(one.issue_tracking, Some(true));
    }
}

async fn found(scene: &Scene, all: &[AttemptId], filter: ConversationFilter) -> Vec<usize> {
    let rows = scene.store.conversations(scene.account, filter, 100).await.unwrap();
    rows.iter()
        .map(|row| all.iter().position(|id| *id == row.id).unwrap())
        .collect()
}

pub async fn conversations_are_filtered(fixture: Fixture) {
    let scene = fixture.scene().await;
    let start = scene.clock.now();
    let at = |seconds| Some(start.plus(Duration::from_secs(seconds)));
    let one = scene.running(0..2).await;
    let two = scene.running(2..4).await;
    let mut all = Vec::new();
    all.push(scene.completed(one, 10).await.attempt); // starts at 0, lasts 10
    all.push(scene.completed(two, 20).await.attempt); // starts at 10, lasts 20
    let busy = scene.dialing(one).await; // starts at 30
    scene
        .store
        .finish(busy, outcome(ConversationStatus::Failed), None)
        .await
        .unwrap();
    all.push(busy.attempt);
    scene.clock.advance(Duration::from_secs(10));
    all.push(scene.dialing(two).await.attempt); // starts at 40

    let any = ConversationFilter::default;
    assert_eq!(found(&scene, &all, any()).await, [3, 2, 1, 0]);
    let cases: [(ConversationFilter, &[usize]); 9] = [
        (
            ConversationFilter {
                campaign: Some(two),
                ..any()
            },
            &[3, 1],
        ),
        (
            ConversationFilter {
                campaign: Some(CampaignId::new()),
                ..any()
            },
            &[],
        ),
        (
            ConversationFilter {
                agent: Some(scene.agent),
                status: Some(ConversationStatus::Failed),
                ..any()
            },
            &[2],
        ),
        (
            ConversationFilter {
                status: Some(ConversationStatus::InProgress),
                ..any()
            },
            &[3],
        ),
        (
            ConversationFilter {
                started_before: at(30),
                ..any()
            },
            &[1, 0],
        ),
        (
            ConversationFilter {
                started_after: at(30),
                ..any()
            },
            &[3],
        ),
        (
            ConversationFilter {
                started_after: at(0),
                started_before: at(40),
                ..any()
            },
            &[2, 1],
        ),
        (
            ConversationFilter {
                min_duration: Some(11),
                ..any()
            },
            &[1],
        ),
        (
            ConversationFilter {
                min_duration: Some(0),
                ..any()
            },
            &[3, 2, 1, 0],
        ),
    ];
    for (filter, expected) in cases {
        assert_eq!(found(&scene, &all, filter.clone()).await, expected, "{filter:?}");
    }
    let others = scene.store.conversations(AccountId::new(), any(), 10).await;
    assert_eq!(others, Ok(vec![]));
}

pub async fn conversations_page_without_gap_or_repeat(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..23).await;
    // Several have the same start, so that the id decides.
    for batch in 0..5 {
        scene.claim(campaign, 4 + batch % 2).await;
        scene.clock.advance(Duration::from_secs(1));
    }
    let whole = scene
        .store
        .conversations(scene.account, ConversationFilter::default(), 100);
    let whole: Vec<_> = whole
        .await
        .unwrap()
        .into_iter()
        .map(|row| (row.started_at, row.id))
        .collect();
    assert!(whole.is_sorted_by(|a, b| a > b));
    assert_eq!(whole.len(), 22);
    let mut paged = Vec::new();
    loop {
        let filter = ConversationFilter {
            after: paged.last().copied(),
            ..ConversationFilter::default()
        };
        let page = scene.store.conversations(scene.account, filter, 3).await.unwrap();
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 3);
        paged.extend(page.into_iter().map(|row| (row.started_at, row.id)));
    }
    assert_eq!(paged, whole);
}

pub async fn an_answered_call_is_analysed_once(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..3).await;
    let busy = scene.dialing(campaign).await;
    scene
        .store
        .finish(busy, outcome(ConversationStatus::Failed), None)
        .await
        .unwrap();
    assert_eq!(scene.store.due_analyses(10).await, Ok(vec![]));
    let claims = [scene.completed(campaign, 1).await, scene.completed(campaign, 1).await];
    let first = scene.store.due_analyses(1).await.unwrap();
    let second = scene.store.due_analyses(10).await.unwrap();
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_eq!((first[0].attempt, first[0].tries), (claims[0].attempt, 0));
    assert_eq!(second[0].attempt, claims[1].attempt);
    assert_eq!(scene.store.due_analyses(10).await, Ok(vec![]));
    scene.store.save_analysis(&first[0], analysis("One")).await.unwrap();
    let twice = scene.store.save_analysis(&first[0], analysis("Two")).await;
    assert_eq!(twice, Err(StoreError::Fenced));
    let row = scene
        .store
        .conversation(scene.account, claims[0].attempt)
        .await
        .unwrap();
    assert_eq!(row.analysis, Some(analysis("One")));
}

fn said(seq: i64) -> Fact {
    Fact::Turn(turn(seq, "Yes."))
}

pub async fn an_analysis_waits_for_facts_that_follow_the_outcome(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    let claim = scene.dialing(campaign).await;
    scene.store.answered(claim, scene.now()).await.unwrap();
    let over = Outcome {
        facts_follow: true,
        ..outcome(ConversationStatus::Completed)
    };
    scene.store.finish(claim, over, None).await.unwrap();
    let wait = Duration::from_millis(FACTS_FOLLOW_MS.unsigned_abs());
    scene.clock.advance(wait - Duration::from_secs(1));
    assert_eq!(scene.store.due_analyses(9).await, Ok(vec![]));
    scene.clock.advance(Duration::from_secs(1));
    assert_eq!(scene.store.due_analyses(9).await.unwrap().len(), 1);
}

pub async fn turns_that_come_late_are_analysed_too(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let wait = Duration::from_millis(FACTS_FOLLOW_MS.unsigned_abs());
    let campaign = scene.running(0..3).await;
    let attempt = scene.completed(campaign, 1).await.attempt;
    // The running analysis has not seen the new turns.
    let unseen = store.due_analyses(9).await.unwrap().remove(0);
    store
        .append_facts(&[(attempt, said(0)), (attempt, said(1))])
        .await
        .unwrap();
    let fenced = store.save_analysis(&unseen, analysis("None")).await;
    assert_eq!(fenced, Err(StoreError::Fenced));
    assert_eq!(store.due_analyses(9).await, Ok(vec![]), "more of them may follow");
    scene.clock.advance(wait);
    let job = store.due_analyses(9).await.unwrap().remove(0);
    store.save_analysis(&job, analysis("Two")).await.unwrap();
    // Nor has a finished one.
    store.append_facts(&[(attempt, said(2))]).await.unwrap();
    scene.clock.advance(wait);
    let again = store.due_analyses(9).await.unwrap().remove(0);
    assert_eq!(again.attempt, attempt);
    store.save_analysis(&again, analysis("Three")).await.unwrap();
    let row = store.conversation(scene.account, attempt).await.unwrap();
    assert_eq!(row.analysis, Some(analysis("Three")));
    // A call in progress, or one that nobody answered, is not analysed.
    let (going, busy) = (scene.dialing(campaign).await, scene.dialing(campaign).await);
    store.answered(going, scene.now()).await.unwrap();
    let failed = outcome(ConversationStatus::Failed);
    store.finish(busy, failed, None).await.unwrap();
    let facts = [(going.attempt, said(0)), (busy.attempt, said(0))];
    store.append_facts(&facts).await.unwrap();
    scene.clock.advance(wait);
    assert_eq!(store.due_analyses(9).await, Ok(vec![]));
}

pub async fn a_leased_job_comes_back_and_fences_its_first_holder(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    scene.completed(campaign, 1).await;
    let first = scene.store.due_analyses(10).await.unwrap().remove(0);
    scene.clock.advance(Duration::from_secs(59));
    assert_eq!(scene.store.due_analyses(10).await, Ok(vec![]));
    scene.clock.advance(Duration::from_secs(1));
    let second = scene.store.due_analyses(10).await.unwrap().remove(0);
    assert_eq!((second.id, second.tries), (first.id, 1));
    let late = scene.store.save_analysis(&first, analysis("late")).await;
    assert_eq!(late, Err(StoreError::Fenced));
    assert_eq!(scene.store.retry_job(&first, 1).await, Err(StoreError::Fenced));
    let row = scene.store.conversation(scene.account, first.attempt).await.unwrap();
    assert_eq!(row.analysis, None);
    scene.store.save_analysis(&second, analysis("in time")).await.unwrap();
}

pub async fn an_analysis_keeps_values_on_the_saved_contact(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let saved = domain::ports::store::NewContact {
        phone_number: number(0),
        name: Some("Ada".to_owned()),
        email: None,
        extra: serde_json::json!({ "city": "Rome", "doors": 3 })
            .as_object()
            .cloned()
            .unwrap(),
    };
    let saved = store.create_contact(account, saved, None).await.unwrap();
    let campaign = scene.running(0..2).await;
    let claims = [scene.completed(campaign, 1).await, scene.completed(campaign, 1).await];
    let jobs = store.due_analyses(10).await.unwrap();
    let quote = Evidence {
        turn: 3,
        quote: "In \"Paris\"".to_owned(),
    };
    let evidence = BTreeMap::from([("city".to_owned(), quote)]);
    for job in &jobs {
        let contact = serde_json::json!({ "city": "Paris", "email": "ada@example.com", "metadata": "x", "ok": true });
        let analysis = Analysis {
            collected: Some(BTreeMap::from([("city".to_owned(), "Paris".to_owned())])),
            evidence: evidence.clone(),
            contact: contact.as_object().cloned().unwrap().into_iter().collect(),
            ..analysis("Paris it is.")
        };
        store.save_analysis(job, analysis).await.unwrap();
    }
    // The second call's number belongs to no saved contact.
    for claim in claims {
        let row = store.conversation(account, claim.attempt).await.unwrap();
        assert_eq!(row.collected, BTreeMap::from([("city".to_owned(), "Paris".to_owned())]));
        assert_eq!(row.evidence, evidence);
        assert_eq!(row.analysis, Some(analysis("Paris it is.")));
    }
    let contact = store.contact(account, saved.id).await.unwrap();
    assert_eq!(
        (contact.name.as_deref(), contact.email.as_deref()),
        (Some("Ada"), Some("ada@example.com"))
    );
    assert_eq!(
        serde_json::Value::from(contact.extra),
        serde_json::json!({ "city": "Paris", "doors": 3, "ok": true })
    );
    assert_eq!(contact.version, saved.version + 1);
}

pub async fn a_failed_job_is_put_off(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    scene.completed(campaign, 1).await;
    let job = scene.store.due_analyses(10).await.unwrap().remove(0);
    scene.store.retry_job(&job, 5_000).await.unwrap();
    scene.clock.advance(Duration::from_millis(4_999));
    assert_eq!(scene.store.due_analyses(10).await, Ok(vec![]));
    scene.clock.advance(Duration::from_millis(1));
    let again = scene.store.due_analyses(10).await.unwrap().remove(0);
    assert_eq!((again.id, again.tries), (job.id, 1));
}

pub async fn a_store_answers_a_ping(fixture: Fixture) {
    fixture.store.ping().await.unwrap();
}
