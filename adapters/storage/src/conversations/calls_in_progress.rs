//! Calls in progress of an account.

use domain::{
    id::AccountId,
    ports::store::{
        CallDirection, CallInProgress, CallOperator, InProgressFilter, OPERATOR_JOINED, OPERATOR_LEFT, StoreResult,
    },
};
use sqlx::any::AnyRow;

use crate::{
    callee,
    engine::{
        Work,
        rows::{Bound, Columns, Fetch, bind_all, composed},
    },
};

pub(crate) async fn list(
    work: Work<'_>,
    account: AccountId,
    filter: InProgressFilter,
    limit: i64,
) -> StoreResult<Vec<CallInProgress>> {
    let mut values: Vec<Bound> = vec![account.to_string().into(), limit.max(0).into()];
    let mut conditions = String::new();
    // Written so that the account's index by status is used, which is ordered and holds few calls in progress.
    let equal = [
        ("agent", filter.agent.map(|id| id.to_string())),
        ("campaign", filter.campaign.map(|id| id.to_string())),
    ];
    for (column, value) in equal {
        if let Some(value) = value {
            values.push(value.into());
            conditions += &format!(" AND COALESCE(k.{column}, '') = ${}", values.len());
        }
    }
    if let Some(is_test) = filter.is_test {
        let not = if is_test { "" } else { "NOT " };
        conditions += &format!(" AND {not}EXISTS (SELECT 1 FROM test_calls t WHERE t.attempt = k.id)");
    }
    if let Some((started_at, id)) = filter.after {
        values.push(started_at.0.into());
        values.push(id.to_string().into());
        let last = values.len();
        conditions += &format!(" AND (k.started_at, k.id) < (${}, ${last})", last - 1);
    }
    // The operator's event is looked up among the few events of each call of the page.
    let query = composed(format!(
        "WITH page AS MATERIALIZED (SELECT k.id FROM attempts k \
         WHERE k.account = $1 AND k.status = 'in_progress' AND k.deleted_at IS NULL{conditions} \
         ORDER BY k.started_at DESC, k.id DESC LIMIT $2) \
         SELECT a.id, a.agent, g.name AS agent_name, a.campaign, c.name AS campaign_name, {}, {}, \
         a.phone_number, a.kind, a.started_at, a.answered_at, o.detail AS operator, o.created_at AS operator_since, \
         x.attempt AS test FROM page p CROSS JOIN attempts a JOIN agents g ON g.id = a.agent \
         LEFT JOIN campaigns c ON c.id = a.campaign LEFT JOIN test_calls x ON x.attempt = a.id {} \
         LEFT JOIN journal o ON o.name = '{OPERATOR_JOINED}' AND o.id = (SELECT j.id FROM journal j \
         WHERE j.attempt = a.id AND j.name IN ('{OPERATOR_JOINED}', '{OPERATOR_LEFT}') ORDER BY j.id DESC LIMIT 1) \
         WHERE a.id = p.id ORDER BY a.started_at DESC, a.id DESC",
        callee::NAME,
        callee::FIELDS,
        callee::JOINS
    ));
    bind_all(query, values).read_all(work.conn, read).await
}

fn read(row: &AnyRow) -> StoreResult<CallInProgress> {
    let campaign = row.maybe_id("campaign")?.zip(row.maybe_text("campaign_name")?);
    let operator = row.maybe_text("operator")?.zip(row.maybe_time("operator_since")?);
    Ok(CallInProgress {
        id: row.id("id")?,
        agent: row.id("agent")?,
        agent_name: row.text("agent_name")?,
        campaign,
        callee: callee::read(row)?,
        phone_number: row.number("phone_number")?,
        direction: CallDirection::of_kind(&row.text("kind")?),
        started_at: row.time("started_at")?,
        answered_at: row.maybe_time("answered_at")?,
        operator: operator.map(|(detail, since)| CallOperator::of_detail(&detail, since)),
        is_test: row.maybe_text("test")?.is_some(),
    })
}
