//! Look-up of appointments whose outcome is unknown because their call was cut short, by a crash or by a
//! calendar that did not answer.

use std::{sync::Arc, time::Duration};

use domain::{
    agent::CalendarProvider,
    ports::store::{Appointment, BookingSettled, Store, StoreResult},
    time::{Clock, Timestamp},
};

use super::{booking::settle, port::Calendar};

/// Interval between two looks.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Maximum number of appointments per look.
const AT_ONCE: i64 = 20;

/// Age after which an appointment that the calendar does not show was not made. No request takes that long.
const NOT_MADE_AFTER: Duration = Duration::from_secs(180);

/// Age after which an appointment is given up if the calendar cannot be asked, or the result cannot be stored.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(24 * 3_600);

/// Looks once at the appointments that nobody settled in time. Nothing is booked here, because the requester was told
/// that the outcome is unknown.
pub(super) async fn settle_late(
    store: &dyn Store,
    clock: &dyn Clock,
    calendar: impl Fn(CalendarProvider) -> Option<Arc<dyn Calendar>>,
) -> StoreResult<()> {
    for held in store.lease_appointments(AT_ONCE).await? {
        let now = clock.now();
        let Some(settled) = outcome(&held, calendar(held.wish.provider), now).await else {
            continue;
        };
        let made = matches!(settled, BookingSettled::Booked { .. });
        let kept = settle(store, &held, settled).await;
        if made && !kept && now.since(held.created_at) >= GIVEN_UP_AFTER {
            tracing::error!(appointment = %held.id, "storing a booked appointment failed for too long, giving up");
            settle(store, &held, BookingSettled::Failed).await;
        }
    }
    Ok(())
}

/// Returns the outcome of an appointment, or `None` as long as it is unknown.
async fn outcome(held: &Appointment, calendar: Option<Arc<dyn Calendar>>, now: Timestamp) -> Option<BookingSettled> {
    let age = now.since(held.created_at);
    let found = match calendar {
        Some(calendar) => calendar.find(held).await.map_err(|error| error.to_string()),
        None => Err("its calendar is not configured any more".to_owned()),
    };
    match found {
        Ok(Some(booked)) => {
            tracing::info!(appointment = %held.id, "booking found, its call had not seen the answer");
            Some(booked.into())
        }
        Ok(None) => (age >= NOT_MADE_AFTER).then_some(BookingSettled::Failed),
        Err(why) => {
            tracing::warn!(appointment = %held.id, why, "outcome of a booking unknown");
            (age >= GIVEN_UP_AFTER).then_some(BookingSettled::Failed)
        }
    }
}
