//! Query parameters: typed, none unknown or repeated, every problem listed.

use axum::{
    extract::{FromRequestParts, Query as Pairs},
    http::{Method, Uri, request::Parts},
};
use domain::agent::Problem;

use super::fields::suggestion;
use crate::response::error::{ApiError, ApiResult};

/// Query parameter for an API key, accepted on GET and HEAD only.
pub const QUERY_KEY: &str = "apiKey";

/// Returns the decoded pairs of a query, in their order.
pub fn pairs(uri: &Uri) -> ApiResult<Vec<(String, String)>> {
    Pairs::<Vec<(String, String)>>::try_from_uri(uri)
        .map(|Pairs(pairs)| pairs)
        .map_err(|_| ApiError::Malformed("the query string cannot be read".into()))
}

/// Parameters of an operation.
pub trait Parameters: Sized {
    /// Names of the parameters.
    const NAMES: &'static [&'static str];

    /// Reads the parameters; problems are added to `query`.
    fn read(query: &mut RawQuery) -> Self;
}

/// Parameters of an operation without any.
#[derive(Debug, Clone, Copy)]
pub struct NoParameters;

impl Parameters for NoParameters {
    const NAMES: &'static [&'static str] = &[];

    fn read(_: &mut RawQuery) -> Self {
        Self
    }
}

/// Parameters of a list without filters.
#[derive(Debug, Clone)]
pub struct Paging {
    /// Value of `cursor`.
    pub cursor: Option<String>,
    /// Value of `pageSize`.
    pub page_size: i64,
}

impl Parameters for Paging {
    const NAMES: &'static [&'static str] = &["cursor", "pageSize"];

    fn read(query: &mut RawQuery) -> Self {
        Self {
            cursor: query.text("cursor"),
            page_size: query.page_size(),
        }
    }
}

/// Extractor of an operation's parameters.
#[derive(Debug, Clone)]
pub struct Query<P>(pub P);

impl<S: Sync, P: Parameters> FromRequestParts<S> for Query<P> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let takes_key = matches!(parts.method, Method::GET | Method::HEAD);
        let mut query = RawQuery::checked(pairs(&parts.uri)?, P::NAMES, takes_key);
        let parameters = P::read(&mut query);
        if query.problems.is_empty() {
            Ok(Self(parameters))
        } else {
            Err(ApiError::Invalid(query.problems))
        }
    }
}

/// Raw parameters, and the problems found in them.
#[derive(Debug, Default)]
pub struct RawQuery {
    pairs: Vec<(String, String)>,
    problems: Vec<Problem>,
}

impl RawQuery {
    fn checked(pairs: Vec<(String, String)>, names: &[&str], takes_key: bool) -> Self {
        let mut query = Self::default();
        for (name, value) in pairs {
            if name == QUERY_KEY && takes_key {
                continue;
            }
            if !names.contains(&name.as_str()) {
                query.unknown(&name, names);
            } else if query.pairs.iter().any(|(known, _)| *known == name) {
                query.problem(&name, "repeated", "is given more than once");
            } else if value.contains('\0') {
                query.problem(&name, "invalid_value", "contains the character U+0000");
            } else {
                query.pairs.push((name, value));
            }
        }
        query
    }

    fn unknown(&mut self, name: &str, names: &[&str]) {
        let message = match name {
            QUERY_KEY => "is accepted on GET and HEAD only; send the key in a header".to_owned(),
            _ => format!("is not a query parameter of this operation{}", suggestion(name, names)),
        };
        self.problem(name, "unknown_parameter", message);
    }

    /// Adds a problem of a parameter.
    pub fn problem(&mut self, name: &str, code: &'static str, message: impl Into<String>) {
        self.problems.push(Problem::new(name, code, message));
    }

    /// Returns a parameter's text.
    pub fn text(&self, name: &str) -> Option<String> {
        let found = self.pairs.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }

    /// Returns the text to search for, without white space around it; none if it is blank.
    pub fn search(&self) -> Option<String> {
        let text = self.text("search")?.trim().to_owned();
        Some(text).filter(|text| !text.is_empty())
    }

    /// Reads a parameter with `read`; `expected` describes valid values.
    pub fn parsed<T>(&mut self, name: &str, expected: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text = self.text(name)?;
        let value = read(&text);
        if value.is_none() {
            self.problem(name, "invalid_value", format!("`{text}` is not {expected}"));
        }
        value
    }

    /// Reads `pageSize`.
    pub fn page_size(&mut self) -> i64 {
        const DEFAULT: i64 = 30;
        let text = self.text("pageSize");
        let size = text.as_deref().map_or(Some(DEFAULT), plain_integer);
        match size.filter(|size| (1..=100).contains(size)) {
            Some(size) => size,
            None => {
                let shown = text.unwrap_or_default();
                self.problem(
                    "pageSize",
                    "out_of_range",
                    format!("`{shown}` is not a whole number from 1 to 100"),
                );
                DEFAULT
            }
        }
    }

    /// Reads whether `sortDirection` is ascending.
    pub fn ascending(&mut self) -> bool {
        let ascending = self.parsed("sortDirection", "`asc` or `desc`", |text| match text {
            "asc" => Some(true),
            "desc" => Some(false),
            _ => None,
        });
        ascending.unwrap_or(false)
    }

    /// Reads `true` or `false`.
    pub fn boolean(&mut self, name: &str) -> Option<bool> {
        self.parsed(name, "`true` or `false`", |text| text.parse().ok())
    }
}

/// Parses a whole number without sign, spaces or leading plus.
pub fn plain_integer(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
