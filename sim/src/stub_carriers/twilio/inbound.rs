//! Calls to one of the account's numbers, whose voice address is the service's.

use std::sync::Arc;

use super::{
    call::{self, Order},
    stub::{ACCOUNT, Announced, Twilio},
    twiml::{self, Verb},
};
use crate::stub_carriers::{
    caller::{CallIn, Caller, Taken},
    settings::Dial,
};

/// Announces a call.
pub(super) async fn announce(stub: &Twilio, service: &str, sid: &str, caller: &Caller) -> Announced {
    let form = call::owned([
        ("CallSid", sid),
        ("AccountSid", ACCOUNT),
        ("From", &caller.from),
        ("To", &caller.to),
        ("CallStatus", "ringing"),
        ("Direction", "inbound"),
    ]);
    let url = format!("{service}/carriers/{}/inbound", stub.flavour.name());
    let (status, twiml) = stub.tell(&url, &form).await;
    Announced { status, twiml }
}

/// Makes a telephone call. If the call is accepted, its persona talks.
pub(super) async fn call_in(stub: &Arc<Twilio>, service: &str, sid: &str, caller: &Caller) -> Announced {
    let announced = announce(stub, service, sid, caller).await;
    let verbs = announced.verbs();
    if announced.connects() {
        let name = stub.flavour.name();
        let order = Order {
            sid: sid.to_owned(),
            dial: Dial {
                to: caller.to.clone(),
                from: caller.from.clone(),
                status_url: format!("{service}/carriers/{name}/events"),
                stream_url: String::new(),
            },
            phone: call::telephone(&caller.phone),
            persona: caller.persona.clone(),
            events: vec!["completed".to_owned()],
            ring_seconds: 30.0,
            verbs,
            direction: "inbound",
            ..Order::default()
        };
        if let Err(refused) = call::ring(stub, order).await {
            stub.base.complain(format!("no telephone: {refused:?}"));
        }
    }
    announced
}

impl Announced {
    fn verbs(&self) -> Vec<Verb> {
        twiml::parse(&self.twiml).unwrap_or_default()
    }

    fn connects(&self) -> bool {
        self.verbs().first().is_some_and(|verb| verb.stream().is_some())
    }
}

/// Returns the function that makes telephones call the service.
pub(super) fn by_order(stub: Arc<Twilio>) -> CallIn {
    Arc::new(move |sid, caller| {
        let stub = stub.clone();
        Box::pin(async move {
            let service = &stub.base.service;
            let announced = call_in(&stub, service, &sid, &caller).await;
            match announced.connects() {
                true => Taken::Connected,
                false => Taken::Refused(format!("{service} answered {}: {}", announced.status, announced.twiml)),
            }
        })
    })
}
