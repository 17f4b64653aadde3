//! Knowledge of the agent in one call. It is opened while the call is dialed, and each reply's task searches
//! it. A call never waits long for it and never fails because of it.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use domain::{
    agent::Agent,
    id::AccountId,
    knowledge::{Knowledge, Question},
    ports::{
        knowledge::{KnowledgeBase, KnowledgeError, OpenKnowledge},
        language_model::HistoryItem,
    },
};

/// Time a reply waits for documents that are being opened for the first time.
const OPENED_WITHIN: Duration = Duration::from_millis(500);

/// Time a reply waits for the search. The slow parts of the search have shorter limits of their own.
const FOUND_WITHIN: Duration = Duration::from_millis(500);

/// Time limit of one try to open the documents.
const OPENING: Duration = Duration::from_secs(30);
/// First pause after a failure to open them. It doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// Longest pause after a failure to open them.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// State of the opening.
#[derive(Clone)]
enum Opened {
    Opening,
    Failed,
    Open(Arc<dyn OpenKnowledge>),
}

/// Knowledge of a call. Clones share it.
#[derive(Clone)]
pub(super) struct CallKnowledge {
    /// `None` if the agent has no documents.
    opened: Option<watch::Receiver<Opened>>,
}

impl CallKnowledge {
    /// Creates the knowledge of an agent, and the task that opens it if there is anything to open.
    pub(super) fn of(
        base: Arc<dyn KnowledgeBase>,
        account: AccountId,
        agent: &Agent,
    ) -> (Self, Option<impl Future<Output = ()> + Send + use<>>) {
        let held = agent.conversation_config.agent.prompt.knowledge_base.clone();
        if held.is_empty() {
            return (Self { opened: None }, None);
        }
        let (told, opened) = watch::channel(Opened::Opening);
        let opening = open(base, account, held, told);
        (Self { opened: Some(opened) }, Some(opening))
    }

    /// Returns the passages that a reply to this history may use.
    pub(super) async fn find(&self, history: &[HistoryItem]) -> Knowledge {
        let Some(mut opened) = self.opened.clone() else {
            return Knowledge::default();
        };
        let there = opened.wait_for(|opened| !matches!(opened, Opened::Opening));
        let open = match timeout(OPENED_WITHIN, there).await {
            Ok(Ok(opened)) => opened.clone(),
            Ok(Err(_)) | Err(_) => Opened::Failed,
        };
        let Opened::Open(knowledge) = open else {
            return Knowledge::default();
        };
        let question = Question::of(history);
        let found = AssertUnwindSafe(knowledge.find(question.as_ref())).catch_unwind();
        match timeout(FOUND_WITHIN, found).await {
            Ok(Ok(found)) => found,
            Ok(Err(_)) => {
                tracing::error!("document search crashed");
                Knowledge::default()
            }
            Err(_) => {
                tracing::warn!("document search timed out");
                Knowledge::default()
            }
        }
    }
}

/// Opens the documents, and retries until that succeeds.
async fn open(base: Arc<dyn KnowledgeBase>, account: AccountId, held: Vec<String>, told: watch::Sender<Opened>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let opening = AssertUnwindSafe(base.open(account, &held)).catch_unwind();
        let opened = match timeout(OPENING, opening).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(_)) => Err(KnowledgeError("opening it crashed".into())),
            Err(_) => Err(KnowledgeError(format!("not opened within {} s", OPENING.as_secs()))),
        };
        match opened {
            Ok(knowledge) => {
                told.send_replace(Opened::Open(knowledge));
                return;
            }
            Err(error) => tracing::warn!(%account, %error, "agent's documents not available to the call"),
        }
        told.send_replace(Opened::Failed);
        if told.is_closed() {
            // Another agent has taken over and opens its own documents.
            return;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
