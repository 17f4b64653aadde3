//! URL of a database, which reveals its password only to the driver.

use std::{fmt, path::Path};

use reqwest::Url;

/// Parameters that a PostgreSQL URL may have after its `?`. The driver would ignore any other, such as a
/// misspelt `sslmode`.
const PARAMETERS: &[&str] = &[
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

const ESCAPED: &str = "percent-encode special characters in user and password, such as # as %23";

const WAYS: &str = "write sqlite://FILE, such as sqlite:///var/lib/ringback/ringback.db, or \
     postgres://USER:PASSWORD@HOST/DATABASE";

/// Reason why a text is not a database URL. It never contains the URL, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseUrlError {
    /// It is neither SQLite's nor PostgreSQL's.
    #[error("{WAYS}")]
    UnknownKind,
    /// It cannot be parsed.
    #[error("not a URL: {0}; {ESCAPED}")]
    Unreadable(#[from] url::ParseError),
    /// It contains a `#`, as unescaped passwords do.
    #[error("not a URL: it contains a #; {ESCAPED}")]
    Fragment,
    /// The driver would ignore this parameter.
    #[error("there is no parameter `{name}`; use one of {}", PARAMETERS.join(", "))]
    UnknownParameter {
        /// Name of the parameter.
        name: String,
    },
}

/// URL of a database. Its `Debug` and `Display` show `***` for a password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// Parses `sqlite://FILE`, `sqlite::memory:`, or `postgres://USER:PASSWORD@HOST/DATABASE` with libpq's parameters.
    ///
    /// # Errors
    ///
    /// Returns an error that names the mistake and what to write instead, without the URL.
    pub fn parse(text: &str) -> Result<Self, DatabaseUrlError> {
        if let Some(rest) = text.strip_prefix("sqlite:") {
            let file = rest.trim_start_matches('/');
            // With a missing name SQLite opens a file that it deletes at the end.
            return match file.is_empty() || file.starts_with('?') {
                true => Err(DatabaseUrlError::UnknownKind),
                false => Ok(Self(text.to_owned())),
            };
        }
        if !is_postgres(text) {
            return Err(DatabaseUrlError::UnknownKind);
        }
        let url = Url::parse(text)?;
        if url.fragment().is_some() {
            return Err(DatabaseUrlError::Fragment);
        }
        match url.query_pairs().find(|(name, _)| !is_parameter(name)) {
            None => Ok(Self(text.to_owned())),
            Some((name, _)) => Err(DatabaseUrlError::UnknownParameter {
                name: name.into_owned(),
            }),
        }
    }

    /// Returns the URL of a SQLite file.
    pub fn of_file(path: &Path) -> Self {
        Self(format!("sqlite://{}", path.display()))
    }

    /// Returns the whole URL with its password.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Returns whether several nodes may share the database.
    pub fn is_postgres(&self) -> bool {
        is_postgres(&self.0)
    }
}

fn is_postgres(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

fn is_parameter(name: &str) -> bool {
    PARAMETERS.contains(&name) || name.starts_with("options[")
}

/// Returns a URL in a form that may be shown, even if it is invalid.
pub fn without_password(text: &str) -> String {
    if text.starts_with("sqlite:") || !text.contains(['@', '?']) {
        return text.to_owned();
    }
    match (text.split_once("://"), Url::parse(text)) {
        (Some(_), Ok(url)) => hidden(url),
        (Some((scheme, _)), Err(_)) => format!("{scheme}://…"),
        (None, _) => "…".to_owned(),
    }
}

fn hidden(mut url: Url) -> String {
    if url.password().is_some() {
        // A URL that has a password can have another one.
        let _ = url.set_password(Some("***"));
    }
    if url.query_pairs().any(|(name, _)| name == "password") {
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let shown = pairs.iter().map(|(name, value)| match name.as_str() {
            "password" => (name.as_str(), "***"),
            _ => (name.as_str(), value.as_str()),
        });
        url.query_pairs_mut().clear().extend_pairs(shown);
    }
    url.into()
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_password(&self.0))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_shown_by_no_address() {
        for text in [
            "postgres://ada:secret@db.example.com:5433/ringback?sslmode=require",
            "postgresql://ada:secret@localhost/ringback",
            "postgres://localhost/ringback?user=ada&password=secret",
            "mysql://ada:secret@localhost/ringback",
            "postgres://ada:secret#1@localhost/ringback",
            "ada:secret@localhost",
        ] {
            let shown = without_password(text);
            assert!(!shown.contains("secret"), "{text}: {shown}");
            if let Ok(url) = DatabaseUrl::parse(text) {
                assert!(!format!("{url} {url:?}").contains("secret"), "{text}");
                assert_eq!(url.secret(), text);
            }
        }
        assert_eq!(
            without_password("postgres://ada:secret@db:5433/x?sslmode=require"),
            "postgres://ada:***@db:5433/x?sslmode=require"
        );
        for plain in [
            "sqlite:///srv/a@b/ringback.db?mode=rwc",
            "postgres://localhost/ringback",
        ] {
            assert_eq!(without_password(plain), plain);
        }
    }

    #[test]
    fn what_is_no_database_is_refused_with_the_way_out() {
        for (text, why) in [
            ("mysql://localhost/x", "write sqlite://FILE"),
            ("sqlite:", "write sqlite://FILE"),
            ("sqlite://?mode=rwc", "write sqlite://FILE"),
            ("ringback.db", "write sqlite://FILE"),
            ("postgres://ada:se#cret@localhost/x", "%23"),
            ("postgres://localhost/x?sslmod=require", "no parameter `sslmod`"),
        ] {
            let refusal = DatabaseUrl::parse(text).unwrap_err().to_string();
            assert!(refusal.contains(why), "{text}: {refusal}");
            assert!(!refusal.contains("cret"), "{text}: {refusal}");
        }
    }
}
