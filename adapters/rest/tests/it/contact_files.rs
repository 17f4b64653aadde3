//! Files of contacts as programs and people write them, uploaded at the public endpoints. `tests/files/expected.json` holds
//! what is read of each, or why it is refused.

use std::{fs, path::PathBuf};

use reqwest::multipart::{Form, Part};
use serde_json::{Map, Value, json};

use support::{
    app::TestApp,
    client::{Answer, send},
};

const UPLOAD: &str = "/public/v1/campaigns/csv";
const CHECK: &str = "/public/v1/campaigns/csv/check";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/files")
}

/// A file, its expectation, and the endpoint.
struct Case<'a> {
    app: &'a TestApp,
    agent: &'a str,
    bytes: Vec<u8>,
    expected: &'a Value,
    /// Contacts that are read.
    contacts: Vec<Value>,
}

impl Case<'_> {
    async fn send(&self, path: &str, more: &[(&'static str, &str)]) -> Answer {
        let file = Part::bytes(self.bytes.clone()).file_name("contacts.csv");
        let mut form = Form::new().part("file", file).text("agentId", self.agent.to_owned());
        for (name, value) in self.expected["form"].as_object().into_iter().flatten() {
            form = form.text(name.clone(), value.as_str().unwrap().to_owned());
        }
        for (name, value) in more {
            form = form.text(*name, (*value).to_owned());
        }
        send(self.app.client.request("POST", path).multipart(form)).await
    }

    /// Returns what differs from the expectation.
    async fn differences(&self) -> Vec<String> {
        let checked = self.send(CHECK, &[]).await;
        let uploaded = self.send(UPLOAD, &[("name", "Spring")]).await;
        match self.expected["refused"].as_str() {
            Some(code) => [("check", checked), ("upload", uploaded)]
                .into_iter()
                .flat_map(|(endpoint, answer)| self.not_refused(endpoint, &answer, code))
                .collect(),
            None => {
                let mut found = self.not_read(&checked);
                found.extend(self.not_saved(&uploaded).await);
                found
            }
        }
    }

    fn not_refused(&self, endpoint: &str, answer: &Answer, code: &str) -> Vec<String> {
        if answer.status != 400 || answer.fields() != [("file", code)] {
            return vec![format!("{endpoint}: not refused as {code}: {}", answer.body)];
        }
        let message = answer.text("/error/fields/0/message");
        let words = self.expected["says"].as_array().unwrap().iter();
        let missing = words.filter(|word| !message.contains(word.as_str().unwrap()));
        missing
            .map(|word| format!("{endpoint}: does not say {word}: {message}"))
            .collect()
    }

    fn not_read(&self, answer: &Answer) -> Vec<String> {
        if answer.status != 200 {
            return vec![format!("check: {}", answer.body)];
        }
        let data = answer.data();
        let mut found = compare(
            "check: bad rows",
            &self.bad_rows(&data["report"]),
            &self.expected_rows(),
        );
        let valid = self.contacts.len();
        found.extend(compare("check: validRows", &data["report"]["validRows"], &json!(valid)));
        let first = &self.contacts[..valid.min(5)];
        found.extend(compare("check: firstContacts", &data["firstContacts"], &json!(first)));
        for name in ["skippedRows", "skippedColumns"] {
            let expected = self.expected[name].as_u64().unwrap_or(0);
            found.extend(compare(name, &data["report"][name], &json!(expected)));
        }
        found.extend(self.unwarned("check", answer));
        found
    }

    /// Uploads the file; bad rows refuse it, and are left out if that is asked for.
    async fn not_saved(&self, answer: &Answer) -> Vec<String> {
        if self.expected["badRows"].is_null() {
            return self.not_created(answer);
        }
        if answer.status != 400 {
            return vec![format!("upload: accepted with bad rows: {}", answer.body)];
        }
        let report = self.bad_rows(&answer.body["error"]["details"]);
        let mut found = compare("upload: bad rows", &report, &self.expected_rows());
        let more = [("name", "Spring"), ("skipInvalidRows", "true")];
        found.extend(self.not_created(&self.send(UPLOAD, &more).await));
        found
    }

    fn not_created(&self, answer: &Answer) -> Vec<String> {
        if answer.status != 201 {
            return vec![format!("upload: {}", answer.body)];
        }
        let mut contacts = answer.data()["contacts"].clone();
        for contact in contacts.as_array_mut().unwrap() {
            contact.as_object_mut().unwrap().remove("contactId");
        }
        let mut found = compare("upload: contacts", &contacts, &json!(self.contacts));
        found.extend(self.unwarned("upload", answer));
        found
    }

    fn unwarned(&self, endpoint: &str, answer: &Answer) -> Vec<String> {
        let warning = answer.body["warning"].as_str().unwrap_or_default();
        let words = self.expected["warns"].as_array().into_iter().flatten();
        let missing = words.filter(|word| !warning.contains(word.as_str().unwrap()));
        missing
            .map(|word| format!("{endpoint}: does not warn of {word}: {warning}"))
            .collect()
    }

    fn bad_rows(&self, report: &Value) -> Value {
        let rows = report["rows"].as_array().cloned().unwrap_or_default();
        let expected = self.expected["badRows"].as_array().cloned().unwrap_or_default();
        rows.iter()
            .enumerate()
            .map(|(nth, row)| {
                let mut short = vec![&row["line"], &row["column"], &row["value"], &row["code"]];
                let words = expected.get(nth).and_then(|row| row.get(4));
                short.extend(words.filter(|words| row["message"].as_str().unwrap().contains(words.as_str().unwrap())));
                json!(short)
            })
            .collect()
    }

    fn expected_rows(&self) -> Value {
        match &self.expected["badRows"] {
            Value::Null => json!([]),
            rows => rows.clone(),
        }
    }
}

fn compare(what: &str, found: &Value, expected: &Value) -> Vec<String> {
    match found == expected {
        true => Vec::new(),
        false => vec![format!("{what}: {found} instead of {expected}")],
    }
}

#[tokio::test(start_paused = true)]
async fn files_as_programs_and_people_write_them_are_read_or_refused_as_expected() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let expected = fs::read(folder().join("expected.json")).unwrap();
    let expected: Map<String, Value> = serde_json::from_slice(&expected).unwrap();
    let cases = expected["files"].as_array().unwrap();
    let mut wrong = Vec::new();
    for case in cases {
        let name = case["file"].as_str().unwrap();
        let contacts = match &case["contacts"] {
            Value::String(set) => expected["contacts"][set].clone(),
            contacts => contacts.clone(),
        };
        let case = Case {
            app: &app,
            agent: &agent,
            bytes: fs::read(folder().join(name)).unwrap(),
            expected: case,
            contacts: contacts.as_array().cloned().unwrap_or_default(),
        };
        let differences = case.differences().await;
        if !differences.is_empty() {
            let form = &case.expected["form"];
            wrong.push(format!("{name} {form}\n    {}", differences.join("\n    ")));
        }
    }
    let number = wrong.len();
    assert!(
        wrong.is_empty(),
        "{number} of {} are wrong:\n{}",
        cases.len(),
        wrong.join("\n")
    );
}
