//! Documents and groups over REST: created, listed, held by groups and agents, deleted.

use domain::{id::DocumentId, ports::store::KnowledgeStore};
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use support::{
    app::TestApp,
    client::{Answer, Client, send},
    pdf,
    program::Program,
    web::{Web, ok},
};

const DOCUMENTS: &str = "/public/v1/knowledge-base/documents";
const GROUPS: &str = "/public/v1/knowledge-base/groups";
const AGENTS: &str = "/public/v1/agents/create";

async fn document(app: &TestApp, name: &str) -> String {
    let body = json!({ "name": name, "text": format!("About {name}.") });
    let made = app.client.post(&format!("{DOCUMENTS}/text"), body).await.expect(201);
    made.text("/data/documentId")
}

async fn group(app: &TestApp, name: &str, documents: &[&str]) -> String {
    let body = json!({ "name": name, "documentIds": documents });
    app.client.post(GROUPS, body).await.expect(201).text("/data/groupId")
}

fn agent_with(knowledge: &Value) -> Value {
    let prompt = json!({ "prompt": "Be brief.", "knowledgeBase": knowledge });
    json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": prompt } } })
}

async fn stored_text(app: &TestApp, made: &Answer) -> String {
    let id: DocumentId = made.text("/data/documentId").parse().unwrap();
    app.store.document_text(app.account.id, id).await.unwrap()
}

async fn upload(app: &TestApp, form: Form) -> Answer {
    send(app.client.request("POST", &format!("{DOCUMENTS}/file")).multipart(form)).await
}

fn names(list: &Answer) -> Vec<String> {
    let items = list.data().as_array().unwrap();
    items
        .iter()
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_text_becomes_a_document_that_its_account_alone_sees() {
    let app = TestApp::start().await;
    let body = json!({ "name": " Prices ", "text": "  A check-up costs 50 €.\n" });
    let made = app.client.post(&format!("{DOCUMENTS}/text"), body).await.expect(201);
    assert_eq!(stored_text(&app, &made).await, "  A check-up costs 50 €.\n");
    let document = made.data();
    assert_eq!(document["type"], "text");
    assert_eq!(document["name"], "Prices");
    assert_eq!(document["details"], json!({ "textLength": 25 }));
    assert_eq!(document["metadata"]["createdBy"]["userEmail"], "ada@example.com");
    let path = format!("{DOCUMENTS}/{}", made.text("/data/documentId"));
    assert_eq!(app.client.get(&path).await.expect(200).data(), document);
    let read = app.client.get(&format!("{path}/text")).await.expect(200);
    let whole = json!({ "documentId": document["documentId"], "text": "  A check-up costs 50 €.\n" });
    assert_eq!(*read.data(), whole);
    let stranger = app.stranger().await;
    stranger.get(&path).await.expect(404);
    stranger.get(&format!("{path}/text")).await.expect(404);
    stranger.delete(&path).await.expect(404);
    assert_eq!(stranger.get(DOCUMENTS).await.expect(200).data(), &json!([]));
    let gone = app.client.delete(&path).await.expect(200);
    let id = made.text("/data/documentId");
    assert_eq!(gone.data(), &json!({ "deleted": true, "documentId": id }));
    app.client.get(&path).await.expect(404);
    app.client.delete(&path).await.expect(404);
    app.client.get(&format!("{DOCUMENTS}/ABC")).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_or_wrong_is_listed() {
    let app = TestApp::start().await;
    let wrong = async |path: &str, body: Value| {
        let answer = app.client.post(&format!("{DOCUMENTS}{path}"), body).await.expect(400);
        let fields = answer.fields();
        fields
            .iter()
            .map(|(path, code)| format!("{path} {code}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(wrong("/text", json!({})).await, ["name required", "text required"]);
    let body = json!({ "name": "n".repeat(201), "text": " \n", "txet": 1 });
    assert_eq!(
        wrong("/text", body).await,
        ["txet unknown_field", "name too_long", "text required"]
    );
    assert_eq!(wrong("/url", json!({})).await, ["url required", "name required"]);
    let body = json!({ "url": 4, "name": "" });
    assert_eq!(wrong("/url", body).await, ["url wrong_type", "name required"]);
    let body = json!({ "url": "http://127.0.0.1/", "name": "n" });
    assert_eq!(wrong("/url", body).await, ["url address_not_allowed"]);
    app.client.get(&format!("{DOCUMENTS}/text")).await.expect(405);
}

#[tokio::test]
async fn uploaded_files_become_documents() {
    let app = TestApp::start().await;
    let part = |bytes: Vec<u8>, name: &str| Part::bytes(bytes).file_name(name.to_owned());
    let pdf = part(pdf::saying("Open from nine"), "hours.pdf")
        .mime_str("application/pdf")
        .unwrap();
    let made = upload(&app, Form::new().part("file", pdf)).await.expect(201);
    assert_eq!(
        (&made.data()["type"], &made.data()["name"]),
        (&json!("file"), &json!("hours.pdf"))
    );
    assert_eq!(stored_text(&app, &made).await, "Open from nine");

    // curl sends a file of unknown type like this.
    let octets = part(b"# Prices\n\n50".to_vec(), "prices.md")
        .mime_str("application/octet-stream")
        .unwrap();
    let form = Form::new().text("name", "Prices").part("file", octets);
    let made = upload(&app, form).await.expect(201);
    assert_eq!(made.data()["name"], "Prices");
    assert_eq!(stored_text(&app, &made).await, "# Prices\n\n50");

    let page = part(b"<p>Gr\xfc\xdfe</p>".to_vec(), "x")
        .mime_str("text/html; charset=iso-8859-1")
        .unwrap();
    let made = upload(&app, Form::new().part("file", page)).await.expect(201);
    assert_eq!(stored_text(&app, &made).await, "Grüße");
}

#[tokio::test]
async fn a_file_that_is_no_document_is_refused() {
    let app = TestApp::start().await;
    let file = |bytes: &'static [u8], content_type: &str| {
        Form::new().part(
            "file",
            Part::bytes(bytes).file_name("f").mime_str(content_type).unwrap(),
        )
    };
    for (form, wanted) in [
        (file(b"\x89PNG", "image/png"), "`image/png`"),
        (file(b"\x89PNG\0\0", "application/octet-stream"), "is not recognised"),
        (file(b"%PDF-1.4 not", "application/pdf"), "PDF"),
        (file(b"Gr\xfc\xdfe", "text/plain"), "UTF-8"),
        (file(b"", "text/plain"), "no text"),
    ] {
        let answer = upload(&app, form).await.expect(400);
        assert_eq!(answer.fields(), [("file", "unreadable")], "{wanted}");
        assert!(
            answer.text("/error/message").contains(wanted),
            "{wanted}: {}",
            answer.body
        );
    }
    let listed = app.client.get(DOCUMENTS).await.expect(200);
    assert_eq!(listed.data(), &json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_form_is_checked_as_a_whole() {
    let app = TestApp::start().await;
    let form = Form::new().text("nmae", "x").text("name", " ").text("name", "y");
    let answer = upload(&app, form).await.expect(400);
    assert_eq!(
        answer.fields(),
        [
            ("nmae", "unknown_field"),
            ("name", "required"),
            ("name", "repeated"),
            ("file", "required")
        ]
    );
    let answer = upload(&app, Form::new().text("file", "words")).await.expect(400);
    assert_eq!(answer.fields(), [("name", "required")]);
    let long = Part::bytes(vec![b'a'; 10 * 1024 * 1024 + 1]).file_name("a.txt");
    let answer = upload(&app, Form::new().part("file", long)).await.expect(413);
    assert_eq!(answer.code(), "payload_too_large");
    app.client
        .post(&format!("{DOCUMENTS}/file"), json!({}))
        .await
        .expect(415);
}

#[tokio::test(start_paused = true)]
async fn lists_are_searched_sorted_and_paged() {
    let app = TestApp::start().await;
    for name in ["beta", "Alpha", "gamma", "alphabet"] {
        document(&app, name).await;
        group(&app, name, &[]).await;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    for list in [DOCUMENTS, GROUPS] {
        let newest = app.client.get(list).await.expect(200);
        assert_eq!(names(&newest), ["alphabet", "gamma", "Alpha", "beta"], "{list}");
        let expected = json!({ "pageSize": 30, "hasMore": false, "sortBy": "created_at", "sortDirection": "desc" });
        assert_eq!(newest.body["pagination"], expected);
        let found = app
            .client
            .get(&format!("{list}?search=ALPHA&sortBy=name&sortDirection=asc"))
            .await;
        assert_eq!(names(&found.expect(200)), ["Alpha", "alphabet"], "{list}");

        let query = format!("{list}?sortBy=name&sortDirection=asc&pageSize=3");
        let first = app.client.get(&query).await.expect(200);
        assert_eq!(names(&first), ["Alpha", "alphabet", "beta"]);
        let pagination = &first.body["pagination"];
        assert_eq!(
            (&pagination["hasMore"], &pagination["sortBy"]),
            (&json!(true), &json!("name"))
        );
        let cursor = first.text("/pagination/nextCursor");
        let second = app.client.get(&format!("{query}&cursor={cursor}")).await.expect(200);
        assert_eq!(names(&second), ["gamma"]);
        assert!(second.body["pagination"].get("nextCursor").is_none());

        // From another list, account, filter or order, or damaged.
        let other = if list == DOCUMENTS { GROUPS } else { DOCUMENTS };
        for query in [
            format!("{other}?sortBy=name&sortDirection=asc&cursor={cursor}"),
            format!("{list}?sortBy=name&sortDirection=desc&cursor={cursor}"),
            format!("{list}?sortDirection=asc&cursor={cursor}"),
            format!("{list}?sortBy=name&sortDirection=asc&search=a&cursor={cursor}"),
            format!("{list}?sortBy=name&sortDirection=asc&cursor={cursor}x"),
        ] {
            let answer = app.client.get(&query).await.expect(400);
            assert_eq!(answer.fields(), [("cursor", "invalid_cursor")], "{query}");
        }
        let answer = app
            .client
            .get(&format!("{list}?sortBy=x&sortDirection=up&pageSize=101&page=1"))
            .await;
        assert_eq!(
            answer.expect(400).fields(),
            [
                ("page", "unknown_parameter"),
                ("sortBy", "invalid_value"),
                ("sortDirection", "invalid_value"),
                ("pageSize", "out_of_range")
            ]
        );
    }
    let stranger = app.stranger().await;
    let cursor = app
        .client
        .get(&format!("{DOCUMENTS}?pageSize=1"))
        .await
        .text("/pagination/nextCursor");
    stranger.get(&format!("{DOCUMENTS}?cursor={cursor}")).await.expect(400);
}

#[tokio::test(start_paused = true)]
async fn a_group_holds_documents_and_is_patched_by_merging() {
    let app = TestApp::start().await;
    let (one, two) = (document(&app, "one").await, document(&app, "two").await);
    let body = json!({ "name": "Both", "documentIds": [two, one] });
    let made = app.client.post(GROUPS, body).await.expect(201);
    let own = app.client.get(&format!("{DOCUMENTS}/{two}")).await.expect(200);
    assert_eq!(&made.data()["documents"][0], own.data());
    assert_eq!(made.data()["documents"][1]["documentId"], one.as_str());
    assert!(made.data()["metadata"]["createdBy"]["userId"].is_string());
    let path = format!("{GROUPS}/{}", made.text("/data/groupId"));
    assert_eq!(app.client.get(&path).await.expect(200).data(), made.data());
    assert_eq!(&app.client.get(GROUPS).await.expect(200).data()[0], made.data());

    let same = app.client.patch(&path, json!({})).await.expect(200);
    assert_eq!(same.data(), made.data());
    let renamed = app.client.patch(&path, json!({ "name": "Two" })).await.expect(200);
    assert_eq!(
        (
            &renamed.data()["name"],
            renamed.data()["documents"].as_array().unwrap().len()
        ),
        (&json!("Two"), 2)
    );
    let replaced = app
        .client
        .patch(&path, json!({ "documentIds": [one] }))
        .await
        .expect(200);
    assert_eq!(
        names(&Answer {
            body: json!({ "data": replaced.data()["documents"] }),
            ..replaced
        }),
        ["one"]
    );
    let emptied = app
        .client
        .patch(&path, json!({ "documentIds": null }))
        .await
        .expect(200);
    assert_eq!(emptied.data()["documents"], json!([]));
    let answer = app
        .client
        .patch(&path, json!({ "name": null, "documents": [] }))
        .await
        .expect(400);
    assert_eq!(answer.fields(), [("documents", "unknown_field"), ("name", "required")]);

    let stranger = app.stranger().await;
    stranger.get(&path).await.expect(404);
    stranger.patch(&path, json!({ "name": "mine" })).await.expect(404);
    stranger.delete(&path).await.expect(404);
    app.client.delete(&path).await.expect(200);
    app.client.get(&path).await.expect(404);
    app.client.get(&format!("{DOCUMENTS}/{one}")).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn unknown_documents_of_a_group_are_named_by_their_place() {
    let app = TestApp::start().await;
    let one = document(&app, "one").await;
    let group_id = group(&app, "G", &[]).await;
    let body = json!({ "text": "x", "name": "x" });
    let foreign = app.stranger().await.post(&format!("{DOCUMENTS}/text"), body).await;
    let foreign = foreign.expect(201).text("/data/documentId");
    let ids = json!([one, "x", DocumentId::new(), one, 7, group_id, foreign]);
    let wanted = [
        ("documentIds[1]", "not_found"),
        ("documentIds[2]", "not_found"),
        ("documentIds[3]", "repeated"),
        ("documentIds[4]", "wrong_type"),
        ("documentIds[5]", "not_found"),
        ("documentIds[6]", "not_found"),
    ];
    let body = json!({ "name": "H", "documentIds": ids });
    assert_eq!(app.client.post(GROUPS, body).await.expect(400).fields(), wanted);
    let patch = json!({ "documentIds": ids });
    let answer = app
        .client
        .patch(&format!("{GROUPS}/{group_id}"), patch)
        .await
        .expect(400);
    assert_eq!(answer.fields(), wanted);
    let body = json!({ "name": "H", "documentIds": vec![one; 201] });
    let answer = app.client.post(GROUPS, body).await.expect(400);
    assert_eq!(answer.fields(), [("documentIds", "too_many")]);
}

#[tokio::test(start_paused = true)]
async fn what_a_group_or_an_agent_holds_is_not_deleted() {
    let app = TestApp::start().await;
    let (one, two) = (document(&app, "one").await, document(&app, "two").await);
    let group_id = group(&app, "Both", &[&one]).await;
    let made = app
        .client
        .post(AGENTS, agent_with(&json!([two, group_id])))
        .await
        .expect(201);
    let agent = made.text("/data/agentId");
    for (path, holder) in [
        (format!("{DOCUMENTS}/{one}"), format!("group `Both` ({group_id})")),
        (format!("{DOCUMENTS}/{two}"), format!("agent `Ann` ({agent})")),
        (format!("{GROUPS}/{group_id}"), format!("agent `Ann` ({agent})")),
    ] {
        let answer = app.client.delete(&path).await.expect(409);
        assert_eq!(answer.code(), "in_use");
        assert!(answer.text("/error/message").contains(&holder), "{}", answer.body);
        app.client.get(&path).await.expect(200);
    }
    let free = json!({ "conversationConfig": { "agent": { "prompt": { "knowledgeBase": null } } } });
    app.client
        .patch(&format!("/public/v1/agents/{agent}"), free)
        .await
        .expect(200);
    for path in [
        format!("{GROUPS}/{group_id}"),
        format!("{DOCUMENTS}/{one}"),
        format!("{DOCUMENTS}/{two}"),
    ] {
        app.client.delete(&path).await.expect(200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleted_agent_lets_go() {
    let app = TestApp::start().await;
    let one = document(&app, "one").await;
    let made = app.client.post(AGENTS, agent_with(&json!([one]))).await.expect(201);
    let path = format!("{DOCUMENTS}/{one}");
    app.client.delete(&path).await.expect(409);
    let agent = format!("/public/v1/agents/{}", made.text("/data/agentId"));
    app.client.delete(&agent).await.expect(200);
    app.client.delete(&path).await.expect(200);
}

#[tokio::test]
async fn a_request_sent_again_with_its_key_makes_nothing_twice() {
    let app = TestApp::start().await;
    let json = |path: &str, body: Value| app.client.request("POST", path).json(&body);
    let file = |words: &str| {
        let part = Part::bytes(words.as_bytes().to_vec()).file_name("a.txt");
        let request = app.client.request("POST", &format!("{DOCUMENTS}/file"));
        request.multipart(Form::new().part("file", part))
    };
    let text = |words: &str| json(&format!("{DOCUMENTS}/text"), json!({ "name": "n", "text": words }));
    let group = |name: &str| json(GROUPS, json!({ "name": name }));
    for (key, first, again, other) in [
        ("text", text("a"), text("a"), text("b")),
        ("file", file("a"), file("a"), file("b")),
        ("group", group("a"), group("a"), group("b")),
    ] {
        let made = send(first.header("idempotency-key", key)).await.expect(201);
        assert!(made.headers.get("idempotency-replayed").is_none(), "{key}");
        let replayed = send(again.header("idempotency-key", key)).await.expect(201);
        assert_eq!(replayed.headers["idempotency-replayed"], "true", "{key}");
        assert_eq!(replayed.data(), made.data(), "{key}");
        send(other.header("idempotency-key", key)).await.expect(409);
    }
    let documents = app.client.get(DOCUMENTS).await.expect(200);
    assert_eq!(documents.data().as_array().unwrap().len(), 2);
    // A failure leaves the key free.
    let web = Web::local(|_| ok("text/plain", "words")).await;
    for _ in 0..2 {
        let body = json!({ "name": "n", "url": web.url("/") });
        let refused = json(&format!("{DOCUMENTS}/url"), body).header("idempotency-key", "url");
        send(refused).await.expect(400);
    }
}

#[tokio::test(start_paused = true)]
async fn an_agents_knowledge_must_be_there() {
    let app = TestApp::start().await;
    let one = document(&app, "one").await;
    let body = json!({ "text": "x", "name": "x" });
    let foreign = app.stranger().await.post(&format!("{DOCUMENTS}/text"), body).await;
    let foreign = foreign.expect(201).text("/data/documentId");
    let wrong = json!([one, foreign, "x"]);
    let path = "conversationConfig.agent.prompt.knowledgeBase";
    let (second, third) = (format!("{path}[1]"), format!("{path}[2]"));
    let wanted = [(second.as_str(), "not_found"), (third.as_str(), "not_found")];
    let answer = app.client.post(AGENTS, agent_with(&wrong)).await.expect(400);
    assert_eq!(answer.fields(), wanted);
    let made = app
        .client
        .post(AGENTS, agent_with(&json!([one, one])))
        .await
        .expect(201);
    let agent = format!("/public/v1/agents/{}", made.text("/data/agentId"));
    let patch = json!({ "conversationConfig": { "agent": { "prompt": { "knowledgeBase": wrong } } } });
    let answer = app.client.patch(&agent, patch).await.expect(400);
    assert_eq!(answer.fields(), wanted);
}

#[tokio::test(start_paused = true)]
async fn a_document_of_nothing_that_is_seen_is_refused() {
    let app = TestApp::start().await;
    for blank in ["", " \n", "\u{200b}\u{200d}", "\u{feff} \u{2060}\u{ad}"] {
        let body = json!({ "name": "Nothing", "text": blank });
        let path = "/public/v1/knowledge-base/documents/text";
        let refused = app.client.post(path, body).await.expect(400);
        assert_eq!(refused.fields(), [("text", "required")], "{blank:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_webhook_at_a_private_address_is_refused_when_it_is_saved() {
    let app = TestApp::start().await;
    let with = |url: &str| json!({ "platformSettings": { "callActions": { "postCallWebhook": url } } });
    let agent = format!("/public/v1/agents/{}", app.agent().await);
    for url in [
        "http://127.0.0.1/x",
        "https://0x7f.1/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/",
    ] {
        let answer = app.client.patch(&agent, with(url)).await.expect(400);
        let path = "platformSettings.callActions.postCallWebhook";
        assert_eq!(answer.fields(), [(path, "address_not_allowed")], "{url}");
        let mut body = agent_with(&json!([]));
        body["platformSettings"] = with(url)["platformSettings"].clone();
        app.client.post(AGENTS, body).await.expect(400);
    }
    for url in [
        "https://ada:secret@hooks.example.com/x",
        "https://ada@hooks.example.com/",
    ] {
        let answer = app.client.patch(&agent, with(url)).await.expect(400);
        let path = "platformSettings.callActions.postCallWebhook";
        assert_eq!(answer.fields(), [(path, "invalid")], "{url}");
        let message = answer.text("/error/fields/0/message");
        assert!(
            message.contains("user name or a password") && !message.contains("secret"),
            "{message}"
        );
    }
    for url in ["https://hooks.example.com/x", "https://8.8.8.8/x"] {
        app.client.patch(&agent, with(url)).await.expect(200);
    }
}

#[tokio::test]
async fn the_service_fetches_private_addresses_only_when_it_is_told_to() {
    let web = Web::local(|_| ok("text/html", "<p>Open from nine</p>")).await;
    let program = Program::new();
    let account = program.run(&["account", "create", "--email", "ada@example.com"]).json();
    let body = json!({ "url": web.url("/"), "name": "Hours" });
    for (setting, status) in [("false", 400), ("1", 201)] {
        let service = program.start(&["serve"], &[("RINGBACK_ALLOW_PRIVATE_URLS", setting)]);
        let address = service.address();
        let client = Client::new(&address, account["apiKey"].as_str().unwrap());
        client
            .post(&format!("{DOCUMENTS}/url"), body.clone())
            .await
            .expect(status);
        service.signal("TERM");
        assert_eq!(service.end().code, Some(0));
    }
    assert_eq!(web.connections(), 1);
}
