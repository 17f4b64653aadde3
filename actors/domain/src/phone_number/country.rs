//! Countries by whose plan numbers without a country code are read.

use std::{fmt, str::FromStr};

use super::plan::{self, Plan};

/// A country with a numbering plan, by its code of two letters (ISO 3166).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Country([u8; 2]);

/// A text that is not a country with a numbering plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0:.20}` is not a country; write the two letters of ISO 3166, such as `DE`")]
pub struct UnknownCountry(String);

impl Country {
    /// Returns its code of two capital letters.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    pub(super) fn plan(self) -> Option<&'static Plan> {
        plan::of_country(self.code())
    }
}

impl FromStr for Country {
    type Err = UnknownCountry;

    /// Reads a code, also in small letters.
    fn from_str(text: &str) -> Result<Self, UnknownCountry> {
        let capitals = text.trim().to_ascii_uppercase();
        let country = capitals.as_bytes().try_into().map(Self).ok();
        country
            .filter(|country| country.plan().is_some())
            .ok_or_else(|| UnknownCountry(text.to_owned()))
    }
}

impl fmt::Debug for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl serde::Serialize for Country {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}
