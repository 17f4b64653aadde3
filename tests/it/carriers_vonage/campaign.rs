//! A campaign of two dozen contacts through Vonage: people, mailboxes, and those who cannot be reached.

use carriers::vonage::account::Rate;
use serde_json::json;

use super::{account, check_words, stub, world_with};
use support::{
    phone_log::PhoneLog,
    words::{MESSAGE, interviewing_agent, texts, tidy},
};

/// By the last digit of a number: a person, a mailbox, a person who interrupts, a busy line, nobody.
const LAST: [char; 6] = ['0', '8', '9', '0', '6', '7'];

#[tokio::test(start_paused = true)]
async fn a_campaign_of_two_dozen_talks_with_people_and_leaves_messages() {
    let stub = stub().await;
    let world = world_with(account(&stub, Rate::Narrow)).await;
    let agent = world.agent(interviewing_agent()).await;
    let numbers: Vec<String> = (0..24).map(|n| format!("+15550102{n:02}{}", LAST[n % 6])).collect();
    let contacts: Vec<(&str, &str)> = numbers.iter().map(|number| (&**number, "")).collect();
    let campaign = world.launch(&agent, &contacts, json!({})).await;
    world.until_status(&campaign, "completed", 900).await;
    world.pass(30).await;
    let phones = PhoneLog::new(stub.entries());
    for number in &numbers {
        let conversation = world.conversation(&campaign, number).await;
        match number.chars().last() {
            Some('6') => assert_eq!(conversation["errorMessage"], "busy", "{conversation:#}"),
            Some('7') => assert_eq!(conversation["errorMessage"], "no-answer", "{conversation:#}"),
            Some('8') => {
                assert_eq!(conversation["status"], "completed", "{conversation:#}");
                let call = phones.call(number);
                let (heard, last) = (texts(&call.heard()), call.heard().pop().unwrap());
                // What was begun in a pause of the greeting is said again behind the beep.
                assert!(tidy(heard.last().unwrap()).ends_with(MESSAGE), "{heard:?}");
                assert!(call.beeped_ms().is_some_and(|beeped| last.to_ms > beeped), "{heard:?}");
            }
            _ => check_words(&conversation, &phones, number),
        }
    }
    let delivered = stub.delivered();
    let told = |status: &str| delivered.iter().filter(|event| event.status == status).count();
    // Of each mailbox the verdict, and then its beep.
    assert_eq!((told("human"), told("machine")), (12, 8));
    assert!(delivered.iter().all(|event| event.answer < 300), "{delivered:?}");
    assert_eq!(
        (stub.complaints(), stub.live_calls(), stub.dials().len()),
        (vec![], 0, 24)
    );
}
