//! Forms of a schema. A type is declared once; what creates it may leave out what has a default, what changes it may leave
//! out anything, and an answer has every field.

use std::collections::BTreeMap;

use domain::agent::nullable;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::request::schemas::{collect, flat, has_presets, may_be_null, reference_of};

/// Rules of a field that an answer does not repeat.
const RULES: [&str; 7] = [
    "default",
    "example",
    "format",
    "maxItems",
    "maxLength",
    "minItems",
    "pattern",
];

/// Returns the schemas of a body that creates a `T`. A field with a default may be missing or null.
pub fn new<T: ToSchema>() -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    collect::<T>(&mut all);
    let name = &*T::name();
    let mut schema = flat(&all[name], &all);
    let required = schema["required"].clone();
    for (name, property) in properties_of(&mut schema) {
        remove(property, &["default"]);
        if !lists(&required, name) {
            or_null(property);
        }
    }
    schema["additionalProperties"] = false.into();
    all.insert(name.to_owned(), schema);
    all
}

/// Returns the schemas of a merge patch of a `T`, the patch itself under `name`. A field with a default may be null.
pub fn patch<T: ToSchema>(name: &str) -> BTreeMap<String, Value> {
    let (mut all, mut patches) = (BTreeMap::new(), BTreeMap::new());
    collect::<T>(&mut all);
    patch_of(&T::name(), name, &all, &mut patches);
    // Objects that are replaced as a whole are described where they are created.
    all.retain(|_, schema| schema["properties"].is_null() && schema["allOf"].is_null());
    patches.extend(all);
    patches
}

fn patch_of(of: &str, name: &str, all: &BTreeMap<String, Value>, patches: &mut BTreeMap<String, Value>) {
    let mut schema = flat(&all[of], all);
    let required = schema["required"].clone();
    let has_presets = has_presets(&schema);
    remove(&mut schema, &["required"]);
    let about = schema["description"].as_str().unwrap_or_default();
    schema["description"] = format!("Changes by RFC 7396; `null` resets a field to its default. {about}").into();
    for (name, property) in properties_of(&mut schema) {
        remove(property, &["default"]);
        let part = reference_of(property).map(str::to_owned);
        // A part that requires fields has a patch of its own.
        if let Some(part) = part.filter(|part| all[part]["required"].is_array()) {
            let own = format!("{part}Patch");
            property["$ref"] = format!("#/components/schemas/{own}").into();
            patch_of(&part, &own, all, patches);
        }
        if has_presets || !lists(&required, name) {
            or_null(property);
        }
    }
    schema["additionalProperties"] = false.into();
    patches.insert(name.to_owned(), schema);
}

/// Returns a flattened body as a part of an answer: every field is present, and texts are plain.
pub fn read(body: &Value, all: &BTreeMap<String, Value>) -> Value {
    let mut schema = flat(body, all);
    let mut required = Vec::new();
    for (name, property) in properties_of(&mut schema) {
        let is_optional = may_be_null(property);
        plain(property, all);
        if let Some(items) = property.get_mut("items") {
            plain(items, all);
        }
        if !is_optional {
            required.push(name.clone());
        }
    }
    schema["required"] = json!(required);
    schema
}

/// Removes the rules of a value, and what refers to a text with rules.
fn plain(schema: &mut Value, all: &BTreeMap<String, Value>) {
    let named = reference_of(schema).and_then(|name| all.get(name));
    if let Some(named) = named.filter(|named| named["type"] == "string" && named["enum"].is_null()) {
        let description = schema["description"].clone();
        *schema = named.clone();
        match description {
            Value::Null => remove(schema, &["description"]),
            text => schema["description"] = text,
        }
    }
    if schema["minimum"].is_null() {
        remove(schema, &RULES);
    }
}

fn properties_of(schema: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flat_map(Map::iter_mut)
}

fn lists(names: &Value, name: &str) -> bool {
    names
        .as_array()
        .is_some_and(|names| names.iter().any(|known| known == name))
}

fn remove(schema: &mut Value, names: &[&str]) {
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|name, _| !names.contains(&name.as_str()));
    }
}

/// Lets the optional fields of a body be null, apart from lists that must not be empty.
pub fn optional_or_null(schema: &mut Value) {
    let required = schema["required"].clone();
    for (name, property) in properties_of(schema) {
        if !lists(&required, name) && property["minItems"].is_null() {
            or_null(property);
        }
    }
}

fn or_null(schema: &mut Value) {
    if !may_be_null(schema) {
        *schema = nullable(schema.take());
    }
}

/// Removes defaults: fields with a default are always present in responses.
pub fn without_defaults(schema: &mut Value) {
    for (_, property) in properties_of(schema) {
        remove(property, &["default"]);
    }
}
