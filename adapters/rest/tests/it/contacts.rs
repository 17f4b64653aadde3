//! Tests of saved contacts.

use serde_json::{Map, Value, json};

use support::app::TestApp;

const CONTACTS: &str = "/public/v1/contacts";

#[tokio::test(start_paused = true)]
async fn a_contact_is_kept_normalised_with_its_extra_fields() {
    let app = TestApp::start().await;
    let body = json!({
        "phoneNumber": "00 1 (555) 123-4567", "name": " Ada ", "email": "ada@example.com",
        "city": "Bonn", "orders": [1, 2],
    });
    let made = app.client.post(CONTACTS, body).await.expect(201);
    let id = made.text("/data/contactId");
    assert_eq!(
        *made.data(),
        json!({
            "contactId": id, "phoneNumber": "+15551234567", "name": "Ada", "email": "ada@example.com",
            "city": "Bonn", "orders": [1, 2], "metadata": made.data()["metadata"],
        })
    );
    assert_eq!(
        made.text("/data/metadata/createdAt").len(),
        "2026-01-01T00:00:00.000000Z".len()
    );
    let path = format!("{CONTACTS}/{id}");
    assert_eq!(app.client.get(&path).await.expect(200).data(), made.data());
    let again = app
        .client
        .post(CONTACTS, json!({ "phoneNumber": "+15551234567" }))
        .await;
    assert_eq!((again.status, again.code()), (409, "contact_exists"));
    let gone = app.client.delete(&path).await.expect(200);
    assert_eq!(*gone.data(), json!({ "contactId": id, "deleted": true }));
    app.client.delete(&path).await.expect(404);
    let minimal = app
        .client
        .post(CONTACTS, json!({ "phoneNumber": "+15551234567" }))
        .await
        .expect(201);
    assert_eq!(minimal.data().as_object().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn every_problem_of_a_contact_is_listed() {
    let app = TestApp::start().await;
    let long = "x".repeat(4_097);
    let fields: Map<String, Value> = (0..101).map(|n| (format!("f{n}"), json!(n))).collect();
    let many = json!({ "phoneNumber": "+15551234567" })
        .as_object()
        .unwrap()
        .clone()
        .into_iter()
        .chain(fields)
        .collect();
    let sound = "+15551234567";
    for (body, expected) in [
        (json!({}), vec![("phoneNumber", "required")]),
        (json!({ "phoneNumber": null }), vec![("phoneNumber", "required")]),
        (
            json!({ "phoneNumber": 15551234567_i64 }),
            vec![("phoneNumber", "wrong_type")],
        ),
        (
            json!({ "phoneNumber": "123", "email": "x", "name": 4, "contactId": "x", "metadata": {} }),
            vec![
                ("email", "invalid_email"),
                ("name", "wrong_type"),
                ("phoneNumber", "invalid_phone"),
                ("contactId", "not_allowed"),
                ("metadata", "not_allowed"),
            ],
        ),
        (
            json!({ "phoneNumber": "+1555123456#" }),
            vec![("phoneNumber", "invalid_phone")],
        ),
        (
            json!({ "phoneNumber": sound, "email": "a@b" }),
            vec![("email", "invalid_email")],
        ),
        (
            json!({ "phoneNumber": sound, "name": "x".repeat(201) }),
            vec![("name", "too_long")],
        ),
        (
            json!({ "phoneNumber": sound, "note": long }),
            vec![("note", "too_long")],
        ),
        (Value::Object(many), vec![("f100", "too_many")]),
    ] {
        let answer = app.client.post(CONTACTS, body).await.expect(400);
        assert_eq!(answer.fields(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_strangers_contact_is_a_404_and_numbers_are_unique_per_account() {
    let app = TestApp::start().await;
    let stranger = app.stranger().await;
    let body = json!({ "phoneNumber": "+15551234567" });
    let id = app
        .client
        .post(CONTACTS, body.clone())
        .await
        .expect(201)
        .text("/data/contactId");
    stranger.post(CONTACTS, body).await.expect(201);
    for path in [format!("{CONTACTS}/{id}"), format!("{CONTACTS}/not-an-id")] {
        stranger.get(&path).await.expect(404);
        stranger.delete(&path).await.expect(404);
    }
    app.client.get(&format!("{CONTACTS}/{id}")).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_no_field_can_have_is_refused_even_to_remove_it() {
    let app = TestApp::start().await;
    let made = app
        .client
        .post(CONTACTS, json!({ "phoneNumber": "+15550000001" }))
        .await;
    let path = format!("{CONTACTS}/{}", made.expect(201).text("/data/contactId"));
    let long = "x".repeat(201);
    for (name, shown) in [("", ""), (" ", " "), ("contactId", "contactId"), (&*long, &long[..200])] {
        let answer = app.client.patch(&path, json!({ name: null })).await.expect(400);
        assert_eq!(answer.fields(), [(shown, "not_allowed")]);
    }
    app.client.patch(&path, json!({ "city": null })).await.expect(200);
}
