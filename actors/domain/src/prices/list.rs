//! The price list: its file format and its look-up.

use std::{
    collections::{BTreeMap, btree_map::Entry as Place},
    fmt,
};

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ports::store::CallDirection;

/// Thousandths in one. Quantities are counted in thousandths of their unit, since seconds have milliseconds.
pub(super) const MILLI: u128 = 1_000;

/// Digits after the point that a price may have.
const DIGITS: usize = 9;

/// Largest price of an entry.
const MAX_PRICE: u128 = 1_000_000;

/// Largest number of units that one price is for.
const MAX_PER: u64 = 1_000_000_000;

/// Largest billing increment, in seconds.
const MAX_INCREMENT: u64 = 3_600;

/// Largest number of entries.
const MAX_ENTRIES: usize = 10_000;

/// Unit that is charged. Its name is that in a conversation's `usage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChargedUnit {
    /// Tokens that a language model read; without cached ones if those have a price of their own.
    InputTokens,
    /// Tokens from the provider's prompt cache.
    CachedTokens,
    /// Tokens that a language model wrote.
    OutputTokens,
    /// Characters that were synthesised.
    Characters,
    /// Seconds of transcribed audio, or of an answered call at its carrier.
    Seconds,
}

spelled!(ChargedUnit, InputTokens "inputTokens", CachedTokens "cachedTokens", OutputTokens "outputTokens",
    Characters "characters", Seconds "seconds");

/// Model or carrier that a call used.
pub(super) enum Use<'a> {
    /// Provider and its model; the model is empty if it has no name.
    Model(&'a str, &'a str),
    Carrier(&'a str, CallDirection),
}

impl fmt::Display for Use<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(provider, "") => write!(f, "{provider}"),
            Self::Model(provider, model) => write!(f, "{provider}/{model}"),
            Self::Carrier(carrier, _) => write!(f, "carrier/{carrier}"),
        }
    }
}

/// Result of a price and a quantity.
pub(super) struct Charge {
    /// Charged quantity in thousandths of its unit.
    pub(super) quantity: u128,
    /// Amount in units of 10⁻⁹ of the currency.
    pub(super) nanos: u128,
}

/// The reason why a price list is refused, with the place and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}; docs/prices.md describes the format")]
pub struct InvalidPrices(String);

/// Prices of models and carriers in one currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceList {
    currency: String,
    prices: BTreeMap<Key, Price>,
}

/// Model (`provider/model` or `provider/*`) or carrier, direction of its calls, and unit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    name: String,
    direction: Option<CallDirection>,
    unit: ChargedUnit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Price {
    nanos: u128,
    per: u64,
    increment_seconds: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    currency: String,
    prices: Vec<Entry>,
    /// For readers of the file.
    #[serde(rename = "note")]
    _note: Option<String>,
    #[serde(rename = "asOf")]
    _as_of: Option<NaiveDate>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    model: Option<String>,
    carrier: Option<String>,
    direction: Option<String>,
    unit: ChargedUnit,
    price: String,
    #[serde(default = "one")]
    per: u64,
    increment_seconds: Option<u64>,
}

fn one() -> u64 {
    1
}

impl PriceList {
    /// Reads the JSON text of a price list.
    ///
    /// # Errors
    ///
    /// Returns an error that names the line or the entry, the value and the way out.
    pub fn parse(text: &str) -> Result<Self, InvalidPrices> {
        let file: File = serde_json::from_str(text).map_err(|why| InvalidPrices(why.to_string()))?;
        if file.currency.len() != 3 || !file.currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
            let why = format!("`currency` is {:?}: write three capitals, such as USD", file.currency);
            return Err(InvalidPrices(why));
        }
        if file.prices.len() > MAX_ENTRIES {
            let why = format!(
                "`prices` has {} entries: write at most {MAX_ENTRIES}",
                file.prices.len()
            );
            return Err(InvalidPrices(why));
        }
        let mut prices = BTreeMap::new();
        for (index, entry) in file.prices.iter().enumerate() {
            let at = |why| InvalidPrices(format!("entry {} of `prices`: {why}", index + 1));
            let (key, price) = entry.read().map_err(at)?;
            match prices.entry(key) {
                Place::Vacant(place) => {
                    place.insert(price);
                }
                Place::Occupied(place) => {
                    let Key { name, unit, .. } = place.key();
                    let why = format!("`{name}` has a price for {} already: remove one of them", unit.as_str());
                    return Err(at(why));
                }
            }
        }
        let currency = file.currency;
        Ok(Self { currency, prices })
    }

    /// Returns the currency (ISO 4217).
    pub fn currency(&self) -> &str {
        &self.currency
    }

    pub(super) fn has(&self, used: &Use<'_>, unit: ChargedUnit) -> bool {
        self.find(used, unit).is_some()
    }

    /// Returns the charge of a quantity in thousandths; none without a price.
    pub(super) fn charge(&self, used: &Use<'_>, unit: ChargedUnit, quantity: u128) -> Option<Charge> {
        let price = self.find(used, unit)?;
        let increment = u128::from(price.increment_seconds) * MILLI;
        let quantity = match increment {
            0 => quantity,
            _ => quantity.div_ceil(increment).saturating_mul(increment),
        };
        let per = u128::from(price.per) * MILLI;
        let nanos = quantity.saturating_mul(price.nanos).saturating_add(per / 2) / per;
        Some(Charge { quantity, nanos })
    }

    /// Finds the most exact price.
    fn find(&self, used: &Use<'_>, unit: ChargedUnit) -> Option<&Price> {
        let price = |name: String, direction| self.prices.get(&Key { name, direction, unit });
        match used {
            Use::Model(provider, model) => {
                price(format!("{provider}/{model}"), None).or_else(|| price(format!("{provider}/*"), None))
            }
            Use::Carrier(_, direction) => {
                price(used.to_string(), Some(*direction)).or_else(|| price(used.to_string(), None))
            }
        }
    }
}

impl Entry {
    fn read(&self) -> Result<(Key, Price), String> {
        let (name, increment_seconds) = match (&self.model, &self.carrier) {
            (Some(model), None) => (self.of_model(model)?, 0),
            (None, Some(carrier)) => self.of_carrier(carrier)?,
            _ => return Err("write either `model` or `carrier`".into()),
        };
        let direction = match self.direction.as_deref() {
            None => None,
            Some(text) => Some(
                CallDirection::parse(text)
                    .ok_or_else(|| format!("`direction` is {text:?}: write outbound or inbound, or leave it out"))?,
            ),
        };
        if !(1..=MAX_PER).contains(&self.per) {
            return Err(format!(
                "`per` is {}: write a whole number from 1 to {MAX_PER}",
                self.per
            ));
        }
        let Some(nanos) = nanos(&self.price) else {
            let way_out =
                format!("write a decimal number from 0 to {MAX_PRICE} with at most {DIGITS} digits after the point");
            return Err(format!("`price` is {:?}: {way_out}, such as \"0.40\"", self.price));
        };
        let key = Key {
            name,
            direction,
            unit: self.unit,
        };
        let price = Price {
            nanos,
            per: self.per,
            increment_seconds,
        };
        Ok((key, price))
    }

    fn of_model(&self, model: &str) -> Result<String, String> {
        let parts = model.split_once('/');
        if parts.is_none_or(|(provider, name)| provider.is_empty() || name.is_empty()) {
            return Err(format!(
                "`model` is {model:?}: write provider/model, or provider/* for all its models"
            ));
        }
        if self.direction.is_some() || self.increment_seconds.is_some() {
            return Err("`direction` and `incrementSeconds` are for carriers: leave them out for a model".into());
        }
        Ok(model.to_owned())
    }

    fn of_carrier(&self, carrier: &str) -> Result<(String, u64), String> {
        if carrier.is_empty() {
            return Err("`carrier` is empty: write its name, such as twilio".into());
        }
        if self.unit != ChargedUnit::Seconds {
            let unit = self.unit.as_str();
            return Err(format!(
                "`unit` is {unit:?}: write seconds for a carrier; with `per` 60 the price is for a minute"
            ));
        }
        let increment = self.increment_seconds.unwrap_or(1);
        if !(1..=MAX_INCREMENT).contains(&increment) {
            return Err(format!(
                "`incrementSeconds` is {increment}: write a whole number from 1 to {MAX_INCREMENT}"
            ));
        }
        Ok((format!("carrier/{carrier}"), increment))
    }
}

/// Reads a price such as `0.40` in units of 10⁻⁹.
fn nanos(text: &str) -> Option<u128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > DIGITS {
        return None;
    }
    let whole = whole.parse::<u128>().ok().filter(|whole| *whole <= MAX_PRICE)?;
    let fraction: u128 = format!("{fraction:0<DIGITS$}").parse().ok()?;
    let nanos = whole * 1_000_000_000 + fraction;
    (nanos <= MAX_PRICE * 1_000_000_000).then_some(nanos)
}
