//! Builder for one operation of the description. It adds the parts that all operations share.

#![expect(
    clippy::needless_pass_by_value,
    reason = "values created in place read better without a reference"
)]

use std::collections::BTreeMap;

use axum::{
    Router,
    handler::Handler,
    routing::{MethodFilter, MethodRouter, on},
};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{
    answers::{self, Failure},
    forms, scoped,
};
use crate::{request::schemas::collect, state::RestState};

/// Mark of everything that is not in the service document.
pub const EXTENSION: &str = "x-ringback-extension";

/// Schemas by name. In responses, an optional field is never `null`; in requests it may be missing or `null`.
#[derive(Debug, Default)]
pub struct Schemas {
    /// Schemas of responses.
    pub read: BTreeMap<String, Value>,
    /// Schemas of request bodies.
    pub sent: BTreeMap<String, Value>,
}

/// An operation being described, with its route.
pub struct Operation {
    /// Method, in lower case.
    pub method: &'static str,
    /// Pattern of the path.
    pub path: &'static str,
    /// The description.
    pub value: Map<String, Value>,
    route: Option<MethodRouter<RestState>>,
    parameters: Vec<Value>,
    responses: Map<String, Value>,
    failures: Vec<Failure>,
    /// Schemas that it refers to.
    pub schemas: Schemas,
    keyless: bool,
    /// Example of a possible `warning`.
    warns: Option<&'static str>,
    replays: bool,
    versioned: bool,
    sends_body: bool,
}

impl Operation {
    fn new(method: &'static str, path: &'static str, id: &str, summary: &str) -> Self {
        let mut value = Map::new();
        value.insert("operationId".into(), json!(id));
        value.insert("summary".into(), json!(summary));
        value.insert(EXTENSION.into(), json!(true));
        let mut operation = Self {
            method,
            path,
            value,
            route: None,
            parameters: Vec::new(),
            responses: Map::new(),
            failures: Vec::new(),
            schemas: Schemas::default(),
            keyless: false,
            warns: None,
            replays: false,
            versioned: false,
            sends_body: false,
        };
        for name in path.split('/').filter_map(|part| part.strip_prefix('{')) {
            let name = name.trim_end_matches('}');
            operation.parameters.push(answers::path_parameter(name));
        }
        operation
    }

    /// Creates a reading operation.
    pub fn get(path: &'static str, id: &str, summary: &str) -> Self {
        Self::new("get", path, id, summary)
    }

    /// Creates an operation that creates or commands.
    pub fn post(path: &'static str, id: &str, summary: &str) -> Self {
        Self::new("post", path, id, summary)
    }

    /// Creates a changing operation.
    pub fn patch(path: &'static str, id: &str, summary: &str) -> Self {
        Self::new("patch", path, id, summary)
    }

    /// Creates a deleting operation.
    pub fn delete(path: &'static str, id: &str, summary: &str) -> Self {
        Self::new("delete", path, id, summary)
    }

    /// Adds the handler.
    pub fn by<H: Handler<T, RestState>, T: 'static>(mut self, handler: H) -> Self {
        let method = match self.method {
            "get" => MethodFilter::GET,
            "post" => MethodFilter::POST,
            "patch" => MethodFilter::PATCH,
            _ => MethodFilter::DELETE,
        };
        self.route = Some(on(method, handler));
        self
    }

    /// Adds a description beyond the summary.
    pub fn note(mut self, text: &str) -> Self {
        self.value.insert("description".into(), json!(text));
        self
    }

    /// Removes the mark of what is not in the service document.
    pub fn in_service_document(mut self) -> Self {
        self.value.shift_remove(EXTENSION);
        self
    }

    /// Marks the operation as not requiring a key.
    pub fn keyless(mut self) -> Self {
        self.keyless = true;
        self
    }

    /// Adds a query parameter.
    pub fn query(mut self, name: &str, description: &str, schema: Value) -> Self {
        self.parameters
            .push(json!({ "name": name, "in": "query", "description": description, "schema": schema }));
        self
    }

    /// Adds `cursor` and `pageSize`.
    pub fn paged(self) -> Self {
        self.query(
            "cursor",
            "`pagination.nextCursor` of the previous page",
            json!({ "type": "string" }),
        )
        .query(
            "pageSize",
            "Items per page",
            json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 30 }),
        )
    }

    /// Adds `bom`.
    pub fn bom(self) -> Self {
        self.query(
            "bom",
            "Whether a CSV file begins with a byte order mark, by which spreadsheets recognise UTF-8",
            json!({ "type": "boolean", "default": true }),
        )
    }

    /// Adds the idempotency key.
    pub fn idempotent(mut self) -> Self {
        self.parameters
            .push(json!({ "$ref": "#/components/parameters/IdempotencyKey" }));
        self.replays = true;
        self.failures.push(Failure::gone());
        self.conflict(
            "conflict",
            "the idempotency key was used for another request; send a new key",
        )
    }

    /// Adds the version of the resource as `ETag`, and to a change the version that it expects.
    pub fn versioned(mut self) -> Self {
        self.versioned = true;
        if self.method == "patch" {
            return self.expects_version();
        }
        self
    }

    /// Adds `If-Match`.
    pub fn expects_version(mut self) -> Self {
        self.parameters
            .push(json!({ "$ref": "#/components/parameters/IfMatch" }));
        self.failures.push(Failure::stale());
        self
    }

    fn sends<T: ToSchema>(&mut self) -> Value {
        self.sends_body = true;
        collect::<T>(&mut self.schemas.sent);
        json!({ "$ref": format!("#/components/schemas/{}", T::name()) })
    }

    /// Adds a JSON body.
    pub fn body<T: ToSchema>(mut self, examples: Value) -> Self {
        let schema = self.sends::<T>();
        self.body_of("application/json", &schema, &examples, true)
    }

    /// Adds a JSON body that creates a `T`.
    pub fn creates<T: ToSchema>(mut self, examples: Value) -> Self {
        self.schemas.sent.extend(forms::new::<T>());
        self.body_named(&T::name(), examples)
    }

    /// Adds a JSON body that changes a `T`, whose schema is called `name`.
    pub fn changes<T: ToSchema>(mut self, name: &str, examples: Value) -> Self {
        self.schemas.sent.extend(forms::patch::<T>(name));
        self.body_named(name, examples)
    }

    /// Adds an optional JSON body.
    pub fn optional_body<T: ToSchema>(mut self, examples: Value) -> Self {
        let schema = self.sends::<T>();
        self.body_of("application/json", &schema, &examples, false)
    }

    /// Adds a JSON body whose schema is defined elsewhere.
    pub fn body_named(mut self, schema: &str, examples: Value) -> Self {
        self.sends_body = true;
        let schema = json!({ "$ref": format!("#/components/schemas/{schema}") });
        self.body_of("application/json", &schema, &examples, true)
    }

    /// Adds a form with a file.
    pub fn form<T: ToSchema>(mut self, examples: Value) -> Self {
        let schema = self.sends::<T>();
        self.body_of("multipart/form-data", &schema, &examples, true)
    }

    /// Adds a body; `examples` maps names to values.
    fn body_of(mut self, content_type: &str, schema: &Value, examples: &Value, required: bool) -> Self {
        let content = json!({ content_type: { "schema": schema, "examples": named(examples) } });
        self.value.insert(
            "requestBody".into(),
            json!({ "required": required, "content": content }),
        );
        self
    }

    /// Adds a possible `warning` in the response.
    pub fn warns(self) -> Self {
        self.warns_of("the carrier is simulated: nobody is really called")
    }

    /// Adds a possible `warning` in the response, with an example.
    pub fn warns_of(mut self, example: &'static str) -> Self {
        self.warns = Some(example);
        self
    }

    /// Adds a 200 with `data`.
    pub fn ok<T: ToSchema>(self, example: Value) -> Self {
        let schema = reference::<T>();
        self.registered::<T>().answers("200", "Done", schema, example, None)
    }

    /// Adds a 201 with `data`.
    pub fn created<T: ToSchema>(self, example: Value) -> Self {
        let schema = reference::<T>();
        self.registered::<T>().answers("201", "Created", schema, example, None)
    }

    /// Adds a 200 with a schema defined elsewhere.
    pub fn ok_named(self, schema: &str, example: Value) -> Self {
        let schema = json!({ "$ref": format!("#/components/schemas/{schema}") });
        self.answers("200", "Done", schema, example, None)
    }

    /// Adds a 200 for a deletion, whose schema is called `name`. `id` is the name of the id.
    pub fn deletes(mut self, name: &str, id: &str, example: &Value) -> Self {
        let properties = json!({
            id: { "type": "string", "format": "uuid", "description": "Its id" },
            "deleted": { "type": "boolean", "description": "Always true" },
        });
        let schema = json!({ "type": "object", "required": [id, "deleted"], "properties": properties,
            "description": "Id of what was deleted" });
        self.schemas.read.insert(name.to_owned(), schema);
        self.ok_named(name, json!({ id: example, "deleted": true }))
    }

    /// Adds a 200 with a page of a list.
    pub fn page<T: ToSchema>(self, item: Value) -> Self {
        self.listed::<T>(item, "Pagination")
    }

    /// Adds a 200 with `data` that contains a page of a list.
    pub fn page_of<T: ToSchema>(self, example: Value) -> Self {
        let schema = reference::<T>();
        self.registered::<T>()
            .answers("200", "A page", schema, example, Some("Pagination"))
    }

    /// Adds a 200 with a page of a sortable list.
    pub fn sorted_page<T: ToSchema>(self, item: Value) -> Self {
        self.listed::<T>(item, "SortedPagination")
    }

    fn listed<T: ToSchema>(self, item: Value, pagination: &'static str) -> Self {
        let schema = json!({ "type": "array", "items": reference::<T>() });
        self.registered::<T>()
            .answers("200", "A page", schema, json!([item]), Some(pagination))
    }

    /// Adds a 200 with a page whose items have a schema defined elsewhere.
    pub fn page_named(self, schema: &str, item: Value) -> Self {
        let schema = json!({ "type": "array", "items": { "$ref": format!("#/components/schemas/{schema}") } });
        self.answers("200", "A page", schema, json!([item]), Some("Pagination"))
    }

    fn registered<T: ToSchema>(mut self) -> Self {
        collect::<T>(&mut self.schemas.read);
        self
    }

    fn answers(mut self, status: &str, text: &str, data: Value, example: Value, pagination: Option<&str>) -> Self {
        let data = match self.keyless {
            true => data,
            false => scoped::or_in_short(self.method, self.path, data, &self.schemas.read),
        };
        let mut properties = json!({ "success": { "type": "boolean", "description": "Always true" }, "data": data });
        let mut required = vec!["success", "data"];
        let mut shown = json!({ "success": true, "data": example });
        if let Some(schema) = pagination {
            properties["pagination"] = json!({ "$ref": format!("#/components/schemas/{schema}") });
            required.push("pagination");
            shown["pagination"] = answers::pagination_example(schema == "SortedPagination");
        }
        if let Some(example) = self.warns {
            properties["warning"] =
                json!({ "type": "string", "description": "Additional information; omitted if there is none" });
            shown["warning"] = json!(example);
        }
        if self.shows_request_id() {
            properties["requestId"] = json!({ "type": ["string", "null"] });
            required.push("requestId");
            shown["requestId"] = json!(super::samples::REQUEST);
        }
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        let content =
            json!({ "application/json": { "schema": schema, "examples": { "success": { "value": shown } } } });
        let mut headers = answers::headers(self.replays);
        if self.versioned {
            headers["etag"] = json!({ "$ref": "#/components/headers/ETag" });
        }
        let response = json!({ "description": text, "headers": headers, "content": content });
        self.responses.insert(status.into(), response);
        self
    }

    /// Adds an optional header.
    pub fn header(mut self, name: &str, description: &str) -> Self {
        self.parameters
            .push(json!({ "name": name, "in": "header", "description": description, "schema": { "type": "string" } }));
        self
    }

    /// Adds a success that is not in the envelope, or a further content type of it.
    pub fn raw(mut self, status: &str, content_type: &str, text: &str, schema: Value, example: Value) -> Self {
        let mut media = json!({ "schema": schema });
        if !example.is_null() {
            media["examples"] = json!({ "success": { "value": example } });
        }
        let response = self
            .responses
            .entry(status)
            .or_insert_with(|| json!({ "description": text, "headers": answers::headers(false), "content": {} }));
        response["content"][content_type] = media;
        self
    }

    /// Adds a 400 with the field and code in `error.fields`.
    pub fn invalid(mut self, path: &str, code: &str, message: &str) -> Self {
        self.failures.push(Failure::invalid(path, code, message));
        self
    }

    /// Adds a 400 with the row report of a file.
    pub fn invalid_rows(mut self) -> Self {
        self.failures.push(Failure::rows());
        self
    }

    /// Adds a 404 for a resource that the body names.
    pub fn missing(mut self, thing: &str) -> Self {
        self.failures.push(Failure::missing(thing));
        self
    }

    /// Adds a 409.
    pub fn conflict(mut self, code: &'static str, message: &str) -> Self {
        self.failures.push(Failure::new(409, code, message));
        self
    }

    /// Adds another failure.
    pub fn fails(mut self, status: u16, code: &'static str, message: &str) -> Self {
        self.failures.push(Failure::new(status, code, message));
        self
    }

    /// Adds a link from an id in the response to an operation that uses it.
    pub fn link(mut self, name: &str, operation: &str, parameter: &str, pointer: &str) -> Self {
        let link = json!({
            "operationId": operation,
            "parameters": { parameter: format!("$response.body#{pointer}") },
        });
        for status in ["200", "201"] {
            if let Some(response) = self.responses.get_mut(status) {
                response["links"][name] = link.clone();
            }
        }
        self
    }

    fn shows_request_id(&self) -> bool {
        ["/public/v1/campaigns", "/public/v1/contacts"]
            .iter()
            .any(|prefix| self.path.starts_with(prefix))
    }

    /// Returns the finished operation, under its tag.
    pub fn finish(mut self, tag: &str) -> Self {
        let thing = self.path.split('/').rfind(|part| part.starts_with('{'));
        if let Some(id) = thing {
            let thing = match id {
                "{phoneNumber}" => "entry",
                "{transferRuleId}" => "transfer rule",
                other => other.trim_matches(['{', '}']).trim_end_matches("Id"),
            };
            if !self.failures.iter().any(|failure| failure.status == 404) {
                self.failures.push(Failure::missing(thing));
            }
        }
        if !self.keyless {
            scoped::show_scopes(self.method, self.path, &mut self.value);
        }
        let mut security = vec![
            json!({ "apiKeyHeader": [] }),
            json!({ "bearer": [] }),
            json!({ "session": [] }),
        ];
        if self.method == "get" {
            security.push(json!({ "apiKeyQuery": [] }));
        }
        if self.keyless {
            security.clear();
        }
        let shared = answers::shared(self.keyless, self.sends_body);
        let mut responses = self.responses;
        answers::add_failures(&mut responses, &self.failures, &shared);
        self.value.insert("tags".into(), json!([tag]));
        self.value.insert("security".into(), Value::Array(security));
        if !self.parameters.is_empty() {
            self.value.insert("parameters".into(), Value::Array(self.parameters));
        }
        self.value.insert("responses".into(), Value::Object(responses));
        self.parameters = Vec::new();
        self.responses = Map::new();
        self
    }
}

fn reference<T: ToSchema>() -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", T::name()) })
}

fn named(examples: &Value) -> Value {
    let entries = examples.as_object().into_iter().flatten();
    entries
        .map(|(name, value)| (name.clone(), json!({ "value": value })))
        .collect::<Map<_, _>>()
        .into()
}

/// Returns the routes of operations.
pub fn routes(operations: impl IntoIterator<Item = Operation>) -> Router<RestState> {
    let routed = operations
        .into_iter()
        .filter_map(|operation| Some((operation.path, operation.route?)));
    routed.fold(Router::new(), |router, (path, route)| router.route(path, route))
}
