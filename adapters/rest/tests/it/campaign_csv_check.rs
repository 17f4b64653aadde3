//! Tests of the check of a file of contacts, which saves nothing.

use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use support::{
    app::TestApp,
    client::{Answer, Client, send},
};

const CHECK: &str = "/public/v1/campaigns/csv/check";

async fn check(client: &Client, text: &str, fields: &[(&'static str, &str)]) -> Answer {
    let file = Part::bytes(text.as_bytes().to_vec()).file_name("contacts.csv");
    let form = Form::new().part("file", file);
    let form = fields
        .iter()
        .fold(form, |form, (name, value)| form.text(*name, (*value).to_owned()));
    send(client.request("POST", CHECK).multipart(form)).await
}

#[tokio::test(start_paused = true)]
async fn a_check_tells_columns_contacts_and_every_bad_row_and_saves_nothing() {
    let app = TestApp::start().await;
    for number in ["+15550000001", "+15550000003", "+15550000099"] {
        let listed = json!({ "phoneNumber": number });
        app.client.post("/public/v1/do-not-call", listed).await.expect(201);
    }
    let text = "Full Name,Phone,E-mail,City,override.greetingMessage\n\
        Ada,+1 555 000 0001,ada@example.com,Bonn,Hi!\n\
        ,abc,x,,\n\
        \n\
        Bo,+15550000002\n\
        Cy,0015550000001,,,\n\
        Di,+15550000003,,,\n\
        Ed,+15550000001,,,\n";
    let checked = check(&app.client, text, &[]).await.expect(200);
    let data = checked.data();
    let columns = ["phoneColumn", "nameColumn", "emailColumn", "overrides", "fields"];
    assert_eq!(
        json!(columns.map(|name| &data[name])),
        json!(["Phone", "Full Name", "E-mail", ["override.greetingMessage"], ["City"]])
    );
    assert_eq!(
        data["firstContacts"],
        json!([
            {
                "phoneNumber": "+15550000001", "name": "Ada", "email": "ada@example.com", "City": "Bonn",
                "override.greetingMessage": "Hi!",
            },
            { "phoneNumber": "+15550000003", "name": "Di" },
        ])
    );
    let report = &data["report"];
    assert_eq!(
        (&report["totalRows"], &report["validRows"], &report["invalidRows"]),
        (&json!(6), &json!(2), &json!(4))
    );
    let rows: Vec<Value> = report["rows"].as_array().unwrap().clone();
    let short: Vec<Value> = rows
        .iter()
        .map(|r| json!([r["line"], r["column"], r["code"]]))
        .collect();
    assert_eq!(
        short,
        [
            json!([3, "Phone", "invalid_phone"]),
            json!([3, "E-mail", "invalid_email"]),
            json!([5, null, "ragged_row"]),
            json!([6, "Phone", "duplicate_number"]),
            json!([8, "Phone", "duplicate_number"]),
        ]
    );
    assert_eq!((&data["duplicates"], &data["doNotCall"]), (&json!(2), &json!(2)));
    assert_eq!(data["problems"], json!([]));
    let campaigns = app.client.get("/public/v1/campaigns").await.expect(200);
    assert_eq!(*campaigns.data(), json!([]));
    // Another account has a list of its own.
    let stranger = app.stranger().await;
    let theirs = check(&stranger, text, &[]).await.expect(200);
    assert_eq!(theirs.data()["doNotCall"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_check_follows_named_columns_the_agent_and_the_limits_of_cells() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let text = "phone,Mobile,override.language\nnone,+15550000001,xx\nnone,+15550000002,\n";
    let named = [("phoneColumn", "Mobile"), ("agentId", agent.as_str())];
    let checked = check(&app.client, text, &named).await.expect(200);
    let data = checked.data();
    assert_eq!((&data["phoneColumn"], data.get("nameColumn")), (&json!("Mobile"), None));
    assert_eq!(
        (&data["overrides"], &data["fields"]),
        (&json!(["override.language"]), &json!(["phone"]))
    );
    assert_eq!(checked.data()["report"]["rows"][0]["code"], "invalid_language");
    let without = check(&app.client, text, &named[..1]).await.expect(200);
    assert_eq!(without.data()["report"]["invalidRows"], 0);

    let numbers: String = (1..9).map(|n| format!("+1555000000{n},x\n")).collect();
    let long = format!("phone,note\n{numbers}+15550000009,{}\n", "y".repeat(5_000));
    let checked = check(&app.client, &long, &[]).await.expect(200);
    let problems = &checked.data()["problems"];
    assert_eq!(
        (&problems[0]["path"], &problems[0]["code"]),
        (&json!("file"), &json!("too_long"))
    );
    assert!(
        problems[0]["message"]
            .as_str()
            .unwrap()
            .starts_with("line 10, column `note`")
    );
    assert_eq!(checked.data()["firstContacts"].as_array().unwrap().len(), 5);
    assert_eq!(checked.data()["report"]["rows"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_check_refuses_what_is_no_file_of_contacts() {
    let app = TestApp::start().await;
    for (text, fields, problem) in [
        ("name\nAda\n", &[][..], ("file", "missing_phone_column")),
        ("phone;name\n", &[], ("file", "wrong_separator")),
        ("phone\n", &[], ("file", "empty")),
        (
            "phone\n+15550000001\n",
            &[("nameColumn", "Who")],
            ("nameColumn", "not_found"),
        ),
        (
            "phone\n+15550000001\n",
            &[("agentId", "x")],
            ("agentId", "invalid_value"),
        ),
        (
            "phone\n+15550000001\n",
            &[("launch", "true")],
            ("launch", "unknown_field"),
        ),
    ] {
        let refused = check(&app.client, text, fields).await.expect(400);
        assert_eq!(refused.fields(), [problem], "{text}");
    }
    let nothing = send(
        app.client
            .request("POST", CHECK)
            .multipart(Form::new().text("phoneColumn", "phone")),
    )
    .await;
    assert_eq!(nothing.expect(400).fields(), [("file", "required")]);
    let nobodys = domain::id::AgentId::new().to_string();
    let sound = "phone\n+15550000001\n";
    check(&app.client, sound, &[("agentId", &nobodys)]).await.expect(404);
    // A key that may only read checks files too.
    let key = json!({ "name": "reader", "scopes": ["read"] });
    let key = app.client.post("/public/v1/me/api-keys", key).await.expect(201);
    let reader = Client::new(&app.client.base, &key.text("/data/apiKey"));
    check(&reader, sound, &[]).await.expect(200);
}
