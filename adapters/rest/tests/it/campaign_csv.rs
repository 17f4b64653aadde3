//! Tests of campaigns from CSV: all or nothing, with a report of the invalid rows.

use std::time::Duration;

use actors::campaign::CampaignCommand;
use bytes::Bytes;
use domain::ports::store::{CampaignStore, StoreError};
use futures_util::{StreamExt, stream};
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use support::{
    app::TestApp,
    client::{Answer, send},
};

const CSV: &str = "/public/v1/campaigns/csv";

async fn upload(app: &TestApp, form: Form) -> Answer {
    send(app.client.request("POST", CSV).multipart(form)).await
}

fn file(text: impl Into<Vec<u8>>) -> Part {
    Part::bytes(text.into()).file_name("contacts.csv")
}

fn form(agent: &str, text: impl Into<Vec<u8>>) -> Form {
    let form = Form::new().part("file", file(text));
    form.text("agentId", agent.to_owned()).text("name", "Spring")
}

async fn saved(app: &TestApp) -> usize {
    app.client
        .get("/public/v1/campaigns")
        .await
        .data()
        .as_array()
        .unwrap()
        .len()
}

#[tokio::test(start_paused = true)]
async fn a_sound_file_becomes_a_campaign() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let text =
        "\u{feff}Full Name,Phone,City,E-mail\r\nAda,+1 555 000 0001,Bonn,ada@example.com\r\n\r\n,0015550000002, ,\r\n";
    let made = upload(&app, form(&agent, text)).await.expect(201);
    assert_eq!(
        made.data()["contacts"],
        json!([
            {
                "phoneNumber": "+15550000001", "contactId": null, "name": "Ada",
                "email": "ada@example.com", "City": "Bonn",
            },
            { "phoneNumber": "+15550000002", "contactId": null },
        ])
    );
    assert_eq!(made.data()["status"], "draft");
    assert!(app.node.commands().is_empty());
    let path = format!("/public/v1/campaigns/{}", made.text("/data/campaignId"));
    assert_eq!(app.client.get(&path).await.expect(200).data(), made.data());
}

#[tokio::test(start_paused = true)]
async fn a_file_can_be_launched_with_follow_ups_and_named_columns() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let form = form(&agent, "phone,Handy\nnone,+15550000001\n")
        .text("phoneColumn", "Handy")
        .text("launch", "True")
        .text("followUpCall", "1")
        .text("followUpAttempts", "2")
        .text("followUpIntervals", "5, 60")
        .text("scheduled", "")
        .text("startTime", "");
    let made = upload(&app, form).await.expect(201);
    assert_eq!(made.data()["status"], "running");
    assert_eq!(
        made.data()["followUp"],
        json!({ "enabled": true, "attempts": 2, "intervalsMinutes": [5, 60] })
    );
    assert_eq!(made.data()["contacts"][0]["phone"], "none");
    assert!(made.text("/warning").contains("nobody is really called"));
    assert_eq!(app.node.commands()[0].1, CampaignCommand::Launch);
}

#[tokio::test(start_paused = true)]
async fn a_bad_row_refuses_the_file_with_a_report_and_saves_nothing() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let text = "phone,email\n+15550000001,\n\nabc,x\n+1 (555) 000-0001,\n";
    let answer = upload(&app, form(&agent, text).text("launch", "true"))
        .await
        .expect(400);
    assert_eq!(answer.code(), "invalid_request");
    assert_eq!(answer.fields(), [("file", "invalid_rows")]);
    let details = &answer.body["error"]["details"];
    assert_eq!(details["totalRows"], 3);
    assert_eq!(details["validRows"], 1);
    assert_eq!(details["invalidRows"], 2);
    assert_eq!(details["truncated"], false);
    let rows: Vec<Value> = details["rows"].as_array().unwrap().clone();
    let short: Vec<Value> = rows
        .iter()
        .map(|r| json!([r["row"], r["line"], r["column"], r["value"], r["code"]]))
        .collect();
    assert_eq!(
        short,
        [
            json!([2, 4, "phone", "abc", "invalid_phone"]),
            json!([2, 4, "email", "x", "invalid_email"]),
            json!([3, 5, "phone", "+1 (555) 000-0001", "duplicate_number"]),
        ]
    );
    assert_eq!(saved(&app).await, 0);
    assert!(app.node.commands().is_empty());
}

#[tokio::test(start_paused = true)]
async fn every_problem_of_a_form_is_listed() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let sound = "phone\n+15550000001\n";
    let expect = async |form: Form, fields: &[(&str, &str)]| {
        let answer = upload(&app, form).await.expect(400);
        assert_eq!(answer.fields(), fields);
    };
    let all_missing = [
        ("colour", "unknown_field"),
        ("name", "required"),
        ("agentId", "required"),
        ("file", "required"),
    ];
    expect(Form::new().text("colour", "red"), &all_missing).await;
    let twice = form(&agent, sound).text("name", "again").text("launch", "maybe");
    expect(twice, &[("name", "repeated"), ("launch", "invalid_value")]).await;
    let both = form(&agent, sound)
        .text("launch", "true")
        .text("scheduled", "true")
        .text("startTime", "09:00")
        .text("timezone", "UTC");
    expect(both, &[("scheduled", "not_allowed")]).await;
    expect(
        form("x", "name\nAda\n"),
        &[("agentId", "invalid_value"), ("file", "missing_phone_column")],
    )
    .await;
    expect(form(&agent, "phone;name\n"), &[("file", "wrong_separator")]).await;
    expect(form(&agent, ""), &[("file", "empty")]).await;
    expect(form(&agent, b"phone\n\x81\n".as_slice()), &[("file", "not_utf8")]).await;
    expect(
        form(&agent, sound).text("emailColumn", "Post"),
        &[("emailColumn", "not_found")],
    )
    .await;
    expect(
        form(&agent, sound).text("name_column", "x"),
        &[("name_column", "unknown_field")],
    )
    .await;
    assert_eq!(saved(&app).await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_form_is_refused() {
    let app = TestApp::start().await;
    app.client.post(CSV, json!({})).await.expect(415);
    for (kind, body) in [
        ("multipart/form-data", ""),
        ("multipart/form-data; boundary=x", ""),
        (
            "multipart/form-data; boundary=x",
            "--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\ncut",
        ),
    ] {
        let request = app.client.request("POST", CSV).header("content-type", kind).body(body);
        send(request).await.expect(400);
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_cannot_dial_is_refused_after_the_form() {
    let app = TestApp::start().await;
    let sound = "phone\n+15550000001\n";
    let nobody = domain::id::AgentId::new().to_string();
    upload(&app, form(&nobody, sound)).await.expect(404);
    let agent = app.agent().await;
    let path = format!("/public/v1/agents/{agent}");
    app.client
        .patch(&path, json!({ "direction": "inbound" }))
        .await
        .expect(200);
    let answer = upload(&app, form(&agent, sound)).await.expect(400);
    assert_eq!(answer.fields(), [("agentId", "not_allowed")]);
    assert_eq!(saved(&app).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_file_of_many_pages_comes_back_whole_and_in_order() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let rows: String = (0..5_001).map(|n| format!("+1555{n:07},c{n}\n")).collect();
    let made = upload(&app, form(&agent, format!("phone,city\n{rows}")))
        .await
        .expect(201);
    let contacts = made.data()["contacts"].as_array().unwrap();
    assert_eq!(contacts.len(), 5_001);
    assert_eq!(made.data()["contactCount"], 5_001);
    for (n, contact) in contacts.iter().enumerate() {
        assert_eq!(contact["city"], format!("c{n}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_beyond_its_limit_is_refused_while_it_arrives() {
    let app = TestApp::start().await;
    let chunk = Bytes::from(vec![b'1'; 1024 * 1024]);
    let endless = stream::repeat(chunk).take(70).map(Ok::<_, std::io::Error>);
    let part = Part::stream(reqwest::Body::wrap_stream(endless)).file_name("big.csv");
    let answer = upload(&app, Form::new().part("file", part)).await;
    assert_eq!((answer.status, answer.code()), (413, "payload_too_large"));
}

#[tokio::test(start_paused = true)]
async fn a_failing_store_leaves_nothing_behind() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let rows: String = (0..10).map(|n| format!("+1555{n:07}\n")).collect();
    let body = format!("phone\n{rows}");
    app.store.fail_with(Some(StoreError::Unavailable("x".into())));
    upload(&app, form(&agent, body.clone())).await.expect(503);
    app.store.fail_with(None);
    assert_eq!(app.store.sweep_imports().await, Ok(0));
    upload(&app, form(&agent, body)).await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_in_mid_upload_leaves_nothing_behind() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let (sender, receiver) = mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    let pieces = stream::unfold(receiver, |mut receiver| async {
        Some((receiver.recv().await?, receiver))
    });
    let part = Part::stream(reqwest::Body::wrap_stream(pieces)).file_name("cut.csv");
    let form = Form::new()
        .text("agentId", agent)
        .text("name", "cut")
        .part("file", part);
    let request = app.client.request("POST", CSV).multipart(form);
    let sending = tokio::spawn(async move { request.send().await.is_ok() });
    sender.send(Ok(Bytes::from("phone\n+15550000001\n"))).await.unwrap();
    sender.send(Err(std::io::Error::other("gone"))).await.unwrap();
    drop(sender);
    assert!(!sending.await.unwrap());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(saved(&app).await, 0);
    assert_eq!(app.store.sweep_imports().await, Ok(0));
}
