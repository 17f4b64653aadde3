//! Access of web pages to an agent: the element, the look of agents that have one, and nothing else.

mod browser;

use std::{sync::Arc, time::Duration};

use domain::{ports::store::DirectoryStore, time::TokioClock};
use net::http_client;
use reqwest::{RequestBuilder, Response};
use rest::{RateLimit, server::ServerLimits, widget};
use serde_json::{Value, json};
use testkit::memory_store::MemoryStore;

use support::app::{START, Served, new_account, serve_router};

struct Site {
    base: String,
    store: Arc<MemoryStore>,
    account: domain::id::AccountId,
    _served: Served,
}

impl Site {
    async fn start(requests_a_second: u32) -> Self {
        let store = Arc::new(MemoryStore::new(Arc::new(TokioClock::starting_at(START))));
        let limit = Arc::new(RateLimit::per_second(requests_a_second));
        let served = serve_router(widget::router(store.clone(), limit), ServerLimits::default()).await;
        let (account, _) = new_account(&*store, "ada@example.com").await;
        Self {
            base: format!("http://{}", served.0),
            store,
            account: account.id,
            _served: served,
        }
    }

    async fn agent(&self, direction: &str, widget: Option<Value>) -> String {
        let mut document = json!({ "name": "Secret name", "direction": direction, "tags": ["secret"] });
        if let Some(widget) = widget {
            document["platformSettings"] = json!({ "widget": widget });
        }
        let document = document.as_object().cloned().unwrap();
        let made = self.store.create_agent(self.account, document, None).await;
        made.unwrap().id.to_string()
    }

    fn ask(&self, path: &str) -> RequestBuilder {
        let client = http_client::builder().build().unwrap();
        client.get(format!("{}{path}", self.base))
    }

    async fn get(&self, path: &str) -> Response {
        self.ask(path).send().await.unwrap()
    }
}

fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_look_of_an_agent_that_takes_calls_is_for_every_page_and_nothing_else_of_it_is() {
    let site = Site::start(0).await;
    let look = json!({ "variant": "compact", "bgColor": "#fff", "unknown": { "kept": [1, null] } });
    for direction in ["inbound", "both"] {
        let agent = site.agent(direction, Some(look.clone())).await;
        let answer = site.get(&format!("/widget/{agent}")).await;
        assert_eq!(
            (answer.status().as_u16(), header(&answer, "access-control-allow-origin")),
            (200, "*")
        );
        assert_eq!(header(&answer, "cache-control"), "public, max-age=60");
        assert_eq!(header(&answer, "content-type"), "application/json");
        assert_eq!(answer.json::<Value>().await.unwrap(), look);
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_without_a_look_or_that_only_dials_is_like_one_that_is_not_there() {
    let site = Site::start(0).await;
    let look = json!({ "variant": "tiny" });
    let deleted = site.agent("inbound", Some(look.clone())).await;
    site.store
        .delete_agent(site.account, deleted.parse().unwrap())
        .await
        .unwrap();
    let mut bodies = Vec::new();
    for agent in [
        site.agent("outbound", Some(look)).await,
        site.agent("inbound", Some(json!({}))).await,
        site.agent("both", None).await,
        deleted,
        domain::id::AgentId::new().to_string(),
        "not-an-id".to_owned(),
        "%ff".to_owned(),
    ] {
        let answer = site.get(&format!("/widget/{agent}")).await;
        assert_eq!(
            (answer.status().as_u16(), header(&answer, "access-control-allow-origin")),
            (404, "*"),
            "{agent}"
        );
        assert_eq!(header(&answer, "cache-control"), "no-store");
        bodies.push(answer.text().await.unwrap());
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
}

#[tokio::test(start_paused = true)]
async fn the_files_are_scripts_for_any_page_that_browsers_keep() {
    let site = Site::start(1).await;
    for (path, holds) in [
        ("/widget.js", "customElements.define"),
        ("/widget-audio.js", "registerProcessor"),
    ] {
        // The rate limit does not apply: they cost no database read.
        for _ in 0..5 {
            assert_eq!(site.get(path).await.status(), 200);
        }
        let answer = site.get(path).await;
        assert_eq!(header(&answer, "content-type"), "text/javascript; charset=utf-8");
        assert_eq!(header(&answer, "access-control-allow-origin"), "*");
        assert_eq!(header(&answer, "cross-origin-resource-policy"), "cross-origin");
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
        assert_eq!(header(&answer, "cache-control"), "public, max-age=3600");
        let tag = header(&answer, "etag").to_owned();
        let text = answer.text().await.unwrap();
        assert!(text.contains(holds), "{path}");
        // Functions that a page's policy forbids, and those that would turn a look into a script.
        for word in [
            "eval(",
            "new Function",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "blob:",
        ] {
            assert!(!text.contains(word), "{path} has {word}");
        }
        let again = site.ask(path).header("if-none-match", &tag);
        let again = again.send().await.unwrap();
        assert_eq!((again.status().as_u16(), header(&again, "etag")), (304, tag.as_str()));
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_that_asks_too_often_waits() {
    let site = Site::start(2).await;
    let agent = site.agent("inbound", Some(json!({ "variant": "full" }))).await;
    let path = format!("/widget/{agent}");
    for _ in 0..4 {
        assert_eq!(site.get(&path).await.status(), 200);
    }
    let refused = site.get(&path).await;
    assert_eq!((refused.status().as_u16(), header(&refused, "retry-after")), (429, "1"));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(site.get(&path).await.status(), 200);
}
