//! Signed webhooks, in order or not.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;

use super::{Call, Switch, lock};
use crate::stub_carriers::Delivered;

impl Switch {
    /// The signature header of a body.
    pub(super) fn sign(&self, seconds: i64, body: &[u8]) -> String {
        let message = [seconds.to_string().as_bytes(), b"|", body].concat();
        BASE64.encode(self.key.sign(&message))
    }

    /// Sends a webhook of a call. Untidy ones come late, the earlier the later, and twice.
    pub(super) fn tell(self: &Arc<Self>, call: &Arc<Call>, event: &'static str, more: Value) {
        let faults = &self.settings.faults;
        if faults.no_webhooks {
            return;
        }
        let (late, times) = match (faults.untidy_webhooks, event) {
            (false, _) => (Duration::ZERO, 1),
            (true, "call.initiated") => (Duration::from_secs(8), 2),
            (true, "call.answered") => (Duration::from_secs(1), 2),
            (true, _) => (Duration::ZERO, 2),
        };
        let behind = faults.late.filter(|(late, _)| *late == event).map(|(_, by)| by);
        let late = behind.unwrap_or(late);
        let body = self.body(call, event, more);
        let (switch, url) = (self.clone(), call.webhook_url());
        self.spawn(async move {
            for time in 0..times {
                sleep(late * (time + 1)).await;
                switch.post(&url, event, body.clone()).await;
            }
        });
    }

    fn body(&self, call: &Call, event: &str, more: Value) -> String {
        let (mut payload, leg) = (call.shown(), &call.leg);
        let direction = if leg.is_incoming { "incoming" } else { "outgoing" };
        let known = json!({
            "connection_id": self.settings.connection, "from": leg.from, "to": leg.to, "direction": direction,
        });
        for fields in [known, more] {
            if let (Some(payload), Value::Object(fields)) = (payload.as_object_mut(), fields) {
                payload.extend(fields);
            }
        }
        let occurred_at = self.settings.exchange.clock.now().to_iso8601();
        let data = json!({
            "record_type": "event", "event_type": event, "id": Uuid::new_v4().to_string(),
            "occurred_at": occurred_at, "payload": payload,
        });
        json!({ "data": data, "meta": { "attempt": 1, "delivered_to": call.webhook_url() } }).to_string()
    }

    async fn post(&self, url: &str, event: &str, body: String) {
        let seconds = self.settings.exchange.clock.now().0.div_euclid(1_000_000);
        let signature = self.sign(seconds, body.as_bytes());
        let request = self
            .client
            .post(url)
            .header("content-type", "application/json")
            .header("telnyx-signature-ed25519", signature)
            .header("telnyx-timestamp", seconds.to_string())
            .body(body);
        let answer = request.send().await;
        lock(&self.delivered).push(Delivered {
            status: event.to_owned(),
            answer: answer.as_ref().map_or(0, |answer| answer.status().as_u16()),
        });
        match answer {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => self.complain(format!("webhook answered {}", answer.status())),
            Err(error) => self.complain(format!("webhook not delivered: {}", error.without_url())),
        }
    }
}
