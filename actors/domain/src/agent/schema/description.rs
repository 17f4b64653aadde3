//! JSON Schema of the agent object. Types, ranges and allowed values come from the table that validates
//! requests, descriptions from the types' doc comments, and defaults from the default agent.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use super::{
    shape::{Field, PHONE_CHARS, Shape, join},
    table::AGENT,
};
use crate::agent::object::Agent;

/// Purpose of a schema of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentForm {
    /// The agent as it is returned, with all fields.
    Read,
    /// The agent as it is created.
    New,
    /// The agent as it is patched (RFC 7396).
    Patch,
}

impl AgentForm {
    /// Returns the component name of a type in this form; the agent's own are `Agent`, `NewAgent` and `AgentPatch`.
    fn name(self, base: &str) -> String {
        match self {
            Self::Read => base.to_owned(),
            Self::New => format!("New{base}"),
            Self::Patch => format!("{base}Patch"),
        }
    }
}

/// Returns the components that describe an agent in one form, by name. They refer to each other as
/// `#/components/schemas/…`.
pub fn agent_schemas(form: AgentForm) -> BTreeMap<String, Value> {
    let mut found: Vec<(String, RefOr<Schema>)> = vec![("Agent".into(), Agent::schema())];
    Agent::schemas(&mut found);
    let derived = found
        .into_iter()
        .filter_map(|(name, schema)| Some((name, serde_json::to_value(schema).ok()?)))
        .collect();
    let mut writer = Writer {
        derived,
        defaults: serde_json::to_value(Agent::default()).unwrap_or_default(),
        components: BTreeMap::new(),
    };
    writer.shape(&AGENT, form, "", &json!({ "$ref": "Agent" }));
    writer.components
}

struct Writer {
    /// Schemas derived from the types.
    derived: BTreeMap<String, Value>,
    /// The default agent.
    defaults: Value,
    components: BTreeMap<String, Value>,
}

impl Writer {
    /// Returns the schema of a shape; `hint` is the schema derived from its type.
    fn shape(&mut self, shape: &Shape, form: AgentForm, path: &str, hint: &Value) -> Value {
        match shape {
            Shape::Text { max, .. } => text(*max, form, path),
            Shape::Phone => text(PHONE_CHARS, form, path),
            Shape::OneOf(allowed) => json!({ "type": "string", "enum": allowed }),
            Shape::Flag => json!({ "type": "boolean" }),
            Shape::Number { min, max, never } => number(*min, *max, *never, form),
            Shape::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
            // A patch replaces the whole list, so its items are new ones.
            Shape::List { max, item } => {
                let items = if form == AgentForm::Patch { AgentForm::New } else { form };
                json!({ "type": "array", "maxItems": max, "items": self.shape(item, items, path, hint) })
            }
            Shape::Section(fields) => self.section(fields, form, path, hint),
            Shape::Open(fields) => self.open(fields, form, path),
            Shape::Map(item) => self.map(item, form, path),
            Shape::Languages(item) => {
                let mut map = self.map(item, form, path);
                if form != AgentForm::Read {
                    map["propertyNames"] = json!({ "pattern": LANGUAGE });
                }
                map
            }
            Shape::Scalar { max } => {
                let longest = format!("A string of at most {max} bytes, a number or a boolean.");
                json!({ "type": ["string", "number", "boolean"], "description": longest })
            }
            Shape::Any => json!({}),
        }
    }

    fn map(&mut self, item: &Shape, form: AgentForm, path: &str) -> Value {
        let item = self.shape(item, form, path, &Value::Null);
        let item = if form == AgentForm::Patch { nullable(item) } else { item };
        json!({ "type": "object", "additionalProperties": item })
    }

    /// Adds a typed section as a component, and returns the reference to it.
    fn section(&mut self, fields: &[Field], form: AgentForm, path: &str, hint: &Value) -> Value {
        let base = type_name(hint).unwrap_or_else(|| path.replace('.', "_"));
        let name = form.name(&base);
        let reference = json!({ "$ref": format!("#/components/schemas/{name}") });
        if self.components.contains_key(&name) {
            return reference;
        }
        let own = self.derived.get(&base).cloned().unwrap_or_default();
        let hints = properties(&own, &self.derived);
        let mut shown = Map::new();
        let mut required = Vec::new();
        for field in fields {
            let hint = hints.get(field.name).cloned().unwrap_or_default();
            let at = join(path, field.name);
            shown.insert(field.name.into(), self.field(field, form, &at, &hint));
            let always = match form {
                AgentForm::Read => !may_be_null(&hint),
                AgentForm::New => field.required,
                AgentForm::Patch => false,
            };
            if always {
                required.push(field.name);
            }
        }
        let mut schema = json!({ "type": "object", "properties": shown });
        if let Some(text) = own.get("description") {
            schema["description"] = text.clone();
        }
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if form != AgentForm::Read {
            schema["additionalProperties"] = json!(false);
        }
        self.components.insert(name, schema);
        reference
    }

    fn field(&mut self, field: &Field, form: AgentForm, path: &str, hint: &Value) -> Value {
        let mut schema = self.shape(&field.shape, form, path, hint);
        // Sections and maps are empty by default. Code generators fail on such a default, so leave it out.
        let is_object = matches!(
            field.shape,
            Shape::Section(_) | Shape::Map(_) | Shape::Languages(_) | Shape::Open(_)
        );
        if form != AgentForm::Read {
            if field.required && field.shape.is_text() {
                schema["pattern"] = json!(NOT_BLANK);
            }
            if !field.required {
                schema = nullable(schema);
            }
        }
        for kept in ["description", "x-ringback-extension"] {
            if let Some(value) = hint.get(kept) {
                schema[kept] = value.clone();
            }
        }
        if form != AgentForm::Patch
            && !is_object
            && !field.required
            && let Some(default) = self.defaults.pointer(&format!("/{}", path.replace('.', "/")))
        {
            schema["default"] = default.clone();
        }
        schema
    }

    /// Returns the schema of a free-form object with some checked fields.
    fn open(&mut self, fields: &[Field], form: AgentForm, path: &str) -> Value {
        let mut shown = Map::new();
        let mut required = Vec::new();
        for field in fields {
            let mut schema = self.field(field, form, &join(path, field.name), &Value::Null);
            // The object is stored as it was sent, and clients send `null` to leave a field unset.
            if form == AgentForm::Read && !field.required {
                schema = nullable(schema);
            }
            shown.insert(field.name.into(), schema);
            if field.required && form != AgentForm::Patch {
                required.push(field.name);
            }
        }
        let mut schema = json!({ "type": "object", "additionalProperties": true });
        if !shown.is_empty() {
            schema["properties"] = Value::Object(shown);
        }
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }
}

const LANGUAGE: &str = "^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$";
const NOT_BLANK: &str = r"\S";
const PHONE: &str = r"^\+[1-9][0-9]{6,14}$";
const PHONE_SENT: &str = r"^[^0-9]*([0-9][^0-9]*){3,25}$";

/// Returns the schema of a text. The table contains rules as code, so the field's name selects the description.
fn text(max: usize, form: AgentForm, path: &str) -> Value {
    let sent = form != AgentForm::Read;
    let mut schema = json!({ "type": "string", "maxLength": max });
    let leaf = path.rsplit('.').next().unwrap_or_default();
    match leaf {
        "number" | "phoneNumber" | "rotationNumbers" => {
            schema["pattern"] = json!(if sent { PHONE_SENT } else { PHONE });
        }
        "stateRestrictedNumbers" => {
            schema["pattern"] = json!(if sent {
                r"^[ \-.()]*\+[ \-.()]*[1-9]([ \-.()]*[0-9]){0,14}[ \-.()]*$"
            } else {
                r"^\+[1-9][0-9]{0,14}$"
            });
        }
        "primaryLanguage" => schema["pattern"] = json!(LANGUAGE),
        "timezone" => schema["examples"] = json!(["UTC", "Europe/Berlin"]),
        "postCallWebhook" => {
            schema["format"] = json!("uri");
            schema["pattern"] = json!("^[Hh][Tt][Tt][Pp][Ss]?://[^@/?#]+([/?#]|$)");
        }
        "sipUri" => schema["pattern"] = json!(r"^sips?:[!#-;=?-\[\]-~]+$"),
        "to" | "cc" => schema["format"] = json!("email"),
        "label" if path.ends_with("supportedVoices.label") => schema["pattern"] = json!("^[^<>&\"']*$"),
        "llm"
        | "voiceId"
        | "agentId"
        | "tags"
        | "toolIds"
        | "knowledgeBase"
        | "keywords"
        | "transferRuleIds"
        | "eventsIds"
        | "pronunciationDictionaryId"
        | "versionId" => schema["pattern"] = json!(NOT_BLANK),
        _ => {}
    }
    schema
}

fn number(min: f64, max: f64, never: bool, form: AgentForm) -> Value {
    let range = json!({ "type": "number", "minimum": min, "maximum": max });
    match (never, form) {
        (false, _) => range,
        (true, AgentForm::Read) => json!({ "type": "number", "minimum": -1.0, "maximum": max }),
        (true, _) => json!({ "anyOf": [range, { "type": "number", "minimum": -1.0, "maximum": -1.0 }] }),
    }
}

/// Returns the schema with `null` also allowed.
pub fn nullable(mut schema: Value) -> Value {
    if schema.get("$ref").is_some() {
        return json!({ "oneOf": [{ "type": "null" }, schema] });
    }
    if let Some(choices) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        choices.push(json!({ "type": "null" }));
        return schema;
    }
    if let Some(allowed) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        allowed.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(types)) => types.push(json!("null")),
        Some(one) => *one = json!([one.clone(), "null"]),
        None => {}
    }
    schema
}

/// Returns the properties of a type, including those of flattened types.
fn properties(schema: &Value, derived: &BTreeMap<String, Value>) -> Map<String, Value> {
    let mut found = Map::new();
    let parts = schema.get("allOf").and_then(Value::as_array);
    for part in parts.into_iter().flatten() {
        let referred = type_name(part).filter(|_| part.get("$ref").is_some());
        let part = referred.and_then(|name| derived.get(&name)).unwrap_or(part);
        found.extend(properties(part, derived));
    }
    if let Some(own) = schema.get("properties").and_then(Value::as_object) {
        found.extend(own.clone());
    }
    found
}

/// Returns the type that a property refers to, directly, as the items of a list, or as an optional value.
fn type_name(hint: &Value) -> Option<String> {
    if let Some(reference) = hint.get("$ref").and_then(Value::as_str) {
        return reference.rsplit('/').next().map(str::to_owned);
    }
    if let Some(items) = hint.get("items") {
        return type_name(items);
    }
    let choices = ["oneOf", "allOf", "anyOf"];
    let choices = choices.iter().filter_map(|name| hint.get(name)?.as_array()).flatten();
    choices.filter_map(type_name).next()
}

fn may_be_null(hint: &Value) -> bool {
    let is_null = |value: &Value| value.get("type") == Some(&json!("null"));
    let types = hint.get("type").and_then(Value::as_array);
    let choices = hint.get("oneOf").and_then(Value::as_array);
    types.is_some_and(|types| types.contains(&json!("null")))
        || choices.is_some_and(|choices| choices.iter().any(is_null))
}
