//! What becomes of a call that was answered: its instructions, one after the other, and changes of them by the API.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use axum::extract::ws::WebSocket;
use tokio::{
    sync::{broadcast, mpsc},
    time::sleep,
};
use uuid::Uuid;

use super::{
    Stub,
    call::{self, Call, Order, Stage},
    media::{Stream, Told},
    twiml::{self, Verb},
};
use crate::stub_carriers::{
    Dial,
    line::{Heard, Line},
    locked,
    rooms::Said,
    stall::Standstill,
};

/// How long the carrier waits before it asks again where nobody is there.
const RETRY_AFTER: Duration = Duration::from_millis(300);

/// How often a webhook is sent again, and after which failures, as its address says behind the `#`; else once, where nobody
/// is there. <https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides>
struct Retries {
    most: u32,
    after_errors: bool,
}

impl Retries {
    /// The address as it is asked for and signed, and its retries.
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

/// How an instruction ended.
enum Next {
    /// With the next one.
    Done,
    /// With others.
    Instead(Vec<Verb>),
    /// The telephone was hung up.
    Gone,
}

struct Flow {
    stub: Arc<Stub>,
    call: Arc<Call>,
    line: Line,
    changes: mpsc::Receiver<Vec<Verb>>,
    /// Only the first stream of a call breaks, or stands still.
    had_stream: bool,
}

/// Follows the instructions of a call until it is over.
pub(super) async fn run(stub: Arc<Stub>, call: Arc<Call>, phone: WebSocket) {
    let Some(changes) = call.changes() else { return };
    let mut todo = VecDeque::from(call.order.verbs.clone());
    let mut flow = Flow {
        stub,
        call,
        line: Line::new(phone),
        changes,
        had_stream: false,
    };
    while let Some(verb) = todo.pop_front() {
        match flow.perform(&verb).await {
            Next::Done => {}
            Next::Instead(others) => todo = others.into(),
            Next::Gone => return flow.line.close().await,
        }
    }
    // All is done: the carrier ends the call.
    flow.stub.phones.hang_up(flow.call.line()).await;
    flow.line.close().await;
}

impl Flow {
    async fn perform(&mut self, verb: &Verb) -> Next {
        let noun = verb.noun();
        match (&*verb.name, noun.map(|noun| (&*noun.name, noun))) {
            ("Connect", Some((_, noun))) => self.stream(noun).await,
            ("Dial", Some(("Conference", noun))) => self.confer(noun).await,
            ("Dial", Some((_, noun))) => self.hand_on(verb, noun).await,
            ("Redirect", _) => self.redirect(&verb.text).await,
            ("Pause", _) => self.pause(verb.get("length").parse().unwrap_or(1)).await,
            _ => Next::Instead(Vec::new()),
        }
    }

    async fn stream(&mut self, noun: &Verb) -> Next {
        let opened = Stream::open(&self.stub, &self.call, noun).await;
        let Ok(mut stream) = opened else { return Next::Done };
        let is_first = !std::mem::replace(&mut self.had_stream, true);
        let cut_after = self.stub.faults.cut_after.filter(|_| is_first);
        let mut standstill = Standstill::new(self.stub.faults.stall.filter(|_| is_first));
        let mut frames = 0;
        loop {
            let still = standstill.is_on(frames);
            if cut_after.is_some_and(|most| frames >= most) {
                self.line.clear().await;
                return Next::Done;
            }
            tokio::select! {
                heard = self.line.hear() => match heard {
                    Some(Heard::Audio(mulaw)) => {
                        frames += 1;
                        if !still {
                            stream.audio(&mulaw).await;
                        }
                    }
                    Some(Heard::Key(key)) => stream.key(&key).await,
                    Some(Heard::Mark(mark)) => stream.played(&mark).await,
                    None => {
                        stream.stop(&self.call.sid).await;
                        return Next::Gone;
                    }
                },
                told = stream.told(), if !still => match told {
                    Told::Audio(mulaw) => self.line.say(&mulaw).await,
                    Told::Mark(mark) => self.line.mark(&mark).await,
                    Told::Clear => self.line.clear().await,
                    Told::Key(key) => {
                        self.line.press(&key).await;
                        locked(&self.stub.keys).push(key);
                    }
                    Told::Nonsense(why) => self.stub.complain(why),
                    Told::Gone => return Next::Done,
                },
                Some(others) = self.changes.recv() => {
                    stream.stop(&self.call.sid).await;
                    self.line.clear().await;
                    return Next::Instead(others);
                },
            }
        }
    }

    async fn pause(&mut self, seconds: u64) -> Next {
        let until = sleep(Duration::from_secs(seconds));
        tokio::pin!(until);
        loop {
            tokio::select! {
                heard = self.line.hear() => if heard.is_none() {
                    return Next::Gone;
                },
                Some(others) = self.changes.recv() => return Next::Instead(others),
                () = &mut until => return Next::Done,
            }
        }
    }

    /// Rings somebody else, and joins the two.
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
            return self.ask(verb, "failed", Stage::InProgress).await;
        };
        let next = self.until_over(&room, &other).await;
        if matches!(next, None | Some(Next::Gone)) {
            self.stub.phones.hang_up(other.line()).await;
        }
        let went = match other.stage() {
            Stage::Over(status, _) => status,
            Stage::InProgress => "completed",
            _ => "canceled",
        };
        match next {
            Some(Next::Gone) => {
                self.ask(verb, went, Stage::ended("completed")).await;
                Next::Gone
            }
            Some(next) => next,
            None => self.ask(verb, went, Stage::InProgress).await,
        }
    }

    /// Asks for other instructions, again as the address says. Without any the call ends.
    async fn redirect(&mut self, url: &str) -> Next {
        let fields: BTreeMap<String, String> = self.call.fields(Stage::InProgress).into_iter().collect();
        let (url, retries) = Retries::of(url);
        let asking = async {
            let mut answer = self.stub.tell(url, &fields).await;
            for _ in 0..retries.most {
                if !retries.are_for(answer.0) {
                    break;
                }
                sleep(RETRY_AFTER).await;
                answer = self.stub.tell(url, &fields).await;
            }
            answer
        };
        tokio::pin!(asking);
        let (status, answer) = loop {
            tokio::select! {
                answer = &mut asking => break answer,
                heard = self.line.hear() => if heard.is_none() {
                    return Next::Gone;
                },
                Some(others) = self.changes.recv() => return Next::Instead(others),
            }
        };
        let others = twiml::parse(&answer).filter(|_| status == 200);
        Next::Instead(others.unwrap_or_else(|| {
            self.stub.complain(format!("11200: {status} {answer}"));
            Vec::new()
        }))
    }

    /// Asks what to do behind a dial that went so, while the call itself stands so.
    async fn ask(&mut self, verb: &Verb, went: &str, stage: Stage) -> Next {
        let mut fields: BTreeMap<String, String> = self.call.fields(stage).into_iter().collect();
        fields.insert("DialCallStatus".to_owned(), went.to_owned());
        let (_, answer) = self.stub.tell(verb.get("action"), &fields).await;
        let Some(others) = twiml::parse(&answer) else {
            self.stub.complain(format!("12100: {answer}"));
            return Next::Instead(Vec::new());
        };
        Next::Instead(others)
    }

    /// Talks with another call until that is over (none), or until this one is, or is told otherwise.
    async fn until_over(&mut self, room: &str, other: &Call) -> Option<Next> {
        let mut stages = other.stages();
        let over = async { drop(stages.wait_for(|stage| stage.is_over()).await) };
        tokio::pin!(over);
        tokio::select! {
            () = &mut over => None,
            next = self.talk(room) => match next {
                // The other one left the room; its line is over any moment.
                Next::Done => None,
                next => Some(next),
            },
        }
    }

    async fn confer(&mut self, noun: &Verb) -> Next {
        let next = self.talk(&noun.text).await;
        if noun.get("endConferenceOnExit") == "true" {
            let _ = self.stub.rooms.named(&noun.text).send(Said::Over);
        }
        next
    }

    /// Talks with whoever is in a room.
    async fn talk(&mut self, name: &str) -> Next {
        let room = self.stub.rooms.named(name);
        let mut heard = room.subscribe();
        loop {
            tokio::select! {
                said = self.line.hear() => match said {
                    Some(Heard::Audio(mulaw)) => drop(room.send(Said::Audio(self.call.sid.clone(), mulaw))),
                    Some(_) => {}
                    None => return Next::Gone,
                },
                said = heard.recv() => match said {
                    Ok(Said::Audio(by, mulaw)) if by != self.call.sid => self.line.say(&mulaw).await,
                    Ok(Said::Audio(..)) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Ok(Said::Over) | Err(broadcast::error::RecvError::Closed) => return Next::Done,
                },
                Some(others) = self.changes.recv() => return Next::Instead(others),
            }
        }
    }
}

/// Instructions that join a call with a room, which ends with it.
fn conference(room: &str) -> Verb {
    let document = format!(
        r#"<?xml version="1.0"?><Response><Dial><Conference endConferenceOnExit="true">{room}</Conference></Dial></Response>"#
    );
    twiml::parse(&document)
        .and_then(|mut verbs| verbs.pop())
        .unwrap_or_default()
}
