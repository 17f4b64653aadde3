//! Reads the options of a campaign from JSON or a form, as their schema describes them.

use std::{ops::RangeInclusive, sync::LazyLock};

use domain::campaign_options::CampaignOptions;
use serde_json::{Map, Value};
use utoipa::PartialSchema;

use crate::request::fields::Fields;

/// Name and valid values of each option.
static OPTIONS: LazyLock<Vec<(String, RangeInclusive<i64>)>> = LazyLock::new(|| {
    let schema = serde_json::to_value(CampaignOptions::schema()).unwrap_or_default();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let range = |of: &Value| of["minimum"].as_i64().unwrap_or(0)..=of["maximum"].as_i64().unwrap_or(i64::MAX);
    properties.map(|(name, of)| (name.clone(), range(of))).collect()
});

/// A body of which whole numbers can be read.
pub trait Integers {
    /// Reads a whole number in a range.
    fn integer(&mut self, name: &str, range: RangeInclusive<i64>) -> Option<i64>;
}

impl Integers for Fields<'_> {
    fn integer(&mut self, name: &str, range: RangeInclusive<i64>) -> Option<i64> {
        Fields::integer(self, name, range)
    }
}

/// Reads the options.
pub fn read(body: &mut impl Integers) -> CampaignOptions {
    let read =
        |(name, range): &(String, _)| Some((name.clone(), body.integer(name, RangeInclusive::clone(range))?.into()));
    let given: Map<String, Value> = OPTIONS.iter().filter_map(read).collect();
    serde_json::from_value(given.into()).unwrap_or_default()
}

/// Returns these names of fields and those of the options.
pub fn with_names(names: &[&'static str]) -> Vec<&'static str> {
    let options = OPTIONS.iter().map(|(name, _)| name.as_str());
    names.iter().copied().chain(options).collect()
}
