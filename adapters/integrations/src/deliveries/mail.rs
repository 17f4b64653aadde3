//! Mail after calls: the settings of a server, and one message of text and HTML to all of its recipients.

mod invitation;
mod message;
mod settings;

pub use settings::{MailConfig, MailConfigError, SmtpUrl};

use std::time::Duration;

use domain::{
    agent::Agent,
    deliveries::MailTarget,
    ports::{
        NotReady,
        store::{Delivery, Store, StoreResult},
    },
};
use lettre::{
    AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor,
    message::Mailbox,
    transport::smtp::{Error, PoolConfig},
};
use serde_json::Value;

use super::Answer;

/// What is missing where no server is set.
pub(super) const NOT_CONFIGURED: &str = "no mail server is configured: set RINGBACK_SMTP_URL and RINGBACK_MAIL_FROM";

/// How long the server may take for each of its answers.
const ANSWERS_WITHIN: Duration = Duration::from_secs(15);

/// How long all of a message may take.
const SENT_WITHIN: Duration = Duration::from_secs(60);

/// Connections to the server at once, and how long one is kept for the next message.
const CONNECTIONS: (u32, Duration) = (8, Duration::from_secs(30));

/// Sends mail through one server.
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl Mailer {
    /// # Errors
    /// What is wrong with the address, without its password.
    pub fn new(url: &str, from: Mailbox) -> Result<Self, Error> {
        net::http_client::install_cryptography();
        let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(url)?;
        let pool = PoolConfig::new().max_size(CONNECTIONS.0).idle_timeout(CONNECTIONS.1);
        let transport = builder.timeout(Some(ANSWERS_WITHIN)).pool_config(pool).build();
        Ok(Self { transport, from })
    }

    /// One try; `told` is the conversation.
    pub(super) async fn send(&self, store: &dyn Store, delivery: &Delivery, told: &Value) -> StoreResult<Answer> {
        let target: MailTarget = match serde_json::from_str(&delivery.target) {
            Ok(target) => target,
            Err(error) => return Ok(Answer::failed(format!("emailConfiguration cannot be read: {error}"))),
        };
        let values = message::values(store, delivery, told).await?;
        Ok(self
            .post(message::compose(&self.from, &target, delivery, told, &values))
            .await)
    }

    /// One try to bring an invitation.
    pub(super) async fn invite(&self, store: &dyn Store, delivery: &Delivery) -> StoreResult<Answer> {
        let Ok(id) = delivery.target.parse() else {
            return Ok(Answer::failed("it names no appointment"));
        };
        let appointment = store.appointment(id).await?;
        Ok(self.post(invitation::compose(&self.from, delivery, &appointment)).await)
    }

    async fn post(&self, composed: Result<Message, String>) -> Answer {
        let message = match composed {
            Ok(message) => message,
            Err(error) => return Answer::failed(format!("no mail can be made of it: {error}")),
        };
        match tokio::time::timeout(SENT_WITHIN, self.transport.send(message)).await {
            Ok(Ok(_)) => Answer::Arrived,
            Ok(Err(error)) => Answer::failed(failure(&error)),
            Err(_) => Answer::failed(format!(
                "the mail server did not take it within {} s",
                SENT_WITHIN.as_secs()
            )),
        }
    }
}

fn failure(error: &Error) -> String {
    use std::error::Error as _;
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("the mail server did not take it: {error}{cause}")
}

/// Whether the agent's mail could be sent at all.
///
/// # Errors
///
/// What to set.
pub fn ready_for(configured: bool, agent: &Agent) -> Result<(), NotReady> {
    let email = &agent.platform_settings.call_actions.post_call_email;
    match email.enabled {
        true if !configured => Err(NotReady(format!("postCallEmail is enabled, and {NOT_CONFIGURED}"))),
        true if MailTarget::of(email).is_none() => Err(NotReady(
            "postCallEmail is enabled, and nobody is to get it: name them in emailConfiguration.to".into(),
        )),
        true | false => Ok(()),
    }
}
