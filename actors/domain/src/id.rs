//! Identifiers: a newtype over UUIDv7 for each kind of object, so that they cannot be confused.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A text that is not a lower-case, hyphenated UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a lower-case hyphenated UUID")]
pub struct InvalidId(pub String);

fn parse_canonical(text: &str) -> Result<Uuid, InvalidId> {
    // `Uuid` also parses braces, URNs, bare hex and capitals, but each id has only one spelling.
    match Uuid::try_parse(text) {
        Ok(id) if id.as_hyphenated().to_string() == text => Ok(id),
        _ => Err(InvalidId(text.to_owned())),
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Uuid);

        impl $name {
            /// The id that sorts before all others and belongs to nothing.
            pub const FIRST: Self = Self(Uuid::nil());

            /// Creates an id that sorts after those created before it.
            #[expect(clippy::new_without_default, reason = "two calls never give the same value")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                parse_canonical(text).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    )*};
}

ids! {
    /// An account: the owner of everything else.
    AccountId;
    /// An agent.
    AgentId;
    /// An API key.
    ApiKeyId;
    /// A campaign.
    CampaignId;
    /// A saved contact.
    ContactId;
    /// An attempt: one dial of one contact. REST calls it a conversation.
    AttemptId;
    /// One run of a node's process. Each start gets a new id, which distinguishes old owners from new ones.
    NodeId;
    /// A row of the outbox: a durable job.
    JobId;
    /// An event of a call.
    EventId;
    /// An appointment that a call made or tried to make.
    AppointmentId;
    /// A delivery after a call; the `webhook-id` of all its tries.
    DeliveryId;
    /// A document of the knowledge base.
    DocumentId;
    /// A group of documents.
    GroupId;
    /// An HTTP tool.
    ToolId;
    /// A transfer rule.
    TransferRuleId;
    /// An event of an account.
    AccountEventId;
    /// A webhook endpoint.
    WebhookId;
    /// A browser session.
    SessionId;
}

impl From<AccountId> for ApiKeyId {
    /// Returns the id of the account's own key.
    fn from(account: AccountId) -> Self {
        Self(account.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_spelling_is_an_id() {
        let id = AgentId::new();
        assert_eq!(id.to_string().parse::<AgentId>(), Ok(id));
        for bad in [
            "",
            "x",
            &id.to_string().to_uppercase(),
            &format!("{{{id}}}"),
            &id.to_string().replace('-', ""),
        ] {
            assert!(bad.parse::<AgentId>().is_err(), "{bad}");
        }
    }
}
