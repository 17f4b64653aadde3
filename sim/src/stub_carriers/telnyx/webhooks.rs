//! Signed webhooks, in order or not.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;

use super::{
    call::Call,
    stub::{CONNECTION, Telnyx},
};
use crate::stub_carriers::base::delivery::Callbacks;

impl Telnyx {
    /// Returns the signature header of a body.
    pub(super) fn sign(&self, seconds: i64, body: &[u8]) -> String {
        let message = [seconds.to_string().as_bytes(), b"|", body].concat();
        BASE64.encode(self.key.sign(&message))
    }

    /// Sends a webhook of a call. If webhooks are not in order, it is sent twice and late: the earlier the later.
    pub(super) fn tell(self: &Arc<Self>, call: &Arc<Call>, event: &'static str, more: Value) {
        let faults = &self.settings.faults;
        if faults.no_webhooks {
            return;
        }
        let untidy = self.base.callbacks != Callbacks::InOrder;
        let (late, times) = match (untidy, event) {
            (false, _) => (Duration::ZERO, 1),
            (true, "call.initiated") => (Duration::from_secs(8), 2),
            (true, "call.answered") => (Duration::from_secs(1), 2),
            (true, _) => (Duration::ZERO, 2),
        };
        let behind = faults.late.filter(|(late, _)| *late == event).map(|(_, by)| by);
        let late = behind.unwrap_or(late);
        let body = self.body(call, event, more);
        let (stub, url) = (self.clone(), call.webhook_url());
        self.base.spawn(async move {
            for time in 0..times {
                sleep(late * (time + 1)).await;
                stub.post(&url, event, body.clone()).await;
            }
        });
    }

    fn body(&self, call: &Call, event: &str, more: Value) -> String {
        let (mut payload, leg) = (call.shown(), &call.order);
        let direction = if leg.is_incoming { "incoming" } else { "outgoing" };
        let known = json!({
            "connection_id": CONNECTION, "from": leg.from, "to": leg.to, "direction": direction,
        });
        for fields in [known, more] {
            if let (Some(payload), Value::Object(fields)) = (payload.as_object_mut(), fields) {
                payload.extend(fields);
            }
        }
        let occurred_at = self.base.clock.now().to_iso8601();
        let data = json!({
            "record_type": "event", "event_type": event, "id": Uuid::new_v4().to_string(),
            "occurred_at": occurred_at, "payload": payload,
        });
        json!({ "data": data, "meta": { "attempt": 1, "delivered_to": call.webhook_url() } }).to_string()
    }

    async fn post(&self, url: &str, event: &str, body: String) {
        let seconds = self.base.clock.now().0.div_euclid(1_000_000);
        let signature = self.sign(seconds, body.as_bytes());
        let request = self
            .base
            .client
            .post(url)
            .header("content-type", "application/json")
            .header("telnyx-signature-ed25519", signature)
            .header("telnyx-timestamp", seconds.to_string())
            .body(body);
        let answer = request.send().await;
        let status = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
        self.base.told(event, status);
        match answer {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => self.base.complain(format!("webhook answered {}", answer.status())),
            Err(error) => self
                .base
                .complain(format!("webhook not delivered: {}", error.without_url())),
        }
    }
}
