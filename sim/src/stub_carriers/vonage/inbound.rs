//! Calls to one of the application's numbers, whose answer URL is the service's.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    leg::{self, Order},
    stub::{Announced, Vonage},
};
use crate::stub_carriers::caller::{CallIn, Caller, Taken};

/// Announces a call; returns `None` if there is no response.
pub(super) async fn announce(stub: &Vonage, service: &str, uuid: &str, caller: &Caller) -> Option<Announced> {
    let [from, to] = [&caller.from, &caller.to].map(|number| number.trim_start_matches('+'));
    let body = json!({ "from": from, "to": to, "uuid": uuid, "conversation_uuid": format!("CON-{uuid}") });
    let answer = stub.post(&format!("{service}/carriers/vonage/inbound"), &body).await?;
    let status = answer.status().as_u16();
    let ncco = stub.instructions(answer).await;
    Some(Announced { status, ncco })
}

/// Makes a telephone call. If the call is accepted, its persona talks.
pub(super) async fn call_in(stub: &Arc<Vonage>, service: &str, uuid: &str, caller: &Caller) -> Option<Announced> {
    let announced = announce(stub, service, uuid, caller).await?;
    let ncco = announced.actions();
    if !ncco.is_empty() {
        let order = Order {
            uuid: uuid.to_owned(),
            phone: caller.phone.clone(),
            persona: caller.persona.clone(),
            from: caller.from.trim_start_matches('+').to_owned(),
            to: caller.to.trim_start_matches('+').to_owned(),
            event_url: format!("{service}/carriers/vonage/events"),
            ring_seconds: 30.0,
            ncco,
            ..Order::default()
        };
        leg::ring(stub, order).await.ok()?;
    }
    Some(announced)
}

impl Announced {
    fn actions(&self) -> Vec<Value> {
        self.ncco.as_array().cloned().unwrap_or_default()
    }
}

/// Returns the function that makes telephones call the service.
pub(super) fn by_order(stub: Arc<Vonage>) -> CallIn {
    Arc::new(move |uuid, caller| {
        let stub = stub.clone();
        Box::pin(async move {
            let service = &stub.base.service;
            match call_in(&stub, service, &uuid, &caller).await {
                Some(announced) if !announced.actions().is_empty() => Taken::Connected,
                Some(announced) => {
                    Taken::Refused(format!("{service} answered {}: {}", announced.status, announced.ncco))
                }
                None => Taken::Refused(format!("nothing answers at {service}, or no telephone rings")),
            }
        })
    })
}
