//! Additions to a saved campaign: added contacts, and contacts that are called again.
//!
//! What is added is copied first and seen by nobody. Then the campaign's row is locked and its count raised. A claim
//! locks the row too, so it sees either all of a change or nothing.

use std::{collections::HashMap, sync::Arc};

use domain::{
    id::{AttemptId, CampaignId},
    phone_number::PhoneNumber,
    ports::store::{
        AttemptKind, CONTACTS, CalledAgain, CampaignRow, ContactsAdded, KeyTicket, LISTED_ROWS, StoreError, StoreResult,
    },
};

use super::{
    campaign_edits,
    campaign_rows::{VISIBLE, get},
    contact_states::{self, ContactKey},
};
use crate::{
    accounts::idempotency,
    engine::{
        Work, locks,
        rows::{Columns, Fetch, ROWS_PER_INSERT, affected, composed, places, to_json},
    },
};

/// Status of a settled key.
const OK: i64 = 200;

/// Locks a visible campaign, after its account. Returns its row and the id of its list.
async fn lock(work: &mut Work<'_>, id: CampaignId) -> StoreResult<(CampaignRow, i64)> {
    locks::before_campaign_change(work, id).await?;
    let update = composed(format!(
        "UPDATE campaigns AS c SET contact_count = c.contact_count WHERE c.id = $1 AND {VISIBLE} RETURNING contact_list"
    ));
    let locked = update.bind(id.to_string()).existing(&mut *work.conn).await?;
    let list = locked.int("contact_list")?;
    Ok((get(work, id).await?, list))
}

/// Makes all nodes count the campaign's remaining contacts again.
async fn announce(work: &mut Work<'_>, row: CampaignRow) -> StoreResult<CampaignRow> {
    let change = row.with_more_to_dial(work.now);
    campaign_edits::change_state(work, row.id, row.version, change).await
}

/// Contacts of an import whose numbers the campaign has, as far as its list was read.
#[derive(Debug, Default)]
pub(crate) struct Present {
    list: i64,
    /// Number of contacts of the list that were certainly read.
    read: i64,
    /// Indexes in the import.
    indexes: Vec<i64>,
}

/// Reads both lists whole, which takes a second for a million contacts, so do not run it in a transaction that
/// others wait for.
pub(crate) async fn present(mut work: Work<'_>, id: CampaignId, import: CampaignId) -> StoreResult<Present> {
    let lists = sqlx::query(
        "SELECT c.contact_list, c.contact_count, i.contact_list AS staged FROM campaigns c \
         JOIN campaigns i ON i.id = $2 AND i.importing = 1 WHERE c.id = $1",
    );
    let lists = lists.bind(id.to_string()).bind(import.to_string());
    let lists = lists.optional(&mut *work.conn).await?;
    // The transaction reports what is missing.
    let Some(lists) = lists else {
        return Ok(Present::default());
    };
    let (list, read) = (lists.int("contact_list")?, lists.int("contact_count")?);
    let indexes = among(&mut work, lists.int("staged")?, Rest { list, from: 0 }).await?;
    Ok(Present { list, read, indexes })
}

pub(crate) async fn add_contacts(
    mut work: Work<'_>,
    id: CampaignId,
    import: CampaignId,
    seen: Arc<Present>,
    ticket: Option<KeyTicket>,
) -> StoreResult<ContactsAdded> {
    locks::before_contacts(&mut work, id).await?;
    let (before, list) = (get(&mut work, id).await?, list_of(&mut work, id).await?);
    let taken = sqlx::query(
        "DELETE FROM campaigns WHERE id = $1 AND importing = 1 AND account = $2 RETURNING contact_list, contact_count",
    );
    let taken = taken.bind(import.to_string()).bind(before.account.to_string());
    let taken = taken.existing(&mut *work.conn).await?;
    let staged = taken.int("contact_list")?;
    let present = remove_present(&mut work, staged, &before, list, &seen).await?;
    let added = taken.int("contact_count")? - present.len() as i64;
    let count = before.contact_count + added;
    if count > CONTACTS {
        return Err(StoreError::Refused(format!(
            "the campaign would have {count} contacts; at most {CONTACTS} are possible"
        )));
    }
    copy(
        &mut work,
        staged,
        Rest {
            list,
            from: before.contact_count,
        },
        added,
    )
    .await?;
    // Nobody sees the copies before the count says that they are there.
    let (mut row, list_now) = lock(&mut work, id).await?;
    if (list_now, row.contact_count) != (list, before.contact_count) {
        return Err(StoreError::Stale);
    }
    if added > 0 {
        move_back(
            &mut work,
            Rest {
                list,
                from: row.contact_count,
            },
        )
        .await?;
        let update = sqlx::query("UPDATE campaigns SET contact_count = $2 WHERE id = $1");
        affected(update.bind(id.to_string()).bind(count), work.conn).await?;
        row = announce(&mut work, row).await?;
    }
    let answer = ContactsAdded {
        campaign_id: id,
        status: row.status,
        contact_count: count,
        added,
        already_present: present.len() as i64,
        already_present_rows: present.into_iter().map(|index| index + 1).take(LISTED_ROWS).collect(),
    };
    idempotency::settle(&mut work, ticket.as_ref(), OK, &to_json(&answer)?).await?;
    Ok(answer)
}

/// Returns the list of a campaign.
async fn list_of(work: &mut Work<'_>, id: CampaignId) -> StoreResult<i64> {
    let list = sqlx::query("SELECT contact_list FROM campaigns WHERE id = $1").bind(id.to_string());
    let row = list.one(&mut *work.conn).await?;
    row.int("contact_list")
}

/// Contacts of a list from an index on.
#[derive(Debug, Clone, Copy)]
struct Rest {
    list: i64,
    from: i64,
}

/// Rows that one statement reads or copies, so that none runs into the server's limit.
const PIECE: i64 = 10_000;

/// Returns the indexes of a staged list whose numbers are in the rest of another list. Both are read in pieces: no plan
/// for a join of fresh rows, which have no statistics, is good.
async fn among(work: &mut Work<'_>, staged: i64, rest: Rest) -> StoreResult<Vec<i64>> {
    let mut numbers: HashMap<u64, Vec<i64>> = HashMap::new();
    let mut staged = Rest { list: staged, from: 0 };
    while let Some(piece) = next_piece(work, &mut staged).await? {
        for (index, number) in piece {
            numbers.entry(number).or_default().push(index);
        }
    }
    let (mut rest, mut indexes) = (rest, Vec::new());
    while let Some(piece) = next_piece(work, &mut rest).await? {
        indexes.extend(piece.iter().filter_map(|(_, number)| numbers.remove(number)).flatten());
    }
    indexes.sort_unstable();
    Ok(indexes)
}

/// Reads indexes and numbers, and moves on; none at the end. A number's digits behind a 1 are a number of their own.
async fn next_piece(work: &mut Work<'_>, rest: &mut Rest) -> StoreResult<Option<Vec<(i64, u64)>>> {
    let select = sqlx::query(
        "SELECT idx, phone_number FROM campaign_contacts WHERE list = $1 AND idx >= $2 ORDER BY idx LIMIT $3",
    );
    let rows = select.bind(rest.list).bind(rest.from).bind(PIECE);
    let rows = rows.all(&mut *work.conn).await?;
    let mut piece = Vec::with_capacity(rows.len());
    for row in &rows {
        let number = row.text("phone_number")?.replacen('+', "1", 1);
        let number = number
            .parse()
            .map_err(|_| StoreError::Damaged("a contact has no number".to_owned()))?;
        piece.push((row.int("idx")?, number));
    }
    if let Some((last, _)) = piece.last() {
        rest.from = last + 1;
    }
    Ok(Some(piece).filter(|piece| !piece.is_empty()))
}

/// Removes the numbers from a staged list that another list has too: those that were seen there, and those among
/// the contacts that it has got since. Returns their indexes.
async fn remove_present(
    work: &mut Work<'_>,
    staged: i64,
    campaign: &CampaignRow,
    list: i64,
    seen: &Present,
) -> StoreResult<Vec<i64>> {
    let (from, known) = match seen.list == list {
        true => (seen.read, seen.indexes.as_slice()),
        false => (0, &[][..]),
    };
    let mut present = match from < campaign.contact_count {
        true => among(work, staged, Rest { list, from }).await?,
        false => Vec::new(),
    };
    present.extend_from_slice(known);
    present.sort_unstable();
    present.dedup();
    for chunk in present.chunks(ROWS_PER_INSERT) {
        let delete = composed(format!(
            "DELETE FROM campaign_contacts WHERE list = $1 AND idx IN ({})",
            places(2, chunk.len())
        ));
        let delete = chunk
            .iter()
            .fold(delete.bind(staged), |query, index| query.bind(*index));
        affected(delete, work.conn).await?;
    }
    Ok(present)
}

/// Moves the index of the next claim back to the end of a list that grows. The last claim may have moved it past the
/// end, and contacts before it are never dialed. A contact with a state is skipped: a call to it was found in the dial
/// journal.
async fn move_back(work: &mut Work<'_>, end: Rest) -> StoreResult<()> {
    let back = sqlx::query(
        "UPDATE contact_lists SET next_index = COALESCE((SELECT MAX(s.idx) + 1 FROM contact_states s \
         WHERE s.list = $1 AND s.idx >= $2), $2) WHERE id = $1 AND next_index > $2",
    );
    affected(back.bind(end.list).bind(end.from), work.conn).await.map(drop)
}

/// Copies the contacts of a staged list to the end of a list.
async fn copy(work: &mut Work<'_>, staged: i64, end: Rest, added: i64) -> StoreResult<()> {
    let mut copied = 0;
    let mut next = 0;
    while copied < added {
        let last = sqlx::query(
            "SELECT MAX(p.idx) AS last FROM (SELECT idx FROM campaign_contacts WHERE list = $1 AND idx >= $2 \
             ORDER BY idx LIMIT $3) p",
        );
        let last = last.bind(staged).bind(next).bind(PIECE).one(&mut *work.conn).await?;
        let Some(last) = last.maybe_int("last")? else {
            return Err(StoreError::Damaged(format!("{copied} of {added} contacts were added")));
        };
        let insert = sqlx::query(
            "INSERT INTO campaign_contacts (list, idx, phone_number, name, email, extra) \
             SELECT CAST($1 AS BIGINT), $2 + ROW_NUMBER() OVER (ORDER BY idx) - 1, phone_number, name, email, extra \
             FROM campaign_contacts WHERE list = $3 AND idx >= $4 AND idx <= $5",
        );
        let insert = insert
            .bind(end.list)
            .bind(end.from + copied)
            .bind(staged)
            .bind(next)
            .bind(last);
        copied += affected(insert, &mut *work.conn).await? as i64;
        next = last + 1;
    }
    Ok(())
}

pub(crate) async fn call_again(
    mut work: Work<'_>,
    id: CampaignId,
    last: Vec<AttemptId>,
    earlier: i64,
    ticket: Option<KeyTicket>,
) -> StoreResult<CalledAgain> {
    let (mut row, _) = lock(&mut work, id).await?;
    if !last.is_empty() {
        require_room(&mut work, &row, last.len() as i64).await?;
    }
    let mut planned = 0;
    for attempt in last {
        planned += i64::from(plan_again(&mut work, id, attempt).await?);
    }
    if planned > 0 {
        row = announce(&mut work, row).await?;
    }
    let answer = CalledAgain {
        campaign_id: id,
        status: row.status,
        contacts: earlier + planned,
    };
    idempotency::settle(&mut work, ticket.as_ref(), OK, &to_json(&answer)?).await?;
    Ok(answer)
}

/// Returns `Refused` unless the campaign may have this many more waiting attempts.
async fn require_room(work: &mut Work<'_>, row: &CampaignRow, more: i64) -> StoreResult<()> {
    let count = sqlx::query("SELECT COUNT(*) AS waiting FROM attempts WHERE campaign = $1 AND state = 'queued'");
    let count = count.bind(row.id.to_string()).one(&mut *work.conn).await?;
    let waiting = count.int("waiting")?;
    row.calls_nobody_again(waiting + more)
        .map_or(Ok(()), |why| Err(StoreError::Refused(why)))
}

/// Plans an attempt after `last`. Returns false if its contact has no final outcome, or a later attempt.
async fn plan_again(work: &mut Work<'_>, campaign: CampaignId, last: AttemptId) -> StoreResult<bool> {
    // Locked, so that a person who is being erased is not planned with the number that was.
    let permit_lock = work.dialect.permit_lock;
    let insert = composed(format!(
        "INSERT INTO attempts (id, account, agent, campaign, contact_list, contact_index, attempt_no, follow_up_no, \
         retry_no, call_backs, kind, phone_number, state, epoch, due_at, started_at, status, voicemail, transferred, \
         collected, created_at) \
         SELECT $2, a.account, c.agent, a.campaign, a.contact_list, a.contact_index, a.attempt_no + 1, \
         0, 0, 0, $3, a.phone_number, 'queued', 0, $4, $4, 'scheduled', 0, 0, '{{}}', $4 \
         FROM attempts a JOIN campaigns c ON c.id = a.campaign AND c.contact_list = a.contact_list \
         JOIN contact_states s ON s.list = a.contact_list AND s.idx = a.contact_index \
         WHERE a.id = $1 AND c.id = $5 AND a.state = 'final' AND s.state IN ('completed', 'failed', 'cancelled') \
         AND a.phone_number <> $6 AND NOT EXISTS (SELECT 1 FROM attempts b WHERE b.contact_list = a.contact_list \
         AND b.contact_index = a.contact_index AND b.attempt_no > a.attempt_no){permit_lock} \
         RETURNING contact_list, contact_index",
    ))
    .bind(last.to_string())
    .bind(AttemptId::new().to_string())
    .bind(AttemptKind::First.as_str())
    .bind(work.now.0)
    .bind(campaign.to_string())
    .bind(PhoneNumber::erased().as_str().to_owned());
    let planned = insert.optional(&mut *work.conn).await?;
    let Some(planned) = planned else { return Ok(false) };
    contact_states::add_attempt(work, ContactKey::read(&planned)?).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::{ports::store::CampaignStore, time::SystemClock};

    use super::*;
    use crate::engine::{SqlStore, server_history::ServerHistory};

    #[tokio::test]
    async fn nothing_is_planned_while_the_server_may_have_lost_attempts() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("ringback.db").display());
        let mut store = SqlStore::open(&url, Arc::new(SystemClock)).await.unwrap();
        let history = Arc::new(ServerHistory::default());
        store.history = Some(history.clone());
        let (campaign, import) = (CampaignId::new(), CampaignId::new());
        for is_compared in [true, false] {
            if !is_compared {
                history.change();
            }
            let added = store.add_contacts(campaign, import, None).await.unwrap_err();
            let again = store.call_again(campaign, &[], 0, None).await.unwrap_err();
            for error in [added, again] {
                assert_eq!(error == StoreError::NotFound, is_compared, "{error}");
            }
        }
    }
}
