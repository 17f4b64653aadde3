//! What the agent of one call knows: opened while the call is dialed, looked into by the task of each reply. A call
//! never waits long for it and never fails for it.

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

/// How long a reply waits for documents that are being opened for the first time.
const OPENED_WITHIN: Duration = Duration::from_millis(500);

/// How long a reply waits for what fits its words. What takes long in it has shorter limits of its own.
const FOUND_WITHIN: Duration = Duration::from_millis(500);

/// How long one opening may take, and the pauses until the next when it fails.
const OPENING: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Where the opening stands.
#[derive(Clone)]
enum Opened {
    Opening,
    Failed,
    Open(Arc<dyn OpenKnowledge>),
}

/// A call's knowledge. Clones share it.
#[derive(Clone)]
pub(super) struct CallKnowledge {
    /// None when the agent holds no documents.
    opened: Option<watch::Receiver<Opened>>,
}

impl CallKnowledge {
    /// The knowledge of an agent, and the task that opens it, if there is any to open.
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

    /// What a reply to this history may draw on.
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
                tracing::error!("the search in an agent's documents crashed");
                Knowledge::default()
            }
            Err(_) => {
                tracing::warn!("the search in an agent's documents took too long");
                Knowledge::default()
            }
        }
    }
}

/// Opens it, again and again while that fails.
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
            Err(error) => tracing::warn!(%account, %error, "a call goes on without its agent's documents"),
        }
        told.send_replace(Opened::Failed);
        if told.is_closed() {
            // Another agent has taken over, and opens its own.
            return;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
