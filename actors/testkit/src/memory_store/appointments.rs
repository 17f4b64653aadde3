//! Appointments in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{MemoryStore, tables::Tables};
use domain::{
    agent::CalendarProvider,
    deliveries::invitation,
    id::{AccountId, AppointmentId, AttemptId},
    ports::store::{
        Appointment, AppointmentFilter, AppointmentState, AppointmentStore, BOOKING_LEASE, Begun, BookingSettled,
        ListedAppointment, MOST_BOOKED, MOST_TRIED, NewAppointment, SHOWN_WITHIN, StoreError, StoreResult,
    },
    time::Timestamp,
};

/// An appointment, the end of its lease, and the time at which it was booked.
pub(super) struct AppointmentEntry {
    appointment: Appointment,
    /// The requested time. The calendar may give it another one.
    wished_at: Timestamp,
    due_at: Timestamp,
    booked_at: Option<Timestamp>,
}

impl AppointmentEntry {
    fn lease(&mut self, now: Timestamp) -> Appointment {
        self.appointment.state = AppointmentState::Pending;
        self.appointment.lease += 1;
        self.due_at = now.plus(BOOKING_LEASE);
        self.appointment.clone()
    }

    fn is_late(&self, now: Timestamp) -> bool {
        self.appointment.state == AppointmentState::Pending && self.due_at <= now
    }

    /// Returns whether it blocks its time for a request of another call.
    fn hinders(&self, new: &NewAppointment, now: Timestamp) -> bool {
        let wish = &self.appointment.wish;
        let same = wish.provider == new.provider && wish.calendar == new.calendar && wish.attempt != new.attempt;
        let holds = match self.appointment.state {
            AppointmentState::Pending => self.due_at > now,
            AppointmentState::Booked => self.booked_at.is_some_and(|at| at.plus(SHOWN_WITHIN) > now),
            AppointmentState::Failed => false,
        };
        same && holds && wish.starts_at < new.ends_at && new.starts_at < wish.ends_at
    }
}

/// The table of appointments.
pub(super) type Appointments = BTreeMap<AppointmentId, AppointmentEntry>;

impl Tables {
    /// Returns the appointment that was made last.
    pub(super) fn last_appointment(&self, attempt: AttemptId) -> Option<Appointment> {
        let own = self.appointments.values();
        let booked = own.filter(|entry| {
            entry.appointment.wish.attempt == attempt && entry.appointment.state == AppointmentState::Booked
        });
        booked
            .max_by_key(|entry| (entry.booked_at, entry.appointment.id))
            .map(|entry| entry.appointment.clone())
    }

    pub(super) fn erase_appointments(&mut self, attempt: AttemptId) {
        self.appointments
            .retain(|_, entry| entry.appointment.wish.attempt != attempt);
        self.outbox.drop_invitations(attempt);
    }

    pub(super) fn erase_past_appointments(&mut self, attempt: AttemptId, ended_before: Timestamp) {
        self.appointments.retain(|_, entry| {
            let wish = &entry.appointment.wish;
            wish.attempt != attempt || wish.ends_at >= ended_before
        });
    }

    fn listed(&self, appointment: &Appointment) -> Option<ListedAppointment> {
        let entry = self.attempts.get(&appointment.wish.attempt)?;
        let call = self.read_conversation(entry);
        Some(ListedAppointment {
            appointment: appointment.clone(),
            agent: call.agent,
            agent_name: call.agent_name,
            campaign: call.campaign,
            contact_number: call.contact_number,
            contact_name: call.callee.contact_name,
        })
    }

    fn known(&mut self, new: &NewAppointment) -> Option<&mut AppointmentEntry> {
        self.appointments.values_mut().find(|entry| {
            let wish = &entry.appointment.wish;
            (wish.attempt, &wish.calendar, entry.wished_at) == (new.attempt, &new.calendar, new.starts_at)
        })
    }

    fn has_too_many(&self, attempt: AttemptId) -> bool {
        let own = self.appointments.values();
        let own: Vec<_> = own.filter(|entry| entry.appointment.wish.attempt == attempt).collect();
        let failed = |entry: &&&AppointmentEntry| entry.appointment.state == AppointmentState::Failed;
        own.len() >= MOST_TRIED || own.len() - own.iter().filter(failed).count() >= MOST_BOOKED
    }

    fn wish(&mut self, new: NewAppointment, now: Timestamp) -> Appointment {
        let id = AppointmentId::new();
        let invites = new.provider == CalendarProvider::Ics;
        let mut appointment = Appointment {
            id,
            wish: new,
            state: AppointmentState::Pending,
            event: None,
            confirmed: false,
            lease: 1,
            created_at: now,
        };
        if invites {
            appointment.state = AppointmentState::Booked;
            appointment.event = Some(id.to_string());
            appointment.confirmed = true;
            let (account, attempt) = (appointment.wish.account, appointment.wish.attempt);
            self.add_delivery((account, attempt), invitation(account, id), now);
        }
        let entry = AppointmentEntry {
            appointment: appointment.clone(),
            wished_at: appointment.wish.starts_at,
            due_at: now.plus(BOOKING_LEASE),
            booked_at: invites.then_some(now),
        };
        self.appointments.insert(id, entry);
        appointment
    }
}

#[async_trait]
impl AppointmentStore for MemoryStore {
    async fn begin_appointment(&self, new: NewAppointment) -> StoreResult<Begun> {
        let mut tables = self.open()?;
        let now = self.now();
        if !tables.attempts.contains_key(&new.attempt) {
            return Err(StoreError::NotFound);
        }
        let taken = tables.appointments.values().any(|entry| entry.hinders(&new, now));
        let taken = taken && new.provider != CalendarProvider::Ics;
        if let Some(entry) = tables.known(&new) {
            return Ok(match entry.appointment.state {
                AppointmentState::Booked => Begun::Booked(entry.appointment.clone()),
                AppointmentState::Pending if !entry.is_late(now) => Begun::UnderWay,
                AppointmentState::Failed if taken => Begun::Taken,
                AppointmentState::Pending | AppointmentState::Failed => {
                    entry.appointment.wish = new;
                    Begun::Ask(entry.lease(now))
                }
            });
        }
        if tables.has_too_many(new.attempt) {
            return Ok(Begun::TooMany);
        }
        if taken {
            return Ok(Begun::Taken);
        }
        let appointment = tables.wish(new, now);
        Ok(match appointment.state {
            AppointmentState::Booked => Begun::Booked(appointment),
            AppointmentState::Pending | AppointmentState::Failed => Begun::Ask(appointment),
        })
    }

    async fn settle_appointment(&self, id: AppointmentId, lease: i64, settled: BookingSettled) -> StoreResult<()> {
        let mut tables = self.open()?;
        let now = self.now();
        let entry = tables.appointments.get_mut(&id).ok_or(StoreError::Fenced)?;
        if entry.appointment.lease != lease || entry.appointment.state != AppointmentState::Pending {
            return Err(StoreError::Fenced);
        }
        match settled {
            BookingSettled::Failed => entry.appointment.state = AppointmentState::Failed,
            BookingSettled::Booked {
                event,
                starts_at,
                ends_at,
                confirmed,
            } => {
                entry.appointment.state = AppointmentState::Booked;
                entry.appointment.event = Some(event);
                entry.appointment.wish.starts_at = starts_at;
                entry.appointment.wish.ends_at = ends_at;
                entry.appointment.confirmed = confirmed;
                entry.booked_at = Some(now);
            }
        }
        Ok(())
    }

    async fn lease_appointments(&self, limit: i64) -> StoreResult<Vec<Appointment>> {
        let mut tables = self.open()?;
        let now = self.now();
        let mut late: Vec<&mut AppointmentEntry> = tables
            .appointments
            .values_mut()
            .filter(|entry| entry.is_late(now))
            .collect();
        late.sort_by_key(|entry| entry.due_at);
        late.truncate(usize::try_from(limit).unwrap_or(0));
        Ok(late.into_iter().map(|entry| entry.lease(now)).collect())
    }

    async fn appointment(&self, id: AppointmentId) -> StoreResult<Appointment> {
        let tables = self.open()?;
        let entry = tables.appointments.get(&id);
        entry.map(|entry| entry.appointment.clone()).ok_or(StoreError::NotFound)
    }

    async fn appointments_of(&self, attempt: AttemptId) -> StoreResult<Vec<Appointment>> {
        let tables = self.open()?;
        let own = tables.appointments.values().map(|entry| &entry.appointment);
        Ok(own
            .filter(|appointment| appointment.wish.attempt == attempt)
            .cloned()
            .collect())
    }

    async fn appointments(
        &self,
        account: AccountId,
        filter: AppointmentFilter,
        limit: i64,
    ) -> StoreResult<Vec<ListedAppointment>> {
        let tables = self.open()?;
        let all = tables.appointments.values().map(|entry| &entry.appointment);
        let booked = all.filter(|one| one.wish.account == account && one.state == AppointmentState::Booked);
        let place = |row: &ListedAppointment| (row.appointment.wish.starts_at, row.appointment.id);
        let mut rows: Vec<_> = booked.filter_map(|one| tables.listed(one)).collect();
        rows.retain(|row| {
            let (start, _) = place(row);
            filter.agent.is_none_or(|agent| row.agent == agent)
                && filter.campaign.is_none_or(|campaign| row.campaign == Some(campaign))
                && filter.from.is_none_or(|from| start >= from)
                && filter.to.is_none_or(|to| start < to)
                && filter.after.is_none_or(|after| place(row) > after)
        });
        rows.sort_by_key(place);
        rows.truncate(usize::try_from(limit).unwrap_or(0));
        Ok(rows)
    }
}
