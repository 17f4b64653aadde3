//! Settings of an account, and the numbers that its default country lets people write.

use domain::{
    phone_number::PhoneNumber,
    ports::store::{DirectoryStore, NewContact},
};
use reqwest::multipart::{Form, Part};
use serde_json::json;

use support::{
    app::TestApp,
    client::{Answer, send},
};

const SETTINGS: &str = "/public/v1/me/settings";

#[tokio::test(start_paused = true)]
async fn settings_are_changed_one_at_a_time_and_checked() {
    let app = TestApp::start().await;
    let client = &app.client;
    let defaults = json!({ "defaultCountry": null, "timezone": "UTC" });
    assert_eq!(*client.get(SETTINGS).await.expect(200).data(), defaults);
    client
        .patch(SETTINGS, json!({ "defaultCountry": "de" }))
        .await
        .expect(200);
    let changed = client
        .patch(SETTINGS, json!({ "timezone": "Europe/Berlin" }))
        .await
        .expect(200);
    let both = json!({ "defaultCountry": "DE", "timezone": "Europe/Berlin" });
    assert_eq!(*changed.data(), both);
    for (body, field, why) in [
        (
            json!({ "defaultCountry": "Germany" }),
            "defaultCountry",
            "`Germany` is not a country; write the two letters",
        ),
        (
            json!({ "defaultCountry": "XX" }),
            "defaultCountry",
            "`XX` is not a country",
        ),
        (json!({ "defaultCountry": 49 }), "defaultCountry", "must be a string"),
        (
            json!({ "timezone": "Berlin" }),
            "timezone",
            "`Berlin` is not an IANA time zone",
        ),
        (json!({ "timeZone": "UTC" }), "timeZone", "did you mean `timezone`?"),
    ] {
        let refused = client.patch(SETTINGS, body).await.expect(400);
        assert_eq!(refused.text("/error/fields/0/path"), field);
        let message = refused.text("/error/fields/0/message");
        assert!(message.contains(why), "{message}");
    }
    assert_eq!(*client.get(SETTINGS).await.expect(200).data(), both);
    let stranger = app.stranger().await;
    assert_eq!(*stranger.get(SETTINGS).await.expect(200).data(), defaults);
    let reset = client
        .patch(SETTINGS, json!({ "defaultCountry": null, "timezone": null }))
        .await;
    assert_eq!(*reset.expect(200).data(), defaults);
}

#[tokio::test(start_paused = true)]
async fn with_a_default_country_its_own_notation_is_read_wherever_a_number_comes_in() {
    let app = TestApp::start().await;
    let client = &app.client;
    let agent = app.agent().await;
    let campaign = |number: &str| {
        json!({
            "name": "Spring", "agentId": agent, "contacts": [{ "phoneNumber": number }],
        })
    };
    let written = "030 1234567";
    for (path, body) in [
        ("/public/v1/contacts", json!({ "phoneNumber": written })),
        ("/public/v1/do-not-call", json!({ "phoneNumber": written })),
        ("/public/v1/calls", json!({ "agentId": agent, "phoneNumber": written })),
        ("/public/v1/campaigns", campaign(written)),
    ] {
        let refused = client.post(path, body.clone()).await.expect(400);
        assert!(refused.body.to_string().contains("write +"), "{path}: {}", refused.body);
    }
    client
        .patch(SETTINGS, json!({ "defaultCountry": "DE" }))
        .await
        .expect(200);
    let call = client
        .post("/public/v1/calls", json!({ "agentId": agent, "phoneNumber": written }))
        .await;
    assert_eq!(call.expect(201).text("/data/contactNumber"), "+49301234567");
    let contact = client
        .post("/public/v1/contacts", json!({ "phoneNumber": written }))
        .await
        .expect(201);
    assert_eq!(contact.text("/data/phoneNumber"), "+49301234567");
    let contact = format!("/public/v1/contacts/{}", contact.text("/data/contactId"));
    let moved = client
        .patch(&contact, json!({ "phoneNumber": "(040) 76 54 321" }))
        .await;
    assert_eq!(moved.expect(200).text("/data/phoneNumber"), "+49407654321");
    let made = client
        .post("/public/v1/campaigns", campaign("0151 23456789"))
        .await
        .expect(201);
    let contacts = format!("/public/v1/campaigns/{}/contacts", made.text("/data/campaignId"));
    let listed = client.get(&contacts).await.expect(200);
    assert!(listed.body.to_string().contains("+4915123456789"), "{}", listed.body);
    client
        .post("/public/v1/do-not-call", json!({ "phoneNumber": written }))
        .await
        .expect(201);
    client.delete("/public/v1/do-not-call/030%201234567").await.expect(200);
    assert_eq!(
        *client.get("/public/v1/do-not-call").await.expect(200).data(),
        json!([])
    );
}

#[tokio::test(start_paused = true)]
async fn a_file_is_read_by_its_own_country_or_the_accounts() {
    let app = TestApp::start().await;
    let check = async |country: Option<&str>| {
        let file = Part::text("phone\n030 1234567\n+1 555 010 0010\n").file_name("a.csv");
        let form = Form::new().part("file", file);
        let form = match country {
            Some(country) => form.text("defaultCountry", country.to_owned()),
            None => form,
        };
        send(
            app.client
                .request("POST", "/public/v1/campaigns/csv/check")
                .multipart(form),
        )
        .await
    };
    let numbers = |answer: &Answer| -> Vec<String> {
        let contacts = answer.data()["firstContacts"].as_array().unwrap();
        contacts
            .iter()
            .map(|contact| contact["phoneNumber"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(numbers(&check(None).await.expect(200)), ["+15550100010"]);
    let german = ["+49301234567", "+15550100010"];
    assert_eq!(numbers(&check(Some("DE")).await.expect(200)), german);
    assert_eq!(
        check(Some("D")).await.expect(400).fields(),
        [("defaultCountry", "not_allowed")]
    );
    app.client
        .patch(SETTINGS, json!({ "defaultCountry": "DE" }))
        .await
        .expect(200);
    assert_eq!(numbers(&check(None).await.expect(200)), german);
    let british = check(Some("GB")).await.expect(200);
    assert!(!numbers(&british).contains(&german[0].to_owned()), "{}", british.body);

    let agent = app.agent().await;
    let file = Part::text("phone\n030 1234567\n").file_name("a.csv");
    let form = Form::new()
        .text("name", "Spring")
        .text("agentId", agent)
        .part("file", file);
    let made = send(app.client.request("POST", "/public/v1/campaigns/csv").multipart(form))
        .await
        .expect(201);
    assert_eq!(made.text("/data/contacts/0/phoneNumber"), "+49301234567");
    let file = Part::text("phone\n040 7654321\n").file_name("b.csv");
    let path = format!("/public/v1/campaigns/{}/contacts/csv", made.text("/data/campaignId"));
    send(
        app.client
            .request("POST", &path)
            .multipart(Form::new().part("file", file)),
    )
    .await
    .expect(200);
}

#[tokio::test(start_paused = true)]
async fn a_contacts_number_of_an_earlier_rule_stays_until_it_is_changed() {
    let app = TestApp::start().await;
    for (old, new) in [("+490301234567", "+49307654321"), ("+99912345678", "+49307654322")] {
        let contact = NewContact {
            phone_number: PhoneNumber::stored(old).unwrap(),
            name: None,
            email: None,
            extra: serde_json::Map::new(),
        };
        let row = app.store.create_contact(app.account.id, contact, None).await.unwrap();
        let path = format!("/public/v1/contacts/{}", row.id);
        for patch in [json!({ "name": "Ada" }), json!({ "phoneNumber": old, "city": "Ulm" })] {
            let changed = app.client.patch(&path, patch).await.expect(200);
            assert_eq!(changed.text("/data/phoneNumber"), old);
        }
        let changed = app.client.patch(&path, json!({ "phoneNumber": new })).await;
        assert_eq!(changed.expect(200).text("/data/phoneNumber"), new);
        let refused = app.client.patch(&path, json!({ "phoneNumber": "+99912345678" })).await;
        assert_eq!(refused.expect(400).fields(), [("phoneNumber", "invalid_phone")]);
    }
    let listed = app.client.get("/public/v1/contacts").await.expect(200);
    assert_eq!(listed.data().as_array().map(Vec::len), Some(2));
}
