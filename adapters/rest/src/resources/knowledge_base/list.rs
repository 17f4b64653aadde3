//! Shared parts of the lists of documents and groups: parameters, order, cursor.

use domain::{
    id::AccountId,
    ports::store::{KnowledgeFilter, ListPlace, SortBy, order_key},
    time::Timestamp,
};
use serde::Serialize;

use crate::{
    request::{
        cursor::Binding,
        query::{Parameters, RawQuery},
    },
    response::{
        envelope::{Pagination, Reply},
        error::{ApiError, ApiResult},
    },
};

/// Parameters of a list.
#[derive(Debug, Clone)]
pub struct ListParameters {
    filter: KnowledgeFilter,
    cursor: Option<String>,
    page_size: i64,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = &["search", "sortBy", "sortDirection", "cursor", "pageSize"];

    fn read(query: &mut RawQuery) -> Self {
        let sort_by = query.parsed("sortBy", "`name` or `created_at`", |text| match text {
            "name" => Some(SortBy::Name),
            "created_at" => Some(SortBy::CreatedAt),
            _ => None,
        });
        Self {
            filter: KnowledgeFilter {
                search: query.text("search").filter(|text| !text.is_empty()),
                sort_by: sort_by.unwrap_or_default(),
                ascending: query.ascending(),
                after: None,
            },
            cursor: query.text("cursor"),
            page_size: query.page_size(),
        }
    }
}

/// A page being read.
pub struct Page {
    binding: Binding,
    /// Filter of the rows.
    pub filter: KnowledgeFilter,
    page_size: i64,
}

impl ListParameters {
    /// Returns the requested page of this list.
    pub fn page(self, account: AccountId, list: &'static str) -> ApiResult<Page> {
        let mut filter = self.filter;
        let binding = Binding::new(account, list, format!("{filter:?}"));
        if let Some(cursor) = self.cursor {
            let place = binding.place_of(&cursor).map(|(key, id)| ListPlace { key, id });
            let sound = |place: &ListPlace| filter.sort_by == SortBy::Name || place.created_at().is_some();
            filter.after = Some(place.filter(sound).ok_or_else(|| {
                ApiError::field(
                    "cursor",
                    "invalid_cursor",
                    "is damaged, or belongs to a list with other filters or sorting; start again without it",
                )
            })?);
        }
        Ok(Page {
            binding,
            filter,
            page_size: self.page_size,
        })
    }
}

impl Page {
    /// Returns the number of rows to read. The extra one shows whether there are more.
    pub fn limit(&self) -> i64 {
        self.page_size + 1
    }

    /// Returns the response. `place` returns the name, time and id of a row.
    pub fn reply<T, V: Serialize>(
        &self,
        mut rows: Vec<T>,
        place: impl Fn(&T) -> (&str, Timestamp, String),
        view: impl Fn(&T) -> V,
    ) -> Reply {
        let shown = usize::try_from(self.page_size).unwrap_or_default();
        let has_more = rows.len() > shown;
        rows.truncate(shown);
        let next_cursor = rows.last().filter(|_| has_more).map(|row| {
            let (name, created_at, id) = place(row);
            let key = order_key(self.filter.sort_by, name, created_at);
            self.binding.cursor_of(&key, &id)
        });
        let pagination = Pagination {
            page_size: self.page_size,
            has_more,
            next_cursor,
            ..Pagination::default()
        };
        let by = match self.filter.sort_by {
            SortBy::Name => "name",
            SortBy::CreatedAt => "created_at",
        };
        let direction = if self.filter.ascending { "asc" } else { "desc" };
        Reply::page(rows.iter().map(view).collect::<Vec<V>>(), pagination).sorted(by, direction)
    }
}
