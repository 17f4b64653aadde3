//! Evidence for collected values, from the call to what a client reads.

use super::*;

#[tokio::test(start_paused = true)]
async fn values_without_evidence_are_marked_and_reach_no_contact() {
    let mut lies = found();
    lies["data"] = json!([
        { "entity": "people", "value": 5, "quote": "hello" },
        { "entity": "budget", "value": 4, "quote": "we are four people" },
        { "entity": "name", "value": "Ida", "quote": "My name is Ada" },
        { "entity": "firstVisit", "value": true, "quote": "Tuesday suits us" },
    ]);
    let world = world(&Scripted::of([Ok(lies)])).await;
    let saved = json!({ "phoneNumber": NUMBER, "name": "Maria" });
    let made = world.client.post("/public/v1/contacts", saved).await;
    let id = made.expect(201).text("/data/contactId");
    let campaign = launch(&world, agent(), NUMBER).await;
    let conversation = analysed(&world, &campaign, 10).await;
    for (entity, confirmed) in [
        ("people", false),
        ("budget", true),
        ("name", false),
        ("firstVisit", false),
        ("preferredDay", true),
    ] {
        assert_eq!(
            shown_item(&conversation, entity)["confirmed"],
            confirmed,
            "{entity}: {conversation:#}"
        );
    }
    let contact = world
        .client
        .get(&format!("/public/v1/contacts/{id}"))
        .await
        .expect(200)
        .data()
        .clone();
    assert_eq!((&contact["name"], &contact["budget"]), (&json!("Maria"), &json!(4)));
    assert_eq!((contact.get("people"), contact.get("firstVisit")), (None, None));
    let results = world
        .client
        .get(&format!("/public/v1/campaigns/{campaign}/contacts"))
        .await
        .expect(200);
    assert_eq!(results.data()[0]["dataCollected"], conversation["dataCollected"]);
}

#[tokio::test(start_paused = true)]
async fn values_are_compared_as_they_are_spoken_in_the_agents_language() {
    for (language, told, people, name, size) in [
        (
            "en",
            "There will be a dozen of us, M as in Mike, A, R, I, A.",
            12,
            "Maria",
            "large",
        ),
        (
            "de",
            "Wir sind einundzwanzig Personen, mein Name ist Jürgen.",
            21,
            "Jürgen",
            "small",
        ),
        (
            "fr",
            "Nous serons quatre-vingt-douze, je m'appelle Zoé.",
            92,
            "Zoe",
            "small",
        ),
        ("es", "Somos treinta y cinco, me llamo Íñigo.", 35, "Iñigo", "small"),
    ] {
        let mut answer = found();
        answer["data"] = json!([
            { "entity": "people", "value": people, "quote": told },
            { "entity": "budget", "value": people + 1, "quote": told },
            { "entity": "name", "value": name, "quote": told },
            { "entity": "size", "value": size, "quote": told },
        ]);
        let world = world_told(&Scripted::of([Ok(answer)]), told).await;
        let mut agent = agent();
        agent["conversationConfig"]["agent"]["primaryLanguage"] = json!(language);
        let campaign = launch(&world, agent, NUMBER).await;
        let conversation = analysed(&world, &campaign, 10).await;
        let confirmed =
            ["people", "budget", "name", "size"].map(|entity| shown_item(&conversation, entity)["confirmed"] == true);
        assert_eq!(confirmed, [true, false, true, false], "{conversation:#}");
    }
}
