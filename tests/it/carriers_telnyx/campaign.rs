//! A campaign of two dozen contacts through Telnyx, with both of its ways to find out who answers.

use carriers::telnyx::account::{Machines, TelnyxAccount};
use serde_json::json;
use sim::stub_carriers::telnyx::TelnyxSettings;

use super::{account, check_words, stub, world_with};
use support::{
    phone_log::PhoneLog,
    words::{MESSAGE, interviewing_agent, texts, tidy},
};

async fn check_campaign(machines: Machines, [asked, verdict, beep]: [&str; 3]) {
    let stub = stub(TelnyxSettings::default()).await;
    let world = world_with(TelnyxAccount {
        machines,
        ..account(&stub)
    })
    .await;
    let agent = world.agent(interviewing_agent()).await;
    // By the last digit: a person, a mailbox, a person who interrupts.
    let numbers: Vec<String> = (0..24)
        .map(|n| format!("+15550102{n:02}{}", [0, 8, 9][n % 3]))
        .collect();
    let contacts: Vec<(&str, &str)> = numbers.iter().map(|number| (&**number, "")).collect();
    let campaign = world.launch(&agent, &contacts, json!({})).await;
    world.until_status(&campaign, "completed", 900).await;
    world.pass(30).await;
    let phones = PhoneLog::new(stub.entries());
    for number in &numbers {
        let conversation = world.conversation(&campaign, number).await;
        if number.ends_with('8') {
            assert_eq!(conversation["status"], "completed", "{conversation:#}");
            let call = phones.call(number);
            let (heard, last) = (texts(&call.heard()), call.heard().pop().unwrap());
            // What was begun in a pause of the greeting is said again behind the beep.
            assert!(tidy(heard.last().unwrap()).ends_with(MESSAGE), "{heard:?}");
            assert!(call.beeped_ms().is_some_and(|beeped| last.to_ms > beeped), "{heard:?}");
        } else {
            check_words(&conversation, &phones, number);
        }
    }
    for dial in stub.dials() {
        assert_eq!(dial["answering_machine_detection"], asked);
    }
    let told = |event: &str| {
        stub.delivered()
            .iter()
            .filter(|webhook| webhook.status == event)
            .count()
    };
    assert_eq!((told(verdict), told(beep)), (24, 8));
    assert_eq!(
        (stub.complaints(), stub.live_calls(), stub.dials().len()),
        (vec![], 0, 24)
    );
}

#[tokio::test(start_paused = true)]
async fn a_campaign_of_two_dozen_talks_with_people_and_leaves_messages() {
    let told = [
        "detect_beep",
        "call.machine.detection.ended",
        "call.machine.greeting.ended",
    ];
    check_campaign(Machines::Standard, told).await;
}

#[tokio::test(start_paused = true)]
async fn messages_are_left_at_the_beeps_that_the_premium_way_tells_too() {
    let told = [
        "premium",
        "call.machine.premium.detection.ended",
        "call.machine.premium.greeting.ended",
    ];
    check_campaign(Machines::Premium, told).await;
}
