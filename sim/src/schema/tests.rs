//! Tests of the check of request fields: what is refused, and what each schema holds.

use serde_json::json;

use super::*;

fn body(service: &str, request: &str, body: &Value) -> Result<(), Misfit> {
    let types = &SERVICES[service];
    Check { types, is_text: false }.fits(&types.requests[request].body, body, "")
}

#[test]
fn the_schemas_are_read_and_every_name_in_them_is_known() {
    fn names(kind: &Value, found: &mut Vec<String>) {
        match kind {
            Value::String(name) => found.extend(name.strip_prefix('#').map(str::to_owned)),
            Value::Array(of) => of.iter().for_each(|kind| names(kind, found)),
            Value::Object(fields) => fields.values().for_each(|kind| names(kind, found)),
            _ => {}
        }
    }
    let services = read().unwrap();
    assert_eq!(services.len(), DERIVED.len() + 2);
    for (name, service) in services {
        let mut found = Vec::new();
        let requests = service.requests.values();
        requests.for_each(|request| names(&request.body, &mut found));
        service.messages.values().for_each(|kind| names(kind, &mut found));
        service.types.values().for_each(|kind| names(kind, &mut found));
        found.retain(|shared| !service.types.contains_key(shared));
        assert_eq!(found, Vec::<String>::new(), "{name}");
    }
    for entry in serde_json::from_str::<Vec<Value>>(WRITTEN).unwrap() {
        assert!(entry["why"].as_str().is_some_and(|why| why.len() > 10), "{entry}");
    }
}

#[test]
fn unknown_fields_and_other_types_are_named() {
    let dial = |body: &Value| body_error("telnyx", "POST /v2/calls", body);
    assert_eq!(
        dial(&json!({ "to": "+1", "from": "+2", "connection_id": "c", "timeout_secs": 30 })),
        ""
    );
    assert_eq!(
        dial(&json!({ "to": "+1", "timeout": 30 })),
        "/timeout: no published schema has this field"
    );
    assert_eq!(
        dial(&json!({ "timeout_secs": "30" })),
        r#"/timeout_secs: "30" is not of the type integer"#
    );
    let invented = json!({ "model": "m", "messages": [], "stream": true, "mood": "warm" });
    assert_eq!(
        body_error("openai", "POST /v1/chat/completions", &invented),
        "/mood: no published schema has this field"
    );
    let chat = |message: Value| {
        let body = json!({ "model": "m", "messages": [{ "role": "system", "content": "" }, message], "stream": true });
        body_error("openai", "POST /v1/chat/completions", &body)
    };
    assert_eq!(chat(json!({ "role": "user", "content": "hi" })), "");
    assert_eq!(
        chat(json!({ "role": "user", "content": "hi", "mood": 1 })),
        "/messages/1/mood: no published schema has this field"
    );
    assert_eq!(
        chat(json!({ "role": "tool", "tool_call_id": 7, "content": "" })),
        "/messages/1/tool_call_id: 7 is not of the type string"
    );
}

fn body_error(service: &str, request: &str, value: &Value) -> String {
    body(service, request, value)
        .err()
        .map(|misfit| misfit.to_string())
        .unwrap_or_default()
}

#[test]
fn socket_messages_are_of_one_kind() {
    let stt = |said: Value| message("deepgram", "listen", &said).is_ok();
    assert!(stt(json!({ "type": "KeepAlive" })) && stt(json!({ "type": "CloseStream" })));
    assert!(!stt(json!({ "type": "Close" })) && !stt(json!({ "type": "KeepAlive", "now": true })));
    let mark = json!({ "event": "mark", "streamSid": "s", "mark": { "name": "m" } });
    assert!(message("twilio", "stream", &mark).is_ok());
    let dtmf = json!({ "event": "dtmf", "streamSid": "s", "dtmf": { "digit": "1" } });
    assert!(message("signalwire", "stream", &dtmf).is_ok() && message("twilio", "stream", &dtmf).is_err());
    assert!(checked().contains("signalwire stream"));
}

#[test]
fn documents_are_checked_element_by_element() {
    let stream = json!({ "Connect": { "Stream": { "url": "wss://a", "codec": "PCMU" } } });
    assert_eq!(
        message("twilio", "TwiML", &stream).unwrap_err().to_string(),
        "/Connect/Stream/codec: no published schema has this field"
    );
    assert_eq!(message("signalwire", "TwiML", &stream), Ok(()));
    assert!(message("twilio", "TwiML", &json!({ "Connect": { "Dial": {} } })).is_err());
}
