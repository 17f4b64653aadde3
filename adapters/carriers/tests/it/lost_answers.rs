//! Lost responses to dials: nobody is called twice, every call is adopted, and nothing gets stuck. A call
//! that is answered after nobody wants it any more is hung up before any provider is used.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use sim::{exchange::LogEvent, stub_carriers::Callbacks};
use support::{words::interviewing_agent, world::World};

use crate::{
    site::{COOPERATIVE, Carrier, NO_ANSWER, Setup, Site, until},
    twilio,
};

const DIALS: usize = 500;
/// One in five dials loses its response: 20 %.
const LOST_EACH: usize = 5;

/// Callees and the errors of their calls. Seven and five are coprime, so that each kind also loses responses.
const CALLEES: [(&str, Option<&str>); 7] = [
    ("busy", Some("busy")),
    ("no-answer", Some("no-answer")),
    ("rejects", Some("rejected")),
    ("hangs-up", None),
    ("busy", Some("busy")),
    ("rejects", Some("rejected")),
    ("no-answer", Some("no-answer")),
];

fn callees(dials: usize) -> Vec<(String, usize)> {
    (0..dials)
        .map(|n| (format!("+1555020{n:04}"), n % CALLEES.len()))
        .collect()
}

/// Returns the status and error of every conversation of a campaign, by number.
async fn outcomes(world: &World, campaign: &str) -> BTreeMap<String, Vec<(String, Option<String>)>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    let first = format!("/public/v1/conversations?campaignId={campaign}&pageSize=100");
    let mut path = first.clone();
    loop {
        let page = world.client.get(&path).await.expect(200);
        for item in page.data().as_array().unwrap() {
            let conversation = world.read(item["conversationId"].as_str().unwrap()).await;
            let text = |name: &str| conversation[name].as_str().map(str::to_owned);
            let number = text("contactNumber").unwrap();
            all.entry(number)
                .or_default()
                .push((text("status").unwrap(), text("errorMessage")));
        }
        let Some(next) = page.body["pagination"]["nextCursor"].as_str() else {
            return all;
        };
        path = format!("{first}&cursor={next}");
    }
}

/// Runs a campaign of `dials` dials, each fifth of which loses its response.
async fn check_campaign(of: Carrier, callbacks: Callbacks, dials: usize) {
    let callees = callees(dials);
    let mut setup = Setup {
        callbacks,
        lost_each: LOST_EACH,
        ..Setup::default()
    };
    let personas = callees
        .iter()
        .map(|(number, callee)| (number.clone(), CALLEES[*callee].0));
    setup.personas.extend(personas);
    let site = Site::start(of, setup).await;
    let agent = site.world.agent(interviewing_agent()).await;
    let contacts: Vec<(&str, &str)> = callees.iter().map(|(number, _)| (number.as_str(), "")).collect();
    let campaign = site.world.launch(&agent, &contacts, json!({})).await;
    while site.stub.dials().len() < dials {
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    // Nothing is stuck: 120 s after the last dial all calls are over.
    site.world.until_status(&campaign, "completed", 120).await;
    site.world.pass(60).await;
    let mut dialed: Vec<String> = site.stub.dials().into_iter().map(|dial| dial.to).collect();
    dialed.sort();
    let mut wanted: Vec<String> = callees.iter().map(|(number, _)| number.clone()).collect();
    wanted.sort();
    assert_eq!(dialed, wanted, "one request for each attempt");
    assert_eq!((site.stub.live_calls(), site.stub.leftovers()), (0, vec![]));
    let outcomes = outcomes(&site.world, &campaign).await;
    assert_eq!(outcomes.len(), dials);
    for (number, callee) in &callees {
        let (persona, error) = CALLEES[*callee];
        let status = if error.is_some() { "failed" } else { "completed" };
        let expected = [(status.to_owned(), error.map(str::to_owned))];
        assert_eq!(outcomes[number], expected, "{persona} at {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_500_dials_over_twilio_100_lose_their_answer_and_every_call_is_adopted() {
    check_campaign(Carrier::Twilio, Callbacks::InOrder, DIALS).await;
}

#[tokio::test(start_paused = true)]
async fn where_callbacks_come_at_the_end_only_lost_calls_are_found_in_the_list() {
    check_campaign(Carrier::Twilio, Callbacks::Reversed, DIALS / 5).await;
}

#[tokio::test(start_paused = true)]
async fn of_500_dials_over_telnyx_100_lose_their_answer_and_every_call_is_adopted() {
    check_campaign(Carrier::Telnyx, Callbacks::InOrder, DIALS).await;
}

#[tokio::test(start_paused = true)]
async fn of_500_dials_over_vonage_100_lose_their_answer_and_every_call_is_adopted() {
    check_campaign(Carrier::Vonage, Callbacks::InOrder, DIALS).await;
}

/// Vonage keeps no mark of ours on a call, so calls are found in its list by number and time.
#[tokio::test(start_paused = true)]
async fn where_vonage_tells_events_at_the_end_only_lost_calls_are_found_in_its_list() {
    check_campaign(Carrier::Vonage, Callbacks::Reversed, DIALS / 5).await;
}

/// We choose the id of a call at an Asterisk, so a lost response is resolved at once.
#[tokio::test(start_paused = true)]
async fn of_500_dials_over_asterisk_100_lose_their_answer_and_every_call_is_adopted() {
    check_campaign(Carrier::AsteriskWebSocket, Callbacks::InOrder, DIALS).await;
}

/// Checks that the callee heard nothing and no provider was used.
fn nobody_was_asked(site: &Site) {
    let replies = site.world.replies.all();
    assert!(replies.is_empty(), "the model was asked: {replies:?}");
    let heard = site
        .stub
        .entries()
        .into_iter()
        .find(|entry| matches!(entry.event, LogEvent::Heard { .. }));
    assert!(heard.is_none(), "the callee heard {heard:?}");
}

async fn end(site: &Site, conversation: &str) {
    let path = format!("/public/v1/conversations/{conversation}/end");
    site.world.client.post(&path, json!({})).await.expect(200);
}

/// The dial's response is lost and nothing was reported yet when the attempt is cancelled. Then somebody picks up.
async fn check_cancelled(of: Carrier, callbacks: Callbacks, silent: bool) {
    let setup = Setup {
        callbacks,
        silent,
        lost_each: 1,
        ..Setup::default()
    };
    let site = Site::start(of, setup).await;
    let stub = &site.stub;
    let conversation = site.call(COOPERATIVE).await;
    until(120, "dial", || stub.dials().len() == 1).await;
    end(&site, &conversation).await;
    let answered = || {
        stub.entries()
            .iter()
            .any(|entry| matches!(entry.event, LogEvent::Answered))
    };
    until(120, "answer", || answered() || stub.live_calls() == 0).await;
    let over: Value = site.world.until_over(&conversation, 60).await;
    until(120, "hang-up", || stub.live_calls() == 0).await;
    assert_eq!(over["status"], "cancelled", "{over:#}");
    nobody_was_asked(&site);
    assert_eq!(stub.dials().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_answered_after_its_cancelling_is_hung_up_unheard() {
    for (of, callbacks, silent) in [
        (Carrier::Twilio, Callbacks::Reversed, false),
        (Carrier::Telnyx, Callbacks::InOrder, false),
        (Carrier::Telnyx, Callbacks::InOrder, true),
        (Carrier::Vonage, Callbacks::Reversed, false),
        (Carrier::Vonage, Callbacks::InOrder, true),
        (Carrier::AsteriskWebSocket, Callbacks::InOrder, false),
        (Carrier::AsteriskWebSocket, Callbacks::Twice, false),
    ] {
        check_cancelled(of, callbacks, silent).await;
    }
}

/// The attempt is over while its call still rings at the carrier. A report that it was answered has it hung up.
#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_when_the_attempt_is_over_is_hung_up() {
    let setup = Setup {
        callbacks: Callbacks::Reversed,
        ..Setup::default()
    };
    let (site, twilio) = twilio::losing_the_first(&setup).await;
    let first = site.call(NO_ANSWER).await;
    until(120, "dial", || twilio.dials().len() == 1).await;
    end(&site, &first).await;
    site.world.until_over(&first, 120).await;
    until(120, "hang-up", || twilio.live_calls() == 0).await;
    // Another call rings at the carrier, as if it had been placed for the first attempt.
    site.call(NO_ANSWER).await;
    until(120, "second dial", || twilio.statuses().last() == Some(&"ringing")).await;
    let (dial, sid) = (twilio.dials().remove(0), twilio.sids().pop().unwrap());
    let form = [("CallSid", sid.as_str()), ("CallStatus", "in-progress")];
    let post = async |address: &str| twilio::post_signed(&twilio, address, &form).await.0;
    // A report without the proof has no effect.
    let (front, proof) = dial.status_url.rsplit_once('/').unwrap();
    let guessed = format!("{front}/{}", "0".repeat(proof.len()));
    assert_eq!(post(&guessed).await, 204);
    site.world.pass(2).await;
    assert_eq!(twilio.live_calls(), 1);
    assert_eq!(post(&dial.status_url).await, 204);
    until(120, "hang-up", || twilio.live_calls() == 0).await;
    nobody_was_asked(&site);
}
