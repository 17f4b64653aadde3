//! The document rules, checked against the tables of the API and against arbitrary JSON.

use proptest::{collection::vec, prelude::*, sample::select, strategy::Union};
use serde_json::json;

use super::*;
use crate::agent::schema::shape::{Field, Shape};

fn minimal() -> Value {
    json!({ "name": "Ada", "conversationConfig": { "agent": { "prompt": { "prompt": "Be kind." } } } })
}

/// Returns the minimal body merged with `extra`.
fn with(extra: &Value) -> Value {
    let mut body = minimal();
    merge(&mut body, extra);
    body
}

/// Returns `path code` for each problem of a body.
fn wrong(body: &Value) -> Vec<String> {
    let problems = validate_create(body).err().unwrap_or_default();
    problems
        .iter()
        .map(|problem| format!("{} {}", problem.path, problem.code))
        .collect()
}

fn wrong_in_patch(patch: &Value) -> Vec<String> {
    let stored = validate_create(&minimal()).unwrap();
    let problems = merge_patch(&stored, patch).err().unwrap_or_default();
    problems
        .iter()
        .map(|problem| format!("{} {}", problem.path, problem.code))
        .collect()
}

fn message(body: &Value) -> String {
    validate_create(body).unwrap_err().remove(0).message
}

#[test]
fn a_name_and_a_prompt_are_enough_and_all_else_reads_back_with_the_contracts_defaults() {
    let stored = validate_create(&minimal()).unwrap();
    assert_eq!(
        Value::Object(stored.clone()),
        minimal(),
        "only what was given is stored"
    );
    let read = serde_json::to_value(complete(&stored).unwrap()).unwrap();
    let tool = json!({ "enabled": false, "disableInterruption": false });
    let expected = json!({
        "name": "Ada",
        "direction": "outbound",
        "tags": [],
        "conversationConfig": {
            "agent": {
                "prompt": {
                    "prompt": "Be kind.",
                    "llm": "default",
                    "temperature": 0,
                    "toolIds": [],
                    "builtInTools": {
                        "endCall": tool,
                        "languageDetection": tool,
                        "skipTurn": tool,
                        "transferToAgent": { "enabled": false, "disableInterruption": false, "transfers": [] },
                        "transferToNumber": {
                            "enabled": false, "disableInterruption": false, "transferRuleIds": [], "transfers": []
                        },
                        "voicemailDetection": tool
                    },
                    "knowledgeBase": [],
                    "ignoreDefaultPersonality": false,
                    "timezone": "UTC"
                },
                "primaryLanguage": "en",
                "hinglishMode": false,
                "dynamicVariables": {},
                "disableFirstMessageInterruptions": false
            },
            "asr": { "userInputAudioFormat": "pcm_16000", "keywords": [] },
            "turn": {
                "turnTimeout": 7, "silenceEndCallTimeout": -1, "turnEagerness": "normal", "spellingPatience": "auto"
            },
            "tts": {
                "voiceId": "default",
                "supportedVoices": [],
                "expressiveMode": false,
                "suggestedAudioTags": [],
                "agentOutputAudioFormat": "pcm_16000",
                "optimizeStreamingLatency": 3,
                "stability": 0.5,
                "speed": 1,
                "similarityBoost": 0.8,
                "pronunciationDictionary": []
            },
            "conversation": { "maxDurationSeconds": 300, "listeningAnnouncement": "" },
            "languagePresets": {}
        },
        "platformSettings": {
            "callActions": {
                "smartOptOut": false,
                "issueTracking": false,
                "postCallEmail": { "enabled": false, "emailConfiguration": {} },
                "scheduleOnCalendar": { "enabled": false, "eventsIds": [] }
            },
            "widget": {},
            "dataCollection": { "entities": {}, "storeData": false },
            "callRetry": {},
            "privacy": { "recordVoice": false },
            "telephony": {
                "numberRotationEnabled": false,
                "rotationNumbers": [],
                "stateRestrictionEnabled": false,
                "stateRestrictedNumbers": []
            },
            "overrides": {
                "prompt": false,
                "greetingMessage": false,
                "voiceId": false,
                "llm": false,
                "firstSpeaker": false,
                "maxDurationSeconds": false
            },
            "disclosure": { "enabled": false }
        },
        "phoneNumbers": [],
        "workflow": { "edges": {}, "nodes": {}, "preventSubagentLoops": false }
    });
    assert_eq!(read.to_string(), expected.to_string(), "values and their order");
}

#[test]
fn every_problem_is_listed_with_its_path() {
    let body = json!({
        "name": " ",
        "direction": "sideways",
        "tags": ["a", 3],
        "colour": 1,
        "conversationConfig": {
            "agent": { "prompt": { "temperature": 2.5, "timezone": "Mars/Phobos", "builtInTools": { "endCall": true } } },
            "turn": { "turnTimeout": 0 },
            "tts": { "optimizeStreamingLatency": 1.5, "supportedVoices": [{}, { "speed": 9 }] }
        },
        "platformSettings": {
            "callActions": {
                "postCallWebhook": "ftp://example.com",
                "postCallEmail": { "emailConfiguration": { "to": ["ada@example.com", "ada"] } }
            },
            "dataCollection": { "entities": { "age": { "type": "int" }, "x": 1 } },
            "callRetry": { "retryCount": 11, "retryDelay": -1 },
            "telephony": { "rotationNumbers": ["12"], "stateRestrictedNumbers": ["1212"] }
        },
        "phoneNumbers": [{ "provider": "simulated" }]
    });
    let mut found = wrong(&body);
    found.sort();
    assert_eq!(
        found,
        [
            "colour unknown_field",
            "conversationConfig.agent.prompt.builtInTools.endCall wrong_type",
            "conversationConfig.agent.prompt.prompt required",
            "conversationConfig.agent.prompt.temperature out_of_range",
            "conversationConfig.agent.prompt.timezone invalid",
            "conversationConfig.tts.optimizeStreamingLatency wrong_type",
            "conversationConfig.tts.supportedVoices[1].speed out_of_range",
            "conversationConfig.turn.turnTimeout out_of_range",
            "direction not_allowed",
            "name required",
            "phoneNumbers[0].number required",
            "platformSettings.callActions.postCallEmail.emailConfiguration.to[1] invalid",
            "platformSettings.callActions.postCallWebhook invalid",
            "platformSettings.callRetry.retryCount out_of_range",
            "platformSettings.callRetry.retryDelay out_of_range",
            "platformSettings.dataCollection.entities.age.type not_allowed",
            "platformSettings.dataCollection.entities.x wrong_type",
            "platformSettings.telephony.rotationNumbers[0] invalid_phone",
            "platformSettings.telephony.stateRestrictedNumbers[0] invalid",
            "tags[1] wrong_type",
        ]
    );
}

#[test]
fn required_fields_are_missed_wherever_the_document_ends() {
    for body in [
        json!({}),
        json!({ "name": null, "conversationConfig": null }),
        json!({ "conversationConfig": { "agent": {} } }),
        json!({ "name": "", "conversationConfig": { "agent": { "prompt": { "prompt": "\n" } } } }),
    ] {
        let mut found = wrong(&body);
        found.sort();
        assert_eq!(
            found,
            ["conversationConfig.agent.prompt.prompt required", "name required"],
            "{body}"
        );
    }
    for body in [json!(null), json!([]), json!("x"), json!(1)] {
        assert_eq!(wrong(&body), [" wrong_type"]);
    }
    assert_eq!(wrong(&with(&json!({ "name": "é".repeat(201) }))), ["name too_long"]);
    assert!(wrong(&with(&json!({ "name": "é".repeat(200) }))).is_empty());
}

#[test]
fn ranges_hold_at_both_ends() {
    let turn = |field: &str, value: Value| json!({ "conversationConfig": { "turn": { field: value } } });
    let tts = |field: &str, value: Value| json!({ "conversationConfig": { "tts": { field: value } } });
    let retry = |field: &str, value: Value| json!({ "platformSettings": { "callRetry": { field: value } } });
    let agent = |value: Value| json!({ "conversationConfig": { "agent": { "prompt": { "temperature": value } } } });
    let longest = |value: Value| json!({ "conversationConfig": { "conversation": { "maxDurationSeconds": value } } });
    for good in [
        turn("turnTimeout", json!(1)),
        turn("turnTimeout", json!(30)),
        turn("turnTimeout", json!(-1)),
        turn("turnTimeout", json!(-1.0)),
        turn("silenceEndCallTimeout", json!(-1)),
        turn("silenceEndCallTimeout", json!(3600)),
        tts("stability", json!(0)),
        tts("similarityBoost", json!(1)),
        tts("speed", json!(0.5)),
        tts("speed", json!(2)),
        tts("optimizeStreamingLatency", json!(4.0)),
        retry("retryCount", json!(0)),
        retry("retryCount", json!(10)),
        retry("retryDelay", json!(10_080)),
        agent(json!(2)),
        longest(json!(1)),
        longest(json!(14_400)),
    ] {
        assert_eq!(wrong(&with(&good)), [""; 0], "{good}");
    }
    for bad in [
        turn("turnTimeout", json!(0.99)),
        turn("turnTimeout", json!(30.01)),
        turn("turnTimeout", json!(-2)),
        turn("silenceEndCallTimeout", json!(0)),
        turn("silenceEndCallTimeout", json!(3601)),
        tts("stability", json!(-0.1)),
        tts("stability", json!(-1)),
        tts("similarityBoost", json!(1.1)),
        tts("speed", json!(0.49)),
        tts("optimizeStreamingLatency", json!(5)),
        retry("retryCount", json!(-1)),
        retry("retryDelay", json!(10_081)),
        retry("retryDelay", json!(1e300)),
        retry("retryDelay", json!(u64::MAX)),
        agent(json!(-0.1)),
        longest(json!(0)),
        longest(json!(14_401)),
    ] {
        let found = wrong(&with(&bad));
        assert!(
            found.len() == 1 && found[0].ends_with(" out_of_range"),
            "{bad}: {found:?}"
        );
    }
}

#[test]
fn messages_name_the_value_and_the_way_out() {
    let wrong = |extra: Value| message(&with(&extra));
    assert_eq!(
        wrong(json!({ "direction": "up" })),
        r#""up" is not one of "outbound", "inbound", "both""#
    );
    assert_eq!(wrong(json!({ "tags": "x" })), r#"must be a list, not "x""#);
    assert_eq!(
        wrong(json!({ "conversationConfig": { "turn": { "turnTimeout": 40 } } })),
        "40 is out of range: 1 to 30, or -1 for never"
    );
    for (near, likely) in [
        ("Direction", "direction"),
        ("phone_numbers", "phoneNumbers"),
        ("wrokflow", "workflow"),
    ] {
        let said = wrong(json!({ near: [] }));
        assert_eq!(said, format!("unknown field; did you mean \"{likely}\"?"), "{near}");
    }
    let said = wrong(json!({ "zebra": 1 }));
    assert!(
        said.starts_with(r#"unknown field; the fields here are "name", "direction""#),
        "{said}"
    );
    let said = wrong(json!({ "tags": [], "direction": "y".repeat(500) }));
    assert!(said.len() < 150, "a long value is cut short: {said}");
}

#[test]
fn presets_are_of_languages_and_override_with_what_fits() {
    let preset = |code: &str, overrides: Value| {
        let mut body = minimal();
        body["conversationConfig"]["languagePresets"] = json!({ code: { "overrides": overrides } });
        validate_create(&body)
    };
    let base = "conversationConfig.languagePresets";
    for (path, overrides) in [
        ("overrides", json!([])),
        ("overrides.agent", json!({ "agent": "x" })),
        (
            "overrides.agent.greetingMessage",
            json!({ "agent": { "greetingMessage": 4 } }),
        ),
        (
            "overrides.agent.prompt.prompt",
            json!({ "agent": { "prompt": { "prompt": {} } } }),
        ),
        (
            "overrides.agent.prompt.timezone",
            json!({ "agent": { "prompt": { "timezone": "Mars" } } }),
        ),
        ("overrides.asr.keywords[0]", json!({ "asr": { "keywords": [1] } })),
        ("overrides.turn.turnTimeout", json!({ "turn": { "turnTimeout": 0.2 } })),
        (
            "overrides.turn.turnEagerness",
            json!({ "turn": { "turnEagerness": "keen" } }),
        ),
        ("overrides.tts.speed", json!({ "tts": { "speed": "fast" } })),
        ("overrides.tts.speed", json!({ "tts": { "speed": 9 } })),
        (
            "overrides.tts.supportedVoices[1].speed",
            json!({ "tts": { "supportedVoices": [{}, { "speed": [] }] } }),
        ),
    ] {
        let problems = preset("de", overrides.clone()).unwrap_err();
        let paths: Vec<&str> = problems.iter().map(|problem| &*problem.path).collect();
        assert_eq!(paths, [format!("{base}.de.{path}")], "{overrides}");
    }
    for code in ["german", "d", "de_DE", "", "de-", "*"] {
        let problems = preset(code, json!({})).unwrap_err();
        assert_eq!(problems[0].path, format!("{base}.{code}"), "{problems:?}");
        assert!(problems[0].message.contains("language code"), "{problems:?}");
    }
    // Unknown names, partial lists and `null` are stored as they are sent.
    let kept = json!({ "firstMessage": 7, "agent": { "x": [], "prompt": { "toolIds": 1 } }, "conversation": "y",
                       "tts": { "speed": null, "suggestedAudioTags": [{ "tag": "sad", "own": 1 }], "supportedVoices": [{ "label": "A" }] } });
    let stored = preset("pt-BR", kept.clone()).unwrap();
    assert_eq!(
        stored["conversationConfig"]["languagePresets"]["pt-BR"]["overrides"],
        kept
    );
}

#[test]
fn free_form_parts_keep_what_they_are_given() {
    let extra = json!({
        "conversationConfig": {
            "agent": { "dynamicVariables": { "a": "x", "b": 1.5, "c": true } },
            "languagePresets": { "de": { "overrides": { "agent": { "anything": null } }, "note": [1] } }
        },
        "platformSettings": {
            "callActions": { "postCallEmail": { "emailConfiguration": { "to": ["a@example.com"], "own": { "x": null } } } },
            "widget": { "colour": null, "deep": { "er": [null] } },
            "dataCollection": { "entities": {
                "zip": { "type": null, "own": 1, "enum": "odd" }, "age": { "type": "integer" }, "b": {}
            } }
        },
        "workflow": {
            "nodes": { "start": { "type": "start" }, "end": 1 },
            "edges": { "e": { "source": "start", "target": "end", "forward_condition": null } }
        }
    });
    let mut body = minimal();
    for (name, value) in extra.as_object().unwrap() {
        if name == "conversationConfig" {
            body[name]["agent"]["dynamicVariables"] = value["agent"]["dynamicVariables"].clone();
            body[name]["languagePresets"] = value["languagePresets"].clone();
        } else {
            body[name] = value.clone();
        }
    }
    let stored = validate_create(&body).unwrap();
    assert_eq!(Value::Object(stored.clone()), body);
    let names: Vec<String> = complete(&stored)
        .unwrap()
        .platform_settings
        .data_collection
        .typed()
        .into_iter()
        .map(|e| e.0)
        .collect();
    assert_eq!(names, ["zip", "age", "b"], "in the client's order");
}

#[test]
fn what_the_service_reads_of_free_form_parts_is_checked() {
    let variables = json!({ "conversationConfig": { "agent": { "dynamicVariables": { "a": [], "b": {}, "c": 1 } } } });
    let path = "conversationConfig.agent.dynamicVariables";
    assert_eq!(
        wrong(&with(&variables)),
        [format!("{path}.a wrong_type"), format!("{path}.b wrong_type")]
    );
    let mut body = minimal();
    body["conversationConfig"]["agent"]["dynamicVariables"] = json!({ "a": null });
    assert_eq!(wrong(&body), [format!("{path}.a wrong_type")], "null is no value");
    body["conversationConfig"]["agent"]["dynamicVariables"] = json!({ "a": "é".repeat(2_048), "b": "x".repeat(4_097) });
    assert_eq!(
        wrong(&body),
        [format!("{path}.b too_long")],
        "as the variables of a call"
    );
    let edges = json!({ "workflow": {
        "nodes": { "a": {} },
        "edges": { "e": { "source": "a", "target": "b" }, "f": { "source": "a" }, "g": 1, "h": { "source": 1, "target": "a" } }
    } });
    assert_eq!(
        wrong(&with(&edges)),
        [
            "workflow.edges.f.target required",
            "workflow.edges.g wrong_type",
            "workflow.edges.h.source wrong_type",
            "workflow.edges.e.target not_found",
        ]
    );
}

#[test]
fn phone_numbers_are_stored_normalised_and_once() {
    let extra = json!({
        "phoneNumbers": [{ "number": "+1 (555) 123-4567" }],
        "platformSettings": { "telephony": { "rotationNumbers": ["0015551234567"], "stateRestrictedNumbers": ["+1 212"] } }
    });
    let stored = Value::Object(validate_create(&with(&extra)).unwrap());
    assert_eq!(stored["phoneNumbers"][0]["number"], "+15551234567");
    assert_eq!(
        stored["platformSettings"]["telephony"]["rotationNumbers"][0],
        "+15551234567"
    );
    assert_eq!(
        stored["platformSettings"]["telephony"]["stateRestrictedNumbers"][0],
        "+1212"
    );
    let twice = json!({ "phoneNumbers": [{ "number": "+15551234567" }, { "number": "+1 555 123 4567" }] });
    assert_eq!(wrong(&with(&twice)), ["phoneNumbers[1].number invalid"]);
}

#[test]
fn a_patch_merges_objects_and_replaces_lists() {
    let stored = validate_create(&with(&json!({
        "tags": ["a", "b"],
        "conversationConfig": { "turn": { "turnTimeout": 9 }, "agent": { "dynamicVariables": { "x": 1, "y": 2 } } }
    })));
    let patch = json!({
        "tags": ["c"],
        "conversationConfig": { "tts": { "speed": 1.5 }, "agent": { "dynamicVariables": { "x": null, "z": 3 } } }
    });
    let merged = Value::Object(merge_patch(&stored.unwrap(), &patch).unwrap());
    assert_eq!(merged["tags"], json!(["c"]));
    assert_eq!(merged["conversationConfig"]["turn"]["turnTimeout"], 9);
    assert_eq!(merged["conversationConfig"]["tts"], json!({ "speed": 1.5 }));
    assert_eq!(
        merged["conversationConfig"]["agent"]["dynamicVariables"],
        json!({ "y": 2, "z": 3 })
    );
    assert_eq!(merged["conversationConfig"]["agent"]["prompt"]["prompt"], "Be kind.");
}

#[test]
fn more_than_64_tools_are_refused_with_the_number() {
    let with_tools = |count: usize| {
        let ids: Vec<String> = (0..count).map(|n| n.to_string()).collect();
        let prompt = json!({ "prompt": "Be kind.", "toolIds": ids });
        validate_create(&json!({ "name": "Ada", "conversationConfig": { "agent": { "prompt": prompt } } }))
    };
    assert!(with_tools(64).is_ok());
    let problems = with_tools(65).unwrap_err();
    assert_eq!(problems[0].path, "conversationConfig.agent.prompt.toolIds");
    assert_eq!(problems[0].message, "has 65 items; at most 64 are allowed");
}

#[test]
fn null_puts_a_field_back_and_a_required_one_refuses_it() {
    let stored = validate_create(&with(
        &json!({ "direction": "both", "conversationConfig": { "turn": { "turnTimeout": 9 } } }),
    ));
    let patch = json!({ "direction": null, "conversationConfig": { "turn": null } });
    let merged = merge_patch(&stored.unwrap(), &patch).unwrap();
    assert_eq!(merged, *minimal().as_object().unwrap());
    assert_eq!(wrong_in_patch(&json!({ "name": null })), ["name required"]);
    let prompt = "conversationConfig.agent.prompt.prompt required";
    assert_eq!(wrong_in_patch(&json!({ "conversationConfig": null })), [prompt]);
    assert_eq!(
        wrong_in_patch(&json!({ "conversationConfig": { "agent": { "prompt": { "prompt": null } } } })),
        [prompt]
    );
    assert_eq!(
        wrong_in_patch(&json!({ "conversationConfig": { "agent": { "prompt": { "prompt": " " } } } })),
        [prompt]
    );
}

#[test]
fn a_patch_is_refused_by_its_own_paths() {
    assert_eq!(
        wrong_in_patch(&json!({ "zebra": null, "tags": [null] })),
        ["zebra unknown_field", "tags[0] wrong_type"]
    );
    assert_eq!(
        wrong_in_patch(&json!({ "workflow": { "edges": { "e": { "source": "a", "target": "a" } } } })).len(),
        2
    );
    assert_eq!(wrong_in_patch(&json!([])), [" wrong_type"]);
    assert_eq!(
        wrong_in_patch(&json!({ "phoneNumbers": [{}] })),
        ["phoneNumbers[0].number required"]
    );
}

#[test]
fn removing_an_entity_keeps_the_order_of_the_others() {
    let entities = |entities: Value| json!({ "platformSettings": { "dataCollection": { "entities": entities } } });
    let body = with(&entities(json!({ "a": {}, "b": {}, "c": {}, "d": {} })));
    let merged = merge_patch(
        &validate_create(&body).unwrap(),
        &entities(json!({ "a": null, "e": {} })),
    )
    .unwrap();
    let typed = complete(&merged).unwrap().platform_settings.data_collection.typed();
    assert_eq!(
        typed.into_iter().map(|(name, _)| name).collect::<Vec<_>>(),
        ["b", "c", "d", "e"]
    );
}

#[test]
fn references_are_found_with_their_paths() {
    let body = with(&json!({ "conversationConfig": { "agent": { "prompt": {
        "toolIds": ["t"],
        "knowledgeBase": ["d", "g"],
        "builtInTools": { "transferToAgent": { "transfers": [{ "agentId": "a" }, { "agentId": "b" }] } }
    } } } }));
    let stored = validate_create(&body).unwrap();
    let prompt = "conversationConfig.agent.prompt";
    let reference = |path: &str, id: &str| (format!("{prompt}.{path}"), id.to_owned());
    assert_eq!(
        referenced_agents(&stored),
        [
            reference("builtInTools.transferToAgent.transfers[0].agentId", "a"),
            reference("builtInTools.transferToAgent.transfers[1].agentId", "b")
        ]
    );
    assert_eq!(
        referenced_documents(&stored),
        [reference("knowledgeBase[0]", "d"), reference("knowledgeBase[1]", "g")]
    );
    assert_eq!(referenced_tools(&stored), [reference("toolIds[0]", "t")]);
    assert!(referenced_agents(&Map::new()).is_empty());
}

/// Texts, at least one of which passes each rule.
const TEXTS: [&str; 8] = [
    "en",
    "Europe/Berlin",
    "+15551234567",
    "https://example.com/x",
    "sip:desk@example.com",
    "ada@example.com",
    "Hello {{name}}",
    "",
];

/// Generates values that fit a shape.
fn fitting(shape: &'static Shape, required: bool) -> BoxedStrategy<Value> {
    match shape {
        Shape::Text { max, rule } => {
            let texts = TEXTS
                .iter()
                .filter(|text| rule(text).is_ok() && text.chars().count() <= *max);
            let texts: Vec<&str> = texts.filter(|text| !required || !text.is_empty()).copied().collect();
            select(texts).prop_map(Value::from).boxed()
        }
        Shape::Phone => Just(json!("+15551234567")).boxed(),
        Shape::OneOf(allowed) => select(*allowed).prop_map(Value::from).boxed(),
        Shape::Flag => any::<bool>().prop_map(Value::from).boxed(),
        Shape::Number { min, max, never } => {
            let lowest = if *never { -1.0 } else { *min };
            prop_oneof![*min..=*max, Just(lowest)].prop_map(Value::from).boxed()
        }
        Shape::Integer { min, max } => (*min..=*max).prop_map(Value::from).boxed(),
        Shape::List { item, .. } => vec(fitting(item, false), 0..3).prop_map(Value::from).boxed(),
        Shape::Section(fields) | Shape::Open(fields) => fields_of(fields),
        Shape::Map(item) => named(vec!["b", "a", "x y"], item),
        Shape::Languages(item) => named(vec!["de", "pt-BR", "hi"], item),
        Shape::Scalar { .. } => select(vec![json!("x"), json!(1.5), json!(7), json!(true)]).boxed(),
        Shape::Any => select(vec![json!({ "type": "start" }), json!([null]), json!(1)]).boxed(),
    }
}

fn named(names: Vec<&'static str>, item: &'static Shape) -> BoxedStrategy<Value> {
    let entry = (select(names), fitting(item, false));
    vec(entry, 0..3)
        .prop_map(|entries| {
            entries
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()
        })
        .boxed()
}

fn fields_of(fields: &'static [Field]) -> BoxedStrategy<Value> {
    let mut object = Just(Map::new()).boxed();
    for field in fields {
        let value = fitting(&field.shape, field.required).prop_map(Some);
        let value = if field.required {
            value.boxed()
        } else {
            prop_oneof![Just(None), value].boxed()
        };
        object = (object, value)
            .prop_map(|(mut object, value)| {
                object.extend(value.map(|value| (field.name.to_owned(), value)));
                object
            })
            .boxed();
    }
    object.prop_map(Value::Object).boxed()
}

/// Generates valid bodies; some of them set every field.
fn valid() -> impl Strategy<Value = Value> {
    static SHAPE: Shape = AGENT;
    fitting(&SHAPE, true).prop_map(|mut body| {
        let edges: Vec<Value> = match body["workflow"]["edges"].as_object() {
            Some(edges) => edges.values().cloned().collect(),
            None => Vec::new(),
        };
        for edge in &edges {
            for end in ["source", "target"] {
                body["workflow"]["nodes"][edge[end].as_str().unwrap()] = json!({});
            }
        }
        if let Some(numbers) = body["phoneNumbers"].as_array_mut() {
            numbers.truncate(1);
        }
        let tool = "/conversationConfig/agent/prompt/builtInTools/transferToNumber";
        if let Some(Value::Object(tool)) = body.pointer_mut(tool) {
            let transfers = tool.get_mut("transfers").and_then(Value::as_array_mut);
            let transfers = transfers.into_iter().flatten();
            let named = transfers.map(|transfer| {
                transfer["transferDestination"]["phoneNumber"] = json!("+15551234567");
                transfer["transferDestination"]["sipUri"] = json!("sip:desk@example.com");
            });
            if named.count() == 0 {
                tool.shift_remove("enabled");
            }
        }
        // The provider decides which ids a calendar accepts.
        let calendar = "/platformSettings/callActions/scheduleOnCalendar";
        if let Some(wish) = body.pointer_mut(calendar).and_then(Value::as_object_mut) {
            let ids = match wish.get("provider").and_then(Value::as_str) {
                Some("cal.com" | "google") => json!(["1"]),
                Some(_) | None => json!([]),
            };
            wish.insert("eventsIds".into(), ids);
        }
        // Indexing creates missing fields.
        body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        if let Some(workflow) = body["workflow"].as_object_mut() {
            workflow.retain(|_, value| !value.is_null());
        }
        body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        body
    })
}

/// Generates any JSON, containing names of the API so that it reaches deep.
fn arbitrary() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        select(TEXTS.to_vec()).prop_map(Value::from),
    ];
    let names = [
        "name",
        "conversationConfig",
        "agent",
        "prompt",
        "turn",
        "turnTimeout",
        "workflow",
        "edges",
        "nodes",
        "source",
        "phoneNumbers",
        "number",
        "platformSettings",
        "dataCollection",
        "entities",
        "type",
        "a",
    ];
    leaf.prop_recursive(6, 48, 5, move |inner| {
        let entry = (select(names.to_vec()), inner.clone());
        Union::new([
            vec(inner, 0..4).prop_map(Value::from).boxed(),
            vec(entry, 0..5)
                .prop_map(|entries| {
                    entries
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect()
                })
                .boxed(),
        ])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_valid_document_completes_and_its_reading_is_valid_again(body in valid()) {
        let stored = validate_create(&body).unwrap();
        let agent = complete(&stored).unwrap();
        let read = serde_json::to_value(&agent).unwrap();
        let again = complete(&validate_create(&read).unwrap()).unwrap();
        prop_assert_eq!(serde_json::to_value(again).unwrap(), read);
    }

    #[test]
    fn what_was_set_reads_back(body in valid()) {
        let stored = validate_create(&body).unwrap();
        let read = serde_json::to_value(complete(&stored).unwrap()).unwrap();
        prop_assert!(holds(&read, &Value::Object(stored)));
    }

    #[test]
    fn an_empty_patch_changes_nothing(body in valid()) {
        let stored = validate_create(&body).unwrap();
        prop_assert_eq!(merge_patch(&stored, &json!({})).unwrap(), stored);
    }

    #[test]
    fn no_json_panics(body in arbitrary(), stored in valid()) {
        let stored = validate_create(&stored).unwrap();
        let _ = validate_create(&body);
        if let Ok(merged) = merge_patch(&stored, &body) {
            prop_assert!(complete(&merged).is_ok());
        }
    }

    #[test]
    fn merging_agrees_with_the_library_but_for_the_order(mut document in arbitrary(), patch in arbitrary()) {
        let mut expected = document.clone();
        json_patch::merge(&mut expected, &patch);
        merge(&mut document, &patch);
        prop_assert_eq!(document, expected);
    }
}

/// Returns whether all given values appear in what is read, apart from defaults.
fn holds(read: &Value, given: &Value) -> bool {
    match (read, given) {
        (Value::Object(read), Value::Object(given)) => given
            .iter()
            .all(|(name, given)| read.get(name).is_some_and(|read| holds(read, given))),
        (Value::Array(read), Value::Array(given)) => {
            read.len() == given.len() && read.iter().zip(given).all(|(read, given)| holds(read, given))
        }
        // `1` and `1.0` are the same number in JSON, but not in the library.
        (Value::Number(read), Value::Number(given)) => read.as_f64() == given.as_f64(),
        (read, given) => read == given,
    }
}
