//! Tests of webhook endpoints over REST: fields, secrets, limits, deliveries, and hostile values.

use domain::ports::store::{AccountEventStore, Delivery, DeliveryStore, Settled, Sought};
use serde_json::{Value, json};

use support::{app::TestApp, client::Client};

const PATH: &str = "/public/v1/webhooks";
const URL: &str = "https://example.com/events";

async fn made(client: &Client, body: Value) -> Value {
    client.post(PATH, body).await.expect(201).data().clone()
}

fn of(webhook: &Value) -> String {
    format!("{PATH}/{}", webhook["webhookId"].as_str().unwrap())
}

#[tokio::test]
async fn a_webhook_is_created_read_changed_and_deleted() {
    let app = TestApp::start().await;
    let client = &app.client;
    let created = client.post(PATH, json!({ "url": URL })).await.expect(201);
    assert_eq!(created.headers["etag"], "\"1\"");
    let webhook = created.data().clone();
    let secret = webhook["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_") && secret.len() > 40);
    let mut expected = webhook.clone();
    expected.as_object_mut().unwrap().remove("secret");
    assert_eq!(
        (&expected["types"], &expected["enabled"], &expected["description"]),
        (&json!(["*"]), &json!(true), &json!(""))
    );
    assert_eq!(expected["recent"], json!({ "succeeded": 0, "failed": 0, "pending": 0 }));
    let path = of(&webhook);
    assert_eq!(*client.get(&path).await.expect(200).data(), expected);
    assert_eq!(*client.get(PATH).await.expect(200).data(), json!([expected]));

    let patch = json!({ "types": ["call.ended", "campaign.*"], "description": " Board ", "enabled": false });
    let stale = client.request("PATCH", &path).header("if-match", "\"7\"").json(&patch);
    let stale = support::client::send(stale).await.expect(409);
    assert_eq!(
        (stale.code(), &stale.body["error"]["details"]["version"]),
        ("conflict", &json!(1))
    );
    let fresh = client.request("PATCH", &path).header("if-match", "\"1\"").json(&patch);
    let changed = support::client::send(fresh).await.expect(200);
    assert_eq!(changed.headers["etag"], "\"2\"");
    assert_eq!(
        (
            &changed.data()["types"],
            &changed.data()["description"],
            &changed.data()["enabled"]
        ),
        (&json!(["call.ended", "campaign.*"]), &json!("Board"), &json!(false))
    );
    let reset = json!({ "types": null, "enabled": null, "description": null });
    let reset = client.patch(&path, reset).await.expect(200);
    assert_eq!(
        (&reset.data()["types"], &reset.data()["enabled"]),
        (&json!(["*"]), &json!(true))
    );

    let rotated = client
        .post(&format!("{path}/rotate-secret"), json!({}))
        .await
        .expect(200);
    assert!(rotated.text("/data/secret") != secret && rotated.data().as_object().unwrap().len() == 1);
    let deleted = client.delete(&path).await.expect(200);
    assert_eq!(
        deleted.data(),
        &json!({ "webhookId": webhook["webhookId"], "deleted": true })
    );
    client.get(&path).await.expect(404);
}

#[tokio::test]
async fn only_the_answer_that_creates_it_has_the_secret() {
    let app = TestApp::start().await;
    let body = json!({ "url": URL });
    let create = || {
        app.client
            .request("POST", PATH)
            .header("idempotency-key", "k")
            .json(&body)
    };
    let first = support::client::send(create()).await.expect(201);
    let again = support::client::send(create()).await.expect(201);
    assert_eq!(first.data()["webhookId"], again.data()["webhookId"]);
    assert!(first.data()["secret"].is_string() && again.data().get("secret").is_none());
}

#[tokio::test]
async fn hostile_values_are_refused_with_their_field() {
    let app = TestApp::start().await;
    let webhook = made(&app.client, json!({ "url": URL })).await;
    let long = "x".repeat(501);
    for (body, field, code) in [
        (json!({ "url": null }), "url", "required"),
        (json!({ "url": 7 }), "url", "wrong_type"),
        (json!({ "url": "ftp://example.com" }), "url", "invalid_url"),
        (
            json!({ "url": "https://ada:secret@example.com/" }),
            "url",
            "invalid_url",
        ),
        (
            json!({ "url": "http://127.0.0.1:9200/x" }),
            "url",
            "address_not_allowed",
        ),
        (json!({ "url": "http://[::1]/" }), "url", "address_not_allowed"),
        (
            json!({ "url": "http://169.254.169.254/latest" }),
            "url",
            "address_not_allowed",
        ),
        (json!({ "url": "http://10.0.0.1/" }), "url", "address_not_allowed"),
        (json!({ "types": [] }), "types", "out_of_range"),
        (json!({ "types": vec!["*"; 31] }), "types", "out_of_range"),
        (json!({ "types": "*" }), "types", "wrong_type"),
        (
            json!({ "types": ["call.ended", "call.end"] }),
            "types[1]",
            "invalid_value",
        ),
        (json!({ "types": [{}] }), "types[0]", "invalid_value"),
        (json!({ "types": ["webhook.test"] }), "types[0]", "invalid_value"),
        (json!({ "enabled": "yes" }), "enabled", "wrong_type"),
        (json!({ "description": long }), "description", "not_allowed"),
        (json!({ "description": "a\0b" }), "description", "not_allowed"),
        (json!({ "secret": "whsec_mine" }), "secret", "unknown_field"),
    ] {
        let refused = app.client.patch(&of(&webhook), body.clone()).await.expect(400);
        assert_eq!(refused.fields(), [(field, code)], "{body}");
        let mut new = json!({ "url": URL });
        new.as_object_mut().unwrap().extend(body.as_object().cloned().unwrap());
        app.client.post(PATH, new).await.expect(400);
    }
    assert_eq!(
        app.client.get(PATH).await.expect(200).data().as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn an_account_has_a_bounded_number() {
    let app = TestApp::start().await;
    for _ in 0..20 {
        made(&app.client, json!({ "url": URL })).await;
    }
    let refused = app.client.post(PATH, json!({ "url": URL })).await.expect(409);
    assert_eq!(refused.code(), "conflict");
    let page = app.client.get(&format!("{PATH}?pageSize=15")).await.expect(200);
    let cursor = page.text("/pagination/nextCursor");
    let rest = app
        .client
        .get(&format!("{PATH}?pageSize=15&cursor={cursor}"))
        .await
        .expect(200);
    assert_eq!(rest.data().as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn deliveries_are_listed_and_sent_again() {
    let app = TestApp::start().await;
    let (client, store) = (&app.client, &app.store);
    let webhook = made(client, json!({ "url": URL, "types": ["contact.opted_out"] })).await;
    let path = of(&webhook);
    for n in 0..3 {
        let body = json!({ "phoneNumber": format!("+1555000000{n}") });
        client.post("/public/v1/do-not-call", body).await.expect(201);
    }
    store.publish_events(10).await.unwrap();
    let lanes = store.due_lanes(Sought::ALL, 10).await.unwrap();
    let wanted: Vec<_> = lanes.into_iter().map(|due| (due.lane, 10)).collect();
    let sent = store.lease_deliveries(Sought::ALL, &wanted).await.unwrap();
    let error = "the receiver answered 500".to_owned();
    store.settle_delivery(&sent[0], Settled::Delivered).await.unwrap();
    let failed = Delivery {
        reply: Some("the queue is full".to_owned()),
        ..sent[1].clone()
    };
    store
        .settle_delivery(&failed, Settled::GivenUp { error })
        .await
        .unwrap();

    let page = client.get(&format!("{path}/deliveries?pageSize=2")).await.expect(200);
    let cursor = page.text("/pagination/nextCursor");
    let last = client
        .get(&format!("{path}/deliveries?pageSize=2&cursor={cursor}"))
        .await
        .expect(200);
    let mut all = page.data().as_array().unwrap().clone();
    all.extend(last.data().as_array().unwrap().clone());
    let states: Vec<_> = all.iter().map(|one| (&one["state"], &one["attempts"])).collect();
    let (pending, given_up, done) = (json!("pending"), json!("given_up"), json!("done"));
    let (none, one) = (json!(0), json!(1));
    assert_eq!(states, [(&pending, &none), (&given_up, &one), (&done, &one)]);
    assert!(all[0]["nextTryAt"].is_string() && all[1].get("nextTryAt").is_none());
    assert_eq!(all[1]["lastError"], "the receiver answered 500");
    assert_eq!(
        (&all[1]["responseBody"], all[2].get("responseBody")),
        (&json!("the queue is full"), None)
    );
    assert_eq!(all[2]["type"], "contact.opted_out");
    assert_eq!(all[2]["body"]["type"], "contact.opted_out");
    let recent = client.get(&path).await.expect(200).data()["recent"].clone();
    assert_eq!(recent, json!({ "succeeded": 1, "failed": 1, "pending": 1 }));

    let again = format!("{path}/deliveries/{}/resend", sent[0].id);
    let resent = client.post(&again, json!({})).await.expect(200);
    assert_eq!(
        (
            &resent.data()["state"],
            &resent.data()["attempts"],
            &resent.data()["deliveryId"]
        ),
        (&pending, &none, &json!(sent[0].id))
    );
    let test = client.post(&format!("{path}/test"), json!({})).await.expect(200);
    assert_eq!(
        (&test.data()["type"], test.data().get("eventId")),
        (&json!("webhook.test"), None)
    );
    let other = made(client, json!({ "url": URL })).await;
    let not_its = format!("{}/deliveries/{}/resend", of(&other), sent[0].id);
    client.post(&not_its, json!({})).await.expect(404);
    client
        .post(&format!("{path}/deliveries/x/resend"), json!({}))
        .await
        .expect(404);

    client.patch(&path, json!({ "enabled": false })).await.expect(200);
    client.post(&again, json!({})).await.expect(409);
    client.post(&format!("{path}/test"), json!({})).await.expect(409);
    let refused = client
        .post(&format!("{path}/test"), json!({ "a": 1 }))
        .await
        .expect(400);
    assert_eq!(refused.fields(), [("a", "unknown_field")]);
    let eve = app.stranger().await;
    eve.get(&path).await.expect(404);
    eve.get(&format!("{path}/deliveries")).await.expect(404);
    eve.post(&again, json!({})).await.expect(404);
    eve.post(&format!("{path}/rotate-secret"), json!({})).await.expect(404);
    assert_eq!(*eve.get(PATH).await.expect(200).data(), json!([]));
}
