//! Documents that are available at once, or unavailable when a test says so.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;

use domain::{
    id::AccountId,
    knowledge::{Document, Knowledge, Library, Question},
    ports::knowledge::{FoundPassage, KnowledgeBase, KnowledgeError, OpenKnowledge},
};

/// The fake. It returns its documents for every agent.
#[derive(Default)]
pub struct FakeKnowledge {
    documents: Mutex<Vec<Document>>,
    unavailable: AtomicBool,
    asked: AtomicUsize,
}

impl FakeKnowledge {
    /// Sets its documents.
    pub fn holds(&self, documents: Vec<Document>) {
        *self.documents.lock().unwrap_or_else(PoisonError::into_inner) = documents;
    }

    /// Sets whether it is unavailable from now on.
    pub fn set_unavailable(&self, unavailable: bool) {
        self.unavailable.store(unavailable, Ordering::Relaxed);
    }

    /// Returns how often it was opened, including failures.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl KnowledgeBase for FakeKnowledge {
    async fn open(&self, _: AccountId, _: &[String]) -> Result<Arc<dyn OpenKnowledge>, KnowledgeError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match self.unavailable.load(Ordering::Relaxed) {
            true => Err(KnowledgeError("away".into())),
            false => {
                let documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner).clone();
                Ok(Arc::new(Open(Library::new(documents))))
            }
        }
    }
}

struct Open(Library);

#[async_trait]
impl OpenKnowledge for Open {
    async fn find(&self, question: Option<&Question>) -> Knowledge {
        let question = question.cloned().unwrap_or_default();
        self.0.knowledge(&question, &self.0.search(&question, 10))
    }

    /// Returns none: its documents have no ids.
    async fn passages(&self, _: &Question) -> Vec<FoundPassage> {
        Vec::new()
    }
}
