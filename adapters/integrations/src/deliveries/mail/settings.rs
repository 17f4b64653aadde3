//! Settings of outgoing mail.

use std::fmt;

use clap::Args;
use lettre::{message::Mailbox, transport::smtp};

use super::mailer::Mailer;

/// Description of a valid mail server address.
const WAYS: &str = "write smtps://USER:PASSWORD@HOST, or smtp://USER:PASSWORD@HOST:587?tls=required; special \
     characters of user and password as %40 and the like";

/// Mail server. Without settings no mail is sent.
#[derive(Debug, Clone, Default, Args)]
pub struct MailConfig {
    /// Mail server for postCallEmail, as smtps://USER:PASSWORD@HOST or
    /// smtp://USER:PASSWORD@HOST:587?tls=required [default: no mail]
    #[arg(long, env = "RINGBACK_SMTP_URL", hide_env_values = true)]
    pub smtp_url: Option<SmtpUrl>,

    /// Sender of that mail, such as Ringback <calls@example.com>
    #[arg(long, env = "RINGBACK_MAIL_FROM")]
    pub mail_from: Option<String>,
}

/// Wrong or missing setting of the mail server. It does not contain the password.
#[derive(Debug, thiserror::Error)]
pub enum MailConfigError {
    /// A server is set without a sender.
    #[error("RINGBACK_SMTP_URL needs a sender: set RINGBACK_MAIL_FROM too")]
    NoSender,
    /// A sender is set without a server.
    #[error("RINGBACK_MAIL_FROM needs a mail server: set RINGBACK_SMTP_URL too")]
    NoServer,
    /// The sender is not a mail address.
    #[error("RINGBACK_MAIL_FROM: `{0}` is not an address; write one such as Ringback <calls@example.com>")]
    Sender(String),
    /// The server's address has no scheme. Holds the address without user and password.
    #[error("RINGBACK_SMTP_URL: `{0}` has no smtps:// or smtp:// in front; {WAYS}")]
    NoScheme(String),
    /// The server's address is invalid.
    #[error("RINGBACK_SMTP_URL: `{url}` is not an address of a mail server: {error}; {WAYS}")]
    Server {
        /// Address without user and password.
        url: String,
        /// Cause.
        error: smtp::Error,
    },
}

/// Address of a mail server that does not show its password.
#[derive(Clone, PartialEq, Eq)]
pub struct SmtpUrl(String);

impl From<&str> for SmtpUrl {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl SmtpUrl {
    /// Returns the address for messages. User and password are hidden, and all of it if a password may be
    /// anywhere else.
    fn without_password(&self) -> String {
        let (scheme, rest) = match self.0.split_once("://") {
            Some((scheme, rest)) => (format!("{scheme}://"), rest),
            None => (String::new(), self.0.as_str()),
        };
        let is_host = |text: &str| match text.split_once(':') {
            Some((host, port)) => !host.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()),
            None => true,
        };
        let host = rest.rsplit('@').next().unwrap_or_default();
        let host = host.split(['/', '?', '#']).next().unwrap_or_default();
        match (is_host(host), rest.contains('@')) {
            (true, true) => format!("{scheme}***@{host}"),
            (true, false) => format!("{scheme}{host}"),
            (false, _) => format!("{scheme}…"),
        }
    }
}

impl fmt::Debug for SmtpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SmtpUrl(***)")
    }
}

impl MailConfig {
    /// Returns whether mail can be sent.
    pub fn is_set(&self) -> bool {
        self.smtp_url.is_some()
    }

    /// Returns the mailer, if one is configured.
    ///
    /// # Errors
    ///
    /// Returns an error that names the wrong or missing setting, without the password.
    pub fn mailer(&self) -> Result<Option<Mailer>, MailConfigError> {
        let (url, from) = match (&self.smtp_url, &self.mail_from) {
            (None, None) => return Ok(None),
            (Some(url), Some(from)) => (url, from),
            (Some(_), None) => return Err(MailConfigError::NoSender),
            (None, Some(_)) => return Err(MailConfigError::NoServer),
        };
        let sender: Mailbox = from.parse().map_err(|_| MailConfigError::Sender(from.clone()))?;
        if !url.0.contains("://") {
            return Err(MailConfigError::NoScheme(url.without_password()));
        }
        let mailer = Mailer::new(&url.0, sender).map_err(|error| MailConfigError::Server {
            url: url.without_password(),
            error,
        })?;
        Ok(Some(mailer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(url: Option<&str>, from: Option<&str>) -> String {
        let config = MailConfig {
            smtp_url: url.map(SmtpUrl::from),
            mail_from: from.map(str::to_owned),
        };
        assert!(!format!("{config:?}").contains("s3cret"));
        config.mailer().err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[tokio::test]
    async fn settings_go_together_and_their_errors_hold_no_password() {
        assert_eq!(wrong(None, None), "");
        let good = "smtps://ada:s3cret@mail.example.com";
        assert_eq!(wrong(Some(good), Some("Ringback <calls@example.com>")), "");
        assert!(wrong(Some(good), None).contains("RINGBACK_MAIL_FROM"));
        assert!(wrong(None, Some("calls@example.com")).contains("RINGBACK_SMTP_URL"));
        assert!(wrong(Some(good), Some("nobody")).contains("`nobody` is not an address"));
        for (bad, says) in [
            (
                "http://ada:s3cret@mail.example.com",
                "`http://***@mail.example.com` is not",
            ),
            ("smtp://ada:s3cret@h?tls=what", "`smtp://***@h` is not"),
            ("smtp://ada:s3cret", "`smtp://…` is not"),
            ("ada:s3cret@mail", "`***@mail` has no smtps://"),
            ("ada:s3cret", "`…` has no smtps://"),
            ("mail.example.com:465", "`mail.example.com:465` has no smtps://"),
            ("x", "`x` has no smtps://"),
        ] {
            let error = wrong(Some(bad), Some("calls@example.com"));
            assert!(
                error.starts_with("RINGBACK_SMTP_URL: ") && error.contains(says) && !error.contains("s3cret"),
                "{error}"
            );
            assert!(error.contains("write smtps://USER:PASSWORD@HOST"), "{error}");
        }
    }
}
