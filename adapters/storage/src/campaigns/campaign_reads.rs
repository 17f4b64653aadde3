//! A campaign's contacts with their results, and its conversations in order of their last change.

use std::collections::HashSet;

use async_trait::async_trait;
use domain::{
    id::{AccountId, AttemptId, CampaignId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{
        Callee, CampaignReadStore, ChangedConversation, ContactPage, ContactResult, ContactRow, ContactStatus,
        ConversationStatus, LastAttempt, RecentDials, ResultFilter, StoreResult,
    },
    time::Timestamp,
};
use sqlx::any::AnyRow;

use super::campaign_rows;
use crate::{
    callee,
    contacts::{self, Wanted},
    engine::{
        SqlStore, Work,
        rows::{AnyQuery, Columns, Fetch, composed, containing},
    },
};

/// Columns for `read_result` of the contacts of campaign `c`; the last attempt is found by the key of `attempts`.
const RESULTS: &str = "SELECT cc.idx, cc.phone_number, cc.name, COALESCE(cs.state, 'pending') AS contact_state, \
     (SELECT s.id FROM contacts s WHERE s.account = c.account AND s.phone_number = cc.phone_number) AS saved, \
     a.id AS attempt, a.attempt_no, a.error, a.voicemail, a.collected, a.evidence";
const LAST_ATTEMPT: &str = "LEFT JOIN attempts a ON a.contact_list = cc.list AND a.contact_index = cc.idx \
     AND a.attempt_no = (SELECT MAX(b.attempt_no) FROM attempts b \
                         WHERE b.contact_list = cc.list AND b.contact_index = cc.idx)";

/// Source of the contacts of a page. Contacts that were claimed are ordered by an index on their state;
/// contacts that were never claimed have no state yet.
#[derive(Clone, Copy)]
enum Part {
    All,
    Claimed(ContactStatus),
    NeverClaimed,
}

impl Part {
    fn of(status: Option<ContactStatus>) -> Vec<Self> {
        match status {
            None => vec![Self::All],
            Some(ContactStatus::Pending) => vec![Self::Claimed(ContactStatus::Pending), Self::NeverClaimed],
            Some(status) => vec![Self::Claimed(status)],
        }
    }

    /// Builds the query with `$1` campaign, `$2` list, `$3` first index, `$4` limit, for some parts `$5` state, and for
    /// a search the patterns of name and number.
    fn query(self, searches: bool) -> AnyQuery<'static> {
        let first = if let Self::Claimed(_) = self { 6 } else { 5 };
        let found = match searches {
            true => format!(
                "AND (LOWER(cc.name) LIKE ${first} ESCAPE '!' OR cc.phone_number LIKE ${} ESCAPE '!')",
                first + 1
            ),
            false => String::new(),
        };
        let state = "contact_states cs ON cs.list = cc.list AND cs.idx = cc.idx";
        let own = "c.id = $1 AND cc.list = $2";
        match self {
            Self::All => composed(format!(
                "{RESULTS} FROM campaigns c JOIN campaign_contacts cc ON {own} LEFT JOIN {state} {LAST_ATTEMPT} \
                 WHERE cc.idx >= $3 {found} ORDER BY cc.idx LIMIT $4"
            )),
            Self::Claimed(_) => composed(format!(
                "{RESULTS} FROM campaigns c JOIN contact_states cs ON cs.list = $2 AND cs.state = $5 AND cs.idx >= $3 \
                 JOIN campaign_contacts cc ON cc.list = cs.list AND cc.idx = cs.idx {LAST_ATTEMPT} \
                 WHERE c.id = $1 {found} ORDER BY cs.idx LIMIT $4"
            )),
            Self::NeverClaimed => composed(format!(
                "{RESULTS} FROM campaigns c JOIN campaign_contacts cc ON {own} LEFT JOIN {state} {LAST_ATTEMPT} \
                 WHERE cc.idx >= (SELECT CASE WHEN l.next_index > $3 THEN l.next_index ELSE $3 END \
                                  FROM contact_lists l WHERE l.id = $2) {found} ORDER BY cc.idx LIMIT $4"
            )),
        }
    }
}

fn who(row: &AnyRow, name: Option<String>) -> StoreResult<Callee> {
    Ok(Callee {
        phone_number: row.number("phone_number")?,
        name,
        contact: row.maybe_id("saved")?,
    })
}

fn read_result(row: &AnyRow) -> StoreResult<ContactResult> {
    let last = match row.maybe_id::<AttemptId>("attempt")? {
        None => None,
        Some(id) => Some(LastAttempt {
            id,
            number: row.int("attempt_no")?,
            error: row.maybe_text("error")?,
            voicemail: row.flag("voicemail")?,
            collected: row.json("collected")?,
            evidence: row.maybe_json("evidence")?,
        }),
    };
    Ok(ContactResult {
        index: row.int("idx")?,
        who: who(row, row.maybe_text("name")?)?,
        status: row.word("contact_state", ContactStatus::parse)?,
        last,
    })
}

async fn results(
    mut work: Work<'_>,
    campaign: CampaignId,
    ResultFilter { status, search }: ResultFilter,
    from: i64,
    limit: i64,
) -> StoreResult<ContactPage> {
    let (list, _) = campaign_rows::visible_list(&mut work, campaign).await?;
    let parts = Part::of(status);
    let patterns = search.map(|text| {
        // SQLite knows the case of ASCII letters only.
        let name: String = containing(&text.to_lowercase());
        let name = name.replace(|letter: char| !letter.is_ascii(), "_");
        [name, containing(&PhoneNumber::search_text(&text).unwrap_or(text))]
    });
    let mut results: Vec<ContactResult> = Vec::new();
    for part in &parts {
        let query = part
            .query(patterns.is_some())
            .bind(campaign.to_string())
            .bind(list)
            .bind(from);
        let mut query = query.bind(limit.max(0));
        if let Part::Claimed(status) = part {
            query = query.bind(status.as_str());
        }
        query = patterns.iter().flatten().cloned().fold(query, AnyQuery::bind);
        let rows = query.all(&mut *work.conn).await?;
        for row in &rows {
            results.push(read_result(row)?);
        }
    }
    if parts.len() > 1 {
        results.sort_unstable_by_key(|result| result.index);
        // A contact that was claimed between the two reads appears in both.
        results.dedup_by_key(|result| result.index);
        results.truncate(usize::try_from(limit).unwrap_or(0));
    }
    Ok(ContactPage { list, results })
}

/// Time when an attempt reached its present status; spelled as in its index.
const CHANGED: &str = "COALESCE(a.end_written_at, a.ended_at, a.dialing_at, a.created_at)";

/// Reads the dials of the last minutes. A dial does not come after the last change of its conversation, so
/// the index on that change finds them.
async fn recent_dials(work: Work<'_>, campaign: CampaignId, minutes: i64) -> StoreResult<RecentDials> {
    let query = composed(format!(
        "SELECT COUNT(*) AS dials, MIN(a.dialing_at) AS first_dial FROM attempts a \
         WHERE a.campaign = $1 AND {CHANGED} >= $2 AND a.dialing_at >= $2"
    ));
    let query = query.bind(campaign.to_string()).bind(work.now.0 - minutes * 60_000_000);
    let row = query.one(work.conn).await?;
    Ok(RecentDials {
        dials: row.int("dials")?,
        first: row.maybe_time("first_dial")?,
        now: work.now,
    })
}

/// Builds a query for the conversations of campaign `$1` with the columns of `read_change`.
fn changes(condition: &str) -> AnyQuery<'static> {
    composed(format!(
        "SELECT a.id, a.status, a.phone_number, {CHANGED} AS changed_at, {}, {}, \
         (SELECT c.id FROM contacts c WHERE c.account = a.account AND c.phone_number = a.phone_number) AS saved \
         FROM attempts a {} \
         WHERE a.campaign = $1 AND NOT (a.state = 'claimed' AND a.attempt_no = 1) AND {condition}",
        callee::NAME,
        callee::FIELDS,
        callee::JOINS
    ))
}

fn read_change(row: &AnyRow) -> StoreResult<ChangedConversation> {
    let callee = callee::read(row)?;
    Ok(ChangedConversation {
        id: row.id("id")?,
        status: row.word("status", ConversationStatus::parse)?,
        who: who(row, callee.contact_name.clone())?,
        callee,
        changed_at: row.time("changed_at")?,
    })
}

async fn changed(
    mut work: Work<'_>,
    campaign: CampaignId,
    after: Timestamp,
    after_id: AttemptId,
    limit: i64,
) -> StoreResult<Vec<ChangedConversation>> {
    campaign_rows::visible_list(&mut work, campaign).await?;
    let query = changes(&format!(
        "{CHANGED} >= $2 AND ({CHANGED} > $2 OR a.id > $3) ORDER BY {CHANGED}, a.id LIMIT $4"
    ));
    let query = query
        .bind(campaign.to_string())
        .bind(after.0)
        .bind(after_id.to_string());
    query.bind(limit.max(0)).read_all(work.conn, read_change).await
}

async fn latest(mut work: Work<'_>, campaign: CampaignId, newest: i64) -> StoreResult<Vec<ChangedConversation>> {
    campaign_rows::visible_list(&mut work, campaign).await?;
    let recent = changes(&format!("a.id IS NOT NULL ORDER BY {CHANGED} DESC, a.id DESC LIMIT $2"));
    let recent = recent.bind(campaign.to_string()).bind(newest.max(0));
    // The list of states matches the small index of open attempts.
    let open = changes(
        "a.state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown') AND a.status = 'in_progress' \
         ORDER BY a.id",
    );
    let open = open.bind(campaign.to_string());
    let mut known = HashSet::new();
    let mut found = Vec::new();
    for query in [recent, open] {
        let rows = query.all(&mut *work.conn).await?;
        for row in &rows {
            let change = read_change(row)?;
            if known.insert(change.id) {
                found.push(change);
            }
        }
    }
    found.sort_unstable_by_key(|change| (change.changed_at, change.id));
    Ok(found)
}

#[async_trait]
impl CampaignReadStore for SqlStore {
    async fn contact_results(
        &self,
        campaign: CampaignId,
        filter: ResultFilter,
        from: i64,
        limit: i64,
    ) -> StoreResult<ContactPage> {
        self.read(move |work| Box::pin(results(work, campaign, filter, from, limit)))
            .await
    }

    async fn changed_conversations(
        &self,
        campaign: CampaignId,
        after: Timestamp,
        after_id: AttemptId,
        limit: i64,
    ) -> StoreResult<Vec<ChangedConversation>> {
        self.read(move |work| Box::pin(changed(work, campaign, after, after_id, limit)))
            .await
    }

    async fn recent_dials(&self, campaign: CampaignId, minutes: i64) -> StoreResult<RecentDials> {
        self.read(move |work| Box::pin(recent_dials(work, campaign, minutes)))
            .await
    }

    async fn latest_conversations(&self, campaign: CampaignId, newest: i64) -> StoreResult<Vec<ChangedConversation>> {
        self.read(move |work| Box::pin(latest(work, campaign, newest))).await
    }

    async fn saved_by_number(&self, account: AccountId, numbers: &[PhoneNumber]) -> StoreResult<Vec<ContactRow>> {
        let numbers = numbers.iter().map(|number| number.as_str().to_owned()).collect();
        self.read(move |work| Box::pin(contacts::among(work, account, Wanted::Numbers(numbers))))
            .await
    }

    async fn saved_by_id(&self, account: AccountId, ids: &[ContactId]) -> StoreResult<Vec<ContactRow>> {
        let ids = ids.iter().map(ContactId::to_string).collect();
        self.read(move |work| Box::pin(contacts::among(work, account, Wanted::Ids(ids))))
            .await
    }
}
