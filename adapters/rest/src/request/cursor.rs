//! Opaque cursors: a position in a list, bound to the account, the list and its filters.
//!
//! The checksum is not secret, because rows are filtered by account anyway. It detects damage and misuse.

use std::str::FromStr;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use domain::{id::AccountId, time::Timestamp};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::response::{
    envelope::{Pagination, Reply},
    error::{ApiError, ApiResult},
};

/// Bytes of the checksum.
const CHECK: usize = 8;

/// Scope that a cursor is bound to.
#[derive(Debug, Clone)]
pub struct Binding {
    account: AccountId,
    list: &'static str,
    filter: String,
}

impl Binding {
    /// Creates the binding to a list of an account. Equal filters must have the same text.
    pub fn new(account: AccountId, list: &'static str, filter: String) -> Self {
        Self { account, list, filter }
    }

    /// Returns the cursor after the row created or started `at`, with this `id`.
    pub fn cursor(&self, at: Timestamp, id: &str) -> String {
        self.cursor_of(&at.0.to_string(), id)
    }

    /// Parses a cursor into a position. Returns `None` if it is damaged or belongs to another scope.
    pub fn place(&self, cursor: &str) -> Option<(Timestamp, String)> {
        let (at, id) = self.place_of(cursor)?;
        Some((Timestamp(at.parse().ok()?), id))
    }

    /// Returns the cursor after the row with this `id` and sort key. `key` must not contain a full stop.
    pub fn cursor_of(&self, key: &str, id: &str) -> String {
        let place = format!("{key}.{id}");
        let mut bytes = self.check(&place).to_vec();
        bytes.extend_from_slice(place.as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Parses a cursor of [`Binding::cursor_of`]. Returns `None` if it is damaged or belongs to another scope.
    pub fn place_of(&self, cursor: &str) -> Option<(String, String)> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (check, place) = bytes.split_at_checked(CHECK)?;
        let place = std::str::from_utf8(place).ok()?;
        if check != self.check(place) {
            return None;
        }
        let (key, id) = place.split_once('.')?;
        Some((key.to_owned(), id.to_owned()))
    }

    /// Returns the position of the given cursor, if any. An invalid cursor is a 400.
    pub fn after<T: FromStr>(&self, cursor: Option<&str>) -> ApiResult<Option<(Timestamp, T)>> {
        let Some(cursor) = cursor else { return Ok(None) };
        let place = self.place(cursor).and_then(|(at, id)| Some((at, id.parse().ok()?)));
        place.map(Some).ok_or_else(|| {
            ApiError::field(
                "cursor",
                "invalid_cursor",
                "is damaged, or belongs to a list with other filters; start again without it",
            )
        })
    }

    /// Returns a page of rows. `rows` may contain one more than `page_size`.
    pub fn page<T, V: Serialize>(
        &self,
        mut rows: Vec<T>,
        page_size: i64,
        view: impl Fn(&T) -> V,
        place: impl Fn(&T) -> (Timestamp, String),
    ) -> Reply {
        let size = usize::try_from(page_size).unwrap_or_default();
        let more = rows.len() > size;
        rows.truncate(size);
        let last = rows.last().filter(|_| more).map(place);
        let items = rows.iter().map(view).collect::<Vec<V>>();
        Reply::page(items, self.pagination(page_size, last))
    }

    /// Returns the `pagination` of a page. `last` is the position of its last row if there are more.
    pub fn pagination(&self, page_size: i64, last: Option<(Timestamp, String)>) -> Pagination {
        Pagination {
            page_size,
            has_more: last.is_some(),
            next_cursor: last.map(|(at, id)| self.cursor(at, &id)),
            ..Pagination::default()
        }
    }

    fn check(&self, place: &str) -> [u8; CHECK] {
        let bound = format!("{}\n{}\n{}\n{place}", self.account, self.list, self.filter);
        let digest: [u8; 32] = Sha256::digest(bound.as_bytes()).into();
        let mut check = [0; CHECK];
        check.copy_from_slice(&digest[..CHECK]);
        check
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cursor_holds_for_its_account_list_and_filter_only() {
        let account = AccountId::new();
        let binding = Binding::new(account, "conversations", "status=failed".into());
        let cursor = binding.cursor(Timestamp(-5), "id");
        assert_eq!(binding.place(&cursor), Some((Timestamp(-5), "id".into())));
        for other in [
            Binding::new(AccountId::new(), "conversations", "status=failed".into()),
            Binding::new(account, "agents", "status=failed".into()),
            Binding::new(account, "conversations", String::new()),
        ] {
            assert_eq!(other.place(&cursor), None);
        }
    }

    proptest! {
        #[test]
        fn a_damaged_cursor_is_refused(at: i64, id in "[a-z0-9-]{0,40}", index: prop::sample::Index, to in "[A-Za-z0-9_-]") {
            let binding = Binding::new(AccountId::new(), "x", String::new());
            let cursor = binding.cursor(Timestamp(at), &id);
            prop_assert_eq!(binding.place(&cursor), Some((Timestamp(at), id)));
            let mut damaged: Vec<char> = cursor.chars().collect();
            let place = index.index(damaged.len());
            let to = to.chars().next().unwrap();
            prop_assume!(damaged[place] != to);
            damaged[place] = to;
            let damaged: String = damaged.into_iter().collect();
            prop_assert_eq!(binding.place(&damaged), None);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = Binding::new(AccountId::new(), "x", String::new()).place(&text);
        }
    }
}
