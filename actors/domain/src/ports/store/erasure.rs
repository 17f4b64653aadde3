//! Erasing what is known about a person: the saved contact, and what calls to its number left behind.
//!
//! Conversations stay as rows of nobody; the number stands in them as [`PhoneNumber::erased`]. So do the places in
//! campaigns, which dial it no more. The do-not-call list keeps the number: who asked not to be called still is not.
//!
//! What was said in a call may also be erased because of its age, whoever it was.
//!
//! [`PhoneNumber::erased`]: crate::phone_number::PhoneNumber::erased

use async_trait::async_trait;

use super::StoreResult;
use crate::{
    id::{AccountId, AttemptId, ContactId},
    time::Timestamp,
};

/// For how long after its end a call may still write down what was said, in microseconds.
pub const SETTLING_US: i64 = 10 * 1_000_000;

/// The account's calls to a contact's number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContactCalls {
    /// All are over, or wait to be dialed.
    Over(Vec<AttemptId>),
    /// One is being made, or has ended within the last ten seconds: nothing can be erased now.
    Going,
}

/// Erasure.
#[async_trait]
pub trait ErasureStore: Send + Sync {
    /// The calls that [`ErasureStore::erase_contact`] would erase. `NotFound`.
    async fn calls_of_contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactCalls>;

    /// Erases the contact, its name and fields in campaigns, and transcripts, collected values and analyses of the
    /// calls to its number, unless one is going on. `NotFound`.
    async fn erase_contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactCalls>;

    /// Erases transcripts, collected values and analyses of calls that ended before an instant, the oldest first and
    /// `limit` at most; how many. Fewer than `limit` means that none is left.
    async fn erase_words(&self, ended_before: Timestamp, limit: i64) -> StoreResult<usize>;
}
