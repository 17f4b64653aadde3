//! Reads the options of a campaign from JSON or a form, as their schema describes them.

use std::{ops::RangeInclusive, sync::LazyLock};

use domain::campaign_options::CampaignOptions;
use serde_json::{Map, Value};
use utoipa::PartialSchema;

/// Name and valid values of each option.
static OPTIONS: LazyLock<Vec<(String, RangeInclusive<i64>)>> = LazyLock::new(|| {
    let schema = serde_json::to_value(CampaignOptions::schema()).unwrap_or_default();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let range = |of: &Value| of["minimum"].as_i64().unwrap_or(0)..=of["maximum"].as_i64().unwrap_or(i64::MAX);
    properties.map(|(name, of)| (name.clone(), range(of))).collect()
});

/// Reads the options with `integer`, which reads a field's whole number in a range.
pub fn read(mut integer: impl FnMut(&str, RangeInclusive<i64>) -> Option<i64>) -> CampaignOptions {
    let given = OPTIONS.iter();
    let given = given.filter_map(|(name, range)| Some((name.clone(), integer(name, range.clone())?.into())));
    let given: Map<String, Value> = given.collect();
    serde_json::from_value(given.into()).unwrap_or_default()
}

/// Returns these names of fields and those of the options.
pub fn with_names(names: &[&'static str]) -> Vec<&'static str> {
    let options = OPTIONS.iter().map(|(name, _)| name.as_str());
    names.iter().copied().chain(options).collect()
}
