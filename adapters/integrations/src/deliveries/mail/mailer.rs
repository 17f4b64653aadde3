//! Sender of mail through one server.

use std::time::Duration;

use domain::{
    deliveries::MailTarget,
    ports::store::{Delivery, Store, StoreResult},
};
use lettre::{
    AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor,
    message::Mailbox,
    transport::smtp::{Error, PoolConfig},
};
use serde_json::Value;

use super::{
    invitation,
    message::{self, ComposeError},
};
use crate::deliveries::answer::Answer;

/// Time limit for each answer of the mail server.
const ANSWERS_WITHIN: Duration = Duration::from_secs(15);

/// Time limit for sending a message.
const SENT_WITHIN: Duration = Duration::from_secs(60);

/// Maximum number of connections to the server, and how long an idle one is kept.
const CONNECTIONS: (u32, Duration) = (8, Duration::from_secs(30));

/// Sender of mail through one server.
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl Mailer {
    /// Creates a mailer.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the fault in the address, without its password.
    pub fn new(url: &str, from: Mailbox) -> Result<Self, Error> {
        net::http_client::install_cryptography();
        let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(url)?;
        let pool = PoolConfig::new().max_size(CONNECTIONS.0).idle_timeout(CONNECTIONS.1);
        let transport = builder.timeout(Some(ANSWERS_WITHIN)).pool_config(pool).build();
        Ok(Self { transport, from })
    }

    /// Tries once to send the mail of a call. `told` is the conversation.
    pub(crate) async fn send(&self, store: &dyn Store, delivery: &Delivery, told: &Value) -> StoreResult<Answer> {
        let target: MailTarget = match serde_json::from_str(&delivery.target) {
            Ok(target) => target,
            Err(error) => return Ok(Answer::failed(format!("emailConfiguration cannot be read: {error}"))),
        };
        let values = message::values(store, delivery, told).await?;
        Ok(self
            .post(message::compose(&self.from, &target, delivery, told, &values))
            .await)
    }

    /// Tries once to send an invitation.
    pub(crate) async fn invite(&self, store: &dyn Store, delivery: &Delivery) -> StoreResult<Answer> {
        let Ok(id) = delivery.target.parse() else {
            return Ok(Answer::failed("the delivery names no appointment"));
        };
        let appointment = store.appointment(id).await?;
        Ok(self.post(invitation::compose(&self.from, delivery, &appointment)).await)
    }

    async fn post(&self, composed: Result<Message, ComposeError>) -> Answer {
        let message = match composed {
            Ok(message) => message,
            Err(error) => return Answer::failed(format!("cannot compose the mail: {error}")),
        };
        match tokio::time::timeout(SENT_WITHIN, self.transport.send(message)).await {
            Ok(Ok(_)) => Answer::Arrived,
            Ok(Err(error)) => Answer::failed(failure(&error)),
            Err(_) => Answer::failed(format!(
                "the mail server did not accept the mail within {} s",
                SENT_WITHIN.as_secs()
            )),
        }
    }
}

fn failure(error: &Error) -> String {
    use std::error::Error as _;
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("the mail server did not accept the mail: {error}{cause}")
}
