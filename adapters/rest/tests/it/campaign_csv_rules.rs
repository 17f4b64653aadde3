//! Tests of all rules for uploaded files: headers, roles, cells, limits, the report, and concurrent uploads.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use reqwest::multipart::{Form, Part};
use serde_json::json;
use tokio::{sync::mpsc, task::JoinHandle};

use support::{
    app::TestApp,
    client::{Answer, Client, send},
};

const CSV: &str = "/public/v1/campaigns/csv";

async fn upload(client: &Client, agent: &str, text: &str, fields: &[(&'static str, &str)]) -> Answer {
    let file = Part::bytes(text.as_bytes().to_vec()).file_name("contacts.csv");
    let mut form = Form::new().part("file", file).text("agentId", agent.to_owned());
    form = form.text("name", "Spring");
    for (name, value) in fields {
        form = form.text(*name, (*value).to_owned());
    }
    send(client.request("POST", CSV).multipart(form)).await
}

#[tokio::test(start_paused = true)]
async fn headers_have_their_roles_whatever_their_spelling() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let phones = [
        "phonenumber",
        "Phone",
        "MOBILE",
        "Mobile Number",
        "number",
        "contact_number",
        "tele-phone",
        "Phone_Number",
    ];
    let names = ["name", "Full Name", "contact-name"];
    let emails = ["email", "E-Mail Address", "Mail"];
    for (n, phone) in phones.iter().enumerate() {
        let (name, email) = (names[n % names.len()], emails[n % emails.len()]);
        let text = format!("\u{feff} {name} ,{phone},{email},City\n Ada , +1 (555) 000-0001 ,ada@example.com, Bonn \n");
        let made = upload(&app.client, &agent, &text, &[]).await.expect(201);
        assert_eq!(
            made.data()["contacts"],
            json!([{
                "phoneNumber": "+15550000001", "contactId": null, "name": "Ada", "email": "ada@example.com",
                "City": "Bonn",
            }]),
            "{phone}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_breaks_a_rule_is_refused_with_the_rule() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let good = "+15550000001";
    let wide: Vec<String> = (0..101).map(|n| format!("c{n}")).collect();
    let fits: Vec<String> = (0..100).map(|n| format!("c{n}")).collect();
    let long_name = "n".repeat(201);
    let long_cell = "x".repeat(4_097);
    for (text, code, says) in [
        (String::new(), "empty", "empty"),
        ("phone\n".to_owned(), "empty", "no row"),
        ("\n\r\n".to_owned(), "empty", "empty"),
        (
            format!("city,street\n{good},x\n"),
            "missing_phone_column",
            "`city`, `street`",
        ),
        (format!("phone,city,city\n{good},a,b\n"), "repeated", "`city`"),
        (
            format!("phone,Mobile\n{good},{good}\n"),
            "ambiguous_column",
            "phoneColumn",
        ),
        (
            format!("phone,name,Full Name\n{good},a,b\n"),
            "ambiguous_column",
            "nameColumn",
        ),
        (format!("phone,contactId\n{good},a\n"), "not_allowed", "contactId"),
        (format!("phone,metadata\n{good},a\n"), "not_allowed", "metadata"),
        (format!("phone;name\n{good};a\n"), "wrong_separator", "semicolons"),
        (format!("phone\tname\n{good}\ta\n"), "wrong_separator", "tabs"),
        (format!("phone,{}\n", wide.join(",")), "too_many", "101 columns"),
        (
            format!("phone,name\n{good},{long_name}\n"),
            "too_long",
            "200 characters",
        ),
        (format!("phone,city\n{good},{long_cell}\n"), "too_long", "4096 bytes"),
        (format!("phone,city\n{good},\"x\n"), "open_quote", "line 2"),
        (format!("phone\n{good}\n\u{0}\n"), "not_utf8", "line 3"),
    ] {
        let answer = upload(&app.client, &agent, &text, &[]).await.expect(400);
        let shown: String = text.chars().take(60).collect();
        assert_eq!(answer.fields(), [("file", code)], "{shown:?}");
        let message = answer.text("/error/fields/0/message");
        assert!(message.contains(says), "{shown:?}: {message}");
    }
    // The maximum number of columns.
    let cells = vec!["x".repeat(10); 100].join(",");
    let text = format!(
        "phone,name,email,{}\n{good},{},a@b.co,{cells}\n",
        fits.join(","),
        "n".repeat(200)
    );
    upload(&app.client, &agent, &text, &[]).await.expect(201);
    let text = format!("phone,city\r\n{good},\"{}\"\r\n", "x".repeat(4_096));
    upload(&app.client, &agent, &text, &[]).await.expect(201);
    let listed = app.client.get("/public/v1/campaigns").await;
    assert_eq!(listed.data().as_array().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_report_names_row_line_column_and_the_row_that_is_repeated() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let text = "Mobile,Mail,city\n,x,Bonn\n\n+15550000001,,\"two\nlines\"\n0015550000001,a@b,\n+15550000002\n12,,\n";
    let answer = upload(&app.client, &agent, text, &[]).await.expect(400);
    let details = &answer.body["error"]["details"];
    assert_eq!(
        (
            &details["totalRows"],
            &details["validRows"],
            &details["invalidRows"],
            &details["truncated"]
        ),
        (&json!(5), &json!(1), &json!(4), &json!(false))
    );
    let rows = details["rows"].as_array().unwrap();
    let short: Vec<_> = rows
        .iter()
        .map(|r| json!([r["row"], r["line"], r["column"], r["value"], r["code"]]))
        .collect();
    assert_eq!(
        short,
        [
            json!([1, 2, "Mobile", "", "missing_phone"]),
            json!([1, 2, "Mail", "x", "invalid_email"]),
            json!([3, 6, "Mobile", "0015550000001", "duplicate_number"]),
            json!([3, 6, "Mail", "a@b", "invalid_email"]),
            json!([4, 7, null, null, "ragged_row"]),
            json!([5, 8, "Mobile", "12", "invalid_phone"]),
        ]
    );
    assert!(rows[2]["message"].as_str().unwrap().contains("line 4"));
    let many = format!("phone\n{}", "x\n".repeat(1_001));
    let answer = upload(&app.client, &agent, &many, &[]).await.expect(400);
    let details = &answer.body["error"]["details"];
    assert_eq!(details["rows"].as_array().unwrap().len(), 1_000);
    assert_eq!(
        (&details["truncated"], &details["invalidRows"]),
        (&json!(true), &json!(1_001))
    );
}

#[tokio::test(start_paused = true)]
async fn an_override_wins_and_the_other_column_is_an_ordinary_one() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let text = "phone,Line 2,Who,name\nold,+15550000001,Ada,x\n";
    let fields = [("phoneColumn", "Line 2"), ("nameColumn", "Who")];
    let made = upload(&app.client, &agent, text, &fields).await.expect(201);
    assert_eq!(
        made.data()["contacts"],
        json!([{ "phoneNumber": "+15550000001", "contactId": null, "name": "Ada", "phone": "old" }])
    );
    for (field, value) in [
        ("phoneColumn", "line 2"),
        ("nameColumn", "Nobody"),
        ("emailColumn", "Mail"),
    ] {
        let answer = upload(&app.client, &agent, text, &[(field, value)]).await.expect(400);
        assert!(answer.fields().contains(&(field, "not_found")), "{:?}", answer.fields());
        assert!(answer.text("/error/message").contains("`Line 2`"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_can_be_scheduled() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let text = "phone\n+15550000001\n";
    let whole = [
        ("scheduled", "TRUE"),
        ("startTime", "2030-01-01T09:00"),
        ("endTime", "17:00"),
        ("timezone", "Europe/Berlin"),
    ];
    let made = upload(&app.client, &agent, text, &whole).await.expect(201);
    assert_eq!(
        (&made.data()["status"], &made.data()["scheduled"]),
        (&json!("waiting"), &json!(true))
    );
    assert_eq!(made.data()["startTime"], "2030-01-01T09:00");
    assert!(made.text("/warning").contains("nobody is really called"));
    let answer = upload(&app.client, &agent, text, &[("scheduled", "1")])
        .await
        .expect(400);
    assert_eq!(answer.fields(), [("startTime", "required"), ("timezone", "required")]);
    let both = [whole.as_slice(), &[("launch", "1")]].concat();
    let answer = upload(&app.client, &agent, text, &both).await.expect(400);
    assert_eq!(answer.fields(), [("scheduled", "not_allowed")]);
    let patch = json!({ "conversationConfig": { "agent": { "prompt": { "llm": "openai/gpt-4.1-mini" } } } });
    app.client
        .patch(&format!("/public/v1/agents/{agent}"), patch)
        .await
        .expect(200);
    for fields in [whole.as_slice(), &[("launch", "true")]] {
        let answer = upload(&app.client, &agent, text, fields).await;
        assert_eq!((answer.status, answer.code()), (409, "not_configured"));
    }
    assert_eq!(
        app.client
            .get("/public/v1/campaigns")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_quoted_cell_keeps_its_line_ends() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    for end in ["\r\n", "\n"] {
        let rows = [
            "phone,note",
            "+15550000001,\" a\r\nb\rc\n\"",
            "+15550000002,\"a\nb\"",
            "",
        ];
        let made = upload(&app.client, &agent, &rows.join(end), &[]).await.expect(201);
        assert_eq!(made.data()["contacts"][0]["note"], "a\r\nb\rc", "{end:?}");
        assert_eq!(made.data()["contacts"][1]["note"], "a\nb", "{end:?}");
    }
}

/// An upload whose file is not finished, and its answer.
type Slow = (mpsc::Sender<Result<Bytes, std::io::Error>>, JoinHandle<Answer>);

/// Starts an upload that ends when its sender is dropped.
async fn slow_upload(app: &TestApp, agent: &str) -> Slow {
    let (sender, receiver) = mpsc::channel(1);
    let pieces = stream::unfold(receiver, |mut receiver| async {
        Some((receiver.recv().await?, receiver))
    });
    let part = Part::stream(reqwest::Body::wrap_stream(pieces)).file_name("slow.csv");
    let form = Form::new()
        .text("agentId", agent.to_owned())
        .text("name", "slow")
        .part("file", part);
    let answer = tokio::spawn(send(app.client.request("POST", CSV).multipart(form)));
    sender.send(Ok(Bytes::from("phone\n"))).await.unwrap();
    sender.send(Ok(Bytes::from("+15550000001\n"))).await.unwrap();
    (sender, answer)
}

/// Starts an upload that has to wait.
async fn waiting_upload(app: &TestApp, agent: &str) -> JoinHandle<Answer> {
    let (client, agent) = (app.client.clone(), agent.to_owned());
    let answer = tokio::spawn(async move { upload(&client, &agent, "phone\n+15550000001\n", &[]).await });
    tokio::time::sleep(Duration::from_millis(10)).await;
    answer
}

#[tokio::test(start_paused = true)]
async fn uploads_at_once_wait_in_a_bounded_queue() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(slow_upload(&app, &agent).await);
    }
    let mut waiting = Vec::new();
    for _ in 0..64 {
        waiting.push(waiting_upload(&app, &agent).await);
    }
    assert!(waiting.iter().all(|upload| !upload.is_finished()));
    // Paused time jumps to the end of the wait while everything waits for the database; a task that always runs stops it.
    tokio::spawn(async {
        loop {
            tokio::task::yield_now().await;
        }
    });
    let text = "phone\n+15550000001\n";
    let refused = upload(&app.client, &agent, text, &[]).await.expect(503);
    assert!(refused.headers.contains_key("retry-after"));
    // Another account has its own limit.
    upload(&app.stranger().await, &agent, text, &[]).await.expect(404);
    assert!(waiting.iter().all(|upload| !upload.is_finished()));
    for (sender, answer) in held {
        drop(sender);
        answer.await.unwrap().expect(201);
    }
    for upload in waiting {
        upload.await.unwrap().expect(201);
    }
}

#[tokio::test(start_paused = true)]
async fn a_column_chooses_the_language_of_each_call() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let presets = json!({ "conversationConfig": { "languagePresets": { "de": {} } } });
    app.client
        .patch(&format!("/public/v1/agents/{agent}"), presets)
        .await
        .expect(200);
    let text = "phone,override.language,language\n+15550000001,de,Klingon\n+15550000002,,\n";
    let made = upload(&app.client, &agent, text, &[]).await.expect(201);
    let saved = json!([
        { "phoneNumber": "+15550000001", "contactId": null, "override.language": "de", "language": "Klingon" },
        { "phoneNumber": "+15550000002", "contactId": null },
    ]);
    assert_eq!(made.data()["contacts"], saved);
    let text = "phone,override.language\n+15550000001,fr\n+15550000002,DE\n+15550000003,en\n";
    let refused = upload(&app.client, &agent, text, &[]).await.expect(400);
    let rows = refused.body["error"]["details"]["rows"].as_array().unwrap().clone();
    let found: Vec<_> = rows
        .iter()
        .map(|row| (&row["row"], &row["column"], &row["code"]))
        .collect();
    let column = json!("override.language");
    let code = json!("invalid_language");
    assert_eq!(found, [(&json!(1), &column, &code), (&json!(2), &column, &code)]);
    for header in ["override.voice", "Override.Language", "override."] {
        let text = format!("phone,{header}\n+15550000001,de\n");
        let refused = upload(&app.client, &agent, &text, &[]).await.expect(400);
        assert_eq!(refused.fields(), [("file", "not_allowed")], "{header}");
        let told = refused.text("/error/fields/0/message");
        assert!(told.contains(header) && told.contains("`override.language`"), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_contact_sent_as_json_chooses_its_language_too() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let contacts = |name: &str, value: &str| json!([{ "phoneNumber": "+15550000001" }, { "phoneNumber": "+15550000002", name: value }]);
    let body = |contacts| json!({ "name": "Spring", "agentId": agent, "contacts": contacts });
    for (name, value, code) in [
        ("override.language", "de", "invalid_value"),
        ("override.voice", "x", "not_allowed"),
    ] {
        let wrong = body(contacts(name, value));
        let answer = app.client.post("/public/v1/campaigns", wrong).await.expect(400);
        assert_eq!(answer.fields(), [(&*format!("contacts[1].{name}"), code)]);
    }
    let made = body(contacts("override.language", "en"));
    let made = app.client.post("/public/v1/campaigns", made).await.expect(201);
    assert_eq!(made.data()["contacts"][1]["override.language"], "en");
    let path = format!("/public/v1/campaigns/{}", made.text("/data/campaignId"));
    let wrong = json!({ "contacts": contacts("override.language", "de") });
    let answer = app.client.patch(&path, wrong).await.expect(400);
    assert_eq!(answer.fields(), [("contacts[1].override.language", "invalid_value")]);
}

#[tokio::test(start_paused = true)]
async fn columns_and_fields_override_what_the_agent_allows_and_other_rows_are_reported() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let text = "phone,override.greetingMessage,override.maxDurationSeconds\n+15550000001,Hey!,60\n+15550000002,,0\n";
    let refused = upload(&app.client, &agent, text, &[]).await.expect(400);
    let rows = refused.body["error"]["details"]["rows"].as_array().unwrap().clone();
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row["row"].as_u64().unwrap(), row["column"].as_str().unwrap()))
        .collect();
    let (greeting, duration) = ("override.greetingMessage", "override.maxDurationSeconds");
    assert_eq!(found, [(1, greeting), (1, duration), (2, duration), (2, duration)]);
    assert!(rows.iter().all(|row| row["code"] == "invalid_override"), "{rows:?}");
    let told = rows[0]["message"].as_str().unwrap();
    assert!(told.contains("`platformSettings.overrides.greetingMessage`"), "{told}");
    let contacts = json!([{ "phoneNumber": "+15550000001", "override.greetingMessage": 5, "override.llm": "x" }]);
    let body = json!({ "name": "Spring", "agentId": agent, "contacts": contacts });
    let answer = app.client.post("/public/v1/campaigns", body.clone()).await.expect(400);
    let field = |name: &str| format!("contacts[0].override.{name}");
    let fields = [field("greetingMessage"), field("greetingMessage"), field("llm")];
    let codes = ["wrong_type", "not_allowed", "not_allowed"];
    assert_eq!(
        answer.fields(),
        fields.iter().map(String::as_str).zip(codes).collect::<Vec<_>>()
    );

    let allowed = json!({ "greetingMessage": true, "maxDurationSeconds": true });
    let path = format!("/public/v1/agents/{agent}");
    let allowed = json!({ "platformSettings": { "overrides": allowed } });
    app.client.patch(&path, allowed).await.expect(200);
    let text = text.replace(",0\n", ",\n");
    let made = upload(&app.client, &agent, &text, &[]).await.expect(201);
    let contacts = &made.data()["contacts"];
    assert_eq!(
        (&contacts[0][greeting], &contacts[0][duration]),
        (&json!("Hey!"), &json!("60"))
    );
    assert_eq!(contacts[1].get(greeting), None);
    let odd = json!({ "platformSettings": { "overrides": { "voice": true } } });
    let answer = app.client.patch(&path, odd).await.expect(400);
    assert_eq!(answer.fields(), [("platformSettings.overrides.voice", "unknown_field")]);
}
