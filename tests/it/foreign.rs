//! Another account's ids, at every place of the described API that takes one: nothing is disclosed, nothing is
//! changed. The places are read from the description, so a new one is either tested or makes this test fail.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use actors::call::EndReason;
use domain::{
    agent::CalendarProvider,
    analytics,
    id::NodeId,
    ports::{
        language_model::Speaker,
        store::{
            AppointmentDetails, AppointmentStore, AttemptStore, CallStore, EventFact, Fact, NewAppointment, NodeStore,
            RecordStore, TurnDetail, TurnFact,
        },
    },
};
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use crate::openapi::operations;
use support::{
    app::{START, TestApp},
    client::{Client, send},
    contract::CLOSED,
};

/// A word in all resources of the owner.
const WORD: &str = "heron-7731";
/// Numbers of the owner, without their last digit.
const NUMBERS: &str = "+1555010773";
/// An id that nobody ever had.
const NOBODYS: &str = "0198d1a0-0000-7000-8000-00000000000a";
/// One number that is on nobody's list.
const NOBODYS_NUMBER: &str = "+15550109999";

/// A version that no agent has.
const NOBODYS_VERSION: &str = "7731";

/// Names that end like ids and are not resources of an account.
const NO_IDS: [&str; 4] = ["voiceId", "eventsIds", "pronunciationDictionaryId", "versionId"];
/// Fields that contain ids although their name does not say so.
const OTHER_IDS: [&str; 1] = ["knowledgeBase"];

/// Names in paths of things that belong to the installation and not to an account.
const SHARED: [&str; 1] = ["serviceName"];

/// Place at which an operation takes an id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Path(String),
    Query(String),
    /// Names from the top; `[]` is an element.
    Body(String),
}

impl Place {
    fn name(&self) -> &str {
        match self {
            Self::Path(name) | Self::Query(name) => name,
            Self::Body(path) => path.rsplit('/').find(|part| *part != "[]").unwrap(),
        }
    }
}

fn resolved(schema: &Value) -> &Value {
    match schema["$ref"].as_str() {
        Some(reference) => resolved(CLOSED.pointer(reference.trim_start_matches('#')).unwrap()),
        None => schema,
    }
}

/// Collects the fields below a schema that contain ids.
fn fields(schema: &Value, at: &str, depth: usize, found: &mut BTreeSet<Place>) {
    if depth == 0 {
        return;
    }
    let schema = resolved(schema);
    for kind in ["oneOf", "anyOf", "allOf"] {
        for one in schema[kind].as_array().into_iter().flatten() {
            fields(one, at, depth - 1, found);
        }
    }
    if schema["items"].is_object() {
        fields(&schema["items"], &format!("{at}/[]"), depth - 1, found);
    }
    if schema["additionalProperties"].is_object() {
        fields(&schema["additionalProperties"], &format!("{at}/*"), depth - 1, found);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let lower = name.to_lowercase();
        let is_id = lower.ends_with("id") || lower.ends_with("ids") || OTHER_IDS.contains(&&**name);
        if is_id && !NO_IDS.contains(&&**name) {
            found.insert(Place::Body(format!("{at}/{name}")));
        }
        fields(field, &format!("{at}/{name}"), depth - 1, found);
    }
}

/// Returns every place of an operation that takes an id.
fn places(operation: &Value) -> BTreeSet<Place> {
    let mut found = BTreeSet::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let parameter = resolved(parameter);
        let name = parameter["name"].as_str().unwrap().to_owned();
        match parameter["in"].as_str().unwrap() {
            "path" if SHARED.contains(&&*name) => {}
            "path" => drop(found.insert(Place::Path(name))),
            "query" if name.ends_with("Id") && !NO_IDS.contains(&&*name) => drop(found.insert(Place::Query(name))),
            _ => {}
        }
    }
    for body in operation["requestBody"]["content"].as_object().into_iter().flatten() {
        fields(&body.1["schema"], "", 16, &mut found);
    }
    found
}

/// Resources of an account, one of each kind, by the name of the id.
struct Owned(BTreeMap<&'static str, String>);

impl Owned {
    /// Returns ids that nobody has.
    fn nobodys() -> Self {
        let kinds = [
            "agentId",
            "contactId",
            "toolId",
            "transferRuleId",
            "documentId",
            "groupId",
            "campaignId",
            "conversationId",
            "webhookId",
            "deliveryId",
            "keyId",
            "sessionId",
        ];
        let mut ids: BTreeMap<_, _> = kinds.map(|kind| (kind, NOBODYS.to_owned())).into();
        ids.insert("phoneNumber", NOBODYS_NUMBER.to_owned());
        ids.insert("version", NOBODYS_VERSION.to_owned());
        Self(ids)
    }

    /// Returns the id of the kind that a place takes.
    fn of(&self, place: &Place) -> &str {
        let name = match place.name() {
            "knowledgeBase" => "documentId",
            name => name.strip_suffix("s").unwrap_or(name),
        };
        let id = self.0.get(name);
        id.unwrap_or_else(|| panic!("a new kind of id, which this test does not make yet: {place:?}"))
    }
}

/// Creates one resource of each kind for an account.
async fn furnish(app: &TestApp, client: &Client, word: &str, numbers: &str) -> Owned {
    let made = async |path: &str, body: Value, id: &str| {
        let answer = client.post(&format!("/public/v1{path}"), body).await.expect(201);
        answer.text(&format!("/data/{id}"))
    };
    let prompt = json!({ "agent": { "prompt": { "prompt": word } } });
    let agent = made(
        "/agents/create",
        json!({ "name": word, "conversationConfig": prompt }),
        "agentId",
    )
    .await;
    let answered = format!("/public/v1/phone-numbers/{numbers}2");
    client.patch(&answered, json!({ "agentId": agent })).await.expect(200);
    let contact = json!({ "phoneNumber": format!("{numbers}0"), "name": word });
    let tool = json!({ "name": word, "description": word, "url": format!("https://example.com/{word}") });
    let rule = json!({ "name": word, "transferDestination": { "phoneNumber": format!("{numbers}0") } });
    let document = json!({ "name": word, "text": word });
    let campaign = json!({ "name": word, "agentId": agent, "contacts": [contact] });
    let document = made("/knowledge-base/documents/text", document, "documentId").await;
    let group = json!({ "name": word, "documentIds": [document] });
    client
        .post(
            "/public/v1/do-not-call",
            json!({ "phoneNumber": format!("{numbers}9") }),
        )
        .await
        .expect(201);
    let call = json!({ "agentId": agent, "phoneNumber": format!("{numbers}1"), "name": word });
    let conversation = made("/calls", call, "conversationId").await;
    // The call is over, so that all of it could be disclosed.
    let node = NodeId::new();
    app.store.register_node(node, None).await.unwrap();
    for claimed in app.store.claim_calls(node, 1).await.unwrap() {
        let event = EventFact {
            name: "built_in_tool".to_owned(),
            at_ms: 1,
            detail: json!({ "name": word }).to_string(),
        };
        let turn = TurnFact {
            seq: 0,
            speaker: Speaker::User,
            text: word.to_owned(),
            started_ms: 1,
            ended_ms: 2,
            interrupted: false,
            damaged: false,
            detail: TurnDetail::default(),
        };
        let facts = [Fact::Event(event), Fact::Turn(turn)].map(|fact| (claimed.claim.attempt, fact));
        app.store.append_facts(&facts).await.unwrap();
        let invitation = NewAppointment {
            account: claimed.account,
            attempt: claimed.claim.attempt,
            provider: CalendarProvider::Ics,
            calendar: String::new(),
            starts_at: START.plus(Duration::from_secs(86_400)),
            ends_at: START.plus(Duration::from_secs(90_000)),
            details: AppointmentDetails {
                name: word.to_owned(),
                ..AppointmentDetails::default()
            },
        };
        app.store.begin_appointment(invitation).await.unwrap();
        let outcome = EndReason::agent(word).outcome(false, BTreeMap::default());
        app.store.finish(claimed.claim, outcome, None).await.unwrap();
    }
    let webhook = json!({ "url": format!("https://example.com/{word}"), "description": word });
    let webhook = made("/webhooks", webhook, "webhookId").await;
    let test = format!("/public/v1/webhooks/{webhook}/test");
    let delivery = client.post(&test, json!({})).await.expect(200).text("/data/deliveryId");
    let key = json!({ "name": word, "scopes": ["read"] });
    Owned(
        [
            ("webhookId", webhook),
            ("deliveryId", delivery),
            ("sessionId", sign_in(client).await),
            ("keyId", made("/me/api-keys", key, "keyId").await),
            ("contactId", made("/contacts", contact, "contactId").await),
            ("toolId", made("/tools", tool, "toolId").await),
            ("transferRuleId", made("/transfer-rules", rule, "transferRuleId").await),
            ("groupId", made("/knowledge-base/groups", group, "groupId").await),
            ("campaignId", made("/campaigns", campaign, "campaignId").await),
            ("conversationId", conversation),
            ("documentId", document),
            ("phoneNumber", format!("{numbers}9")),
            ("version", "1".to_owned()),
            ("agentId", agent),
        ]
        .into(),
    )
}

/// Opens a session and returns its id.
async fn sign_in(client: &Client) -> String {
    let email = client.get("/public/v1/me").await.expect(200).text("/data/email");
    let body = json!({ "email": email, "apiKey": client.key });
    let request = client.bare("POST", "/public/v1/session").json(&body);
    let session = send(request.header("origin", &client.base)).await.expect(201);
    session.text("/data/session/sessionId")
}

/// Returns everything that an account can read of its resources.
async fn snapshot(client: &Client, owned: &Owned) -> Vec<Value> {
    let mut seen = Vec::new();
    for (method, template, operation) in operations(&CLOSED) {
        let plain = operation["responses"]["200"]["content"]
            .get("application/json")
            .is_some();
        // The recording does not exist, and the response says so.
        if method != "get" || !plain || operation["security"] == json!([]) || template.contains("/recording") {
            continue;
        }
        let path = owned.0.iter().fold(template.clone(), |path, (name, id)| {
            path.replace(&format!("{{{name}}}"), id)
        });
        let mut data = client.get(&path).await.expect(200).body["data"].clone();
        if template.ends_with("/api-keys") {
            // The reads themselves are uses.
            let keys = data.as_array_mut().unwrap().iter_mut();
            keys.for_each(|key| drop(key.as_object_mut().unwrap().remove("lastUsedAt")));
        }
        seen.push(data);
    }
    seen
}

/// Returns a body that is valid except for the id at `place`. `own` are resources of the sender.
fn body(template: &str, place: &Place, id: &str, own: &Owned) -> Value {
    let new_agent = |prompt: Value| json!({ "name": "Mine", "conversationConfig": { "agent": { "prompt": prompt } } });
    let transfer = json!({ "enabled": true, "transfers": [{ "agentId": id, "condition": "Always." }] });
    let contact = json!({ "phoneNumber": NOBODYS_NUMBER, "contactId": id });
    let agent = &own.0["agentId"];
    let Place::Body(field) = place else {
        // The resource itself does not exist, so the body does not matter.
        return match template {
            path if path.contains("/phone-numbers/") => json!({ "agentId": null }),
            path if path.ends_with("/schedule") => json!({ "startTime": "09:00", "timezone": "Europe/Berlin" }),
            _ => json!({}),
        };
    };
    match (template.trim_start_matches("/public/v1"), &**field) {
        ("/agents/create" | "/agents/{agentId}", "/conversationConfig/agent/prompt/toolIds") => {
            new_agent(json!({ "prompt": "Be brief.", "toolIds": [id] }))
        }
        ("/agents/create" | "/agents/{agentId}", "/conversationConfig/agent/prompt/knowledgeBase") => {
            new_agent(json!({ "prompt": "Be brief.", "knowledgeBase": [id] }))
        }
        (
            "/agents/create" | "/agents/{agentId}",
            "/conversationConfig/agent/prompt/builtInTools/transferToAgent/transfers/[]/agentId",
        ) => new_agent(json!({ "prompt": "Be brief.", "builtInTools": { "transferToAgent": transfer } })),
        (
            "/agents/create" | "/agents/{agentId}",
            "/conversationConfig/agent/prompt/builtInTools/transferToNumber/transferRuleIds",
        ) => {
            let tools = json!({ "transferToNumber": { "transferRuleIds": [id] } });
            new_agent(json!({ "prompt": "Be brief.", "builtInTools": tools }))
        }
        ("/agents/test-call", "/agentId") => json!({ "agentId": id }),
        ("/agents/test-call", field) => {
            let within = Place::Body(field.trim_start_matches("/agent").to_owned());
            json!({ "agent": body("/agents/create", &within, id, own) })
        }
        ("/knowledge-base/groups", "/documentIds") => json!({ "name": "Mine", "documentIds": [id] }),
        ("/knowledge-base/groups/{groupId}", "/documentIds") => json!({ "documentIds": [id] }),
        ("/knowledge-base/search", "/agentId") => json!({ "question": "Who?", "agentId": id }),
        ("/knowledge-base/search", "/documentIds") => json!({ "question": "Who?", "documentIds": [id] }),
        ("/campaigns", "/agentId") => {
            json!({ "name": "Mine", "agentId": id, "contacts": [{ "phoneNumber": NOBODYS_NUMBER }] })
        }
        ("/campaigns", "/contacts/[]/contactId") => json!({ "name": "Mine", "agentId": agent, "contacts": [contact] }),
        ("/campaigns", "/contactIds") => json!({ "name": "Mine", "agentId": agent, "contactIds": [id] }),
        ("/campaigns/{campaignId}/contacts", "/contacts/[]/contactId") => json!({ "contacts": [contact] }),
        ("/campaigns/{campaignId}/contacts", "/contactIds") => json!({ "contactIds": [id] }),
        ("/campaigns/csv" | "/campaigns/{campaignId}" | "/calls/inbound", "/agentId") => json!({ "agentId": id }),
        ("/campaigns/{campaignId}", "/contacts/[]/contactId") => json!({ "contacts": [contact] }),
        ("/campaigns/{campaignId}", "/contactIds") => json!({ "contactIds": [id] }),
        ("/calls", "/agentId") => json!({ "agentId": id, "phoneNumber": NOBODYS_NUMBER }),
        ("/phone-numbers/{phoneNumber}", "/agentId") => json!({ "agentId": id }),
        (_, field) => panic!("a new place for an id, which this test does not fill yet: {template} {field}"),
    }
}

/// Sends a request with an id at a place, and with own resources at the others; returns status and body.
async fn ask(client: &Client, (method, template): (&str, &str), place: &Place, id: &str, own: &Owned) -> (u16, Value) {
    let is_here = |name: &str| matches!(place, Place::Path(here) if here == name);
    let mut path = own.0.iter().fold(template.to_owned(), |path, (name, mine)| {
        let id = if is_here(name) { id } else { mine };
        path.replace(&format!("{{{name}}}"), id)
    });
    if let Place::Query(name) = place {
        path = format!("{path}?{name}={id}");
    }
    let request = client.request(&method.to_uppercase(), &path);
    let request = match method {
        "post" | "patch" if template.ends_with("/csv") || template.ends_with("/csv/check") => {
            let file = Part::bytes(format!("phone\n{NOBODYS_NUMBER}\n").into_bytes());
            let form = Form::new().text("agentId", id.to_owned()).part("file", file);
            request.multipart(match template.ends_with("/check") {
                true => form,
                false => form.text("name", "Mine"),
            })
        }
        "post" | "patch" => request.json(&body(template, place, id, own)),
        _ => request,
    };
    if template.ends_with("/export") {
        let answer = request.query(&[("format", "jsonl")]).send().await.unwrap();
        let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
        let lines: Vec<&str> = text.lines().collect();
        return (status, json!({ "data": lines }));
    }
    let answer = send(request).await;
    (answer.status, answer.body)
}

/// Returns a body without the parts that differ between ids and requests.
fn blind(body: &Value, id: &str) -> String {
    let mut body = body.clone();
    if let Some(body) = body.as_object_mut() {
        body.remove("requestId");
    }
    body.to_string().replace(id, "ID")
}

#[tokio::test(start_paused = true)]
async fn an_id_of_another_account_is_as_one_that_never_was_at_every_place() {
    let app = TestApp::start().await;
    let mut owned = furnish(&app, &app.client, WORD, NUMBERS).await;
    // The stranger's agent has no such version.
    let agent = format!("/public/v1/agents/{}", owned.0["agentId"]);
    app.client.patch(&agent, json!({ "tags": [WORD] })).await.expect(200);
    owned.0.insert("version", "3".to_owned());
    let stranger = app.stranger().await;
    let own = furnish(&app, &stranger, "plover-1", "+1555012010").await;
    let (before, nobodys) = (snapshot(&app.client, &owned).await, Owned::nobodys());
    assert!(before.iter().any(|seen| seen.to_string().contains(WORD)));
    let mut tried = 0;
    for (method, template, operation) in operations(&CLOSED) {
        for place in places(&operation) {
            let at = format!("{method} {template} {place:?}");
            let (id, never) = (owned.of(&place), nobodys.of(&place));
            let (status, said) = ask(&stranger, (&method, &template), &place, id, &own).await;
            let (expected, of_nobody) = ask(&stranger, (&method, &template), &place, never, &own).await;
            assert_eq!(status, expected, "{at}: {said} instead of {of_nobody}");
            assert_eq!(blind(&said, id), blind(&of_nobody, never), "{at}");
            assert!(!said.to_string().contains(WORD), "{at}: {said}");
            match place {
                Place::Path(_) => assert_eq!(status, 404, "{at}: {said}"),
                // A stream of another account's events would stay empty forever.
                Place::Query(_) if template.ends_with("/events") => assert_eq!(status, 400, "{at}"),
                Place::Query(_) => {
                    let listed = said["data"].get("rows").unwrap_or(&said["data"]);
                    assert_eq!((status, listed), (200, &json!([])), "{at}");
                }
                Place::Body(_) => assert!(matches!(status, 400 | 404 | 409), "{at}: {status} {said}"),
            }
            assert_eq!(snapshot(&app.client, &owned).await, before, "{at} changed something");
            tried += 1;
        }
    }
    assert!(tried > 40, "{tried}");
}

#[tokio::test(start_paused = true)]
async fn a_page_of_another_account_is_not_turned() {
    let app = TestApp::start().await;
    furnish(&app, &app.client, WORD, NUMBERS).await;
    tokio::time::advance(Duration::from_secs(86_400)).await;
    furnish(&app, &app.client, "heron-7731-2", "+1555010800").await;
    tokio::time::advance(Duration::from_secs(7_200)).await;
    // The first session has ended meanwhile.
    sign_in(&app.client).await;
    for number in ["+15550109001", "+15550109002"] {
        app.dialed_call(NodeId::new(), number).await;
    }
    while analytics::count(&*app.store, None, 10).await.unwrap() {}
    let stranger = app.stranger().await;
    let mut turned = 0;
    for (method, template, operation) in operations(&CLOSED) {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let is_list = parameters.map(resolved).any(|parameter| parameter["name"] == "cursor");
        if method != "get" || !is_list || template.contains('{') {
            continue;
        }
        let first = app.client.get(&format!("{template}?pageSize=1")).await.expect(200);
        let cursor = first.text("/pagination/nextCursor");
        let answer = stranger.get(&format!("{template}?pageSize=1&cursor={cursor}")).await;
        assert!(!answer.body.to_string().contains(WORD), "{template}: {}", answer.body);
        assert!(
            answer.status == 400 || *answer.data() == json!([]),
            "{template}: {}",
            answer.body
        );
        turned += 1;
    }
    assert!(turned >= 6, "{turned}");
}
