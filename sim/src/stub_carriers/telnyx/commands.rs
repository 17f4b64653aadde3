//! Commands to a call.

use std::sync::{Arc, Mutex, atomic::Ordering};

use axum::{
    Json,
    extract::{Path, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    api::{Refused, broken, new_id, telephone, unprocessable},
    call::{Call, Change, Order, StreamAsk},
    stub::{Telnyx, take_one},
};
use crate::stub_carriers::{base::phones::Cause, legs::Stage, settings::locked};

pub(super) async fn command(
    State(stub): State<Arc<Telnyx>>,
    Path((id, action)): Path<(String, String)>,
    headers: HeaderMap,
    Json(wish): Json<Value>,
) -> Response {
    if let Err(refused) = stub.knows(&headers) {
        return refused.into_response();
    }
    locked(&stub.commands).push((action.clone(), wish.clone()));
    match obey(&stub, &id, &action, &wish).await {
        Ok(()) if take_one(&stub.broken) => broken().into_response(),
        Ok(()) => Json(json!({ "data": { "result": "ok" } })).into_response(),
        Err(refused) => refused.into_response(),
    }
}

fn unknown() -> Refused {
    unprocessable("90015", "Invalid Call Control ID", "/call_control_id")
}

fn over() -> Refused {
    unprocessable("90018", "Call has already ended", "")
}

async fn obey(stub: &Arc<Telnyx>, id: &str, action: &str, wish: &Value) -> Result<(), Refused> {
    let call = stub.calls.get(id).ok_or_else(unknown)?;
    if !call.is_new(wish["command_id"].as_str()) {
        return Ok(());
    }
    match (action, call.stage()) {
        (_, Stage::Over(_)) => Err(over()),
        ("hangup", _) => {
            stub.cut_off(&call).await;
            Ok(())
        }
        ("answer" | "reject", Stage::Queued | Stage::Started | Stage::Ringing) if call.order.is_incoming => {
            stub.settle(&call, action, wish).await
        }
        (_, Stage::Queued | Stage::Started | Stage::Ringing) => {
            Err(unprocessable("90034", "This call is not answered yet", ""))
        }
        ("transfer", Stage::Answered) => stub.transfer(&call, wish).await,
        ("bridge", Stage::Answered) => stub.bridge(&call, wish),
        ("refer", Stage::Answered) => stub.refer(&call, wish),
        ("send_dtmf", Stage::Answered) => stub.press(&call, wish),
        ("streaming_start", Stage::Answered) => stream(&call, wish),
        ("streaming_stop", Stage::Answered) => {
            call.change(Change::StopStream);
            call.order.streams.store(false, Ordering::SeqCst);
            Ok(())
        }
        _ => Err(unknown()),
    }
}

fn text(wish: &Value, field: &str) -> String {
    wish[field].as_str().unwrap_or_default().to_owned()
}

fn asked_stream(wish: &Value) -> Option<StreamAsk> {
    let ask: StreamAsk = serde_json::from_value(wish.clone()).ok()?;
    (!ask.stream_url.is_empty()).then_some(ask)
}

fn stream(call: &Call, wish: &Value) -> Result<(), Refused> {
    let Some(ask) = asked_stream(wish) else {
        return Err(unprocessable("10015", "Invalid stream_url", "/stream_url"));
    };
    if call.order.streams.swap(true, Ordering::SeqCst) {
        return Err(unprocessable("90045", "Media streaming is already active", ""));
    }
    call.change(Change::Stream(ask));
    Ok(())
}

impl Telnyx {
    /// Answers or rejects an inbound call.
    async fn settle(self: &Arc<Self>, call: &Arc<Call>, action: &str, wish: &Value) -> Result<(), Refused> {
        if action == "reject" {
            let cause = match wish["cause"].as_str() {
                Some("CALL_REJECTED") => Cause::Rejected,
                Some("USER_BUSY") => Cause::Busy,
                _ => return Err(unprocessable("10015", "Invalid cause", "/cause")),
            };
            self.ended(call, cause);
            return Ok(());
        }
        // Its documented fields lack these two, which a dial and `streaming_start` have.
        for unknown in ["stream_auth_token", "stream_bidirectional_sampling_rate"] {
            if wish.get(unknown).is_some() {
                return Err(unprocessable("10015", &format!("Unknown field {unknown}"), ""));
            }
        }
        let own_address_only = self.settings.faults.own_address_only;
        let url = Some(text(wish, "webhook_url")).filter(|url| !url.is_empty() && !own_address_only);
        let url = url.unwrap_or_else(|| call.webhook_url());
        *locked(&call.order.reports) = (url, wish["client_state"].as_str().map(str::to_owned));
        *locked(&call.order.first_stream) = asked_stream(wish);
        self.ring(call).await
    }

    /// Rings the target and joins the two.
    async fn transfer(self: &Arc<Self>, call: &Arc<Call>, wish: &Value) -> Result<(), Refused> {
        let to = text(wish, "to");
        let state = wish["target_leg_client_state"].as_str().map(str::to_owned);
        let order = Order {
            phone: telephone(&to, "/to")?,
            from: wish["from"].as_str().unwrap_or(&call.order.to).to_owned(),
            to,
            ring_seconds: wish["timeout_secs"].as_u64().unwrap_or(30),
            reports: Mutex::new((text(wish, "webhook_url"), state)),
            ..Order::default()
        };
        let other = self.begin(order).await?;
        let (stub, call) = (self.clone(), call.clone());
        self.base.spawn(async move {
            tokio::select! {
                () = other.settled() => if !other.is_over() {
                    stub.join(&call, &other);
                    stub.tell(&other, "call.bridged", json!({}));
                },
                () = call.ended() => stub.cut_off(&other).await,
            }
        });
        Ok(())
    }

    fn bridge(self: &Arc<Self>, call: &Arc<Call>, wish: &Value) -> Result<(), Refused> {
        let other = self.calls.get(&text(wish, "call_control_id")).ok_or_else(unknown)?;
        if other.stage() != Stage::Answered {
            return Err(over());
        }
        self.join(call, &other);
        self.tell(call, "call.bridged", json!({}));
        self.tell(&other, "call.bridged", json!({}));
        Ok(())
    }

    /// Lets two legs talk until one of them is over; then ends the other one too.
    fn join(self: &Arc<Self>, one: &Arc<Call>, other: &Arc<Call>) {
        let room = new_id();
        for leg in [one, other] {
            leg.change(Change::Room(room.clone()));
        }
        let (stub, one, other) = (self.clone(), one.clone(), other.clone());
        self.base.spawn(async move {
            tokio::select! {
                () = one.ended() => stub.cut_off(&other).await,
                () = other.ended() => stub.cut_off(&one).await,
            }
        });
    }

    /// The peer accepts a REFER unless its target number is a busy one.
    fn refer(self: &Arc<Self>, call: &Arc<Call>, wish: &Value) -> Result<(), Refused> {
        let address = text(wish, "sip_address");
        if !address.starts_with("sip:") {
            return Err(unprocessable("10015", "Invalid SIP address", "/sip_address"));
        }
        self.tell(call, "call.refer.started", json!({}));
        if telephone(&address, "/sip_address")?.ends_with('6') {
            self.tell(call, "call.refer.failed", json!({ "sip_notify_response": 486 }));
            return Ok(());
        }
        self.tell(call, "call.refer.completed", json!({ "sip_notify_response": 200 }));
        let (stub, call) = (self.clone(), call.clone());
        self.base.spawn(async move { stub.cut_off(&call).await });
        Ok(())
    }

    fn press(&self, call: &Call, wish: &Value) -> Result<(), Refused> {
        let keys = text(wish, "digits");
        let known = |key: char| matches!(key, '0'..='9' | 'A'..='D' | '*' | '#' | 'w' | 'W');
        if keys.is_empty() || !keys.chars().all(known) {
            return Err(unprocessable("10015", "Invalid digits", "/digits"));
        }
        if !(100..=500).contains(&wish["duration_millis"].as_u64().unwrap_or(250)) {
            return Err(unprocessable("10015", "Invalid duration", "/duration_millis"));
        }
        self.base.pressed(&keys);
        call.change(Change::Keys(keys));
        Ok(())
    }
}
