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
    assert_eq!(
        data["doNotCallRows"],
        json!([{ "line": 2, "phoneNumber": "+15550000001" }, { "line": 7, "phoneNumber": "+15550000003" }])
    );
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

#[tokio::test(start_paused = true)]
async fn a_file_with_thousands_of_bad_rows_is_launched_with_its_good_ones() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let long = "x".repeat(5_000);
    let bad: String = (0..5_000).map(|n| format!("12,Bad {n},,\n   \n")).collect();
    let text = format!(
        "phone,name,email,note\n+14155550101,Ada,nope,\n{bad}+14155550101,Ada,ada@example.com,\n\
         +14155550102,Ben,,{long}\n+14155550103,Cy,,\n+14155550103,Cy again,,\n"
    );
    let refused = check(&app.client, &text, &[]).await.expect(200);
    assert_eq!(refused.data()["report"]["invalidRows"], 5_003);
    let skip = [("skipInvalidRows", "true")];
    let checked = check(&app.client, &text, &skip).await.expect(200);
    let report = &checked.data()["report"];
    let counts = ["totalRows", "validRows", "invalidRows", "skippedRows", "truncated"];
    assert_eq!(
        json!(counts.map(|name| &report[name])),
        json!([5_005, 2, 5_003, 5_000, true])
    );
    let told = "5003 of 5005 rows left out because they are invalid";
    assert!(checked.text("/warning").contains(told), "{}", checked.body);

    // A row whose number stands in a bad row only is kept.
    let contacts = json!([
        { "phoneNumber": "+14155550101", "name": "Ada", "email": "ada@example.com", "contactId": null },
        { "phoneNumber": "+14155550103", "name": "Cy", "contactId": null },
    ]);
    let form = |more: &[(&'static str, &str)]| {
        let file = Part::bytes(text.clone().into_bytes()).file_name("contacts.csv");
        let form = Form::new().part("file", file).text("skipInvalidRows", "true");
        more.iter()
            .fold(form, |form, (name, value)| form.text(*name, (*value).to_owned()))
    };
    let fields = [("name", "Spring"), ("agentId", agent.as_str()), ("launch", "true")];
    let upload = app.client.request("POST", "/public/v1/campaigns/csv");
    let made = send(upload.multipart(form(&fields))).await.expect(201);
    assert_eq!(made.data()["contacts"], contacts);
    assert!(made.text("/warning").contains(told), "{}", made.body);

    let others = json!({ "name": "More", "agentId": agent, "contacts": [{ "phoneNumber": "+14155550199" }] });
    let grown = app.client.post("/public/v1/campaigns", others).await.expect(201);
    let path = format!("/public/v1/campaigns/{}/contacts/csv", grown.text("/data/campaignId"));
    let added = send(app.client.request("POST", &path).multipart(form(&[])))
        .await
        .expect(200);
    assert_eq!(added.data()["added"], 2);

    let nothing = "phone\n12\n34\n";
    let nobody = check(&app.client, nothing, &skip).await.expect(200);
    assert_eq!(nobody.data()["report"]["validRows"], 0);
    let file = Part::bytes(nothing.as_bytes()).file_name("contacts.csv");
    let upload = app.client.request("POST", "/public/v1/campaigns/csv");
    let form = Form::new().part("file", file).text("skipInvalidRows", "true");
    let form = form.text("name", "Nobody").text("agentId", agent);
    let refused = send(upload.multipart(form)).await.expect(400);
    assert_eq!(refused.fields(), [("file", "invalid_rows")]);
}

#[tokio::test(start_paused = true)]
async fn a_check_shows_headers_and_first_rows_also_where_no_phone_column_is_found() {
    let app = TestApp::start().await;
    let text = "Wer;Telefon;;\r\nAda\u{202e};+4930123456;;\r\n;;;\r\n;12;;\r\n";
    let auto = ("separator", "auto");
    let refused = check(&app.client, text, &[auto]).await.expect(400);
    let shown = json!({ "headers": ["Wer", "Telefon"], "firstRows": [["AdaU+202E", "+4930123456"], ["", "12"]] });
    assert_eq!(refused.body["error"]["details"], shown);
    let named = [auto, ("phoneColumn", "Telefon")];
    let checked = check(&app.client, text, &named).await.expect(200);
    let data = checked.data();
    assert_eq!(
        json!({ "headers": data["headers"], "firstRows": data["firstRows"] }),
        shown
    );
    assert_eq!(data["timeZones"], json!([{ "zones": ["Europe/Berlin"], "numbers": 1 }]));
    let wrong = check(&app.client, text, &[("separator", "::")]).await.expect(400);
    assert_eq!(
        wrong.fields(),
        [("separator", "invalid_value"), ("file", "wrong_separator")]
    );
}
