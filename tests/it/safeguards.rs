//! Safeguards of an account through REST and as the phones see them.

use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use support::{
    app::TestApp,
    client::{Client, send},
    words::interviewing_agent,
    world::World,
};

const SAFEGUARDS: &str = "/public/v1/safeguards";
/// In India, where it is half past five when the clock starts.
const NUMBER: &str = "+919812345670";
const ANOTHER: &str = "+919812345671";

async fn set(client: &Client, rules: Value) -> Value {
    client.patch(SAFEGUARDS, rules).await.expect(200).data().clone()
}

/// Returns the seconds from the start of the clock to each dial.
fn dialed(world: &World) -> Vec<i64> {
    let calls = world.phones().calls();
    calls
        .iter()
        .map(|call| call.dialed_at.unix_seconds() - 1_767_225_600)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn rules_are_off_and_are_changed_by_merge_patch() {
    let app = TestApp::start().await;
    let week = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    let off = json!({
        "callingHours": { "mode": "off", "from": "08:00", "to": "21:00", "days": week },
        "callsPerNumber": { "mode": "off" },
        "allowedPrefixes": { "mode": "off", "prefixes": [] },
        "dailyCalls": { "mode": "off", "timezone": "UTC" },
        "liveListening": true,
    });
    assert_eq!(*app.client.get(SAFEGUARDS).await.expect(200).data(), off);
    // Without hours, the rule uses the usual ones when it is switched on.
    let on = set(&app.client, json!({ "callingHours": { "mode": "enforce" } })).await;
    assert_eq!(on["callingHours"]["from"], "08:00");
    let changed = json!({
        "callingHours": { "to": "24:00", "days": ["sunday", "monday", "sunday"] },
        "callsPerNumber": { "mode": "warn", "perDay": 2 },
        "dailyCalls": { "mode": "enforce", "limit": 100, "timezone": "Asia/Kolkata" },
    });
    let changed = set(&app.client, changed).await;
    assert_eq!(
        changed["callingHours"],
        json!({ "mode": "enforce", "from": "08:00", "to": "24:00", "days": ["sunday", "monday"] })
    );
    assert_eq!(changed["callsPerNumber"], json!({ "mode": "warn", "perDay": 2 }));
    let again = json!({ "callsPerNumber": { "perDay": null, "perWeek": 9 }, "callingHours": null, "dailyCalls": { "mode": "off" } });
    let again = set(&app.client, again).await;
    assert_eq!(again["callingHours"], off["callingHours"]);
    assert_eq!(again["callsPerNumber"], json!({ "mode": "warn", "perWeek": 9 }));
    assert_eq!(
        again["dailyCalls"],
        json!({ "mode": "off", "limit": 100, "timezone": "Asia/Kolkata" })
    );
    assert_eq!(*app.client.get(SAFEGUARDS).await.expect(200).data(), again);
    // The rules belong to the account.
    assert_eq!(*app.stranger().await.get(SAFEGUARDS).await.expect(200).data(), off);
    app.client.get(&format!("{SAFEGUARDS}?a=1")).await.expect(400);
    app.client.post(SAFEGUARDS, json!({})).await.expect(405);
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_rules_is_listed_and_nothing_changes() {
    let app = TestApp::start().await;
    for (patch, path, code) in [
        (json!({ "callingHour": {} }), "callingHour", "unknown_field"),
        (json!({ "callingHours": 8 }), "callingHours", "wrong_type"),
        (
            json!({ "callingHours": { "mode": "on" } }),
            "callingHours.mode",
            "not_allowed",
        ),
        (
            json!({ "callingHours": { "mode": true } }),
            "callingHours.mode",
            "wrong_type",
        ),
        (
            json!({ "callingHours": { "from": "8:00" } }),
            "callingHours.from",
            "invalid",
        ),
        (
            json!({ "callingHours": { "to": "24:01" } }),
            "callingHours.to",
            "invalid",
        ),
        (
            json!({ "callingHours": { "from": "21:00" } }),
            "callingHours.to",
            "not_allowed",
        ),
        (
            json!({ "callingHours": { "days": [] } }),
            "callingHours.days",
            "required",
        ),
        (
            json!({ "callingHours": { "days": ["Monday"] } }),
            "callingHours.days[0]",
            "not_allowed",
        ),
        (
            json!({ "callsPerNumber": { "mode": "warn" } }),
            "callsPerNumber.perDay",
            "required",
        ),
        (
            json!({ "callsPerNumber": { "perDay": 0 } }),
            "callsPerNumber.perDay",
            "out_of_range",
        ),
        (
            json!({ "callsPerNumber": { "perWeek": 1.5 } }),
            "callsPerNumber.perWeek",
            "wrong_type",
        ),
        (
            json!({ "allowedPrefixes": { "mode": "enforce" } }),
            "allowedPrefixes.prefixes",
            "required",
        ),
        (
            json!({ "allowedPrefixes": { "prefixes": ["+1", "44"] } }),
            "allowedPrefixes.prefixes[1]",
            "invalid",
        ),
        (
            json!({ "allowedPrefixes": { "prefixes": ["+"] } }),
            "allowedPrefixes.prefixes[0]",
            "invalid",
        ),
        (
            json!({ "dailyCalls": { "mode": "enforce" } }),
            "dailyCalls.limit",
            "required",
        ),
        (
            json!({ "dailyCalls": { "timezone": "Mars" } }),
            "dailyCalls.timezone",
            "invalid",
        ),
        (
            json!({ "dailyCalls": { "zone": "UTC" } }),
            "dailyCalls.zone",
            "unknown_field",
        ),
    ] {
        let refused = app.client.patch(SAFEGUARDS, patch.clone()).await.expect(400);
        assert_eq!(refused.fields(), [(path, code)], "{patch}");
    }
    let long: Vec<String> = (0..1_001).map(|n| format!("+1{n}")).collect();
    let refused = app
        .client
        .patch(SAFEGUARDS, json!({ "allowedPrefixes": { "prefixes": long } }))
        .await;
    assert_eq!(refused.expect(400).fields(), [("allowedPrefixes.prefixes", "too_many")]);
    let all = json!({ "callsPerNumber": { "mode": "warn" }, "dailyCalls": { "mode": "warn" } });
    assert_eq!(app.client.patch(SAFEGUARDS, all).await.expect(400).fields().len(), 2);
    let rules = app.client.get(SAFEGUARDS).await.expect(200).data().clone();
    assert_eq!(rules["callsPerNumber"]["mode"], "off");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_called_before_the_morning_of_where_the_number_is() {
    let world = World::start().await;
    let agent = world.agent(interviewing_agent()).await;
    set(
        &world.client,
        json!({ "callingHours": { "mode": "enforce", "from": "05:35" } }),
    )
    .await;
    let campaign = world.launch(&agent, &[(NUMBER, "busy")], json!({})).await;
    let waiting = world.until_status(&campaign, "waiting", 30).await;
    assert_eq!(waiting["nextRunAt"], "2026-01-01T00:05:00.000000Z");
    assert!(dialed(&world).is_empty());
    world.until_status(&campaign, "completed", 400).await;
    assert!(matches!(dialed(&world)[..], [300..=310]), "{:?}", dialed(&world));
    // It used up no attempt.
    let only = world.conversation(&campaign, NUMBER).await;
    assert_eq!(only["errorMessage"], "busy");

    // A rule that only warns dials at any hour.
    let late = json!({ "callingHours": { "mode": "warn", "from": "20:00" } });
    set(&world.client, late).await;
    let campaign = world.launch(&agent, &[(ANOTHER, "busy")], json!({})).await;
    world.until_status(&campaign, "completed", 60).await;
    let warned = world.conversation(&campaign, ANOTHER).await;
    let id = warned["conversationId"].as_str().unwrap();
    let (name, detail) = &world.events(id)[0];
    assert_eq!(
        (name.as_str(), &detail["rule"], &detail["did"]),
        ("safeguard", &json!("callingHours"), &json!("warned"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_number_is_called_no_more_often_than_allowed() {
    let world = World::start().await;
    let agent = world.agent(interviewing_agent()).await;
    set(
        &world.client,
        json!({ "callsPerNumber": { "mode": "enforce", "perDay": 1 } }),
    )
    .await;
    let first = world.launch(&agent, &[(NUMBER, "busy")], json!({})).await;
    world.until_status(&first, "completed", 60).await;
    let begun = dialed(&world)[0];
    let second = world
        .launch(&agent, &[(NUMBER, "busy"), (ANOTHER, "busy")], json!({}))
        .await;
    let waiting = world.until_status(&second, "waiting", 60).await;
    assert!(
        waiting["nextRunAt"].as_str().unwrap().starts_with("2026-01-02T00:00:"),
        "{waiting}"
    );
    world.pass(86_300).await;
    assert_eq!(dialed(&world).len(), 2);
    world.until_status(&second, "completed", 200).await;
    let last = dialed(&world)[2];
    assert!((begun + 86_400..begun + 86_410).contains(&last), "{begun} {last}");
}

#[tokio::test(start_paused = true)]
async fn what_a_rule_put_off_is_dialed_as_soon_as_the_rule_is_lifted() {
    let world = World::start().await;
    let agent = world.agent(interviewing_agent()).await;
    // Thursday in India; nobody is called before Monday.
    let late = json!({ "callingHours": { "mode": "enforce", "days": ["monday"] } });
    set(&world.client, late).await;
    let campaign = world
        .launch(&agent, &[(NUMBER, "busy"), (ANOTHER, "busy")], json!({}))
        .await;
    let waiting = world.until_status(&campaign, "waiting", 60).await;
    assert_eq!(waiting["nextRunAt"], "2026-01-05T02:30:00.000000Z");
    let shown = world.client.get(&format!("/public/v1/campaigns/{campaign}")).await;
    let warning = shown.body["warning"].as_str().unwrap_or_default();
    assert!(warning.contains("2 for `callingHours`"), "{:?}", shown.body);
    world.pass(3_600).await;
    let lifted = world.now().unix_seconds() - 1_767_225_600;
    set(&world.client, json!({ "callingHours": { "mode": "off" } })).await;
    world.until_status(&campaign, "completed", 60).await;
    let begun = dialed(&world);
    assert!(begun.len() == 2 && begun[0] - lifted <= 5, "{begun:?} {lifted}");

    // Earlier hours take effect immediately too, and so do higher limits.
    set(
        &world.client,
        json!({ "callsPerNumber": { "mode": "enforce", "perDay": 1 } }),
    )
    .await;
    let again = world.launch(&agent, &[(NUMBER, "busy")], json!({})).await;
    world.until_status(&again, "waiting", 60).await;
    set(&world.client, json!({ "callsPerNumber": { "perDay": 2 } })).await;
    world.until_status(&again, "completed", 60).await;
    assert_eq!(dialed(&world).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_campaign_whose_last_waiting_call_is_ended_is_completed() {
    let world = World::start().await;
    let agent = world.agent(interviewing_agent()).await;
    set(
        &world.client,
        json!({ "callingHours": { "mode": "enforce", "days": ["monday"] } }),
    )
    .await;
    let campaign = world
        .launch(&agent, &[(NUMBER, "busy"), (ANOTHER, "busy")], json!({}))
        .await;
    world.until_status(&campaign, "waiting", 60).await;
    for (number, status) in [(NUMBER, "waiting"), (ANOTHER, "completed")] {
        let conversation = world.conversation(&campaign, number).await;
        let id = conversation["conversationId"].as_str().unwrap();
        let ended = world
            .client
            .post(&format!("/public/v1/conversations/{id}/end"), json!({}))
            .await
            .expect(200);
        assert_eq!(ended.text("/data/status"), "cancelled");
        world.pass(30).await;
        let now = world.until_status(&campaign, status, 30).await;
        assert_eq!(
            now["progress"]["cancelled"],
            if status == "waiting" { 1 } else { 2 },
            "{now}"
        );
    }
    assert!(dialed(&world).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_campaign_is_delayed_when_the_days_calls_are_made_and_goes_on_when_there_are_more() {
    let world = World::start().await;
    let agent = world.agent(interviewing_agent()).await;
    set(
        &world.client,
        json!({ "dailyCalls": { "mode": "enforce", "limit": 1 } }),
    )
    .await;
    let campaign = world
        .launch(&agent, &[(NUMBER, "busy"), (ANOTHER, "busy")], json!({}))
        .await;
    world.until_status(&campaign, "delayed", 60).await;
    let launched = world
        .client
        .patch(&format!("/public/v1/campaigns/{campaign}"), json!({}))
        .await;
    let warning = launched.body["warning"].as_str().unwrap_or_default().to_owned();
    assert!(
        warning.contains("dailyCalls") && warning.contains("2026-01-02T00:00:00Z"),
        "{:?}",
        launched.body
    );
    // It retries each minute and gets no call through.
    world.pass(600).await;
    assert_eq!(dialed(&world).len(), 1);
    set(&world.client, json!({ "dailyCalls": { "limit": 2 } })).await;
    world.until_status(&campaign, "completed", 120).await;
    assert_eq!(dialed(&world).len(), 2);
    // The next day has its own limit.
    let more = world.launch(&agent, &[(NUMBER, "busy")], json!({})).await;
    world.until_status(&more, "delayed", 60).await;
    world.pass(86_400 - 900).await;
    world.until_status(&more, "completed", 900).await;
    assert!(dialed(&world)[2] >= 86_400, "{:?}", dialed(&world));
}

#[tokio::test(start_paused = true)]
async fn a_destination_that_is_not_allowed_is_refused_before_it_is_saved_and_when_it_is_dialed() {
    let world = World::start().await;
    let agent = world.agent(interviewing_agent()).await;
    // Saved before there was a rule.
    let body = json!({ "name": "Old", "agentId": agent, "contacts": [{ "phoneNumber": NUMBER, "persona": "busy" }] });
    let old = world.client.post("/public/v1/campaigns", body).await.expect(201);
    let old = old.text("/data/campaignId");
    set(
        &world.client,
        json!({ "allowedPrefixes": { "mode": "enforce", "prefixes": ["+44", "+9198123456"] } }),
    )
    .await;

    let call = json!({ "agentId": agent, "phoneNumber": "+12125550100" });
    let refused = world.client.post("/public/v1/calls", call).await.expect(400);
    assert_eq!(refused.fields(), [("phoneNumber", "destination_not_allowed")]);
    let contacts = json!([{ "phoneNumber": NUMBER }, { "phoneNumber": "+12125550100" }]);
    let body = json!({ "name": "New", "agentId": agent, "contacts": contacts });
    let refused = world.client.post("/public/v1/campaigns", body).await.expect(400);
    assert_eq!(
        refused.fields(),
        [("contacts[1].phoneNumber", "destination_not_allowed")]
    );
    let changed = json!({ "contacts": contacts });
    let refused = world
        .client
        .patch(&format!("/public/v1/campaigns/{old}"), changed)
        .await
        .expect(400);
    assert_eq!(
        refused.fields(),
        [("contacts[1].phoneNumber", "destination_not_allowed")]
    );
    let report = upload(&world.client, &agent).await;
    assert_eq!(report["error"]["details"]["invalidRows"], 1, "{report}");
    let row = &report["error"]["details"]["rows"][0];
    assert_eq!(
        (&row["line"], &row["code"]),
        (&json!(3), &json!("destination_not_allowed"))
    );

    // The rule is checked again at the permit.
    set(&world.client, json!({ "allowedPrefixes": { "prefixes": ["+44"] } })).await;
    world.command(&old, "launch").await;
    world.until_status(&old, "completed", 60).await;
    let failed = world.conversation(&old, NUMBER).await;
    let error = failed["errorMessage"].as_str().unwrap();
    assert!(
        error.starts_with("not-allowed: ") && error.contains("allowedPrefixes"),
        "{error}"
    );
    assert_eq!((&failed["status"], dialed(&world).len()), (&json!("failed"), 0));

    // A rule that only warns says so, and dials.
    set(&world.client, json!({ "allowedPrefixes": { "mode": "warn" } })).await;
    let call = json!({ "agentId": agent, "phoneNumber": NUMBER, "dynamicVariables": { "persona": "busy" } });
    let made = world.client.post("/public/v1/calls", call).await.expect(201);
    assert!(
        made.body["warning"].as_str().unwrap().contains("allowedPrefixes"),
        "{:?}",
        made.body
    );
    let made = upload(&world.client, &agent).await;
    assert!(made["warning"].as_str().unwrap().contains("2 numbers begin"), "{made}");
    world.until(60, "call", |phones| phones.calls().len() == 1).await;
}

/// Uploads two rows, one of them in New York; returns the whole response.
async fn upload(client: &Client, agent: &str) -> Value {
    let file = Part::bytes(format!("phone\n{NUMBER}\n+12125550100\n").into_bytes()).file_name("contacts.csv");
    let form = Form::new()
        .part("file", file)
        .text("agentId", agent.to_owned())
        .text("name", "Spring");
    send(client.request("POST", "/public/v1/campaigns/csv").multipart(form))
        .await
        .body
}

#[tokio::test(start_paused = true)]
async fn a_single_call_at_night_says_why_it_was_not_made() {
    let world = World::start().await;
    let agent = world.agent(interviewing_agent()).await;
    set(&world.client, json!({ "callingHours": { "mode": "enforce" } })).await;
    let call = json!({ "agentId": agent, "phoneNumber": NUMBER });
    let made = world.client.post("/public/v1/calls", call).await.expect(201);
    let id = made.text("/data/conversationId");
    let over = world.until_over(&id, 60).await;
    let error = over["errorMessage"].as_str().unwrap();
    assert!(
        error.starts_with("not-allowed: ") && error.contains("Asia/Kolkata"),
        "{error}"
    );
    assert!(dialed(&world).is_empty());
}

#[tokio::test(start_paused = true)]
async fn who_calls_us_is_answered_whatever_the_safeguards_say() {
    let world = World::start().await;
    let mut agent = interviewing_agent();
    agent["direction"] = json!("inbound");
    agent["phoneNumbers"] = json!([{ "number": "+15550199001", "provider": "simulated" }]);
    world.agent(agent).await;
    let rules = json!({
        "callingHours": { "mode": "enforce", "from": "20:00" },
        "callsPerNumber": { "mode": "enforce", "perDay": 1 },
        "allowedPrefixes": { "mode": "enforce", "prefixes": ["+44"] },
        "dailyCalls": { "mode": "enforce", "limit": 1 },
    });
    set(&world.client, rules).await;
    for _ in 0..2 {
        let answer = world
            .call_in(json!({ "from": NUMBER, "to": "+15550199001", "persona": "cooperative" }))
            .await;
        assert_eq!(answer["answer"], "connected", "{answer}");
        world.until_over(answer["attempt"].as_str().unwrap(), 120).await;
    }
}
