//! Booking of one appointment. The calendar is asked once. If its answer is lost, the appointment is looked
//! up instead of being requested again, so that nothing is booked twice.

use std::{sync::Arc, time::Duration};

use domain::ports::store::{Appointment, BookingSettled, Store, StoreError};
use tokio::time::sleep;

use super::port::{Booked, Calendar, CalendarError};

/// Pause between a lost answer and the look-up.
const BEFORE_LOOKING: Duration = Duration::from_millis(500);

/// Number of attempts to store a result. After that the keeper finds it.
const SETTLES: u32 = 3;

/// Books an appointment and stores the calendar's answer. If the outcome is unknown, nothing is stored and
/// the keeper looks it up later.
pub(super) async fn book(
    store: Arc<dyn Store>,
    calendar: Arc<dyn Calendar>,
    held: Appointment,
) -> Result<Booked, CalendarError> {
    let made = ask(&*calendar, &held).await;
    let settled = match &made {
        Ok(booked) => BookingSettled::from(booked.clone()),
        Err(CalendarError::Unknown(why)) => {
            tracing::warn!(appointment = %held.id, why, "outcome of a booking unknown, looking it up later");
            return made;
        }
        Err(why) => {
            tracing::info!(appointment = %held.id, %why, "booking failed");
            BookingSettled::Failed
        }
    };
    settle(&*store, &held, settled).await;
    made
}

async fn ask(calendar: &dyn Calendar, held: &Appointment) -> Result<Booked, CalendarError> {
    if held.lease > 1
        && let Some(found) = calendar.find(held).await.map_err(|error| unknown(&error))?
    {
        return Ok(found);
    }
    match calendar.book(held).await {
        Err(CalendarError::Unknown(why)) => looked_for(calendar, held, why).await,
        made => made,
    }
}

/// Looks up a booking whose answer was lost. If it is not there, its outcome stays unknown: the request may
/// still be on its way, and a second one would book it twice.
async fn looked_for(calendar: &dyn Calendar, held: &Appointment, why: String) -> Result<Booked, CalendarError> {
    sleep(BEFORE_LOOKING).await;
    match calendar.find(held).await {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(CalendarError::Unknown(why)),
        Err(error) => Err(unknown(&error)),
    }
}

fn unknown(error: &CalendarError) -> CalendarError {
    CalendarError::Unknown(error.to_string())
}

/// Stores the calendar's answer, with a few attempts. Returns false if the store does not accept it.
pub(super) async fn settle(store: &dyn Store, held: &Appointment, settled: BookingSettled) -> bool {
    let mut pause = Duration::from_millis(250);
    for _ in 0..SETTLES {
        match store.settle_appointment(held.id, held.lease, settled.clone()).await {
            Ok(()) => return true,
            Err(StoreError::Fenced) => {
                tracing::debug!(appointment = %held.id, "appointment taken over by another node");
                return true;
            }
            Err(error) => tracing::warn!(appointment = %held.id, %error, "storing a booking's outcome failed"),
        }
        sleep(pause).await;
        pause *= 2;
    }
    false
}
