//! Settings of an account: the country of its numbers, and its time zone.

use chrono_tz::Tz;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use crate::phone_number::{Country, InvalidPhoneNumber, PhoneNumber};

/// Settings of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountSettings {
    /// Country by whose plan numbers without `+` are read (ISO 3166, two letters). Null refuses such numbers.
    #[schema(required, value_type = Option<String>, pattern = "^[A-Z]{2}$")]
    pub default_country: Option<Country>,
    /// Zone of the times in files (IANA).
    #[schema(value_type = String)]
    #[serde(serialize_with = "by_name")]
    pub timezone: Tz,
}

impl AccountSettings {
    /// Reads a number that one of the account's users wrote. See [`PhoneNumber::parse_in`].
    pub fn phone_number(&self, text: &str) -> Result<PhoneNumber, InvalidPhoneNumber> {
        PhoneNumber::parse_in(text, self.default_country)
    }
}

fn by_name<S: Serializer>(zone: &Tz, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(zone.name())
}
