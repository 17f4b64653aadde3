//! Commands to a call.

use std::sync::{Arc, atomic::Ordering};

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    Switch,
    api::{Refused, broken, new_id, refusal, telephone, unprocessable},
    call::{Call, Change, Leg, Stage, StreamAsk},
    lock,
};

pub(super) async fn command(
    State(switch): State<Arc<Switch>>,
    Path((id, action)): Path<(String, String)>,
    headers: HeaderMap,
    Json(wish): Json<Value>,
) -> Response {
    if let Err(refused) = switch.knows(&headers) {
        return refused.into_response();
    }
    lock(&switch.commands).push((action.clone(), wish.clone()));
    match obey(&switch, &id, &action, &wish).await {
        Ok(()) if switch.breaks() => broken().into_response(),
        Ok(()) => Json(json!({ "data": { "result": "ok" } })).into_response(),
        Err(refused) => refused.into_response(),
    }
}

fn unknown() -> Refused {
    refusal(StatusCode::NOT_FOUND, "10005", "Resource not found", "")
}

fn over() -> Refused {
    unprocessable("90018", "Call has already ended", "")
}

async fn obey(switch: &Arc<Switch>, id: &str, action: &str, wish: &Value) -> Result<(), Refused> {
    let call = switch.call(id).ok_or_else(unknown)?;
    if !call.is_new(wish["command_id"].as_str()) {
        return Ok(());
    }
    match (action, call.stage()) {
        (_, Stage::Over) => Err(over()),
        ("hangup", _) => {
            switch.cut_off(&call).await;
            Ok(())
        }
        ("answer" | "reject", Stage::Begun) if call.leg.is_incoming => switch.settle(&call, action, wish).await,
        (_, Stage::Begun) => Err(unprocessable("90034", "This call is not answered yet", "")),
        ("transfer", Stage::Answered) => switch.transfer(&call, wish).await,
        ("bridge", Stage::Answered) => switch.bridge(&call, wish),
        ("refer", Stage::Answered) => switch.refer(&call, wish),
        ("send_dtmf", Stage::Answered) => switch.press(&call, wish),
        ("streaming_start", Stage::Answered) => stream(&call, wish),
        ("streaming_stop", Stage::Answered) => {
            call.change(Change::StopStream);
            call.streams.store(false, Ordering::SeqCst);
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
    if call.streams.swap(true, Ordering::SeqCst) {
        return Err(unprocessable("90045", "Media streaming is already active", ""));
    }
    call.change(Change::Stream(ask));
    Ok(())
}

impl Switch {
    fn breaks(&self) -> bool {
        let take_one = |left: usize| left.checked_sub(1);
        self.broken
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take_one)
            .is_ok()
    }

    /// A call from outside is answered, or turned away.
    async fn settle(self: &Arc<Self>, call: &Arc<Call>, action: &str, wish: &Value) -> Result<(), Refused> {
        if action == "reject" {
            let (cause, sip) = match wish["cause"].as_str() {
                Some("CALL_REJECTED") => ("call_rejected", "603"),
                Some("USER_BUSY") => ("user_busy", "486"),
                _ => return Err(unprocessable("10015", "Invalid cause", "/cause")),
            };
            self.ended(call, cause, sip);
            return Ok(());
        }
        let own_address_only = self.settings.faults.own_address_only;
        let url = Some(text(wish, "webhook_url")).filter(|url| !url.is_empty() && !own_address_only);
        call.reports_to(
            url.unwrap_or_else(|| call.webhook_url()),
            wish["client_state"].as_str().map(str::to_owned),
        );
        *lock(&call.first_stream) = asked_stream(wish);
        self.ring(call).await
    }

    /// Rings somebody, and joins the two.
    async fn transfer(self: &Arc<Self>, call: &Arc<Call>, wish: &Value) -> Result<(), Refused> {
        let to = text(wish, "to");
        let other = self.add(Leg {
            id: new_id(),
            phone: telephone(&to, "/to")?,
            from: wish["from"].as_str().unwrap_or(&call.leg.to).to_owned(),
            to,
            ring_seconds: wish["timeout_secs"].as_u64().unwrap_or(30),
            webhook_url: text(wish, "webhook_url"),
            client_state: wish["target_leg_client_state"].as_str().map(str::to_owned),
            ..Leg::default()
        });
        self.begin(&other).await?;
        let (switch, call) = (self.clone(), call.clone());
        self.spawn(async move {
            tokio::select! {
                () = other.until(Stage::Answered) => if !other.is_over() {
                    switch.join(&call, &other);
                    switch.tell(&other, "call.bridged", json!({}));
                },
                () = call.until(Stage::Over) => switch.cut_off(&other).await,
            }
        });
        Ok(())
    }

    fn bridge(self: &Arc<Self>, call: &Arc<Call>, wish: &Value) -> Result<(), Refused> {
        let other = self.call(&text(wish, "call_control_id")).ok_or_else(unknown)?;
        if other.stage() != Stage::Answered {
            return Err(over());
        }
        self.join(call, &other);
        self.tell(call, "call.bridged", json!({}));
        self.tell(&other, "call.bridged", json!({}));
        Ok(())
    }

    /// Two legs talk until one of them is over; then the other one is too.
    fn join(self: &Arc<Self>, one: &Arc<Call>, other: &Arc<Call>) {
        let room = new_id();
        for leg in [one, other] {
            leg.change(Change::Room(room.clone()));
        }
        let (switch, one, other) = (self.clone(), one.clone(), other.clone());
        self.spawn(async move {
            tokio::select! {
                () = one.until(Stage::Over) => switch.cut_off(&other).await,
                () = other.until(Stage::Over) => switch.cut_off(&one).await,
            }
        });
    }

    /// The peer takes it, unless the number it is sent to is a busy one.
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
        let (switch, call) = (self.clone(), call.clone());
        self.spawn(async move { switch.cut_off(&call).await });
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
        lock(&self.keys).push(keys.clone());
        call.change(Change::Keys(keys));
        Ok(())
    }
}
