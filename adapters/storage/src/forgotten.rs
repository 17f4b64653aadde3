//! Dials that the database has forgotten: a standby that took over had not heard of the last commits, or a backup was put
//! back. What the dial journal still knows of them is written down again, as dials whose fate nobody knows, so that they
//! are settled with the carrier and never dialed a second time.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::{
    id::NodeId,
    phone_number::PhoneNumber,
    ports::store::{Claim, LiveCall, LiveCalls, StoreError, StoreResult},
};
use sqlx::AnyConnection;
use tokio::sync::watch;

use super::{
    SqlStore, Work,
    attempts::{guard::bind_claim, told_again},
    rows::{Columns, ROWS_PER_INSERT, affected, composed, insert_rows, unavailable, unique},
};
use crate::dial_journal::{DialJournal, DialNote};

/// Notes that are compared at once.
const AT_ONCE: usize = 200;
/// A database forgets its last commits: where it knows so many dials in a row, it knows what is older too.
const KNOWN: usize = 5_000;
/// How often old notes are looked for.
const OLD_EVERY: Duration = Duration::from_secs(3_600);
/// Between two tries to write down what was forgotten.
const AGAIN: Duration = Duration::from_secs(1);

/// Which history of commits PostgreSQL has: the timeline is another one after a standby was promoted and after a restore to a
/// point in time, the identifier in another cluster.
pub(super) const LINEAGE: &str = "CAST((SELECT system_identifier FROM pg_control_system()) AS TEXT) || '/' || \
     substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)";

/// The history of the server at the other end of a connection.
pub(super) async fn lineage_of(conn: &mut AnyConnection) -> Result<String, sqlx::Error> {
    let row = composed(format!("SELECT {LINEAGE} AS lineage")).fetch_one(conn).await?;
    sqlx::Row::try_get(&row, "lineage")
}

/// Which history of commits the server has, and whether that is another one than before.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    known: Mutex<Option<String>>,
    /// How often it changed, and which of the changes the journal was compared after.
    changes: watch::Sender<u64>,
    compared: AtomicU64,
}

impl Lineage {
    /// Asked on each new connection, as a server that takes over breaks the old ones.
    pub(super) async fn look(&self, conn: &mut AnyConnection) -> Result<(), sqlx::Error> {
        let lineage = lineage_of(conn).await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(before) if *before != lineage => {
                tracing::error!(
                    before,
                    now = lineage,
                    "the database has another history: nothing is dialed before it was compared with the dial journal"
                );
                self.changes.send_modify(|changes| *changes += 1);
            }
            _ => {}
        }
        *known = Some(lineage);
        Ok(())
    }

    fn present(&self) -> Option<String> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The process before this one wrote to another history: what others know has to be written down first here, too.
    fn compare(&self, before: Option<&str>) {
        if before.is_some() && before != self.present().as_deref() {
            tracing::error!("the database has another history than at the last start: nothing is dialed for a while");
            self.changes.send_modify(|changes| *changes += 1);
        }
    }

    /// Whether permits may be given and believed.
    pub(super) fn check(&self) -> StoreResult<()> {
        if *self.changes.borrow() != self.compared.load(Ordering::Acquire) {
            let why = "the database's server changed; what it may have forgotten is being looked for".to_owned();
            return Err(StoreError::Unavailable(why));
        }
        Ok(())
    }
}

impl SqlStore {
    /// Writes each permit into this journal before it is used. Once, before the first permit.
    ///
    /// # Errors
    ///
    /// When the journal's folder cannot be read or written.
    pub fn keep_dial_journal(&self, journal: DialJournal) -> io::Result<()> {
        if let Some(lineage) = &self.lineage {
            lineage.compare(journal.lineage()?.as_deref());
            if let Some(present) = lineage.present() {
                journal.keep_lineage(&present)?;
            }
        }
        let _ = self.dials.set(Arc::new(journal));
        Ok(())
    }

    /// From now on these calls live in this process: what the database forgets of one is written down again as it is, and the
    /// call goes on. Once.
    pub fn keep_live_calls(&self, calls: Arc<dyn LiveCalls>) {
        let _ = self.live.set(calls);
    }

    /// What a write under a claim came to. That a claim does not hold is believed only when what the server may have
    /// forgotten is written down again.
    pub(super) fn under_claim<T>(&self, written: StoreResult<T>) -> StoreResult<T> {
        match (written, &self.lineage) {
            (Err(StoreError::Fenced), Some(lineage)) => lineage.check().and(Err(StoreError::Fenced)),
            (written, _) => written,
        }
    }

    /// Whether what is not in the database never was: a server that took over may have forgotten it.
    pub(super) fn compared(&self) -> StoreResult<()> {
        self.lineage.as_ref().map_or(Ok(()), |lineage| lineage.check())
    }

    /// Compares the journal with the database and writes down again what that forgot; how many dials. Before the first
    /// claim of a process.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read, or the database is away.
    pub async fn reconcile_dials(&self) -> StoreResult<usize> {
        let Some(journal) = self.dials.get() else { return Ok(0) };
        let mut notes = journal.newest_first().map_err(|error| unread(&error))?;
        let (mut lost, mut known) = (Vec::new(), 0);
        while known < KNOWN {
            let some = notes.by_ref().take(AT_ONCE).collect::<io::Result<Vec<DialNote>>>();
            let asked = Arc::new(some.map_err(|error| unread(&error))?);
            let looked = Arc::clone(&asked);
            let forgotten = self.read(move |work| Box::pin(forgotten(work, looked))).await?;
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
        // The oldest first: a contact's attempts come in their order, and where this breaks off, or another node looks
        // meanwhile, the newest are still missing and tell that there is more.
        for note in lost.into_iter().rev() {
            let holder = Holder::of(&note, held.get(&note.attempt), me);
            reinstated += usize::from(self.put_back(note, holder).await?);
        }
        for call in live {
            let attempt = call.claim.attempt;
            match self.write(move |work| Box::pin(told(work, call))).await {
                // It never was dialed, or is another node's by now: its next write tells.
                Ok(()) | Err(StoreError::Fenced) => {}
                Err(error @ StoreError::Unavailable(_)) => return Err(error),
                Err(error) => {
                    tracing::error!(%attempt, %error, "what a live call knows of itself is not written again");
                }
            }
        }
        if reinstated > 0 {
            tracing::error!(
                reinstated,
                "the database had forgotten dials; they are settled with the carrier and not made again"
            );
        }
        Ok(reinstated)
    }

    async fn put_back(&self, note: DialNote, holder: Holder) -> StoreResult<bool> {
        let attempt = note.attempt.clone();
        let to = PhoneNumber::parse(&note.phone_number).map(|number| number.masked());
        match self.write(move |work| Box::pin(reinstate(work, note, holder))).await {
            Ok(put_back) => Ok(put_back),
            Err(StoreError::NotFound | StoreError::Exists(_) | StoreError::Stale) => {
                tracing::error!(
                    attempt,
                    to = to.unwrap_or_default(),
                    "a dial that the database has forgotten cannot be written down again: its campaign, agent or list is \
                     unknown too, or another attempt stands in its place"
                );
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Compares again whenever the server turns out to have another history; until then permits are refused, and for as
    /// long after it as a node may be silent: each other node needs time to meet that server and to write down what it
    /// knows. For as long as it runs.
    pub async fn watch_lineage(&self) {
        let Some(lineage) = &self.lineage else {
            return std::future::pending().await;
        };
        let mut changes = lineage.changes.subscribe();
        let news = |changes: &u64| *changes != lineage.compared.load(Ordering::Acquire);
        while let Ok(seen) = changes.wait_for(news).await.map(|changes| *changes) {
            if let (Some(journal), Some(present)) = (self.dials.get(), lineage.present())
                && let Err(error) = journal.keep_lineage(&present)
            {
                tracing::warn!(%error, "the database's history is not written down");
            }
            while let Err(error) = self.reconcile_dials().await {
                tracing::warn!(%error, "the dial journal was not compared with the database, trying again");
                tokio::time::sleep(AGAIN).await;
            }
            tokio::time::sleep(self.times.dead_after).await;
            // A change since then is compared anew.
            lineage.compared.store(seen, Ordering::Release);
            tracing::info!("the dial journal was compared with the database; dialing goes on");
        }
    }

    /// Whether permits are written into a journal.
    pub(super) fn keeps_dial_journal(&self) -> bool {
        self.dials.get().is_some()
    }

    /// Writes a permit that was given into the journal, where there is one.
    pub(super) async fn note_permit(&self, note: DialNote) -> StoreResult<()> {
        let Some(journal) = self.dials.get() else { return Ok(()) };
        let written = journal.permitted(note).await;
        written.map_err(|error| StoreError::Unavailable(format!("the dial journal cannot be written: {error}")))
    }

    /// Whether permits cannot be noted, so that nothing is dialed.
    pub fn dial_journal_fails(&self) -> bool {
        self.dials.get().is_some_and(|journal| journal.is_failing())
    }

    /// Removes what the journal kept for longer than three days, in the first minute and each hour. For as long as it runs.
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
                tracing::warn!(%error, "old notes of the dial journal stay for another hour");
            }
        }
    }

    /// Notes that a permit was not used.
    pub(super) async fn note_taken_back(&self, claim: Claim) {
        if let Some(journal) = self.dials.get() {
            let noted = journal.taken_back(claim.attempt.to_string(), claim.epoch, self.clock.now().0);
            noted.await;
        }
    }
}

fn unread(error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("the dial journal cannot be read: {error}"))
}

/// What the journal is told of a permit, in the permit's own transaction.
pub(super) async fn note_of(conn: &mut AnyConnection, claim: Claim) -> StoreResult<DialNote> {
    let query = sqlx::query(
        "SELECT account, agent, campaign, contact_list, contact_index, attempt_no, follow_up_no, retry_no, call_backs, kind, \
         phone_number, dial_token, carrier, caller_id, dialing_at FROM attempts \
         WHERE id = $1 AND COALESCE(owner, '') = $2 AND epoch = $3 AND state = 'dialing'",
    );
    let query = query
        .bind(claim.attempt.to_string())
        .bind(claim.owner.to_string())
        .bind(claim.epoch);
    let row = query.fetch_optional(conn).await.map_err(unavailable)?;
    let row = row.ok_or(StoreError::Fenced)?;
    let missing = || StoreError::Damaged(format!("attempt {} has a permit and no token", claim.attempt));
    Ok(DialNote {
        attempt: claim.attempt.to_string(),
        owner: Some(claim.owner.to_string()),
        epoch: claim.epoch,
        at: row.int("dialing_at")?,
        account: row.text("account")?,
        agent: row.text("agent")?,
        campaign: row.maybe_text("campaign")?,
        contact_list: row.maybe_int("contact_list")?,
        contact_index: row.maybe_int("contact_index")?,
        attempt_no: row.int("attempt_no")?,
        follow_up_no: row.int("follow_up_no")?,
        retry_no: row.int("retry_no")?,
        call_backs: row.int("call_backs")?,
        kind: row.text("kind")?,
        phone_number: row.text("phone_number")?,
        dial_token: row.maybe_text("dial_token")?.ok_or_else(missing)?,
        carrier: row.maybe_text("carrier")?.ok_or_else(missing)?,
        caller_id: row.maybe_text("caller_id")?,
    })
}

/// Which of the notes the database knows less of than they say.
async fn forgotten(work: Work<'_>, notes: Arc<Vec<DialNote>>) -> StoreResult<Vec<usize>> {
    if notes.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<String> = (1..=notes.len()).map(|place| format!("${place}")).collect();
    let query = composed(format!(
        "SELECT id, state, epoch FROM attempts WHERE id IN ({})",
        places.join(",")
    ));
    let query = notes.iter().fold(query, |query, note| query.bind(note.attempt.clone()));
    let rows = query.fetch_all(work.conn).await.map_err(unavailable)?;
    let mut known = HashMap::new();
    for row in rows {
        known.insert(row.text("id")?, (row.int("epoch")?, row.text("state")?));
    }
    let is_forgotten = |note: &DialNote| match known.get(&note.attempt) {
        None => true,
        Some((epoch, state)) => knows_less(note, *epoch, state),
    };
    Ok((0..notes.len()).filter(|at| is_forgotten(&notes[*at])).collect())
}

/// Whether a row is older than the note: the permit made it `dialing` in the transaction that the journal waited for.
fn knows_less(note: &DialNote, epoch: i64, state: &str) -> bool {
    epoch < note.epoch || (epoch == note.epoch && (state == "claimed" || state == "queued"))
}

/// Who has a dial that is written down again.
#[derive(Clone)]
struct Holder {
    state: &'static str,
    owner: NodeId,
    epoch: i64,
}

impl Holder {
    /// The call that lives here. Else the other process that was given the permit: its call may live, and what it has no
    /// call of it settles itself, or whoever takes over what it left when it is dead. What this process was permitted and has
    /// no call of is nobody's who lives, and its fate is not known: it is settled with the carrier.
    fn of(note: &DialNote, call: Option<&Claim>, me: Option<NodeId>) -> Self {
        let noted = note.owner.as_deref().and_then(|owner| owner.parse::<NodeId>().ok());
        match (call.filter(|claim| claim.epoch >= note.epoch), noted) {
            (Some(claim), _) => Self {
                state: "dialing",
                owner: claim.owner,
                epoch: claim.epoch,
            },
            (None, Some(owner)) if Some(owner) != me => Self {
                state: "dialing",
                owner,
                epoch: note.epoch,
            },
            (None, _) => Self {
                state: "unknown",
                owner: NodeId::new(),
                epoch: note.epoch + 1,
            },
        }
    }
}

/// Writes down again what a live call knows of itself, and whose it is where the database knows only an owner before.
async fn told(work: Work<'_>, call: LiveCall) -> StoreResult<()> {
    let owned = sqlx::query(
        "UPDATE attempts SET owner = $2, epoch = $3 \
         WHERE id = $1 AND epoch <= $3 - 1 AND state IN ('dialing', 'dialed', 'answered', 'unknown')",
    );
    affected(bind_claim(owned, call.claim), &mut *work.conn).await?;
    told_again(work, call).await
}

/// Gives the attempt back to whoever has it.
async fn reinstate(mut work: Work<'_>, note: DialNote, holder: Holder) -> StoreResult<bool> {
    let found = sqlx::query("SELECT state, epoch FROM attempts WHERE id = $1");
    let found = found.bind(note.attempt.clone()).fetch_optional(&mut *work.conn).await;
    if let Some(row) = found.map_err(unavailable)?
        && !knows_less(&note, row.int("epoch")?, &row.text("state")?)
    {
        // Another node has put it back.
        return Ok(false);
    }
    let Holder { state, owner, epoch } = holder;
    let owner = owner.to_string();
    // An older permit that was not used may stand there as if it had been.
    let update = sqlx::query(
        "UPDATE attempts SET state = $8, status = 'in_progress', owner = $2, epoch = $9, dialing_at = $4, started_at = $4, \
         dial_token = $5, carrier = $6, caller_id = $7 \
         WHERE id = $1 AND epoch <= $3 AND (state IN ('queued', 'claimed') \
         OR (epoch < $3 AND state IN ('dialing', 'dialed', 'answered', 'unknown')))",
    )
    .bind(note.attempt.clone())
    .bind(owner.clone())
    .bind(note.epoch)
    .bind(note.at)
    .bind(note.dial_token.clone())
    .bind(note.carrier.clone())
    .bind(note.caller_id.clone())
    .bind(state)
    .bind(epoch);
    if affected(update, &mut *work.conn).await? == 0 {
        insert(&mut work, &note, (state, owner, epoch)).await?;
    }
    if let (Some(list), Some(index)) = (note.contact_list, note.contact_index) {
        hold_contact(&mut work, list, index, note.attempt_no).await?;
    }
    Ok(true)
}

async fn insert(
    work: &mut Work<'_>,
    note: &DialNote,
    (state, owner, epoch): (&'static str, String, i64),
) -> StoreResult<()> {
    let insert = sqlx::query(
        "INSERT INTO attempts (id, account, agent, campaign, contact_list, contact_index, attempt_no, follow_up_no, retry_no, \
         call_backs, kind, phone_number, state, owner, epoch, dial_token, due_at, started_at, dialing_at, carrier, caller_id, \
         status, voicemail, transferred, collected, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
         $19, $13, $14, $15, $16, $16, $16, $17, $18, 'in_progress', 0, 0, '{}', $16)",
    )
    .bind(note.attempt.clone())
    .bind(note.account.clone())
    .bind(note.agent.clone())
    .bind(note.campaign.clone())
    .bind(note.contact_list)
    .bind(note.contact_index)
    .bind(note.attempt_no)
    .bind(note.follow_up_no)
    .bind(note.retry_no)
    .bind(note.call_backs)
    .bind(note.kind.clone())
    .bind(note.phone_number.clone())
    .bind(owner)
    .bind(epoch)
    .bind(note.dial_token.clone())
    .bind(note.at)
    .bind(note.carrier.clone())
    .bind(note.caller_id.clone())
    .bind(state);
    insert.execute(&mut *work.conn).await.map_err(unique("attempt"))?;
    if note.campaign.is_some() {
        return Ok(());
    }
    // Its variables are lost with the rest; it is not dialed again.
    let single =
        sqlx::query("INSERT INTO single_calls (attempt, name, variables, dial_before) VALUES ($1, NULL, '{}', $2)");
    let single = single.bind(note.attempt.clone()).bind(note.at);
    affected(single, &mut *work.conn).await.map(drop)
}

/// The contact is being called: nobody claims it. Contacts before it that the list takes for unclaimed keep their turn.
async fn hold_contact(work: &mut Work<'_>, list: i64, index: i64, attempts: i64) -> StoreResult<()> {
    let query = sqlx::query("SELECT next_index FROM contact_lists WHERE id = $1").bind(list);
    let row = query.fetch_optional(&mut *work.conn).await.map_err(unavailable)?;
    let next = row.ok_or(StoreError::NotFound)?.int("next_index")?;
    let between: Vec<i64> = (next..index).collect();
    for chunk in between.chunks(ROWS_PER_INSERT) {
        let insert = insert_rows(
            "INSERT INTO contact_states (list, idx, state, attempts, voicemail) VALUES",
            chunk.len(),
            5,
            "ON CONFLICT (list, idx) DO NOTHING",
        );
        let insert = chunk.iter().fold(insert, |query, idx| {
            query.bind(list).bind(*idx).bind("pending").bind(0_i64).bind(0_i64)
        });
        affected(insert, &mut *work.conn).await?;
    }
    let moved = sqlx::query("UPDATE contact_lists SET next_index = $2 WHERE id = $1 AND next_index < $2");
    affected(moved.bind(list).bind(index + 1), &mut *work.conn).await?;
    let held = sqlx::query(
        "INSERT INTO contact_states (list, idx, state, attempts, voicemail) VALUES ($1, $2, 'in_progress', $3, 0) \
         ON CONFLICT (list, idx) DO UPDATE SET state = 'in_progress', \
         attempts = CASE WHEN contact_states.attempts < $3 THEN $3 ELSE contact_states.attempts END",
    );
    affected(held.bind(list).bind(index).bind(attempts), &mut *work.conn)
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use domain::{
        id::{AttemptId, CampaignId},
        ports::store::{AttemptStore, CallStore, NodeStore, Patience, ReturnStore},
    };

    use super::*;

    #[tokio::test]
    async fn permits_rest_until_another_history_was_compared() {
        let store = SqlStore::open("sqlite::memory:", Arc::new(domain::time::SystemClock)).await;
        let mut store = store.unwrap();
        let lineage = Arc::new(Lineage::default());
        store.lineage = Some(Arc::clone(&lineage));
        assert_eq!(lineage.check(), Ok(()));
        lineage.changes.send_modify(|changes| *changes += 1);
        assert!(matches!(lineage.check(), Err(StoreError::Unavailable(_))));
        // What is claimed now might be what the server has forgotten.
        let claimed = store.claim(NodeId::new(), CampaignId::new(), 1).await;
        assert!(matches!(claimed, Err(StoreError::Unavailable(_))), "{claimed:?}");
        let claimed = store.claim_calls(NodeId::new(), 1).await;
        assert!(matches!(claimed, Err(StoreError::Unavailable(_))), "{claimed:?}");
        // A call is not told that it lost its attempt, which may only have been forgotten.
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
        // A carrier that asks whose a call is must not hear that it is over.
        let owner = store.owner_of(call.attempt).await;
        assert!(matches!(owner, Err(StoreError::Unavailable(_))), "{owner:?}");
        let token = store.dial_token(call.attempt).await;
        assert!(matches!(token, Err(StoreError::Unavailable(_))), "{token:?}");
        // What seems to be left by the dead, or by nobody, may be a live call of another node.
        let orphans = store.take_orphans(call.owner, &Patience::default()).await;
        assert!(matches!(orphans, Err(StoreError::Unavailable(_))), "{orphans:?}");
        let unsettled = store.unsettled(call.owner, 0).await;
        assert!(matches!(unsettled, Err(StoreError::Unavailable(_))), "{unsettled:?}");
        let stale = store.stale_claims(call.owner, 0).await;
        assert!(matches!(stale, Err(StoreError::Unavailable(_))), "{stale:?}");
        tokio::time::pause();
        let rest = store.times.dead_after;
        let watch = async {
            tokio::select! {
                () = store.watch_lineage() => {}
                () = tokio::time::sleep(rest - Duration::from_secs(1)) => {}
            }
        };
        watch.await;
        assert!(lineage.check().is_err());
        // One more in the middle of the rest.
        let twice = async {
            tokio::time::sleep(rest / 2).await;
            lineage.changes.send_modify(|changes| *changes += 1);
            tokio::time::sleep(rest).await;
            assert!(lineage.check().is_err());
        };
        let _ = tokio::time::timeout(rest * 3, async { tokio::join!(store.watch_lineage(), twice) }).await;
        assert_eq!(lineage.check(), Ok(()));
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
        assert_eq!(store.take_orphans(call.owner, &Patience::default()).await, Ok(vec![]));
    }

    #[tokio::test]
    async fn a_node_that_another_history_forgot_lives_on() {
        let store = SqlStore::open("sqlite::memory:", Arc::new(domain::time::SystemClock)).await;
        let mut store = store.unwrap();
        let lineage = Arc::new(Lineage::default());
        store.lineage = Some(Arc::clone(&lineage));
        let node = NodeId::new();
        let address = "http://10.0.0.7:8080";
        store.register_node(node, Some(address)).await.unwrap();
        let forget = || store.write(|work| Box::pin(affected(sqlx::query("DELETE FROM nodes"), work.conn)));
        lineage.changes.send_modify(|changes| *changes += 1);
        assert_eq!(forget().await, Ok(1));
        assert_eq!(store.heartbeat(node).await.unwrap().nodes, 1);
        let live = store.live_nodes().await.unwrap();
        assert_eq!(
            live.iter()
                .map(|live| (live.id, live.address.as_deref()))
                .collect::<Vec<_>>(),
            [(node, Some(address))]
        );
        // One that was declared dead is so in any history, and another process's row is not ours to write.
        store.sign_off(node).await.unwrap();
        assert_eq!(store.heartbeat(node).await, Err(StoreError::Fenced));
        assert_eq!(forget().await, Ok(1));
        assert_eq!(store.heartbeat(NodeId::new()).await, Err(StoreError::Fenced));
        // Once that is compared, whoever is not there is dead.
        lineage.compared.store(1, Ordering::Release);
        assert_eq!(store.heartbeat(node).await, Err(StoreError::Fenced));
    }
}
