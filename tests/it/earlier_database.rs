//! Databases of the version that took any digits for a phone number, with a campaign in the middle (`tests/earlier`).

use std::time::Duration;

use serde_json::{Value, json};

use support::{client::Client, dump, postgres::database, program::Program};

const MADE: &str = include_str!("../earlier/made.json");

/// Reads, lists, exports and finishes what the database holds.
async fn is_taken_on(program: &Program, kind: &str, url: &str) {
    let made: Value = serde_json::from_str(MADE).unwrap();
    let text = |name: &str| made[kind][name].as_str().unwrap();
    let (_service, address) = program.serve_with(&[("DATABASE_URL", url)]);
    let client = Client::new(&address, text("key"));

    let contacts = client.get("/public/v1/contacts").await.expect(200);
    let numbers: Vec<&Value> = contacts
        .data()
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["phoneNumber"])
        .collect();
    assert_eq!(numbers, ["+99912345678", "+490301234567"]);
    for search in ["0301234567", "Old Ada"] {
        let found = client
            .get(&format!("/public/v1/contacts?search={search}"))
            .await
            .expect(200);
        assert_eq!(found.text("/data/0/phoneNumber"), "+490301234567");
    }
    let listed = client.get("/public/v1/do-not-call").await.expect(200);
    assert_eq!(listed.text("/data/0/phoneNumber"), "+490301111111");
    let refused = json!({ "agentId": text("agent"), "phoneNumber": "+49 30 1111111" });
    assert_eq!(
        client.post("/public/v1/calls", refused).await.expect(409).code(),
        "do_not_call"
    );

    let call = client
        .get(&format!("/public/v1/conversations/{}", text("conversation")))
        .await
        .expect(200);
    assert_eq!(call.text("/data/contactNumber"), "+490305555555");
    for number in ["%2B490305555555", "%2B49305555555"] {
        let found = client
            .get(&format!("/public/v1/conversations?phoneNumber={number}"))
            .await;
        assert_eq!(found.expect(200).data().as_array().map(Vec::len), Some(1), "{number}");
    }

    let campaign = format!("/public/v1/campaigns/{}", text("campaign"));
    let completed = async {
        while client.get(&campaign).await.expect(200).text("/data/status") != "completed" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), completed).await.unwrap();
    let results = client.get(&format!("{campaign}/contacts")).await.expect(200);
    let rows = results.data().as_array().unwrap();
    let ends: Vec<_> = rows
        .iter()
        .map(|row| (&row["phoneNumber"], &row["status"], &row["errorMessage"]))
        .collect();
    let ends = json!(ends);
    assert_eq!(
        (&ends[1], &ends[2], &ends[3]),
        (
            &json!(["+49301111111", "cancelled", "do-not-call"]),
            &json!(["+99912345678", "failed", "invalid-number"]),
            // It is dialed as +49301234567, and the simulated callee with this number declines.
            &json!(["+490301234567", "failed", "rejected"]),
        ),
        "{ends}"
    );
    for path in [
        format!("{campaign}/results.csv"),
        "/public/v1/conversations/export?format=csv".to_owned(),
    ] {
        let file = client.request("GET", &path).send().await.unwrap();
        assert_eq!(file.status(), 200, "{path}");
        let file = file.text().await.unwrap();
        for number in ["+99912345678", "+490301234567"] {
            assert!(file.contains(number), "{path}: {file}");
        }
    }
    let contact = format!("/public/v1/contacts/{}", contacts.text("/data/1/contactId"));
    // A call that has just ended may still be written.
    let erased = async {
        while client.delete(&format!("{contact}?erase=true")).await.status == 409 {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), erased).await.unwrap();
    client.get(&contact).await.expect(404);
    let file = client
        .request("GET", "/public/v1/conversations/export?format=csv")
        .send()
        .await
        .unwrap();
    assert!(!file.text().await.unwrap().contains("+490301234567"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_earlier_sqlite_database_is_taken_on() {
    let program = Program::new();
    let url = format!("sqlite://{}?mode=rwc", program.path("earlier.db").display());
    dump::load(&url, include_str!("../earlier/sqlite.sql")).await;
    is_taken_on(&program, "sqlite", &url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_earlier_postgresql_database_is_taken_on() {
    let Some(database) = database().await else { return };
    dump::load(&database.url, include_str!("../earlier/postgresql.sql")).await;
    is_taken_on(&Program::new(), "postgresql", &database.url).await;
}
