//! Erasure of the data about a person: the saved contact, and the content of calls to its number.
//!
//! Conversations stay as rows without a person and with [`PhoneNumber::erased`] as their number. Contacts in
//! campaigns stay in the same way and are not dialed any more. The do-not-call list keeps the number, so a
//! person who asked not to be called is still not called.
//!
//! The content of a call may also be erased because of its age, whoever it was with.
//!
//! [`PhoneNumber::erased`]: crate::phone_number::PhoneNumber::erased

use async_trait::async_trait;

use super::{account_events::error_kind, attempts::UNKNOWN_OUTCOME, error::StoreResult};
use crate::{
    id::{AccountId, AttemptId, ContactId},
    time::Timestamp,
};

/// Time after its end during which a call may still write turns, in microseconds.
pub const SETTLING_US: i64 = 10 * 1_000_000;

/// The account's calls to a contact's number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContactCalls {
    /// All are over or wait to be dialed.
    Over(Vec<AttemptId>),
    /// One is in progress or ended within the last ten seconds, so nothing can be erased now.
    Going,
}

/// A test call that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedTest {
    /// Its account.
    pub account: AccountId,
    /// The call.
    pub attempt: AttemptId,
    /// Time of its end.
    pub ended_at: Timestamp,
}

/// Returns the part of a call's error that stays when the call is erased: its kind, and that the outcome is unknown,
/// because such a call is never repeated.
pub fn erased_error(error: &str) -> &str {
    match error.starts_with(UNKNOWN_OUTCOME) {
        true => UNKNOWN_OUTCOME,
        false => error_kind(error),
    }
}

/// Erasure.
#[async_trait]
pub trait ErasureStore: Send + Sync {
    /// Returns the calls that [`ErasureStore::erase_contact`] would erase. Returns `NotFound`.
    async fn calls_of_contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactCalls>;

    /// Erases the contact, its name and fields in campaigns, and the transcripts, collected values, analyses and
    /// words of errors of calls to its number, unless a call is in progress. Returns `NotFound`.
    async fn erase_contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactCalls>;

    /// Returns whether [`ErasureStore::delete_conversation`] is possible: the call is over and settled. Returns
    /// `NotFound` if there is no such conversation.
    async fn is_settled(&self, account: AccountId, id: AttemptId) -> StoreResult<bool>;

    /// Deletes a conversation with all its content. Its row stays for the counts of campaigns and safeguards, but is
    /// hidden from readers. Returns `NotFound` if there is no such conversation, `Stale` if the call is not settled.
    async fn delete_conversation(&self, account: AccountId, id: AttemptId) -> StoreResult<()>;

    /// Returns test calls that ended before an instant and are not deleted, the oldest first, at most `limit`.
    async fn ended_tests(&self, ended_before: Timestamp, limit: i64) -> StoreResult<Vec<EndedTest>>;

    /// Erases transcripts, collected values and analyses of calls that ended before an instant, the oldest
    /// first and at most `limit`. Returns their number; fewer than `limit` means that none is left.
    async fn erase_words(&self, ended_before: Timestamp, limit: i64) -> StoreResult<usize>;
}
