//! Schemas of the types that bodies are read as: what they refer to, and what is said about a field.

use std::{
    any::TypeId,
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock, RwLock},
};

use serde_json::{Map, Value, json};
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema},
};

/// A type's schema, and those that it refers to.
#[derive(Debug, Default)]
pub struct Schemas {
    /// Schema of the type, with the fields that it contains at its own level.
    pub root: Value,
    /// Schemas by name, its own among them.
    pub named: BTreeMap<String, Value>,
}

/// Returns the schemas of a type.
pub fn schemas_of<T: ToSchema + 'static>() -> Arc<Schemas> {
    static KNOWN: LazyLock<RwLock<HashMap<TypeId, Arc<Schemas>>>> = LazyLock::new(RwLock::default);
    let id = TypeId::of::<T>();
    if let Ok(known) = KNOWN.read()
        && let Some(schemas) = known.get(&id)
    {
        return Arc::clone(schemas);
    }
    let mut declared = BTreeMap::new();
    collect::<T>(&mut declared);
    // Flat, so that it is not done for each item of a list.
    let flattened = declared
        .iter()
        .map(|(name, schema)| (name.clone(), flat(schema, &declared)));
    let named: BTreeMap<String, Value> = flattened.collect();
    let root = named[&*T::name()].clone();
    let schemas = Arc::new(Schemas { root, named });
    if let Ok(mut known) = KNOWN.write() {
        known.insert(id, Arc::clone(&schemas));
    }
    schemas
}

/// Adds a type's schema and those it refers to.
pub fn collect<T: ToSchema>(into: &mut BTreeMap<String, Value>) {
    let mut found: Vec<(String, RefOr<Schema>)> = vec![(T::name().into(), T::schema())];
    T::schemas(&mut found);
    for (name, schema) in found {
        // Consists of names, texts and numbers, so serialisation cannot fail.
        into.insert(name, serde_json::to_value(schema).unwrap_or_default());
    }
}

/// Returns the name of the schema to which one refers.
pub fn reference_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// Returns the schema to which one refers.
pub fn referred<'a>(schema: &Value, all: &'a BTreeMap<String, Value>) -> Option<&'a Value> {
    all.get(reference_of(schema)?)
}

/// Returns a schema in which an object has the properties of those that it contains at its own level.
pub fn flat(schema: &Value, all: &BTreeMap<String, Value>) -> Value {
    if let Some(named) = referred(schema, all) {
        return flat(named, all);
    }
    let Some(parts) = schema["allOf"].as_array() else {
        return schema.clone();
    };
    let (mut required, mut properties, mut others) = (Vec::new(), Map::new(), None);
    for part in parts.iter().map(|part| flat(part, all)) {
        required.extend(part["required"].as_array().into_iter().flatten().cloned());
        properties.extend(
            part["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(k, v)| (k.clone(), v.clone())),
        );
        others = others.or_else(|| is_open(&part).then(|| part["additionalProperties"].clone()));
    }
    let mut whole = json!({ "type": "object", "description": schema["description"], "properties": properties });
    if !required.is_empty() {
        whole["required"] = required.into();
    }
    if let Some(others) = others {
        whole["additionalProperties"] = others;
    }
    whole
}

/// Returns the names of a type's fields.
pub fn names_of<T: ToSchema + 'static>() -> Vec<String> {
    let properties = schemas_of::<T>().root["properties"].as_object().cloned();
    properties.into_iter().flatten().map(|(name, _)| name).collect()
}

/// Returns whether an object may have fields that its schema does not name.
pub fn is_open(schema: &Value) -> bool {
    let others = &schema["additionalProperties"];
    others.is_object() || *others == true
}

/// Returns whether what is missing of an object has defaults, although an answer has all of it.
pub fn has_presets(schema: &Value) -> bool {
    let required = schema["required"].as_array().into_iter().flatten();
    let mut required = required.filter_map(Value::as_str);
    required.any(|name| schema["properties"][name].get("default").is_some())
}

/// Returns whether a value may be null.
pub fn may_be_null(schema: &Value) -> bool {
    let types = schema["type"].as_array().into_iter().flatten();
    let choices = schema["oneOf"].as_array().into_iter().flatten();
    types
        .chain(choices.map(|choice| &choice["type"]))
        .any(|name| name == "null")
}

/// Returns the type of a schema, apart from `null`.
pub fn type_of(schema: &Value) -> &str {
    let types = schema["type"].as_array().into_iter().flatten();
    let mut types = types.chain([&schema["type"]]).filter_map(Value::as_str);
    types.find(|name| *name != "null").unwrap_or_default()
}
