//! Types that several resources share.

use serde::Deserialize;
use utoipa::ToSchema;

use crate::response::error::ErrorBody;

/// A phone number in a request, as people write it: with `+` or `00` and the country code, or without them if the account
/// has a `defaultCountry`. It is read by the plan of its country, and returned in E.164.
#[derive(ToSchema)]
#[schema(pattern = r"^[^0-9]*([0-9][^0-9]*){3,25}$", example = "+1 (555) 010-0010")]
pub struct PhoneNumberSent(pub String);

/// A name: not blank, at most 200 characters. White space around it is removed.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(from = "String")]
#[schema(max_length = 200, pattern = r"\S", example = "Check-ups")]
pub struct Name(pub String);

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(text.trim().to_owned())
    }
}

/// An e-mail address whose domain has a dot.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(from = "String")]
#[schema(format = Email, max_length = 254, example = "ada@example.com")]
pub struct Email(pub String);

impl From<String> for Email {
    fn from(text: String) -> Self {
        Self(text.trim().to_owned())
    }
}

/// Sort key of a list.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum SortBy {
    /// By name.
    Name,
    /// By creation time.
    CreatedAt,
}

/// Sort direction of a list.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum SortDirection {
    /// Ascending.
    Asc,
    /// Descending.
    Desc,
}

/// A page of a list that can be sorted.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SortedPagination {
    /// Maximum items of the page, as requested.
    #[schema(minimum = 1, maximum = 100)]
    pub page_size: i64,
    /// Whether there are more items.
    pub has_more: bool,
    /// Value for `cursor` to get the next page; omitted on the last page.
    pub next_cursor: Option<String>,
    /// Sort key.
    pub sort_by: SortBy,
    /// Sort direction.
    pub sort_direction: SortDirection,
}

/// An error response.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Always false.
    #[schema(default = false)]
    pub success: bool,
    /// The error.
    pub error: ErrorBody,
    /// Id of the request, in campaign and contact operations.
    pub request_id: Option<String>,
}

/// An empty object.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NoFields {}
