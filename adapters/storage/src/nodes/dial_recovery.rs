//! Recovery of dials that the database has lost: a standby took over before it received the last commits, or
//! a backup was restored. Lost dials that the dial journal still contains are written again with an unknown
//! outcome. They are settled with the carrier and never dialed a second time.

mod rows;

use std::{collections::HashMap, io, sync::Arc, time::Duration};

use domain::{
    phone_number::PhoneNumber,
    ports::store::{Claim, LiveCalls, StoreError, StoreResult},
};

use crate::engine::{
    SqlStore,
    dial_journal::{DialJournal, DialNote},
};
use rows::Holder;

/// Notes compared at once.
const AT_ONCE: usize = 200;
/// Number of consecutive known dials after which the comparison ends: a database loses only its last commits.
const KNOWN: usize = 5_000;
/// Interval at which old notes are deleted.
const OLD_EVERY: Duration = Duration::from_secs(3_600);
/// Pause before the next try to write lost dials.
const AGAIN: Duration = Duration::from_secs(1);

impl SqlStore {
    /// Writes each permit to this journal before it is used. Call this once, before the first permit.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal's folder cannot be read or written.
    pub fn keep_dial_journal(&self, journal: DialJournal) -> io::Result<()> {
        if let Some(history) = &self.history {
            history.compare(journal.history()?.as_deref());
            if let Some(present) = history.present() {
                journal.keep_history(&present)?;
            }
        }
        let _ = self.dials.set(Arc::new(journal));
        Ok(())
    }

    /// Sets the source of this process's live calls. If the database loses one of them, it is written again
    /// as it is, and the call continues. Call this once.
    pub fn keep_live_calls(&self, calls: Arc<dyn LiveCalls>) {
        let _ = self.live.set(calls);
    }

    /// Converts the result of a write under a claim. `Fenced` is believed only once the rows that the server
    /// may have lost are written again.
    pub(crate) fn under_claim<T>(&self, written: StoreResult<T>) -> StoreResult<T> {
        match (written, &self.history) {
            (Err(StoreError::Fenced), Some(history)) => history.check().and(Err(StoreError::Fenced)),
            (written, _) => written,
        }
    }

    /// Returns an error while a missing row may be one that a server lost when it took over, until the
    /// journal was compared.
    pub(crate) fn compared(&self) -> StoreResult<()> {
        self.history.as_ref().map_or(Ok(()), |history| history.check())
    }

    /// Compares the journal with the database, writes lost dials again, and returns their number. Call this
    /// before a process's first claim.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal cannot be read or the database is unavailable.
    pub async fn reconcile_dials(&self) -> StoreResult<usize> {
        let Some(journal) = self.dials.get() else { return Ok(0) };
        let mut notes = journal.newest_first().map_err(|error| unread(&error))?;
        let (mut lost, mut known) = (Vec::new(), 0);
        while known < KNOWN {
            let some = notes.by_ref().take(AT_ONCE).collect::<io::Result<Vec<DialNote>>>();
            let asked = Arc::new(some.map_err(|error| unread(&error))?);
            let looked = Arc::clone(&asked);
            let forgotten = self.read(move |work| Box::pin(rows::forgotten(work, looked))).await?;
            known = match forgotten.is_empty() {
                true => known + asked.len(),
                false => 0,
            };
            lost.extend(forgotten.into_iter().map(|at| asked[at].clone()));
            if asked.len() < AT_ONCE {
                break;
            }
        }
        let live = self.live.get().map(|calls| calls.live()).unwrap_or_default();
        let held: HashMap<String, Claim> = live
            .iter()
            .map(|call| (call.claim.attempt.to_string(), call.claim))
            .collect();
        let (me, mut reinstated) = (self.me(), 0);
        // Write the oldest first: a contact's attempts then come in order. If this is interrupted, or another
        // node compares meanwhile, the newest are still missing and show that there is more.
        for note in lost.into_iter().rev() {
            let holder = Holder::of(&note, held.get(&note.attempt), me);
            reinstated += usize::from(self.put_back(note, holder).await?);
        }
        for call in live {
            let attempt = call.claim.attempt;
            match self.write(move |work| Box::pin(rows::update_live(work, call))).await {
                // It was never dialed, or belongs to another node by now, which its next write will show.
                Ok(()) | Err(StoreError::Fenced) => {}
                Err(error @ StoreError::Unavailable(_)) => return Err(error),
                Err(error) => {
                    tracing::error!(%attempt, %error, "live call not restored in the database");
                }
            }
        }
        if reinstated > 0 {
            tracing::error!(reinstated, "database lost dials; they are settled with the carrier");
        }
        Ok(reinstated)
    }

    async fn put_back(&self, note: DialNote, holder: Holder) -> StoreResult<bool> {
        let attempt = note.attempt.clone();
        let to = PhoneNumber::parse(&note.phone_number).map(|number| number.masked());
        match self
            .write(move |work| Box::pin(rows::reinstate(work, note, holder)))
            .await
        {
            Ok(put_back) => Ok(put_back),
            Err(StoreError::NotFound | StoreError::Exists(_) | StoreError::Stale) => {
                tracing::error!(
                    attempt,
                    to = to.unwrap_or_default(),
                    "forgotten dial not restored: the database has no campaign, agent or contact list for it, or has \
                     another attempt in its place"
                );
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Compares the journal again whenever the server turns out to have another history. Permits are refused
    /// until then, and for the time after which a silent node counts as dead: the other nodes need time to
    /// reach that server and to write their dials. Never returns.
    pub async fn watch_server_history(&self) {
        let Some(history) = &self.history else {
            return std::future::pending().await;
        };
        loop {
            let change = history.next_change().await;
            if let (Some(journal), Some(present)) = (self.dials.get(), history.present())
                && let Err(error) = journal.keep_history(&present)
            {
                tracing::warn!(%error, "database history not stored");
            }
            while let Err(error) = self.reconcile_dials().await {
                tracing::warn!(%error, "dial journal comparison failed, trying again");
                tokio::time::sleep(AGAIN).await;
            }
            tokio::time::sleep(self.times.dead_after).await;
            history.set_compared(change);
            tracing::info!("dial journal compared with the database; dialing resumed");
        }
    }

    /// Returns whether permits are written to a journal.
    pub(crate) fn keeps_dial_journal(&self) -> bool {
        self.dials.get().is_some()
    }

    /// Writes a permit to the journal, if there is one.
    pub(crate) async fn note_permit(&self, note: DialNote) -> StoreResult<()> {
        let Some(journal) = self.dials.get() else { return Ok(()) };
        let written = journal.permitted(note).await;
        written.map_err(|error| StoreError::Unavailable(format!("the dial journal cannot be written: {error}")))
    }

    /// Returns whether permits cannot be noted, so that nothing is dialed.
    pub fn dial_journal_fails(&self) -> bool {
        self.dials.get().is_some_and(|journal| journal.is_failing())
    }

    /// Deletes notes older than three days, in the first minute and then each hour. Never returns.
    pub async fn forget_old_dials(&self) {
        let Some(journal) = self.dials.get() else {
            return std::future::pending().await;
        };
        let mut look = tokio::time::interval(OLD_EVERY);
        loop {
            look.tick().await;
            let (journal, now) = (Arc::clone(journal), self.clock.now().0);
            let forgotten = tokio::task::spawn_blocking(move || journal.forget_old(now)).await;
            if let Ok(Err(error)) = forgotten {
                tracing::warn!(%error, "old dial journal notes not deleted");
            }
        }
    }

    /// Notes that a permit was not used.
    pub(crate) async fn note_taken_back(&self, claim: Claim) {
        if let Some(journal) = self.dials.get() {
            let noted = journal.taken_back(claim.attempt.to_string(), claim.epoch, self.clock.now().0);
            noted.await;
        }
    }
}

fn unread(error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("the dial journal cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use domain::{
        id::{AttemptId, CampaignId, NodeId},
        ports::store::{AttemptStore, CallStore, NodeStore, Patience, ReturnStore},
    };

    use super::*;
    use crate::engine::{rows::affected, server_history::ServerHistory};

    #[tokio::test]
    async fn permits_rest_until_another_history_was_compared() {
        let store = SqlStore::open("sqlite::memory:", Arc::new(domain::time::SystemClock)).await;
        let mut store = store.unwrap();
        let history = Arc::new(ServerHistory::default());
        store.history = Some(Arc::clone(&history));
        assert_eq!(history.check(), Ok(()));
        history.change();
        assert!(matches!(history.check(), Err(StoreError::Unavailable(_))));
        // The next claim could be one that the server has lost.
        let claimed = store.claim(NodeId::new(), CampaignId::new(), 1).await;
        assert!(matches!(claimed, Err(StoreError::Unavailable(_))), "{claimed:?}");
        let claimed = store.claim_calls(NodeId::new(), 1).await;
        assert!(matches!(claimed, Err(StoreError::Unavailable(_))), "{claimed:?}");
        // A call must not be told that it lost its attempt, which the database may only have forgotten.
        let call = Claim {
            attempt: AttemptId::new(),
            owner: NodeId::new(),
            epoch: 1,
        };
        let answered = store.answered(call, domain::time::Timestamp(0)).await;
        assert!(matches!(answered, Err(StoreError::Unavailable(_))), "{answered:?}");
        let lost = store.lost_claims(&[call]).await;
        assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
        let kept = store.keep_collected(call, BTreeMap::new()).await;
        assert!(matches!(kept, Err(StoreError::Unavailable(_))), "{kept:?}");
        // A carrier that asks for a call's owner must not hear that the call is over.
        let owner = store.owner_of(call.attempt).await;
        assert!(matches!(owner, Err(StoreError::Unavailable(_))), "{owner:?}");
        let token = store.dial_token(call.attempt).await;
        assert!(matches!(token, Err(StoreError::Unavailable(_))), "{token:?}");
        // An attempt that seems to belong to a dead node or to nobody may be a live call of another node.
        let orphaned = store.take_orphaned(call.owner, &Patience::default()).await;
        assert!(matches!(orphaned, Err(StoreError::Unavailable(_))), "{orphaned:?}");
        let unsettled = store.unsettled(call.owner, 0).await;
        assert!(matches!(unsettled, Err(StoreError::Unavailable(_))), "{unsettled:?}");
        let stale = store.stale_claims(call.owner, 0).await;
        assert!(matches!(stale, Err(StoreError::Unavailable(_))), "{stale:?}");
        tokio::time::pause();
        let rest = store.times.dead_after;
        let watch = async {
            tokio::select! {
                () = store.watch_server_history() => {}
                () = tokio::time::sleep(rest - Duration::from_secs(1)) => {}
            }
        };
        watch.await;
        assert!(history.check().is_err());
        // Another change of history in the middle of the pause.
        let twice = async {
            tokio::time::sleep(rest / 2).await;
            history.change();
            tokio::time::sleep(rest).await;
            assert!(history.check().is_err());
        };
        let _ = tokio::time::timeout(rest * 3, async { tokio::join!(store.watch_server_history(), twice) }).await;
        assert_eq!(history.check(), Ok(()));
        assert_eq!(
            store.answered(call, domain::time::Timestamp(0)).await,
            Err(StoreError::Fenced)
        );
        assert_eq!(store.lost_claims(&[call]).await, Ok(vec![call]));
        assert_eq!(
            store.keep_collected(call, BTreeMap::new()).await,
            Err(StoreError::Fenced)
        );
        assert_eq!(store.owner_of(call.attempt).await, Ok(None));
        assert_eq!(store.dial_token(call.attempt).await, Err(StoreError::NotFound));
        assert_eq!(store.take_orphaned(call.owner, &Patience::default()).await, Ok(vec![]));
    }

    #[tokio::test]
    async fn a_node_that_another_history_forgot_lives_on() {
        let store = SqlStore::open("sqlite::memory:", Arc::new(domain::time::SystemClock)).await;
        let mut store = store.unwrap();
        let history = Arc::new(ServerHistory::default());
        store.history = Some(Arc::clone(&history));
        let node = NodeId::new();
        let address = "http://10.0.0.7:8080";
        store.register_node(node, Some(address)).await.unwrap();
        let forget = || store.write(|work| Box::pin(affected(sqlx::query("DELETE FROM nodes"), work.conn)));
        history.change();
        assert_eq!(forget().await, Ok(1));
        assert_eq!(store.heartbeat(node).await.unwrap().nodes, 1);
        let live = store.live_nodes().await.unwrap();
        assert_eq!(
            live.iter()
                .map(|live| (live.id, live.address.as_deref()))
                .collect::<Vec<_>>(),
            [(node, Some(address))]
        );
        // A node that was declared dead stays dead in any history, and another process's row is not ours to write.
        store.sign_off(node).await.unwrap();
        assert_eq!(store.heartbeat(node).await, Err(StoreError::Fenced));
        assert_eq!(forget().await, Ok(1));
        assert_eq!(store.heartbeat(NodeId::new()).await, Err(StoreError::Fenced));
        // After the comparison, a node without a row is dead.
        history.set_compared(1);
        assert_eq!(store.heartbeat(node).await, Err(StoreError::Fenced));
    }
}
