//! References of agents besides their documents: phone numbers and transfer targets, and the reverse lookup.

use std::collections::BTreeSet;

use domain::{
    agent::{named_numbers, referenced_agents},
    id::{AccountId, AgentId},
    phone_number::PhoneNumber,
    ports::store::{AgentRow, HOLDERS_NAMED, Holder, NumberFilter, NumberUse, StoreError, StoreResult},
};
use serde_json::{Map, Value};
use sqlx::any::AnyRow;

use crate::engine::{
    Work, holders, locks,
    rows::{AnyQuery, Columns, Fetch, ROWS_PER_INSERT, affected, composed, insert_rows, places, unique},
};

/// Stores the references in an agent's document in place of the earlier ones. Returns `Stale` if a referenced
/// agent is deleted, and `Exists("number")` if a number is not available.
pub(crate) async fn hold(work: &mut Work<'_>, agent: &AgentRow) -> StoreResult<()> {
    clear(work, agent.id).await?;
    hold_agents(work, agent).await?;
    hold_numbers(work, agent).await
}

/// Removes all references of an agent.
pub(crate) async fn clear(work: &mut Work<'_>, agent: AgentId) -> StoreResult<()> {
    for table in [
        "agent_transfers",
        "agent_numbers",
        "agent_tools",
        "agent_transfer_rules",
    ] {
        let delete = composed(format!("DELETE FROM {table} WHERE agent = $1")).bind(agent.to_string());
        affected(delete, work.conn).await?;
    }
    Ok(())
}

async fn hold_agents(work: &mut Work<'_>, agent: &AgentRow) -> StoreResult<()> {
    let (account, id) = (agent.account, agent.id);
    let targets: BTreeSet<String> = referenced_agents(&agent.document)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    for target in targets.into_iter().filter(|target| *target != id.to_string()) {
        // Changes nothing, but a concurrent delete of that agent waits for this transaction or has come before it.
        let lock =
            sqlx::query("UPDATE agents SET version = version WHERE id = $1 AND account = $2 AND deleted_at IS NULL");
        let lock = lock.bind(target.clone()).bind(account.to_string());
        if affected(lock, work.conn).await? == 0 {
            return Err(StoreError::Stale);
        }
        let insert = sqlx::query("INSERT INTO agent_transfers (agent, target) VALUES ($1, $2)");
        affected(insert.bind(id.to_string()).bind(target), work.conn).await?;
    }
    Ok(())
}

async fn hold_numbers(work: &mut Work<'_>, agent: &AgentRow) -> StoreResult<()> {
    let numbers: Vec<(PhoneNumber, bool)> = named_numbers(&agent.document).into_iter().collect();
    if !numbers.is_empty() {
        locks::before_agent_numbers(work).await?;
    }
    for chunk in numbers.chunks(ROWS_PER_INSERT) {
        let head = "INSERT INTO agent_numbers (agent, phone_number, account, answered) VALUES";
        let mut insert = insert_rows(head, chunk.len(), 4, "");
        for (number, answered) in chunk {
            insert = insert
                .bind(agent.id.to_string())
                .bind(number.as_str().to_owned())
                .bind(agent.account.to_string())
                .bind(i64::from(*answered));
        }
        // A unique index makes sure that only one agent answers a number.
        insert.execute(&mut *work.conn).await.map_err(unique("number"))?;
    }
    if others_numbers(work, agent.account, &numbers).await?.is_empty() {
        Ok(())
    } else {
        Err(StoreError::Exists("number"))
    }
}

/// Binds `values` to the placeholders of an `IN (…)`, numbered from `first`.
fn among<'q>(
    head: &str,
    first: usize,
    values: &[(PhoneNumber, bool)],
    bind: impl Fn(AnyQuery<'q>) -> AnyQuery<'q>,
) -> AnyQuery<'q> {
    let query = bind(composed(format!("{head} IN ({})", places(first, values.len()))));
    values
        .iter()
        .fold(query, |query, (number, _)| query.bind(number.as_str().to_owned()))
}

/// Returns the numbers that belong to another account.
async fn others_numbers(
    work: &mut Work<'_>,
    account: AccountId,
    numbers: &[(PhoneNumber, bool)],
) -> StoreResult<BTreeSet<PhoneNumber>> {
    let mut found = BTreeSet::new();
    for chunk in numbers.chunks(ROWS_PER_INSERT) {
        let head = "SELECT phone_number FROM agent_numbers WHERE account <> $1 AND phone_number";
        let query = among(head, 2, chunk, |query| query.bind(account.to_string()));
        for row in query.all(&mut *work.conn).await? {
            found.insert(row.number("phone_number")?);
        }
    }
    Ok(found)
}

/// Returns the uses of the account's numbers, at most `limit` numbers.
pub(crate) async fn uses(
    work: Work<'_>,
    account: AccountId,
    filter: NumberFilter,
    limit: i64,
) -> StoreResult<Vec<NumberUse>> {
    let (only, after) = (filter.only.map(String::from), filter.after.map(String::from));
    let rows = sqlx::query(
        "SELECT n.phone_number, n.agent, n.answered, g.name FROM agent_numbers n JOIN agents g ON g.id = n.agent \
         WHERE n.account = $1 AND n.phone_number IN (SELECT DISTINCT phone_number FROM agent_numbers \
         WHERE account = $1 AND phone_number > $2 AND ($3 = '' OR phone_number = $3) ORDER BY phone_number LIMIT $4) \
         ORDER BY n.phone_number, g.created_at, n.agent",
    )
    .bind(account.to_string())
    .bind(after.unwrap_or_default())
    .bind(only.unwrap_or_default())
    .bind(limit.max(0))
    .all(work.conn)
    .await?;
    let found = |row: &AnyRow| {
        Ok(NumberUse {
            phone_number: row.number("phone_number")?,
            agent: row.id("agent")?,
            agent_name: row.text("name")?,
            answered: row.flag("answered")?,
        })
    };
    rows.iter().map(found).collect()
}

/// Returns the numbers in a document that the agent cannot have.
pub(crate) async fn taken(
    mut work: Work<'_>,
    account: AccountId,
    agent: Option<AgentId>,
    document: Map<String, Value>,
) -> StoreResult<Vec<PhoneNumber>> {
    let numbers: Vec<(PhoneNumber, bool)> = named_numbers(&document).into_iter().collect();
    let mut taken = others_numbers(&mut work, account, &numbers).await?;
    let answered: Vec<(PhoneNumber, bool)> = numbers.into_iter().filter(|(_, answered)| *answered).collect();
    let own = agent.map(|agent| agent.to_string()).unwrap_or_default();
    for chunk in answered.chunks(ROWS_PER_INSERT) {
        let head = "SELECT phone_number FROM agent_numbers WHERE agent <> $1 AND answered = 1 AND phone_number";
        let query = among(head, 2, chunk, |query| query.bind(own.clone()));
        for row in query.all(&mut *work.conn).await? {
            taken.insert(row.number("phone_number")?);
        }
    }
    Ok(taken.into_iter().collect())
}

/// Returns the campaigns that dial with the agent, will, or could once they are launched, the agents that transfer
/// calls to it, and its calls that are not over. The list is limited.
pub(crate) async fn holders(work: &mut Work<'_>, account: AccountId, agent: AgentId) -> StoreResult<Vec<Holder>> {
    let campaigns = "SELECT id, name FROM campaigns WHERE account = $1 AND agent = $2 AND importing = 0 \
                     AND deleted_at IS NULL AND status IN ('draft', 'waiting', 'running', 'paused', 'delayed') \
                     ORDER BY id LIMIT $3";
    let agents = "SELECT a.id, a.name FROM agent_transfers t JOIN agents a ON a.id = t.agent \
                  WHERE a.account = $1 AND t.target = $2 AND a.id <> $2 AND a.deleted_at IS NULL ORDER BY a.id LIMIT $3";
    // A call that waits in a campaign is covered by the campaign.
    let calls = "SELECT id, phone_number AS name FROM attempts WHERE account = $1 AND agent = $2 \
                 AND status IN ('scheduled', 'in_progress') AND state <> 'final' \
                 AND (state <> 'queued' OR campaign IS NULL) ORDER BY id LIMIT $3";
    let mut found = Vec::new();
    for (kind, sql) in [("campaign", campaigns), ("agent", agents), ("call", calls)] {
        let query = sqlx::query(sql).bind(account.to_string()).bind(agent.to_string());
        found.extend(holders::holders(kind, query, work.conn).await?);
    }
    found.truncate(HOLDERS_NAMED);
    Ok(found)
}
