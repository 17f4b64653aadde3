//! Places, ends, finds and transfers calls at an Asterisk.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{
        Carrier, CarrierAbilities, CarrierCallId, CarrierError, DialError, DialRequest, ListedCall, Transfer, WayBack,
    },
    time::Timestamp,
};
use tokio::sync::oneshot;

use super::{
    account::NAME,
    ari::Originate,
    call::{CallState, Happening},
    effects::Order,
    names::Part,
    switch::{Connection, Switch},
};
use crate::http;

/// Carrier client for an Asterisk.
#[derive(Debug, Clone)]
pub struct AsteriskCarrier {
    switch: Arc<Switch>,
}

impl AsteriskCarrier {
    /// Creates a client for this switch.
    pub fn new(switch: Arc<Switch>) -> Self {
        Self { switch }
    }

    fn originate(&self, request: &DialRequest, channel: String) -> Originate {
        let account = self.switch.ari.account();
        let from = request.from.as_ref().or(account.from.as_ref());
        Originate {
            channel,
            endpoint: account.endpoint.with(&request.to),
            caller: from.map(|number| number.as_str().to_owned()),
            ring_seconds: request.ring_timeout.as_secs().max(1),
            formats: None,
            attempt: request.attempt,
        }
    }
}

#[async_trait]
impl Carrier for AsteriskCarrier {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn dial(&self, request: &DialRequest) -> Result<CarrierCallId, DialError> {
        self.switch.hears().await.map_err(|link| match link {
            Connection::Refused(words) => DialError::AccountRefused(words),
            Connection::Down(words) => DialError::Unreachable(format!("no connection to Asterisk's events: {words}")),
            Connection::Up => DialError::Unreachable("no connection to Asterisk's events".to_owned()),
        })?;
        let attempt = request.attempt;
        let call = CarrierCallId(self.switch.names.channel(attempt, Part::Call));
        // Before the request is sent, because events may arrive before its response.
        self.switch
            .begin(call.clone(), http::way_back(request), CallState::new());
        match self
            .switch
            .ari
            .dial(&self.originate(request, call.0.clone()), &request.last_look)
            .await
        {
            Ok(()) => {
                self.switch.happens(attempt, Happening::Placed);
                Ok(call)
            }
            Err(unknown @ DialError::Unknown(_)) => Err(unknown),
            Err(error) => {
                self.switch.forget(attempt);
                Err(error)
            }
        }
    }

    async fn hang_up(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        let call = http::addressable(call)?;
        if let Some(attempt) = self.switch.attempt_of(&call) {
            self.switch.happens(attempt, Happening::HangingUp);
        }
        self.switch.ari.hang_up(&call.0, "normal").await
    }

    /// Asterisk lists existing channels only, by our names and not by number. Finished calls are not listed.
    async fn find_calls(&self, _: &PhoneNumber, _: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        let channels = self.switch.ari.channels().await?;
        let ours = channels.into_iter().filter_map(|channel| {
            let (attempt, part) = self.switch.owner(&channel.id)?;
            (part == Part::Call).then(|| ListedCall {
                call: CarrierCallId(channel.id),
                attempt: Some(attempt),
                to: String::new(),
                live: true,
            })
        });
        Ok(ours.collect())
    }

    fn abilities(&self) -> CarrierAbilities {
        CarrierAbilities {
            detects_machines: false,
            refer: true,
            digits: true,
            comes_back: false,
        }
    }

    async fn transfer(&self, call: &CarrierCallId, transfer: &Transfer) -> Result<(), CarrierError> {
        let attempt = self.switch.attempt_of(call).ok_or(CarrierError::NotFound)?;
        let (reply, answer) = oneshot::channel();
        if !self.switch.order(attempt, Order::HandOn(transfer.clone(), reply)) {
            return Err(CarrierError::NotFound);
        }
        answer.await.unwrap_or(Err(CarrierError::NotFound))
    }

    async fn send_digits(&self, call: &CarrierCallId, digits: &str) -> Result<(), CarrierError> {
        self.switch.ari.press(&http::addressable(call)?.0, digits).await
    }

    async fn reopen_media(&self, call: &CarrierCallId, back: &WayBack) -> Result<(), CarrierError> {
        let attempt = self.switch.attempt_of(call).ok_or(CarrierError::NotFound)?;
        match self.switch.order(attempt, Order::Reopen(back.clone())) {
            true => Ok(()),
            false => Err(CarrierError::NotFound),
        }
    }
}
