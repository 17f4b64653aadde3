//! Parts that many operations share: failures, headers, parameters, pagination.

use serde_json::{Map, Value, json};

use super::samples;

/// A failure with an example.
#[derive(Debug, Clone)]
pub struct Failure {
    pub(super) status: u16,
    code: String,
    example: String,
    message: String,
    fields: Value,
    details: Option<Value>,
}

impl Failure {
    /// Creates a failure with a code and the message of its example.
    pub fn new(status: u16, code: &str, message: &str) -> Self {
        Self {
            status,
            code: code.to_owned(),
            example: code.to_owned(),
            message: message.to_owned(),
            fields: Value::Null,
            details: None,
        }
    }

    /// Creates the failure of an invalid field.
    pub fn invalid(path: &str, code: &str, message: &str) -> Self {
        let mut failure = Self::new(400, "invalid_request", &format!("`{path}`: {message}"));
        failure.example = code.to_owned();
        failure.fields = json!([{ "path": path, "code": code, "message": message }]);
        failure
    }

    /// Creates the failure of invalid rows in a file.
    pub fn rows() -> Self {
        let message = "1 of 3 rows are invalid; `error.details` lists them";
        let mut failure = Self::invalid("file", "invalid_rows", message);
        failure.details = Some(samples::row_report());
        failure
    }

    /// Creates the failure of a missing resource.
    pub fn missing(thing: &str) -> Self {
        Self::new(404, "not_found", &format!("there is no such {thing} in this account"))
    }

    /// Creates the failure of an idempotency key whose resource was deleted since.
    pub fn gone() -> Self {
        let message = "what this idempotency key made is no longer there";
        let mut failure = Self::new(404, "not_found", message);
        failure.example = "gone".into();
        failure
    }

    /// Creates the failure of a resource that does not have the expected version.
    pub fn stale() -> Self {
        let message = "the version is 4, not the one in `If-Match`; read it again";
        let mut failure = Self::new(409, "conflict", message);
        failure.example = "stale".into();
        failure.details = Some(json!({ "version": 4 }));
        failure
    }

    fn value(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message, "status": self.status });
        if !self.fields.is_null() {
            error["fields"] = self.fields.clone();
        }
        if let Some(details) = &self.details {
            error["details"] = details.clone();
        }
        json!({ "success": false, "error": error })
    }
}

/// Returns the failures that all operations share: the status, and the name among the components' responses.
pub fn shared(keyless: bool, sends_body: bool) -> Vec<(u16, &'static str)> {
    let mut shared = vec![(400, "InvalidRequest"), (500, "Internal")];
    if !keyless {
        shared.extend([
            (401, "Unauthorized"),
            (403, "Forbidden"),
            (429, "RateLimited"),
            (503, "Unavailable"),
        ]);
    }
    if sends_body {
        shared.extend([(413, "PayloadTooLarge"), (415, "UnsupportedMediaType")]);
    }
    shared
}

/// Adds failures to the responses: the operation's own with their examples, the shared ones by reference.
pub fn add_failures(responses: &mut Map<String, Value>, own: &[Failure], shared: &[(u16, &str)]) {
    let mut statuses: Vec<u16> = own.iter().map(|failure| failure.status).collect();
    statuses.extend(shared.iter().map(|(status, _)| *status));
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses {
        let failures: Vec<&Failure> = own.iter().filter(|failure| failure.status == status).collect();
        let response = match shared.iter().find(|(known, _)| *known == status) {
            Some((_, name)) if failures.is_empty() => json!({ "$ref": format!("#/components/responses/{name}") }),
            _ => response(status, &failures),
        };
        responses.insert(status.to_string(), response);
    }
}

fn response(status: u16, failures: &[&Failure]) -> Value {
    let mut codes: Vec<&str> = failures.iter().map(|failure| failure.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    let examples: Map<String, Value> = failures
        .iter()
        .map(|failure| (failure.example.clone(), json!({ "value": failure.value() })))
        .collect();
    let mut headers = headers(false);
    let retry = json!({ "$ref": "#/components/headers/RetryAfter" });
    match status {
        401 => headers["www-authenticate"] = json!({ "$ref": "#/components/headers/WwwAuthenticate" }),
        416 => headers["content-range"] = json!({ "$ref": "#/components/headers/ContentRange" }),
        405 => headers["allow"] = json!({ "$ref": "#/components/headers/Allow" }),
        409 | 429 | 503 => headers["retry-after"] = retry,
        _ => {}
    }
    json!({
        "description": description(status),
        "headers": headers,
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Failure" }, "examples": examples } },
        "x-ringback-codes": codes,
    })
}

fn description(status: u16) -> &'static str {
    match status {
        400 => "The request is invalid; `error.fields` lists every problem",
        401 => "The key or session is missing, unknown or expired",
        403 => "The key or session lacks a scope, or a page of another site sent the session's cookie",
        404 => "Not found in this account",
        405 => "The path does not support this method",
        409 => "Not possible in the current state",
        413 => "Too many bytes or rows",
        415 => "The operation does not accept this content type",
        416 => "The requested range is outside of the file",
        429 => "Too many requests with this key or session",
        502 => "A required external resource could not be fetched",
        503 => "Not available at the moment",
        _ => "A bug; the request id finds it in the log",
    }
}

/// Returns `components.responses`.
pub fn components() -> Value {
    let of = |failure: Failure| response(failure.status, &[&failure]);
    json!({
        "InvalidRequest": of(Failure::invalid("pagesize", "unknown_parameter", "is not a query parameter of this operation")),
        "Unauthorized": of(Failure::new(401, "unauthorized", "this API key is not known")),
        "Forbidden": of(Failure::new(403, "forbidden", "this API key lacks the scope `calls`; use a key that has it")),
        "NotFound": of(Failure::new(404, "not_found", "there is nothing at this path")),
        "MethodNotAllowed": of(Failure::new(405, "method_not_allowed", "this path does not take this method; see the Allow header")),
        "PayloadTooLarge": of(Failure::new(413, "payload_too_large", "a JSON body may have at most 1 MiB")),
        "UnsupportedMediaType": of(Failure::new(415, "unsupported_media_type", "send the body as `Content-Type: application/json`")),
        "RateLimited": of(Failure::new(429, "rate_limited", "too many requests with this key; wait as long as Retry-After says")),
        "Internal": of(Failure::new(500, "internal", "something went wrong inside; the request id finds it in the log")),
        "Unavailable": response(503, &[
            &Failure::new(503, "unavailable", "the database is not available; try again"),
            &Failure::new(503, "overloaded", "the service has too much to do; try again"),
            &Failure::new(503, "storage_full", "the database's disk is full: nothing can be stored until there is room; try again"),
        ]),
    })
}

/// Returns the headers of every response, and the one of possible replays.
pub fn headers(replays: bool) -> Value {
    let mut headers = json!({ "x-request-id": { "$ref": "#/components/headers/RequestId" } });
    if replays {
        headers["idempotency-replayed"] = json!({ "$ref": "#/components/headers/IdempotencyReplayed" });
    }
    headers
}

/// Returns `components.headers`.
pub fn header_components() -> Value {
    let text = |description: &str, example: &str| json!({ "description": description, "schema": { "type": "string" }, "example": example });
    json!({
        "RequestId": {
            "description": "Identifies this request in the log; a client's own id is kept if it is a valid token",
            "schema": { "type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$" },
            "example": samples::REQUEST,
        },
        "RetryAfter": {
            "description": "Seconds until the next try",
            "schema": { "type": "integer", "minimum": 0 },
            "example": 2,
        },
        "WwwAuthenticate": text("How to authenticate", "Bearer"),
        "ContentRange": text("Length of the file", "bytes */44"),
        "ETag": text("Version of the resource, for `If-Match`", "\"3\""),
        "Allow": text("Methods that the path supports", "GET,HEAD"),
        "IdempotencyReplayed": {
            "description": "`true` if the response repeats that of an earlier request with the same idempotency key",
            "schema": { "type": "string", "enum": ["true"] },
            "example": "true",
        },
    })
}

/// Returns `components.parameters`.
pub fn parameter_components() -> Value {
    json!({
        "IdempotencyKey": {
            "name": "Idempotency-Key",
            "in": "header",
            "description": "Stored for 24 hours: a repeated request with the same key gets the first response",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]{1,255}$" },
            "x-ringback-extension": true,
        },
        "IfMatch": {
            "name": "If-Match",
            "in": "header",
            "description": "`ETag` of the version that was read: another present version is a 409. `*` and no header allow \
                            every version",
            "schema": { "type": "string", "pattern": "^(\\*|(W/)?\"[0-9]{1,18}\")$" },
            "example": "*",
            "x-ringback-extension": true,
        },
    })
}

/// Returns a parameter of the path.
pub fn path_parameter(name: &str) -> Value {
    let (description, schema, example) = match name {
        "phoneNumber" => (
            "Phone number as in responses; its `+` may be written as `%2B`",
            json!({ "type": "string" }),
            json!(samples::PHONE),
        ),
        "version" => (
            "Number of a version",
            json!({ "type": "integer", "minimum": 1 }),
            json!(3),
        ),
        "serviceName" => ("A service's name", json!({ "type": "string" }), json!("carrier-twilio")),
        "agentId" => ("An agent's id", uuid(), json!(samples::AGENT)),
        "campaignId" => ("A campaign's id", uuid(), json!(samples::CAMPAIGN)),
        "contactId" => ("A contact's id", uuid(), json!(samples::CONTACT)),
        "conversationId" => ("A conversation's id", uuid(), json!(samples::CONVERSATION)),
        "documentId" => ("A document's id", uuid(), json!(samples::DOCUMENT)),
        "keyId" => ("A key's id", uuid(), json!(samples::API_KEY)),
        "toolId" => ("A tool's id", uuid(), json!(samples::TOOL)),
        "transferRuleId" => ("A transfer rule's id", uuid(), json!(samples::TRANSFER_RULE)),
        "webhookId" => ("A webhook's id", uuid(), json!(samples::WEBHOOK)),
        "deliveryId" => ("A delivery's id", uuid(), json!(samples::DELIVERY)),
        _ => ("An id", uuid(), json!(samples::GROUP)),
    };
    json!({ "name": name, "in": "path", "required": true, "description": description, "schema": schema, "example": example })
}

fn uuid() -> Value {
    json!({ "type": "string", "format": "uuid" })
}

/// Returns the pagination of an example.
pub fn pagination_example(sorted: bool) -> Value {
    let mut example = json!({ "pageSize": 30, "hasMore": false });
    if sorted {
        example["sortBy"] = json!("created_at");
        example["sortDirection"] = json!("desc");
    }
    example
}
