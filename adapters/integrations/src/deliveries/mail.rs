//! Mail after calls: the settings of the mail server, and one message in text and HTML for all recipients.

mod invitation;
mod mailer;
mod message;
mod settings;

use domain::{agent::Agent, deliveries::MailTarget, ports::NotReady};
pub use mailer::Mailer;
pub use settings::{MailConfig, MailConfigError, SmtpUrl};

/// Error message if no mail server is set.
pub(super) const NOT_CONFIGURED: &str = "no mail server is configured: set RINGBACK_SMTP_URL and RINGBACK_MAIL_FROM";

/// Checks that the agent's mail can be sent.
///
/// # Errors
///
/// Returns an error that names the setting to add.
pub fn ready_for(configured: bool, agent: &Agent) -> Result<(), NotReady> {
    let email = &agent.platform_settings.call_actions.post_call_email;
    match email.enabled {
        true if !configured => Err(NotReady(format!("postCallEmail is enabled, and {NOT_CONFIGURED}"))),
        true if MailTarget::of(email).is_none() => Err(NotReady(
            "postCallEmail is enabled without recipients: add them to emailConfiguration.to".into(),
        )),
        true | false => Ok(()),
    }
}
