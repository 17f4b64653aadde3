//! The dialer's rules as a client and the phones see them: opt-outs, callbacks at a later time, rotating
//! caller IDs, calls per second.

use std::{collections::BTreeMap, time::Duration};

use actors::node::NodeSettings;
use domain::time::Timestamp;
use serde_json::{Value, json};
use sim::exchange::{LogEvent, Script, Step};

use support::{
    words::{interviewing_agent, lines},
    world::{World, WorldSettings},
};

const NUMBER: &str = "+15550300010";

/// Returns for each accepted call its time, its callee and the number it showed.
fn accepted(world: &World) -> Vec<(Timestamp, String, Option<String>)> {
    let entries = world.entries().into_iter();
    let accepted = entries.filter_map(|entry| match entry.event {
        LogEvent::Accepted { to, from, .. } => Some((entry.at, to, from)),
        _ => None,
    });
    accepted.collect()
}

async fn do_not_call(world: &World) -> Vec<String> {
    let list = world
        .client
        .get("/public/v1/do-not-call")
        .await
        .expect(200)
        .data()
        .clone();
    let rows = list.as_array().unwrap().iter();
    rows.map(|row| row["phoneNumber"].as_str().unwrap().to_owned())
        .collect()
}

fn opting_out(smart: bool) -> Value {
    let mut agent = interviewing_agent();
    agent["platformSettings"]["callActions"] = json!({ "smartOptOut": smart });
    agent["platformSettings"]["callRetry"] = json!({ "retryCount": 1, "retryDelay": 5 });
    agent
}

#[tokio::test(start_paused = true)]
async fn who_opts_out_is_on_the_list_within_a_second_and_no_campaign_calls_again() {
    let world = World::start().await;
    let agent = world.agent(opting_out(true)).await;
    // Another campaign found the number busy and will try again.
    let waiting = world.launch(&agent, &[(NUMBER, "busy")], json!({})).await;
    world.until_status(&waiting, "waiting", 60).await;
    let first = world.launch(&agent, &[(NUMBER, "opts-out")], json!({})).await;
    let said = |world: &World| {
        let mut said = world
            .entries()
            .into_iter()
            .filter(|entry| matches!(&entry.event, LogEvent::Said { text, .. } if text.contains("don't call me")));
        said.next().map(|entry| entry.at)
    };
    world.until(60, "opt-out", |_| said(&world).is_some()).await;
    // The entry is written when the words are out; polling takes a quarter of a second more.
    for _ in 0..10 {
        if do_not_call(&world).await == [NUMBER] {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(do_not_call(&world).await, [NUMBER]);
    world.until_status(&first, "completed", 60).await;
    let conversation = world.conversation(&first, NUMBER).await;
    let agent_said = lines(&conversation, "Agent");
    assert_eq!(
        agent_said.last().map(String::as_str),
        Some("Understood, we won't call you again. Goodbye.")
    );

    let dials = accepted(&world).len();
    let later = world.launch(&agent, &[(NUMBER, "cooperative")], json!({})).await;
    world.until_status(&later, "completed", 60).await;
    world.until_status(&waiting, "completed", 600).await;
    for campaign in [&later, &waiting] {
        let mut all = world.conversations(campaign).await;
        all.retain(|conversation| conversation["status"] == "cancelled");
        assert_eq!(all.len(), 1, "{all:#?}");
        assert_eq!(all[0]["errorMessage"], "do-not-call");
    }
    assert_eq!(accepted(&world).len(), dials);
}

#[tokio::test(start_paused = true)]
async fn without_smart_opt_out_nothing_is_written() {
    let world = World::start().await;
    let agent = world.agent(opting_out(false)).await;
    let campaign = world.launch(&agent, &[(NUMBER, "opts-out")], json!({})).await;
    world.until_status(&campaign, "completed", 120).await;
    assert!(do_not_call(&world).await.is_empty());
    let conversation = world.conversation(&campaign, NUMBER).await;
    let agent_said = lines(&conversation, "Agent");
    assert_eq!(
        agent_said.last().map(String::as_str),
        Some("Understood. Sorry for the trouble. Goodbye.")
    );
}

/// Callees that want to be called later: with a time at once, or when they are asked for it.
async fn with_later() -> World {
    let hello = || [Step::WaitMs(400), Step::Say("Hello?".into()), Step::UntilAgentSaid];
    let says = |words: &str| [Step::Say(words.into()), Step::UntilAgentSaid];
    let told = hello()
        .into_iter()
        .chain(says("Could you call me in ten minutes, please?"));
    let asked = hello()
        .into_iter()
        .chain(says("I'm driving."))
        .chain(says("Tomorrow at three."));
    World::start_with(WorldSettings {
        scripts: BTreeMap::from([
            ("told".to_owned(), Script::of(told)),
            ("asked".to_owned(), Script::of(asked)),
        ]),
        ..WorldSettings::default()
    })
    .await
}

async fn launch_script(world: &World, script: &str, zone: &str) -> String {
    let mut agent = interviewing_agent();
    agent["conversationConfig"]["agent"]["prompt"]["timezone"] = json!(zone);
    let agent = world.agent(agent).await;
    let contact = json!({ "phoneNumber": NUMBER, "name": "Maria", "persona": "cooperative", "script": script });
    let body = json!({ "name": "Check-ups", "agentId": agent, "contacts": [contact], "launch": true });
    let made = world.client.post("/public/v1/campaigns", body).await;
    made.expect(201).text("/data/campaignId")
}

async fn contact(world: &World, campaign: &str) -> Value {
    let path = format!("/public/v1/campaigns/{campaign}/contacts");
    world.client.get(&path).await.expect(200).data()[0].clone()
}

#[tokio::test(start_paused = true)]
async fn who_says_when_is_called_again_then() {
    let world = with_later().await;
    let campaign = launch_script(&world, "told", "UTC").await;
    let waiting = world.until_status(&campaign, "waiting", 60).await;
    assert!(waiting["nextRunAt"].is_string(), "{waiting}");
    let conversations = world.conversations(&campaign).await;
    let talked = conversations.iter().find(|c| c["status"] == "completed").unwrap();
    let said = lines(talked, "Agent");
    assert_eq!(
        said.last().map(String::as_str),
        Some("Of course. We'll call you in 10 minutes. Goodbye.")
    );
    let planned = conversations.iter().find(|c| c["status"] == "scheduled").unwrap();
    let row = contact(&world, &campaign).await;
    assert_eq!(
        (&row["status"], &row["attempts"]),
        (&json!("pending"), &json!(2)),
        "{row}"
    );
    assert_eq!(row["lastConversationId"], planned["conversationId"]);

    world.pass(500).await;
    assert_eq!(accepted(&world).len(), 1);
    world.pass(120).await;
    let dials = accepted(&world);
    assert_eq!(dials.len(), 2);
    let waited = dials[1].0.since(dials[0].0).as_secs();
    assert!((600..640).contains(&waited), "{waited} s");
    // The callee says the same again: a stop ends it.
    world.until_status(&campaign, "waiting", 60).await;
    world.command(&campaign, "stop").await;
    world.pass(3_600).await;
    assert_eq!(accepted(&world).len(), 2);
    assert_eq!(contact(&world, &campaign).await["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn who_does_not_say_when_is_asked_and_the_zone_is_the_agents() {
    let world = with_later().await;
    let campaign = launch_script(&world, "asked", "Asia/Kolkata").await;
    let waiting = world.until_status(&campaign, "waiting", 90).await;
    let conversations = world.conversations(&campaign).await;
    let talked = conversations.iter().find(|c| c["status"] == "completed").unwrap();
    let said = lines(talked, "Agent");
    assert!(
        said.iter()
            .any(|line| line.ends_with("Of course. When would suit you?")),
        "{said:?}"
    );
    assert_eq!(
        said.last().map(String::as_str),
        Some("Of course. We'll call you tomorrow at 3. Goodbye.")
    );
    // Three in the afternoon in Kolkata.
    let next = waiting["nextRunAt"].as_str().unwrap();
    assert!(next.ends_with("T09:30:00.000000Z"), "{next}");
}

#[tokio::test(start_paused = true)]
async fn a_single_call_is_made_again_too() {
    let world = with_later().await;
    let agent = world.agent(interviewing_agent()).await;
    let body = json!({
        "agentId": agent, "phoneNumber": NUMBER, "name": "Maria",
        "dynamicVariables": { "persona": "cooperative", "script": "told" },
    });
    world.client.post("/public/v1/calls", body).await.expect(201);
    world.pass(590).await;
    assert_eq!(accepted(&world).len(), 1);
    world.pass(50).await;
    assert_eq!(accepted(&world).len(), 2);
}

fn rotating() -> Value {
    let mut agent = interviewing_agent();
    agent["phoneNumbers"] = json!([{ "provider": "simulated", "number": "+15550900009" }]);
    agent["platformSettings"]["telephony"] = json!({
        "numberRotationEnabled": true, "callsPerNumber": 2,
        "rotationNumbers": ["+15550900001", "+15550900002", "+15550900003"],
    });
    agent
}

#[tokio::test(start_paused = true)]
async fn caller_ids_take_turns_also_over_a_restart() {
    let world = World::start().await;
    let agent = world.agent(rotating()).await;
    let numbers: Vec<String> = (0..7).map(|n| format!("+155503000{n}1")).collect();
    let contacts: Vec<(&str, &str)> = numbers.iter().map(|number| (number.as_str(), "rejects")).collect();
    let first = world.launch(&agent, &contacts[..3], json!({})).await;
    world.until_status(&first, "completed", 60).await;
    let world = world.restart().await;
    let second = world.launch(&agent, &contacts[3..], json!({})).await;
    world.until_status(&second, "completed", 60).await;
    let mut shown: Vec<_> = accepted(&world).into_iter().map(|(_, _, from)| from.unwrap()).collect();
    // Calls of one claim are sent at the same time, in the order of their permits.
    shown[..3].sort_unstable();
    shown[3..].sort_unstable();
    let turns = |order: &[u8]| order.iter().map(|n| format!("+1555090000{n}")).collect::<Vec<_>>();
    assert_eq!(shown, turns(&[1, 1, 2, 1, 2, 3, 3]));
    for campaign in [&first, &second] {
        for conversation in world.conversations(campaign).await {
            let to = conversation["contactNumber"].as_str().unwrap();
            let dialed = accepted(&world)
                .into_iter()
                .find(|(_, number, _)| number == to)
                .unwrap();
            assert_eq!(conversation["callerNumber"].as_str(), dialed.2.as_deref(), "{to}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn restricted_numbers_are_not_dialed_and_others_see_the_agents_own() {
    let world = World::start().await;
    let mut agent = rotating();
    agent["platformSettings"]["telephony"] =
        json!({ "stateRestrictionEnabled": true, "stateRestrictedNumbers": ["+1555031"] });
    let agent = world.agent(agent).await;
    let contacts = [("+15550310001", "rejects"), ("+15550300001", "rejects")];
    let campaign = world.launch(&agent, &contacts, json!({})).await;
    world.until_status(&campaign, "completed", 60).await;
    let dialed: Vec<_> = accepted(&world).into_iter().map(|(_, to, from)| (to, from)).collect();
    assert_eq!(dialed, [("+15550300001".to_owned(), Some("+15550900009".to_owned()))]);
    assert_eq!(
        world.conversation(&campaign, "+15550310001").await["status"],
        "cancelled"
    );
}

#[tokio::test(start_paused = true)]
async fn no_second_sees_more_calls_than_allowed_whatever_was_paused_between() {
    for per_second in [3.0, 0.5] {
        let settings = NodeSettings {
            lines: 20,
            calls_per_second: per_second,
            ..NodeSettings::default()
        };
        let world = World::start_with(settings).await;
        let agent = world.agent(interviewing_agent()).await;
        let numbers: Vec<String> = (10..34).map(|n| format!("+155503000{n}")).collect();
        let contacts: Vec<(&str, &str)> = numbers.iter().map(|number| (number.as_str(), "rejects")).collect();
        // Time that nobody used.
        world.pass(60).await;
        let one = world.launch(&agent, &contacts[..12], json!({})).await;
        let two = world.launch(&agent, &contacts[12..], json!({})).await;
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(1_300)).await;
            world.command(&one, "pause").await;
            tokio::time::sleep(Duration::from_millis(700)).await;
            world.command(&one, "launch").await;
        }
        world.until_status(&one, "completed", 120).await;
        world.until_status(&two, "completed", 120).await;
        let times: Vec<_> = accepted(&world).into_iter().map(|(at, ..)| at).collect();
        assert_eq!(times.len(), 24);
        let (most, window) = if per_second < 1.0 { (1, 2_000) } else { (3, 1_000) };
        for (n, at) in times.iter().enumerate() {
            let within = times[n..]
                .iter()
                .filter(|t| t.since(*at) < Duration::from_millis(window));
            assert!(within.count() <= most, "{per_second}/s: {times:?}");
        }
        let took = times[23].since(times[0]).as_secs_f64();
        assert!(took < 24.0 / per_second * 1.4, "{per_second}/s: {took} s");
    }
}

/// Makes an agent that must not dial `+1555031…`, with its own number for calls from outside.
async fn agent_with_restrictions(world: &World) -> String {
    let mut agent = rotating();
    agent["direction"] = json!("both");
    agent["platformSettings"]["telephony"] =
        json!({ "stateRestrictionEnabled": true, "stateRestrictedNumbers": ["+1555031"] });
    world.agent(agent).await
}

async fn put_on_the_list(world: &World, numbers: &[String]) {
    for number in numbers {
        let added = world
            .client
            .post("/public/v1/do-not-call", json!({ "phoneNumber": number }))
            .await;
        added.expect(201);
    }
}

#[tokio::test(start_paused = true)]
async fn numbers_that_nobody_dials_do_not_delay_the_next_one() {
    let settings = NodeSettings {
        lines: 4,
        calls_per_second: 1.0,
        ..NodeSettings::default()
    };
    let world = World::start_with(settings).await;
    let agent = agent_with_restrictions(&world).await;
    let listed: Vec<String> = (10..50).map(|n| format!("+155503200{n}")).collect();
    put_on_the_list(&world, &listed).await;
    let restricted: Vec<String> = (10..50).map(|n| format!("+155503100{n}")).collect();
    let unwanted = listed
        .iter()
        .chain(&restricted)
        .map(|number| (number.as_str(), "rejects"));
    let contacts: Vec<_> = unwanted.chain([("+15550330001", "rejects")]).collect();
    let launched = tokio::time::Instant::now();
    let campaign = world.launch(&agent, &contacts, json!({})).await;
    while accepted(&world).is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let delay = launched.elapsed();
    assert!(delay < Duration::from_secs(3), "{delay:?}");
    world.until_status(&campaign, "completed", 60).await;
    assert_eq!(accepted(&world).len(), 1);
    let state = world.client.get(&format!("/public/v1/campaigns/{campaign}")).await;
    assert_eq!(state.expect(200).data()["progress"]["cancelled"], 80);
}

#[tokio::test(start_paused = true)]
async fn numbers_that_nobody_dials_leave_the_lines_to_calls_from_outside() {
    let settings = NodeSettings {
        lines: 2,
        calls_per_second: 0.0,
        ..NodeSettings::default()
    };
    let world = World::start_with(settings).await;
    let agent = agent_with_restrictions(&world).await;
    let restricted: Vec<String> = (1_000..2_000).map(|n| format!("+1555031{n}")).collect();
    let contacts: Vec<_> = restricted.iter().map(|number| (number.as_str(), "rejects")).collect();
    let campaign = world.launch(&agent, &contacts, json!({})).await;
    for n in 0..20 {
        let call = json!({ "from": format!("+155503400{n:02}"), "to": "+15550900009", "persona": "hangs-up" });
        let answer = world.call_in(call).await;
        assert_eq!(answer["answer"], "connected", "{n}: {answer}");
        let id = answer["attempt"].as_str().unwrap();
        world
            .client
            .post(&format!("/public/v1/conversations/{id}/end"), json!({}))
            .await
            .expect(200);
    }
    world.until_status(&campaign, "completed", 120).await;
    assert!(accepted(&world).iter().all(|(_, to, _)| !to.starts_with("+1555031")));
}

#[tokio::test(start_paused = true)]
async fn the_start_index_is_the_first_contact_not_yet_dialed_at_every_moment() {
    let settings = NodeSettings {
        lines: 3,
        calls_per_second: 1.0,
        ..NodeSettings::default()
    };
    let world = World::start_with(settings).await;
    let agent = world.agent(interviewing_agent()).await;
    let numbers: Vec<String> = (10..22).map(|n| format!("+155503000{n}")).collect();
    let contacts: Vec<(&str, &str)> = numbers.iter().map(|number| (number.as_str(), "rejects")).collect();
    let campaign = world.launch(&agent, &contacts, json!({})).await;
    for round in 0..40 {
        if round == 12 {
            world.command(&campaign, "pause").await;
        }
        if round == 20 {
            world.command(&campaign, "launch").await;
        }
        let before = accepted(&world).len();
        let state = world.client.get(&format!("/public/v1/campaigns/{campaign}")).await;
        let index = state.expect(200).data()["startIndex"].as_u64().unwrap() as usize;
        // A permit that was given while the campaign was read may not have been sent yet.
        let after = accepted(&world).len();
        assert!(
            (before..=after + 1).contains(&index),
            "round {round}: {before} {index} {after}"
        );
        tokio::time::sleep(Duration::from_millis(330)).await;
    }
    world.until_status(&campaign, "completed", 60).await;
    let state = world.client.get(&format!("/public/v1/campaigns/{campaign}")).await;
    assert_eq!(state.expect(200).data()["startIndex"], 12);
}
