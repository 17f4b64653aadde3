//! Passages found by their meaning, at a stub of `/v1/embeddings` on a real socket, and the effect of its faults.

use std::{sync::Arc, time::Duration};

use domain::{
    knowledge::Question,
    ports::{
        knowledge::{KnowledgeBase, OpenKnowledge},
        store::{DocumentKind, KnowledgeStore, NewDocument},
    },
    time::TokioClock,
};
use providers::knowledge::{Embeddings, KnowledgeCache};
use sim::stub_providers::{Fault, StubHandle, openai};
use testkit::memory_store::MemoryStore;
use tokio::time::Instant;

use support::app::{START, new_account};
use support::model_stubs::{KEY, settings, stubs};

/// A caller's words; none of them is in the passage that answers them.
const ASKED: &str = "May I bring my poodle?";
const ANSWER: &str = "Animals are welcome on the ground floor.";

/// Returns a document that is too long to be given whole, about other things except for one passage.
fn house_rules() -> String {
    let mut text = format!("# House rules\n\n{ANSWER}\n\n");
    for floor in 1..60 {
        text.push_str(&format!(
            "# Floor {floor}\n\n{}\n\n",
            "Windows are closed at night and lights go out. ".repeat(6)
        ));
    }
    text
}

/// House rules, opened from a knowledge cache with embeddings from the stub.
struct House {
    stub: StubHandle,
    open: Arc<dyn OpenKnowledge>,
    _cache: KnowledgeCache,
}

impl House {
    /// Opens the rules with these faults at the beginning; a turn waits as long as `within`.
    async fn open(faults: Vec<Fault>, within: Option<Duration>) -> Self {
        let stub = stubs().await;
        stub.set_faults(openai::EMBEDDINGS, faults);
        let name = "openai/text-embedding-3-small".parse().unwrap();
        let embeddings = Embeddings::new(&name, &settings(&stub)).unwrap();
        let embeddings = match within {
            Some(within) => embeddings.within(within),
            None => embeddings,
        };
        let store = Arc::new(MemoryStore::new(Arc::new(TokioClock::starting_at(START))));
        let (account, _) = new_account(&*store, "ada@example.com").await;
        let new = NewDocument {
            kind: DocumentKind::Text,
            name: "House".into(),
            url: None,
            text: house_rules(),
        };
        let document = store.create_document(account.id, new, None).await.unwrap();
        let cache = KnowledgeCache::new(store, Some(embeddings));
        let open = cache.open(account.id, &[document.id.to_string()]).await.unwrap();
        Self {
            stub,
            open,
            _cache: cache,
        }
    }

    async fn finds(&self) -> bool {
        let found = self.open.find(Some(&Question::of_words(ASKED))).await.found;
        found.iter().any(|excerpt| excerpt.text.contains(ANSWER))
    }

    /// Waits until the passages' vectors are there: only then is a question embedded.
    async fn until_compared(&self) {
        let asked = |stub: &StubHandle| {
            stub.received(openai::EMBEDDINGS)
                .iter()
                .any(|body| body.contains("poodle"))
        };
        while !asked(&self.stub) {
            self.finds().await;
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_passage_is_found_by_its_meaning_once_vectors_are_there() {
    let house = House::open(Vec::new(), Some(Duration::from_secs(60))).await;
    assert!(!house.finds().await, "by words alone it is not");
    house.until_compared().await;
    assert!(house.finds().await);
    let bodies = house.stub.received(openai::EMBEDDINGS);
    assert!(
        bodies[0].contains("text-embedding-3-small") && bodies[0].contains("House rules"),
        "{}",
        bodies[0]
    );
    let batches = bodies.iter().filter(|body| !body.contains("poodle"));
    assert_eq!(batches.count(), 2, "60 passages, 32 at once");
}

#[tokio::test]
async fn a_question_whose_meaning_does_not_come_is_answered_by_words() {
    let house = House::open(Vec::new(), None).await;
    house.until_compared().await;
    tokio::time::pause();
    // The machine's load may have affected the previous question.
    tokio::time::advance(Duration::from_secs(11)).await;
    for (fault, longest_ms) in [
        (Fault::Hang, 200),
        (Fault::Refuse(500), 200),
        (Fault::MalformedAfter(0), 200),
    ] {
        house.stub.set_faults(openai::EMBEDDINGS, vec![fault]);
        let asked = house.stub.received(openai::EMBEDDINGS).len();
        let begun = Instant::now();
        assert!(!house.finds().await);
        assert!(
            begun.elapsed() <= Duration::from_millis(longest_ms + 5),
            "{:?}",
            begun.elapsed()
        );
        // The turns after it do not wait at all.
        let begun = Instant::now();
        assert!(!house.finds().await);
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert!(house.stub.received(openai::EMBEDDINGS).len() <= asked + 1);
        tokio::time::advance(Duration::from_secs(11)).await;
    }
}

#[tokio::test]
async fn few_documents_are_asked_about_at_once() {
    let stub = stubs().await;
    stub.set_faults(openai::EMBEDDINGS, vec![Fault::Hang; 12]);
    let name = "openai/text-embedding-3-small".parse().unwrap();
    let embeddings = Embeddings::new(&name, &settings(&stub)).unwrap();
    let store = Arc::new(MemoryStore::new(Arc::new(TokioClock::starting_at(START))));
    let (account, _) = new_account(&*store, "ada@example.com").await;
    let cache = KnowledgeCache::new(store.clone(), Some(embeddings));
    let mut opened = Vec::new();
    for n in 0..12 {
        let new = NewDocument {
            kind: DocumentKind::Text,
            name: format!("House {n}"),
            url: None,
            text: house_rules(),
        };
        let document = store.create_document(account.id, new, None).await.unwrap();
        opened.push(cache.open(account.id, &[document.id.to_string()]).await.unwrap());
    }
    while stub.received(openai::EMBEDDINGS).len() < 3 {
        tokio::task::yield_now().await;
    }
    // Any further request would have been sent meanwhile: stub and knowledge cache run on this thread.
    for _ in 0..5_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(stub.received(openai::EMBEDDINGS).len(), 3);
}

#[test]
fn only_providers_that_have_embeddings_are_taken() {
    let settings = providers::settings::ProviderSettings::read(|_| Some(format!("http://127.0.0.1:9/{KEY}"))).unwrap();
    let refused = |name: &str| match Embeddings::new(&name.parse().unwrap(), &settings) {
        Ok(_) => panic!("{name} was taken"),
        Err(why) => why.to_string(),
    };
    assert!(refused("deepgram/nova-3").contains("embeddings"));
    assert!(refused("openai").contains("needs a model"));
    assert!(refused("nobody/x").contains("is unknown"));
    assert!(Embeddings::new(&"ollama/nomic-embed-text".parse().unwrap(), &settings).is_ok());
}
