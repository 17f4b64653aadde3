//! The search of agents by name.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Fixture;
use domain::ports::store::AgentFilter;

fn tagged(name: &str, tags: &[&str]) -> Map<String, Value> {
    json!({ "name": name, "tags": tags }).as_object().cloned().unwrap()
}

pub async fn agents_are_found_by_a_part_of_their_name_in_any_case(fixture: Fixture) {
    let scene = fixture.scene().await;
    let mut ids = Vec::new();
    for name in ["Ava MÜLLER", "ava muller", "İlk 50%_!", "\u{212a}iosk", "Böb"] {
        scene.clock.advance(Duration::from_micros(1));
        let made = scene
            .store
            .create_agent(scene.account, tagged(name, &[name]), None)
            .await;
        ids.push(made.unwrap().id);
    }
    let found = async |text: &str, tag: Option<&str>| {
        let filter = AgentFilter {
            name: Some(text.to_owned()),
            tag: tag.map(str::to_owned),
            after: None,
        };
        let page = scene.store.agents(scene.account, filter, 1).await.unwrap();
        let first = page.rows.first().map(|row| row.id);
        let place = ids.iter().position(|id| Some(*id) == first);
        (place, page.more)
    };
    for (text, expected) in [
        ("AVA", (Some(1), true)),
        ("müller", (Some(0), false)),
        ("mÜlLeR", (Some(0), false)),
        ("muller", (Some(1), false)),
        ("ilk", (None, false)),
        ("İLK", (Some(2), false)),
        ("kiosk", (Some(3), false)),
        ("0%_!", (Some(2), false)),
        ("a%", (None, false)),
        ("_va", (None, false)),
        ("ÖB", (Some(4), false)),
    ] {
        assert_eq!(found(text, None).await, expected, "{text}");
    }
    assert_eq!(found("ava", Some("Ava MÜLLER")).await, (Some(0), false));
    assert_eq!(found("ava", Some("Böb")).await, (None, false));
}
