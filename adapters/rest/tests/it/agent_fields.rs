//! Tests of every field of an agent through HTTP: its default, the values it keeps, and those it rejects.

use serde_json::{Value, json};

use support::{app::TestApp, client::Answer};

const CREATE: &str = "/public/v1/agents/create";

/// Free-form objects. They are stored as given, so that their content has no types.
const FREE: &[&str] = &[
    "/conversationConfig/agent/dynamicVariables",
    "/conversationConfig/languagePresets",
    "/platformSettings/callActions/postCallEmail/emailConfiguration",
    "/platformSettings/dataCollection/entities",
    "/platformSettings/widget",
    "/workflow/edges",
    "/workflow/nodes",
];

fn minimal() -> Value {
    json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": { "prompt": "Be brief." } } } })
}

/// Creates an agent in which every field of the contract has a value other than its default.
async fn full(app: &TestApp) -> Value {
    let other = app.agent().await;
    let text = json!({ "name": "Prices", "text": "A check-up costs 50." });
    let document = app.client.post("/public/v1/knowledge-base/documents/text", text).await;
    let document = document.expect(201).text("/data/documentId");
    let rule = json!({ "name": "Desk", "transferDestination": { "phoneNumber": "+15550000009" } });
    let rule = app.client.post("/public/v1/transfer-rules", rule).await;
    let rule = rule.expect(201).text("/data/transferRuleId");
    let tool = |description: &str| json!({ "enabled": true, "description": description, "disableInterruption": true });
    let with = |description: &str, more: Value| {
        let mut tool = tool(description);
        tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tool
    };
    let tools = json!({
        "endCall": tool("when all is said"),
        "languageDetection": tool("when they speak German"),
        "skipTurn": tool("when they look for something"),
        "transferToAgent": with("to Ben", json!({ "transfers": [{
            "agentId": other, "condition": "asks for Ben", "delayMs": 500, "transferMessage": "One moment.",
            "enableTransferredAgentFirstMessage": true,
        }] })),
        "transferToNumber": with("to the desk", json!({
            "transferRuleIds": [rule],
            "transfers": [
                { "transferType": "blind", "condition": "asks for the desk",
                  "transferDestination": { "type": "phone", "phoneNumber": "+15550000009", "sipUri": "sip:desk@example.com" } },
            ],
        })),
        "voicemailDetection": with("a mailbox", json!({ "voicemailMessage": "Call us back." })),
    });
    json!({
        "name": "Full", "direction": "both", "tags": ["a", "b"],
        "conversationConfig": {
            "agent": {
                "prompt": {
                    "prompt": "Ask {{name}}.", "llm": "openai/gpt-4.1-mini", "temperature": 0.7, "toolIds": [],
                    "builtInTools": tools, "knowledgeBase": [document], "ignoreDefaultPersonality": true,
                    "timezone": "Europe/Berlin",
                },
                "greetingMessage": "Hello.", "primaryLanguage": "de", "hinglishMode": true,
                "dynamicVariables": { "city": "Bonn", "seats": 4, "open": true },
                "disableFirstMessageInterruptions": true,
            },
            "asr": { "userInputAudioFormat": "ulaw_8000", "keywords": ["Ringback"] },
            "turn": {
                "turnTimeout": 3, "silenceEndCallTimeout": 20, "turnEagerness": "eager", "spellingPatience": "off",
            },
            "tts": {
                "voiceId": "babble:second",
                "supportedVoices": [{ "label": "Eva", "voiceId": "babble:eva", "language": "de",
                    "stability": 0.25, "speed": 1.5, "similarityBoost": 0.75 }],
                "expressiveMode": true, "suggestedAudioTags": [{ "tag": "laughs", "description": "at a joke" }],
                "agentOutputAudioFormat": "pcm_24000", "optimizeStreamingLatency": 1, "stability": 0.25,
                "speed": 1.25, "similarityBoost": 0.5,
                "pronunciationDictionary": [{ "provider": "elevenlabs", "pronunciationDictionaryId": "names",
                    "versionId": "v1" }],
            },
            "conversation": { "maxDurationSeconds": 90, "listeningAnnouncement": "{{name}}, this call may be heard." },
            "languagePresets": { "de": { "overrides": { "agent": { "greetingMessage": "Hallo." } } } },
        },
        "platformSettings": {
            "callActions": {
                "smartOptOut": true, "issueTracking": true, "postCallWebhook": "https://hooks.example.com/calls",
                "postCallEmail": { "enabled": true, "emailConfiguration": { "to": ["ada@example.com"], "ours": 1 } },
                "scheduleOnCalendar": { "enabled": true, "provider": "google", "eventsIds": ["e1"] },
            },
            "widget": { "colour": "red", "deep": { "list": [1, null, "x"] } },
            "dataCollection": { "entities": { "zip": { "type": "integer", "description": "post code" } }, "storeData": true },
            "callRetry": { "retryCount": 2, "retryDelay": 15 },
            "summaryLanguage": "de",
            "privacy": { "recordVoice": true },
            "telephony": {
                "numberRotationEnabled": true, "rotationNumbers": ["+15550000001"], "callsPerNumber": 5,
                "stateRestrictionEnabled": true, "stateRestrictedNumbers": ["+1212"],
            },
            "overrides": {
                "prompt": true, "greetingMessage": true, "voiceId": true, "llm": true, "firstSpeaker": true,
                "maxDurationSeconds": true,
            },
            "disclosure": { "enabled": true, "text": "An AI of {{name}} speaks." },
        },
        "phoneNumbers": [{ "provider": "simulated", "number": "+15550000002", "label": "Desk" }],
        "workflow": {
            "nodes": { "n1": { "type": "start" }, "n2": { "type": "override_agent", "label": "Ask" } },
            "edges": { "e1": { "source": "n1", "target": "n2", "when": "asked" } },
            "preventSubagentLoops": true,
            "router": "interviewer",
        },
    })
}

/// Collects the pointers of all typed values: fields at any depth, and the first item of each list.
fn typed(value: &Value, pointer: &str, into: &mut Vec<String>) {
    if !pointer.is_empty() {
        into.push(pointer.to_owned());
    }
    if FREE.contains(&pointer) {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                typed(inner, &format!("{pointer}/{name}"), into);
            }
        }
        Value::Array(items) => {
            if let Some(first) = items.first() {
                typed(first, &format!("{pointer}/0"), into);
            }
        }
        _ => {}
    }
}

/// Converts a pointer such as `/a/0/b` to the path in errors: `a[0].b`.
fn path(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        match part.parse::<usize>() {
            Ok(index) => path.push_str(&format!("[{index}]")),
            Err(_) if path.is_empty() => path.push_str(part),
            Err(_) => path.push_str(&format!(".{part}")),
        }
    }
    path
}

/// Returns a body that sets only one field.
fn only(pointer: &str, value: Value) -> Value {
    let parts: Vec<&str> = pointer.split('/').skip(1).collect();
    parts.iter().rev().fold(value, |inner, part| json!({ *part: inner }))
}

async fn made(app: &TestApp, body: Value) -> String {
    let made = app.client.post(CREATE, body).await.expect(201);
    format!("/public/v1/agents/{}", made.text("/data/agentId"))
}

/// Returns the agent without the fields that the service adds.
fn own(answer: &Answer) -> Value {
    let mut agent = answer.data().clone();
    let fields = agent.as_object_mut().unwrap();
    fields.remove("agentId");
    fields.remove("metadata");
    agent
}

#[tokio::test(start_paused = true)]
async fn every_default_is_the_contracts() {
    let app = TestApp::start().await;
    let path = made(&app, minimal()).await;
    let read = app.client.get(&path).await.expect(200);
    let agent = "/conversationConfig/agent";
    let prompt = "/conversationConfig/agent/prompt";
    let turn = "/conversationConfig/turn";
    let tts = "/conversationConfig/tts";
    let actions = "/platformSettings/callActions";
    let telephony = "/platformSettings/telephony";
    let (no, none, nothing) = (json!(false), json!([]), json!({}));
    let tools = [
        "endCall",
        "languageDetection",
        "skipTurn",
        "transferToAgent",
        "transferToNumber",
        "voicemailDetection",
    ];
    let mut expected: Vec<(String, Value)> = [
        ("", "/direction", json!("outbound")),
        ("", "/tags", none.clone()),
        ("", "/phoneNumbers", none.clone()),
        ("", "/workflow/edges", nothing.clone()),
        ("", "/workflow/nodes", nothing.clone()),
        ("", "/workflow/preventSubagentLoops", no.clone()),
        (prompt, "/llm", json!("default")),
        (prompt, "/temperature", json!(0)),
        (prompt, "/toolIds", none.clone()),
        (prompt, "/builtInTools/transferToAgent/transfers", none.clone()),
        (prompt, "/builtInTools/transferToNumber/transfers", none.clone()),
        (prompt, "/builtInTools/transferToNumber/transferRuleIds", none.clone()),
        (prompt, "/knowledgeBase", none.clone()),
        (prompt, "/ignoreDefaultPersonality", no.clone()),
        (prompt, "/timezone", json!("UTC")),
        (agent, "/primaryLanguage", json!("en")),
        (agent, "/hinglishMode", no.clone()),
        (agent, "/dynamicVariables", nothing.clone()),
        (agent, "/disableFirstMessageInterruptions", no.clone()),
        ("/conversationConfig/asr", "/userInputAudioFormat", json!("pcm_16000")),
        ("/conversationConfig/asr", "/keywords", none.clone()),
        (turn, "/turnTimeout", json!(7)),
        (turn, "/silenceEndCallTimeout", json!(-1)),
        (turn, "/turnEagerness", json!("normal")),
        (turn, "/spellingPatience", json!("auto")),
        (tts, "/voiceId", json!("default")),
        (tts, "/supportedVoices", none.clone()),
        (tts, "/expressiveMode", no.clone()),
        (tts, "/suggestedAudioTags", none.clone()),
        (tts, "/agentOutputAudioFormat", json!("pcm_16000")),
        (tts, "/optimizeStreamingLatency", json!(3)),
        (tts, "/stability", json!(0.5)),
        (tts, "/speed", json!(1)),
        (tts, "/similarityBoost", json!(0.8)),
        (tts, "/pronunciationDictionary", none.clone()),
        ("/conversationConfig", "/conversation/maxDurationSeconds", json!(300)),
        ("/conversationConfig", "/conversation/listeningAnnouncement", json!("")),
        ("/conversationConfig", "/languagePresets", nothing.clone()),
        (actions, "/smartOptOut", no.clone()),
        (actions, "/issueTracking", no.clone()),
        (actions, "/postCallEmail/enabled", no.clone()),
        (actions, "/postCallEmail/emailConfiguration", nothing.clone()),
        (actions, "/scheduleOnCalendar/enabled", no.clone()),
        (actions, "/scheduleOnCalendar/eventsIds", none.clone()),
        ("/platformSettings", "/widget", nothing.clone()),
        ("/platformSettings", "/dataCollection/entities", nothing.clone()),
        ("/platformSettings", "/dataCollection/storeData", no.clone()),
        ("/platformSettings", "/privacy/recordVoice", no.clone()),
        (telephony, "/numberRotationEnabled", no.clone()),
        (telephony, "/rotationNumbers", none.clone()),
        (telephony, "/stateRestrictionEnabled", no.clone()),
        (telephony, "/stateRestrictedNumbers", none.clone()),
        ("/platformSettings", "/overrides/greetingMessage", no.clone()),
        ("/platformSettings", "/disclosure/enabled", no.clone()),
    ]
    .into_iter()
    .map(|(section, field, value)| (format!("{section}{field}"), value))
    .collect();
    for tool in tools {
        for field in ["enabled", "disableInterruption"] {
            expected.push((format!("{prompt}/builtInTools/{tool}/{field}"), no.clone()));
        }
    }
    for (pointer, value) in expected {
        assert_eq!(read.data().pointer(&pointer), Some(&value), "{pointer}");
    }
    // A string or number without a default is omitted until it is set.
    for pointer in [
        "/conversationConfig/agent/greetingMessage",
        "/platformSettings/disclosure/text",
        "/conversationConfig/agent/prompt/builtInTools/endCall/description",
        "/conversationConfig/agent/prompt/builtInTools/voicemailDetection/voicemailMessage",
        "/platformSettings/callActions/postCallWebhook",
        "/platformSettings/callActions/scheduleOnCalendar/provider",
        "/platformSettings/callRetry/retryCount",
        "/platformSettings/callRetry/retryDelay",
        "/platformSettings/summaryLanguage",
        "/platformSettings/telephony/callsPerNumber",
    ] {
        assert_eq!(read.data().pointer(pointer), None, "{pointer}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_field_reads_back_as_it_was_given() {
    let app = TestApp::start().await;
    let body = full(&app).await;
    let path = made(&app, body.clone()).await;
    let read = app.client.get(&path).await.expect(200);
    assert_eq!(own(&read), body);
    let metadata = &read.data()["metadata"];
    let owner = json!({ "userId": app.account.id, "userEmail": app.account.email });
    assert_eq!(metadata["createdBy"], owner);
    for field in ["createdAt", "updatedAt"] {
        assert!(metadata[field].as_str().unwrap().ends_with('Z'), "{metadata}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_field_is_patched_alone_and_put_back_by_null() {
    let app = TestApp::start().await;
    let body = full(&app).await;
    let path_of_agent = made(&app, minimal()).await;
    let before = own(&app.client.get(&path_of_agent).await.expect(200));
    let mut pointers = Vec::new();
    typed(&body, "", &mut pointers);
    // An edge needs its nodes, so a workflow is set as a whole.
    pointers.retain(|pointer| !pointer.contains("/0") && !pointer.starts_with("/workflow/"));
    pointers.retain(|pointer| {
        let leaf = !body.pointer(pointer).unwrap().is_object();
        leaf || pointer == "/workflow" || FREE.contains(&pointer.as_str())
    });
    assert!(pointers.len() > 70, "{}", pointers.len());
    for pointer in pointers {
        let value = body.pointer(&pointer).unwrap();
        let patch = only(&pointer, value.clone());
        let patched = own(&app.client.patch(&path_of_agent, patch).await.expect(200));
        assert_eq!(patched.pointer(&pointer), Some(value), "{pointer}");
        let back = app.client.patch(&path_of_agent, only(&pointer, Value::Null)).await;
        if ["/name", "/conversationConfig/agent/prompt/prompt"].contains(&pointer.as_str()) {
            assert_eq!(back.expect(400).fields(), [(path(&pointer).as_str(), "required")]);
            let old = before.pointer(&pointer).unwrap().clone();
            let back = app.client.patch(&path_of_agent, only(&pointer, old)).await.expect(200);
            assert_eq!(own(&back), before, "{pointer}");
        } else {
            assert_eq!(own(&back.expect(200)), before, "{pointer}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_field_refuses_another_type_by_its_path() {
    let app = TestApp::start().await;
    let body = full(&app).await;
    let mut pointers = Vec::new();
    typed(&body, "", &mut pointers);
    assert!(pointers.len() > 130, "{}", pointers.len());
    for pointer in pointers {
        let mut wrong = body.clone();
        let value = wrong.pointer_mut(&pointer).unwrap();
        *value = if value.is_string() { json!(5) } else { json!("x") };
        let answer = app.client.post(CREATE, wrong).await.expect(400);
        let mut fields = answer.fields();
        // Without its nodes an edge leads nowhere.
        fields.retain(|(path, _)| !path.starts_with("workflow.edges.e1"));
        assert_eq!(fields, [(path(&pointer).as_str(), "wrong_type")]);
    }
    let named = app.client.get("/public/v1/agents").await.expect(200);
    assert_eq!(
        named.data().as_array().unwrap().len(),
        1,
        "only the one that is transferred to"
    );
}

#[tokio::test(start_paused = true)]
async fn ranges_and_choices_hold_at_both_ends() {
    let app = TestApp::start().await;
    let path_of_agent = made(&app, minimal()).await;
    let formats = [
        "pcm_8000",
        "pcm_16000",
        "pcm_22050",
        "pcm_24000",
        "pcm_44100",
        "pcm_48000",
        "ulaw_8000",
    ];
    let cases = [
        (
            "/direction",
            json!(["outbound", "inbound", "both"]),
            json!(["Outbound", ""]),
        ),
        (
            "/conversationConfig/agent/prompt/temperature",
            json!([0, 2]),
            json!([-0.1, 2.1]),
        ),
        (
            "/conversationConfig/agent/prompt/timezone",
            json!(["UTC", "Asia/Kolkata"]),
            json!(["Mars/X", ""]),
        ),
        (
            "/conversationConfig/asr/userInputAudioFormat",
            json!(formats),
            json!(["pcm_1", "mp3"]),
        ),
        (
            "/conversationConfig/tts/agentOutputAudioFormat",
            json!(formats),
            json!(["pcm_1", "mp3"]),
        ),
        (
            "/conversationConfig/turn/turnTimeout",
            json!([1, 30, -1]),
            json!([0, 30.5, -2]),
        ),
        (
            "/conversationConfig/turn/silenceEndCallTimeout",
            json!([1, 3600, -1]),
            json!([0, 3601, -2]),
        ),
        (
            "/conversationConfig/turn/turnEagerness",
            json!(["patient", "normal", "eager"]),
            json!(["hasty"]),
        ),
        (
            "/conversationConfig/turn/spellingPatience",
            json!(["auto", "off"]),
            json!(["on"]),
        ),
        (
            "/conversationConfig/tts/optimizeStreamingLatency",
            json!([0, 4]),
            json!([-1, 5]),
        ),
        ("/conversationConfig/tts/stability", json!([0, 1]), json!([-0.1, 1.1])),
        (
            "/conversationConfig/tts/similarityBoost",
            json!([0, 1]),
            json!([-0.1, 1.1]),
        ),
        ("/conversationConfig/tts/speed", json!([0.5, 2]), json!([0.4, 2.1])),
        (
            "/conversationConfig/conversation/maxDurationSeconds",
            json!([1, 14_400]),
            json!([0, 14_401]),
        ),
        (
            "/conversationConfig/conversation/listeningAnnouncement",
            json!(["", "ä".repeat(200)]),
            json!(["ä".repeat(201)]),
        ),
        (
            "/platformSettings/callRetry/retryCount",
            json!([0, 10]),
            json!([-1, 11]),
        ),
        (
            "/platformSettings/callRetry/retryDelay",
            json!([0, 10_080]),
            json!([-1, 10_081]),
        ),
        (
            "/platformSettings/callActions/postCallWebhook",
            json!(["https://example.com/x"]),
            json!(["ftp://x.com", "x"]),
        ),
    ];
    for (pointer, good, bad) in cases {
        for value in good.as_array().unwrap() {
            let patch = only(pointer, value.clone());
            let patched = app.client.patch(&path_of_agent, patch).await.expect(200);
            assert_eq!(patched.data().pointer(pointer), Some(value), "{pointer}");
        }
        for value in bad.as_array().unwrap() {
            let answer = app
                .client
                .patch(&path_of_agent, only(pointer, value.clone()))
                .await
                .expect(400);
            let paths: Vec<&str> = answer.fields().into_iter().map(|(path, _)| path).collect();
            assert_eq!(paths, [path(pointer)], "{pointer}: {value}");
        }
    }
    // There are no tools yet, so every id is unknown.
    let tools = only("/conversationConfig/agent/prompt/toolIds", json!(["t1"]));
    let answer = app.client.patch(&path_of_agent, tools).await.expect(400);
    assert_eq!(
        answer.fields(),
        [("conversationConfig.agent.prompt.toolIds[0]", "not_found")]
    );
    let transfers = "/conversationConfig/agent/prompt/builtInTools/transferToNumber/transfers";
    for (kind, target, status) in [
        ("blind", "phone", 200),
        ("conference", "sip_uri", 200),
        ("sip_refer", "phone", 200),
        ("warm", "phone", 400),
        ("blind", "fax", 400),
    ] {
        let to = json!({ "type": target, "phoneNumber": "+15550000009", "sipUri": "sip:desk@example.com" });
        let transfer = json!([{ "transferType": kind, "transferDestination": to }]);
        app.client
            .patch(&path_of_agent, only(transfers, transfer))
            .await
            .expect(status);
    }
}

#[tokio::test(start_paused = true)]
async fn a_transfer_that_reaches_nobody_is_refused() {
    let app = TestApp::start().await;
    let path_of_agent = made(&app, minimal()).await;
    let tool = "/conversationConfig/agent/prompt/builtInTools/transferToNumber";
    let desk = json!({ "transferDestination": { "phoneNumber": "+15550000009" } });
    let to = |destination: Value| json!([desk, { "transferDestination": destination }]);
    let second = ".transfers[1].transferDestination";
    for (transfers, wrong) in [
        (json!([desk, {}]), second.to_owned()),
        (to(json!({})), second.to_owned()),
        (to(json!({ "type": "phone" })), format!("{second}.phoneNumber")),
        (
            to(json!({ "type": "phone", "sipUri": "sip:desk@example.com" })),
            format!("{second}.phoneNumber"),
        ),
        (
            to(json!({ "type": "sip_uri", "phoneNumber": "+15550000009" })),
            format!("{second}.sipUri"),
        ),
    ] {
        let wanted = json!({ "enabled": true, "transfers": transfers });
        let wrong = format!("{}{wrong}", path(tool));
        let mut new = minimal();
        new["conversationConfig"]["agent"]["prompt"]["builtInTools"] = json!({ "transferToNumber": wanted });
        let refused = app.client.post("/public/v1/agents/create", new).await.expect(400);
        assert_eq!(refused.fields(), [(wrong.as_str(), "required")], "{wanted}");
        let refused = app.client.patch(&path_of_agent, only(tool, wanted)).await.expect(400);
        assert_eq!(refused.fields(), [(wrong.as_str(), "required")]);
    }
    // An address that cannot be sent to any carrier is invalid.
    let odd = to(json!({ "type": "sip_uri", "sipUri": "sip:\u{fc}ber@example.com" }));
    let odd = app
        .client
        .patch(&path_of_agent, only(tool, json!({ "transfers": odd })))
        .await;
    let at = format!("{}{second}.sipUri", path(tool));
    assert_eq!(odd.expect(400).fields(), [(at.as_str(), "invalid")]);
    // A transfer may be enabled before there are destinations. It is not offered then.
    let enabled = only(tool, json!({ "enabled": true, "transfers": [] }));
    app.client.patch(&path_of_agent, enabled).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn a_numbers_provider_is_one_that_is_known() {
    let app = TestApp::start().await;
    let path_of_agent = made(&app, minimal()).await;
    let at = |provider: &str| json!({ "phoneNumbers": [{ "number": "+15550000009", "provider": provider }] });
    for provider in [
        "twilio",
        "signalwire",
        "telnyx",
        "vonage",
        "asterisk",
        "simulated",
        "plain",
    ] {
        app.client.patch(&path_of_agent, at(provider)).await.expect(200);
    }
    for (provider, meant) in [("telnix", "telnyx"), ("Twilio", "twilio"), ("nobody", "")] {
        let refused = app.client.patch(&path_of_agent, at(provider)).await.expect(400);
        assert_eq!(refused.fields(), [("phoneNumbers[0].provider", "not_allowed")]);
        let message = refused.text("/error/fields/0/message");
        assert!(message.contains("\"signalwire\""), "{message}");
        let guessed = message.contains(&format!("did you mean \"{meant}\"?"));
        assert_eq!(guessed, !meant.is_empty(), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_language_is_a_code_and_not_a_name() {
    let app = TestApp::start().await;
    let path_of_agent = made(&app, minimal()).await;
    let field = "/conversationConfig/agent/primaryLanguage";
    for code in [
        "en",
        "EN",
        "hi-IN",
        "pt-BR",
        "zh-Hant-TW",
        "yue",
        "es-419",
        "sl-rozaj-biske",
    ] {
        let patched = app
            .client
            .patch(&path_of_agent, only(field, json!(code)))
            .await
            .expect(200);
        assert_eq!(patched.data().pointer(field), Some(&json!(code)));
    }
    for wrong in [
        "english",
        "klingon",
        "en_US",
        "e",
        "en-",
        "-en",
        "en us",
        "deutsch-DE",
        "12",
        "",
    ] {
        let refused = app
            .client
            .patch(&path_of_agent, only(field, json!(wrong)))
            .await
            .expect(400);
        assert_eq!(refused.fields(), [(path(field).as_str(), "invalid")], "{wrong}");
        let message = refused.text("/error/fields/0/message");
        assert!(
            message.contains(&format!("{wrong:?}")) && message.contains("\"pt-BR\""),
            "{message}"
        );
    }
}
