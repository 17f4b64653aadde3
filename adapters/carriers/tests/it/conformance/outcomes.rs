//! Checks of the results of dials: outcomes, transcripts, messages, lost responses, lists.

use std::{collections::BTreeMap, time::Duration};

use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{CarrierCallId, CarrierError},
    time::Timestamp,
};
use sim::stub_carriers::Callbacks;
use support::board::Board;

use crate::site::{
    BUSY, COOPERATIVE, Carrier, FAILURES, INTERRUPTS, INVALID, NO_ANSWER, OURS, REJECTS, Setup, Site, request,
    start_stub, until,
};

pub async fn a_campaign_completes_with_every_outcome_and_its_transcripts(of: Carrier) {
    check_campaign(Site::start(of, Setup::default()).await).await;
}

pub async fn repeated_and_reordered_reports_change_nothing(of: Carrier) {
    for callbacks in [Callbacks::Twice, Callbacks::Reversed] {
        check_campaign(
            Site::start(
                of,
                Setup {
                    callbacks,
                    ..Setup::default()
                },
            )
            .await,
        )
        .await;
        if of == Carrier::Telnyx || of.is_asterisk() {
            // Their stubs support one kind of disorder, which is both.
            return;
        }
    }
}

pub async fn check_campaign(site: Site) {
    let numbers = [COOPERATIVE, INTERRUPTS, BUSY, NO_ANSWER, REJECTS, INVALID];
    let campaign = site.completed(&numbers).await;
    for (number, error) in FAILURES {
        let conversation = site.world.conversation(&campaign, number).await;
        assert_eq!(conversation["status"], "failed", "{conversation:#}");
        assert_eq!(conversation["errorMessage"], error, "{conversation:#}");
        assert_eq!(conversation["carrier"], site.carrier.name(), "{conversation:#}");
    }
    let talked = site.world.conversation(&campaign, COOPERATIVE).await;
    site.check_words(&talked, COOPERATIVE);
    assert_eq!(talked["carrier"], site.carrier.name());
    let interrupted = site.world.conversation(&campaign, INTERRUPTS).await;
    match site.carrier.is_asterisk() {
        true => site.check_most_words(&interrupted, INTERRUPTS),
        false => site.check_words(&interrupted, INTERRUPTS),
    }
    site.ends_tidy(numbers.len()).await;
    assert!(
        site.stub.dials().iter().all(|dial| dial.from == OURS),
        "{:?}",
        site.stub.dials()
    );
}

/// Last digits of the numbers in a campaign that are answered, in turn.
const DIGITS: [char; 5] = ['0', '8', '9', '8', '0'];
/// Last digits of the numbers that are not, with their errors.
const UNREACHED: [(char, &str); 4] = [('6', "busy"), ('7', "no-answer"), ('1', "rejected"), ('6', "busy")];

pub async fn two_dozen_are_talked_with_get_messages_or_cannot_be_reached(of: Carrier) {
    let verdicts: &[(&str, usize)] = match of {
        Carrier::Twilio => &[("human", 12), ("machine_start", 8)],
        Carrier::SignalWire => &[("human", 12), ("machine", 8)],
        Carrier::Telnyx => &[("call.machine.detection.ended", 20), ("call.machine.greeting.ended", 8)],
        // For each mailbox there is a verdict, and then the beep.
        Carrier::Vonage => &[("human", 12), ("machine", 16)],
        Carrier::AsteriskWebSocket | Carrier::AudioSocket => &[],
    };
    check_two_dozen(Site::start(of, with_rejects()).await, verdicts).await;
}

/// Adds the persona that no last digit selects.
pub fn with_rejects() -> Setup {
    let mut setup = Setup::default();
    setup.personas.extend(
        two_dozen()
            .into_iter()
            .filter(|number| number.ends_with('1'))
            .map(|number| (number, "rejects")),
    );
    setup
}

fn two_dozen() -> Vec<String> {
    let digit = |n: usize| DIGITS.get(n % 6).copied().unwrap_or(UNREACHED[n / 6].0);
    (0..24).map(|n| format!("+15550102{n:02}{}", digit(n))).collect()
}

/// Runs a campaign of two dozen people, mailboxes, and unreachable numbers, and checks the verdicts on who answered.
pub async fn check_two_dozen(site: Site, verdicts: &[(&str, usize)]) {
    let numbers = two_dozen();
    let contacts: Vec<&str> = numbers.iter().map(String::as_str).collect();
    let campaign = site.completed(&contacts).await;
    for number in contacts {
        let conversation = site.world.conversation(&campaign, number).await;
        let last = number.chars().last().unwrap();
        if let Some((_, cause)) = UNREACHED.iter().find(|(digit, _)| *digit == last) {
            assert_eq!(conversation["status"], "failed", "{conversation:#}");
            assert_eq!(conversation["errorMessage"], *cause, "{conversation:#}");
        } else if last == '8' {
            site.check_message(&conversation, number);
        } else if last == '9' && site.carrier.is_asterisk() {
            site.check_most_words(&conversation, number);
        } else {
            site.check_words(&conversation, number);
        }
    }
    for (verdict, count) in verdicts {
        let told = site
            .stub
            .delivered()
            .into_iter()
            .filter(|report| report.status == *verdict);
        assert_eq!(told.count(), *count, "{verdict}");
    }
    site.ends_tidy(24).await;
}

pub async fn a_lost_dial_answer_is_adopted_and_never_dialed_again(of: Carrier) {
    let site = Site::start(
        of,
        Setup {
            lost_each: 1,
            ..Setup::default()
        },
    )
    .await;
    let id = site.call(COOPERATIVE).await;
    site.world.until_over(&id, 120).await;
    site.world.pass(120).await;
    site.check_words(&site.world.read(&id).await, COOPERATIVE);
    site.ends_tidy(1).await;
}

pub async fn a_call_nobody_tells_of_is_found_and_hung_up(of: Carrier) {
    let site = Site::start(
        of,
        Setup {
            lost_each: 1,
            silent: true,
            ..Setup::default()
        },
    )
    .await;
    let id = site.ringing().await;
    let path = format!("/public/v1/conversations/{id}/end");
    site.world.client.post(&path, serde_json::json!({})).await.expect(200);
    site.world.pass(20).await;
    site.ends_tidy(1).await;
}

pub async fn calls_are_listed_and_hung_up_once(of: Carrier) {
    let setup = Setup {
        silent: true,
        page: Some(2),
        ..Setup::default()
    };
    let (stub, trunk) = start_stub(of, &setup).await;
    let board = Board::open(trunk).await;
    let carrier = &board.carrier;
    if of == Carrier::Vonage {
        // Vonage lists calls by time, including those to other numbers.
        for other in [BUSY, COOPERATIVE] {
            carrier.dial(&request(other)).await.unwrap();
        }
    }
    let mut placed = BTreeMap::new();
    for _ in 0..5 {
        let request = request(NO_ANSWER);
        let marked = (of != Carrier::Vonage).then_some(request.attempt);
        placed.insert(carrier.dial(&request).await.unwrap().0, marked);
    }
    let to = PhoneNumber::parse(NO_ANSWER).unwrap();
    let listed = carrier.find_calls(&to, Timestamp(0)).await.unwrap();
    assert!(listed.iter().all(|call| call.live), "{listed:?}");
    let found: BTreeMap<_, _> = listed.into_iter().map(|call| (call.call.0, call.attempt)).collect();
    assert_eq!(found, placed);
    let first = CarrierCallId(placed.keys().next().unwrap().clone());
    let before = stub.live_calls();
    assert_eq!(carrier.hang_up(&first).await, Ok(()));
    until(10, "hang-up", || stub.live_calls() < before).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    for over in [&*first.0, "unknown", "v3:unknown", "1700000000.1", ".."] {
        let answer = carrier.hang_up(&CarrierCallId(over.to_owned())).await;
        assert_eq!(answer, Err(CarrierError::NotFound), "{over}");
    }
    let live = carrier
        .find_calls(&to, Timestamp(0))
        .await
        .unwrap()
        .into_iter()
        .filter(|call| call.live);
    assert_eq!(live.count(), 4);
}
