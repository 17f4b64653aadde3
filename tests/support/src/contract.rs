//! Checks responses against the description of the API: path, method, status, content type, body.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// A path that panics, in tests only.
pub const PANICS: &str = "/public/v1/campaigns/test/panic";

/// The description with closed objects: an unknown field is as wrong as a missing one.
pub static CLOSED: LazyLock<Value> = LazyLock::new(|| {
    let mut description = rest::openapi::description("http://127.0.0.1:8080");
    close(&mut description);
    description
});

/// Compiled schemas by their location.
static COMPILED: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Panics unless this response is described. `body` is `None` if it is not JSON.
#[track_caller]
pub fn check(method: &str, path: &str, status: u16, content_type: &str, body: Option<&Value>) {
    let Some((template, item)) = path_item(path) else {
        let name = if path == PANICS { "Internal" } else { "NotFound" };
        assert!(
            status == 404 || path == PANICS,
            "{method} {path}: {status} at no described path"
        );
        return hold(&format!("#/components/responses/{name}"), status, content_type, body);
    };
    let described = if method == "HEAD" {
        "get"
    } else {
        &method.to_lowercase()
    };
    let at = format!("{method} {template}");
    let Some(operation) = item.get(described) else {
        assert!(status == 405 || status == 401, "{at}: {status} of no described method");
        let name = if status == 405 {
            "MethodNotAllowed"
        } else {
            "Unauthorized"
        };
        return hold(&format!("#/components/responses/{name}"), status, content_type, body);
    };
    let responses = operation["responses"].as_object().unwrap();
    assert!(
        responses.contains_key(&status.to_string()),
        "{at}: status {status} is not described: {body:?}"
    );
    if method == "HEAD" {
        return;
    }
    let pointer = format!("#/paths/{}/{described}/responses/{status}", template.replace('/', "~1"));
    hold(&pointer, status, content_type, body);
}

/// Checks a body against the response at a pointer.
#[track_caller]
fn hold(pointer: &str, status: u16, content_type: &str, body: Option<&Value>) {
    let mut pointer = pointer.to_owned();
    let mut response = at(&pointer);
    if let Some(reference) = response["$ref"].as_str() {
        reference.clone_into(&mut pointer);
        response = at(&pointer);
    }
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    let content = response["content"].get(media_type);
    let Some(content) = content else {
        panic!("{pointer}: content type {content_type} is not described");
    };
    let Some(body) = body else { return };
    let problems = problems(&pointer, &content["schema"], body);
    assert!(problems.is_empty(), "{pointer}: {problems:#?}\n{body}");
    if status >= 400 {
        let codes = response["x-ringback-codes"].as_array().unwrap();
        assert!(
            codes.contains(&body["error"]["code"]),
            "{pointer}: the code is none of {codes:?}: {body}"
        );
    }
}

/// Returns the violations of a schema by a value; `key` names the schema.
pub fn problems(key: &str, schema: &Value, value: &Value) -> Vec<String> {
    let compiled = {
        let mut known = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(key.to_owned()).or_insert_with(|| Arc::new(compile(schema))))
    };
    let found = compiled.iter_errors(value);
    found
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

fn compile(schema: &Value) -> Validator {
    let mut root = schema.clone();
    root["components"] = CLOSED["components"].clone();
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    jsonschema::options()
        .should_validate_formats(true)
        .build(&root)
        .unwrap()
}

/// Returns the description's path for a request's path; one without parameters takes precedence.
fn path_item(path: &str) -> Option<(&'static str, &'static Map<String, Value>)> {
    let paths = CLOSED["paths"].as_object()?;
    let (template, item) = paths
        .get_key_value(path)
        .or_else(|| paths.iter().find(|(template, _)| fits(template, path)))?;
    Some((template, item.as_object()?))
}

fn fits(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len()
        && template
            .iter()
            .zip(&path)
            .all(|(part, given)| part == given || (part.starts_with('{') && !given.is_empty()))
}

fn at(pointer: &str) -> &'static Value {
    let path = pointer.trim_start_matches('#');
    CLOSED.pointer(path).unwrap_or_else(|| panic!("nothing at {pointer}"))
}

/// Closes objects that do not say whether they accept further fields.
fn close(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.contains_key("properties") && map.get("type") == Some(&json!("object")) {
                map.entry("additionalProperties").or_insert(json!(false));
            }
            for (name, inner) in map.iter_mut() {
                if !["example", "examples", "default", "enum", "const"].contains(&name.as_str()) {
                    close(inner);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}
