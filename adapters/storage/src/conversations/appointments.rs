//! Appointments: stored before their calendar is asked, leased meanwhile, and settled under the lease.

use async_trait::async_trait;
use domain::{
    agent::CalendarProvider,
    deliveries::invitation,
    id::{AccountId, AppointmentId, AttemptId},
    ports::store::{
        Appointment, AppointmentFilter, AppointmentState, AppointmentStore, BOOKING_LEASE, Begun, BookingSettled,
        ListedAppointment, MOST_BOOKED, MOST_TRIED, NewAppointment, SHOWN_WITHIN, StoreError, StoreResult,
    },
};
use sqlx::any::AnyRow;

use crate::{
    callee,
    engine::{
        SqlStore, Work, locks,
        rows::{Columns, Fetch, affected, composed, to_json},
    },
    events::deliveries,
};

const COLUMNS: &str = "id, account, attempt, provider, calendar, starts_at, ends_at, details, state, event, confirmed, \
     lease, created_at";

fn read(row: &AnyRow) -> StoreResult<Appointment> {
    Ok(Appointment {
        id: row.id("id")?,
        wish: NewAppointment {
            account: row.id("account")?,
            attempt: row.id("attempt")?,
            provider: row.word("provider", CalendarProvider::parse)?,
            calendar: row.text("calendar")?,
            starts_at: row.time("starts_at")?,
            ends_at: row.time("ends_at")?,
            details: row.json("details")?,
        },
        state: row.word("state", AppointmentState::parse)?,
        event: row.maybe_text("event")?,
        confirmed: row.flag("confirmed")?,
        lease: row.int("lease")?,
        created_at: row.time("created_at")?,
    })
}

async fn begin(mut work: Work<'_>, new: NewAppointment) -> StoreResult<Begun> {
    locks::before_appointment(&mut work, &new.calendar).await?;
    let query = composed(format!(
        "SELECT {COLUMNS}, due_at FROM appointments WHERE attempt = $1 AND calendar = $2 AND wished_at = $3"
    ))
    .bind(new.attempt.to_string())
    .bind(new.calendar.clone())
    .bind(new.starts_at.0);
    let row = query.optional(&mut *work.conn).await?;
    let Some(row) = row else {
        return wish(work, new).await;
    };
    let known = read(&row)?;
    match known.state {
        AppointmentState::Booked => return Ok(Begun::Booked(known)),
        AppointmentState::Pending if row.time("due_at")? > work.now => return Ok(Begun::UnderWay),
        AppointmentState::Failed if is_taken(&mut work, &new).await? => return Ok(Begun::Taken),
        AppointmentState::Pending | AppointmentState::Failed => {}
    }
    let update = composed(format!(
        "UPDATE appointments SET state = 'pending', lease = lease + 1, due_at = $2, details = $3, starts_at = $4, \
         ends_at = $5 WHERE id = $1 RETURNING {COLUMNS}"
    ))
    .bind(known.id.to_string())
    .bind(work.now.plus(BOOKING_LEASE).0)
    .bind(to_json(&new.details)?)
    .bind(new.starts_at.0)
    .bind(new.ends_at.0);
    let row = update.one(&mut *work.conn).await?;
    Ok(Begun::Ask(read(&row)?))
}

/// Stores an appointment for a time that the call has not asked for yet.
async fn wish(mut work: Work<'_>, new: NewAppointment) -> StoreResult<Begun> {
    if has_too_many(&mut work, new.attempt).await? {
        return Ok(Begun::TooMany);
    }
    if is_taken(&mut work, &new).await? {
        return Ok(Begun::Taken);
    }
    let invites = new.provider == CalendarProvider::Ics;
    let id = AppointmentId::new();
    let state = if invites {
        AppointmentState::Booked
    } else {
        AppointmentState::Pending
    };
    let insert = composed(format!(
        "INSERT INTO appointments (id, account, attempt, provider, calendar, wished_at, starts_at, ends_at, details, \
         state, event, confirmed, lease, due_at, booked_at, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9, $10, $11, 1, $12, $13, $14) RETURNING {COLUMNS}"
    ))
    .bind(id.to_string())
    .bind(new.account.to_string())
    .bind(new.attempt.to_string())
    .bind(new.provider.as_str())
    .bind(new.calendar.clone())
    .bind(new.starts_at.0)
    .bind(new.ends_at.0)
    .bind(to_json(&new.details)?)
    .bind(state.as_str())
    .bind(invites.then(|| id.to_string()))
    .bind(i64::from(invites))
    .bind(work.now.plus(BOOKING_LEASE).0)
    .bind(invites.then_some(work.now.0))
    .bind(work.now.0);
    let row = insert.one(&mut *work.conn).await?;
    let appointment = read(&row)?;
    if !invites {
        return Ok(Begun::Ask(appointment));
    }
    deliveries::insert(&mut work, new.account, new.attempt, invitation(new.account, id)).await?;
    Ok(Begun::Booked(appointment))
}

async fn has_too_many(work: &mut Work<'_>, attempt: AttemptId) -> StoreResult<bool> {
    let query = sqlx::query(
        "SELECT COUNT(*) AS tried, COUNT(CASE WHEN state <> 'failed' THEN 1 END) AS held \
         FROM appointments WHERE attempt = $1",
    );
    let row = query.bind(attempt.to_string()).one(&mut *work.conn).await?;
    Ok(row.int("tried")? >= MOST_TRIED as i64 || row.int("held")? >= MOST_BOOKED as i64)
}

/// Returns whether another call books this time or just has; the calendar may not show it yet.
async fn is_taken(work: &mut Work<'_>, new: &NewAppointment) -> StoreResult<bool> {
    if new.provider == CalendarProvider::Ics {
        return Ok(false);
    }
    let query = sqlx::query(
        "SELECT id FROM appointments WHERE calendar = $1 AND provider = $2 AND starts_at < $4 AND ends_at > $3 \
         AND attempt <> $5 AND state <> 'failed' \
         AND ((state = 'pending' AND due_at > $6) OR (state = 'booked' AND booked_at > $7)) LIMIT 1",
    )
    .bind(new.calendar.clone())
    .bind(new.provider.as_str())
    .bind(new.starts_at.0)
    .bind(new.ends_at.0)
    .bind(new.attempt.to_string())
    .bind(work.now.0)
    .bind(work.now.0 - i64::try_from(SHOWN_WITHIN.as_micros()).unwrap_or(0));
    let row = query.optional(&mut *work.conn).await?;
    Ok(row.is_some())
}

async fn settle(work: Work<'_>, id: AppointmentId, lease: i64, settled: BookingSettled) -> StoreResult<()> {
    let update = match settled {
        BookingSettled::Failed => {
            sqlx::query("UPDATE appointments SET state = 'failed' WHERE id = $1 AND lease = $2 AND state = 'pending'")
                .bind(id.to_string())
                .bind(lease)
        }
        BookingSettled::Booked {
            event,
            starts_at,
            ends_at,
            confirmed,
        } => sqlx::query(
            "UPDATE appointments SET state = 'booked', event = $3, starts_at = $4, ends_at = $5, confirmed = $6, \
             booked_at = $7 WHERE id = $1 AND lease = $2 AND state = 'pending'",
        )
        .bind(id.to_string())
        .bind(lease)
        .bind(event)
        .bind(starts_at.0)
        .bind(ends_at.0)
        .bind(i64::from(confirmed))
        .bind(work.now.0),
    };
    match affected(update, work.conn).await? {
        0 => Err(StoreError::Fenced),
        _ => Ok(()),
    }
}

async fn lease(work: Work<'_>, limit: i64) -> StoreResult<Vec<Appointment>> {
    let skip_locked = work.dialect.skip_locked;
    let query = composed(format!(
        "WITH late AS MATERIALIZED (SELECT id FROM appointments WHERE state = 'pending' AND due_at <= $1 \
         ORDER BY due_at, id LIMIT $2{skip_locked}) \
         UPDATE appointments SET due_at = $3, lease = lease + 1 \
         WHERE state = 'pending' AND due_at <= $1 AND id IN (SELECT id FROM late) RETURNING {COLUMNS}"
    ))
    .bind(work.now.0)
    .bind(limit.max(0))
    .bind(work.now.plus(BOOKING_LEASE).0);
    query.read_all(work.conn, read).await
}

async fn get(work: Work<'_>, id: AppointmentId) -> StoreResult<Appointment> {
    let query = composed(format!("SELECT {COLUMNS} FROM appointments WHERE id = $1"));
    let row = query.bind(id.to_string()).existing(work.conn).await?;
    read(&row)
}

async fn of(work: Work<'_>, attempt: AttemptId) -> StoreResult<Vec<Appointment>> {
    let query = composed(format!(
        "SELECT {COLUMNS} FROM appointments WHERE attempt = $1 ORDER BY id"
    ));
    query.bind(attempt.to_string()).read_all(work.conn, read).await
}

/// Returns the appointment of a call that was booked last.
pub(crate) async fn last(work: &mut Work<'_>, attempt: AttemptId) -> StoreResult<Option<Appointment>> {
    let query = composed(format!(
        "SELECT {COLUMNS} FROM appointments WHERE attempt = $1 AND state = 'booked' \
         ORDER BY booked_at DESC, id DESC LIMIT 1"
    ));
    let row = query.bind(attempt.to_string()).optional(&mut *work.conn).await?;
    row.as_ref().map(read).transpose()
}

/// SQLite reads the sides of a cross join in order; with another join it may begin with all calls of an agent.
fn listed() -> String {
    format!(
        "a.agent, g.name AS agent_name, a.campaign, a.phone_number, {} \
         FROM appointments p CROSS JOIN attempts a JOIN agents g ON g.id = a.agent {} \
         WHERE a.id = p.attempt AND p.state = 'booked' AND p.account = $1 AND (p.starts_at, p.id) > ($2, $3) \
         AND p.starts_at < $4 AND ($5 IS NULL OR a.agent = $5) AND ($6 IS NULL OR a.campaign = $6) \
         ORDER BY p.starts_at, p.id LIMIT $7",
        callee::NAME,
        callee::JOINS
    )
}

async fn list(
    work: Work<'_>,
    account: AccountId,
    filter: AppointmentFilter,
    limit: i64,
) -> StoreResult<Vec<ListedAppointment>> {
    // An index can begin at one bound only.
    let from = (filter.from.map_or(i64::MIN, |from| from.0), String::new());
    let after = filter.after.map(|(start, id)| (start.0, id.to_string()));
    let (start, id) = after.map_or(from.clone(), |after| after.max(from));
    let columns = COLUMNS.replace(", ", ", p.");
    let query = composed(format!("SELECT p.{columns}, {}", listed()))
        .bind(account.to_string())
        .bind(start)
        .bind(id)
        .bind(filter.to.map_or(i64::MAX, |to| to.0))
        .bind(filter.agent.map(|id| id.to_string()))
        .bind(filter.campaign.map(|id| id.to_string()))
        .bind(limit.max(0));
    let rows = query.all(work.conn).await?;
    let listed = |row: &AnyRow| {
        Ok(ListedAppointment {
            appointment: read(row)?,
            agent: row.id("agent")?,
            agent_name: row.text("agent_name")?,
            campaign: row.maybe_id("campaign")?,
            contact_number: row.number("phone_number")?,
            contact_name: row.maybe_text("contact_name")?,
        })
    };
    rows.iter().map(listed).collect()
}

#[async_trait]
impl AppointmentStore for SqlStore {
    async fn begin_appointment(&self, new: NewAppointment) -> StoreResult<Begun> {
        self.write(move |work| Box::pin(begin(work, new.clone()))).await
    }

    async fn settle_appointment(&self, id: AppointmentId, lease: i64, settled: BookingSettled) -> StoreResult<()> {
        self.write(move |work| Box::pin(settle(work, id, lease, settled.clone())))
            .await
    }

    async fn lease_appointments(&self, limit: i64) -> StoreResult<Vec<Appointment>> {
        self.write(move |work| Box::pin(lease(work, limit))).await
    }

    async fn appointment(&self, id: AppointmentId) -> StoreResult<Appointment> {
        self.read(move |work| Box::pin(get(work, id))).await
    }

    async fn appointments_of(&self, attempt: AttemptId) -> StoreResult<Vec<Appointment>> {
        self.read(move |work| Box::pin(of(work, attempt))).await
    }

    async fn appointments(
        &self,
        account: AccountId,
        filter: AppointmentFilter,
        limit: i64,
    ) -> StoreResult<Vec<ListedAppointment>> {
        self.read(move |work| Box::pin(list(work, account, filter, limit)))
            .await
    }
}
