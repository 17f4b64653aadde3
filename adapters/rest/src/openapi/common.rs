//! Types that several resources share.

use utoipa::ToSchema;

use crate::error::ErrorBody;

/// A phone number as it may be sent: white space, hyphens, `.`, `(`, `)` and `/` are removed, a leading `00` becomes
/// `+`; then it must be E.164.
#[derive(ToSchema)]
#[schema(
    pattern = r"^[ \-./()]*(\+|0[ \-./()]*0)[ \-./()]*[1-9]([ \-./()]*[0-9]){6,14}[ \-./()]*$",
    example = "+1 (555) 010-0010"
)]
pub struct PhoneNumberSent(pub String);

/// A name: not blank, at most 200 characters, read without the white space around it.
#[derive(ToSchema)]
#[schema(max_length = 200, pattern = r"\S", example = "Check-ups")]
pub struct Name(pub String);

/// An e-mail address; its domain has a dot.
#[derive(ToSchema)]
#[schema(format = Email, max_length = 254, example = "ada@example.com")]
pub struct Email(pub String);

/// What a list is sorted by.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum SortBy {
    /// By name.
    Name,
    /// By age.
    CreatedAt,
}

/// Which way a list is sorted.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum SortDirection {
    /// Upwards.
    Asc,
    /// Downwards.
    Desc,
}

/// A page of a list that can be sorted.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SortedPagination {
    /// Items asked for.
    #[schema(minimum = 1, maximum = 100)]
    pub page_size: i64,
    /// Whether there are more.
    pub has_more: bool,
    /// Send it back as `cursor`; left out on the last page.
    pub next_cursor: Option<String>,
    /// What it is sorted by.
    pub sort_by: SortBy,
    /// Which way.
    pub sort_direction: SortDirection,
}

/// Every refusal.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Never true.
    #[schema(default = false)]
    pub success: bool,
    /// What went wrong.
    pub error: ErrorBody,
    /// The request's id, on campaign and contact operations.
    pub request_id: Option<String>,
}
