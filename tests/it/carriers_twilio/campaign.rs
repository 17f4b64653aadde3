//! A campaign of two dozen contacts through Twilio and SignalWire.

use carriers::twilio::account::Flavour;

use super::{Joined, settings};
use support::words::{MESSAGE, lines, texts, tidy};

async fn check_campaign(flavour: Flavour) {
    let numbers: Vec<String> = (0..24)
        .map(|n| format!("+155502{:02}00{}", n, if n % 3 == 0 { 8 } else { 0 }))
        .collect();
    let persona = |number: &str| {
        if number.ends_with('8') {
            "voicemail"
        } else {
            "cooperative"
        }
    };
    let contacts: Vec<(&str, &str)> = numbers.iter().map(|number| (&**number, persona(number))).collect();
    let joined = Joined::over(flavour, settings(&contacts)).await;
    let campaign = joined.completed(&contacts).await;
    let phones = joined.phones();
    for (number, persona) in &contacts {
        let conversation = joined.world.conversation(&campaign, number).await;
        assert_eq!(conversation["status"], "completed", "{conversation:#}");
        let heard = texts(&phones.call(number).heard());
        if *persona == "voicemail" {
            // A message that had begun when the beep came begins again.
            assert!(tidy(heard.last().unwrap()).ends_with(MESSAGE), "{heard:?}");
        } else {
            assert_eq!(lines(&conversation, "Agent"), heard, "{number}");
        }
    }
    let delivered = joined.stub.delivered();
    let told = |status: &str| delivered.iter().filter(|told| told.status == status).count();
    assert_eq!((told("machine_start"), told("human")), (8, 16));
    assert!(delivered.iter().all(|told| told.answer == 204), "{delivered:?}");
    assert_eq!((joined.stub.dials().len(), joined.stub.live_calls()), (24, 0));
}

#[tokio::test(start_paused = true)]
async fn of_a_campaign_of_24_people_are_talked_with_and_mailboxes_get_the_message() {
    check_campaign(Flavour::Twilio).await;
}

#[tokio::test(start_paused = true)]
async fn over_signalwire_too_people_are_talked_with_and_mailboxes_get_the_message() {
    check_campaign(Flavour::SignalWire).await;
}
