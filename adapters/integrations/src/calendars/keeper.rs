//! Finds out what became of appointments whose call was cut short, by a crash or by a calendar that did not answer.

use std::{sync::Arc, time::Duration};

use domain::{
    ports::store::{Appointment, BookingSettled, StoreResult},
    time::Timestamp,
};

use super::{Calendars, booking::settle};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Appointments that are looked for in one go.
const AT_ONCE: i64 = 20;

/// What the calendar does not show after this time was not made: no request takes so long.
const NOT_MADE_AFTER: Duration = Duration::from_secs(180);

/// A calendar that cannot be asked for so long is asked no more, and what cannot be kept for so long is given up.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(24 * 3_600);

/// Looks until it is dropped.
pub async fn run(calendars: Arc<Calendars>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if let Err(error) = calendars.settle_late().await {
            tracing::debug!(%error, "appointments cannot be read; trying again");
        }
    }
}

impl Calendars {
    /// One look at what nobody settled in time. Nothing is booked here: whoever wished for it was told that nobody knows.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn settle_late(&self) -> StoreResult<()> {
        for held in self.store.lease_appointments(AT_ONCE).await? {
            let now = self.clock.now();
            let Some(settled) = self.fate(&held, now).await else {
                continue;
            };
            let made = matches!(settled, BookingSettled::Booked { .. });
            let kept = settle(&*self.store, &held, settled).await;
            if made && !kept && now.since(held.created_at) >= GIVEN_UP_AFTER {
                tracing::error!(appointment = %held.id, "an appointment that was made cannot be kept, and is given up");
                settle(&*self.store, &held, BookingSettled::Failed).await;
            }
        }
        Ok(())
    }

    /// None as long as it is not known.
    async fn fate(&self, held: &Appointment, now: Timestamp) -> Option<BookingSettled> {
        let age = now.since(held.created_at);
        let found = match self.calendar(held.wish.provider) {
            Some(calendar) => calendar.find(held).await.map_err(|error| error.to_string()),
            None => Err("its calendar is not configured any more".to_owned()),
        };
        match found {
            Ok(Some(booked)) => {
                tracing::info!(appointment = %held.id, "an appointment whose call did not hear of it was made");
                Some(booked.into())
            }
            Ok(None) => (age >= NOT_MADE_AFTER).then_some(BookingSettled::Failed),
            Err(why) => {
                tracing::warn!(appointment = %held.id, why, "nobody knows whether an appointment was made");
                (age >= GIVEN_UP_AFTER).then_some(BookingSettled::Failed)
            }
        }
    }
}
