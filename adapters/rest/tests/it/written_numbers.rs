//! Phone numbers as people of many countries write them, through every place of the API that takes one.

use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use support::{
    app::TestApp,
    client::{Answer, send},
};

/// Numbers whose values were found in public numbering plans, and numbers as the library `phonenumbers` reads them
/// (`tests/numbers/make.py`). A text without a number is refused.
const LISTS: [&str; 2] = [
    include_str!("../../../../tests/numbers/by_hand.csv"),
    include_str!("../../../../tests/numbers/by_library.csv"),
];

struct Written {
    text: &'static str,
    number: Option<&'static str>,
}

fn written() -> Vec<Written> {
    let lines = LISTS.into_iter().flat_map(|list| list.lines().skip(1));
    let numbers = lines.map(|line| {
        let (text, number) = line.rsplit_once(',').unwrap();
        Written {
            text,
            number: Some(number).filter(|number| !number.is_empty()),
        }
    });
    numbers.collect()
}

/// Compares what a place of the API made of a text.
fn assert_read(place: &str, written: &Written, answer: &Answer, pointer: &str) {
    let Written { text, number } = written;
    match number {
        Some(number) => {
            assert!(answer.status < 300, "{place}, {text}: {}", answer.body);
            let read = answer.body.pointer(pointer).and_then(Value::as_str);
            assert_eq!(read, Some(*number), "{place}, {text}");
        }
        None => assert_eq!(answer.status, 400, "{place}, {text}: {}", answer.body),
    }
}

#[tokio::test(start_paused = true)]
async fn a_contact_a_listed_number_and_a_call_have_the_number_that_was_written() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    for written in written() {
        let text = written.text;
        let path = "/public/v1/contacts";
        let contact = app.client.post(path, json!({ "phoneNumber": text })).await;
        assert_read("contact", &written, &contact, "/data/phoneNumber");
        if written.number.is_some() {
            let id = contact.text("/data/contactId");
            app.client.delete(&format!("{path}/{id}")).await.expect(200);
        }
        let call = json!({ "agentId": agent, "phoneNumber": text });
        let call = app.client.post("/public/v1/calls", call).await;
        assert_read("call", &written, &call, "/data/contactNumber");
        let listed = app
            .client
            .post("/public/v1/do-not-call", json!({ "phoneNumber": text }))
            .await;
        assert_read("do-not-call", &written, &listed, "/data/phoneNumber");
        if let Some(number) = written.number {
            let path = format!("/public/v1/do-not-call/{}", number.replace('+', "%2B"));
            app.client.delete(&path).await.expect(200);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_campaign_of_a_file_or_of_json_has_the_numbers_that_were_written() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    for written in written() {
        let body = json!({ "name": "A", "agentId": agent, "contacts": [{ "phoneNumber": written.text }] });
        let made = app.client.post("/public/v1/campaigns", body).await;
        assert_read("campaign", &written, &made, "/data/contacts/0/phoneNumber");
        let file = Part::text(format!("phone,name\n\"{}\",Ann\n", written.text)).file_name("a.csv");
        let form = Form::new()
            .text("name", "A")
            .text("agentId", agent.clone())
            .part("file", file);
        let made = send(app.client.request("POST", "/public/v1/campaigns/csv").multipart(form)).await;
        assert_read("file", &written, &made, "/data/contacts/0/phoneNumber");
    }
}

#[tokio::test(start_paused = true)]
async fn a_listed_number_is_found_in_its_spelling_of_before() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let listed = json!({ "phoneNumber": "+49 30 1234567" });
    app.client.post("/public/v1/do-not-call", listed).await.expect(201);
    let call = json!({ "agentId": agent, "phoneNumber": "+49 (0) 30 1234567" });
    let refused = app.client.post("/public/v1/calls", call).await;
    assert_eq!((refused.status, refused.code()), (409, "do_not_call"));
}
