//! Flow of an answered call: its instructions, one after the other, and changes to them by the API.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::extract::ws::WebSocket;
use tokio::time::sleep;
use uuid::Uuid;

use super::{
    call::{self, Call, Order},
    media::Stream,
    stub::Twilio,
    twiml::{self, Verb},
};
use crate::stub_carriers::{
    base::{phones::Cause, rooms::Said},
    flow::{self, Streamed, Talk},
    legs::Stage,
    settings::{Dial, locked},
};

/// Field for the result of a dial.
const DIALED: &str = "DialCallStatus";

/// Pause before the carrier retries a webhook that had no response.
const RETRY_AFTER: Duration = Duration::from_millis(300);

/// Retries of a webhook: their number and the failures that cause them, from the fragment of its address
/// (after the `#`). The default is one retry if there is no response.
/// <https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides>
struct Retries {
    most: u32,
    after_errors: bool,
}

impl Retries {
    /// Returns the address to request and to sign, and its retries.
    fn of(url: &str) -> (&str, Self) {
        let (asked, overrides) = url.split_once('#').unwrap_or((url, ""));
        let named = |name: &str| {
            let mut parts = overrides.split('&').filter_map(|part| part.split_once('='));
            parts.find(|part| part.0 == name).map(|part| part.1)
        };
        let retries = Self {
            most: named("rc").and_then(|most| most.parse().ok()).unwrap_or(1).min(5),
            after_errors: named("rp").is_some_and(|after| after.split(',').any(|kind| matches!(kind, "5xx" | "all"))),
        };
        (asked, retries)
    }

    fn are_for(&self, status: u16) -> bool {
        status == 0 || (self.after_errors && status >= 500)
    }
}

type Next = flow::Next<Verb>;

struct Flow {
    stub: Arc<Twilio>,
    call: Arc<Call>,
    talk: Talk<Verb>,
}

/// Follows the instructions of a call until it is over.
pub(super) async fn run(stub: Arc<Twilio>, call: Arc<Call>, phone: WebSocket) {
    let Some(changes) = call.changes() else { return };
    let mut todo = VecDeque::from(call.order.verbs.clone());
    let talk = Talk::new(&call.id, phone, changes);
    let mut flow = Flow { stub, call, talk };
    while let Some(verb) = todo.pop_front() {
        match flow.perform(&verb).await {
            Next::Done => {}
            Next::Instead(others) => todo = others.into(),
            Next::Gone => return flow.talk.line.close().await,
        }
    }
    // All instructions are done: the carrier ends the call.
    flow.stub.base.phones.hang_up(&flow.call.line).await;
    flow.talk.line.close().await;
}

impl Flow {
    async fn perform(&mut self, verb: &Verb) -> Next {
        let noun = verb.noun();
        match (&*verb.name, noun.map(|noun| (&*noun.name, noun))) {
            ("Connect", Some((_, noun))) => self.stream(noun).await,
            ("Dial", Some(("Conference", noun))) => self.confer(noun).await,
            ("Dial", Some((_, noun))) => self.hand_on(verb, noun).await,
            ("Refer", Some((_, noun))) => self.refer(verb, noun).await,
            ("Redirect", _) => self.redirect(&verb.text).await,
            ("Pause", _) => {
                let seconds = verb.get("length").parse().unwrap_or(1);
                self.talk.wait(Duration::from_secs(seconds)).await
            }
            _ => Next::Instead(Vec::new()),
        }
    }

    async fn stream(&mut self, noun: &Verb) -> Next {
        let opened = Stream::open(&self.stub, &self.call, noun).await;
        let Ok(mut stream) = opened else { return Next::Done };
        let streamed = self.talk.stream(&self.stub.base, &mut stream, |_| {}).await;
        match streamed {
            Streamed::Cut => {
                self.talk.line.clear().await;
                Next::Done
            }
            Streamed::Closed => Next::Done,
            Streamed::Next(next) => {
                stream.stop(&self.call.id).await;
                if !matches!(next, Next::Gone) {
                    self.talk.line.clear().await;
                }
                next
            }
        }
    }

    /// Rings the target and joins the two.
    async fn hand_on(&mut self, verb: &Verb, noun: &Verb) -> Next {
        let room = format!("dial-{}", Uuid::new_v4());
        let from = Some(verb.get("callerId")).filter(|from| !from.is_empty());
        let events = noun.get("statusCallbackEvent").split(' ');
        let order = Order {
            dial: Dial {
                to: noun.text.clone(),
                from: from.unwrap_or(&self.call.order.dial.to).to_owned(),
                status_url: noun.get("statusCallback").to_owned(),
                stream_url: String::new(),
            },
            events: events.map(str::to_owned).collect(),
            ring_seconds: verb.get("timeout").parse().unwrap_or(30.0),
            verbs: vec![conference(&room)],
            direction: "outbound-dial",
            ..Order::default()
        };
        let Ok(other) = call::ring(&self.stub, order).await else {
            return self.ask(verb, &[(DIALED, "failed")], Stage::Answered).await;
        };
        let room = self.stub.base.rooms.named(&room);
        let next = self.talk.until_over(&room, other.stages()).await;
        if matches!(next, None | Some(Next::Gone)) {
            self.stub.base.phones.hang_up(&other.line).await;
        }
        let went = match other.stage() {
            stage @ Stage::Over(_) => call::status(stage),
            Stage::Answered => "completed",
            _ => "canceled",
        };
        match next {
            Some(Next::Gone) => {
                self.ask(verb, &[(DIALED, went)], Stage::Over(Cause::Completed)).await;
                Next::Gone
            }
            Some(next) => next,
            None => self.ask(verb, &[(DIALED, went)], Stage::Answered).await,
        }
    }

    /// Refers the call's SIP peer to the target. The last digit of the target decides, as for telephones: a busy one is
    /// reported, a declined one makes the peer refuse, and of one that nobody answers the peer tells nothing.
    async fn refer(&mut self, verb: &Verb, noun: &Verb) -> Next {
        locked(&self.stub.refers).push(noun.text.clone());
        let Dial { to, from, .. } = &self.call.order.dial;
        let is_sip = [to, from].iter().any(|party| party.starts_with("sip"));
        let result: &[(&str, &str)] = match call::telephone(&noun.text).chars().last() {
            _ if !is_sip => &[("ReferCallStatus", "failed")],
            Some('1') => &[("ReferSipResponseCode", "603")],
            Some('6') => &[
                ("ReferSipResponseCode", "202"),
                ("NotifySipResponseCode", "486"),
                ("ReferCallStatus", "busy"),
            ],
            Some('7') => &[("ReferSipResponseCode", "202")],
            _ => &[
                ("ReferSipResponseCode", "202"),
                ("NotifySipResponseCode", "200"),
                ("ReferCallStatus", "in-progress"),
            ],
        };
        self.ask(verb, result, Stage::Answered).await
    }

    /// Requests other instructions, with the retries that the address asks for. Without any the call ends.
    async fn redirect(&mut self, url: &str) -> Next {
        let fields = self.call.fields(Stage::Answered);
        let (url, retries) = Retries::of(url);
        let stub = self.stub.clone();
        let asking = async move {
            let mut answer = stub.tell(url, &fields).await;
            for _ in 0..retries.most {
                if !retries.are_for(answer.0) {
                    break;
                }
                sleep(RETRY_AFTER).await;
                answer = stub.tell(url, &fields).await;
            }
            answer
        };
        let (status, answer) = match self.talk.until(asking).await {
            Ok(answer) => answer,
            Err(next) => return next,
        };
        let others = twiml::parse(&answer).filter(|_| status == 200);
        Next::Instead(others.unwrap_or_else(|| {
            self.stub.base.complain(format!("11200: {status} {answer}"));
            Vec::new()
        }))
    }

    /// Requests the instructions after a transfer with this result, while the call itself is in `stage`.
    async fn ask(&mut self, verb: &Verb, result: &[(&str, &str)], stage: Stage) -> Next {
        let mut fields = self.call.fields(stage);
        fields.extend(
            result
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let (_, answer) = self.stub.tell(verb.get("action"), &fields).await;
        let Some(others) = twiml::parse(&answer) else {
            self.stub.base.complain(format!("12100: {answer}"));
            return Next::Instead(Vec::new());
        };
        Next::Instead(others)
    }

    async fn confer(&mut self, noun: &Verb) -> Next {
        let room = self.stub.base.rooms.named(&noun.text);
        let next = self.talk.converse(&room).await;
        if noun.get("endConferenceOnExit") == "true" {
            let _ = room.send(Said::Over);
        }
        next
    }
}

/// Returns the instructions that join a call with a room, which ends with the call.
fn conference(room: &str) -> Verb {
    let document = format!(
        r#"<?xml version="1.0"?><Response><Dial><Conference endConferenceOnExit="true">{room}</Conference></Dial></Response>"#
    );
    twiml::parse(&document)
        .and_then(|mut verbs| verbs.pop())
        .unwrap_or_default()
}
