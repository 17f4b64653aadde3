//! Compares notes of the dial journal with the rows of `attempts`, and writes missing ones again.

use std::{collections::HashMap, sync::Arc};

use domain::{
    id::NodeId,
    phone_number::PhoneNumber,
    ports::store::{Claim, LiveCall, StoreResult},
};

use crate::{
    attempts::{attempt_guard::bind_claim, told_again},
    engine::{
        Work,
        dial_journal::DialNote,
        rows::{Columns, Fetch, ROWS_PER_INSERT, affected, composed, insert_rows, places, unique},
    },
};

/// Returns the indexes of the notes that are ahead of the database.
pub(super) async fn forgotten(work: Work<'_>, notes: Arc<Vec<DialNote>>) -> StoreResult<Vec<usize>> {
    if notes.is_empty() {
        return Ok(Vec::new());
    }
    let query = composed(format!(
        "SELECT id, state, epoch FROM attempts WHERE id IN ({})",
        places(1, notes.len())
    ));
    let query = notes.iter().fold(query, |query, note| query.bind(note.attempt.clone()));
    let rows = query.all(work.conn).await?;
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

/// Returns whether a row is older than the note. The permit's transaction set it to `dialing` and waited for
/// the journal.
fn knows_less(note: &DialNote, epoch: i64, state: &str) -> bool {
    epoch < note.epoch || (epoch == note.epoch && (state == "claimed" || state == "queued"))
}

/// Owner and state of a dial that is written again.
#[derive(Clone)]
pub(super) struct Holder {
    state: &'static str,
    owner: NodeId,
    epoch: i64,
}

impl Holder {
    /// Decides who holds a dial that is written again. First choice is the call that lives in this process.
    /// Second is the other process that was given the permit: its call may be alive. It settles its attempts
    /// without a call itself, or, after its death, the node that recovers them does. If this process was
    /// given the permit and has no call for it, nobody holds it; its outcome is unknown and is settled with
    /// the carrier.
    pub(super) fn of(note: &DialNote, call: Option<&Claim>, me: Option<NodeId>) -> Self {
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

/// Writes a live call's own facts again, and its owner if the database knows only an earlier one.
pub(super) async fn update_live(work: Work<'_>, call: LiveCall) -> StoreResult<()> {
    let owned = sqlx::query(
        "UPDATE attempts SET owner = $2, epoch = $3 \
         WHERE id = $1 AND epoch <= $3 - 1 AND state IN ('dialing', 'dialed', 'answered', 'unknown')",
    );
    affected(bind_claim(owned, call.claim), &mut *work.conn).await?;
    told_again(work, call).await
}

/// Writes the attempt again for its holder.
pub(super) async fn reinstate(mut work: Work<'_>, note: DialNote, holder: Holder) -> StoreResult<bool> {
    let found = sqlx::query("SELECT state, epoch FROM attempts WHERE id = $1");
    let found = found.bind(note.attempt.clone()).optional(&mut *work.conn).await?;
    if let Some(row) = found
        && !knows_less(&note, row.int("epoch")?, &row.text("state")?)
    {
        // Another node has restored it.
        return Ok(false);
    }
    // The row may show an older, unused permit as if it had been used.
    let update = sqlx::query(
        "UPDATE attempts SET state = $8, status = 'in_progress', owner = $2, epoch = $9, dialing_at = $4, started_at = $4, \
         dial_token = $5, carrier = $6, caller_id = $7 \
         WHERE id = $1 AND epoch <= $3 AND (state IN ('queued', 'claimed') \
         OR (epoch < $3 AND state IN ('dialing', 'dialed', 'answered', 'unknown')))",
    )
    .bind(note.attempt.clone())
    .bind(holder.owner.to_string())
    .bind(note.epoch)
    .bind(note.at)
    .bind(note.dial_token.clone())
    .bind(note.carrier.clone())
    .bind(note.caller_id.clone())
    .bind(holder.state)
    .bind(holder.epoch);
    if affected(update, &mut *work.conn).await? == 0 {
        insert(&mut work, &note, &holder).await?;
        restore_contact(&mut work, &note).await?;
    }
    if let (Some(list), Some(index)) = (note.contact_list, note.contact_index) {
        hold_contact(&mut work, list, index, note.attempt_no).await?;
    }
    Ok(true)
}

async fn insert(work: &mut Work<'_>, note: &DialNote, holder: &Holder) -> StoreResult<()> {
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
    .bind(holder.owner.to_string())
    .bind(holder.epoch)
    .bind(note.dial_token.clone())
    .bind(note.at)
    .bind(note.carrier.clone())
    .bind(note.caller_id.clone())
    .bind(holder.state);
    insert.execute(&mut *work.conn).await.map_err(unique("attempt"))?;
    if note.campaign.is_some() {
        return Ok(());
    }
    // Its variables are lost, too; it is not dialed again.
    let single =
        sqlx::query("INSERT INTO single_calls (attempt, name, variables, dial_before) VALUES ($1, NULL, '{}', $2)");
    let single = single.bind(note.attempt.clone()).bind(note.at);
    affected(single, &mut *work.conn).await.map(drop)
}

/// Writes the contact of a lost dial again if the list lost it, too: it was added to the campaign shortly before.
/// Its other fields are lost. Contacts before it are written without a number and as cancelled, until their own
/// notes follow.
async fn restore_contact(work: &mut Work<'_>, note: &DialNote) -> StoreResult<()> {
    let (Some(campaign), Some(list), Some(index)) = (&note.campaign, note.contact_list, note.contact_index) else {
        return Ok(());
    };
    let lock = sqlx::query(
        "UPDATE campaigns SET contact_count = contact_count WHERE id = $1 AND contact_list = $2 RETURNING contact_count",
    );
    let lock = lock.bind(campaign.clone()).bind(list);
    let locked = lock.optional(&mut *work.conn).await?;
    // Without it, the contacts were replaced.
    let Some(locked) = locked else { return Ok(()) };
    let count = locked.int("contact_count")?;
    let nobody = PhoneNumber::erased();
    if index < count {
        // No attempt is known of a contact without a number that was written here.
        let named = sqlx::query(
            "UPDATE campaign_contacts SET phone_number = $3 WHERE list = $1 AND idx = $2 AND phone_number = $4 \
             AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.contact_list = $1 AND a.contact_index = $2 \
             AND a.phone_number = $4)",
        );
        let named = named.bind(list).bind(index).bind(note.phone_number.clone());
        let named = named.bind(nobody.as_str().to_owned());
        return affected(named, &mut *work.conn).await.map(drop);
    }
    let missing: Vec<i64> = (count..=index).collect();
    for chunk in missing.chunks(ROWS_PER_INSERT) {
        let insert = "INSERT INTO campaign_contacts (list, idx, phone_number, extra) VALUES";
        let contacts = chunk
            .iter()
            .fold(insert_rows(insert, chunk.len(), 4, ""), |query, idx| {
                let number = if *idx == index {
                    &*note.phone_number
                } else {
                    nobody.as_str()
                };
                query.bind(list).bind(*idx).bind(number.to_owned()).bind("{}")
            });
        affected(contacts, &mut *work.conn).await?;
        let insert = "INSERT INTO contact_states (list, idx, state, attempts, voicemail) VALUES";
        let states = insert_rows(insert, chunk.len(), 5, "ON CONFLICT (list, idx) DO NOTHING");
        let states = chunk.iter().fold(states, |query, idx| {
            query.bind(list).bind(*idx).bind("cancelled").bind(0_i64).bind(0_i64)
        });
        affected(states, &mut *work.conn).await?;
    }
    let grown = sqlx::query("UPDATE campaigns SET contact_count = $2, version = version + 1 WHERE id = $1");
    let grown = grown.bind(campaign.clone()).bind(index + 1);
    affected(grown, &mut *work.conn).await.map(drop)
}

/// Marks the contact as being called, so that nobody claims it. Earlier contacts that the list takes for
/// unclaimed keep their turn.
async fn hold_contact(work: &mut Work<'_>, list: i64, index: i64, attempts: i64) -> StoreResult<()> {
    let query = sqlx::query("SELECT next_index FROM contact_lists WHERE id = $1").bind(list);
    let row = query.existing(&mut *work.conn).await?;
    let next = row.int("next_index")?;
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
