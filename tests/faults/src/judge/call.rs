//! A telephone that rings, is picked up and hung up, and the carrier's reports about it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use chrono::{DateTime, Utc};
use hmac::{Hmac, Mac};
use rand::rngs::StdRng;
use serde_json::{Value, json};
use sha1::Sha1;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::{ACCOUNT, Judge, TOKEN, media, sound::Sound};
use crate::{
    chance::{self, Callee, Plan},
    http::{self, Ask},
    journal::Event,
};

/// Pauses before a callback that was not accepted is sent again.
const AGAIN: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(6),
];
/// Longest wait for a callback's response.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time for which a call without a media socket and further instructions stays up.
const STAYS: Duration = Duration::from_secs(15);
/// Longest wait for the response to a request for further instructions.
const BACK_WITHIN: Duration = Duration::from_secs(15);
/// Pause before this request is repeated.
const BACK_AGAIN: Duration = Duration::from_millis(300);

/// A requested call.
pub struct Order {
    pub sid: String,
    pub attempt: String,
    pub to: String,
    pub from: String,
    pub status_url: String,
    pub verdict_url: Option<String>,
    pub first: Instructions,
    pub ring: Duration,
}

/// Instructions of an answered call.
#[derive(Debug, Clone)]
pub struct Instructions {
    /// Address of the socket to talk over, if there is one.
    pub stream: Option<String>,
    /// Address to ask for further instructions afterwards.
    pub back: Option<Back>,
    /// Whether it waits a second first.
    pub pauses: bool,
}

/// Address for further instructions, with the carrier's connection overrides in its fragment: `rc` counts the repeated
/// requests, `rp` names the failures after which they are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Back {
    pub url: String,
    repeats: usize,
    after: Vec<String>,
}

impl Back {
    /// Reads an address. Without overrides, the carrier repeats a request once if it cannot connect.
    pub fn read(address: &str) -> Self {
        let (url, fragment) = address.split_once('#').unwrap_or((address, ""));
        let overrides: Vec<(String, String)> = url::form_urlencoded::parse(fragment.as_bytes()).into_owned().collect();
        let value = |name: &str| overrides.iter().find(|(key, _)| key == name).map(|(_, value)| &**value);
        Self {
            url: url.to_owned(),
            repeats: value("rc").and_then(|count| count.parse().ok()).unwrap_or(1),
            after: value("rp").unwrap_or("ct").split(',').map(str::to_owned).collect(),
        }
    }

    /// Returns whether a request is repeated after this answer; 0 is none.
    fn repeats_after(&self, answer: u16) -> bool {
        let failures: &[&str] = match answer {
            0 => &["ct", "rt", "all"],
            400..=499 => &["4xx", "all"],
            500..=599 => &["5xx", "all"],
            _ => &[],
        };
        self.after.iter().any(|named| failures.contains(&&**named))
    }
}

/// Request of the service about a call.
pub enum Wish {
    HangUp,
    Follow(Instructions),
}

/// One call.
pub struct Call {
    pub order: Order,
    pub created: DateTime<Utc>,
    status: Mutex<&'static str>,
    sound: Mutex<Sound>,
    wishes: mpsc::Sender<Wish>,
}

impl Call {
    /// Returns its status, in the carrier's words.
    pub fn status(&self) -> &'static str {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn becomes(&self, status: &'static str) {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    /// Returns the sound at the callee's phone.
    pub fn sound(&self) -> MutexGuard<'_, Sound> {
        self.sound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether it is over.
    pub fn is_over(&self) -> bool {
        !matches!(self.status(), "queued" | "initiated" | "ringing" | "in-progress")
    }

    /// Passes on a request; more than a few at once are dropped.
    pub fn wish(&self, wish: Wish) {
        let _ = self.wishes.try_send(wish);
    }

    /// Returns a part of the API's resource.
    pub fn shown(&self) -> Value {
        let Order { sid, to, from, .. } = &self.order;
        json!({
            "sid": sid, "account_sid": ACCOUNT, "to": to, "from": from, "status": self.status(),
            "direction": "outbound-api", "date_created": self.created.to_rfc2822(), "start_time": null,
        })
    }
}

/// Returns the base64 of the HMAC-SHA1 of the address and the fields by name.
pub fn sign(url: &str, form: &[(&str, String)]) -> String {
    let mut fields: Vec<_> = form.iter().collect();
    fields.sort();
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(TOKEN.as_bytes()) else {
        return String::new();
    };
    mac.update(url.as_bytes());
    for (name, value) in fields {
        mac.update(name.as_bytes());
        mac.update(value.as_bytes());
    }
    BASE64.encode(mac.finalize().into_bytes())
}

/// Creates a call and lets its telephone ring; returns the resource in its first state.
pub fn place(judge: &Arc<Judge>, order: Order, plan: Plan, rng: StdRng) -> Value {
    let (wishes, waiting) = mpsc::channel(8);
    let call = Arc::new(Call {
        order,
        created: Utc::now(),
        status: Mutex::new("queued"),
        sound: Mutex::default(),
        wishes,
    });
    judge.calls().insert(call.order.sid.clone(), call.clone());
    let shown = call.shown();
    let life = Life {
        judge: judge.clone(),
        call,
        plan,
        rng,
        told: 0,
        wishes: waiting,
    };
    tokio::spawn(life.run());
    shown
}

struct Life {
    judge: Arc<Judge>,
    call: Arc<Call>,
    plan: Plan,
    rng: StdRng,
    told: u32,
    wishes: mpsc::Receiver<Wish>,
}

impl Life {
    async fn run(mut self) {
        let (ended, by_callee) = self.until_over().await;
        self.becomes(ended);
        let order = &self.call.order;
        let _ = self.judge.journal.write(Event::Over {
            call: order.sid.clone(),
            attempt: order.attempt.clone(),
            status: ended.to_owned(),
            by_callee,
        });
    }

    /// Returns how the call ended, and whether the callee hung up after the answer.
    async fn until_over(&mut self) -> (&'static str, bool) {
        if self.hung_up_within(self.plan.setup_ms).await {
            return ("canceled", false);
        }
        self.becomes("initiated");
        self.becomes("ringing");
        let ring = match self.plan.callee {
            Callee::NotHome => u64::try_from(self.call.order.ring.as_millis()).unwrap_or(u64::MAX),
            _ => self.plan.ring_ms,
        };
        if self.hung_up_within(ring).await {
            return ("canceled", false);
        }
        let talk = match self.plan.callee {
            Callee::Answers(talk) => Duration::from_millis(talk),
            Callee::Busy => return ("busy", false),
            Callee::Rejects => return ("failed", false),
            Callee::NotHome => return ("no-answer", false),
        };
        self.becomes("in-progress");
        self.tell_who_answered();
        // The callee stays on the line for the planned time.
        let talked = timeout(talk, self.talk()).await;
        ("completed", talked.is_err())
    }

    /// Follows the instructions until there are none left or the service hangs up.
    async fn talk(&mut self) {
        let mut next = Some(self.call.order.first.clone());
        loop {
            let wish = match next.take() {
                Some(instructions) => tokio::select! {
                    wish = self.wishes.recv() => wish,
                    others = follow(&self.judge, &self.call, instructions) => match others {
                        After::Follow(others) => {
                            next = Some(others);
                            continue;
                        }
                        After::Wait => continue,
                        After::HangUp => return,
                    },
                },
                None => match timeout(STAYS, self.wishes.recv()).await {
                    Ok(wish) => wish,
                    Err(_) => return,
                },
            };
            match wish {
                Some(Wish::Follow(others)) => next = Some(others),
                Some(Wish::HangUp) | None => return,
            }
        }
    }

    /// Returns whether the service hangs up within this time.
    async fn hung_up_within(&mut self, ms: u64) -> bool {
        let waited = async {
            loop {
                if matches!(self.wishes.recv().await, Some(Wish::HangUp) | None) {
                    return;
                }
            }
        };
        timeout(Duration::from_millis(ms), waited).await.is_ok()
    }

    /// Sets the status and reports it.
    fn becomes(&mut self, status: &'static str) {
        self.call.becomes(status);
        let order = &self.call.order;
        let mut form = vec![
            ("CallSid", order.sid.clone()),
            ("AccountSid", ACCOUNT.to_owned()),
            ("From", order.from.clone()),
            ("To", order.to.clone()),
            ("CallStatus", status.to_owned()),
            ("Direction", "outbound-api".to_owned()),
            ("ApiVersion", "2010-04-01".to_owned()),
            ("SequenceNumber", self.told.to_string()),
            ("CallbackSource", "call-progress-events".to_owned()),
        ];
        let code = match status {
            "completed" => Some("200"),
            "busy" => Some("486"),
            "no-answer" | "canceled" => Some("487"),
            "failed" => Some("603"),
            _ => None,
        };
        form.extend(code.map(|code| ("SipResponseCode", code.to_owned())));
        self.told += 1;
        let (delay, times) = chance::callback(&mut self.rng, self.judge.manner);
        for _ in 0..times {
            let url = order.status_url.clone();
            tokio::spawn(tell(
                self.judge.clone(),
                self.call.clone(),
                Told {
                    url,
                    form: form.clone(),
                    status,
                    delay,
                },
            ));
        }
    }

    fn tell_who_answered(&self) {
        let Some(url) = self.call.order.verdict_url.clone() else {
            return;
        };
        let form = vec![
            ("CallSid", self.call.order.sid.clone()),
            ("AccountSid", ACCOUNT.to_owned()),
            ("AnsweredBy", "human".to_owned()),
            ("MachineDetectionDuration", "400".to_owned()),
        ];
        tokio::spawn(tell(
            self.judge.clone(),
            self.call.clone(),
            Told {
                url,
                form,
                status: "human",
                delay: 400,
            },
        ));
    }
}

/// Next step after a media socket is gone.
enum After {
    Follow(Instructions),
    Wait,
    HangUp,
}

/// Talks, then asks for further instructions, if it is told to.
async fn follow(judge: &Judge, call: &Call, instructions: Instructions) -> After {
    if instructions.pauses {
        sleep(Duration::from_secs(1)).await;
    }
    if let Some(stream) = &instructions.stream {
        media::stream(judge, call, stream).await;
    }
    let Some(back) = instructions.back else {
        return After::Wait;
    };
    let url = &back.url;
    let form = [
        ("CallSid", call.order.sid.clone()),
        ("AccountSid", ACCOUNT.to_owned()),
        ("CallStatus", "in-progress".to_owned()),
    ];
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(&form)
        .finish();
    let signature = sign(url, &form);
    for left in (0..=back.repeats).rev() {
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("x-twilio-signature", &*signature),
        ];
        let sent = http::send(Ask {
            method: "POST",
            url,
            headers: &headers,
            body: body.clone().into_bytes(),
            within: BACK_WITHIN,
        });
        let (answer, twiml) = sent.await.unwrap_or_default();
        let _ = judge.journal.write(Event::Back {
            call: call.order.sid.clone(),
            attempt: call.order.attempt.clone(),
            answer,
        });
        if left > 0 && back.repeats_after(answer) {
            sleep(BACK_AGAIN).await;
            continue;
        }
        let others = super::api::instructions(&String::from_utf8_lossy(&twiml));
        return others.filter(|_| answer == 200).map_or(After::HangUp, After::Follow);
    }
    After::HangUp
}

struct Told {
    url: String,
    form: Vec<(&'static str, String)>,
    status: &'static str,
    delay: u64,
}

/// Sends a callback until it is accepted or was sent often enough.
async fn tell(judge: Arc<Judge>, call: Arc<Call>, told: Told) {
    sleep(Duration::from_millis(told.delay)).await;
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(&told.form)
        .finish();
    let signature = sign(&told.url, &told.form);
    for pause in AGAIN.into_iter().map(Some).chain([None]) {
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("x-twilio-signature", &*signature),
        ];
        let sent = http::send(Ask {
            method: "POST",
            url: &told.url,
            headers: &headers,
            body: body.clone().into_bytes(),
            within: PATIENCE,
        });
        let answer = sent.await.map_or(0, |(status, _)| status);
        let _ = judge.journal.write(Event::Callback {
            call: call.order.sid.clone(),
            attempt: call.order.attempt.clone(),
            status: told.status.to_owned(),
            answer,
        });
        match pause {
            Some(pause) if answer == 0 || answer >= 500 => sleep(pause).await,
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Back;

    #[test]
    fn a_request_is_repeated_as_its_address_says() {
        let with = Back::read("http://a.example/back/1#rc=5&rp=5xx,ct,rt");
        assert_eq!((&*with.url, with.repeats), ("http://a.example/back/1", 5));
        assert_eq!(
            [0, 200, 404, 502].map(|answer| with.repeats_after(answer)),
            [true, false, false, true]
        );
        let without = Back::read("http://a.example/back/1");
        assert_eq!((&*without.url, without.repeats), ("http://a.example/back/1", 1));
        assert_eq!(
            [0, 200, 404, 502].map(|answer| without.repeats_after(answer)),
            [true, false, false, false]
        );
    }
}
