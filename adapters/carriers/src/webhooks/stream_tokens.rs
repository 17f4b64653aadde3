//! Tokens that authenticate media sockets. They depend on a key of the account, so that an address from a log is not
//! enough to open one. Pure.

use std::fmt;

use axum::http::HeaderValue;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
use domain::id::AttemptId;
use ring::hmac;
use subtle::ConstantTimeEq;

use crate::link::media_socket::Claim;

/// How a carrier presents a token.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// 64 hex digits.
    Hex,
    /// `Bearer` and base64.
    Bearer,
}

/// Generator and verifier of the tokens that a carrier presents when it opens a media socket.
#[derive(Clone)]
pub struct StreamTokens {
    carrier: &'static str,
    form: Form,
    key: hmac::Key,
}

impl fmt::Debug for StreamTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamTokens(…)")
    }
}

impl StreamTokens {
    pub(crate) fn new(carrier: &'static str, form: Form, secret: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        Self { carrier, form, key }
    }

    /// Returns the token of an attempt's call.
    pub fn token(&self, attempt: AttemptId) -> String {
        let message = format!("{} media stream {attempt}", self.carrier);
        let tag = hmac::sign(&self.key, message.as_bytes());
        match self.form {
            Form::Hex => hex::encode(tag),
            Form::Bearer => format!("Bearer {}", BASE64URL.encode(tag)),
        }
    }

    /// Returns whether this is the token of the attempt's call. Takes the same time for every wrong token.
    pub fn matches(&self, attempt: AttemptId, shown: &str) -> bool {
        self.token(attempt).as_bytes().ct_eq(shown.as_bytes()).into()
    }

    /// Returns whether a header has the token of the call in an address, `{attempt}.{proof}`.
    pub(crate) fn admit(&self, named: &str, header: Option<&HeaderValue>) -> bool {
        let shown = header.and_then(|value| value.to_str().ok());
        let claim = Claim::parse(named).zip(shown);
        claim.is_some_and(|(claim, shown)| self.matches(claim.attempt, shown))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(secret: &str) -> [StreamTokens; 2] {
        [Form::Hex, Form::Bearer].map(|form| StreamTokens::new("acme", form, secret))
    }

    #[test]
    fn a_token_is_for_one_attempt_of_one_account() {
        let id = AttemptId::new();
        for (tokens, others) in tokens("KEY1").into_iter().zip(tokens("KEY2")) {
            let token = tokens.token(id);
            assert!(tokens.matches(id, &token));
            assert!(!tokens.matches(AttemptId::new(), &token));
            assert!(!others.matches(id, &token));
            for wrong in [
                "",
                "Bearer ",
                &token[1..],
                &token[..token.len() - 1],
                &token[..token.len() - 2],
                &token.to_uppercase(),
                &format!("{token}00"),
                &format!("{token}A"),
            ] {
                assert!(!tokens.matches(id, wrong), "{wrong}");
            }
            assert!(!format!("{tokens:?}").contains("KEY1"));
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_shown_makes_it_panic(shown in "\\PC{0,80}") {
            for tokens in tokens("KEY1") {
                prop_assert!(!tokens.matches(AttemptId::new(), &shown));
            }
        }
    }
}
