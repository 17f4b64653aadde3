//! Scopes of API keys: what a key may do.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A right that an API key has or lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Read everything but secrets.
    Read,
    /// Place calls; launch, schedule, pause and stop campaigns, and call their contacts again.
    Calls,
    /// Control live calls: speak, transfer, press keys, instruct, end.
    Live,
    /// Create, change and delete.
    Write,
    /// Manage keys, secrets and webhook endpoints; delete conversations; erase contacts.
    Admin,
}

spelled!(Scope, Read "read", Calls "calls", Live "live", Write "write", Admin "admin");

/// The scopes of a key, in the order of [`Scope::ALL`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes(BTreeSet<Scope>);

impl Scopes {
    /// Returns all scopes.
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Returns whether a scope is among them.
    pub fn contains(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// Returns the scopes in their order.
    pub fn iter(&self) -> impl Iterator<Item = Scope> {
        self.0.iter().copied()
    }

    /// Returns the names, separated by spaces, as they are stored.
    pub fn to_text(&self) -> String {
        let names: Vec<&str> = self.iter().map(Scope::as_str).collect();
        names.join(" ")
    }

    /// Parses stored names. Skips names of scopes that only a later release knows.
    pub fn from_text(text: &str) -> Self {
        text.split(' ').filter_map(Scope::parse).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_stored_by_name_and_unknown_names_give_no_right() {
        assert_eq!(Scopes::all().to_text(), "read calls live write admin");
        assert_eq!(Scopes::from_text(&Scopes::all().to_text()), Scopes::all());
        assert_eq!(Scopes::from_text("admin  later read").to_text(), "read admin");
        assert_eq!(Scopes::from_text("READ"), Scopes::default());
    }
}
