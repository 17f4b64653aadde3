//! The accounts' do-not-call lists.

use std::collections::HashSet;

use domain::{
    id::{AccountId, AttemptId},
    phone_number::PhoneNumber,
    ports::store::{DoNotCallRow, StoreResult},
    time::Timestamp,
};
use sqlx::any::AnyRow;

use crate::{
    engine::{
        Work, locks,
        rows::{AnyQuery, Columns, Conditions, Fetch, ROWS_PER_INSERT, affected, composed, containing, found, places},
    },
    events::account_events,
};

/// Adds a number, at the wish of the person in a call if there is one.
pub(crate) async fn add(
    mut work: Work<'_>,
    account: AccountId,
    number: PhoneNumber,
    by: Option<AttemptId>,
) -> StoreResult<DoNotCallRow> {
    locks::before_do_not_call(&mut work, account).await?;
    let insert = sqlx::query(
        "INSERT INTO do_not_call (account, phone_number, created_at, attempt) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (account, phone_number) DO NOTHING",
    )
    .bind(account.to_string())
    .bind(number.as_str().to_owned())
    .bind(work.now.0)
    .bind(by.map(|call| call.to_string()));
    if affected(insert, work.conn).await? > 0 {
        account_events::of_opt_out(&mut work, account, &number, by).await?;
    }
    let row = composed(format!("{SELECT} WHERE account = $1 AND phone_number = $2"))
        .bind(account.to_string())
        .bind(number.as_str().to_owned())
        .one(work.conn)
        .await?;
    read(&row)
}

const SELECT: &str = "SELECT phone_number, created_at, attempt FROM do_not_call";

fn read(row: &AnyRow) -> StoreResult<DoNotCallRow> {
    Ok(DoNotCallRow {
        phone_number: row.number("phone_number")?,
        created_at: row.time("created_at")?,
        call: row.maybe_id("attempt")?,
    })
}

/// Forgets that a call to a number led to its entry, before the call is erased.
pub(crate) async fn forget_call(work: &mut Work<'_>, call: AttemptId) -> StoreResult<()> {
    let update = sqlx::query(
        "UPDATE do_not_call SET attempt = NULL WHERE attempt = $1 \
         AND (account, phone_number) = (SELECT a.account, a.phone_number FROM attempts a WHERE a.id = $1)",
    );
    affected(update.bind(call.to_string()), work.conn).await.map(drop)
}

pub(crate) async fn list(
    work: Work<'_>,
    account: AccountId,
    search: Option<String>,
    after: Option<(Timestamp, PhoneNumber)>,
    limit: i64,
) -> StoreResult<Vec<DoNotCallRow>> {
    let mut wanted = Conditions::default();
    wanted.and("account = ?", [account.to_string().into()]);
    if let Some(search) = search {
        wanted.and("phone_number LIKE ? ESCAPE '!'", [containing(&search).into()]);
    }
    if let Some((created_at, number)) = after {
        wanted.and(
            "(created_at, phone_number) < (?, ?)",
            [created_at.0.into(), String::from(number).into()],
        );
    }
    let query = wanted.query(SELECT, "ORDER BY created_at DESC, phone_number DESC", limit);
    query.read_all(work.conn, read).await
}

/// Returns which of these numbers are on the list, in any of their spellings, by their places.
pub(crate) async fn listed<'n>(
    work: &mut Work<'_>,
    account: &str,
    numbers: impl IntoIterator<Item = &'n PhoneNumber>,
) -> StoreResult<HashSet<usize>> {
    let spelled = |(place, number): (usize, &PhoneNumber)| {
        let spellings = number.spellings().into_iter();
        spellings.map(move |spelling| (spelling, place)).collect::<Vec<_>>()
    };
    let spellings: Vec<(String, usize)> = numbers.into_iter().enumerate().flat_map(spelled).collect();
    let mut listed = HashSet::new();
    for chunk in spellings.chunks(ROWS_PER_INSERT) {
        let query = composed(format!(
            "SELECT phone_number FROM do_not_call WHERE account = $1 AND phone_number IN ({})",
            places(2, chunk.len())
        ));
        let query = query.bind(account.to_owned());
        let query = chunk
            .iter()
            .fold(query, |query, (spelling, _)| query.bind(spelling.clone()));
        for row in query.all(&mut *work.conn).await? {
            let found = row.text("phone_number")?;
            listed.extend(
                chunk
                    .iter()
                    .filter(|(spelling, _)| *spelling == found)
                    .map(|(_, place)| place),
            );
        }
    }
    Ok(listed)
}

/// Returns whether a number is on the list, in any of its spellings.
pub(crate) async fn holds(work: &mut Work<'_>, account: &str, number: &PhoneNumber) -> StoreResult<bool> {
    Ok(!listed(work, account, [number]).await?.is_empty())
}

/// Returns those of these numbers that are on the list, in any of their spellings.
pub(crate) async fn among(
    mut work: Work<'_>,
    account: AccountId,
    numbers: Vec<PhoneNumber>,
) -> StoreResult<HashSet<PhoneNumber>> {
    let listed = listed(&mut work, &account.to_string(), &numbers).await?;
    Ok(listed.into_iter().map(|place| numbers[place].clone()).collect())
}

pub(crate) async fn remove(work: Work<'_>, account: AccountId, number: PhoneNumber) -> StoreResult<()> {
    let spellings = number.spellings();
    let delete = composed(format!(
        "DELETE FROM do_not_call WHERE account = $1 AND phone_number IN ({})",
        places(2, spellings.len())
    ));
    let delete = spellings
        .into_iter()
        .fold(delete.bind(account.to_string()), AnyQuery::bind);
    found(affected(delete, work.conn).await?)
}
