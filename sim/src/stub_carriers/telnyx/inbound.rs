//! Calls to one of the account's numbers, whose application is the service's.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use tokio::time::timeout;

use super::{
    call::{Call, Order},
    stub::Telnyx,
};
use crate::stub_carriers::caller::{CallIn, Caller, Taken};

/// Longest wait of an inbound call for its answer; the telephone that makes it waits as long.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);

impl Telnyx {
    /// Makes a telephone call. If the call is answered, its persona talks.
    pub(super) fn call_in(self: &Arc<Self>, service: &str, id: &str, caller: &Caller) -> Arc<Call> {
        let order = Order {
            phone: caller.phone.clone(),
            persona: caller.persona.clone(),
            from: caller.from.clone(),
            to: caller.to.clone(),
            is_incoming: true,
            ring_seconds: 30,
            reports: Mutex::new((format!("{service}/carriers/telnyx/inbound"), None)),
            ..Order::default()
        };
        let (call, _) = self.calls.add(id.to_owned(), order, self.base.clock.now());
        self.announce(&call);
        call
    }

    /// Announces an inbound call.
    pub(super) fn announce(self: &Arc<Self>, call: &Arc<Call>) {
        self.tell(call, "call.initiated", json!({ "state": "parked" }));
    }
}

/// Returns the function that makes telephones call the service.
pub(super) fn by_order(stub: Arc<Telnyx>) -> CallIn {
    Arc::new(move |id, caller| {
        let stub = stub.clone();
        Box::pin(async move {
            let service = stub.base.service.clone();
            let call = stub.call_in(&service, &format!("v3:{id}"), &caller);
            let settled = timeout(ANSWERED_WITHIN, call.settled()).await;
            match (settled, call.is_over()) {
                (Ok(()), false) => Taken::Connected,
                (Ok(()), true) => Taken::Refused(format!("{service} rejected the call")),
                (Err(_), _) => {
                    stub.cut_off(&call).await;
                    Taken::Refused(format!("{service} did not answer the call"))
                }
            }
        })
    })
}
